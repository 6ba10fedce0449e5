/** Curves of layermeter scale in words, tables, JSON and pictures. */
#ifndef CLI_SCALE_PRINT_H
#define CLI_SCALE_PRINT_H

#include "cli/commands.h"
#include "cli/scale_grid.h"

/** What was asked, as it stood on the command line. */
typedef struct scale_words {
    const char *network, *machine, *scaling, *batch;
    const char *device; /**< of --model paleo */
    const char *plot;   /**< picture; NULL: none */
    bool        keep_script;
} scale_words;

/** Data to stdout; what is to be known of them beside, for tables to stdout, too, else to stderr.
 */
lm_status scale_print(const scale_grid *g, const session *s, const scale_words *w, format f,
                      lm_error *err);

/** The picture, if one is wanted. */
lm_status scale_draw(const scale_grid *g, const session *s, const scale_words *w, lm_error *err);

#endif
