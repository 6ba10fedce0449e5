/* The sections of Extra-P's text files. */
#include "import/extrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "network/network.h"

#define PARAMETERS_MAX N_EXTRAP_COUNTS

typedef struct reader {
    log_file              log;
    const extrap_options *given;
    log_rows             *out;
    extrap_count          parameter[PARAMETERS_MAX];
    size_t                n_parameters;
    double               *coordinate; /* values of all points, n_parameters each */
    size_t                n_coordinates, room;
    extrap_series         series;
    size_t                n_data; /* DATA lines since the last REGION or METRIC */
    bool                  in_region, has_data;
    double               *value;
    size_t                value_room;
    lm_error             *err;
} reader;

static lm_status syntax(reader *r, const char *text)
{
    return lm_error_set(r->err, LM_E_SYNTAX, "%s", text);
}

static size_t n_points(const reader *r)
{
    return r->n_parameters ? r->n_coordinates / r->n_parameters : 0;
}

/* ---- PARAMETER ------------------------------------------------------------------------------- */

static lm_status take_parameter(reader *r, const char *word)
{
    const char  *ours = extrap_renamed(&r->given->parameters, word);
    extrap_count c;

    if (!extrap_count_find(ours, &c))
        return lm_error_set(r->err, LM_E_NOTFOUND,
                            "parameter '%.40s' is none of " EXTRAP_COUNTS_KNOWN
                            ": say what it is with --parameter '%.40s=ranks'",
                            word, word);
    for (size_t i = 0; i < r->n_parameters; i++)
        if (r->parameter[i] == c)
            return lm_error_set(r->err, LM_E_SYNTAX, "a second parameter for %s",
                                extrap_count_name(c));
    r->parameter[r->n_parameters++] = c; /* each meaning comes once, so there is room */
    return LM_OK;
}

static lm_status take_parameters(reader *r, char *text)
{
    lm_status status = LM_OK;

    if (r->n_coordinates)
        return syntax(r, "PARAMETER below POINTS: parameters stand first");
    for (char *word = strtok(text, " \t"); word && !status; word = strtok(NULL, " \t"))
        status = take_parameter(r, word);
    return status;
}

/* ---- POINTS ---------------------------------------------------------------------------------- */

static lm_status take_coordinate(reader *r, char **at)
{
    char        *end    = *at + strcspn(*at, " \t()");
    const char   behind = *end;
    double       value;
    int64_t      count;
    const size_t i = r->n_coordinates % r->n_parameters;
    lm_status    status;

    *end   = '\0';
    status = text_real(*at, &value, r->err);
    if (!status)
        status = extrap_count_of(value, extrap_count_name(r->parameter[i]), &count, r->err);
    *end = behind;
    *at  = end;
    if (status)
        return status;
    if (!array_grow(&r->coordinate, r->n_coordinates, &r->room, sizeof value))
        return no_memory(r->err);
    r->coordinate[r->n_coordinates++] = value;
    return LM_OK;
}

/* Checks that a point has one number for each parameter. */
static lm_status check_point(reader *r, size_t began)
{
    if (r->n_coordinates - began == r->n_parameters)
        return LM_OK;
    return lm_error_set(r->err, LM_E_SYNTAX, "a point of %zu number%s, there %s %zu parameter%s",
                        r->n_coordinates - began, r->n_coordinates - began == 1 ? "" : "s",
                        r->n_parameters == 1 ? "is" : "are", r->n_parameters,
                        r->n_parameters == 1 ? "" : "s");
}

/* ( 20 1 ) or ((20) (1)); with one parameter also 20 alone. */
static lm_status take_points(reader *r, char *at)
{
    int       depth  = 0;
    size_t    began  = r->n_coordinates;
    lm_status status = LM_OK;

    if (!r->n_parameters)
        return syntax(r, "POINTS without a PARAMETER above them");
    if (r->in_region)
        return syntax(r, "POINTS below a REGION: points stand before");
    while (!status && *(at += strspn(at, " \t"))) {
        if (*at == '(') {
            if (depth++ == 0)
                began = r->n_coordinates;
            at++;
        } else if (*at == ')') {
            if (depth-- == 0)
                return syntax(r, "a ) too many");
            at++;
            if (!depth)
                status = check_point(r, began);
        } else {
            began  = depth ? began : r->n_coordinates;
            status = take_coordinate(r, &at);
            if (!status && !depth)
                status = check_point(r, began);
        }
        if (!status && r->n_coordinates - began > r->n_parameters)
            status = check_point(r, began);
    }
    if (!status && depth)
        return syntax(r, "a ) is missing");
    return status;
}

/* ---- REGION, METRIC, DATA -------------------------------------------------------------------- */

/* Ends a REGION or METRIC, which must have as many DATA as points. */
static lm_status close_series(reader *r, bool region_ends)
{
    if (r->n_data && r->n_data != n_points(r))
        return lm_error_set(r->err, LM_E_SYNTAX,
                            "%zu line%s of DATA for %zu point%s: every point has one, in their "
                            "order",
                            r->n_data, r->n_data == 1 ? "" : "s", n_points(r),
                            n_points(r) == 1 ? "" : "s");
    if (region_ends && r->in_region && !r->has_data)
        return lm_error_set(r->err, LM_E_SYNTAX, "the REGION above, of line %d, has no DATA",
                            r->series.line);
    r->n_data = 0;
    return LM_OK;
}

static lm_status take_region(reader *r, char *text)
{
    lm_status   status = close_series(r, true);
    const char *kept;

    if (status)
        return status;
    if (!n_points(r))
        return syntax(r, "a REGION without POINTS above it");
    kept = log_keep(r->out, text, strlen(text));
    if (!kept)
        return no_memory(r->err);
    r->in_region   = true;
    r->has_data    = false;
    r->series.line = r->log.line;
    return extrap_region((char *)kept, r->given, &r->series, r->err);
}

static lm_status take_metric(reader *r, char *text)
{
    lm_status status = close_series(r, false);

    if (status)
        return status;
    if (!*text)
        return syntax(r, "a METRIC without a name");
    r->series.metric = log_keep(r->out, text, strlen(text));
    return r->series.metric ? LM_OK : no_memory(r->err);
}

static lm_status take_data(reader *r, char *text)
{
    extrap_series series = r->series;
    observation   row;
    size_t        n      = 0;
    bool          none   = false;
    lm_status     status = LM_OK;

    if (!r->in_region)
        return syntax(r, "DATA without a REGION above them");
    if (r->n_data == n_points(r)) {
        r->n_data++;
        return close_series(r, false);
    }
    for (char *word = strtok(text, " \t"); word && !status; word = strtok(NULL, " \t")) {
        double value = 0;

        status = text_real(word, &value, r->err);
        if (!array_grow(&r->value, n, &r->value_room, sizeof value))
            return no_memory(r->err);
        r->value[n++] = value;
    }
    if (status)
        return status;
    if (!n)
        return syntax(r, "DATA without a value");
    for (size_t i = 0; i < r->n_parameters; i++)
        series.said.count[r->parameter[i]] =
            (int64_t)r->coordinate[r->n_data * r->n_parameters + i];
    status = extrap_row(&series, r->given, r->value, n, &row, &none, r->err);
    if (!status && !none)
        status = log_add(r->out, &row, r->err);
    r->n_data++;
    r->has_data = true;
    return status;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static lm_status take_line(reader *r, char *line)
{
    static const struct {
        const char *tag;
        lm_status (*take)(reader *r, char *text);
    } sections[]      = { { "PARAMETER", take_parameters },
                          { "POINTS", take_points },
                          { "REGION", take_region },
                          { "METRIC", take_metric },
                          { "DATA", take_data } };
    char        *text = text_trim(line);
    const size_t n    = strcspn(text, " \t(");

    if (!*text || *text == '#')
        return LM_OK;
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        if (strlen(sections[i].tag) == n && !strncmp(text, sections[i].tag, n))
            return sections[i].take(r, text_trim(text + n));
    return lm_error_set(r->err, LM_E_SYNTAX,
                        "'%.40s' is none of PARAMETER, POINTS, REGION, METRIC, DATA", text);
}

/* Matches a whole word, or a part of a callpath. */
static bool has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);

    for (const char *at = text; n && (at = strstr(at, word)); at++)
        if ((at == text || strchr(" \t\n>", at[-1])) && strchr(" \t\r\n-", at[n]))
            return true;
    return false;
}

/* Checks that the file has the names that options give. */
static lm_status check_names(const extrap_options *given, const char *text, const char *path,
                             lm_error *err)
{
    const struct {
        const extrap_names *of;
        const char         *option;
    } all[] = { { &given->parameters, "--parameter" },
                { &given->regions, "--region" },
                { &given->metrics, "--metric" } };

    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        for (size_t i = 0; i < all[k].of->n; i++)
            if (!has_word(text, all[k].of->name[i].theirs))
                return lm_error_set(err, LM_E_ARG, "%s: no '%.40s' in it, which %s names", path,
                                    all[k].of->name[i].theirs, all[k].option);
    return LM_OK;
}

static lm_status read_lines(reader *r)
{
    lm_status status = check_names(r->given, r->log.text, r->log.path, r->err);
    char     *line;

    if (status)
        return status;
    while (!status && (line = log_line(&r->log)))
        status = take_line(r, line);
    if (!status)
        status = close_series(r, true);
    if (status) {
        lm_error_prefix(r->err, "%s:%d", r->log.path, r->log.line);
        return status;
    }
    return r->in_region
               ? LM_OK
               : lm_error_set(r->err, LM_E_SYNTAX,
                              "%s: no REGION in it: expected Extra-P's text format", r->log.path);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Place of a row: beside the others of its point, in the order of a step. */
typedef struct place {
    size_t      point, again; /* number among the times of this point and phase */
    observation row;
    size_t      was;
} place;

static int by_point(const void *a, const void *b)
{
    const place *x = a, *y = b;

    if (x->point != y->point)
        return x->point < y->point ? -1 : 1;
    if (x->again != y->again)
        return x->again < y->again ? -1 : 1;
    if (x->row.phase != y->row.phase)
        return x->row.phase < y->row.phase ? -1 : 1;
    return (x->was > y->was) - (x->was < y->was);
}

/* A point's number is that of its first row. */
static bool number_point(names *points, arena *a, place *p)
{
    char        key[1000];
    const char *kept;

    observation_key(&p->row, key, sizeof key - 40);
    snprintf(key + strlen(key), 40, " %lld", (long long)p->row.threads);
    p->point = names_find(points, key);
    if (p->point != NAMES_NONE)
        return true;
    p->point = p->was;
    kept     = arena_text(a, key, strlen(key));
    return kept && names_add(points, kept, p->was);
}

/* Files of Extra-P are sorted by phase, observations by point. */
static lm_status order_rows(log_rows *rows, size_t from, lm_error *err)
{
    const size_t n      = rows->n_rows - from;
    arena       *a      = arena_new();
    place       *p      = a ? arena_array(a, n ? n : 1, sizeof *p) : NULL;
    names        points = { 0 };
    bool         done   = p != NULL;

    for (size_t i = 0; i < n && done; i++) {
        p[i] = (place){ .row = rows->row[from + i], .was = i };
        done = number_point(&points, a, &p[i]);
    }
    if (done)
        qsort(p, n, sizeof *p, by_point); /* joins repetitions */
    for (size_t i = 1; i < n && done; i++)
        if (p[i].point == p[i - 1].point && p[i].row.phase == p[i - 1].row.phase)
            p[i].again = p[i - 1].again + 1;
    if (done)
        qsort(p, n, sizeof *p, by_point);
    for (size_t i = 0; i < n && done; i++)
        rows->row[from + i] = p[i].row;
    names_free(&points);
    arena_free(a);
    return done ? LM_OK : no_memory(err);
}

lm_status extrap_read(const char *path, const extrap_options *given, log_rows *out, lm_error *err)
{
    reader       r      = { .given = given, .out = out, .err = err };
    const size_t before = out->n_rows;
    lm_status    status = log_open(&r.log, path, err);

    if (!status)
        status = read_lines(&r);
    if (!status)
        status = order_rows(out, before, err);
    out->tool       = "Extra-P text format";
    out->statistics = "seconds: median of the file's repetitions";
    log_close(&r.log);
    free(r.coordinate);
    free(r.value);
    return status;
}

/* Checks that regions from row `from` on are networks that exist; a main() is none. */
static lm_status check_networks(const char *path, const registry *reg, const log_rows *rows,
                                size_t from, lm_error *err)
{
    names     seen   = { 0 };
    lm_status status = LM_OK;

    for (size_t i = from; i < rows->n_rows && !status; i++) {
        const observation *row = &rows->row[i];
        network           *net = NULL;

        if (row->kind != OBS_NETWORK || names_find(&seen, row->name) != NAMES_NONE)
            continue;
        if ((status = network_open(row->name, reg, NULL, &net, err)))
            lm_error_set(err, status,
                         "%s:%d: region '%.60s' is no network ('layermeter models' lists those by "
                         "name): say which it is with --region '%.60s=NETWORK'",
                         path, row->line, row->name, row->name);
        else if (!names_add(&seen, row->name, i))
            status = no_memory(err);
        network_free(net);
    }
    names_free(&seen);
    return status;
}

lm_status extrap_read_all(const word_list *paths, const extrap_options *given, const registry *reg,
                          log_rows *out, lm_error *err)
{
    for (size_t i = 0; i < paths->n; i++) {
        const size_t before = out->n_rows;
        lm_status    status = extrap_read(paths->at[i], given, out, err);

        if (status || (status = check_networks(paths->at[i], reg, out, before, err)))
            return status;
    }
    return out->n_rows ? LM_OK
                       : lm_error_set(err, LM_E_ARG, "%s: no time in it is above 0", paths->at[0]);
}
