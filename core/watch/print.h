/** Rows and the summary of a watched run, on stdout as table, CSV or JSON. */
#ifndef WATCH_PRINT_H
#define WATCH_PRINT_H

#include "report/table.h"
#include "watch/run.h"

/** State of the output. */
typedef struct watch_printer {
    const watch_plan *plan;
    format            how;
    size_t            n;
} watch_printer;

/** An epoch, or a step: a row, at once. The plan goes before the first, on stderr. */
void watch_print_row(watch_printer *w, const watched *each);
/** Summary of the run: a sentence, or a last row of JSON. CSV: the sentence on stderr. */
void watch_print_summary(watch_printer *w, const watch_summary *s);

#endif
