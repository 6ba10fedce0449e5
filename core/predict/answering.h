/**
 * Intermediate state of a predicted step: predict.c composes the step, bounds.c adds its bounds.
 */
#ifndef PREDICT_ANSWERING_H
#define PREDICT_ANSWERING_H

#include "predict/predict.h"

/* Inputs of the price of a device's own work (forward, backward, update). */
typedef struct price_key {
    int64_t      batch;   /* 0: the entry is empty */
    int64_t      devices; /* devices of its node that work at the same time */
    optimizer    optimizer;
    program_kind program;
    unsigned     how; /* PRICED_TOGETHER ... */
} price_key;

enum {
    PRICED_TOGETHER = 1, /* this same step was measured on as many ranks */
    /* several ranks exchange gradients: a model may use another formula for the update */
    PRICED_MANY  = 2,
    PRICED_MICRO = 4 /* several micro-steps: a model may refuse them */
};

/* Price of a device's own work for one batch. */
typedef struct priced {
    price_key      key;
    bool           many;
    interval_reach reach; /* distance of the batch from the measured range, if `price.known` */
    step_price     price;
} priced;

/* Prices that depend on nodes and devices, but not on the batch. */
typedef struct exchanged {
    int64_t          nodes, devices; /* nodes 0: the entry is empty */
    measured_batches measured;       /* batches that were measured on as many ranks */
    /* distance of the ranks from the measured range, for the intervals `reach_of` */
    interval_reach   reach;
    const intervals *reach_of;
    double           bytes; /* message size of `price`; NAN: not priced yet */
    exchange_price   price;
} exchanged;

/* Parts that a step is composed from. */
typedef struct answering {
    const predictor  *who;
    const step_setup *asked;
    double            micro;
    bool              in_turn; /* step_setup_in_turn() */
    priced           *own;
    exchanged        *ranks;
    priced_program   *program; /* NULL: nothing overlaps, and the caller wants no buckets */
    /* the caller needs only the bounds of the all-reduces, `slow` and `fast` */
    bool      brief;
    lm_error *err;
} answering;

/** Seconds of each segment of the step without overlap: passes, update, all-reduces. */
step_work answering_work(const answering *a);

/**
 * The step with passes and messages scaled in time.
 * @param pass   factor on the passes
 * @param longer factor on the messages
 * @param brief  without the list of buckets
 */
step_times answering_times(answering *a, const step_work *w, double pass, double longer,
                           bool brief);

/**
 * Bounds of a pass of inference, `p->forward` seconds long: those of PHASE_FORWARD, and zeros of the
 * passes and updates that inference lacks. Other bounds stay.
 */
void answering_bound_inference(const step_price *p, const interval_place *place, double *low,
                               double *high);

/**
 * Widens all bounds if the element type was not measured (DTYPE_DOUBT, FP8_MOST), or if products run as
 * TF32 on a 16-bit machine file (TF32_LEAST, predictor.as_tf32). All of the step then counts as assumed.
 */
void answering_doubt_types(const predictor *who, program_kind program, prediction *out);

/** Raises low bounds to the device's datasheet limit (step_price.least). */
void answering_hold_bounds(const answering *a, prediction *out);

/** Fills low, high, slow, fast, p95 and the intervals that they come from; NAN if unknown. */
void answering_put_bounds(answering *a, prediction *out);

#endif
