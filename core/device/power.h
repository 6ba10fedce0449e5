/**
 * Power of a training device, and the effect of another clock.
 *
 * A device draws its idle power and, beyond that, dynamic power by what its time goes to. All
 * dynamic power but the memory's part follows the clock f and its voltage V: f V(f)^2. V is
 * constant up to a knee and linear above it (CMOS switching power, Chandrakasan et al. 1992; the
 * knee on GPUs: Mei, Wang & Chu 2017, "A survey and measurement study of GPU DVFS on energy
 * conservation"). Energy by arithmetic, traffic and time is the energy roofline (Choi, Bedard,
 * Fowler & Vuduc, IPDPS 2013). A board's limit is its power cap (Choi et al., IPDPS 2014): the
 * clock falls until the power meets the limit. Time bound by arithmetic is proportional to 1 / f;
 * time bound by traffic and launches is constant.
 */
#ifndef DEVICE_POWER_H
#define DEVICE_POWER_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

#include "counts/terms.h"

/** Default energy of the memory for a byte read or written, J: HBM2's 3.9 pJ a bit (O'Connor et
 * al., "Fine-Grained DRAM", MICRO 2017). */
#define POWER_MEMORY_JOULES (8 * 3.9e-12)

/** Powers within this share of the limit are held by it. */
#define POWER_AT_CAP 0.98

/** A device's power. NAN: unknown. */
typedef struct power_model {
    double bound_w[N_TERM_BOUNDS]; /**< watts while all time is bound by this, at the top clock */
    double idle_w;                 /**< at rest, switched on */
    double memory_w; /**< the memory's part of bound_w[BOUND_TRAFFIC], independent of the clock */
    double cap_w;    /**< the board's limit */
    double top_mhz;  /**< highest clock, that of bound_w */
    double knee_mhz; /**< up to here the voltage is constant */
    double slope;    /**< above the knee V grows by this share of itself for each knee's worth of
                          clock; 1: as the clock */
    bool   assumed;  /**< given by a user or a datasheet, not fitted */
    /* Of a fit; else 0 and NAN. */
    size_t rows, groups;        /**< powers, and their networks */
    double low_mhz, high_mhz;   /**< clocks of the rows */
    double mape, held_out_mape; /**< on these rows; on held-out networks */
    double low,
        high; /**< measured / predicted: the central 90 % on held-out networks, else on rows */
} power_model;

/** An unknown device; V proportional to the clock above a knee. */
extern const power_model power_unknown;

/** Does the model know the power of a step at the usual clock? */
bool power_known(const power_model *m);
/** And at other clocks? That takes the clock, the knee and the idle power. */
bool power_clocks_known(const power_model *m);

/** What a step's time goes to: shares that add up to 1. Waiting for others counts as launch. If
 * others go on meanwhile, as a host that runs ahead, a step takes (others^join +
 * work^join)^(1/join); waiting is the rest of it beside work. */
typedef struct power_load {
    double share[N_TERM_BOUNDS];
    double join; /**< 0, as 1: work follows the waiting */
    double more; /**< the cache's part of the traffic's share, which follows the clock; negative:
                      the memory-bound part of the arithmetic's share, which does not */
} power_load;

/** The load after everything that follows the clock takes `slower` times as long, into `out`.
 * Returns the factor of the whole time. */
double power_slow_down(const power_load *load, double slower, power_load *out);

/** Share of the time bound by memory, which is independent of the clock. */
double power_memory_share(const power_load *load);

/** f V(f)^2 relative to the top clock. Pure, as all of these. */
double power_dynamic(const power_model *m, double mhz);

/** Watts of a load at a clock, without limit; `mhz` NAN: the top clock. */
double power_draw(const power_model *m, const power_load *load, double mhz);

/** A device at work. */
typedef struct power_state {
    double mhz;     /**< NAN: unknown */
    double watts;   /**< never above the limit */
    double stretch; /**< its time over the step's predicted time */
} power_state;

/** The state of the step as measured, held by the limit `cap_w` alone. If the load would draw more,
 * the clock is that at which it draws the limit, if clocks are known. */
power_state power_usual(const power_model *m, const power_load *load);

/** The model for a load whose power was measured at the usual clock: dynamic power is scaled by the
 * same factor at every clock. Watts at the limit are a lower bound, so a larger power of the
 * model's own then counts. */
power_model power_as_measured(const power_model *m, const power_load *load, double watts);

/** The state with the clock held at `mhz` (NAN: not held) and the limit at `cap_w` (NAN: the
 * model's). The load and its time are those of power_usual(). A clock above the limit falls.
 * Watts and stretch are NAN if the model knows no clocks and the state is not the usual one. */
power_state power_held(const power_model *m, const power_load *load, double mhz, double cap_w);

/**
 * The state at `to_mhz` of a load that draws `watts` at `from_mhz` (NAN: as the device runs), its
 * `stretch` over the time there; the load is that of power_usual(). `watts` NAN: only the stretch is
 * told. All NAN if the model knows no clocks.
 */
power_state power_carried(const power_model *m, const power_load *load, double watts,
                          double from_mhz, double to_mhz);

/** Goal of a choice of clock: least time, least energy, or least energy times time (Horowitz,
 * Indermaur & Gonzalez 1994). */
typedef enum best_for { BEST_TIME, BEST_ENERGY, BEST_EDP, N_BEST_FOR } best_for;

/** "time", "energy", "edp". */
const char *best_for_name(best_for b);

/** The load at each of the clocks, which the model must know (power_clocks_known()); the limit as
 * in power_held(). */
void clocks_try(const power_model *m, const power_load *load, double cap_w, const double *mhz,
                size_t n, power_state *out);

/** The best of n > 0 states; of equals the first. */
size_t clocks_best(const power_state *at, size_t n, best_for what);

/** Default clocks: 16 equal steps up to the top one. */
#define CLOCKS_USUAL 16
void clocks_usual(const power_model *m, double out[CLOCKS_USUAL]);

#endif
