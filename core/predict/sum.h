/** The parts of a prediction, added up: seconds, what they stand on, and what leaves the range. */
#ifndef PREDICT_SUM_H
#define PREDICT_SUM_H

#include "predict/price.h"

typedef struct sum {
    const predictor *who;
    const workload  *load;
    unsigned         measured;  /**< parts, see predict_measured() */
    bool             sync_only; /**< see overlap_question */
    prediction      *out;       /**< its ledger and `beyond` grow */
    lm_error        *err;
} sum;

/** Adds to out->beyond, once. Texts are printed when somebody asks: most of those who scan do not.
 */
void sum_note(prediction *out, const char *what, double factor);

/** Adds a part that is done so many times; its seconds, all of these, into *seconds. LM_E_NOTFOUND
 * if the machine file does not say what it takes. */
lm_status sum_add(sum *s, part which, double times, double *seconds);

/** LM_E_NOTFOUND, with what to measure for that part. */
lm_status sum_missing(sum *s, part which);

/**
 * Puts all-reduces beside the backward pass into a step whose forward and backward passes are
 * there.
 *
 * @param backward of the last micro-step beside no message, which is among out->backward
 */
void sum_overlap(const overlap *o, double backward, double update, prediction *out);

/** Of the ledger of one message of so many seconds what is exposed of the all-reduces becomes the
 * step's; assumed where no steps in buckets were measured. */
void sum_exposed(const calibration *cal, const ledger *once, double seconds, prediction *out);

#endif
