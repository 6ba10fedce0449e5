/** Options of a command, completed from its table: for parsing and for each form of help. */
#ifndef OPTIONS_SLOTS_H
#define OPTIONS_SLOTS_H

#include "options/options.h"

/** An option of a command. */
struct option_slot {
    option_row  row;    /**< with members from all rows of this name */
    void       *target; /**< NULL: --help */
    const char *text;   /**< last given value, else the default; NULL: neither */
    size_t      n;      /**< number of times it was given */
};

/** Names of the headings: "What". */
extern const char *const options_headings[N_HELP_HEADINGS];

/** The option with this name of n bytes; NULL: none. */
option_slot *options_find(const options *o, const char *name, size_t n);

/** What to give instead of an option of other programs; NULL: nobody knows. */
const char *options_hint(const options *o, const char *name, size_t n);

/** What to give instead of such a value of an option; NULL: nobody knows. */
const char *options_value_hint(const char *option, const char *value);

/** The help of an option with its words and its default. */
void options_describe(const option_row *row, char *text, size_t size);

/** Prints a manual page as roff. `program` as for options_print_help(). */
void manual_print(const options *o, const char *program, FILE *out);

/**
 * Prints completions of the last typed word, one per line: "word<TAB>meaning". ":files" stands for
 * files.
 */
void complete_print(const options *o, FILE *out);

#endif
