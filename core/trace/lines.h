/** A text read line by line, plain or gzip, that is never held whole. */
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
 * @param follow at the end of a file wait for more; a pipe ends where its writer closes it
 * @param stop   where it is not 0 (a signal's handler sets it), the text ends as soon as there is
 * nothing to read; NULL: never
 * @return LM_E_IO (missing, unreadable, a folder), LM_E_UNSUPPORTED (gzip that is followed, or in a
 * build without zlib)
 */
lm_status lines_open(const char *path, bool follow, const volatile sig_atomic_t *stop,
                     line_source **out, lm_error *err);
void      lines_close(line_source *s);

/**
 * The beginning of the text, without taking it: as much as came with the first line that is neither
 * blank nor a comment (#), or all there is. NUL-terminated; holds until lines_next().
 */
lm_status lines_head(line_source *s, const char **head, lm_error *err);

/**
 * The next line without its end, which may be written to until the next call; NULL at the end.
 * LM_E_SYNTAX ("path:line: ...") for lines that are too long or binary, LM_E_IO. The last line of a
 * followed file is given once its newline is there.
 */
lm_status lines_next(line_source *s, char **line, size_t *n, lm_error *err);

/** Of the line given last; the first is 1. */
uint64_t lines_number(const line_source *s);

#endif
