/** Remarks beside an answer, on stderr: "layermeter: ..." */
#ifndef REPORT_NOTES_H
#define REPORT_NOTES_H

#include <stdbool.h>

#include <layermeter/error.h>

/** Prints one line. */
void note(const char *fmt, ...) LM_PRINTF(1, 2);
/** Notes that the last line of observations was incomplete and left out, if `cut_short`. */
void note_cut_short(bool cut_short, const char *path);
/** Begins a line that the caller ends. */
void note_begin(const char *fmt, ...) LM_PRINTF(1, 2);

#endif
