/** Scaling curves as pictures. */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include <stdbool.h>

#include "predict/scaling.h"
#include "report/marks.h"

/** One of the curves of a picture. */
typedef struct plot_curve {
    const char        *label; /**< what tells it from the others */
    const scale_point *point; /**< by nodes or batch, ascending */
    size_t             n;
    turning_point      turning;
    int64_t measured;          /**< nodes whose all-reduces were: beyond is shaded, where all curves
                         have as many; 0: not known, or there are none */
    const measured_mark *mark; /**< measured steps at its points */
    size_t               n_marks;
} plot_curve;

/** What a picture is of. */
typedef struct plot_heads {
    const char *title;    /**< one line */
    bool        by_batch; /**< curves over batches on as many nodes each; else over nodes */
    bool        infers;   /**< inference; else training */
} plot_heads;

/** More than these colours nobody tells apart. */
#define PLOT_CURVES_MAX 7

/**
 * Draws scaling curves. Above: throughput over nodes, with its interval as a band, measured steps as
 * crosses, and the ideal. Below: the parts of a step, if there is one curve and they are known; else
 * the efficiency, with its interval as a band. Over batches, and of inference, the lower picture has
 * the time of a step or the latency, with the 95th percentile where it is known. Points that leave
 * the calibrated range are hollow. Colours are Okabe and Ito's, "Color Universal Design", 2008,
 * which all kinds of colour vision tell apart.
 *
 * @param path        ends in .svg, .png or .pdf, which decides the format; written whole or not at
 * all
 * @param n           of curves
 * @param keep_script leave the gnuplot script and its data beside the picture, as PATH.gp
 * @return LM_E_ARG for another ending, no curve or too many; LM_E_NOTFOUND without gnuplot, LM_E_IO
 */
lm_status plot_scaling(const char *path, const plot_heads *heads, const plot_curve *curve, size_t n,
                       bool keep_script, lm_error *err);

#endif
