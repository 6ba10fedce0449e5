/* A text file beside a machine file, which names it with a hash of its text. */
#include "base/side_file.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"

void side_file_clear(side_file *s)
{
    free(s->path);
    *s = (side_file){ 0 };
}

lm_status side_file_name(side_file *s, const char *machine, const char *name, lm_error *err)
{
    const char  *slash  = strrchr(machine, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - machine) : 0;

    if (strchr(name, '/') || !*name)
        return lm_error_set(err, LM_E_ARG, "'%.60s': expected the name of a file beside this one",
                            name);
    free(s->path);
    if (!(s->path = malloc(folder + strlen(name) + 1)))
        return no_memory(err);
    memcpy(s->path, machine, folder);
    strcpy(s->path + folder, name);
    return LM_OK;
}

lm_status side_file_text(const side_file *s, const char *what, char **out, lm_error *err)
{
    char     *text;
    size_t    size;
    lm_status status = file_read_text(s->path, &text, &size, err);

    if (status)
        return status;
    if (text_hash(text) != s->hash) {
        free(text);
        return lm_error_set(err, LM_E_ARG,
                            "%s: not the %s that its machine file was written with: cut short, "
                            "edited, or of another fit? fit the observations again",
                            s->path, what);
    }
    *out = text;
    return LM_OK;
}

/* "m.residual" of "folder/m.ini" */
static char *name_beside(const char *machine, const char *suffix)
{
    const char  *slash = strrchr(machine, '/'), *base = slash ? slash + 1 : machine;
    const size_t n    = strlen(base);
    const bool   ini  = n > 4 && !strcmp(base + n - 4, ".ini");
    const size_t room = n + strlen(suffix) + 2;
    char        *out  = malloc(room);

    if (out)
        snprintf(out, room, "%.*s.%s", (int)(ini ? n - 4 : n), base, suffix);
    return out;
}

lm_status side_file_save(side_file *s, const char *machine, const char *suffix, const char *text,
                         file_drafts *to, lm_error *err)
{
    char     *name   = name_beside(machine, suffix);
    lm_status status = name ? side_file_name(s, machine, name, err) : no_memory(err);

    if (!status && !(status = file_drafts_add(to, s->path, text, err)))
        s->hash = text_hash(text);
    free(name);
    return status;
}

void side_file_print(FILE *out, const side_file *s)
{
    const char *slash = strrchr(s->path, '/');

    fprintf(out, "file = %s\nhash = %016" PRIx64 "\n", slash ? slash + 1 : s->path, s->hash);
}

lm_status side_file_read(const ini_section *section, const char *machine, side_file *s,
                         lm_error *err)
{
    bool      hashed = false;
    lm_status status = LM_OK;

    for (size_t i = 0; i < section->n_pairs && !status; i++) {
        const ini_pair *p = &section->pair[i];

        if (!strcmp(p->key, "file")) {
            status = side_file_name(s, machine, p->value, err);
        } else if (!strcmp(p->key, "hash") && strlen(p->value) == 16 &&
                   strspn(p->value, "0123456789abcdef") == 16) {
            s->hash = strtoull(p->value, NULL, 16);
            hashed  = true;
        } else {
            status = lm_error_set(err, LM_E_NOTFOUND,
                                  "[%s] has a file and a hash of 16 digits; found '%.40s = %.40s'",
                                  section->name, p->key, p->value);
        }
        if (status)
            lm_error_prefix(err, "%s:%d", machine, p->line);
    }
    if (!status && (!hashed || !s->path))
        status = lm_error_set(err, LM_E_NOTFOUND,
                              "%s:%d: [%s]: file or hash is missing: cut short, or edited? fit the "
                              "observations again",
                              machine, section->line, section->name);
    return status;
}
