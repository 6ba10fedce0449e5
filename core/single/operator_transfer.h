/** Prices of operators that were not measured on a machine, from machines on which they were. */
#ifndef SINGLE_OPERATOR_TRANSFER_H
#define SINGLE_OPERATOR_TRANSFER_H

#include "single/operator_model.h"

/** What a datasheet says of a device; NAN: it does not. */
typedef struct device_speed {
    double flops;     /**< peak, FLOP/s */
    double bandwidth; /**< bytes/s */
    double multiprocessors;
    double power; /**< limit, watts */
} device_speed;

/** A machine and its device. */
typedef struct operator_source {
    const operator_model *model;
    device_speed          speed;
} operator_source;

/**
 * Fills the kinds that `m` lacks. A price falls with the peak or the bandwidth of the device; those
 * of the host stay. Of arithmetic it grows with the root of the FLOP/s that a watt of the limit has
 * to feed: of a chip whose clock and voltage go together power grows with the second to third power
 * of the clock, so that the clock which a limit allows falls with a third to a half of it. (That it
 * is the half was seen on published times of three devices; it is fitted to none.) The mean over
 * sources, each weighing exp(-d^2 / 0.5), d its distance in natural logarithms of peak, bandwidth
 * and multiprocessors. Tiles are those of the nearest.
 *
 * @return LM_E_ARG if a peak or a bandwidth is not known, LM_E_NOMEM
 */
lm_status operator_transfer(const operator_source *from, size_t n, const device_speed *to,
                            operator_model *m, lm_error *err);

#endif
