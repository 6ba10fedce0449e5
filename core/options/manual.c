/* Pages of the manual: the help of a command as roff (man(7)). */
#include "options/manual.h"

#include <ctype.h>
#include <string.h>

#include "options/slots.h"

/* ---- text ---- */

/* One line of text. A line that begins with a dot or a quote would be a request. */
static void put_line(FILE *out, const char *text, size_t n)
{
    if (n && (*text == '.' || *text == '\''))
        fputs("\\&", out);
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else if (text[i] == '\'')
            fputs("\\(aq", out);
        else if (text[i] == '^')
            fputs("\\(ha", out);
        else if (text[i] == '~')
            fputs("\\(ti", out);
        else if (text[i] == '`')
            fputs("\\(ga", out);
        else
            putc(text[i], out);
}

static void put_text(FILE *out, const char *text)
{
    put_line(out, text, strlen(text));
}

/* Paragraphs whose lines are filled anew. Indented lines, such as tables, stay as they are. */
static void put_paragraphs(FILE *out, const char *text)
{
    bool kept = false, first = true;

    while (*text) {
        const size_t n    = strcspn(text, "\n");
        const bool   keep = n && *text == ' ';

        if (keep != kept)
            fputs(keep ? ".nf\n" : ".fi\n", out);
        kept = keep;
        if (!n)
            fputs(first ? "" : ".PP\n", out);
        else {
            put_line(out, text, n);
            putc('\n', out);
            first = false;
        }
        text += n + (text[n] == '\n');
    }
    if (kept)
        fputs(".fi\n", out);
}

static void put_examples(FILE *out, const char *text)
{
    if (!text)
        return;
    fputs(".SH EXAMPLES\n.nf\n", out);
    while (*text) {
        const size_t n = strcspn(text, "\n");

        put_line(out, text, n);
        putc('\n', out);
        text += n + (text[n] == '\n');
    }
    fputs(".fi\n", out);
}

/* ---- pages ---- */

static void put_head(FILE *out, const char *page, const char *doc)
{
    fputs(".TH ", out);
    for (const char *c = page; *c; c++)
        if (*c == '-')
            fputs("\\-", out);
        else
            putc(toupper((unsigned char)*c), out);
    fputs(" 1 \"\" \"layermeter " LAYERMETER_VERSION "\" \"Layermeter\"\n.SH NAME\n", out);
    put_text(out, page);
    fputs(" \\- ", out);
    put_text(out, doc);
    putc('\n', out);
}

static void put_exit(FILE *out)
{
    fputs(
        ".SH EXIT STATUS\n0: done. 1: failed. 2: the command line was wrong. Data go to standard output, words to "
        "standard error.\n",
        out);
}

static void put_option(FILE *out, const option_row *row)
{
    char text[600];

    fputs(".TP\n\\fB\\-\\-", out);
    put_text(out, row->name);
    if (!strcmp(row->name, "output"))
        fputs("\\fR, \\fB\\-o", out);
    fputs("\\fR", out);
    if (row->argument) {
        fputs(" \\fI", out);
        put_text(out, row->argument);
        fputs("\\fR", out);
    }
    putc('\n', out);
    options_describe(row, text, sizeof text);
    put_text(out, text);
    putc('\n', out);
}

static void put_options(FILE *out, const options *o)
{
    fputs(".SH OPTIONS\n", out);
    for (int h = HELP_WHAT; h < N_HELP_HEADINGS; h++) {
        bool any = false;

        for (size_t i = 0; i < o->n_slots; i++)
            if ((int)o->slot[i].row.heading == h) {
                if (!any)
                    fprintf(out, ".SS %s\n", options_headings[h]);
                any = true;
                put_option(out, &o->slot[i].row);
            }
    }
}

void manual_print(const options *o, const char *program, FILE *out)
{
    const command *c = o->command;
    char           page[64];

    /* "layermeter" and "scale", or "layermeter calibrate" alone */
    snprintf(page, sizeof page, "%s%s%s", program, *c->name ? "-" : "", c->name);
    for (char *blank = page; (blank = strchr(blank, ' '));)
        *blank = '-';
    put_head(out, page, c->doc);
    fputs(".SH SYNOPSIS\n.B ", out);
    put_text(out, program);
    fprintf(out, "%s%s\n[options]%s", *c->name ? " " : "", c->name, *c->arguments ? " " : "");
    put_text(out, c->arguments);
    putc('\n', out);
    if (c->details) {
        fputs(".SH DESCRIPTION\n", out);
        put_paragraphs(out, c->details);
    }
    put_options(out, o);
    put_examples(out, c->examples);
    put_exit(out);
    fputs(".SH SEE ALSO\n.BR layermeter (1)\n", out);
}

void manual_print_overview(const command *const *commands, size_t n, const char *doc, FILE *out)
{
    put_head(out, "layermeter", doc);
    fputs(".SH SYNOPSIS\n.B layermeter\n.I command\n[options] files\n.SH COMMANDS\n", out);
    for (size_t i = 0; i < n; i++) {
        fputs(".TP\n.BR layermeter\\-", out);
        put_text(out, commands[i]->name);
        fputs(" (1)\n", out);
        put_text(out, commands[i]->doc);
        putc('\n', out);
    }
    fputs(
        ".SH FILES AND ENVIRONMENT\n.TP\n.B LAYERMETER_MODEL_PATH\nFolders of networks, colon\\-separated, "
        "before the shipped ones.\n.TP\n.B LAYERMETER_PLUGIN_PATH\nFolders of layer types, before the "
        "shipped ones.\n.TP\n.B LAYERMETER_NVML\nNVIDIA's management library, instead of "
        "libnvidia\\-ml.so.1.\n.TP\n.B LAYERMETER_XGBOOST\nXGBoost's library, instead of that of the build.\n",
        out);
    put_exit(out);
}
