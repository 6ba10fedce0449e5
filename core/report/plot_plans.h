/** Pictures of plans: time against cost. */
#ifndef REPORT_PLOT_PLANS_H
#define REPORT_PLOT_PLANS_H

#include <stdbool.h>

#include "plan/choose.h"

/** Contents of a picture. Owns nothing. */
typedef struct plans_picture {
    const char         *title; /**< one line */
    const plan_set     *set;   /**< with marks of dominated plans */
    const plan_machine *machines;
    const char *const  *names; /**< of the machines */
    size_t              n_machines;
    plan_view           view;
    plan_limits         limits;   /**< drawn as lines if finite */
    const char         *currency; /**< "": device-hours instead of cost */
} plans_picture;

/**
 * Draws each plan by its time and cost, with the bounds of its time. A line joins the plans that no
 * other dominates, for each machine.
 *
 * @param path        ends in .svg, .png or .pdf, which selects the format; written whole or not at
 *                    all
 * @param keep_script keep the gnuplot script and its data next to the picture, as PATH.gp
 * @return LM_E_ARG for another ending, LM_E_NOTFOUND without gnuplot, LM_E_IO
 */
lm_status plot_plans(const char *path, const plans_picture *picture, bool keep_script,
                     lm_error *err);

#endif
