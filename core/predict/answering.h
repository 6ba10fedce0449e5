/** A step while it is answered: what predict.c finds and composes, and what bounds.c states of it. */
#ifndef PREDICT_ANSWERING_H
#define PREDICT_ANSWERING_H

#include "predict/predict.h"

/* Inputs of the price of a device's own work. */
typedef struct price_key {
    int64_t      batch;   /* 0: of nothing */
    int64_t      devices; /* of its node, all at work */
    optimizer    optimizer;
    program_kind program;
    unsigned     how; /* PRICED_TOGETHER ... */
} price_key;

enum {
    PRICED_TOGETHER = 1, /* this very step was measured on as many ranks */
    PRICED_MANY     = 2, /* of several ranks that exchange gradients: models may update by another
                            formula */
    PRICED_MICRO    = 4  /* of several micro-steps: models may refuse them */
};

/* Price of a device's own work, at a batch. */
typedef struct priced {
    price_key      key;
    bool           many;
    interval_reach reach; /* of the batch, where its intervals are known */
    step_price     price;
} priced;

/* Prices that depend on nodes and devices, not on the batch. */
typedef struct exchanged {
    int64_t          nodes, devices; /* nodes 0: of nothing */
    measured_batches measured;       /* batches that were measured on as many ranks */
    interval_reach   reach;          /* of the ranks, where its intervals are known */
    const intervals *reach_of;
    double           bytes; /* of `price`; NAN: of nothing yet */
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
    priced_program   *program; /* NULL: nothing is hidden, and nobody wants buckets */
    bool              brief;   /* of the bounds those of the all-reduces, slow and fast suffice */
    lm_error         *err;
} answering;

/** Seconds of the step's segments by themselves: passes, update, all-reduces. */
step_work answering_work(const answering *a);

/** The step with its passes and messages so many times as long. `brief`: without buckets one by one. */
step_times answering_times(answering *a, const step_work *w, double pass, double longer,
                           bool brief);

/** Widens all bounds for products that are asked as TF32 (predictor.as_tf32). */
void answering_doubt_tf32(const predictor *who, prediction *out);

/** Raises low ends to what the device's datasheet allows (step_price.least). */
void answering_hold_bounds(const answering *a, prediction *out);

/** Fills low, high, slow, fast, p95 and the intervals behind them; NAN where nobody knows. */
void answering_put_bounds(answering *a, prediction *out);

#endif
