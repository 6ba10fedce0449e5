/** Times in the formats of Extra-P: the text format that import/extrap.h reads, and JSON Lines
 * (docs/file-formats.md of Extra-P 4). */
#ifndef IMPORT_EXTRAP_WRITE_H
#define IMPORT_EXTRAP_WRITE_H

#include <stdio.h>

#include <layermeter/error.h>

#include "observe/observation.h"

typedef enum { EXTRAP_TEXT, EXTRAP_JSON_LINES } extrap_format;

/** extra-p or extra-p-jsonl. */
lm_status extrap_format_parse(const char *text, extrap_format *out, lm_error *err);

/**
 * Writes n >= 1 rows of one kind that are not skipped: `seconds` alone, in seconds. Counts that
 * vary are parameters (nodes and devices of each where both do, else ranks), all others and the
 * words of a row stand in its region, behind the name; phases are metrics. Rows of one point and
 * phase are repetitions. In text, a sync that one rank has not is 0.
 *
 * @param title first line of the text, a comment; NULL: none. JSON Lines have no comments
 * @return LM_E_ARG for rows of several kinds, a name that would not be read again, and in text for
 * a region that lacks a point which others have; nothing useful is written then
 */
lm_status extrap_write(const observation *row, size_t n, extrap_format f, const char *title,
                       FILE *out, lm_error *err);

#endif
