/**
 * Transfer: coefficients of calibrated machines, carried over to a device that nobody measured.
 *
 * A coefficient falls with what bounds it (solve/columns.h): arithmetic with the peak of its
 * element type, traffic with the bandwidth of the memory, steps of a multiprocessor with its share
 * of the peak; what the host does to launch kernels, and networks between nodes, are not the
 * device's. Of several machines the coefficients are averaged, near devices first: the mean of
 * coefficients predicts the mean of what each machine predicts, and stays right where the fit of
 * one has put into arithmetic what that of another has put into traffic.
 */
#ifndef TRANSFER_TRANSFER_H
#define TRANSFER_TRANSFER_H

#include "device/device.h"
#include "fit/calibration.h"
#include "solve/columns.h"

#define TRANSFER_SOURCES 16

typedef struct transfer_options {
    /** Arithmetic scales by p'/p (q/q')^power, with p and p' the peaks of the new device and the
     * measured one, q and q' these per watt of power limit: what asks more of a limit keeps a lower
     * clock. 0: by peaks alone. */
    double power;
    /** Width of the Gaussian by which machines are averaged: of a distance whose square adds up
     * those of half the logs of the datasheets' ratios, and of 1.5 for each compute capability
     * between them. */
    double near;
    double doubt_most; /**< see transfer_doubt() */
    bool   launches;   /**< prices of single launches alone; else all but these */
} transfer_options;

/** Power 0.5 (a clock under a limit falls about as the root of what the limit asks), near 0.5, as
 * much doubt as there is. */
extern const transfer_options transfer_default;

/** Factors on coefficients. */
typedef struct transfer_scale {
    double of[N_RESOURCES]; /**< RESOURCE_FLOPS: of the element type's own units */
    double scalar; /**< of arithmetic that is no convolution or product: by the peak of f32, which
                      tensor cores have no part in */
} transfer_scale;

/** A machine that was calibrated. */
typedef struct transfer_source {
    const calibration *cal;
    const device      *device; /**< that it was calibrated on */
    transfer_scale     scale;
    double             weight; /**< of all sources: 1 */
} transfer_source;

/** Which resource bounds a term. */
resource transfer_resource(size_t term);

/**
 * Fills in scales and weights. A resource of which no machine has a coefficient above 0 takes no
 * figure of the datasheets.
 *
 * @return LM_E_NOTFOUND for a figure that a datasheet lacks, LM_E_ARG for machines that do not
 * belong together: of another element type, other settings, other tiles; the text names it
 */
lm_status transfer_prepare(transfer_source *from, size_t n, const device *to,
                           const transfer_options *o, lm_error *err);

/**
 * The default model's coefficients on the new device, each marked as not measured there (known 0,
 * no standard error), and prices of single layers (layers.h). Intervals are such that they hold
 * what those of the machines hold: what another device adds is still to come, see transfer_doubt().
 */
lm_status transfer_pool(const transfer_source *from, size_t n, const device *to,
                        const transfer_options *o, calibration **out, lm_error *err);

/** The factor by which a datasheet alone may be off, up and down, where nothing shows it, of a device
 * that is not near: published leave-one-device-out errors are 14 to 43 % in the mean. */
#define TRANSFER_DOUBT 2.0
/** And at least, whatever is shown. */
#define TRANSFER_DOUBT_LEAST 1.15
/** The same once a few rows of the device have corrected it: 11 to 17 % in the mean. */
#define TRANSFER_DOUBT_CORRECTED 1.5

/**
 * How far off this may be: each machine is left out and carried over to from the others, and a
 * formula's seconds compared with its own, at the middle of the range (in logs) of each term that
 * it has measured; of single layers those of a spread of sizes. The logarithm of a ratio grows with
 * the distance to the nearest of the others: where the new device has a nearer one, it is so much
 * less. Of K machines the largest of these ratios to the power (K + 1) / K, as of a new one; of a
 * single machine TRANSFER_DOUBT to the power of the distance, 1 at most. Never more than the options say.
 */
lm_status transfer_doubt(const transfer_source *from, size_t n, const device *to,
                         const transfer_options *o, double *out, lm_error *err);

/** Widens the default model's intervals by that, but that of the all-reduce, and notes it: how far
 * a device is off and how far its networks are have nothing to do with each other, so half
 * the widths in logarithms add up in squares. False: memory ran out. */
bool transfer_widen(calibration *cal, double doubt, const char *why);

#endif
