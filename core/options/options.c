/* Command lines: tables of options, parsing, and help. */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "options/options.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "options/slots.h"

static lm_status read_flag(const value_form *how, const char *text, struct arena *room, void *out,
                           lm_error *err)
{
    (void)how, (void)text, (void)room, (void)err;
    *(bool *)out = true;
    return LM_OK;
}

const value_type type_flag = { .size = sizeof(bool), .read = read_flag };

static const option_row common[] = {
    { "plugin", .size = sizeof(option_texts), .type = &type_text, .argument = "FILE",
      .heading = HELP_WHAT, .help = "layer types from FILE.so, before all others",
      .repeats = true },
    { "help", .type = &type_flag, .heading = HELP_OUTPUT, .help = "this text" },
    { .name = NULL },
};

/* ---- tables ---- */

option_slot *options_find(const options *o, const char *name, size_t n)
{
    for (size_t i = 0; i < o->n_slots; i++)
        if (strlen(o->slot[i].row.name) == n && !strncmp(o->slot[i].row.name, name, n))
            return &o->slot[i];
    return NULL;
}

/* Fills the gaps of `to`. A row of another type keeps its own argument and limits. */
static void take_from(option_row *to, const option_row *from)
{
    if (!to->type || to->type == from->type) {
        to->type     = from->type;
        to->argument = to->argument ? to->argument : from->argument;
        to->fallback = to->fallback ? to->fallback : from->fallback;
        to->choices  = to->choices ? to->choices : from->choices;
        if (!to->outside && !(to->least > 0) && !(to->most > 0)) {
            to->least   = from->least;
            to->most    = from->most;
            to->outside = from->outside;
        }
    }
    if (!to->refusal) {
        to->needs    = from->needs;
        to->excludes = from->excludes;
        to->refusal  = from->refusal;
    }
    if (!to->when) {
        to->when      = from->when;
        to->otherwise = from->otherwise;
    }
    to->heading = to->heading ? to->heading : from->heading;
    to->words   = to->words ? to->words : from->words;
    to->help    = to->help ? to->help : from->help;
    to->needed  = to->needed ? to->needed : from->needed;
}

/* The rows of a table and of its groups, which fill the struct at `base`. */
static bool add_rows(options *o, size_t *room, const option_row *row, char *base)
{
    for (; row->name || row->group; row++) {
        option_slot *known = row->name ? options_find(o, row->name, strlen(row->name)) : NULL;

        if (!row->name) {
            if (!add_rows(o, room, row->group, base + row->at))
                return false;
        } else if (known) {
            take_from(&known->row, row);
            if (!known->target && row->size) {
                known->target      = base + row->at;
                known->row.size    = row->size;
                known->row.repeats = row->repeats;
                known->row.listed  = row->listed;
            }
        } else {
            o->slot = arena_grow(o->room, o->slot, o->n_slots, room, sizeof *o->slot);
            if (!o->slot)
                return false;
            o->slot[o->n_slots++] =
                (option_slot){ .row = *row, .target = row->size ? base + row->at : NULL };
        }
    }
    return true;
}

/* All options of the command, and the struct that they fill. */
static bool open_table(options *o)
{
    size_t room = 0;

    o->room   = arena_new();
    o->filled = o->room ? arena_alloc(o->room, o->command->size + 1) : NULL;
    if (!o->filled || !add_rows(o, &room, o->command->rows, o->filled) ||
        !add_rows(o, &room, common, (char *)&o->plugins))
        return false;
    for (size_t i = 0; i < o->n_slots; i++) {
        option_slot *s = &o->slot[i];

        for (const option_row *row = options_shared; row->name; row++)
            if (!strcmp(row->name, s->row.name))
                take_from(&s->row, row);
        assert(s->row.type && s->row.heading && s->row.help);
        assert(!s->target || (s->row.repeats ? s->row.size >= sizeof(option_texts)
                                             : s->row.size == s->row.type->size));
        s->text = s->row.fallback;
        if (s->target && s->row.type->blank && !s->row.repeats)
            memcpy(s->target, s->row.type->blank, s->row.type->size);
    }
    return true;
}

/* ---- help ---- */

#define HELP_WIDTH  100
#define HELP_INDENT 28 /* of the help of an option, at most */

static int print_head(char *head, size_t size, const option_row *row)
{
    return snprintf(head, size, "  --%s%s%s", row->name, row->argument ? " " : "",
                    row->argument ? row->argument : "");
}

/* Wraps words at the width; new lines have the indent of the first. */
static void print_wrapped(FILE *out, const char *text, size_t indent)
{
    size_t at = indent;

    while (*text) {
        const size_t n = strcspn(text, " ");

        if (at > indent && at + 1 + n > HELP_WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            putc(' ', out);
            at++;
        }
        fprintf(out, "%.*s", (int)n, text);
        at += n;
        text += n + strspn(text + n, " ");
    }
    putc('\n', out);
}

void options_describe(const option_row *row, char *text, size_t size)
{
    const char *fallback   = row->fallback && *row->fallback ? row->fallback : NULL;
    char        words[200] = "";

    if (row->words)
        row->words(words, sizeof words);
    else if (row->choices)
        snprintf(words, sizeof words, "%s", row->choices);
    snprintf(text, size, "%s%s%s%s%s%s%s", row->help, *words ? ": " : "", words,
             row->repeats ? "; repeatable" : "", fallback ? " [" : "", fallback ? fallback : "",
             fallback ? "]" : "");
}

static void print_option(FILE *out, const option_row *row, size_t indent)
{
    char      head[64], text[600];
    const int n = print_head(head, sizeof head, row);

    options_describe(row, text, sizeof text);
    if ((size_t)n + 2 > indent)
        fprintf(out, "%s\n%*s", head, (int)indent, "");
    else
        fprintf(out, "%-*s", (int)indent, head);
    print_wrapped(out, text, indent);
}

/* Column of the help, after the longest option of usual length. */
static size_t indent_of(const options *o)
{
    size_t indent = 0;
    char   head[64];

    for (size_t i = 0; i < o->n_slots; i++) {
        const size_t n = (size_t)print_head(head, sizeof head, &o->slot[i].row) + 2;

        if (n > indent && n <= HELP_INDENT)
            indent = n;
    }
    return indent;
}

const char *const options_headings[N_HELP_HEADINGS] = {
    [HELP_WHAT] = "What", [HELP_WHERE] = "Where", [HELP_HOW] = "How", [HELP_OUTPUT] = "Output"
};

static void print_options(FILE *out, const options *o)
{
    for (int h = HELP_WHAT; h < N_HELP_HEADINGS; h++) {
        bool any = false;

        for (size_t i = 0; i < o->n_slots; i++)
            if ((int)o->slot[i].row.heading == h) {
                if (!any)
                    fprintf(out, "\n%s:\n", options_headings[h]);
                any = true;
                print_option(out, &o->slot[i].row, indent_of(o));
            }
    }
}

static void print_text(const options *o, const char *program, FILE *out)
{
    const command *c = o->command;
    char           usage[300];

    snprintf(usage, sizeof usage, "%s%s%s [options] %s", program, *c->name ? " " : "", c->name,
             c->arguments);
    fprintf(out, "%s\n\nUsage: ", c->doc);
    print_wrapped(out, usage, 7);
    print_options(out, o);
    if (c->details)
        fprintf(out, "\n%s", c->details);
    if (c->examples)
        fprintf(out, "\nExamples:\n%s", c->examples);
}

void options_print_help(const options *o, const char *program, FILE *out)
{
    if (o->form == HELP_MANUAL)
        manual_print(o, program, out);
    else if (o->form == HELP_COMPLETE)
        complete_print(o, out);
    else
        print_text(o, program, out);
}

/* ---- the command line ---- */

static lm_status misuse(const options *o, const char *program, const char *what, const char *detail,
                        lm_error *err)
{
    const char *name = o->command->name;

    return lm_error_set(err, LM_E_ARG, "%s%s (see '%s%s%s --help')", what, detail, program,
                        *name ? " " : "", name);
}

static lm_status unknown_option(const options *o, const char *program, const char *word,
                                lm_error *err)
{
    const char *near     = NULL, *said;
    size_t      distance = TEXT_NEAR;
    char        name[64], text[200];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    if (!strncmp(name, "--", 2) && (said = options_hint(o, name + 2, strlen(name + 2)))) {
        snprintf(text, sizeof text, "%s: %s", name, said);
        return misuse(o, program, "unknown option ", text, err);
    }
    for (size_t i = 0; i < o->n_slots && !strncmp(name, "--", 2); i++)
        if (text_nearer(name + 2, o->slot[i].row.name, &distance))
            near = o->slot[i].row.name;
    if (!near)
        return misuse(o, program, "unknown option ", word, err);
    snprintf(text, sizeof text, "%s, did you mean --%s?", name, near);
    return misuse(o, program, "unknown option ", text, err);
}

/* Keeps the value; those between commas as one each, if the option is a list. */
static lm_status keep_words(options *o, option_slot *slot, const char *value, size_t *room,
                            lm_error *err)
{
    size_t n;

    do {
        value += slot->row.listed ? strspn(value, " ") : 0;
        n          = slot->row.listed ? strcspn(value, ",") : strlen(value);
        o->word    = arena_grow(o->room, o->word, o->n_words, room, sizeof *o->word);
        slot->text = o->word ? arena_text(o->room, value, n) : NULL;
        if (!slot->text)
            return no_memory(err);
        o->word[o->n_words].slot   = slot;
        o->word[o->n_words++].text = slot->text;
        slot->n++;
        value += n;
    } while (*value++);
    return LM_OK;
}

/* The option at argv[*i], and its value after it. -o is the one short form. */
static lm_status take_option(options *o, const char *program, int argc, char **argv, int *i,
                             size_t *room, lm_error *err)
{
    const char  *word  = strcmp(argv[*i], "-o") ? argv[*i] : "--output";
    const bool   is    = !strncmp(word, "--", 2);
    const char  *equal = strchr(word, '='), *value;
    const size_t n     = equal ? (size_t)(equal - word) - 2 : strlen(word) - 2;
    option_slot *slot  = is ? options_find(o, word + 2, n) : NULL;

    if (!slot)
        return unknown_option(o, program, word, err);
    if (!slot->row.argument && equal)
        return misuse(o, program, "takes no value: ", word, err);
    if (slot->row.bare && !equal && (*i + 1 == argc || !strncmp(argv[*i + 1], "--", 2)))
        value = slot->row.bare;
    else
        value = !slot->row.argument ? "yes" : equal ? equal + 1 : *i + 1 < argc ? argv[++*i] : NULL;
    if (!value)
        return misuse(o, program, "needs a value: ", word, err);
    return keep_words(o, slot, value, room, err);
}

lm_status options_parse(const char *program, const command *c, int argc, char **argv, options *o,
                        lm_error *err)
{
    bool      rest   = false;
    size_t    room   = 0;
    lm_status status = LM_OK;

    *o = (options){ .command = c };
    if (!open_table(o))
        return no_memory(err);
    if (argc > 1 && !strcmp(argv[1], "--complete")) {
        o->help  = true;
        o->form  = HELP_COMPLETE;
        o->typed = argv + 2;
    }
    for (int i = 1; i < argc && !status && !o->help; i++) {
        const char *word = argv[i];

        if (!rest && !strcmp(word, "--"))
            rest = true;
        else if (!rest && (!strcmp(word, "-h") || !strcmp(word, "--help")))
            o->help = true;
        else if (!rest && !strcmp(word, "--help=man"))
            o->help = true, o->form = HELP_MANUAL;
        else if (!rest && word[0] == '-' && word[1])
            status = take_option(o, program, argc, argv, &i, &room, err);
        else if (o->n_arguments < ARGUMENTS_MAX)
            o->argument[o->n_arguments++] = word;
        else
            status = misuse(o, program, "too many arguments", "", err);
    }
    if (status || o->help)
        return status;
    if (o->n_arguments < c->min_arguments)
        return misuse(o, program, "missing argument: ", c->arguments, err);
    if (o->n_arguments > c->max_arguments)
        return misuse(o, program, "unexpected argument: ", o->argument[c->max_arguments], err);
    return LM_OK;
}

/* ---- values ---- */

/* Checks options against each other. */
static lm_status check_company(const options *o, const option_slot *s, lm_error *err)
{
    const char        *name  = s->row.needs ? s->row.needs : s->row.excludes;
    const option_slot *other = s->n && name ? options_find(o, name, strlen(name)) : NULL;

    if (other && !other->n == !!s->row.needs)
        return lm_error_set(err, LM_E_ARG, "--%s: %s", s->row.name, s->row.refusal);
    return LM_OK;
}

/* Checks an option against what was chosen. */
static lm_status check_choice(const options *o, const option_slot *s, lm_error *err)
{
    const size_t       n     = s->n && s->row.when ? strcspn(s->row.when, "!=") : 0;
    const option_slot *other = n ? options_find(o, s->row.when, n) : NULL;
    const bool         is    = n && s->row.when[n] == '=';
    const char        *said  = s->row.otherwise;
    const size_t       at    = n && strstr(said, "%s") ? (size_t)(strstr(said, "%s") - said) : 0;

    if (!other || other->row.type != &type_choice ||
        !strcmp(other->text, s->row.when + n + (is ? 1 : 2)) == is)
        return LM_OK;
    return lm_error_set(err, LM_E_ARG, "--%s: %.*s%s%s", s->row.name, (int)at, said,
                        at ? other->text : "", at ? said + at + 2 : said);
}

static lm_status read_value(const options *o, const option_row *row, const char *text, void *out,
                            lm_error *err)
{
    const value_form how    = { row->type,    row->least,    row->most,   row->outside,
                                row->choices, row->argument, row->or_auto };
    const char      *said   = options_value_hint(row->name, text);
    lm_status        status = row->type->read(&how, text, o->room, out, err);

    if (said && !status && row->type == &type_text)
        status = lm_error_set(err, LM_E_ARG, "%s: %s", text, said);
    else if (said && status)
        text_add(err->text, sizeof err->text, ": %s", said);
    if (status)
        lm_error_prefix(err, "--%s", row->name);
    return status;
}

static lm_status read_repeated(const options *o, const option_slot *s, lm_error *err)
{
    const size_t size   = s->row.type->size;
    char        *list   = arena_array(o->room, s->n + 1, size);
    size_t       n      = 0;
    lm_status    status = list ? LM_OK : no_memory(err);

    if (!s->n && s->text && !status)
        status = read_value(o, &s->row, s->text, list + size * n++, err);
    for (size_t i = 0; i < o->n_words && !status; i++)
        if (o->word[i].slot == s)
            status = read_value(o, &s->row, o->word[i].text, list + size * n++, err);
    if (!status) {
        memcpy((char *)s->target + offsetof(option_texts, at), &list, sizeof list);
        memcpy((char *)s->target + offsetof(option_texts, n), &n, sizeof n);
    }
    return status;
}

lm_status options_fill(options *o, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < o->n_slots && !status; i++)
        status = check_company(o, &o->slot[i], err);
    for (size_t i = 0; i < o->n_slots && !status; i++) {
        const option_slot *s = &o->slot[i];

        if (s->target && s->row.repeats)
            status = read_repeated(o, s, err);
        else if (s->target && s->text)
            status = read_value(o, &s->row, s->text, s->target, err);
    }
    for (size_t i = 0; i < o->n_slots && !status; i++)
        status = check_choice(o, &o->slot[i], err);
    for (size_t i = 0; i < o->n_slots && !status; i++)
        if (o->slot[i].row.needed && !o->slot[i].text)
            status = lm_error_set(err, LM_E_ARG, "%s", o->slot[i].row.needed);
    return status || !o->command->check ? status : o->command->check(o, err);
}

void options_free(options *o)
{
    arena_free(o->room);
}

/* ---- questions ---- */

static const option_slot *slot_of(const options *o, const void *target)
{
    for (size_t i = 0; i < o->n_slots; i++)
        if (o->slot[i].target == target)
            return &o->slot[i];
    return NULL;
}

bool option_again(const options *o, const void *target)
{
    const option_slot *s = slot_of(o, target);

    return s && s->n > 1;
}

bool option_given(const options *o, const void *target)
{
    const option_slot *s = slot_of(o, target);

    return s && s->n;
}

const char *option_text(const options *o, const void *target)
{
    const option_slot *s = slot_of(o, target);

    return s ? s->text : NULL;
}

option_word option_word_at(const options *o, size_t i)
{
    const option_slot *s = o->word[i].slot;

    return (option_word){ s->row.name, s->row.argument ? o->word[i].text : NULL, s->target };
}

bool option_within(const void *target, const void *group, size_t size)
{
    const uintptr_t at = (uintptr_t)target, first = (uintptr_t)group;

    return at >= first && at < first + size;
}

lm_status misused(const options *o, const void *target, lm_error *err, const char *fmt, ...)
{
    char    text[sizeof err->text];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return lm_error_set(err, LM_E_ARG, "--%s: %s", slot_of(o, target)->row.name, text);
}

lm_status refused(const options *o, const void *group, size_t size, const char *of, lm_error *err)
{
    for (size_t i = 0; i < o->n_slots; i++)
        if (o->slot[i].n && option_within(o->slot[i].target, group, size))
            return misused(o, o->slot[i].target, err, "is for %s", of);
    return LM_OK;
}

lm_status once_or_each(const options *o, const void *target, size_t n, lm_error *err)
{
    const option_slot *s = slot_of(o, target);

    if (!s || s->n <= 1 || s->n == n)
        return LM_OK;
    return misused(o, target, err,
                   "given %zu times for %zu machine%s: once for all, or once for each", s->n, n,
                   n == 1 ? "" : "s");
}

/* ---- what main() says ---- */

int report_failure(const lm_error *err)
{
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, err->text);
    return EXIT_FAILED;
}

int report_misuse(const lm_error *err)
{
    report_failure(err);
    return EXIT_MISUSED;
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
