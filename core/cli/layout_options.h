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

/** Reads them. LM_E_ARG and LM_E_SYNTAX; the text names the option. */
lm_status layout_choice_check(const options *o, layout_choice *c, lm_error *err);

/** The same for commands with --accumulate. */
lm_status layout_choice_check_step(const options *o, layout_choice *c, lm_error *err);

#endif
