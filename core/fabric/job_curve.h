/**
 * A job's own curve: steps of one network on few devices, extrapolated to more devices.
 *
 * A step is the device's own work, m (a + b batch) in m micro-steps (gradient accumulation), plus the
 * exposed part of its all-reduces, which the last micro-step sends. That part
 * is w (d - 1) / d for the d devices of a host, and x (h - 1) / h for h hosts: so do the bytes of a
 * ring grow (Patarasuk & Yuan 2009) within a host and between hosts. The devices of a host share
 * one link, so the number of ranks has no own term.
 *
 * The fit is relative, robust, non-negative least squares; rows of more ranks have more weight. A
 * ridge holds w and x near 0, so a step stays as it was measured. It also holds a near a tenth of a
 * micro-step, unless two batches were measured on the same devices: if batches differ only with the
 * number of devices, a cannot be separated from the all-reduces.
 *
 * The update, once a step, is an unknown part of a. So bounds of other numbers of micro-steps than the
 * measured ones also hold a step whose whole a is the update.
 *
 * The form, the ridge and the widths of the bounds were chosen on jobs that the accuracy exam does
 * not score.
 */
#ifndef FABRIC_JOB_CURVE_H
#define FABRIC_JOB_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

/** A measured step. */
typedef struct job_row {
    int64_t batch;          /**< per device and micro-step */
    int64_t micro;          /**< micro-steps */
    int64_t hosts, devices; /**< devices: per host */
    double  seconds;
} job_row;

typedef struct job_curve {
    char *network, *input; /**< as in the list of measured networks (fit/measured.h) */
    /** a in s per micro-step, b in s per sample; `step` 0: only one batch was measured */
    double step, sample;
    /** w and x in s: limits for many devices of a host, and for many hosts */
    double within, between;
    double least_batch, most_batch; /**< measured range of the batch */
    double least_micro, most_micro; /**< measured range of micro-steps */
    double hosts, devices, ranks;   /**< largest measured numbers */
    size_t rows;
    double mape; /**< on its own rows */
} job_curve;

/** Zero-initialise. */
typedef struct job_curves {
    job_curve *of;
    size_t     n, room;
} job_curves;

/** Fewest numbers of ranks for a curve. */
#define JOB_CURVE_LEAST 2

/**
 * Fits everything except the names. LM_E_ARG for fewer numbers of ranks than JOB_CURVE_LEAST;
 * LM_E_NOMEM.
 */
lm_status job_curve_fit(const job_row *row, size_t n, job_curve *out, lm_error *err);

/** Seconds of the device's own work in a micro-step. */
double job_curve_own(const job_curve *c, double batch);
/**
 * Seconds of the device's own work in one of `micro` micro-steps, if the constant part a is the update
 * alone. The update runs once a step, so the micro-steps share it.
 */
double job_curve_own_once(const job_curve *c, double batch, double micro);
/** Seconds of the exposed all-reduces, on measured fabrics: see job_curve_knows(). */
double job_curve_exposed(const job_curve *c, double hosts, double devices);
/**
 * Were all-reduces measured between hosts (`hosts`), or between devices of a host (`devices`), as
 * needed?
 */
bool job_curve_knows(const job_curve *c, bool hosts, bool devices);

/**
 * Factors of the bounds of these seconds, up and down: the central 90 %, from the errors of jobs
 * and the curve's error on its own rows.
 */
double job_curve_own_spread(const job_curve *c, double batch);
double job_curve_exposed_spread(const job_curve *c, double hosts, double devices);

/** Adds a curve under copies of its names. LM_E_NOMEM. */
lm_status job_curves_add(job_curves *all, const char *network, const char *input,
                         const job_curve *c, lm_error *err);
/** NULL: there is none. */
const job_curve *job_curves_find(const job_curves *all, const char *network, const char *input);
void             job_curves_free(job_curves *all);

#endif
