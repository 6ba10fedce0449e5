/* Sections with the names and hashes of files beside a machine file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "machine/sections.h"
#include "single/learned.h"
#include "single/model.h"

static void read_hash(record *r, const ini_pair *p, kept_file *f)
{
    if (strlen(p->value) == 16 && strspn(p->value, "0123456789abcdef") == 16)
        f->hash = strtoull(p->value, NULL, 16);
    else
        record_fail(r, p, LM_E_NOTFOUND,
                    "[%s] has a file and a hash of 16 digits; found '%.40s = %.40s'",
                    r->section->name, p->key, p->value);
}

/* Reads or writes the two keys, if there is such a file. */
static void file_both(record *r, const char *star, kept_file *f)
{
    const ini_pair *file, *hash, *more;
    lm_error        why;

    if (r->out && !f->path)
        return;
    record_begin(r, star);
    if (r->out) {
        const char *slash = strrchr(f->path, '/');

        record_put(r, "file", "%s", slash ? slash + 1 : f->path);
        record_put(r, "hash", "%016" PRIx64, f->hash);
        return;
    }
    file = record_take(r, "file");
    hash = record_take(r, "hash");
    more = record_next(r);
    if (file && kept_file_name(f, r->path, file->value, &why))
        record_fail(r, file, why.code, "%s", why.text);
    if (more)
        record_fail(r, more, LM_E_NOTFOUND,
                    "[%s] has a file and a hash of 16 digits; found '%.40s = %.40s'",
                    r->section->name, more->key, more->value);
    if (hash)
        read_hash(r, hash, f);
    if (!file || !hash)
        record_fail(r, NULL, LM_E_NOTFOUND,
                    "[%s]: file or hash is missing: cut short, or edited? fit the observations "
                    "again",
                    r->section->name);
}

void kernels_learned_both(record *r, calibration *cal, const char *star)
{
    if (!r->out)
        cal->operators = section_room(r, cal->operators, sizeof *cal->operators);
    if (cal->operators)
        file_both(r, star, &cal->operators->learned_file);
}

void layers_learned_both(record *r, calibration *cal, const char *star)
{
    if (!r->out)
        cal->layers = section_room(r, cal->layers, sizeof *cal->layers);
    if (cal->layers)
        file_both(r, star, &cal->layers->learned_file);
}

void learned_both(record *r, calibration *cal, const char *star)
{
    for (size_t i = 0; i < cal->n_learned && r->out; i++)
        file_both(r, cal->learned[i].name, &cal->learned[i].file);
    if (!r->out && !*star)
        record_fail(r, NULL, LM_E_NOTFOUND, "[%s]: expected the name of what was learned",
                    r->section->name);
    else if (!r->out && !(r->status = calibration_learned_add(cal, star, NULL, NULL, r->err)))
        file_both(r, star, &cal->learned[cal->n_learned - 1].file);
}

/* ---- the files ---- */

static lm_status save(kept_file *f, const kept_kind *k, const char *name, const void *what,
                      const char *machine, file_drafts *to, lm_error *err)
{
    if (what)
        return kept_file_save(f, k, name, what, machine, to, err);
    return f->path ? lm_error_set(err, LM_E_ARG, "%s: was not read: it cannot be written", f->path)
                   : LM_OK;
}

void residuals_load(calibration *cal)
{
    if (cal->layers)
        learned_load(cal->layers);
    if (cal->operators)
        learned_load(cal->operators);
}

lm_status learned_files_save(const calibration *cal, const char *path, file_drafts *to,
                             lm_error *err)
{
    lm_status status = LM_OK;

    if (cal->layers)
        status = save(&cal->layers->learned_file, &residual_kept, RESIDUAL_FILE,
                      cal->layers->learned, path, to, err);
    if (!status && cal->operators)
        status = save(&cal->operators->learned_file, &kernels_kept, KERNELS_FILE,
                      cal->operators->learned, path, to, err);
    for (size_t i = 0; i < cal->n_learned && !status; i++)
        status = save(&cal->learned[i].file, cal->learned[i].kind, cal->learned[i].name,
                      cal->learned[i].what, path, to, err);
    return status;
}
