/** Files: whole ones in, whole ones out. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include <layermeter/error.h>

/**
 * Reads a text file whole. NUL bytes mean that it is none: an error that says so.
 *
 * @param out malloc'ed, NUL-terminated
 * @return LM_E_IO (missing, unreadable, a folder or device, longer than 256 MiB), LM_E_SYNTAX
 * (binary), LM_E_NOMEM; text names `path`
 */
lm_status file_read_text(const char *path, char **out, size_t *size, lm_error *err);

/** A file being written under a temporary name beside its own; `path` is what the caller calls it,
 * `target` where it is. */
typedef struct file_draft {
    FILE *stream;
    char *path, *target, *temporary;
} file_draft;

/**
 * Opens; nothing appears under `path` before file_draft_commit(). A link stays one: what it leads
 * to is written.
 *
 * @return LM_E_IO (no such folder, not allowed, or a device, pipe or socket, whose place a file
 * must not take), LM_E_NOMEM
 */
lm_status file_draft_open(file_draft *draft, const char *path, lm_error *err);
/** Closes, syncs and renames; on failure nothing is left behind. */
lm_status file_draft_commit(file_draft *draft, lm_error *err);
/** Throws away what was written. Fine after a commit or a failed open. */
void file_draft_drop(file_draft *draft);

/** What is written into a stream. */
typedef lm_status file_writer(void *context, FILE *out, lm_error *err);

/** Writes a file, whole or not at all; to stdout where `path` is NULL. What `write` returns, else as
 * file_draft_open(). */
lm_status file_put(const char *path, file_writer *write, void *context, lm_error *err);

/** Files that belong together: all are written before one takes its place. Zero-initialise. */
typedef struct file_drafts {
    file_draft *draft;
    size_t      n;
} file_drafts;

/** One more, of this text. As file_draft_open(); the others stay. */
lm_status file_drafts_add(file_drafts *drafts, const char *path, const char *text, lm_error *err);
/** Puts all in their places, in order; none where one cannot be written
 * or its place is a folder. */
lm_status file_drafts_commit(file_drafts *drafts, lm_error *err);
/** Throws all away. Fine after a commit. */
void file_drafts_drop(file_drafts *drafts);

#endif
