/** Steps in buckets, for the files of exposed.h alone. */
#ifndef FIT_EXPOSED_PARTS_H
#define FIT_EXPOSED_PARTS_H

#include "fit/exposed/exposed.h"
#include "program/buckets.h"

/** Question to the recurrence at a point. */
typedef struct exposed_question {
    step_passes              passes;
    sync_policy              policy;
    program_case             of; /**< in one micro-step */
    const gradient_schedule *schedule;
    gradient_schedule       *own; /**< the schedule, to be freed; NULL: it is another's */
} exposed_question;

/** `alone`: of the backward pass, s, measured beside no message; NAN: as it is predicted. */
lm_status exposed_ask(const points *p, const calibration *cal, const char *model, const point *pt,
                      double alone, exposed_question *out, lm_error *err);

collective_call exposed_where(const observation *row);
/** Messages of a step: of a network without layers as many as its bytes fill, and the small first
 * one. */
size_t exposed_messages(const point *pt);
/** On as many ranks of a host as the point's. */
step_passes exposed_passes(const calibration *cal, const char *model, const point *pt);
/** What a step computes where nothing is all-reduced beside it: as it was measured on the same
 * ranks (`slowest`: by the slowest of them) or on one, else as it is predicted. */
step_passes exposed_alone(const points *p, const calibration *cal, const char *model,
                          const point *pt, bool *slowest);

/** What was exposed: as it was measured, else what the step took beyond that of one device. NAN:
 * neither tells. */
double exposed_left(const points *p, const point *pt);

/** Sums of squares of relative errors. */
typedef struct exposed_sums {
    double grown_beside, beside_beside; /**< of the slowdown, by the clock */
    double rest_bytes, bytes_bytes;     /**< of the copy, beyond the one that there is */
    double squares;                     /**< of what was exposed, and of the step */
    double steps;                       /**< of the step alone */
    size_t n;
} exposed_sums;

/** Which numbers of hosts are tried: fewer than this, or as many and more. */
bool exposed_fewer(int64_t hosts, int64_t than);
bool exposed_as_many(int64_t hosts, int64_t as);
/** The sums with the constants that `cal` has, of the hosts that `takes` takes. */
lm_status exposed_try(const points *p, const calibration *cal, const char *model,
                      bool (*takes)(int64_t, int64_t), int64_t hosts, exposed_sums *out,
                      lm_error *err);
/** The slowdown that these sums tell. */
double exposed_slowdown(const exposed_sums *s);

#endif
