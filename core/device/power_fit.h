/** A power model from measured powers: non-negative least squares of relative errors. */
#ifndef DEVICE_POWER_FIT_H
#define DEVICE_POWER_FIT_H

#include <layermeter/error.h>

#include "device/power.h"

/** A measured power. */
typedef struct power_row {
    power_load load;
    double     watts;
    double     mhz;   /**< NAN: the default clock, unknown */
    size_t     group; /**< group that is left out together */
} power_row;

/** Fewest rows of a fit: the unknowns for rows at one clock, plus one. */
#define POWER_LEAST_ROWS 4

/**
 * Fits the values that are NAN in `told`: idle_w, cap_w, top_mhz, knee_mhz; and memory_w, if there
 * are rows of several clocks.
 *
 * Rows at several clocks determine the part that follows the clock, the idle power, the memory's
 * part and the knee. The knee is the point of a grid with the least loss; with four clocks or more,
 * the slope above it is fitted, too. Rows at one clock determine only bound_w. A row at the power
 * limit without a known clock is censored: it would draw that power or more. It counts with the
 * model's expectation if that is higher (the EM algorithm for censored data, Dempster, Laird &
 * Rubin 1977). Errors and interval come from groups that are left out in turn, if there are two or
 * more, with the knee of all rows.
 *
 * @return LM_E_ARG for fewer than POWER_LEAST_ROWS; LM_E_NOMEM
 */
lm_status power_fit(const power_row *row, size_t n, const power_model *told, power_model *out,
                    lm_error *err);

#endif
