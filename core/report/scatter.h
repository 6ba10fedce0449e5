/** A picture of predicted against measured times. */
#ifndef REPORT_SCATTER_H
#define REPORT_SCATTER_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

/** Points of one model: a panel of the picture. */
typedef struct scatter_panel {
    const char   *title;                /**< one line */
    const double *predicted, *measured; /**< seconds; a pair is left out unless both are above 0 */
    size_t        n;
} scatter_panel;

/**
 * Draws panels side by side with the same logarithmic scales, in ms: the diagonal, and thin lines
 * at errors of 20 %.
 *
 * @return as gnuplot_draw(); LM_E_ARG if there is no point
 */
lm_status plot_scatter(const char *path, const char *title, const scatter_panel *panel, size_t n,
                       bool keep_script, lm_error *err);

#endif
