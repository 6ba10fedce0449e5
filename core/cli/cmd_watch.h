/** `layermeter watch`: its printing, in watch_print.c. */
#ifndef CLI_CMD_WATCH_H
#define CLI_CMD_WATCH_H

#include "cli/commands.h"
#include "watch/run.h"

/** Options of a run and its plan. */
typedef struct watch_order {
    const char *plan, *question; /**< file, and which of its answers; NULL: the first */
    const char *observations;    /**< file that the run is appended to; NULL: none */
    format      how;
} watch_order;

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
