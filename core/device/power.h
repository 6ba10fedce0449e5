/**
 * Power of a device, and the effect of another clock.
 *
 * A device draws its idle power plus dynamic power, which depends on what bounds its time. All
 * dynamic power except the memory's part follows the clock f and its voltage V: f V(f)^2. V is
 * constant up to a knee and linear above it (CMOS switching power, Chandrakasan et al. 1992; the
 * knee on GPUs: Mei, Wang & Chu 2017, "A survey and measurement study of GPU DVFS on energy
 * conservation"). Energy as a sum over arithmetic, traffic and time is the energy roofline (Choi,
 * Bedard, Fowler & Vuduc, IPDPS 2013). A board's limit is its power cap (Choi et al., IPDPS 2014):
 * the clock falls until the power meets the limit. Time bound by arithmetic is proportional to 1 /
 * f; time bound by traffic and launches is constant.
 */
#ifndef DEVICE_POWER_H
#define DEVICE_POWER_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

#include "counts/terms.h"

/**
 * Default energy per byte of memory traffic, J: HBM2's 3.9 pJ per bit (O'Connor et al.,
 * "Fine-Grained DRAM", MICRO 2017).
 */
#define POWER_MEMORY_JOULES (8 * 3.9e-12)

/** A power above this share of the limit is assumed to be held by the limit. */
#define POWER_AT_CAP 0.98

/** A device's power. NAN: unknown. */
typedef struct power_model {
    double bound_w[N_TERM_BOUNDS]; /**< watts while this bounds all the time, at the top clock */
    double idle_w;                 /**< idle power, device switched on */
    double memory_w; /**< the memory's part of bound_w[BOUND_TRAFFIC], independent of the clock */
    double wait_w;   /**< while waiting for other devices; NAN: see power_waiting() */
    double cap_w;    /**< power limit of the board */
    double top_mhz;  /**< highest clock, for which bound_w is valid */
    double knee_mhz; /**< the voltage is constant up to this clock */
    /**
     * above the knee V grows by this share of itself for each further knee of clock; 1: in
     * proportion to the clock
     */
    double slope;
    bool   assumed; /**< stated by a user or a datasheet, not fitted */
    /* For a fit; else 0 and NAN. */
    size_t rows, groups;        /**< number of powers, and of their networks */
    double low_mhz, high_mhz;   /**< clocks of the rows */
    double mape, held_out_mape; /**< errors on these rows; in cross-validation over networks */
    double low,
        /**
         * central 90 % of measured / predicted, in cross-validation over networks, else on the rows
         */
        high;
} power_model;

/** An unknown device; V is proportional to the clock above a knee. */
extern const power_model power_unknown;

/** Does the model know the power of a step at the default clock? */
bool power_known(const power_model *m);
/** Does it know the power at other clocks? This needs the clock, the knee and the idle power. */
bool power_clocks_known(const power_model *m);

/** Watts with bounds. */
typedef struct power_range {
    double value, low, high;
} power_range;

/**
 * Watts of a device that waits for other devices, in a message or a pipeline bubble. This is wait_w
 * if it was measured. Otherwise the bounds are the idle power (if unknown, that of launches) and
 * the highest power at work, and the value is their middle.
 */
power_range power_waiting(const power_model *m);

/**
 * Shares of a step's time by bound; with `wait` they add up to 1. If
 * others work at the same time, such as a host that runs ahead, a step takes (others^join +
 * work^join)^(1/join); waiting is this time without the work.
 */
typedef struct power_load {
    double share[N_TERM_BOUNDS];
    double wait; /**< waiting for other devices */
    /** part of `wait` for their work, which takes longer at their clock; messages do not */
    double bubble;
    double join; /**< 0 counts as 1: work follows the waiting */
    /**
     * the cache's part of the traffic share, which follows the clock; negative: the memory-bound
     * part of the arithmetic share, which does not
     */
    double more;
} power_load;

/**
 * Computes the load if everything that follows the clock takes `slower` times as long. Returns the
 * factor on the whole time.
 */
double power_slow_down(const power_load *load, double slower, power_load *out);

/** Share of the time that memory bounds: independent of the clock. */
double power_memory_share(const power_load *load);

/** f V(f)^2 relative to the top clock. Pure, as all functions here. */
double power_dynamic(const power_model *m, double mhz);

/** Watts of a load at a clock, without limit; `mhz` NAN: the top clock. */
double power_draw(const power_model *m, const power_load *load, double mhz);

/** A device at work. */
typedef struct power_state {
    double mhz;     /**< NAN: unknown */
    double watts;   /**< never above the limit */
    double stretch; /**< its time divided by the predicted time of the step */
} power_state;

/**
 * State of the step as it was measured, with only the limit `cap_w`. If the load would draw more,
 * the clock is reduced to meet the limit, if clocks are known. A board holds its limit within
 * milliseconds: the device meets it at work, and waiting does not make up for more.
 */
power_state power_usual(const power_model *m, const power_load *load);

/**
 * Adapts the model to a load whose power was measured at the default clock: dynamic power is scaled
 * by the same factor at each clock. Watts at the limit are a lower bound, so a larger power of the
 * model is kept.
 */
power_model power_as_measured(const power_model *m, const power_load *load, double watts);

/**
 * State with the clock held at `mhz` (NAN: not held) and the limit `cap_w` (NAN: the model's). The
 * load and its time are those of power_usual(). A clock that would exceed the limit is reduced.
 * Watts and stretch are NAN if the model knows no clocks and the state is not the usual one.
 */
power_state power_held(const power_model *m, const power_load *load, double mhz, double cap_w);

/**
 * Converts a state to another clock.
 *
 * @param load      as for power_usual()
 * @param watts     power at `from_mhz`; NAN: only the stretch is computed
 * @param from_mhz  NAN: the device's own clock
 * @return state at `to_mhz`; stretch is relative to the time at from_mhz. All NAN if the model
 *         knows no clocks
 */
power_state power_carried(const power_model *m, const power_load *load, double watts,
                          double from_mhz, double to_mhz);

/**
 * Goal for the choice of a clock: least time, least energy, or least energy times time (Horowitz,
 * Indermaur & Gonzalez 1994).
 */
typedef enum best_for { BEST_TIME, BEST_ENERGY, BEST_EDP, N_BEST_FOR } best_for;

/** "time", "energy", "edp". */
const char *best_for_name(best_for b);

/**
 * States of the load at n clocks. The model must know clocks (power_clocks_known()); the limit is
 * as for power_held().
 */
void clocks_try(const power_model *m, const power_load *load, double cap_w, const double *mhz,
                size_t n, power_state *out);

/** The best of n > 0 states; the first if equal. */
size_t clocks_best(const power_state *at, size_t n, best_for what);

/** Default clocks: 16 equal steps up to the top clock. */
#define CLOCKS_USUAL 16
void clocks_usual(const power_model *m, double out[CLOCKS_USUAL]);

#endif
