/* Command lines: one table per command parses them and prints the help. */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const option_spec common[] = {
    { "plugin", "FILE", NULL, "layer types from FILE.so, before all others; may be repeated" },
    { "help", NULL, NULL, "this text" },
    { NULL, NULL, NULL, NULL },
};

static void print_option(const option_spec *s)
{
    char head[48];

    snprintf(head, sizeof head, "--%s%s%s", s->name, s->argument ? " " : "",
             s->argument ? s->argument : "");
    printf("  %-26s%s %s", head, strlen(head) > 25 ? "\n                           " : "", s->doc);
    if (s->fallback)
        printf(" [%s]", s->fallback);
    putchar('\n');
}

void options_print_help(const char *program, const command *c)
{
    printf("%s\n\nUsage: %s%s%s [options]%s%s\n\nOptions:\n", c->doc, program, *c->name ? " " : "",
           c->name, *c->arguments ? " " : "", c->arguments);
    for (const option_spec *s = c->options; s->name; s++)
        print_option(s);
    for (const option_spec *s = common; s->name; s++)
        print_option(s);
    if (c->details)
        printf("\n%s", c->details);
    if (c->examples)
        printf("\nExamples:\n%s", c->examples);
}

static const option_spec *find(const option_spec *table, const char *name, size_t n)
{
    for (; table->name; table++)
        if (strlen(table->name) == n && !strncmp(table->name, name, n))
            return table;
    return NULL;
}

static bool misuse(const char *program, const command *c, int *exit_code, const char *what,
                   const char *detail)
{
    fprintf(stderr, "%s: %s%s (see '%s%s%s --help')\n", program, what, detail, program,
            *c->name ? " " : "", c->name);
    *exit_code = EXIT_MISUSED;
    return false;
}

static void nearest(const option_spec *table, const char *name, const char **near, size_t *distance)
{
    for (; table->name; table++)
        if (text_nearer(name, table->name, distance))
            *near = table->name;
}

static bool unknown_option(const char *program, const command *c, const char *word, int *exit_code)
{
    const char *near     = NULL;
    size_t      distance = TEXT_NEAR;
    char        name[64], text[200];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    if (!strncmp(name, "--", 2)) {
        nearest(c->options, name + 2, &near, &distance);
        nearest(common, name + 2, &near, &distance);
    }
    if (!near)
        return misuse(program, c, exit_code, "unknown option ", word);
    snprintf(text, sizeof text, "%s, did you mean --%s?", name, near);
    return misuse(program, c, exit_code, "unknown option ", text);
}

/* "NAME=VALUE", neither side empty */
static bool is_assignment(const char *word)
{
    const char *equal = strchr(word, '=');

    return equal && equal > word && equal[1];
}

static bool no_assignment(const option_spec *s, const char *word, int *exit_code)
{
    lm_error err;
    char     name[40];

    lm_error_set(&err, LM_E_ARG, "expected %s, found '%.60s'", s->argument, word);
    snprintf(name, sizeof name, "--%s", s->name);
    *exit_code = report_misuse(name, &err);
    return false;
}

/* The option at argv[*i], and its value behind it. -o is the one short form everybody types. */
static bool parse_option(const char *program, int argc, char **argv, int *i, options *out,
                         int *exit_code)
{
    const command     *c     = out->command;
    const char        *word  = strcmp(argv[*i], "-o") ? argv[*i] : "--output";
    const bool         is    = !strncmp(word, "--", 2);
    const char        *equal = strchr(word, '='), *value;
    const size_t       n     = equal ? (size_t)(equal - word) - 2 : strlen(word) - 2;
    const option_spec *own   = is ? find(c->options, word + 2, n) : NULL;
    const option_spec *spec  = own ? own : is ? find(common, word + 2, n) : NULL;

    if (!spec)
        return unknown_option(program, c, word, exit_code);
    if (!spec->argument && equal)
        return misuse(program, c, exit_code, "takes no value: ", word);
    value = !spec->argument ? "yes" : equal ? equal + 1 : *i + 1 < argc ? argv[++*i] : NULL;
    if (!value)
        return misuse(program, c, exit_code, "needs a value: ", word);
    if (spec->argument && strchr(spec->argument, '=') && !is_assignment(value))
        return no_assignment(spec, value, exit_code);
    if (own) {
        if (out->n_every == ARGUMENTS_MAX)
            return misuse(program, c, exit_code, "too many options", "");
        out->every[out->n_every].at      = (int)(own - c->options);
        out->every[out->n_every++].value = value;

        out->value[own - c->options] = value;
        out->given[own - c->options] = true;
    } else if (out->n_plugins < ARGUMENTS_MAX) {
        out->plugin[out->n_plugins++] = value;
    }
    return true;
}

bool options_parse(const char *program, const command *c, int argc, char **argv, options *out,
                   int *exit_code)
{
    bool rest = false;

    memset(out, 0, sizeof *out);
    out->command = c;
    for (int i = 0; c->options[i].name; i++)
        out->value[i] = c->options[i].fallback;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];

        if (rest || word[0] != '-' || !word[1]) {
            if (out->n_arguments == ARGUMENTS_MAX)
                return misuse(program, c, exit_code, "too many arguments", "");
            out->argument[out->n_arguments++] = word;
            continue;
        }
        if (!strcmp(word, "--")) {
            rest = true;
            continue;
        }
        if (!strcmp(word, "-h") || !strcmp(word, "--help")) {
            options_print_help(program, c);
            *exit_code = finish_output(EXIT_DONE);
            return false;
        }
        if (!parse_option(program, argc, argv, &i, out, exit_code))
            return false;
    }
    if (out->n_arguments < c->min_arguments)
        return misuse(program, c, exit_code, "missing argument: ", c->arguments);
    if (out->n_arguments > c->max_arguments)
        return misuse(program, c, exit_code,
                      "unexpected argument: ", out->argument[c->max_arguments]);
    return true;
}

int report_failure(const lm_error *err)
{
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, err->text);
    return EXIT_FAILED;
}

int report_misuse(const char *option, const lm_error *err)
{
    fflush(stdout);
    fprintf(stderr, "%s: %s%s%s\n", program_invocation_short_name, option, *option ? ": " : "",
            err->text);
    return EXIT_MISUSED;
}

bool option_misuse(const options *o, int at, const lm_error *err, int *exit_code)
{
    char name[40];

    snprintf(name, sizeof name, "--%s", o->command->options[at].name);
    *exit_code = report_misuse(name, err);
    return false;
}

size_t option_times(const options *o, int at)
{
    size_t n = 0;

    for (int i = 0; i < o->n_every; i++)
        n += o->every[i].at == at;
    return n;
}

const char *option_nth(const options *o, int at, size_t i)
{
    if (option_times(o, at) <= 1)
        return o->value[at];
    for (int k = 0; k < o->n_every; k++)
        if (o->every[k].at == at && !i--)
            return o->every[k].value;
    return NULL;
}

int options_refuse(const options *o, const int *places, size_t n, const char *of)
{
    lm_error err;
    int      code = EXIT_DONE;

    for (size_t i = 0; i < n && !code; i++)
        if (o->given[places[i]]) {
            lm_error_set(&err, LM_E_ARG, "is for %s", of);
            option_misuse(o, places[i], &err, &code);
        }
    return code;
}

int finish_output(int code)
{
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "%s: cannot write the output: %s\n", program_invocation_short_name,
                strerror(errno));
        return code ? code : EXIT_FAILED;
    }
    return code;
}
