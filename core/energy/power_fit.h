/** A power model from measured powers: non-negative least squares of relative errors. */
#ifndef ENERGY_POWER_FIT_H
#define ENERGY_POWER_FIT_H

#include <layermeter/error.h>

#include "energy/power.h"

/** A power that was measured. */
typedef struct power_row {
    power_load load;
    double     watts;
    double     mhz;   /**< NAN: not known, the usual clock */
    size_t     group; /**< what it is left out with */
} power_row;

/** Fewest rows a fit takes: one more than it has unknowns where all are at one clock. */
#define POWER_LEAST_ROWS 4

/**
 * Fits what `told` leaves unknown: idle_w, cap_w, top_mhz, knee_mhz may be told (NAN: not), and
 * memory_w, which only rows of several clocks tell.
 *
 * Rows whose clocks differ tell what follows the clock, what is drawn at rest, the memory's part,
 * and the knee: the one of a grid that leaves least, of four clocks or more with the slope above
 * it. Rows of one clock tell bound_w alone. A row at the limit whose clock is not known would draw
 * that or more: it counts by what the model lets expect, where that is more (the EM algorithm for
 * censored data, Dempster, Laird & Rubin 1977). Errors and interval are of groups left out one at a
 * time, where there are two or more, with the knee of all.
 *
 * @return LM_E_ARG for fewer than POWER_LEAST_ROWS; LM_E_NOMEM
 */
lm_status power_fit(const power_row *row, size_t n, const power_model *told, power_model *out,
                    lm_error *err);

#endif
