/** Plots of traces. */
#ifndef EPOCHS_TRACE_PLOT_H
#define EPOCHS_TRACE_PLOT_H

#include "epochs/epochs.h"

/**
 * Plots a metric over time: its mean, and the band between least and largest value if bins share a
 * pixel. A line marks the beginning of each epoch; epochs that are not steady are shaded. Below:
 * the lengths of the epochs.
 *
 * @param path ends in .svg, .png or .pdf; keep_script: see gnuplot.h
 */
lm_status plot_trace(const char *path, const char *title, const char *metric, const char *unit,
                     const trace_grid *g, const epochs *e, bool keep_script, lm_error *err);

#endif
