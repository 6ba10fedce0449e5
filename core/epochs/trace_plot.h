/** Traces of a metric as pictures. */
#ifndef EPOCHS_TRACE_PLOT_H
#define EPOCHS_TRACE_PLOT_H

#include "epochs/epochs.h"

/**
 * Draws a metric over time, as the band between its least and largest value and its mean where
 * there are more bins than a picture has room for, with a line where each epoch begins; what is no
 * steady epoch is shaded. Below, the lengths of the epochs.
 *
 * @param path ends in .svg, .png or .pdf; keep_script: see gnuplot.h
 */
lm_status plot_trace(const char *path, const char *title, const char *metric, const char *unit,
                     const trace_grid *g, const epochs *e, bool keep_script, lm_error *err);

#endif
