/** Predicted against measured times, as a picture. */
#ifndef REPORT_SCATTER_H
#define REPORT_SCATTER_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

/** Points of one model, a panel of the picture. */
typedef struct scatter_panel {
    const char   *title; /**< one line */
    const double *predicted,
        *measured; /**< seconds; pairs that are not both above 0 are left out */
    size_t n;
} scatter_panel;

/**
 * Draws panels side by side, all of the same scale, both axes logarithmic, in ms: the diagonal, and
 * between thin lines what is at most 20 % off.
 *
 * @return as gnuplot_draw(); LM_E_ARG if there is no point
 */
lm_status plot_scatter(const char *path, const char *title, const scatter_panel *panel, size_t n,
                       bool keep_script, lm_error *err);

#endif
