/** Machines that answer the same question side by side. */
#ifndef CLI_SIDES_H
#define CLI_SIDES_H

#include "cli/decoding.h"
#include "cli/limit_options.h"
#include "cli/power_options.h"

/** A machine that answers. */
typedef struct side {
    session     *s;
    const char  *label; /**< its file or device; NULL: the only machine */
    model_source source;
    decoding    *decode; /**< NULL: not wanted */
    power_choice power;
    limit_choice limit;
    limit_notes  notes;
    step_setup   setup;
    double       at_peak, again; /**< sides_utilization() */
    scale_point  first;          /**< the step that notes describe */
    bool         no_power;       /**< a step has no known power */
} side;

typedef struct sides {
    session one[FLEET_MAX];
    side    of[FLEET_MAX];
    size_t  n;
} sides;

/** The question to each machine, from the options. */
typedef struct sides_options {
    const fleet_options *fleet;
    setup_choice        *how;
    const power_choice  *power;
    const limit_choice  *limit;
    int64_t              batch; /**< largest batch of a device */
} sides_options;

/** Opens the machines' sessions, and settles the synchronisation of gradients. `all` is zero before;
 * call sides_close() in either case. */
lm_status sides_open(const options *o, const sides_options *q, sides *all, lm_error *err);
/** Sets up each machine: its label, decoding, power and limits. */
lm_status sides_begin(const sides_options *q, sides *all, lm_error *err);
/** For training steps of language models: time at the devices' peak, and the recomputed share. */
lm_status sides_utilization(sides *all, lm_error *err);
void      sides_close(sides *all);

/** With several machines, puts this one's name in front of the error. Returns `status`. */
lm_status side_blame(const side *m, lm_status status, lm_error *err);

/** Checks the limits of all machines. */
lm_status sides_judge(sides *all, lm_error *err);

#endif
