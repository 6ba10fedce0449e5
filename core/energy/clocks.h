/** Which of several clocks is best for a step. */
#ifndef ENERGY_CLOCKS_H
#define ENERGY_CLOCKS_H

#include <layermeter/error.h>

#include "energy/power.h"

/** What is to be least: the step's time, its energy, or energy times time (Horowitz, Indermaur &
 * Gonzalez 1994). */
typedef enum best_for { BEST_TIME, BEST_ENERGY, BEST_EDP, N_BEST_FOR } best_for;

/** "time", "energy", "edp". */
const char *best_for_name(best_for b);

/** The load at each of the clocks, of which the model must know (power_clocks_known()); the limit
 * as power_held() takes it. */
void clocks_try(const power_model *m, const power_load *load, double cap_w, const double *mhz,
                size_t n, power_state *out);

/** Of the states, n > 0, the one that has least; of equals the first. */
size_t clocks_best(const power_state *at, size_t n, best_for what);

/** Clocks to try where nobody names any: 16 equal steps up to the top one. */
#define CLOCKS_USUAL 16
void clocks_usual(const power_model *m, double out[CLOCKS_USUAL]);

#endif
