/** Options of a command, as its table states them: for parsing and for each form of help. */
#ifndef OPTIONS_SLOTS_H
#define OPTIONS_SLOTS_H

#include "options/options.h"

/** An option of a command. */
struct option_slot {
    option_row  row;    /**< complete */
    void       *target; /**< NULL: --help */
    const char *text;   /**< the last value given, else the default; NULL: neither */
    size_t      n;      /**< number of times it was given */
};

/** Names of the headings: "What". */
extern const char *const options_headings[N_HELP_HEADINGS];

/** The option whose name is `name`, of n bytes; NULL: the command has none. */
option_slot *options_find(const options *o, const char *name, size_t n);

/** What to give instead of an option of other programs; NULL: nobody knows. */
const char *options_hint(const options *o, const char *name, size_t n);

/** The help of an option with its words and its default. */
void options_describe(const option_row *row, char *text, size_t size);

/** A page of the manual, as roff. `program` as in options_print_help(). */
void manual_print(const options *o, const char *program, FILE *out);

/** What the last of the typed words may become: a line each, "word<TAB>meaning". ":files" stands for
 * files. */
void complete_print(const options *o, FILE *out);

#endif
