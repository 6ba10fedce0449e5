/** Time against cost of plans, as pictures. */
#ifndef REPORT_PLOT_PLANS_H
#define REPORT_PLOT_PLANS_H

#include <stdbool.h>

#include "plan/choose.h"

/** What is drawn. Owns nothing. */
typedef struct plans_picture {
    const char         *title; /**< one line */
    const plan_set     *set;   /**< marked as dominated or not */
    const plan_machine *machines;
    const char *const  *names; /**< of the machines */
    size_t              n_machines;
    plan_view           view;
    plan_limits         limits;   /**< drawn as lines where they are finite */
    const char         *currency; /**< "": device-hours in place of cost */
} plans_picture;

/**
 * Draws every plan by its time and cost, those that no other dominates joined by a line, machine by
 * machine, with their bounds of time.
 *
 * @param path        ends in .svg, .png or .pdf, which decides the format; written whole or not at
 * all
 * @param keep_script leave the gnuplot script and its data beside the picture, as PATH.gp
 * @return LM_E_ARG for another ending, LM_E_NOTFOUND without gnuplot, LM_E_IO
 */
lm_status plot_plans(const char *path, const plans_picture *picture, bool keep_script,
                     lm_error *err);

#endif
