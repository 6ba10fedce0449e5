/* Kinds of values that options take, and options that several commands share. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "options/options.h"
#include "report/table.h"

static const double unknown = NAN;

/* The functions behind option_type.read. */
#define READER const option_row *row, const char *text, struct arena *room, void *out, lm_error *err

/* ---- texts ---- */

static lm_status read_flag(READER)
{
    (void)row, (void)text, (void)room, (void)err;
    *(bool *)out = true;
    return LM_OK;
}

static lm_status read_text(READER)
{
    (void)row, (void)room, (void)err;
    *(const char **)out = text;
    return LM_OK;
}

static lm_status read_pair(READER)
{
    const char *equal = strchr(text, '=');

    (void)room;
    if (!equal || equal == text || !equal[1])
        return lm_error_set(err, LM_E_ARG, "expected %s, found '%.60s'", row->argument, text);
    *(const char **)out = text;
    return LM_OK;
}

static lm_status read_names(READER)
{
    const size_t  n    = strlen(text) + 1;
    char         *copy = arena_text(room, text, n - 1), **name = arena_array(room, n, sizeof *name);
    option_texts *to = out;

    (void)row;
    if (!copy || !name)
        return no_memory(err);
    *to = (option_texts){ (const char *const *)name, text_split(copy, ',', name, n) };
    for (size_t i = 0; i < to->n; i++)
        if (!*name[i])
            return lm_error_set(err, LM_E_ARG, "expected names separated by commas, found '%.40s'",
                                text);
    return LM_OK;
}

const option_type type_flag  = { .size = sizeof(bool), .read = read_flag };
const option_type type_text  = { .size = sizeof(char *), .read = read_text };
const option_type type_pair  = { .size = sizeof(char *), .read = read_pair };
const option_type type_names = { .size = sizeof(option_texts), .read = read_names };

/* ---- numbers ---- */

static lm_status within(const option_row *row, const char *text, double value, lm_error *err)
{
    const char  *said = row->outside ? row->outside : "must be 0 or more";
    const size_t n    = strlen(said);

    if (value >= row->least && (!(row->most > 0) || value <= row->most))
        return LM_OK;
    if (n > 5 && !strcmp(said + n - 5, "found"))
        return lm_error_set(err, LM_E_ARG, "%s '%.40s'", said, text);
    return lm_error_set(err, LM_E_ARG, "%s", said);
}

/* Numbers that nobody means without a unit; 0 needs none. */

static lm_status time_of(const char *text, double *out, lm_error *err)
{
    const lm_status status = text_seconds(text, out, err);

    if (status || !(*out > 0) || text_real(text, &(double){ 0 }, NULL))
        return status;
    return lm_error_set(err, LM_E_ARG,
                        "expected a time with its unit, such as 5us, 5min or 7d, found '%.40s'",
                        text);
}

static lm_status size_of(const char *text, int64_t *out, lm_error *err)
{
    const lm_status status = text_bytes(text, out, err);

    if (status || *out == 0 || text_real(text, &(double){ 0 }, NULL))
        return status;
    return lm_error_set(
        err, LM_E_ARG, "expected a size with its unit, such as %.20sGB, found '%.40s'", text, text);
}

/* Defines a type of numbers within bounds, by a parser of text.h. */
#define NUMBER(name, T, parse, not_given)                                 \
    static lm_status read_##name(READER)                                  \
    {                                                                     \
        T         value;                                                  \
        lm_status status = parse(text, &value, err);                      \
                                                                          \
        (void)room;                                                       \
        if (!status && !(status = within(row, text, (double)value, err))) \
            *(T *)out = value;                                            \
        return status;                                                    \
    }                                                                     \
    const option_type type_##name = { .size = sizeof(T), .read = read_##name, .blank = not_given }

NUMBER(whole, int64_t, text_int, NULL);
NUMBER(bytes, int64_t, text_bytes, NULL);
NUMBER(seed, uint64_t, text_uint, NULL);
NUMBER(real, double, text_real, &unknown);
NUMBER(seconds, double, text_seconds, &unknown);
NUMBER(amount, int64_t, text_amount, NULL);
NUMBER(time, double, time_of, &unknown);
NUMBER(size, int64_t, size_of, NULL);

static lm_status read_count(READER)
{
    int64_t value;

    (void)row, (void)room;
    if (text_int(text, &value, err) || value < 1)
        return lm_error_set(err, LM_E_ARG, "expected a whole number from 1 up, found '%.40s'",
                            text);
    *(int64_t *)out = value;
    return LM_OK;
}

static lm_status read_fraction(READER)
{
    double value;

    (void)row, (void)room;
    if (text_real(text, &value, err) || !(value > 0 && value <= 1))
        return lm_error_set(err, LM_E_ARG, "expected a fraction above 0, at most 1, found '%.40s'",
                            text);
    *(double *)out = value;
    return LM_OK;
}

static lm_status read_rate(READER)
{
    double    value;
    lm_status status = text_rate(text, &value, err);

    (void)row, (void)room;
    if (!status && !(value > 0))
        status = lm_error_set(err, LM_E_ARG, "must be above 0");
    if (!status)
        *(double *)out = value;
    return status;
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Sorts numbers, each once. Returns their number. */
static size_t tidy(int64_t *list, size_t n)
{
    size_t kept = 0;

    qsort(list, n, sizeof *list, by_number);
    for (size_t i = 0; i < n; i++)
        if (!kept || list[kept - 1] != list[i])
            list[kept++] = list[i];
    return kept;
}

static lm_status read_list(READER)
{
    const bool    sizes = row->type == &type_sizes, ascending = row->type == &type_ascending;
    int64_t      *list   = NULL;
    option_counts made   = { .automatic = row->or_auto && !strcmp(text, "auto") };
    lm_status     status = made.automatic
                               ? LM_OK
                               : text_list(text, sizes ? text_bytes : text_int, &list, &made.n, err);

    if (!status && !made.automatic) {
        made.n  = ascending ? tidy(list, made.n) : made.n;
        made.at = arena_copy(room, list, made.n, sizeof *list);
        status  = made.at ? LM_OK : no_memory(err);
    }
    free(list);
    if (!status)
        *(option_counts *)out = made;
    return status;
}

const option_type type_count     = { .size = sizeof(int64_t), .read = read_count };
const option_type type_fraction  = { .size = sizeof(double), .read = read_fraction };
const option_type type_rate      = { .size = sizeof(double), .read = read_rate, .blank = &unknown };
const option_type type_counts    = { .size = sizeof(option_counts), .read = read_list };
const option_type type_ascending = { .size = sizeof(option_counts), .read = read_list };
const option_type type_sizes     = { .size = sizeof(option_counts), .read = read_list };

/* ---- words ---- */

/* The position of a word in "table, csv or json". */
static lm_status read_choice(READER)
{
    const char  *word = row->choices;
    const size_t size = strlen(text);

    (void)room;
    for (int place = 0; *word; place++) {
        const size_t n = strcspn(word, ", ");

        if (n == size && !strncmp(word, text, n)) {
            memcpy(out, &place, sizeof place);
            return LM_OK;
        }
        word += n;
        word += !strncmp(word, " or ", 4) ? 4 : strspn(word, ", ");
    }
    return lm_error_set(err, LM_E_ARG, "expected %s, found '%.40s'", row->choices, text);
}

static lm_status read_dtype(READER)
{
    (void)row, (void)room;
    return text_dtype(text, out, err);
}

const option_type type_choice = { .size = sizeof(int), .read = read_choice };
const option_type type_dtype  = { .size = sizeof(lm_dtype), .read = read_dtype };

/* ---- options of several commands ---- */

const option_row options_shared[] = {
    { "batch", .type = &type_counts, .argument = "LIST", .heading = HELP_WHAT,
      .help = "samples of each device and micro-step: 8, or 1,2,4, or 1..64*2" },
    { "phase", .type = &type_choice, .argument = "PHASE", .fallback = "training",
      .heading = HELP_WHAT, .choices = "training or inference",
      .help = "what is run: a step of training, or a forward pass in evaluation mode" },
    { "global-batch", .type = &type_count, .argument = "N", .heading = HELP_WHAT,
      .help = "samples of a step on all devices together" },
    { "image", .type = &type_count, .argument = "PIXELS", .heading = HELP_WHAT,
      .help = "height and width of the input, instead of the file's" },
    { "input", .type = &type_text, .argument = "CxHxW", .heading = HELP_WHAT,
      .help = "shape of one sample, instead of the file's" },
    { "block", .type = &type_text, .argument = "PREFIX", .heading = HELP_WHAT,
      .help = "only layers under this name: layer1, layer1.0" },
    { "dataset", .type = &type_count, .argument = "SAMPLES", .fallback = "1281167",
      .heading = HELP_WHAT, .help = "samples of an epoch; the default is ImageNet's training set" },
    { "tokens", .type = &type_amount, .argument = "N", .heading = HELP_WHAT, .excludes = "dataset",
      .refusal = "says how large the data set is, too: give one of the two",
      .help    = "data set of a language model, 300B or 15T: samples are rows of tokens" },
    { "epochs", .type = &type_count, .argument = "N", .fallback = "90", .heading = HELP_WHAT,
      .help = "passes over the data set" },
    { "where", .type = &type_text, .argument = "WORDS", .heading = HELP_WHAT,
      .help = "only networks measured so: dtype=bf16,layout=nhwc (all words must hold)" },
    { "gpu", .type = &type_text, .argument = "N", .heading = HELP_WHAT,
      .help = "this GPU of the trace, by the trace's own name" },
    { "metric", .type = &type_text, .argument = "NAME", .heading = HELP_WHAT,
      .help = "column of the trace to look at (default: the one that shows load best)" },
    { "for", .type = &type_names, .argument = "NETWORKS", .heading = HELP_WHAT,
      .help = "networks to be predicted later: resnet50,vgg16" },
    { "machine", .type = &type_text, .argument = "FILE", .heading = HELP_WHERE,
      .help = "machine file, written by 'layermeter fit' or 'layermeter calibrate'" },
    { "nodes", .type = &type_counts, .argument = "LIST", .heading = HELP_WHERE,
      .help = "numbers of nodes, which a network connects: 1,2,4 or 1..64*2" },
    { "devices-per-node", .type = &type_count, .argument = "N", .fallback = "1",
      .heading = HELP_WHERE, .help = "devices of each node" },
    { "device", .type = &type_text, .argument = "NAME", .heading = HELP_WHERE,
      .help = "the device, by its datasheet ('layermeter devices')" },
    { "devices", .type = &type_text, .argument = "FILE", .heading = HELP_WHERE,
      .help = "datasheets of your own, read before the shipped ones" },
    { "bandwidth", .type = &type_rate, .argument = "RATE", .heading = HELP_WHERE,
      .help = "of the network between nodes, 10Gbit/s, where none was measured" },
    { "memory", .type = &type_size, .argument = "SIZE", .heading = HELP_WHERE, .least = 1,
      .outside = "a device without memory runs nothing: give its size",
      .help    = "memory of the device: 24GB, 80GiB" },
    { "framework-overhead", .type = &type_size, .argument = "BYTES", .fallback = "0",
      .heading = HELP_WHERE,
      .help    = "memory beside the step's: the device's context, the allocator, libraries" },
    { "prices", .type = &type_text, .argument = "FILE", .heading = HELP_WHERE,
      .help = "prices of your own, read before the shipped ones" },
    { "spot", .type = &type_flag, .heading = HELP_WHERE,
      .help = "spot prices instead of list prices" },
    { "interval", .type = &type_seconds, .argument = "TIME", .heading = HELP_WHERE,
      .least = OPTION_ABOVE_0, .outside = "expected more than 0 s, found",
      .help = "time between samples, 100ms, of a trace that states none" },
    { "dtype", .type = &type_dtype, .argument = "TYPE", .fallback = "f32", .heading = HELP_HOW,
      .help = "element type: f32, f16, bf16, f64" },
    { "seed", .type = &type_seed, .argument = "N", .fallback = "1", .heading = HELP_HOW,
      .help = "of all random draws" },
    { "layers", .type = &type_text, .argument = "FILE", .heading = HELP_HOW,
      .help = "machine file of single layers on the same device, to compose networks of" },
    { "learn", .type = &type_text, .argument = "SETTINGS", .heading = HELP_HOW,
      .help = "how learned models are taught: layers=4,epochs=200 (below)" },
    { "output", .type = &type_text, .argument = "FILE", .heading = HELP_OUTPUT,
      .help = "file to write (also -o); else it is printed" },
    { "format", .type = &type_choice, .argument = "FORMAT", .fallback = "table",
      .heading = HELP_OUTPUT, .choices = "table, csv or json", .help = "form of what is printed" },
    { "plot", .type = &type_text, .argument = "FILE", .heading = HELP_OUTPUT,
      .help = "draw a picture: FILE.svg, .png or .pdf (needs gnuplot)" },
    { "keep-script", .type = &type_flag, .heading = HELP_OUTPUT,
      .help = "leave the gnuplot script beside the picture" },
    { .name = NULL },
};
