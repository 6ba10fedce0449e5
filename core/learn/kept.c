/* Files of learned models. */
#include "learn/kept.h"

#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "learn/lines.h"

#define HEAD  "layermeter learned"
#define SUM   "checksum "
#define AGAIN "layermeter fit OBSERVATIONS -o FILE"

/* Is it the first line of version 3 or earlier? */
static bool is_older(const char *text)
{
    static const char *const heads[] = { "residual ", "model ", "power ", "crossgpu " };
    const size_t             n       = strcspn(HEAD, " ") + 1;

    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        if (!strncmp(text, HEAD, n) && !strncmp(text + n, heads[i], strlen(heads[i])))
            return true;
    return false;
}

static void head(lines *l, const kept_kind *k)
{
    size_t version = KEPT_VERSION;
    char   name[48];
    bool   older = !l->out && is_older(l->at);

    snprintf(name, sizeof name, "%s", l->name);
    if (older)
        l->line++;
    else
        LINE(l, HEAD, ITEM_WORD(name), ITEM_COUNT(&version, 1, 1e9));
    if (!l->status && (older || version < KEPT_VERSION))
        lines_fail(l, LM_E_UNSUPPORTED, "was written by an older version: run '%s' again",
                   k->again ? k->again : AGAIN);
    else if (version > KEPT_VERSION)
        lines_fail(l, LM_E_UNSUPPORTED, "of version %zu, this program reads %d", version,
                   KEPT_VERSION);
    else if (strcmp(name, l->name) != 0)
        lines_fail(l, LM_E_NOTFOUND, "holds '%s', not '%s'", name, l->name);
}

lm_status kept_text(const kept_kind *k, const char *name, const void *what, char **out,
                    lm_error *err)
{
    char  *text = NULL;
    size_t size;
    lines  l    = { .out = open_memstream(&text, &size), .name = name, .err = err };
    void  *mine = (void *)(uintptr_t)what; /* it is not changed */

    if (l.out) {
        head(&l, k);
        k->text(&l, &mine);
        if (!fclose(l.out) && !l.status) {
            *out = text;
            return LM_OK;
        }
    }
    free(text);
    return no_memory(err);
}

lm_status kept_read(const kept_kind *k, const char *name, const char *path, char *text, void **out,
                    lm_error *err)
{
    lines l    = lines_of(name, path, text, err);
    void *made = NULL;

    head(&l, k);
    if (!l.status)
        k->text(&l, &made);
    if (!l.status && *l.at) {
        l.line++;
        lines_fail(&l, LM_E_SYNTAX, "more than was written: '%.*s'", (int)strcspn(l.at, "\n"),
                   l.at);
    }
    if (l.status)
        k->free(made);
    else
        *out = made;
    return l.status;
}

lm_status kept_copy(const kept_kind *k, const char *name, const void *what, void **out,
                    lm_error *err)
{
    char     *text   = NULL;
    lm_status status = kept_text(k, name, what, &text, err);

    if (!status)
        status = kept_read(k, name, name, text, out, err);
    free(text);
    return status;
}

/* ---- files ---- */

/* A learned file without a machine file ends in a checksum: no machine file holds its hash. */
static lm_status add_checksum(char **text, lm_error *err)
{
    const size_t n     = strlen(*text);
    char        *whole = realloc(*text, n + sizeof SUM CHECKSUM_ROOM "\n");

    if (!whole)
        return no_memory(err);
    strcpy(whole + n, SUM CHECKSUM_ROOM "\n");
    checksum_put(whole, whole + n + strlen(SUM));
    *text = whole;
    return LM_OK;
}

/* Cuts the checksum off. A file written by hand has none. */
static lm_status take_checksum(const kept_kind *k, const char *path, char *text, lm_error *err)
{
    const size_t n = strlen(text), last = strlen(SUM CHECKSUM_ROOM "\n");
    char        *line   = n > last ? text + n - last : NULL;
    lm_status    status = LM_OK;

    if (!line || line[-1] != '\n' || strncmp(line, SUM, strlen(SUM)) != 0)
        return LM_OK;
    status = checksum_check(path, text, line + strlen(SUM), k->again ? k->again : AGAIN,
                            "its last line", err);
    *line  = '\0';
    return status;
}

lm_status kept_save(const kept_kind *k, const char *name, const void *what, const char *path,
                    lm_error *err)
{
    file_drafts drafts = { 0 };
    char       *text   = NULL;
    lm_status   status = kept_text(k, name, what, &text, err);

    if (!status)
        status = add_checksum(&text, err);
    if (!status)
        status = file_drafts_add(&drafts, path, text, err);
    free(text);
    if (!status)
        return file_drafts_commit(&drafts, err);
    file_drafts_drop(&drafts);
    return status;
}

/* A text that differs from what this version writes is damaged, or another version wrote it. */
static lm_status add_remedy(const kept_kind *k, lm_status status, lm_error *err)
{
    const lm_error was = err ? *err : (lm_error){ .code = status };

    return status != LM_E_SYNTAX && status != LM_E_ARG
               ? status
               : lm_error_set(err, status,
                              "%s: damaged, another file, or of another version? run '%s' again",
                              was.text, k->again ? k->again : AGAIN);
}

lm_status kept_load(const kept_kind *k, const char *name, const char *path, void **out,
                    lm_error *err)
{
    char     *text;
    size_t    size;
    lm_status status = file_read_text(path, &text, &size, err);

    if (status)
        return status;
    if (!(status = take_checksum(k, path, text, err)))
        status = add_remedy(k, kept_read(k, name, path, text, out, err), err);
    free(text);
    return status;
}

void kept_file_clear(kept_file *f)
{
    free(f->path);
    *f = (kept_file){ 0 };
}

lm_status kept_file_name(kept_file *f, const char *machine, const char *name, lm_error *err)
{
    const char  *slash  = strrchr(machine, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - machine) : 0;

    if (strchr(name, '/') || !*name)
        return lm_error_set(err, LM_E_ARG, "'%.60s': expected the name of a file beside this one",
                            name);
    free(f->path);
    if (!(f->path = malloc(folder + strlen(name) + 1)))
        return no_memory(err);
    memcpy(f->path, machine, folder);
    strcpy(f->path + folder, name);
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

lm_status kept_file_save(kept_file *f, const kept_kind *k, const char *name, const void *what,
                         const char *machine, file_drafts *to, lm_error *err)
{
    char     *beside = name_beside(machine, name), *text = NULL;
    lm_status status = beside ? kept_file_name(f, machine, beside, err) : no_memory(err);

    if (!status)
        status = kept_text(k, name, what, &text, err);
    if (!status && !(status = file_drafts_add(to, f->path, text, err)))
        f->hash = text_hash(text);
    free(text);
    free(beside);
    return status;
}

lm_status kept_file_load(const kept_file *f, const kept_kind *k, const char *name, void **out,
                         lm_error *err)
{
    char     *text;
    size_t    size;
    lm_status status = file_read_text(f->path, &text, &size, err);

    if (status)
        return status;
    if (text_hash(text) != f->hash)
        status = lm_error_set(err, LM_E_ARG,
                              "%s: not the %s that its machine file was written with: cut short, "
                              "edited, or of another fit? fit the observations again",
                              f->path, k->what);
    else
        status = add_remedy(k, kept_read(k, name, f->path, text, out, err), err);
    free(text);
    return status;
}
