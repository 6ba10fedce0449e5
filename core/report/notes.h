/** Remarks of the program beside an answer, on stderr: "layermeter: ..." */
#ifndef REPORT_NOTES_H
#define REPORT_NOTES_H

#include <stdbool.h>

#include <layermeter/error.h>

/** A line. */
void note(const char *fmt, ...) LM_PRINTF(1, 2);
/** That the last line of observations was left out, if it was: of every file that a command reads. */
void note_cut_short(bool cut_short, const char *path);
/** The beginning of one, which the caller ends. */
void note_begin(const char *fmt, ...) LM_PRINTF(1, 2);

#endif
