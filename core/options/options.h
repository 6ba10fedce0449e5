/**
 * Command lines. A table of options parses them, checks them, fills the command's own struct, says
 * what was misused, and prints the help.
 *
 * A row whose name stands in several places of a command's table (its own rows, the groups it
 * includes, `options_shared`) is one option: the first row counts, and takes from the later ones
 * what it leaves out. So each option is described once, and a command states only what differs. A
 * row of another type than the later ones states its argument, default and bounds itself.
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

/** Values of an option that repeats, or of a list: allocated with the options. */
typedef count_list option_counts;
typedef word_list  option_texts;

extern const value_type type_flag; /**< bool; takes no value */

/** What an option says, as a heading of the help. */
typedef enum help_heading {
    HELP_AS_SHARED, /**< as the row that is overridden */
    HELP_WHAT,      /**< what is asked for */
    HELP_WHERE,     /**< the machine, the device, the link */
    HELP_HOW,       /**< how it is computed or trained */
    HELP_OUTPUT,
    N_HELP_HEADINGS
} help_heading;

/** Above 0, as `least` of a real number. */
#define OPTION_ABOVE_0 DBL_MIN

struct option_row {
    const char       *name;     /**< of --name; NULL with `group` NULL, too: the end */
    size_t            at, size; /**< of the target in the command's struct: OPTION_AT() */
    const value_type *type;
    const char       *argument; /**< what it takes, for the help; NULL: nothing */
    const char       *fallback; /**< the default, as a user would write it; NULL: none */
    help_heading      heading;
    const char       *help;    /**< a line; the default is printed behind it */
    const char       *choices; /**< behind the line: "table, csv or json"; NULL: none */
    /** The same where they are known only at run time. */
    const char *(*words)(char *buffer, size_t size);
    bool        or_auto;     /**< a list may be the word `auto`, too */
    bool        repeats;     /**< the target begins with a pointer to values and their number */
    double      least, most; /**< of a number; most 0: none */
    const char *outside;     /**< said of one beyond; its text follows where this ends in "found" */
    /** Another option that must, or must not, be given with this one; else `refusal` is said. */
    const char *needs, *excludes, *refusal;
    /** "phase=training": a choice that must have that word, or "phase!=decode" must not; else
     * `otherwise` is said, with the word that it has in place of %s. */
    const char       *when, *otherwise;
    const char       *needed; /**< said where the option is not given and has no default */
    const option_row *group;  /**< with `name` NULL: these rows fill the struct at `at` */
};

/** The target of a row: a member of the command's struct. */
#define OPTION_AT(T, member) .at = offsetof(T, member), .size = sizeof(((T *)0)->member)
/** A row that includes a table, which fills a member of the command's struct. */
#define OPTION_GROUP(T, member, rows)            \
    {                                            \
        .at = offsetof(T, member), .group = rows \
    }

/** Options of several commands: what they have in common, without a target. */
extern const option_row options_shared[];

typedef struct command     command;
typedef struct option_slot option_slot;

/** What --help prints. */
typedef enum help_form {
    HELP_TEXT,
    HELP_MANUAL,  /**< --help=man: a page of roff */
    HELP_COMPLETE /**< --complete WORD...: what the last word may become */
} help_form;

/** What stood on the command line. */
typedef struct options {
    const command *command;
    void          *filled; /**< the command's struct: what the rows say, else zeros */
    struct arena  *room;   /**< owns it, and all that it points to */
    option_slot   *slot;   /**< options that the command takes */
    size_t         n_slots;
    struct {
        const option_slot *slot;
        const char        *text; /**< as it stood there; of a flag "yes" */
    } * word;                    /**< all options that were given, in order */
    size_t       n_words;
    const char  *argument[ARGUMENTS_MAX]; /**< the rest, in order */
    int          n_arguments;
    bool         help;    /**< --help is among them */
    help_form    form;    /**< of it */
    char *const *typed;   /**< --complete: the words behind it, NULL at the end */
    option_texts plugins; /**< --plugin, which every command takes */
} options;

/** A command of the program. */
struct command {
    const char       *name;
    const char       *also;      /**< another name of it; NULL: none */
    const char       *arguments; /**< as printed: "MODEL" */
    const char       *doc;       /**< one line */
    const char       *details;   /**< paragraphs below the options; may be NULL */
    const char       *examples;  /**< lines */
    const option_row *rows;
    size_t            size; /**< of the struct that they fill */
    int               min_arguments, max_arguments;
    /** Misuse that the table does not tell, and what follows from the options alone: before any
     * file is read. May write o->filled. NULL: there is none. */
    lm_status (*check)(options *o, lm_error *err);
    lm_status (*run)(const options *o, lm_error *err);
    /** Another program's: it gets all that stood on the command line, unparsed. Else NULL. */
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
 * Takes argv[1..] apart, up to --help. options_free() in either case.
 *
 * @param program as in messages: "layermeter"
 * @return the text is that of a misuse: an option that nobody knows, arguments that are missing
 */
lm_status options_parse(const char *program, const command *c, int argc, char **argv, options *o,
                        lm_error *err);
/** Reads and checks the values, and fills the command's struct. The text is that of a misuse. */
lm_status options_fill(options *o, lm_error *err);
void      options_free(options *o);
/** In the form that was asked for. */
void options_print_help(const options *o, const char *program, FILE *out);

/** Does the option that fills `target` stand on the command line? */
bool option_given(const options *o, const void *target);
/** The option's text: as given, else its default; NULL: neither. */
const char *option_text(const options *o, const void *target);

/** An option as it stands on the command line. */
typedef struct option_word {
    const char *name, *value; /**< value NULL: a flag */
    const void *target;
} option_word;
/** The i-th of o->n_words. */
option_word option_word_at(const options *o, size_t i);
/** Does it lie in `size` bytes at `group`? */
bool option_within(const void *target, const void *group, size_t size);

/** Misuse of the option that fills `target`: "--name: <text>". Returns LM_E_ARG. */
lm_status misused(const options *o, const void *target, lm_error *err, const char *fmt, ...)
    LM_PRINTF(4, 5);
/** None of the options that fill `size` bytes at `group` may be given: they are for `of`. */
lm_status refused(const options *o, const void *group, size_t size, const char *of, lm_error *err);
/** An option that repeats is given once for all `n` machines, or once for each. */
/** Was it given more than once? Where it does not repeat, the last one counts. */
bool      option_again(const options *o, const void *target);
lm_status once_or_each(const options *o, const void *target, size_t n, lm_error *err);

/** Prints "<program>: <text>" to stderr. Returns EXIT_FAILED. */
int report_failure(const lm_error *err);
/** The same. Returns EXIT_MISUSED. */
int report_misuse(const lm_error *err);

/** Flushes stdout; a full disk or closed pipe is a failure. `code` if all went well. */
int finish_output(int code);

#endif
