/** Options of layouts: how ranks share a network. */
#ifndef CLI_LAYOUT_OPTIONS_H
#define CLI_LAYOUT_OPTIONS_H

#include "options/options.h"
#include "program/layout.h"

#define LAYOUT_WORDS 16 /**< limit for options with one property */

/** The options. */
typedef struct layout_choice {
    const char *text;               /**< --layout */
    const char *word[LAYOUT_WORDS]; /**< options with one property each */
    bool        sp;
    layout      layout;             /**< layout_choice_check() */
    bool        given;              /**< at least one was given */
    char        words[LAYOUT_TEXT]; /**< text of `layout` */
} layout_choice;

/** Fill a layout_choice. */
extern const option_row layout_option_rows[];

/**
 * Options that layouts have words for, too: mb, ga, gb. NULL: the command has no such option. A
 * word sets the option that was not given, and must equal one that was.
 */
typedef struct layout_beside {
    option_counts *batch;
    int64_t       *one; /**< --batch of commands that take one */
    int64_t       *accumulate, *global_batch;
} layout_beside;

/** Reads the options. LM_E_ARG and LM_E_SYNTAX; the text names the option. */
lm_status layout_choice_check(const options *o, layout_choice *c, const layout_beside *beside,
                              lm_error *err);

#endif
