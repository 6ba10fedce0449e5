/** A power model from measured powers: non-negative least squares of relative errors. */
#ifndef DEVICE_POWER_FIT_H
#define DEVICE_POWER_FIT_H

#include <layermeter/error.h>

#include "device/power.h"

/** A measured power. */
typedef struct power_row {
    power_load load;
    double     watts;
    double     mhz;   /**< NAN: unknown, the usual clock */
    size_t     group; /**< unit of leaving out */
} power_row;

/** Fewest rows of a fit: one more than the unknowns of rows at one clock. */
#define POWER_LEAST_ROWS 4

/**
 * Fits what `told` leaves NAN of idle_w, cap_w, top_mhz, knee_mhz; and memory_w, for which rows of
 * several clocks are needed.
 *
 * Rows at different clocks determine the part that follows the clock, the idle power, the memory's
 * part and the knee: the knee of a grid with the least loss, with four clocks or more also the
 * slope above it. Rows at one clock determine bound_w alone. A row at the limit without a known
 * clock is censored: it would draw that power or more. It counts by the model's expectation if that
 * is more (the EM algorithm for censored data, Dempster, Laird & Rubin 1977). Errors and interval
 * are those of groups left out one at a time, if there are two or more, with the knee of all rows.
 *
 * @return LM_E_ARG for fewer than POWER_LEAST_ROWS; LM_E_NOMEM
 */
lm_status power_fit(const power_row *row, size_t n, const power_model *told, power_model *out,
                    lm_error *err);

#endif
