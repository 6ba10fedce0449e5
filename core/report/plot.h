/** Scaling curves as pictures. */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include <stdbool.h>

#include "predict/scaling.h"

/**
 * Draws a scaling curve: throughput with its interval against the ideal, and the parts of a step.
 *
 * @param path        ends in .svg, .png or .pdf, which decides the format; written whole or not at
 * all
 * @param title       one line
 * @param measured_to nodes that took part in the calibration: beyond is shaded
 * @param turning     turning point, 0: none
 * @param keep_script leave the gnuplot script and its data beside the picture, as PATH.gp
 * @return LM_E_ARG for another ending, LM_E_NOTFOUND without gnuplot, LM_E_IO
 */
lm_status plot_scaling(const char *path, const char *title, const scale_point *point, size_t n,
                       int64_t measured_to, int64_t turning, bool keep_script, lm_error *err);

#endif
