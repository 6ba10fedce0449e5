/* What was learned beside a calibration. */
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "fit/calibration.h"

static learned_part *find(const calibration *cal, const char *name)
{
    for (size_t i = 0; i < cal->n_learned; i++)
        if (!strcmp(cal->learned[i].name, name))
            return &cal->learned[i];
    return NULL;
}

bool calibration_learned_has(const calibration *cal, const char *name)
{
    return find(cal, name) != NULL;
}

lm_status calibration_learned_add(calibration *cal, const char *name, const kept_kind *kind,
                                  void *what, lm_error *err)
{
    learned_part *more = realloc(cal->learned, (cal->n_learned + 1) * sizeof *more);
    char         *own  = strdup(name);

    if (more)
        cal->learned = more;
    if (!more || !own) {
        free(own);
        if (what)
            kind->free(what);
        return no_memory(err);
    }
    more[cal->n_learned++] = (learned_part){ own, kind, what, { 0 } };
    return LM_OK;
}

const char *calibration_learned_path(const calibration *cal, const char *name)
{
    const learned_part *found = find(cal, name);

    return found && found->file.path ? found->file.path : name;
}

lm_status calibration_learned_open(const calibration *cal, const char *name, const kept_kind *kind,
                                   void **out, lm_error *err)
{
    const learned_part *found = find(cal, name);

    if (!found)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "no model '%.40s' was learned: fit the observations with --model %.40s",
                            name, name);
    return found->what ? kept_copy(kind, name, found->what, out, err)
                       : kept_file_load(&found->file, kind, name, out, err);
}
