/**
 * The text of whatever is learned: one head, "layermeter learned NAME VERSION", then lines.
 *
 * A learned thing lies in a file of its own (gpus.txt), or beside a machine file, "m.ini", as
 * "m.NAME"; the machine file then names it with a hash of its text.
 */
#ifndef LEARN_KEPT_H
#define LEARN_KEPT_H

#include <stdint.h>

#include "base/file.h"

struct lines; /* learn/lines.h */

/** Of the format. Up to 3 each kind had a format of its own: these are refused. */
#define KEPT_VERSION 4

/** How one kind of what is learned is kept. */
typedef struct kept_kind {
    const char *what; /**< for messages: "residual" */
    /** Writes *what, or reads into it what is made with lines_made(). */
    void (*text)(struct lines *l, void **what);
    /** Frees, also what was read in part; NULL is fine. */
    void (*free)(void *what);
    const char *again; /**< the command that learns it again; NULL: "layermeter fit ..." */
} kept_kind;

/** *out is malloc'ed. LM_E_NOMEM. */
lm_status kept_text(const kept_kind *k, const char *name, const void *what, char **out,
                    lm_error *err);

/**
 * Reads a text, which is cut up.
 *
 * @param path for messages
 * @return LM_E_UNSUPPORTED for another version, which the text says how to renew, LM_E_NOTFOUND for
 *         another name and for words nobody knows, LM_E_SYNTAX, LM_E_ARG, LM_E_NOMEM; all but the
 *         last begin with "path:line: "
 */
lm_status kept_read(const kept_kind *k, const char *name, const char *path, char *text, void **out,
                    lm_error *err);

/** Another of the same, by its text. LM_E_NOMEM. */
lm_status kept_copy(const kept_kind *k, const char *name, const void *what, void **out,
                    lm_error *err);

/** A file by itself: as file_drafts_commit(); as file_read_text() and kept_read(). */
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

/** Takes the file of that name beside `machine`. LM_E_ARG for a name with folders, LM_E_NOMEM. */
lm_status kept_file_name(kept_file *f, const char *machine, const char *name, lm_error *err);

/** Drafts the text of `what` beside `machine` as "m.NAME", which becomes *f: it takes its place
 * with the others of `to` (file_drafts_commit()). */
lm_status kept_file_save(kept_file *f, const kept_kind *k, const char *name, const void *what,
                         const char *machine, file_drafts *to, lm_error *err);

/** Reads it. As kept_load(); LM_E_ARG if its hash is another. */
lm_status kept_file_load(const kept_file *f, const kept_kind *k, const char *name, void **out,
                         lm_error *err);

#endif
