/** `layermeter scale`: its options, curves, and how they are printed. */
#ifndef CLI_CMD_SCALE_H
#define CLI_CMD_SCALE_H

#include "cli/power_options.h"
#include "cli/setup_options.h"

typedef struct scale_options {
    session_options session;
    setup_choice    how;
    power_choice    power;
    scaling_options scaling;
    option_counts   nodes, devices, batch;
    int64_t         dataset;
    format          format;
    const char     *plot; /**< picture; NULL: none */
    bool            keep_script;
} scale_options;

/** One curve over nodes. */
typedef struct scale_line {
    scale_curve   curve;
    bool          turns; /**< several nodes can be predicted: `turning` says something */
    turning_point turning;
    scale_point  *point; /**< of each number of nodes */
} scale_line;

/** Devices per node x batch x sync policy, each a curve over the same numbers of nodes. */
typedef struct scale_grid {
    scale_line  *line;
    size_t       n_lines;
    size_t       n_nodes; /**< points of each curve */
    int64_t      tokens;  /**< of a sample; 0: it is none of tokens */
    const char  *set;     /**< of the network; NULL: nothing */
    power_choice power;   /**< columns of it where it is known */
} scale_grid;

/** A row for each point. People get the columns in which something is to be seen, files get all. */
table *scale_rows(const scale_grid *g, format f);

/** Has any point no power, though there are columns for it? */
bool scale_lacks_power(const scale_grid *g);

/** A row for each curve: where it turns. */
table *scale_turns(const scale_grid *g, format f);

/** What a turning point of these curves is, in words: "doubling gains less than ..." */
const char *scale_turn_meaning(scaling_kind kind);

/** "DEVICES per node, batch N, ddp:25MiB": what tells a curve from the others, "" of a single one.
 */
#define SCALE_LABEL 96
const char *scale_label(const scale_grid *g, const scale_line *l, char buffer[SCALE_LABEL]);

/** Data to stdout; what is to be known of them beside, for tables to stdout, too, else to stderr. */
lm_status scale_print(const scale_grid *g, const session *s, const options *o, lm_error *err);
/** The picture, if one is wanted. */
lm_status scale_draw(const scale_grid *g, const session *s, const options *o, lm_error *err);

#endif
