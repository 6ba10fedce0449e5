/** Command lines: one table per command parses them and prints the help. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>

#include <layermeter/error.h>

#define OPTIONS_MAX   48
#define ARGUMENTS_MAX 64

/** Exit codes. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_MISUSED = 2 };

typedef struct option_spec {
    const char *name;     /**< --name */
    const char *argument; /**< what it takes, as printed in the help; NULL: a flag */
    const char *fallback; /**< default as a user would write it; NULL: none */
    const char *doc;      /**< one line; the default is printed behind it */
} option_spec;

typedef struct command command;

/** What stood on the command line. */
typedef struct options {
    const command *command;
    const char    *value[OPTIONS_MAX]; /**< by place in the table; flags: "yes"; NULL: not given */
    bool           given[OPTIONS_MAX]; /**< false: `value` is the default */
    struct {
        int         at;
        const char *value;
    } every[ARGUMENTS_MAX]; /**< all that stood there, in order: for options that repeat */
    int         n_every;
    const char *argument[ARGUMENTS_MAX]; /**< the rest, in order */
    int         n_arguments;
    const char *plugin[ARGUMENTS_MAX]; /**< --plugin, which every command takes, in order */
    int         n_plugins;
} options;

/** A command of the program. */
struct command {
    const char        *name;
    const char        *arguments; /**< as printed: "MODEL" */
    const char        *doc;       /**< one line */
    const char        *details;   /**< paragraphs below the options; may be NULL */
    const char        *examples;  /**< lines */
    const option_spec *options;   /**< ends with a NULL name */
    int                min_arguments, max_arguments;
    int (*run)(const options *o);
    /** Another program's: it gets all that stood on the command line, unparsed. Else NULL. */
    int (*hand_over)(int argc, char **argv);
};

/**
 * Parses argv[1..]. `--help` prints the help to stdout and a mistake one line to stderr; *exit_code
 * is then set and false returned.
 *
 * @param program as in messages: "layermeter"
 */
bool options_parse(const char *program, const command *c, int argc, char **argv, options *out,
                   int *exit_code);

void options_print_help(const char *program, const command *c);

/** Prints "<program>: <text>" to stderr. Returns EXIT_FAILED. */
int report_failure(const lm_error *err);
/** The same for a wrong value on the command line. Returns EXIT_MISUSED. */
int report_misuse(const char *option, const lm_error *err);
/** The same of an option by its place in the command's table: false, with *exit_code set. */
bool option_misuse(const options *o, int at, const lm_error *err, int *exit_code);

/** How often an option is given. */
size_t option_times(const options *o, int at);
/** The value of one that is given once for all, or once for each, of the i-th; NULL: not given. */
const char *option_nth(const options *o, int at, size_t i);

/** None of these may be given: they are for `of`. EXIT_DONE, or EXIT_MISUSED after a message. */
int options_refuse(const options *o, const int *places, size_t n, const char *of);

/** Flushes stdout; a full disk or closed pipe is a failure. `code` if all went well. */
int finish_output(int code);

#endif
