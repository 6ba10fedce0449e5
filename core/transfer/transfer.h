/**
 * Transfer: coefficients of calibrated machines, converted to a device without measurements.
 *
 * A coefficient scales inversely with the figure that bounds it (solve/columns.h). Arithmetic
 * scales with the peak of its element type, traffic with the bandwidth of the memory, sequential
 * steps with one multiprocessor's share of the peak. Launches by the host, and networks between
 * nodes, do not belong to the device and stay.
 *
 * The coefficients of several machines are averaged; near devices have more weight. The mean of
 * coefficients predicts the mean of the machines' predictions. It stays right even if one fit
 * counts as arithmetic what another fit counts as traffic.
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
     * lower clock. Of lanes of f32 those count that get instructions (device_issued()). 0: by peaks alone. */
    double power;
    /** Width of the Gaussian that averages machines. The square of a distance is the sum of the
     * squares of half the logarithms of the datasheets' ratios, and of 1.5 for each compute
     * capability between the devices. */
    double near;
    double doubt_most; /**< limit of the result of transfer_doubt() */
    bool   launches;   /**< transfer only prices of single launches; false: everything else */
} transfer_options;

/**
 * power 0.5: a clock under a power limit falls about as the root of the demand on the limit. near
 * 0.5; no limit on the doubt.
 */
extern const transfer_options transfer_default;

/** Factors on coefficients. */
typedef struct transfer_scale {
    double of[N_RESOURCES]; /**< RESOURCE_FLOPS: for the units of the element type */
    /**
     * for arithmetic other than convolutions and products: by the peak of f32, without tensor cores
     */
    double scalar;
} transfer_scale;

/** A machine that was calibrated. */
typedef struct transfer_source {
    const calibration *cal;
    const device      *device; /**< device of the calibration */
    transfer_scale     scale;
    double             weight; /**< the weights of all sources add up to 1 */
} transfer_source;

/**
 * Distance between two devices, for weights of machines: the root of the sum of squares in `near`.
 */
double transfer_distance(const device *a, const device *b, lm_dtype dtype);

/**
 * Sets scales and weights. A resource needs no figure of the datasheets if no machine has a
 * coefficient above 0 for it.
 *
 * @return LM_E_NOTFOUND for a figure that a datasheet lacks; LM_E_ARG for machines that do not fit
 *         together: other element type, settings or tiles. The text names it
 */
lm_status transfer_prepare(transfer_source *from, size_t n, const device *to,
                           const transfer_options *o, lm_error *err);

/**
 * The default model's coefficients on the new device, each marked as not measured there (known 0,
 * no standard error), and prices of single layers (layers.h). Products are not faster than the
 * device's peak. Intervals are those of the machines; transfer_doubt() gives the further error of
 * another device. A framework's host is that of the nearest machine whose host is known, unless it
 * was fitted under layouts.
 */
lm_status transfer_pool(const transfer_source *from, size_t n, const device *to,
                        const transfer_options *o, calibration **out, lm_error *err);

/**
 * Factor of the error of a transfer from one machine by datasheets alone, up and down, for a device
 * that is not near. Training steps of seven networks on an M60, a T4 and a V100 were carried over
 * from each to the two others (times of PROFET, Lee et al., IEEE Big Data 2022). Their mean
 * logarithms of predicted / measured have a root mean square of 0.14. Three devices leave two
 * degrees of freedom: Student's t makes 0.41 of it for the central 90 %, a factor of 1.5.
 */
#define TRANSFER_DOUBT 1.5
/**
 * The same if one of the two is older than Maxwell (compute capability below 5): beside those
 * three, a K80 reaches 0.44 to 0.46 of what its datasheet says.
 */
#define TRANSFER_DOUBT_OLD 3.0
/** Lower limit of the factor in any case. */
#define TRANSFER_DOUBT_LEAST 1.15
/** The same after a correction with a few rows of the device: mean errors are 11 to 17 %. */
#define TRANSFER_DOUBT_CORRECTED 1.5

/**
 * Factor by which this transfer may be wrong.
 *
 * Each machine is left out and predicted from the others. A formula's seconds are compared with the
 * machine's own, at the middle of the range (in logarithms) of each measured term. Prices of single
 * layers are compared over a spread of sizes. The logarithm of a ratio is scaled by the distance to
 * the nearest other machine, so it is smaller if the new device has a nearer machine.
 *
 * For K machines the result is the largest ratio to the power (K + 1) / K. For a single machine it
 * is TRANSFER_DOUBT to the power of the distance, at most 1, or TRANSFER_DOUBT_OLD. It never exceeds the options' limit.
 */
lm_status transfer_doubt(const transfer_source *from, size_t n, const device *to,
                         const transfer_options *o, double *out, lm_error *err);

/**
 * Widens the default model's intervals by that factor, except that of the all-reduce, and notes it.
 * Errors of devices and errors of networks are independent, so half the widths in logarithms add up
 * in squares. False: out of memory.
 */
bool transfer_widen(calibration *cal, double doubt, const char *why);

#endif
