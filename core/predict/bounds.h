/** Bounds of predicted steps. */
#ifndef PREDICT_BOUNDS_H
#define PREDICT_BOUNDS_H

#include "predict/price.h"

/** What bounds stand on. */
typedef struct bound_basis {
    const intervals      *known;
    const interval_reach *of_batch, *of_ranks; /**< as in interval_place */
    bool told_link;   /**< what connects the nodes was told: what was measured of others says
                         nothing of it */
    bool told_update; /**< the model tells the update from the all-reduce */
} bound_basis;

/**
 * Of a step whose parts run one after the other, from ratios measured / predicted on what was left
 * out of the fit. An update that the model does not tell from the all-reduce has none.
 *
 * @param update     seconds; NAN: not told apart
 * @param whole_step only whole steps were fitted
 */
void bounds_in_turn(const bound_basis *by, double update, bool whole_step, prediction *out);

/** Of the all-reduce alone; the others stay as they are. */
void bounds_of_sync(const predictor *who, prediction *out);

/** All unknown but that of the all-reduce. */
void bounds_unknown(prediction *out);

/** What the all-reduces of a step and its backward pass do to each other. */
typedef struct overlap_question {
    overlap_plan     *plan; /**< of the setup's policy */
    const step_setup *setup;
    double            backward; /**< s, of one micro-step, beside no message */
    double            compute;  /**< s, of all passes */
    bool sync_only; /**< of its bounds those of the all-reduces, slow and fast suffice */
} overlap_question;

/**
 * Of a step whose all-reduces are hidden behind the backward pass, by the bounds of forward,
 * backward (of all micro-steps, beside no message), update and all-reduces, which `out` has: the
 * recurrence with both at their lows, and at their highs, as what is left grows with either; of the
 * exposed part with the pass at one end and the all-reduces at the other. False: one of these is
 * unknown, and so is the rest.
 */
bool bounds_hidden(const overlap_question *q, double update, prediction *out);

/** Seconds of such a step with its backward pass and all-reduces so many times as long; `rest`:
 * copies, stragglers and update. */
double bounds_step_at(const overlap_question *q, double forward, double pass, double message,
                      double rest);

/** The same where the machine file has the bounds of the parts, or of such steps. */
void bounds_overlapped(const bound_basis *by, const overlap_question *q, double update,
                       prediction *out);

#endif
