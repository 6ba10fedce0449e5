/** Options on how ranks share a network: a layout. */
#ifndef CLI_LAYOUT_OPTIONS_H
#define CLI_LAYOUT_OPTIONS_H

#include "options/options.h"
#include "program/layout.h"

#define LAYOUT_WORDS 16 /**< at most */

/** As the options say it. */
typedef struct layout_choice {
    const char *text;               /**< --layout */
    const char *word[LAYOUT_WORDS]; /**< the options that set one property each */
    bool        sp;
    layout      layout;             /**< layout_choice_check() */
    bool        given;              /**< any of them */
    char        words[LAYOUT_TEXT]; /**< of `layout` */
} layout_choice;

/** Fill a layout_choice. */
extern const option_row layout_option_rows[];

/** Reads them. LM_E_ARG and LM_E_SYNTAX, which name the option. */
lm_status layout_choice_check(const options *o, layout_choice *c, lm_error *err);

/** The same of commands that have --accumulate. */
lm_status layout_choice_check_step(const options *o, layout_choice *c, lm_error *err);

#endif
