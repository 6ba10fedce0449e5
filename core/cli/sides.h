/** Machines that answer the same question side by side. */
#ifndef CLI_SIDES_H
#define CLI_SIDES_H

#include "cli/decoding.h"
#include "cli/limit_options.h"
#include "cli/power_options.h"

/** A machine that answers. */
typedef struct side {
    session     *s;
    const char  *label; /**< its file or device, where there are several; NULL: it is alone */
    model_source source;
    decoding    *decode; /**< NULL: not wanted */
    power_choice power;
    limit_choice limit;
    limit_notes  notes;
    step_setup   setup;
    double       at_peak, again; /**< sides_utilization() */
    scale_point  first;          /**< step that is told of */
    bool         no_power;       /**< of some step none is known */
} side;

typedef struct sides {
    session one[FLEET_MAX];
    side    of[FLEET_MAX];
    size_t  n;
} sides;

/** What the options ask of each machine. */
typedef struct sides_options {
    const fleet_options *fleet;
    setup_choice        *how;
    const power_choice  *power;
    const limit_choice  *limit;
    int64_t              batch; /**< the largest of a device */
} sides_options;

/** Opens the machines' sessions, and settles the synchronisation of gradients. `all` is zero before;
 * call sides_close() in either case. */
lm_status sides_open(const options *o, const sides_options *q, sides *all, lm_error *err);
/** Sets up each machine: its label, decoding, power and limits. */
lm_status sides_begin(const sides_options *q, sides *all, lm_error *err);
/** For training steps of language models: time at the devices' peak, and the recomputed share. */
lm_status sides_utilization(sides *all, lm_error *err);
void      sides_close(sides *all);

/** Several machines: the message names this one. Returns `status`. */
lm_status side_blame(const side *m, lm_status status, lm_error *err);

/** Judges the limits of all. */
lm_status sides_judge(sides *all, lm_error *err);

#endif
