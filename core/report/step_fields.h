/** Fields of a predicted step: what predict, scale, report and pictures show of it. */
#ifndef REPORT_STEP_FIELDS_H
#define REPORT_STEP_FIELDS_H

#include <math.h>

#include "predict/generation.h"
#include "predict/step_power.h"
#include "report/fields.h"
#include "report/json.h"

/** What is known of a device's power. */
typedef struct step_watts {
    const power_model *model;
    bool               learned;       /**< the model that predicts steps tells their power, too */
    double             grams_per_kwh; /**< CO2 of electricity; NAN: not told */
} step_watts;

/** A step with what is said beside it: the record of step_fields. */
typedef struct step_row {
    scale_point       point;
    sync_policy       sync;
    int64_t           tokens;        /**< of a sample; 0: it has none */
    double            at_peak;       /**< utilization_at_peak(), s; NAN or 0: not known */
    double            again;         /**< utilization_again() */
    step_power        power;         /**< NAN: unknown */
    const char       *power_by;      /**< step_power_by() */
    double            grams_per_kwh; /**< CO2 of electricity; NAN: not told */
    turning_point     turning;       /**< of its curve; nodes below 1: none, or unknown */
    const char       *machine, *set; /**< of the network; NULL: nothing */
    const char       *layout;        /**< words; NULL: none */
    bool              best;          /**< of the policies that were asked for */
    const generation *generation;    /**< whose mean step `point` is; NULL: of none */
} step_row;

/** Facts that decide on columns. */
enum step_facts {
    STEP_POWER       = 1 << 0,  /**< some power is known */
    STEP_CO2         = 1 << 1,  /**< and the CO2 of electricity */
    STEP_SET         = 1 << 2,  /**< arguments of the network are set */
    STEP_SEVERAL     = 1 << 3,  /**< nodes have several devices */
    STEP_MICRO       = 1 << 4,  /**< steps have several micro-steps */
    STEP_WHOLE       = 1 << 5,  /**< the batch of all devices is given */
    STEP_SYNC        = 1 << 6,  /**< a policy other than the usual, or several */
    STEP_TOKENS      = 1 << 7,  /**< samples are rows of tokens */
    STEP_BEST        = 1 << 8,  /**< the best policy is asked for */
    STEP_TRAINING    = 1 << 9,  /**< one of the two: rows are training steps ... */
    STEP_INFERENCE   = 1 << 10, /**< ... or forward passes of inference */
    STEP_SPREAD      = 1 << 11, /**< repetitions of inference are known to spread */
    STEP_LAYOUT      = 1 << 12, /**< ranks share more than the batch */
    STEP_EPOCHS      = 1 << 13, /**< samples of an epoch are known */
    STEP_PEAK        = 1 << 14, /**< the device's peak is known */
    STEP_COMPARED    = 1 << 15, /**< rows are of several machines */
    STEP_AGAIN       = 1 << 16, /**< forward passes run again */
    STEP_UNSPLIT     = 1 << 17, /**< some layers do not divide among ranks of tp */
    STEP_CLOCKS      = 1 << 18, /**< rows are of clocks ... */
    STEP_ELECTRICITY = 1 << 20, /**< the price of electricity is known */
    STEP_LIMITS      = 1 << 19  /**< ... or of power limits */
};

/** All fields, in the order of `layermeter scale`, with its heads and those of a page's curve. */
extern const field step_fields[];
/** Those of `layermeter predict`: from step_fields. */
extern const field step_predicted[];
/** Those of `layermeter predict --phase decode`, of rows with a generation: from step_fields. */
extern const field step_generated[];
/** Those of a page's steps, part by part: from step_fields. */
extern const field step_parts_told[];

/** A step at a clock, or under a limit. */
typedef struct energy_row {
    step_row    step;
    double      held, mhz; /**< MHz or watts that are asked for, NAN: none; clock that is kept */
    step_energy energy;    /**< of the step, by what devices do */
    double      kwh_price; /**< of electricity; NAN: not given */
    char        best[40];  /**< what the clock is best for */
} energy_row;
/** Those of `layermeter energy`: from step_fields. */
extern const field energy_fields[];

/** Which of the two a program is. */
static inline unsigned step_program_fact(program_kind p)
{
    return p == PROGRAM_INFERENCE ? STEP_INFERENCE : STEP_TRAINING;
}

/** "phase" of a question, of decoding with what is generated. */
void step_json_phase(json *j, program_kind program, const generation_span *span);

/** Does a prediction tell how far latencies are apart? */
static inline unsigned step_spread_fact(const prediction *p)
{
    return isnan(p->p95) ? 0 : STEP_SPREAD;
}

/**
 * Says what a prediction stands on, where that is not told by a calibration of one's own: the device
 * and the source of a machine file that says its source, an element type that it does not know, a
 * forward pass of training that stands in for inference, a datasheet's peaks.
 *
 * @param label of the machine, where there are several; NULL: there is one
 */
void step_basis_explain(const predictor *who, const prediction *p, const char *label, FILE *out);

/** Columns that power adds; 0: no power is known. */
unsigned step_watts_facts(const step_watts *w);
/** A row of a point, with its power; the rest is the caller's to fill. */
step_row step_row_of(const scale_point *point, const step_watts *w);

/** Is the power of a point known, or no power shown at all? */
bool step_power_told(const step_watts *w, const scale_point *point);

/** Says on stderr why some step has no power, though there are columns for it. `machine`: its file.
 */
void step_watts_explain(const step_watts *w, const char *model, const char *machine);

/** For `each`: names of certainties. */
const char *certainty_each(const void *whole, size_t i);

#endif
