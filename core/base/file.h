/** Reads and writes whole files. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include <layermeter/error.h>

#define FILE_TEXT_MAX ((size_t)256 << 20) /**< bytes of a text that is read whole */

/** LM_E_IO, and says that the text has more than FILE_TEXT_MAX bytes. */
lm_status file_too_large(const char *path, lm_error *err);

/**
 * Reads a whole text file. A file with NUL bytes is an error.
 *
 * @param out malloc'ed, NUL-terminated
 * @return LM_E_IO (missing, unreadable, a folder or device, longer than FILE_TEXT_MAX), LM_E_SYNTAX
 * (binary), LM_E_NOMEM; text names `path`
 */
lm_status file_read_text(const char *path, char **out, size_t *size, lm_error *err);

/** A file that is written under a temporary name in the same folder. `path` is the caller's name,
 * `target` the real one. */
typedef struct file_draft {
    FILE *stream;
    char *path, *target, *temporary;
} file_draft;

/**
 * Opens a draft; `path` does not change before file_draft_commit(). Links stay links: the draft
 * replaces the target of the link.
 *
 * @return LM_E_IO (no such folder, not allowed, or a device, pipe or socket, whose place a file
 * must not take), LM_E_NOMEM
 */
lm_status file_draft_open(file_draft *draft, const char *path, lm_error *err);
/** Closes, syncs and renames; removes the temporary file on failure. */
lm_status file_draft_commit(file_draft *draft, lm_error *err);
/** Discards the draft. Fine after a commit or a failed open. */
void file_draft_drop(file_draft *draft);

/** A function that writes the contents of a file into a stream. */
typedef lm_status file_writer(void *context, FILE *out, lm_error *err);

/** Writes a file, whole or not at all; `path` NULL: to stdout. Returns the status of `write`, else
 * as file_draft_open(). */
lm_status file_put(const char *path, file_writer *write, void *context, lm_error *err);

/** Files that belong together: all are written before the first one is renamed. Zero-initialise. */
typedef struct file_drafts {
    file_draft *draft;
    size_t      n;
} file_drafts;

/** Adds a file with this text. Errors as file_draft_open(); the other drafts stay. */
lm_status file_drafts_add(file_drafts *drafts, const char *path, const char *text, lm_error *err);
/** Renames all in order; none if one cannot be written or its target is a folder. */
lm_status file_drafts_commit(file_drafts *drafts, lm_error *err);
/** Discards all drafts. Fine after a commit. */
void file_drafts_drop(file_drafts *drafts);

#endif
