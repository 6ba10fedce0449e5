/**
 * Power of a device that trains, and what another clock makes of it.
 *
 * A device draws what it draws at rest and, beyond, dynamic power by what its time goes to. Of that
 * all but the memory's part follows the clock f and the voltage V that it needs: f V(f)^2, V
 * constant up to a knee and linear above it (CMOS switching power, Chandrakasan et al. 1992; the
 * knee on GPUs: Mei, Wang & Chu 2017, "A survey and measurement study of GPU DVFS on energy
 * conservation"). Energy by arithmetic, traffic and time is the energy roofline (Choi, Bedard,
 * Fowler & Vuduc, IPDPS 2013), a board's limit its power cap (Choi et al., IPDPS 2014): the clock
 * falls until the power is the limit. Time bound by arithmetic is as 1 / f; traffic and launches
 * take what they take.
 */
#ifndef ENERGY_POWER_H
#define ENERGY_POWER_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

#include "counts/terms.h"

/** What memory takes for a byte read or written where nothing else is known, J: HBM2's 3.9 pJ a bit
 * (O'Connor et al., "Fine-Grained DRAM", MICRO 2017). */
#define POWER_MEMORY_JOULES (8 * 3.9e-12)

/** Powers this close to the limit, as a share of it, are held by it. */
#define POWER_AT_CAP 0.98

/** What is known of a device. NAN: unknown. */
typedef struct power_model {
    double bound_w[N_TERM_BOUNDS]; /**< watts while all time is bound so, at the top clock */
    double idle_w;                 /**< at rest, switched on */
    double memory_w; /**< of bound_w[BOUND_TRAFFIC] what the memory draws, whatever the clock */
    double cap_w;    /**< the board's limit */
    double top_mhz;  /**< the clock that bound_w are of: the highest */
    double knee_mhz; /**< up to here the voltage is constant */
    double slope;    /**< above, V grows by so much of itself for each knee's worth of clock; 1: as
                        the clock */
    bool   assumed;  /**< told or by a datasheet, not fitted */
    /* Of a fit; 0 and NAN otherwise. */
    size_t rows, groups;        /**< powers, and networks they are of */
    double low_mhz, high_mhz;   /**< clocks of the rows */
    double mape, held_out_mape; /**< on these rows; on networks left out */
    double low,
        high; /**< measured / predicted: the central 90 % on networks left out, else on rows */
} power_model;

/** Nothing known; V proportional to the clock above a knee. */
extern const power_model power_unknown;

/** Can it tell the power of a step as it runs? */
bool power_known(const power_model *m);
/** And at other clocks? It takes the clock, the knee and what is drawn at rest. */
bool power_clocks_known(const power_model *m);

/**
 * What a step's time goes to: shares that add up to 1. What waits for others counts as launch;
 * where these go on meanwhile, as a host that runs ahead does, a step takes (others^join +
 * work^join)^(1/join), and waiting is what is left of it.
 */
typedef struct power_load {
    double share[N_TERM_BOUNDS];
    double join; /**< 0, as 1: work follows what it waits for */
    double more; /**< what of the traffic's share is a cache's, which follows the clock; negative:
                    what of the arithmetic's memory bounds, which does not */
} power_load;

/** The load as it is when what follows the clock takes `slower` times as long, into `out`; returns
 * by how much all of it does. */
double power_slow_down(const power_load *load, double slower, power_load *out);

/** Of the time what memory bounds, whatever the clock. */
double power_memory_share(const power_load *load);

/** f V(f)^2 over that of the top clock. Pure, as all of these. */
double power_dynamic(const power_model *m, double mhz);

/** Watts of a load held at a clock, whatever the limit; `mhz` NAN: the top clock. */
double power_draw(const power_model *m, const power_load *load, double mhz);

/** A device at work. */
typedef struct power_state {
    double mhz;     /**< the clock it keeps; NAN: unknown */
    double watts;   /**< never above the limit */
    double stretch; /**< its time, over that of the step as it was predicted */
} power_state;

/**
 * As the step was measured: nothing held but by the limit `cap_w`. Where the load would draw more,
 * the clock is the one at which it draws just that, if clocks are known.
 */
power_state power_usual(const power_model *m, const power_load *load);

/**
 * The model for a load whose power was measured as the device runs by itself: what is drawn beyond
 * rest is as much more or less at every clock. Watts at the limit may stand for more than it: the
 * model's own then count, if they are more.
 */
power_model power_as_measured(const power_model *m, const power_load *load, double watts);

/**
 * With the clock held at `mhz` (NAN: not held) and the limit at `cap_w` (NAN: the model's). The
 * load and its time are those of power_usual(). A clock that the limit does not allow falls. Watts
 * and stretch are NAN where the model does not know clocks and either asks for another than the
 * usual.
 */
power_state power_held(const power_model *m, const power_load *load, double mhz, double cap_w);

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
