/** Remarks of the program beside an answer, on stderr: "layermeter: ..." */
#ifndef REPORT_NOTES_H
#define REPORT_NOTES_H

#include <layermeter/error.h>

/** A line. */
void note(const char *fmt, ...) LM_PRINTF(1, 2);
/** The beginning of one, which the caller ends. */
void note_begin(const char *fmt, ...) LM_PRINTF(1, 2);

#endif
