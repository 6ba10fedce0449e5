/* Observations as points, regions and metrics of Extra-P. */
#include "import/extrap.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/names.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "layers/kernel_text.h"
#include "report/json.h"

/* Place of one time. */
typedef struct cell {
    int64_t            at[N_EXTRAP_COUNTS]; /* values of the parameters, in their order */
    size_t             region;
    int                metric;
    size_t             point; /* text: its place in the list of all texts */
    const observation *row;
} cell;

typedef struct writer {
    cell        *cell;
    size_t       n;
    extrap_count parameter[N_EXTRAP_COUNTS];
    size_t       n_parameters;
    bool         varies[N_EXTRAP_COUNTS];
    bool         of_nodes; /* nodes and devices instead of ranks */
    const char **region;
    size_t       n_regions, room;
    names        by_region;
    arena       *arena;
    lm_error    *err;
} writer;

lm_status extrap_format_parse(const char *text, extrap_format *out, lm_error *err)
{
    if (!strcmp(text, "extra-p"))
        *out = EXTRAP_TEXT;
    else if (!strcmp(text, "extra-p-jsonl"))
        *out = EXTRAP_JSON_LINES;
    else
        return lm_error_set(err, LM_E_ARG, "expected extra-p or extra-p-jsonl, found '%.40s'",
                            text);
    return LM_OK;
}

/* ---- counts and words of a row --------------------------------------------------------------- */

static int64_t count_of(const writer *w, const observation *row, extrap_count c)
{
    switch (c) {
    case EXTRAP_NODES: return row->hosts;
    case EXTRAP_DEVICES: return w->of_nodes ? row->ranks / row->hosts : 0;
    case EXTRAP_RANKS: return w->of_nodes ? 0 : row->ranks;
    case EXTRAP_BATCH: return row->batch;
    case EXTRAP_BYTES: return row->bytes;
    case EXTRAP_BUCKET_BYTES: return row->bucket_bytes;
    case EXTRAP_THREADS: return row->threads;
    case N_EXTRAP_COUNTS: break;
    }
    return 0;
}

/* Parameters are counts that every row has and that vary: Extra-P needs each parameter in each
 * row. If nothing varies, the first count of all rows. */
static void find_parameters(writer *w, const observation *row, size_t n)
{
    static const extrap_count first[] = { EXTRAP_BATCH, EXTRAP_BYTES, EXTRAP_NODES };

    w->of_nodes = true;
    for (size_t i = 0; i < n; i++)
        w->of_nodes = w->of_nodes && row[i].ranks % row[i].hosts == 0;
    for (extrap_count c = 0; c < N_EXTRAP_COUNTS; c++) {
        bool differs = false, there = true;

        for (size_t i = 0; i < n; i++) {
            differs = differs || count_of(w, &row[i], c) != count_of(w, &row[0], c);
            there   = there && count_of(w, &row[i], c) > 0;
        }
        w->varies[c] = differs && there;
    }
    for (size_t k = 0; k < sizeof first / sizeof first[0]; k++) {
        bool any = false;

        for (extrap_count c = 0; c < N_EXTRAP_COUNTS; c++)
            any = any || w->varies[c];
        if (!any && count_of(w, &row[0], first[k])) {
            bool there = true;

            for (size_t i = 0; i < n; i++)
                there = there && count_of(w, &row[i], first[k]) > 0;
            w->varies[first[k]] = there;
        }
    }
    for (extrap_count c = 0; c < N_EXTRAP_COUNTS; c++)
        if (w->varies[c])
            w->parameter[w->n_parameters++] = c;
}

static const char *text_of(const observation *row, extrap_text t)
{
    /* the kind that a reader infers from the name */
    const bool plain =
        row->kind ==
        (collective_kind_spelled(row->name) < N_COLLECTIVE_KINDS ? OBS_COLLECTIVE : OBS_NETWORK);

    switch (t) {
    case EXTRAP_KIND: return plain ? "" : obs_kind_names[row->kind];
    case EXTRAP_INPUT: return row->input;
    case EXTRAP_DTYPE: return row->dtype == LM_F32 ? "" : text_dtype_name(row->dtype);
    case EXTRAP_ALGORITHM: return row->algorithm;
    case EXTRAP_GEOMETRY: return row->geometry;
    case EXTRAP_OPTIMIZER: return row->optimizer;
    case EXTRAP_SETTINGS: return row->settings;
    case EXTRAP_PHASE: /* part of the metric's name */
    case N_EXTRAP_TEXTS: break;
    }
    return "";
}

static int metric_of(const observation *row)
{
    return row->kind == OBS_KERNEL ? (int)row->pass : (int)row->phase;
}

static const char *metric_name(const observation *row)
{
    return row->kind == OBS_KERNEL ? kernel_pass_name(row->pass) : phase_name(row->phase);
}

/* Writes a region so that a reader can split it again. */
static bool writable(const char *text)
{
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == '"' || !strncmp(p, "->", 2))
            return false;
    return true;
}

static lm_status refuse(const writer *w, const observation *row, const char *what, const char *text,
                        const char *where)
{
    lm_error_set(w->err, LM_E_ARG, "%s'%.60s' cannot %s", what, text, where);
    if (row->line) /* predictions have none */
        lm_error_prefix(w->err, "line %d", row->line);
    return LM_E_ARG;
}

/* Redundant counts: one node if its devices are given, one device or rank of a network. */
static bool is_default(const writer *w, const observation *row, extrap_count c)
{
    const int64_t count = count_of(w, row, c);
    const bool    alone = count == 1 && row->kind != OBS_COLLECTIVE;

    return !count || (alone && (c == EXTRAP_DEVICES || c == EXTRAP_RANKS)) ||
           (count == 1 && c == EXTRAP_NODES && w->of_nodes);
}

static lm_status print_region(const writer *w, const observation *row, FILE *out)
{
    if (!writable(row->name) || extrap_says_words(row->name))
        return refuse(w, row, "", row->name, "be the name of a region");
    fputs(row->name, out);
    for (extrap_text t = 0; t < N_EXTRAP_TEXTS; t++) {
        const char *text = text_of(row, t);
        char        what[20];

        snprintf(what, sizeof what, "%s ", extrap_text_names[t]);
        if (!writable(text))
            return refuse(w, row, what, text, "stand in a region");
        if (*text)
            fprintf(out, strchr(text, ' ') ? " %s=\"%s\"" : " %s=%s", extrap_text_names[t], text);
    }
    for (extrap_count c = 0; c < N_EXTRAP_COUNTS; c++)
        if (!w->varies[c] && !is_default(w, row, c))
            fprintf(out, " %s=%lld", extrap_count_name(c), (long long)count_of(w, row, c));
    return LM_OK;
}

/* Number of the region, added if new. */
static lm_status find_region(writer *w, const observation *row, size_t *out)
{
    char        *text   = NULL;
    const char  *kept   = NULL;
    size_t       size   = 0;
    FILE        *stream = open_memstream(&text, &size);
    lm_status    status = stream ? print_region(w, row, stream) : LM_E_NOMEM;
    const bool   closed = stream && !fclose(stream);
    const char **more;

    if (!status && closed) {
        *out = names_find(&w->by_region, text);
        if (*out == NAMES_NONE && (kept = arena_text(w->arena, text, size)) &&
            (more = arena_grow(w->arena, w->region, w->n_regions, &w->room, sizeof *more)) &&
            names_add(&w->by_region, kept, w->n_regions)) {
            w->region               = more;
            w->region[w->n_regions] = kept;
            *out                    = w->n_regions++;
        }
    }
    free(text);
    if (!status && (!closed || *out == NAMES_NONE))
        status = LM_E_NOMEM;
    return status == LM_E_NOMEM ? no_memory(w->err) : status;
}

static lm_status fill_cells(writer *w, const observation *row, size_t n)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < n && !status; i++) {
        cell *c = &w->cell[w->n++];

        if (row[i].kind != row[0].kind)
            return lm_error_set(w->err, LM_E_ARG, "rows of several kinds: %s and %s",
                                obs_kind_names[row[0].kind], obs_kind_names[row[i].kind]);
        *c = (cell){ .metric = metric_of(&row[i]), .row = &row[i] };
        for (size_t p = 0; p < w->n_parameters; p++)
            c->at[p] = count_of(w, &row[i], w->parameter[p]);
        status = find_region(w, &row[i], &c->region);
    }
    return status;
}

/* ---- JSON Lines ------------------------------------------------------------------------------ */

static void write_json_lines(const writer *w, FILE *out)
{
    json j = { .out = out, .one_line = true };

    for (size_t i = 0; i < w->n; i++) {
        const cell *c = &w->cell[i];

        json_open(&j, NULL, '{');
        json_open(&j, "params", '{');
        for (size_t p = 0; p < w->n_parameters; p++)
            json_count(&j, extrap_count_name(w->parameter[p]), (uint64_t)c->at[p]);
        json_close(&j, '}');
        json_text(&j, "callpath", w->region[c->region]);
        json_text(&j, "metric", metric_name(c->row));
        json_real(&j, "value", c->row->seconds);
        json_close(&j, '}');
    }
}

/* ---- text ------------------------------------------------------------------------------------ */

static int compare_points(const cell *a, const cell *b)
{
    for (size_t p = 0; p < N_EXTRAP_COUNTS; p++)
        if (a->at[p] != b->at[p])
            return a->at[p] < b->at[p] ? -1 : 1;
    return 0;
}

/* By point, then in the order of the file. */
static int by_point(const void *a, const void *b)
{
    const cell *x = a, *y = b;
    const int   d = compare_points(x, y);

    return d ? d : (x->row > y->row) - (x->row < y->row);
}

static int by_series(const void *a, const void *b)
{
    const cell *x = a, *y = b;

    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    if (x->metric != y->metric)
        return x->metric < y->metric ? -1 : 1;
    return by_point(a, b);
}

/* Digits without an exponent, as the format demands: as many as the number needs. */
static void put_decimal(FILE *out, double value)
{
    char text[400];
    int  digits = 0;

    do
        snprintf(text, sizeof text, "%.*f", digits++, value);
    while (strtod(text, NULL) != value && digits < 340);
    fputs(text, out);
}

/* Sorts cells by point and lists the points. Returns their number. */
static size_t write_points(writer *w, cell *point, FILE *out)
{
    size_t n = 0;

    qsort(w->cell, w->n, sizeof *w->cell, by_point);
    for (size_t i = 0; i < w->n; i++) {
        if (!i || compare_points(&w->cell[i], &point[n - 1])) {
            point[n++] = w->cell[i];
            fputs("POINTS (", out);
            for (size_t p = 0; p < w->n_parameters; p++)
                fprintf(out, "%s%lld", p ? " " : "", (long long)w->cell[i].at[p]);
            fputs(")\n", out);
        }
        w->cell[i].point = n - 1;
    }
    return n;
}

static lm_status lacks(const writer *w, const cell *of, const cell *point)
{
    char text[32 * N_EXTRAP_COUNTS] = "";

    for (size_t p = 0; p < w->n_parameters; p++)
        text_add(text, sizeof text, "%s%s=%lld", p ? " " : "", extrap_count_name(w->parameter[p]),
                 (long long)point->at[p]);
    return lm_error_set(
        w->err, LM_E_ARG,
        "'%.80s' has no %s at %s, as others have: Extra-P's text format wants every "
        "point of every region and metric; take --format extra-p-jsonl, or fewer "
        "regions with --name",
        w->region[of->region], metric_name(of->row), text);
}

/* Writes the cells of a region and metric from `at` on, a line for each point. Returns their
 * number. */
static lm_status write_series(const writer *w, size_t *at, const cell *point, size_t n_points,
                              FILE *out)
{
    const cell *first = &w->cell[*at];
    const bool  sync  = first->row->kind != OBS_KERNEL && first->row->kind != OBS_COLLECTIVE &&
                      first->row->phase == PHASE_SYNC;

    for (size_t p = 0; p < n_points; p++) {
        size_t n = 0;

        fputs("DATA", out);
        for (; *at < w->n && w->cell[*at].region == first->region &&
               w->cell[*at].metric == first->metric && w->cell[*at].point == p;
             ++*at, n++) {
            putc(' ', out);
            put_decimal(out, w->cell[*at].row->seconds);
        }
        if (!n && !(sync && point[p].row->ranks == 1))
            return lacks(w, first, &point[p]);
        fputs(n ? "\n" : " 0\n", out); /* one rank has nothing to reduce */
    }
    return LM_OK;
}

static lm_status write_text(writer *w, FILE *out)
{
    cell     *point  = arena_array(w->arena, w->n, sizeof *point);
    lm_status status = LM_OK;
    size_t    n_points;

    if (!point)
        return no_memory(w->err);
    fputs("PARAMETER", out);
    for (size_t p = 0; p < w->n_parameters; p++)
        fprintf(out, " %s", extrap_count_name(w->parameter[p]));
    putc('\n', out);
    n_points = write_points(w, point, out);
    qsort(w->cell, w->n, sizeof *w->cell, by_series);
    for (size_t i = 0; i < w->n && !status;) {
        if (!i || w->cell[i].region != w->cell[i - 1].region)
            fprintf(out, "\nREGION %s\n", w->region[w->cell[i].region]);
        fprintf(out, "METRIC %s\n", metric_name(w->cell[i].row));
        status = write_series(w, &i, point, n_points, out);
    }
    return status;
}

lm_status extrap_write(const observation *row, size_t n, extrap_format f, const char *title,
                       FILE *out, lm_error *err)
{
    writer    w      = { .err = err, .arena = arena_new() };
    lm_status status = LM_OK;

    w.cell = w.arena ? arena_array(w.arena, n, sizeof *w.cell) : NULL;
    if (!w.cell)
        status = no_memory(err);
    if (!status) {
        find_parameters(&w, row, n);
        status = fill_cells(&w, row, n);
    }
    if (!status && !w.n_parameters)
        status = lm_error_set(
            err, LM_E_ARG,
            "no parameter is common to these rows: give all of them a batch, bytes or nodes");
    if (!status && f == EXTRAP_TEXT && title)
        fprintf(out, "# %s\n", title);
    if (!status && f == EXTRAP_TEXT)
        status = write_text(&w, out);
    else if (!status)
        write_json_lines(&w, out);
    names_free(&w.by_region);
    arena_free(w.arena);
    return status;
}
