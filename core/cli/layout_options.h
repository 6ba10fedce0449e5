/** Options of layouts: how ranks share a network. */
#ifndef CLI_LAYOUT_OPTIONS_H
#define CLI_LAYOUT_OPTIONS_H

#include "models/step_model.h"
#include "options/options.h"
#include "program/layout.h"

#define LAYOUT_WORDS 16 /**< limit for options with one property */

/** The options. */
typedef struct layout_choice {
    const char *text;               /**< --layout */
    const char *word[LAYOUT_WORDS]; /**< options with one property each */
    bool        sp;
    const char *recompute;          /**< of commands without another --recompute */
    layout      layout;             /**< layout_choice_check() */
    bool        given;              /**< at least one was given */
    char        words[LAYOUT_TEXT]; /**< text of `layout` */
} layout_choice;

/** Fill a layout_choice. */
extern const option_row layout_option_rows[];
extern const option_row layout_recompute_rows[]; /**< the same */

/**
 * Options that layouts have words for, too: mb, ga, gb. NULL: the command has no such option. A
 * word sets the option that was not given, and must equal one that was.
 */
typedef struct layout_beside {
    option_counts *batch;
    int64_t       *one; /**< --batch of commands that take one */
    int64_t       *accumulate;
    batch_told    *global_batch;
    /** --global-batch of commands whose other modes have it, too: a layout takes it over */
    batch_told *taken;
    /** --recompute of more than layouts; NULL afterwards if the layout took it over */
    const char **recompute;
} layout_beside;

/** Reads the options. LM_E_ARG and LM_E_SYNTAX; the text names the option. */
lm_status layout_choice_check(const options *o, layout_choice *c, const layout_beside *beside,
                              lm_error *err);

/**
 * gpus_settle(). The ranks that a layout tells stand for --gpus if neither nodes nor --gpus are
 * given: all of them with dp; without, one replica, if the devices of a node are not given either.
 */
lm_status layout_choice_place(const options *o, const layout_choice *c, int64_t *gpus,
                              option_counts *nodes, int64_t *devices, lm_error *err);

/** Converts a batch of tokens to samples of the predictor's network; errors as batch_samples(). */
lm_status batch_in_samples(batch_told *b, const predictor *who, lm_error *err);

/** The same for a layout's global batch; `setup` has the layout, too, and gets what it recomputes. */
lm_status layout_choice_settle(layout_choice *c, const predictor *who, step_setup *setup,
                               lm_error *err);

#endif
