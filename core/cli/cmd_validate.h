/** `layermeter validate`: its options and its parts, each in a file validate_*.c. */
#ifndef CLI_CMD_VALIDATE_H
#define CLI_CMD_VALIDATE_H

#include "cli/commands.h"
#include "fit/comparison.h"
#include "fit/launch_models.h"
#include "judge/clocks.h"
#include "judge/devices.h"
#include "judge/launches.h"
#include "models/layerwise.h"
#include "models/step_model.h"

/** Models side by side, at most. */
#define JUDGED_MAX 8

/** What is told, and in which form. */
typedef struct judging_form {
    phase       q; /**< of points and plots; N_TIMES: clocks */
    format      f;
    bool        points, pooled; /**< every point; of all groups together alone */
    const char *plot;           /**< NULL: none */
} judging_form;

typedef struct validate_options {
    split_rule   rule; /**< without the seed, until they are checked */
    uint64_t     seed;
    const char  *machine, *where, *algorithm, *learn, *layers, *devices;
    option_texts models, device; /**< several devices: where they are left out */
    bool         power;
    judging_form form;
} validate_options;

/** What `--phase` calls powers at each clock. */
#define PHASE_CLOCKS "clocks"

/* ---- judging: validate_print.c ---- */

/** A model and what it says of each point. */
typedef struct judged {
    const char *model;
    comparison *at;
} judged;

/** What is judged, and by what. Owns nothing. */
typedef struct judging {
    const points *p;
    const split  *by, *groups; /**< what is left out, what errors are told by */
    const judged *model;
    size_t        n;     /**< models, up to JUDGED_MAX */
    bool          power; /**< tell powers and energies beside times */
} judging;

/** Columns of group, phase, model, points and errors. */
void judging_columns(table *t);
/** Values of these columns. `group` NULL: of all; `seconds`: of times, whose RMSE is told. */
void judging_add(table *t, const char *group, const char *phase_text, const char *model,
                 const stats_errors *e, bool seconds);
/** What is left out; errors and coverage by group, phase and model, or a row a point; and a picture
 * of predicted against measured, a panel a model. On stdout, but the picture. */
lm_status judging_print(const judging *all, const judging_form *as, lm_error *err);
/** Is no interval stated of anything that is predicted? */
bool judging_without_intervals(const judging *all);

/* ---- powers, kernels ---- */

/**
 * Fills a table: power, energy and time of every measured power (clocks.h), errors by group, or
 * with `each` a row a power.
 */
lm_status validate_clocks(const points *p, const calibration *cal, const char *path, bool each,
                          table *t, lm_error *err);

/** Misuse of --leave-out device, before any file is read; and its answer. */
lm_status validate_machines_check(options *o, lm_error *err);
lm_status validate_machines(const options *o, lm_error *err);

#endif
