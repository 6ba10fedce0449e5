/** Steps in buckets: private to the files of exposed.h. */
#ifndef FIT_EXPOSED_PARTS_H
#define FIT_EXPOSED_PARTS_H

#include "fit/exposed/exposed.h"
#include "program/buckets.h"

/** Inputs of the recurrence at a point. */
typedef struct exposed_question {
    step_passes              passes;
    sync_policy              policy;
    program_case             of; /**< for one micro-step */
    const gradient_schedule *schedule;
    /** owned schedule, to be freed; NULL: `schedule` belongs to another */
    gradient_schedule *own;
} exposed_question;

/**
 * Makes the inputs.
 * @param alone measured backward pass without messages, s; NAN: the predicted one
 */
lm_status exposed_ask(const points *p, const calibration *cal, const char *model, const point *pt,
                      double alone, exposed_question *out, lm_error *err);

collective_call exposed_where(const observation *row);
/**
 * Number of messages in a step. For a network without layers: as many as its bytes fill, plus the
 * small first one.
 */
size_t exposed_messages(const point *pt);
/** Passes with as many ranks per host as the point has. */
step_passes exposed_passes(const calibration *cal, const char *model, const point *pt);
/**
 * Compute of a step without all-reduces at the same time: measured on the same ranks (`slowest`: by
 * the slowest rank) or on one rank, else predicted.
 */
step_passes exposed_alone(const points *p, const calibration *cal, const char *model,
                          const point *pt, bool *slowest);

/**
 * Exposed time: as measured, else the step's time minus that of one device. NAN: neither is known.
 */
double exposed_left(const points *p, const point *pt);

/** Sums of squares of relative errors. */
typedef struct exposed_sums {
    double grown_beside, beside_beside; /**< for the slowdown, weighted with the time */
    double rest_bytes, bytes_bytes;     /**< for the copy, in addition to the present one */
    double squares;                     /**< for the exposed part and the step */
    double steps;                       /**< for the step only */
    size_t n;
} exposed_sums;

/** Selection of hosts: fewer than `than`; `as` or more. */
bool exposed_fewer(int64_t hosts, int64_t than);
bool exposed_as_many(int64_t hosts, int64_t as);
/** The sums with the constants in `cal`, over the hosts that `takes` selects. */
lm_status exposed_try(const points *p, const calibration *cal, const char *model,
                      bool (*takes)(int64_t, int64_t), int64_t hosts, exposed_sums *out,
                      lm_error *err);
/** The slowdown that follows from these sums. */
double exposed_slowdown(const exposed_sums *s);

#endif
