/* The program: a table of commands. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/text.h"
#include "cli/commands.h"
#include "options/complete.h"
#include "options/manual.h"
#include "report/collectives/view.h"
#include "report/memory_fields.h"
#include "report/plan/fields.h"

#define DOC "Predicts how long training a neural network takes, before you pay for it"

static void print_overview(FILE *out)
{
    fputs(DOC ".\n\n"
              "Usage: layermeter <command> [options] <files>\n\nCommands:\n",
          out);
    for (size_t i = 0; i < n_commands; i++)
        fprintf(out, "  %-13s%s\n", commands[i]->name, commands[i]->doc);
    fputs(
        "  version      Print the version\n\n'layermeter <command> --help' explains one; --help=man is "
        "its page of the manual.\n",
        out);
}

/* Networks are built and dropped in turn: the heap is kept between them. */
static void keep_heap(void)
{
#ifdef __GLIBC__
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
#endif
}

/* Settings of the whole process that differ from a program's defaults. */
static void prepare_process(void)
{
    keep_heap();
    signal(SIGXFSZ, SIG_IGN); /* a file beyond `ulimit -f` is an error, not the end of the
                               * process */
    /* fits take one thread of OpenBLAS; with little memory the start of more threads hangs */
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
}

/* The command that a word of other programs means; NULL: unknown word. */
static const char *meant(const char *name)
{
    static const char *const words[][2] = { { "compare", "predict" },  { "estimate", "predict" },
                                            { "time", "predict" },     { "train", "predict" },
                                            { "cost", "plan" },        { "price", "plan" },
                                            { "networks", "models" },  { "gpus", "devices" },
                                            { "machines", "devices" }, { "power", "energy" } };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strcmp(name, words[i][0]))
            return words[i][1];
    return NULL;
}

static void unknown_command(const char *name)
{
    const char *near     = NULL;
    size_t      distance = TEXT_NEAR;
    lm_error    err;

    for (size_t i = 0; i < n_commands; i++)
        if (text_nearer(name, commands[i]->name, &distance))
            near = commands[i]->name;
    if (!near)
        near = meant(name);
    lm_error_set(&err, LM_E_ARG, "unknown command '%.200s'%s%s%s (see 'layermeter --help')", name,
                 near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    report_misuse(&err);
}

static int execute(const command *c, int argc, char **argv)
{
    options  o;
    lm_error err  = { 0 };
    int      code = EXIT_DONE;

    if (c->hand_over)
        return c->hand_over(argc, argv);
    if (options_parse("layermeter", c, argc, argv, &o, &err))
        code = report_misuse(&err);
    else if (o.help)
        options_print_help(&o, "layermeter", stdout);
    else if (options_fill(&o, &err))
        code = report_misuse(&err);
    else if (c->run(&o, &err))
        code = report_failure(&err);
    options_free(&o);
    return finish_output(code);
}

/* Columns that 'help COMMAND columns' explains. */
static const struct {
    const char  *command;
    const field *fields, *from;
} columns[] = {
    { "predict", step_predicted, step_fields },
    { "scale", step_fields, NULL },
    { "plan", plan_fields, NULL },
    { "energy", energy_fields, step_fields },
    { "memory", memory_fields, NULL },
    { "collectives", collective_fields, NULL },
};

/* False: the command has no explained columns. */
static bool explain_columns(const char *name, int *code)
{
    lm_error err = { 0 };

    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        if (!strcmp(columns[i].command, name)) {
            const lm_status status = fields_help(columns[i].fields, columns[i].from, stdout, &err);

            *code = finish_output(status ? report_failure(&err) : EXIT_DONE);
            return true;
        }
    return false;
}

int main(int argc, char **argv)
{
    const bool  help = argc > 2 && !strcmp(argv[1], "help");
    const char *name = argc < 2 ? "" : help ? argv[2] : argv[1];
    int         code;

    prepare_process();
    if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h")) {
        print_overview(stdout);
        return finish_output(EXIT_DONE);
    }
    if (!strcmp(name, "version") || !strcmp(name, "--version") || !strcmp(name, "-V")) {
        printf("layermeter %s\n", lm_version());
        return finish_output(EXIT_DONE);
    }
    if (!strcmp(name, "--help=man")) {
        manual_print_overview(commands, n_commands, DOC, stdout);
        return finish_output(EXIT_DONE);
    }
    if (!strcmp(name, "--complete")) { /* the command; behind `help`, too */
        complete_commands(commands, n_commands, argc > 2 ? argv[argc - 1] : "", stdout);
        return finish_output(EXIT_DONE);
    }
    if (help && argc > 3 && !strcmp(argv[3], "columns") && explain_columns(name, &code))
        return code;
    for (size_t i = 0; i < n_commands; i++)
        if (!strcmp(commands[i]->name, name) ||
            (commands[i]->also && !strcmp(commands[i]->also, name))) {
            char *help_of[] = { argv[0], "--help", NULL };

            return help ? execute(commands[i], 2, help_of)
                        : execute(commands[i], argc - 1, argv + 1);
        }
    if (*name)
        unknown_command(name);
    else
        print_overview(stderr);
    return EXIT_MISUSED;
}
