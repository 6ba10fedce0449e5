/* Command lines: a word a line. */
#include "inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options/options.h"
#include "report/table.h"

#define WORDS_MAX 100

typedef struct filled {
    bool          flag;
    const char   *text, *pair, *needs;
    int64_t       count, whole, bytes;
    uint64_t      seed;
    double        real, fraction, seconds, rate;
    option_counts counts, ascending, sizes;
    option_texts  names, several;
    lm_dtype      dtype;
    format        format;
} filled;

#define AT(member) OPTION_AT(filled, member)

static const option_row option_rows[] = {
    { "flag", AT(flag), &type_flag, NULL, NULL, HELP_WHAT, "one of the kind" },
    { "text", AT(text), &type_text, "TEXT", NULL, HELP_WHAT, "one of the kind" },
    { "pair", AT(pair), &type_pair, "A=B", NULL, HELP_WHAT, "one of the kind" },
    { "needs", AT(needs), &type_text, "TEXT", NULL, HELP_WHAT, "one of the kind", .needs = "flag",
      .refusal = "goes with --flag" },
    { "count", AT(count), &type_count, "N", "7", HELP_WHAT, "one of the kind" },
    { "whole", AT(whole), &type_whole, "N", "2", HELP_WHERE, "one of the kind", .most = 9,
      .outside = "expected 0 to 9, found" },
    { "bytes", AT(bytes), &type_bytes, "SIZE", "0", HELP_WHERE, "one of the kind" },
    { "seed", AT(seed), &type_seed, "N", "1", HELP_WHERE, "one of the kind" },
    { "real", AT(real), &type_real, "X", NULL, HELP_WHERE, "one of the kind" },
    { "fraction", AT(fraction), &type_fraction, "X", "1", HELP_HOW, "one of the kind" },
    { "seconds", AT(seconds), &type_seconds, "TIME", NULL, HELP_HOW, "one of the kind" },
    { "rate", AT(rate), &type_rate, "RATE", NULL, HELP_HOW, "one of the kind" },
    { "counts", AT(counts), &type_counts, "LIST", "1", HELP_HOW, "one of the kind" },
    { "ascending", AT(ascending), &type_ascending, "LIST", "1", HELP_HOW, "one of the kind",
      .or_auto = true },
    { "sizes", AT(sizes), &type_sizes, "LIST", "1", HELP_OUTPUT, "one of the kind" },
    { "names", AT(names), &type_names, "LIST", NULL, HELP_OUTPUT, "one of the kind" },
    { "several", AT(several), &type_text, "TEXT", NULL, HELP_OUTPUT, "one of the kind",
      .repeats = true },
    { "dtype", AT(dtype) },
    { "format", AT(format) },
    { .name = NULL },
};

static const char details[] = "", examples[] = "";

static const command self = COMMAND("fuzz", "FILE...", "Fuzz", filled, 0, 5, NULL, NULL);

/* What was not refused is within its bounds. */
static void check_values(const options *o)
{
    const filled *f = o->filled;

    check(f->count >= 1 && f->whole >= 0 && f->whole <= 9 && f->bytes >= 0);
    check(!(f->real < 0) && !(f->seconds < 0) && !(f->rate <= 0));
    check(f->fraction > 0 && f->fraction <= 1);
    check(f->counts.n && f->sizes.n && f->ascending.automatic == !f->ascending.n);
    for (size_t i = 1; i < f->ascending.n; i++)
        check(f->ascending.at[i - 1] < f->ascending.at[i]);
    for (size_t i = 0; i < f->names.n; i++)
        check(*f->names.at[i]);
    check(!f->needs || f->flag);
    check(!f->pair || strchr(f->pair, '=') > f->pair);
    check(lm_dtype_bytes(f->dtype) && f->format <= FORMAT_JSON);
    check(o->n_arguments <= 5);
    for (size_t i = 0; i < o->n_words; i++) {
        const option_word w = option_word_at(o, i);

        check(w.name && option_given(o, w.target));
    }
}

static void check_help(const options *o)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *out  = open_memstream(&text, &size);

    check(out);
    options_print_help(o, "fuzz", out);
    fclose(out);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        check(o->help == HELP_MANUAL || strcspn(line, "\n") <= 100); /* roff fills lines itself */
    free(text);
}

bool fuzz_options(const uint8_t *data, size_t size)
{
    char     *text = as_text(data, size), *argv[WORDS_MAX + 1] = { "fuzz" };
    int       argc = 1;
    options   o;
    lm_error  err = { 0 };
    lm_status status;

    for (char *word = text; *word && argc < WORDS_MAX;) {
        const size_t n    = strcspn(word, "\n");
        const bool   last = !word[n];

        argv[argc++] = word;
        word[n]      = '\0';
        word += n + !last;
    }
    status = options_parse("fuzz", &self, argc, argv, &o, &err);
    if (!status && o.help)
        check_help(&o);
    else if (!status && !(status = options_fill(&o, &err)))
        check_values(&o);
    if (status)
        check_refusal(status, &err);
    options_free(&o);
    free(text);
    return !status;
}
