/**
 * Command lines. A table of options parses them, checks them, fills the command's struct, reports
 * misuse, and prints the help.
 *
 * A command's table consists of its own rows, of groups, and of `options_shared`. Rows with the
 * same name are one option. The first row counts, and takes missing members from the later rows. So
 * each option is described once, and a command states only the differences. A row with another type
 * than the later ones must state its own argument, default and bounds.
 */
#ifndef OPTIONS_OPTIONS_H
#define OPTIONS_OPTIONS_H

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <layermeter/error.h>
#include <layermeter/types.h>

#include "base/values.h"

#define ARGUMENTS_MAX 64

/** Exit codes. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_MISUSED = 2 };

struct arena;
typedef struct option_row option_row;

/** Values of a repeated option, or of a list; allocated with the options. */
typedef count_list option_counts;
typedef word_list  option_texts;

extern const value_type type_flag; /**< bool; takes no value */

/** Heading of an option in the help. */
typedef enum help_heading {
    HELP_AS_SHARED, /**< as in the later row with this name */
    HELP_WHAT,      /**< what to compute */
    HELP_WHERE,     /**< machine, device, link */
    HELP_HOW,       /**< method of computing or training */
    HELP_OUTPUT,
    N_HELP_HEADINGS
} help_heading;

/** Above 0, for `least` of a real number. */
#define OPTION_ABOVE_0 DBL_MIN

struct option_row {
    /** name of the option, without --; the table ends where `name` and `group` are NULL */
    const char       *name;
    size_t            at, size; /**< of the target in the command's struct: OPTION_AT() */
    const value_type *type;
    const char       *argument; /**< placeholder of its value, for the help; NULL: no value */
    const char       *fallback; /**< default, as a user would write it; NULL: none */
    help_heading      heading;
    const char       *help;    /**< one line; the default is printed after it */
    const char       *choices; /**< appended to the help: "table, csv or json"; NULL: none */
    /** The same, if it is known only at run time. */
    const char *(*words)(char *buffer, size_t size);
    bool   or_auto;     /**< a list may also be the word `auto` */
    bool   repeats;     /**< the target starts with a pointer to values and their number */
    bool   listed;      /**< if it repeats: commas separate values, too */
    double least, most; /**< limits of a number; most 0: none */
    /** message for a value outside the limits; if it ends in "found", the value follows */
    const char *outside;
    /**
     * Another option that must, or must not, be given with this one; otherwise the message is
     * `refusal`.
     */
    const char *needs, *excludes, *refusal;
    /**
     * "phase=training": another option must have that word; "phase!=decode": it must not. Otherwise
     * the message is `otherwise`, with the option's word for %s.
     */
    const char       *when, *otherwise;
    const char       *needed; /**< message if the option is missing and has no default */
    const option_row *group;  /**< if `name` is NULL: these rows fill the struct at `at` */
    const char *bare; /**< value of the name alone, before another option or the end; NULL: none */
};

/** Target of a row: a member of the command's struct. */
#define OPTION_AT(T, member) .at = offsetof(T, member), .size = sizeof(((T *)0)->member)
/** A row that includes another table, which fills a member of the command's struct. */
#define OPTION_GROUP(T, member, rows)            \
    {                                            \
        .at = offsetof(T, member), .group = rows \
    }

/** Common parts of options of several commands, without a target. */
extern const option_row options_shared[];

typedef struct command     command;
typedef struct option_slot option_slot;

/** Forms of --help. */
typedef enum help_form {
    HELP_TEXT,
    HELP_MANUAL,  /**< --help=man: a manual page in roff */
    HELP_COMPLETE /**< --complete WORD...: completions of the last word */
} help_form;

/** A parsed command line. */
typedef struct options {
    const command *command;
    void          *filled; /**< the command's struct: values of the rows, else zeros */
    struct arena  *room;   /**< owns the struct and everything that it points to */
    option_slot   *slot;   /**< options of the command */
    size_t         n_slots;
    struct {
        const option_slot *slot;
        const char        *text; /**< as typed; "yes" for a flag */
    } * word;                    /**< all given options, in order */
    size_t       n_words;
    const char  *argument[ARGUMENTS_MAX]; /**< the arguments, in order */
    int          n_arguments;
    bool         help;    /**< --help was given */
    help_form    form;    /**< form of the help */
    char *const *typed;   /**< --complete: the words after it, NULL at the end */
    option_texts plugins; /**< --plugin, an option of each command */
} options;

/** A command of the program. */
struct command {
    const char       *name;
    const char       *also;      /**< another name; NULL: none */
    const char       *arguments; /**< in the usage line: "MODEL" */
    const char       *doc;       /**< one line */
    const char       *details;   /**< paragraphs after the options; may be NULL */
    const char       *examples;  /**< lines */
    const option_row *rows;
    size_t            size; /**< size of the struct that the rows fill */
    int               min_arguments, max_arguments;
    /**
     * Checks that the table cannot express, and values that follow from the options, before any
     * file is read. May write o->filled. NULL: none.
     */
    lm_status (*check)(options *o, lm_error *err);
    lm_status (*run)(const options *o, lm_error *err);
    /** For a command in another program: it gets the whole command line, unparsed. Else NULL. */
    int (*hand_over)(int argc, char **argv);
};

/** A command whose file has `details`, `examples` and `option_rows`, which fill a T. */
#define COMMAND(name_, arguments_, doc_, T, least, most, check_, run_)                        \
    {                                                                                         \
        .name = name_, .arguments = arguments_, .doc = doc_, .details = details,              \
        .examples = examples, .rows = option_rows, .size = sizeof(T), .min_arguments = least, \
        .max_arguments = most, .check = check_, .run = run_                                   \
    }

/**
 * Splits argv[1..] into options and arguments, up to --help. Call options_free() in either case.
 *
 * @param program name for messages: "layermeter"
 * @return an error whose text describes a misuse: unknown option, missing arguments
 */
lm_status options_parse(const char *program, const command *c, int argc, char **argv, options *o,
                        lm_error *err);
/**
 * Reads and checks the values, and fills the command's struct. The text of an error describes a
 * misuse.
 */
lm_status options_fill(options *o, lm_error *err);
void      options_free(options *o);
/** Prints the help in the wanted form. */
void options_print_help(const options *o, const char *program, FILE *out);

/** Was the option given that fills `target`? */
bool option_given(const options *o, const void *target);
/** Text of the option: as given, else its default; NULL: neither. */
const char *option_text(const options *o, const void *target);

/** An option on the command line. */
typedef struct option_word {
    const char *name, *value; /**< value NULL: a flag */
    const void *target;
} option_word;
/** The i-th of o->n_words options. */
option_word option_word_at(const options *o, size_t i);
/** Is the target within the `size` bytes at `group`? */
bool option_within(const void *target, const void *group, size_t size);

/** Error about the option that fills `target`: "--name: <text>". Returns LM_E_ARG. */
lm_status misused(const options *o, const void *target, lm_error *err, const char *fmt, ...)
    LM_PRINTF(4, 5);
/**
 * Error if an option that fills one of the `size` bytes at `group` was given; the message says that
 * they are for `of`.
 */
lm_status refused(const options *o, const void *group, size_t size, const char *of, lm_error *err);
/**
 * option_again(): was the option given more than once? If it does not repeat, the last value
 * counts. once_or_each(): a repeated option must be given once for all `n` machines, or once for
 * each.
 */
bool      option_again(const options *o, const void *target);
lm_status once_or_each(const options *o, const void *target, size_t n, lm_error *err);

/** Prints "<program>: <text>" to stderr. Returns EXIT_FAILED. */
int report_failure(const lm_error *err);
/** As report_failure(). Returns EXIT_MISUSED. */
int report_misuse(const lm_error *err);

/** Flushes stdout. Returns `code`, or a failure for a full disk or a closed pipe. */
int finish_output(int code);

#endif
