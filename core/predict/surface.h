/** Seconds of a step over batches and nodes, coefficients times counts added up once: for scans. */
#ifndef PREDICT_SURFACE_H
#define PREDICT_SURFACE_H

#include "predict/price.h"

/** Most regressors of a step that only the number of nodes tells. */
#define SURFACE_NODES 4

/** first + (batch - 1) more + the regressors of the nodes, all in seconds. */
typedef struct surface_side {
    double first, more; /**< of one sample, of each more */
    size_t n;
    struct {
        feature of;
        double  coefficient;
    } node[SURFACE_NODES];
} surface_side;

typedef struct step_surface {
    surface_side side[2]; /**< on one node, on several */
    double       bytes;   /**< all-reduced */
    double       micro;   /**< steps in a step */
    int64_t      devices; /**< of each node */
    /** Answers for the all-reduce of several ranks beside the rest; NULL: it is part of it. */
    const calibration *cal;
    const char        *model;
    int64_t batch; /**< the only one it is of; 0: of all, as the counts grow by equal steps */
} step_surface;

/** `s->batch` matters only where the counts do not grow by equal steps. What predict_load()
 * returns; a formula that is missing makes the seconds NAN. */
lm_status step_surface_of(const predictor *who, const step_setup *s, step_surface *out,
                          lm_error *err);

/** Is it of that step, too, but for its nodes and devices? */
bool step_surface_holds(const step_surface *s, const step_setup *of);

/** prediction.step but for rounding, at a batch that it holds, on so many devices in all. Pure. */
double step_surface_at(const step_surface *s, int64_t batch, int64_t ranks);

#endif
