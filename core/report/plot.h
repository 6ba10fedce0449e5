/** Scaling curves as pictures. */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include <stdbool.h>

#include "predict/scaling.h"
#include "report/marks.h"

/** One of the curves of a picture. */
typedef struct plot_curve {
    const char        *label; /**< text that identifies it */
    const scale_point *point; /**< ascending by nodes or batch */
    size_t             n;
    turning_point      turning;
    /**
     * number of nodes with measured all-reduces: the area beyond is shaded, if it is the same for
     * all curves; 0: unknown, or none
     */
    int64_t              measured;
    const measured_mark *mark; /**< measured steps at its points */
    size_t               n_marks;
} plot_curve;

/** Subject of a picture. */
typedef struct plot_heads {
    const char *title; /**< one line */
    /** curves over batches, each on one number of nodes; false: over nodes */
    bool by_batch;
    bool infers; /**< inference; else training */
} plot_heads;

/** Number of colours that can be distinguished. */
#define PLOT_CURVES_MAX 7

/**
 * Draws scaling curves. Upper picture: throughput over nodes, with its interval as a band, measured
 * steps as crosses, and the ideal line. Lower picture: the parts of a step, if there is one curve
 * with known parts; else the efficiency, with its interval as a band. Over batches, and for
 * inference, the lower picture has the step time or the latency, with the 95th percentile if known.
 * Points outside the calibrated range are hollow. The colours can be distinguished with all kinds
 * of colour vision (Okabe and Ito, "Color Universal Design", 2008).
 *
 * @param path        ends in .svg, .png or .pdf, which selects the format; written whole or not at
 *                    all
 * @param n           number of curves
 * @param keep_script keep the gnuplot script and its data next to the picture, as PATH.gp
 * @return LM_E_ARG for another ending, no curve or too many; LM_E_NOTFOUND without gnuplot, LM_E_IO
 */
lm_status plot_scaling(const char *path, const plot_heads *heads, const plot_curve *curve, size_t n,
                       bool keep_script, lm_error *err);

#endif
