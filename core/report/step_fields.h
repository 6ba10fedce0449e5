/** Fields of a predicted step, for predict, scale, reports and pictures. */
#ifndef REPORT_STEP_FIELDS_H
#define REPORT_STEP_FIELDS_H

#include <math.h>

#include "predict/generation.h"
#include "predict/step_power.h"
#include "report/fields.h"
#include "report/json.h"

/** Known power of a device. */
typedef struct step_watts {
    const power_model *model;
    bool               learned;       /**< the model of steps also predicts power */
    double             grams_per_kwh; /**< CO2 of electricity; NAN: unknown */
} step_watts;

/** The record of step_fields: a step with further values. */
typedef struct step_row {
    scale_point       point;
    sync_policy       sync;
    int64_t           tokens;        /**< of a sample; 0: it has none */
    double            at_peak;       /**< utilization_at_peak(), s; NAN or 0: not known */
    double            again;         /**< utilization_again() */
    step_power        power;         /**< NAN: unknown */
    const char       *power_by;      /**< step_power_by() */
    double            grams_per_kwh; /**< CO2 of electricity; NAN: unknown */
    turning_point     turning;       /**< of its curve; nodes below 1: none, or unknown */
    const char       *machine, *set; /**< set: arguments of the network; NULL: none */
    const char       *layout;        /**< words; NULL: none */
    bool              best;          /**< the best of the wanted policies */
    const generation *generation;    /**< generation with the mean step `point`; NULL: none */
} step_row;

/** Facts that decide on columns. */
enum step_facts {
    STEP_POWER       = 1 << 0,  /**< some power is known */
    STEP_CO2         = 1 << 1,  /**< and the CO2 of electricity */
    STEP_SET         = 1 << 2,  /**< arguments of the network were set */
    STEP_SEVERAL     = 1 << 3,  /**< nodes have several devices */
    STEP_MICRO       = 1 << 4,  /**< steps have several micro-steps */
    STEP_WHOLE       = 1 << 5,  /**< the batch of all devices is given */
    STEP_SYNC        = 1 << 6,  /**< an unusual policy, or several */
    STEP_TOKENS      = 1 << 7,  /**< samples are rows of tokens */
    STEP_BEST        = 1 << 8,  /**< the user wants the best policy */
    STEP_TRAINING    = 1 << 9,  /**< rows are training steps ... */
    STEP_INFERENCE   = 1 << 10, /**< ... or forward passes of inference */
    STEP_SPREAD      = 1 << 11, /**< repetitions of inference are known to spread */
    STEP_LAYOUT      = 1 << 12, /**< ranks share more than the batch */
    STEP_EPOCHS      = 1 << 13, /**< samples of an epoch are known */
    STEP_PEAK        = 1 << 14, /**< the device's peak is known */
    STEP_COMPARED    = 1 << 15, /**< rows have several machines */
    STEP_AGAIN       = 1 << 16, /**< forward passes are recomputed */
    STEP_UNSPLIT     = 1 << 17, /**< ranks of tp do not share some layers */
    STEP_CLOCKS      = 1 << 18, /**< rows are steps at clocks ... */
    STEP_ELECTRICITY = 1 << 20, /**< the price of electricity is known */
    STEP_LIMITS      = 1 << 19  /**< ... or under power limits */
};

/** All fields, in the order of `layermeter scale`, with headings for it and for curves on pages. */
extern const field step_fields[];
/** Fields of `layermeter predict`, from step_fields. */
extern const field step_predicted[];
/** Fields of `layermeter predict --phase decode`, for rows with a generation, from step_fields. */
extern const field step_generated[];
/** Parts of steps on a page, from step_fields. */
extern const field step_parts_told[];

/** A step at a clock, or under a power limit. */
typedef struct energy_row {
    step_row    step;
    double      held, mhz; /**< held: wanted MHz or watts, NAN: none; mhz: resulting clock */
    step_energy energy;    /**< energy of the step, by activity of devices */
    double      kwh_price; /**< price of electricity; NAN: not given */
    char        best[40];  /**< goals for which this clock is best */
} energy_row;
/** Fields of `layermeter energy`, from step_fields. */
extern const field energy_fields[];

/** Fact of a program: training or inference. */
static inline unsigned step_program_fact(program_kind p)
{
    return p == PROGRAM_INFERENCE ? STEP_INFERENCE : STEP_TRAINING;
}

/** Writes "phase" of a question; for decoding also the generated tokens. */
void step_json_phase(json *j, program_kind program, const generation_span *span);

/** Fact: the prediction has a 95th percentile of latencies. */
static inline unsigned step_spread_fact(const prediction *p)
{
    return isnan(p->p95) ? 0 : STEP_SPREAD;
}

/** Prints where all-reduces come from, if not from this machine: a shipped interconnect, or between
 * nodes an assumed one. `label` as for step_basis_explain(). */
void links_explain(const calibration *cal, const interconnect *link, bool between_nodes,
                   const char *label, FILE *out);

/**
 * Prints the basis of a prediction if it is not a calibration of this machine. It may be a machine
 * file with a source, another element type, training's forward pass instead of inference, or a
 * datasheet's peaks.
 *
 * @param label of the machine, if there are several; NULL: one
 */
void step_basis_explain(const predictor *who, const prediction *p, const char *label, FILE *out);

/** Does a framework's host make the step much longer, if the user did not ask for it? *alone: s of the
 * kernels. */
bool step_waits_for_host(const predictor *who, const step_setup *s, const prediction *p,
                         double *alone);
/** Notes that a framework's host makes the step much longer, if the user did not ask for it. */
void step_host_hint(const predictor *who, const step_setup *s, const prediction *p,
                    const char *label, FILE *out);

/** Facts for columns of power; 0: no power is known. */
unsigned step_watts_facts(const step_watts *w);
/** A row of a point, with its power. The caller fills the rest. */
step_row step_row_of(const scale_point *point, const step_watts *w);

/** Is the power of a point known? True also if no power is shown. */
bool step_power_told(const step_watts *w, const scale_point *point);

/** Prints on stderr why a step has no power, although there are columns for it. `machine`: its
 * file. */
void step_watts_explain(const step_watts *w, const char *model, const char *machine);

/** For `each`: names of certainties. */
const char *certainty_each(const void *whole, size_t i);

#endif
