/* Observations: measured times as a CSV file. */
#include "observe/observation.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/no_memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "network/kernels.h"
#include "network/optimizer.h"
#include "observe/columns.h"
#include "observe/flags.h"

const char *const obs_kind_names[OBS_N_KINDS] = { "network", "kernel", "collective",
                                                  "layer",   "counts", "stream" };

const observation observation_blank = { .name          = "",
                                        .input         = "",
                                        .algorithm     = "",
                                        .geometry      = "",
                                        .optimizer     = "",
                                        .settings      = "",
                                        .flags         = "",
                                        .group         = "",
                                        .layout        = "",
                                        .dtype         = LM_F32,
                                        .seconds       = NAN,
                                        .min_seconds   = NAN,
                                        .p95_seconds   = NAN,
                                        .cpu_seconds   = NAN,
                                        .clock_mhz     = NAN,
                                        .power_w       = NAN,
                                        .power_limit_w = NAN };

lm_status obs_kind_parse(const char *text, obs_kind *out)
{
    const size_t at = text_place(text, obs_kind_names, OBS_N_KINDS);

    if (at < OBS_N_KINDS)
        *out = (obs_kind)at;
    return at < OBS_N_KINDS ? LM_OK : LM_E_NOTFOUND;
}

/* ---- columns --------------------------------------------------------------------------------- */

typedef enum { TEXT, COUNT, POSITIVE } column_kind;

typedef struct column {
    const char *name;
    column_kind kind;
    size_t      offset;
    bool        required;
} column;

/* Columns that are not just copied, by their places below. */
enum { KIND, NAME, PHASE, DTYPE = 5, STATUS = 23 };

/* Columns in the order of our files. `status` is the last one and reveals truncated rows. Our files
 * have no `group`: people who join files choose the units of leaving out. */
static const column columns[] = {
    [KIND]  = { "kind", TEXT, 0, true },
    [NAME]  = { "name", TEXT, offsetof(observation, name), true },
    [PHASE] = { "phase", TEXT, 0, true },
    { "input", TEXT, offsetof(observation, input), false },
    { "batch", COUNT, offsetof(observation, batch), false },
    [DTYPE] = { "dtype", TEXT, 0, false },
    { "ranks", COUNT, offsetof(observation, ranks), false },
    { "hosts", COUNT, offsetof(observation, hosts), false },
    { "bytes", COUNT, offsetof(observation, bytes), false },
    { "algorithm", TEXT, offsetof(observation, algorithm), false },
    { "geometry", TEXT, offsetof(observation, geometry), false },
    { "optimizer", TEXT, offsetof(observation, optimizer), false },
    { "bucket_bytes", COUNT, offsetof(observation, bucket_bytes), false },
    { "settings", TEXT, offsetof(observation, settings), false },
    { "threads", COUNT, offsetof(observation, threads), false },
    { "repeats", COUNT, offsetof(observation, repeats), false },
    { "seconds", POSITIVE, offsetof(observation, seconds), true },
    { "min_seconds", POSITIVE, offsetof(observation, min_seconds), false },
    { "p95_seconds", POSITIVE, offsetof(observation, p95_seconds), false },
    { "cpu_seconds", POSITIVE, offsetof(observation, cpu_seconds), false },
    { "clock_mhz", POSITIVE, offsetof(observation, clock_mhz), false },
    { "power_w", POSITIVE, offsetof(observation, power_w), false },
    { "flags", TEXT, offsetof(observation, flags), false },
    [STATUS] = { "status", TEXT, 0, false },
    { "group", TEXT, offsetof(observation, group), false },
    { "layout", TEXT, offsetof(observation, layout), false },
    { "power_limit_w", POSITIVE, offsetof(observation, power_limit_w), false },
};

enum { N_COLUMNS = sizeof columns / sizeof columns[0], N_WRITTEN = STATUS + 1 };

static size_t column_find(const char *name)
{
    size_t c = 0;

    while (c < N_COLUMNS && strcmp(columns[c].name, name))
        c++;
    return c;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct loading {
    observations *obs;
    csv_reader    csv;
    size_t        place[CSV_MAX_COLUMNS]; /* column of each field; N_COLUMNS: another program's */
    size_t        n_fields;
    size_t        room;
    bool          waits; /* see observation */
    autocast_kind on;
    lm_error     *err;
} loading;

static lm_status read_comments(loading *l)
{
    char *text;

    while ((text = csv_comment(&l->csv))) {
        char             *colon = strchr(text, ':');
        provenance_entry *more;

        if (!colon)
            continue;
        *colon = '\0';
        more   = realloc(l->obs->provenance, (l->obs->n_provenance + 1) * sizeof *more);
        if (!more)
            return no_memory(l->err);
        l->obs->provenance           = more;
        more[l->obs->n_provenance++] = (provenance_entry){ text_trim(text), text_trim(colon + 1) };
    }
    return LM_OK;
}

/* Checks an unknown column. Other programs may add columns, but a name similar to ours, or in place
 * of a missing column, is an error. */
static lm_status check_unknown(const loading *l, char *const *field, const char *name)
{
    const char *near     = columns_meant(name, field, l->n_fields);
    size_t      distance = strlen(name) > 4 ? 2 : 1;

    for (size_t c = 0; c < N_COLUMNS; c++) {
        const size_t d = text_distance(name, columns[c].name, distance);

        if (d <= distance) {
            near     = columns[c].name;
            distance = d;
        }
    }
    return near ? lm_error_set(l->err, LM_E_NOTFOUND,
                               "%s:%d: no column is called '%.40s': did you mean '%s'? Rename it",
                               l->csv.path, l->csv.line, name, near)
                : LM_OK;
}

static lm_status read_head(loading *l)
{
    char     *field[CSV_MAX_COLUMNS];
    lm_status status = csv_record(&l->csv, field, &l->n_fields, l->err);

    if (status)
        return status;
    if (!l->n_fields)
        return lm_error_set(l->err, LM_E_SYNTAX,
                            "%s: empty, expected a header row and observations", l->csv.path);
    if (l->n_fields == 1 &&
        strpbrk(field[0], ";\t")) /* spreadsheets in countries with decimal commas write this */
        return lm_error_set(
            l->err, LM_E_SYNTAX,
            "%s:%d: columns are parted by %s: expected commas, and points in numbers", l->csv.path,
            l->csv.line, strchr(field[0], ';') ? "semicolons" : "tabs");
    for (size_t i = 0; i < l->n_fields; i++) {
        l->place[i] = column_find(text_trim(field[i]));
        if (l->place[i] == N_COLUMNS && (status = check_unknown(l, field, text_trim(field[i]))))
            return status;
        for (size_t k = 0; k < i; k++)
            if (l->place[i] < N_COLUMNS && l->place[k] == l->place[i])
                return lm_error_set(l->err, LM_E_SYNTAX, "%s:%d: column '%s' is given twice",
                                    l->csv.path, l->csv.line, columns[l->place[i]].name);
    }
    for (size_t c = 0; c < N_COLUMNS; c++) {
        bool there = !columns[c].required;

        for (size_t i = 0; i < l->n_fields; i++)
            there |= l->place[i] == c;
        if (!there)
            return lm_error_set(
                l->err, LM_E_SYNTAX,
                "%s:%d: column '%s' is missing (needed: kind, name, phase, seconds)", l->csv.path,
                l->csv.line, columns[c].name);
    }
    return LM_OK;
}

static lm_status read_field(loading *l, observation *row, const column *c, char *text)
{
    char     *to    = (char *)row + c->offset;
    int64_t   count = 0;
    double    value = 0;
    lm_status status;

    if (!*text)
        return LM_OK;
    if (c->kind == TEXT) {
        for (const char *byte = text; *byte; byte++)
            if (text_control(byte))
                return lm_error_set(l->err, LM_E_SYNTAX, "%s:%d: %s: a control character",
                                    l->csv.path, l->csv.line, c->name);
        memcpy(to, &text, sizeof text);
        return LM_OK;
    }
    if (c->kind == COUNT) {
        status = text_int(text, &count, l->err);
        if (!status && count < 0)
            status = lm_error_set(l->err, LM_E_ARG, "%lld is negative", (long long)count);
        memcpy(to, &count, sizeof count);
    } else {
        status = text_real(text, &value, l->err);
        if (!status && value <= 0)
            status = lm_error_set(l->err, LM_E_ARG, "%s must be above 0, found %s",
                                  strstr(c->name, "seconds")   ? "a time"
                                  : strstr(c->name, "power_w") ? "a power"
                                                               : "a number",
                                  text);
        memcpy(to, &value, sizeof value);
    }
    if (status)
        lm_error_prefix(l->err, "%s:%d: %s", l->csv.path, l->csv.line, c->name);
    return status;
}

static lm_status bad_word(lm_error *err, const char *column_name, const char *word,
                          const char *known)
{
    return lm_error_set(err, LM_E_NOTFOUND, "%s: '%.40s' is none of %s", column_name, word, known);
}

/* Known optimizers without a known kernel of their update. */
static bool other_optimizer(const char *name)
{
    return !strcmp(name, "adagrad") || !strcmp(name, "adadelta") || !strcmp(name, "rmsprop");
}

#define NETWORK_PHASES "forward, backward, sync, update, step, inference"

/* Phases of a kind, for the error; NULL: the row's phase is one of them. */
static const char *phases_instead(const observation *row)
{
    const bool half = row->phase == PHASE_GRAD_INPUT || row->phase == PHASE_GRAD_WEIGHT;

    switch (row->kind) {
    case OBS_COLLECTIVE: return row->phase == PHASE_SYNC ? NULL : "sync";
    case OBS_STREAM:
        return row->phase == PHASE_SYNC || row->phase == PHASE_UPDATE
                   ? "forward, backward, step, inference"
                   : NULL;
    case OBS_LAYER:
        return row->phase == PHASE_SYNC
                   ? "forward, backward, update, step, inference, grad_input, grad_weight"
                   : NULL;
    case OBS_NETWORK:
    case OBS_COUNTS: return half ? NETWORK_PHASES : NULL;
    case OBS_KERNEL:
    case OBS_N_KINDS: break;
    }
    return NULL;
}

collective_kind observation_collective(const observation *row)
{
    collective_kind kind = COLLECTIVE_ALLREDUCE;

    return row->kind == OBS_COLLECTIVE && collective_kind_parse(row->name, &kind, NULL)
               ? N_COLLECTIVE_KINDS
               : kind;
}

/* Share by which a log may round its times. */
#define ROUNDED 0.01

/* Is a median within its repetitions? */
static lm_status check_spread(const observation *row, lm_error *err)
{
    if (row->min_seconds > (1 + ROUNDED) * row->seconds)
        return lm_error_set(err, LM_E_ARG, "min_seconds: %.6g s are more than seconds, %.6g s",
                            row->min_seconds, row->seconds);
    if (row->p95_seconds < (1 - ROUNDED) * row->seconds)
        return lm_error_set(err, LM_E_ARG, "p95_seconds: %.6g s are less than seconds, %.6g s",
                            row->p95_seconds, row->seconds);
    return LM_OK;
}

lm_status observation_check(const observation *row, lm_error *err)
{
    enum optimizer  known;
    collective_kind kind;
    uint32_t        flags;
    lm_status       status;

    if (phases_instead(row))
        return bad_word(err, "phase", phase_name(row->phase), phases_instead(row));
    if (!*row->name)
        return lm_error_set(err, LM_E_SYNTAX, "name is empty");
    if (!row->skipped && isnan(row->seconds))
        return lm_error_set(err, LM_E_SYNTAX, "seconds is empty");
    if ((observation_of_network(row) || row->kind == OBS_LAYER) && row->batch < 1)
        return lm_error_set(err, LM_E_ARG, "batch: a %s needs 1 or more",
                            obs_kind_names[row->kind]);
    if (row->ranks > OBSERVATION_MOST_RANKS)
        return lm_error_set(err, LM_E_ARG, "ranks: %" PRId64 " are more than %" PRId64, row->ranks,
                            OBSERVATION_MOST_RANKS);
    if (row->hosts > row->ranks && row->hosts > 1)
        return lm_error_set(err, LM_E_ARG, "hosts: %" PRId64 " of %" PRId64 " ranks: each has one",
                            row->hosts, row->ranks);
    if (row->kind == OBS_COLLECTIVE && (row->bytes < 1 || row->ranks < 1))
        return lm_error_set(err, LM_E_ARG, "a collective needs bytes and ranks");
    if (row->kind == OBS_COLLECTIVE && (status = collective_kind_parse(row->name, &kind, err)))
        return status;
    if (row->kind == OBS_COLLECTIVE && collective_algorithm_meant(kind, row->algorithm))
        return bad_word(err, "algorithm", row->algorithm,
                        collective_algorithm_meant(kind, row->algorithm));
    if (row->phase == PHASE_INFERENCE && row->bucket_bytes > 0)
        return lm_error_set(err, LM_E_ARG,
                            "bucket_bytes: inference sends no gradients; leave it empty, or name "
                            "the phase of the step it is of");
    if (*row->optimizer && optimizer_parse(row->optimizer, &known, NULL) &&
        !other_optimizer(row->optimizer))
        return bad_word(err, "optimizer", row->optimizer,
                        "sgd, momentum, adam, adafactor, muon, adagrad, adadelta, rmsprop");
    if (flags_parse(row->flags, &flags))
        return bad_word(err, "flags", row->flags, FLAGS_KNOWN);
    if (*row->layout && (row->kind != OBS_NETWORK || row->phase != PHASE_STEP))
        return lm_error_set(err, LM_E_ARG,
                            "layout: it is of whole steps of a network, kind network, phase step");
    if ((status = check_spread(row, err)))
        return status;
    if (row->power_limit_w > 0 && !row->skipped && isnan(row->power_w))
        return lm_error_set(err, LM_E_ARG,
                            "power_limit_w: a limit of %.6g W, and power_w does not say what was "
                            "drawn under it",
                            row->power_limit_w);
    return LM_OK;
}

/* The words of a row, and the requirements of its kind. */
static lm_status finish_row(observation *row, const char *kind, const char *phase_text,
                            const char *dtype, const char *status_text, lm_error *err)
{
    lm_status status;

    if (obs_kind_parse(kind, &row->kind))
        return bad_word(err, "kind", kind, "network, kernel, collective, layer, counts, stream");
    if (row->kind == OBS_KERNEL ? kernel_pass_parse(phase_text, &row->pass, NULL)
                                : phase_parse(phase_text, &row->phase))
        return bad_word(err, "phase", phase_text,
                        row->kind == OBS_KERNEL ? "forward, grad_input, grad_weight"
                                                : NETWORK_PHASES);
    if (*dtype && text_dtype(dtype, &row->dtype, NULL))
        return bad_word(err, "dtype", dtype, "f32, f16, bf16, f64, i32, i8, f8");
    row->skipped = *status_text && strcmp(status_text, "ok");
    if (row->skipped && strncmp(status_text, "skipped", 7))
        return bad_word(err, "status", status_text, "ok, skipped-...");
    status = observation_check(row, err);
    if (status)
        return status;
    if (row->ranks < 1)
        row->ranks = 1;
    if (row->hosts < 1)
        row->hosts = 1;
    return LM_OK;
}

static lm_status read_row(loading *l, char *field[], size_t n)
{
    observation row  = observation_blank;
    const char *kind = "", *phase_text = "", *dtype = "", *status_text = "";
    lm_status   status = LM_OK;

    row.line  = l->csv.line;
    row.waits = l->waits;
    row.on    = l->on;
    if (n != l->n_fields)
        return lm_error_set(l->err, LM_E_SYNTAX, "%s:%d: %zu fields, the header has %zu",
                            l->csv.path, l->csv.line, n, l->n_fields);
    for (size_t i = 0; i < n && !status; i++) {
        const size_t c    = l->place[i];
        char        *text = text_trim(field[i]);

        if (c == KIND)
            kind = text;
        else if (c == PHASE)
            phase_text = text;
        else if (c == STATUS)
            status_text = text;
        else if (c == DTYPE)
            dtype = text;
        else if (c < N_COLUMNS)
            status = read_field(l, &row, &columns[c], text);
    }
    if (status)
        return status;
    if ((status = finish_row(&row, kind, phase_text, dtype, status_text, l->err))) {
        lm_error_prefix(l->err, "%s:%d", l->csv.path, l->csv.line);
        return status;
    }
    if (!array_grow(&l->obs->row, l->obs->n_rows, &l->room, sizeof row))
        return no_memory(l->err);
    l->obs->n_skipped += row.skipped;
    l->obs->n_typed += *dtype != '\0';
    l->obs->n_untyped += !*dtype && row.kind != OBS_COLLECTIVE;
    l->obs->row[l->obs->n_rows++] = row;
    return LM_OK;
}

static bool writes_status(const loading *l)
{
    return l->n_fields && l->place[l->n_fields - 1] == STATUS;
}

static lm_status read_rows(loading *l)
{
    char     *field[CSV_MAX_COLUMNS];
    size_t    n;
    lm_status status;

    for (;;) {
        if ((status = csv_record(&l->csv, field, &n, l->err))) {
            if (!l->csv.unended || !l->obs->n_rows)
                return status;
            l->obs->cut_short = true; /* inside a quoted field */
            return lm_error_set(l->err, LM_OK, "%s", "");
        }
        if (!n)
            return LM_OK;
        /* A killed run may leave a partial row, without newline, fields or status. */
        if (l->csv.unended && (n < l->n_fields || (writes_status(l) && strcmp(field[n - 1], "ok") &&
                                                   strncmp(field[n - 1], "skipped-", 8)))) {
            l->obs->cut_short = true;
            return LM_OK;
        }
        if ((status = read_row(l, field, n)))
            return status;
    }
}

lm_status observations_load(const char *path, observations **out, lm_error *err)
{
    observations *obs = calloc(1, sizeof *obs);
    loading       l   = { .obs = obs, .err = err };
    size_t        size;
    lm_status     status;

    if (!obs || !(obs->path = strdup(path))) {
        free(obs);
        return no_memory(err);
    }
    status = file_read_text(path, &obs->text, &size, err);
    if (!status) {
        csv_open(&l.csv, obs->path, obs->text);
        status = read_comments(&l);
    }
    l.waits = !observations_provenance(obs, OBSERVATIONS_EXPOSED);
    l.on    = provenance_kind(obs->provenance, obs->n_provenance);
    if (!status)
        status = read_head(&l);
    if (!status)
        status = read_rows(&l);
    if (!status && !obs->n_rows)
        status = lm_error_set(err, LM_E_SYNTAX, "%s: no observations below the header row", path);
    if (status) {
        observations_free(obs);
        return status;
    }
    *out = obs;
    return LM_OK;
}

void observations_free(observations *obs)
{
    if (!obs)
        return;
    free_all(obs->row, obs->provenance, obs->text, obs->path, obs);
}

const char *observations_provenance(const observations *obs, const char *key)
{
    for (size_t i = 0; i < obs->n_provenance; i++)
        if (!strcmp(obs->provenance[i].key, key))
            return obs->provenance[i].value;
    return NULL;
}

bool observation_of_network(const observation *row)
{
    return row->kind == OBS_NETWORK || row->kind == OBS_COUNTS;
}

const char *observation_optimizer(const observation *r)
{
    return (observation_of_network(r) || r->kind == OBS_LAYER) && !*r->optimizer
               ? optimizer_name(OPTIMIZER_MOMENTUM)
               : r->optimizer;
}

/* ---- writing --------------------------------------------------------------------------------- */

void observation_print_head(FILE *out)
{
    for (size_t i = 0; i < N_WRITTEN; i++)
        fprintf(out, "%s%c", columns[i].name, i < STATUS ? ',' : '\n');
}

static void print_field(FILE *out, const observation *row, const column *c)
{
    char        number[40];
    const char *from = (const char *)row + c->offset;
    const char *text;
    int64_t     count;
    double      value;

    switch (c->kind) {
    case TEXT:
        memcpy(&text, from, sizeof text);
        if (text)
            csv_put(out, text);
        break;
    case COUNT:
        memcpy(&count, from, sizeof count);
        if (count)
            fprintf(out, "%lld", (long long)count);
        break;
    case POSITIVE:
        memcpy(&value, from, sizeof value);
        if (!isnan(value))
            fputs(text_exact(value, number, sizeof number), out);
    }
}

void observation_print(FILE *out, const observation *row, const char *status)
{
    for (size_t c = 0; c < N_WRITTEN; c++) {
        if (c == KIND)
            fputs(obs_kind_names[row->kind], out);
        else if (c == PHASE)
            fputs(row->kind == OBS_KERNEL ? kernel_pass_name(row->pass) : phase_name(row->phase),
                  out);
        else if (c == STATUS)
            fputs(status, out);
        else if (c == DTYPE)
            fputs(text_dtype_name(row->dtype), out);
        else
            print_field(out, row, &columns[c]);
        putc(c < STATUS ? ',' : '\n', out);
    }
}

double observations_limit(const observations *obs)
{
    double highest = NAN;

    for (size_t i = 0; i < obs->n_rows; i++)
        if (!obs->row[i].skipped)
            highest = fmax(highest, obs->row[i].power_limit_w); /* fmax() ignores NAN */
    return highest;
}

bool observation_limited(const observation *row, double usual)
{
    return row->power_limit_w < usual;
}

double observation_held_mhz(const observation *row)
{
    size_t       n;
    const char  *word = setting_value(row->settings, "clock", &n);
    const double mhz  = word ? strtod(word, NULL) : 0; /* 0: no number */

    return mhz > 0 ? mhz : (double)NAN;
}

autocast_kind provenance_kind(const provenance_entry *entry, size_t n)
{
    bool cpu = false;

    for (size_t i = 0; i < n; i++) {
        if (!strcmp(entry[i].key, "gpu") || !strcmp(entry[i].key, "simulated"))
            return AUTOCAST_GPU;
        cpu |= !strcmp(entry[i].key, "cpu");
    }
    return cpu ? AUTOCAST_CPU : AUTOCAST_GPU;
}
