/* Learned models of single layers in machine files: sections [learned.NAME]. */
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "fit/calibration_file.h"

#define PREFIX "learned."

static learned_text *find(const calibration *cal, const char *name)
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

lm_status calibration_learned_add(calibration *cal, const char *name, char *text, lm_error *err)
{
    learned_text *more = realloc(cal->learned, (cal->n_learned + 1) * sizeof *more);

    if (more)
        cal->learned = more;
    if (!more || !(more[cal->n_learned].name = strdup(name))) {
        free(text);
        return no_memory(err);
    }
    more[cal->n_learned].text   = text;
    more[cal->n_learned++].file = (side_file){ 0 };
    return LM_OK;
}

lm_status calibration_learned_text(const calibration *cal, const char *name, char **out,
                                   lm_error *err)
{
    const learned_text *found = find(cal, name);

    if (!found)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "no model '%.40s' was learned: fit the observations with --model %.40s",
                            name, name);
    if (!found->text)
        return side_file_text(&found->file, "learned model", out, err);
    *out = strdup(found->text);
    return *out ? LM_OK : no_memory(err);
}

const char *calibration_learned_path(const calibration *cal, const char *name)
{
    const learned_text *found = find(cal, name);

    return found && found->file.path ? found->file.path : name;
}

bool calibration_learned_section(const char *name)
{
    return !strncmp(name, PREFIX, strlen(PREFIX)) && name[strlen(PREFIX)];
}

lm_status calibration_learned_read(const ini_section *s, const char *path, calibration *cal,
                                   lm_error *err)
{
    const lm_status status = calibration_learned_add(cal, s->name + strlen(PREFIX), NULL, err);

    return status ? status : side_file_read(s, path, &cal->learned[cal->n_learned - 1].file, err);
}

lm_status calibration_learned_save(const calibration *cal, const char *path, file_drafts *to,
                                   lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < cal->n_learned && !status; i++) {
        learned_text *l    = &cal->learned[i];
        char         *text = NULL;

        if (!(status = calibration_learned_text(cal, l->name, &text, err)))
            status = side_file_save(&l->file, path, l->name, text, to, err);
        free(text);
    }
    return status;
}

void calibration_learned_print(FILE *out, const calibration *cal)
{
    for (size_t i = 0; i < cal->n_learned; i++) {
        fprintf(out, "\n[" PREFIX "%s]\n; of single layers, learned\n", cal->learned[i].name);
        side_file_print(out, &cal->learned[i].file);
    }
}
