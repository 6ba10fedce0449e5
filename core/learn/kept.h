/**
 * Files of learned models: one head, "layermeter learned NAME VERSION", then lines.
 *
 * A learned model has a file of its own (gpus.txt), or a file "m.NAME" beside a machine file
 * "m.ini". The machine file then holds the name and a hash of the text.
 */
#ifndef LEARN_KEPT_H
#define LEARN_KEPT_H

#include <stdint.h>

#include "base/file.h"

struct lines; /* learn/lines.h */

/** Version of the format. Files of versions up to 3 are refused. */
#define KEPT_VERSION 4

/** How to read, write and free one kind of learned model. */
typedef struct kept_kind {
    const char *what; /**< for messages: "residual" */
    /** Writes *what, or reads it into an object of lines_made(). */
    void (*text)(struct lines *l, void **what);
    /** Frees a model, also an incomplete one; NULL is fine. */
    void (*free)(void *what);
    const char *again; /**< the command to learn it again; NULL: "layermeter fit ..." */
} kept_kind;

/** *out is malloc'ed. LM_E_NOMEM. */
lm_status kept_text(const kept_kind *k, const char *name, const void *what, char **out,
                    lm_error *err);

/**
 * Reads a text; reading changes the text.
 *
 * @param path for messages
 * @return LM_E_UNSUPPORTED for another version (the text gives the remedy), LM_E_NOTFOUND for
 * another
 *         name and for unknown words, LM_E_SYNTAX, LM_E_ARG, LM_E_NOMEM; all but the
 *         last begin with "path:line: "
 */
lm_status kept_read(const kept_kind *k, const char *name, const char *path, char *text, void **out,
                    lm_error *err);

/** Copies a model by writing and reading its text. LM_E_NOMEM. */
lm_status kept_copy(const kept_kind *k, const char *name, const void *what, void **out,
                    lm_error *err);

/**
 * A separate file, which ends with a checksum (base/checksum.h). Errors as file_drafts_commit(),
 * file_read_text(), checksum_check() and kept_read(); the text names the command to run again.
 */
lm_status kept_save(const kept_kind *k, const char *name, const void *what, const char *path,
                    lm_error *err);
lm_status kept_load(const kept_kind *k, const char *name, const char *path, void **out,
                    lm_error *err);

/** A file beside a machine file. Zero-initialise. */
typedef struct kept_file {
    char    *path; /**< NULL: none */
    uint64_t hash; /**< of its text */
} kept_file;

void kept_file_clear(kept_file *f);

/** Sets the path of the file `name` beside `machine`. LM_E_ARG: a name with folders. LM_E_NOMEM. */
lm_status kept_file_name(kept_file *f, const char *machine, const char *name, lm_error *err);

/** Adds a draft of the text of `what`, "m.NAME" beside `machine`, to `to`, and sets *f.
 * file_drafts_commit() writes it. */
lm_status kept_file_save(kept_file *f, const kept_kind *k, const char *name, const void *what,
                         const char *machine, file_drafts *to, lm_error *err);

/** Reads the file. Errors as kept_load(); LM_E_ARG if the hash differs. */
lm_status kept_file_load(const kept_file *f, const kept_kind *k, const char *name, void **out,
                         lm_error *err);

#endif
