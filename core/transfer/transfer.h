/**
 * Transfer: coefficients of calibrated machines, carried over to a device that nobody measured.
 *
 * A coefficient scales inversely with the figure that bounds it (solve/columns.h). Arithmetic
 * scales with the peak of its element type, traffic with the bandwidth of the memory, steps of a
 * multiprocessor with its share of the peak. Launches by the host, and networks between nodes, do
 * not belong to the device and stay.
 *
 * The coefficients of several machines are averaged, near devices first. The mean of coefficients
 * predicts the mean of the machines' predictions. It stays right if one fit has put into arithmetic
 * what another has put into traffic.
 */
#ifndef TRANSFER_TRANSFER_H
#define TRANSFER_TRANSFER_H

#include "device/device.h"
#include "fit/calibration.h"
#include "solve/columns.h"

#define TRANSFER_SOURCES 16

typedef struct transfer_options {
    /** Arithmetic scales by p'/p (q/q')^power. p and p' are the peaks of the new device and of the
     * measured one, q and q' the same per watt of power limit: a higher demand on the limit means a
     * lower clock. 0: by peaks alone. */
    double power;
    /** Width of the Gaussian that averages machines. The square of a distance is the sum of the
     * squares of half the logarithms of the datasheets' ratios, and of 1.5 for each compute
     * capability between the devices. */
    double near;
    double doubt_most; /**< see transfer_doubt() */
    bool   launches;   /**< prices of single launches alone; else all but these */
} transfer_options;

/** Power 0.5: a clock under a limit falls about as the root of the demand on the limit. near 0.5;
 * no limit on the doubt. */
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

/** How far apart two devices are, as machines are averaged by: the root of `near`'s squares. */
double transfer_distance(const device *a, const device *b, lm_dtype dtype);

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
 * no standard error), and prices of single layers (layers.h). Products are no faster than the device's
 * peak. Intervals are those of the machines;
 * transfer_doubt() tells what another device adds.
 */
lm_status transfer_pool(const transfer_source *from, size_t n, const device *to,
                        const transfer_options *o, calibration **out, lm_error *err);

/** Factor by which a transfer by datasheets alone may be off, up and down, for a device that is not
 * near, if nothing shows it. Published leave-one-device-out errors are 14 to 43 % in the mean. */
#define TRANSFER_DOUBT 2.0
/** And at least, whatever is shown. */
#define TRANSFER_DOUBT_LEAST 1.15
/** The same once a few rows of the device have corrected it: 11 to 17 % in the mean. */
#define TRANSFER_DOUBT_CORRECTED 1.5

/**
 * Factor by which this transfer may be off.
 *
 * Each machine is left out and predicted from the others. A formula's seconds are compared with the
 * machine's own, at the middle of the range (in logarithms) of each term that it has measured;
 * prices of single layers are compared on a spread of sizes. The logarithm of a ratio grows with
 * the distance to the nearest of the others, so it shrinks if the new device has a nearer machine.
 *
 * Of K machines the result is the largest ratio to the power (K + 1) / K. Of a single machine it is
 * TRANSFER_DOUBT to the power of the distance, 1 at most. It never exceeds the options' limit.
 */
lm_status transfer_doubt(const transfer_source *from, size_t n, const device *to,
                         const transfer_options *o, double *out, lm_error *err);

/** Widens the default model's intervals by that factor, except that of the all-reduce, and notes
 * it. Errors of devices and errors of networks are independent, so half the widths in logarithms
 * add up in squares. False: memory ran out. */
bool transfer_widen(calibration *cal, double doubt, const char *why);

#endif
