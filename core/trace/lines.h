/** A text file read line by line, plain or gzip; it is never held whole. */
#ifndef TRACE_LINES_H
#define TRACE_LINES_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

/** Longer lines are refused. */
#define LINES_LONGEST 65536

typedef struct line_source line_source;

/**
 * @param path   "-": stdin
 * @param follow wait for more at the end of a file; a pipe ends when its writer closes it
 * @param stop   not 0 (set by a signal handler): the text ends when nothing is left to read; NULL:
 * never
 * @return LM_E_IO (missing, unreadable, a folder), LM_E_UNSUPPORTED (gzip with `follow`, or in a
 * build without zlib)
 */
lm_status lines_open(const char *path, bool follow, const volatile sig_atomic_t *stop,
                     line_source **out, lm_error *err);
void      lines_close(line_source *s);

/** The beginning of the text, which stays to be read: up to the first line that is neither blank
 * nor a comment (#), or the whole text. NUL-terminated; valid until lines_next(). LM_E_SYNTAX
 * where a NUL byte comes before that line, LM_E_IO. */
lm_status lines_head(line_source *s, const char **head, lm_error *err);

/** The next line without its end; NULL at the end of the text. Callers may write to it until the
 * next call. LM_E_SYNTAX ("path:line: ...") for long or binary lines, LM_E_IO. The last line of
 * a followed file comes once its newline is there. */
lm_status lines_next(line_source *s, char **line, size_t *n, lm_error *err);

/** Number of the last line returned, from 1. */
uint64_t lines_number(const line_source *s);

#endif
