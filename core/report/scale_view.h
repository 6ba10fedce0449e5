/** Output of `layermeter scale`: curves over nodes as table, CSV, JSON, text and picture. */
#ifndef REPORT_SCALE_VIEW_H
#define REPORT_SCALE_VIEW_H

#include "report/step_fields.h"

/** A machine that answers. */
typedef struct scale_machine {
    const predictor *who;
    const char      *label;   /**< its file or device; NULL: the only machine */
    const char      *device;  /**< device of a model that needs a datasheet */
    double           at_peak; /**< utilization_at_peak(), s; NAN or 0: not known */
    double           again;   /**< utilization_again() */
    step_watts       power;
} scale_machine;

/** One curve over nodes. */
typedef struct scale_line {
    const scale_machine *on;

    scale_curve   curve;
    bool          turns; /**< several nodes can be predicted: `turning` is valid */
    turning_point turning;
    scale_point  *point; /**< one per number of nodes */
} scale_line;

/** Devices per node x batch x sync policy, each a curve over the same numbers of nodes for each
 * machine. */
typedef struct scale_grid {
    const scale_machine *machine;
    size_t               n_machines; /**< at least one */
    const char          *network;    /**< name as the user gave it */
    const network       *net;
    generation_span      span;    /**< generated tokens of decoding */
    const char          *layout;  /**< words of a layout; NULL: ranks share only the batch */
    scale_line          *line;    /**< lines of a setting's machines are adjacent */
    size_t               n_lines; /**< at least one */
    size_t               n_nodes; /**< points of each curve, at least one */
    int64_t              tokens;  /**< tokens of a sample; 0: it has none */
} scale_grid;

/** Data go to stdout. Text goes to stdout for tables, to stderr for CSV and JSON. */
lm_status scale_print(const scale_grid *g, const table_look *look, lm_error *err);

/** Does any point of a machine lack its power, although there are columns for it? */
bool scale_lacks_power(const scale_grid *g, const scale_machine *m);

/**
 * Draws the curves with plot_scaling(). `batch`: as the user gave it.
 *
 * @param measured observations, whose steps are drawn beside the curves; NULL: none
 * @return LM_E_NOTFOUND if none of their steps belongs to the network and a point of the curves
 */
lm_status scale_draw(const scale_grid *g, const char *path, const char *batch, const char *measured,
                     bool keep_script, lm_error *err);

#endif
