/* Regions, metrics and repetitions of Extra-P as observations. */

#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "base/text.h"
#include "import/extrap.h"
#include "network/kernels.h"

#define SYNONYMS 4

/* The first name is ours. A single letter is ambiguous: p means ranks to some, nodes to others. */
static const char *const counts[N_EXTRAP_COUNTS][SYNONYMS] = {
    [EXTRAP_NODES]        = { "nodes", "hosts", "machines" },
    [EXTRAP_DEVICES]      = { "devices", "gpus", "ranks_per_node", "gpus_per_node" },
    [EXTRAP_RANKS]        = { "ranks", "processes", "procs", "world_size" },
    [EXTRAP_BATCH]        = { "batch", "batch_size", "batchsize" },
    [EXTRAP_BYTES]        = { "bytes", "message_size", "message_bytes" },
    [EXTRAP_BUCKET_BYTES] = { "bucket_bytes" },
    [EXTRAP_THREADS]      = { "threads" },
};

const char *const extrap_text_names[N_EXTRAP_TEXTS] = { "kind",      "phase",     "input",
                                                        "dtype",     "algorithm", "geometry",
                                                        "optimizer", "settings" };

const char *extrap_count_name(extrap_count c)
{
    return counts[c][0];
}

bool extrap_count_find(const char *word, extrap_count *out)
{
    for (extrap_count c = 0; c < N_EXTRAP_COUNTS; c++)
        for (size_t s = 0; s < SYNONYMS && counts[c][s]; s++)
            if (!strcmp(word, counts[c][s])) {
                *out = c;
                return true;
            }
    return false;
}

lm_status extrap_count_of(double value, const char *what, int64_t *out, lm_error *err)
{
    if (!(value >= 1 && value <= 9007199254740992.0 && value == floor(value))) /* 2^53 */
        return lm_error_set(err, LM_E_ARG, "%s: expected a whole number from 1 up, found %g", what,
                            value);
    *out = (int64_t)value;
    return LM_OK;
}

lm_status extrap_say(extrap_said *said, const char *key, const char *value, lm_error *err)
{
    const size_t t = text_place(key, extrap_text_names, N_EXTRAP_TEXTS);
    extrap_count c;
    int64_t      number;

    if (t < N_EXTRAP_TEXTS) {
        said->text[t] = value;
        return LM_OK;
    }
    if (!extrap_count_find(key, &c))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "'%.40s' is none of " EXTRAP_COUNTS_KNOWN ", " EXTRAP_TEXTS_KNOWN, key);
    if (c == EXTRAP_BYTES || c == EXTRAP_BUCKET_BYTES ? text_bytes(value, &number, err)
                                                      : text_int(value, &number, err)) {
        lm_error_prefix(err, "%s", key);
        return err->code;
    }
    if (number < 1)
        return lm_error_set(err, LM_E_ARG, "%s: expected a whole number from 1 up, found '%.40s'",
                            key, value);
    said->count[c] = number;
    return LM_OK;
}

const char *extrap_renamed(const extrap_names *names, const char *theirs)
{
    for (size_t i = 0; i < names->n; i++)
        if (!strcmp(names->name[i].theirs, theirs))
            return names->name[i].ours;
    return theirs;
}

/* ---- regions --------------------------------------------------------------------------------- */

static bool is_phase(const char *word)
{
    phase p;

    return !phase_parse(word, &p);
}

/* The last part of a callpath. */
static char *last_part(char *path)
{
    char *last = path;

    for (char *at = path; (at = strstr(at, "->")); at += 2)
        last = at + 2;
    return text_trim(last);
}

/* The part with the name. A phase below it goes into *phase_word. */
static char *naming_part(char *path, const char **phase_word)
{
    char *last = last_part(path);
    char *arrow;

    if (last == path || !is_phase(last))
        return last;
    *phase_word = last;
    for (arrow = last; arrow > path && strncmp(arrow, "->", 2) != 0; arrow--)
        ;
    *arrow = '\0';
    return last_part(path);
}

/* Does a word key=value with one of our keys begin here? */
static bool is_said(const char *at)
{
    const size_t n = strcspn(at, "= \t");
    char         key[32];
    extrap_count c;

    if (at[n] != '=' || !n || n >= sizeof key)
        return false;
    memcpy(key, at, n);
    key[n] = '\0';
    return extrap_count_find(key, &c) ||
           text_place(key, extrap_text_names, N_EXTRAP_TEXTS) < N_EXTRAP_TEXTS;
}

bool extrap_says_words(const char *name)
{
    for (const char *at = name; *at; at += strspn(at, " \t")) {
        if (is_said(at))
            return true;
        at += strcspn(at, " \t");
    }
    return false;
}

/* Cuts off the value at `*at`; *at then stands after it. A value with blanks is in quotes. */
static char *cut_value(char **at, lm_error *err)
{
    const bool quoted = **at == '"';
    char      *value  = *at + quoted;
    char      *end    = value + strcspn(value, quoted ? "\"" : " \t");

    if (quoted && (!*end || (end[1] && end[1] != ' ' && end[1] != '\t'))) {
        lm_error_set(err, LM_E_SYNTAX, "a quoted value does not end");
        return NULL;
    }
    *at  = *end ? end + 1 : end;
    *end = '\0';
    return value;
}

static lm_status read_words(char *at, extrap_said *said, lm_error *err)
{
    lm_status status = LM_OK;

    while (!status && *(at += strspn(at, " \t"))) {
        char *key   = at;
        char *equal = key + strcspn(key, "= \t");
        char *value;

        if (*equal != '=')
            return lm_error_set(err, LM_E_SYNTAX, "expected key=value, found '%.40s'", key);
        *equal = '\0';
        at     = equal + 1;
        value  = cut_value(&at, err);
        status = value ? extrap_say(said, key, value, err) : LM_E_SYNTAX;
    }
    return status;
}

lm_status extrap_region(char *text, const extrap_options *given, extrap_series *out, lm_error *err)
{
    extrap_series   made = { .said = given->fixed };
    char           *name = naming_part(text, &made.said.text[EXTRAP_PHASE]);
    char           *at   = name;
    collective_kind kind;
    lm_status       status;

    while (*at && !is_said(at)) {
        at += strcspn(at, " \t");
        at += strspn(at, " \t");
    }
    if (at > name && *at)
        at[-1] = '\0';
    status = read_words(at, &made.said, err);
    if (status)
        return status;
    made.name = at == name ? "" : extrap_renamed(&given->regions, text_trim(name));
    if (!*made.name)
        return lm_error_set(err, LM_E_SYNTAX, "a REGION without a name");
    kind = collective_kind_spelled(made.name);
    if (!made.said.text[EXTRAP_KIND] && kind < N_COLLECTIVE_KINDS) {
        made.name                   = collective_types[kind].name;
        made.said.text[EXTRAP_KIND] = "collective";
    }
    made.metric = out->metric;
    made.line   = out->line;
    *out        = made;
    return LM_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static lm_status read_kind(const extrap_said *said, observation *row, lm_error *err)
{
    const char *kind  = said->text[EXTRAP_KIND];
    const char *dtype = said->text[EXTRAP_DTYPE];

    if (kind && obs_kind_parse(kind, &row->kind))
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "kind: '%.40s' is none of network, kernel, collective, layer, counts, stream", kind);
    if (dtype && text_dtype(dtype, &row->dtype, err)) {
        lm_error_prefix(err, "dtype");
        return err->code;
    }
    return LM_OK;
}

/* The phase by the metric; with "time" by the region, else by the kind. */
static lm_status read_phase(const extrap_series *s, const extrap_options *given, observation *row,
                            lm_error *err)
{
    const char *word = s->metric ? extrap_renamed(&given->metrics, s->metric) : "time";
    const char *said = s->said.text[EXTRAP_PHASE];

    if (!s->metric && !said)
        return lm_error_set(err, LM_E_SYNTAX,
                            "DATA without a METRIC above them: put 'METRIC time' there if they are "
                            "seconds, or give --fixed phase=step");
    if (!strcmp(word, "time"))
        word = said ? said : row->kind == OBS_COLLECTIVE ? "sync" : "step";
    if (row->kind == OBS_KERNEL ? kernel_pass_parse(word, &row->pass, NULL)
                                : phase_parse(word, &row->phase))
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "metric '%.40s' is none of time, forward, backward, sync, update, step, "
            "inference: if it is such a time in seconds, say which with --metric "
            "'%.40s=step', else take it out of the file",
            word, word);
    return LM_OK;
}

/* Nodes, devices of each, and ranks: two of them give the third. */
static lm_status read_place(const extrap_said *said, observation *row, lm_error *err)
{
    const int64_t nodes = said->count[EXTRAP_NODES], devices = said->count[EXTRAP_DEVICES],
                  ranks = said->count[EXTRAP_RANKS];

    if (!ranks) {
        row->hosts = nodes ? nodes : 1;
        row->ranks = devices ? devices : 1;
        if (row->kind == OBS_COLLECTIVE && !nodes && !devices)
            return lm_error_set(err, LM_E_ARG,
                                "nothing says how many ranks took part: name a parameter with "
                                "--parameter p=ranks, or give --fixed ranks=N");
        if (row->hosts > INT64_MAX / row->ranks)
            return lm_error_set(err, LM_E_ARG, "more ranks than can be counted");
        row->ranks *= row->hosts;
        return LM_OK;
    }
    row->ranks = ranks;
    if (!nodes && !devices && ranks > 1)
        return lm_error_set(err, LM_E_ARG,
                            "nothing says on how many nodes %lld ranks were: give --fixed nodes=N, "
                            "or --fixed devices=N of each node",
                            (long long)ranks);
    row->hosts = nodes ? nodes : devices > ranks || ranks == 1 ? 1 : ranks / devices;
    if (row->hosts > ranks ||
        (devices && ranks > devices && (ranks % devices || ranks / devices != row->hosts)))
        return lm_error_set(err, LM_E_ARG, "%lld ranks are not %lld nodes of %lld devices",
                            (long long)ranks, (long long)row->hosts,
                            (long long)(devices ? devices : 1));
    return LM_OK;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static lm_status take_seconds(double *seconds, size_t n, observation *row, bool *none,
                              lm_error *err)
{
    *none = row->kind != OBS_COLLECTIVE && row->phase == PHASE_SYNC && row->ranks == 1;
    for (size_t i = 0; i < n; i++) {
        *none = *none && seconds[i] == 0;
        if (!*none && !(seconds[i] > 0))
            return lm_error_set(err, LM_E_ARG, "a time must be above 0, found %g", seconds[i]);
    }
    row->seconds = stats_quantile(seconds, n, 0.5);
    if (n > 1) {
        row->repeats     = (int64_t)n;
        row->min_seconds = seconds[0];
        row->p95_seconds = stats_quantile(seconds, n, 0.95);
    }
    return LM_OK;
}

lm_status extrap_row(const extrap_series *s, const extrap_options *given, double *seconds, size_t n,
                     observation *out, bool *none, lm_error *err)
{
    observation row = observation_blank;
    lm_status   status;

    row.name = s->name;
    row.line = s->line;
    if ((status = read_kind(&s->said, &row, err)) || (status = read_phase(s, given, &row, err)) ||
        (status = read_place(&s->said, &row, err)) ||
        (status = take_seconds(seconds, n, &row, none, err)))
        return status;
    row.batch        = s->said.count[EXTRAP_BATCH];
    row.bytes        = s->said.count[EXTRAP_BYTES];
    row.bucket_bytes = s->said.count[EXTRAP_BUCKET_BYTES];
    row.threads      = s->said.count[EXTRAP_THREADS];
    row.input        = or_empty(s->said.text[EXTRAP_INPUT]);
    row.algorithm    = or_empty(s->said.text[EXTRAP_ALGORITHM]);
    row.geometry     = or_empty(s->said.text[EXTRAP_GEOMETRY]);
    row.optimizer    = or_empty(s->said.text[EXTRAP_OPTIMIZER]);
    row.settings     = or_empty(s->said.text[EXTRAP_SETTINGS]);
    if (row.kind == OBS_COLLECTIVE && !*row.algorithm)
        row.algorithm = "default";
    status = observation_check(&row, err);
    if (status) {
        lm_error_prefix(err, "region '%.60s'", s->name);
        return status;
    }
    *out = row;
    return LM_OK;
}
