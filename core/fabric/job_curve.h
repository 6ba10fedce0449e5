/**
 * A job's own curve: steps of one network on few devices, continued to more.
 *
 * A step is what a device does by itself, a + b batch, and what its all-reduces leave behind the
 * backward pass: w (d - 1) / d among the d devices of a host and x (h - 1) / h among h hosts, which
 * is how the bytes of a ring grow (Patarasuk & Yuan 2009) within a host and between hosts. Hosts
 * share one link each, so ranks do not count by themselves. Relative, robust, non-negative least
 * squares, rows of more ranks weighing more; a ridge holds w and x near 0: a step stays as it was. It
 * holds a, too, unless two batches were measured on the same devices: batches that differ with the
 * number of devices do not tell it from all-reduces.
 *
 * Jobs that the accuracy exam does not score chose the form, the ridge and the widths of the bounds.
 */
#ifndef FABRIC_JOB_CURVE_H
#define FABRIC_JOB_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

/** A measured step. */
typedef struct job_row {
    int64_t batch;          /**< of each device */
    int64_t hosts, devices; /**< devices: of each host */
    double  seconds;
} job_row;

typedef struct job_curve {
    char  *network, *input; /**< as measured networks are looked up (fit/measured.h) */
    double step, sample;    /**< s, s per sample of a device; `step` 0: one batch was measured */
    double within, between; /**< s of many devices of a host, of many hosts */
    double least_batch, most_batch; /**< that were measured */
    double hosts, devices, ranks;   /**< most of each */
    size_t rows;
    double mape; /**< on them */
} job_curve;

/** Zero-initialise. */
typedef struct job_curves {
    job_curve *of;
    size_t     n, room;
} job_curves;

/** Fewest numbers of ranks that a curve needs. */
#define JOB_CURVE_LEAST 2

/** Fits all but the names. LM_E_ARG for fewer numbers of ranks than JOB_CURVE_LEAST; LM_E_NOMEM. */
lm_status job_curve_fit(const job_row *row, size_t n, job_curve *out, lm_error *err);

/** Seconds of a device by itself. */
double job_curve_own(const job_curve *c, double batch);
/** Seconds of the all-reduces behind it, on hosts that were measured: see job_curve_knows(). */
double job_curve_exposed(const job_curve *c, double hosts, double devices);
/** Are the all-reduces of several hosts, or of several devices of a host, among what was measured? */
bool job_curve_knows(const job_curve *c, bool hosts, bool devices);

/** By what factor these may be longer or shorter: the central 90 %, by what jobs are off and by what
 * the curve misses its own rows. */
double job_curve_own_spread(const job_curve *c, double batch);
double job_curve_exposed_spread(const job_curve *c, double hosts, double devices);

/** Adds one under copies of its names. LM_E_NOMEM. */
lm_status job_curves_add(job_curves *all, const char *network, const char *input,
                         const job_curve *c, lm_error *err);
/** NULL: there is none. */
const job_curve *job_curves_find(const job_curves *all, const char *network, const char *input);
void             job_curves_free(job_curves *all);

#endif
