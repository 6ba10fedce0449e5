/* Sections of a machine file: prices of all-reduces. */
#include "sync/collective_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"

#define PREFIX "allreduce."
#define SECOND "second."

/* Some are of all-reduces between nodes only, one of those within. */
static bool has_column(fabric f, sync_column c)
{
    const bool between = c == SYNC_BYTES_TWO || c == SYNC_DEVICES || c == SYNC_RAIL_BYTES;

    return f == FABRIC_MULTI ? c != SYNC_SPILLED_BYTES : !between;
}

/* ---- writing ------------------------------------------------------------------------------------
 */

static void write_range(FILE *out, const char *key, const sync_range *r)
{
    char low[40], high[40];

    fprintf(out, "%s = %s .. %s\n", key, text_exact(r->low, low, sizeof low),
            text_exact(r->high, high, sizeof high));
}

/* Nothing is spilled where there is no border. */
static bool in_use(fabric f, const fabric_model *m, sync_column c)
{
    return has_column(f, c) && (c != SYNC_SPILLED_BYTES || m->cache > 0);
}

static void write_plane(FILE *out, const char *prefix, fabric f, const fabric_model *m, size_t k)
{
    char value[40];

    for (sync_column c = 0; c < N_SYNC_COLUMNS; c++)
        if (in_use(f, m, c))
            fprintf(out, "%s%s = %s s/%s\n", prefix, sync_column_name(c),
                    text_exact(m->plane[k].price[c], value, sizeof value), sync_column_unit(c));
}

static void write_baselines(FILE *out, const fabric_model *m)
{
    for (sync_baseline b = 0; b < N_SYNC_BASELINES; b++) {
        const char *name, *unit;
        char        value[40];

        for (size_t k = 0; (name = sync_baseline_column(b, k, &unit)); k++)
            if (!isnan(m->baseline[b][k]))
                fprintf(out, "%s.%s = %s s/%s\n", sync_baseline_name(b), name,
                        text_exact(m->baseline[b][k], value, sizeof value), unit);
    }
}

static void write_fabric(FILE *out, const char *algorithm, fabric f, const fabric_model *m)
{
    char value[40];

    fprintf(out, "\n[" PREFIX "%s.%s]\n", algorithm, fabric_name(f));
    fprintf(out,
            "; %s: relative least squares, non-negative, Huber 0.3%s; then formulas of "
            "others, by name\n",
            f == FABRIC_ONE ? "within a node" : "between nodes",
            m->n_planes > 1 ? "; the cheaper of two planes" : "");
    fprintf(out, "rows = %zu\n", m->rows);
    if (!isnan(m->errors.mape))
        fprintf(out, "mape_percent = %s\n", text_exact(100 * m->errors.mape, value, sizeof value));
    write_range(out, "bytes_range", &m->bytes);
    write_range(out, "nodes_range", &m->nodes);
    write_range(out, "devices_range", &m->devices);
    fprintf(out, "ring = %s\none_count = %s\n", m->ring ? "yes" : "no",
            m->one_count ? "yes" : "no");
    if (m->cache > 0)
        fprintf(out, "cache = %s\n", text_exact(m->cache, value, sizeof value));
    write_plane(out, "", f, m, 0);
    if (m->n_planes > 1)
        write_plane(out, SECOND, f, m, 1);
    write_baselines(out, m);
}

void collective_file_write(FILE *out, const collective_model *m)
{
    for (size_t i = 0; i < m->n; i++)
        for (fabric f = 0; f < N_FABRICS; f++)
            if (m->algorithm[i].of[f].rows)
                write_fabric(out, m->algorithm[i].name, f, &m->algorithm[i].of[f]);
}

/* ---- reading ------------------------------------------------------------------------------------
 */

bool collective_file_owns(const ini_section *s)
{
    return !strncmp(s->name, PREFIX, strlen(PREFIX));
}

/* "1.2e-13 s/byte" */
static lm_status read_price(const ini_pair *p, const char *of, double *out, lm_error *err)
{
    char        copy[120];
    const char *unit;
    char       *space;
    double      price;
    lm_status   status;

    snprintf(copy, sizeof copy, "%s", p->value);
    space = strchr(copy, ' ');
    unit  = space ? text_trim(space) : "";
    if (strncmp(unit, "s/", 2) != 0 || strcmp(unit + 2, of) != 0)
        return lm_error_set(err, LM_E_SYNTAX, "%s: expected a number and 's/%s', found '%.60s'",
                            p->key, of, p->value);
    *space = '\0';
    if ((status = text_real(copy, &price, err))) {
        lm_error_prefix(err, "%s", p->key);
        return status;
    }
    if (price < 0)
        return lm_error_set(err, LM_E_ARG, "%s: a price below 0", p->key);
    *out = price;
    return LM_OK;
}

/* "65536 .. 1073741824" */
static lm_status read_range(const ini_pair *p, sync_range *out, lm_error *err)
{
    char       copy[120];
    char      *dots;
    sync_range r      = { NAN, NAN };
    lm_status  status = LM_OK;

    snprintf(copy, sizeof copy, "%s", p->value);
    if (!(dots = strstr(copy, "..")))
        return lm_error_set(err, LM_E_SYNTAX, "%s: expected a range as '2 .. 8', found '%.60s'",
                            p->key, p->value);
    *dots  = '\0';
    status = text_real(copy, &r.low, err);
    if (!status)
        status = text_real(dots + 2, &r.high, err);
    if (!status && !(r.low > 0 && r.high >= r.low))
        status = lm_error_set(err, LM_E_ARG, "expected numbers above 0, upwards");
    if (status) {
        lm_error_prefix(err, "%s", p->key);
        return status;
    }
    *out = r;
    return LM_OK;
}

/* What has been read of a section. */
typedef struct reading {
    fabric       f;
    fabric_model m;
    bool         seen[2][N_SYNC_COLUMNS];
} reading;

static lm_status read_column(reading *r, const ini_pair *p, bool *known, lm_error *err)
{
    const bool        second = !strncmp(p->key, SECOND, strlen(SECOND));
    const sync_column c      = sync_column_parse(p->key + (second ? strlen(SECOND) : 0));

    *known = c < N_SYNC_COLUMNS && has_column(r->f, c);
    if (!*known)
        return LM_OK;
    r->seen[second][c] = true;
    if (second)
        r->m.n_planes = 2;
    return read_price(p, sync_column_unit(c), &r->m.plane[second].price[c], err);
}

/* "hockney.messages" */
static lm_status read_baseline(reading *r, const ini_pair *p, bool *known, lm_error *err)
{
    const char   *dot = strchr(p->key, '.'), *name, *unit;
    char          text[40];
    sync_baseline b;

    *known = false;
    snprintf(text, sizeof text, "%.*s", dot ? (int)(dot - p->key) : 0, p->key);
    b = sync_baseline_parse(text);
    if (b == N_SYNC_BASELINES)
        return LM_OK;
    for (size_t k = 0; (name = sync_baseline_column(b, k, &unit)); k++)
        if (!strcmp(name, dot + 1)) {
            *known = true;
            return read_price(p, unit, &r->m.baseline[b][k], err);
        }
    return LM_OK;
}

static lm_status read_pair(reading *r, const ini_pair *p, lm_error *err)
{
    uint64_t  n;
    bool      known  = false;
    lm_status status = LM_OK;

    if (!strcmp(p->key, "rows")) {
        if ((status = text_uint(p->value, &n, err)) || n < 1)
            return status ? status : lm_error_set(err, LM_E_ARG, "rows: must be 1 or more");
        r->m.rows = r->m.errors.n = (size_t)n;
        return LM_OK;
    }
    if (!strcmp(p->key, "mape_percent")) {
        status = text_real(p->value, &r->m.errors.mape, err);
        r->m.errors.mape /= 100;
        return status;
    }
    if (!strcmp(p->key, "ring"))
        return text_bool(p->value, &r->m.ring, err);
    if (!strcmp(p->key, "one_count"))
        return text_bool(p->value, &r->m.one_count, err);
    if (!strcmp(p->key, "bytes_range"))
        return read_range(p, &r->m.bytes, err);
    if (!strcmp(p->key, "nodes_range"))
        return read_range(p, &r->m.nodes, err);
    if (!strcmp(p->key, "devices_range"))
        return read_range(p, &r->m.devices, err);
    if (!strcmp(p->key, "cache")) {
        if ((status = text_real(p->value, &r->m.cache, err)) || r->m.cache > 0)
            return status;
        return lm_error_set(err, LM_E_ARG, "cache: must be above 0");
    }
    status = read_column(r, p, &known, err);
    if (!known && !status)
        status = read_baseline(r, p, &known, err);
    if (!known && !status)
        status = lm_error_set(err, LM_E_NOTFOUND,
                              "'%s' is no key of all-reduces: written by another version, or by "
                              "hand? fit the observations again",
                              p->key);
    return status;
}

static lm_status missing(const ini_document *doc, const ini_section *s, const char *prefix,
                         const char *key, lm_error *err)
{
    return ini_fail(doc, err, s->line, LM_E_NOTFOUND,
                    "[%s]: '%s%s' is missing: cut short, or edited? fit the observations again",
                    s->name, prefix, key);
}

static lm_status check_complete(const ini_document *doc, const ini_section *s, const reading *r,
                                lm_error *err)
{
    if (!r->m.rows)
        return missing(doc, s, "", "rows", err);
    if (isnan(r->m.bytes.low))
        return missing(doc, s, "", "bytes_range", err);
    if (isnan(r->m.nodes.low))
        return missing(doc, s, "", "nodes_range", err);
    if (isnan(r->m.devices.low))
        return missing(doc, s, "", "devices_range", err);
    for (size_t k = 0; k < r->m.n_planes; k++)
        for (sync_column c = 0; c < N_SYNC_COLUMNS; c++)
            if (in_use(r->f, &r->m, c) && !r->seen[k][c])
                return missing(doc, s, k ? SECOND : "", sync_column_name(c), err);
    return LM_OK;
}

/* The algorithm of a section, made when it is the first of it. */
static algorithm_model *algorithm_of(collective_model *m, const char *name)
{
    algorithm_model *more;

    for (size_t i = 0; i < m->n; i++)
        if (!strcmp(m->algorithm[i].name, name))
            return &m->algorithm[i];
    if (!(more = realloc(m->algorithm, (m->n + 1) * sizeof *more)))
        return NULL;
    m->algorithm = more;
    more[m->n]   = (algorithm_model){ .name = "" };
    algorithm_name(name, more[m->n].name);
    return &more[m->n++];
}

/* "allreduce.default.multi" */
static lm_status read_name(const ini_document *doc, const ini_section *s, reading *r,
                           char name[ALGORITHM_NAME], lm_error *err)
{
    const char  *text = s->name + strlen(PREFIX), *dot = strrchr(text, '.');
    const size_t n = dot ? (size_t)(dot - text) : 0;
    char         plain[ALGORITHM_NAME];

    r->f = dot && !strcmp(dot + 1, fabric_name(FABRIC_ONE))     ? FABRIC_ONE
           : dot && !strcmp(dot + 1, fabric_name(FABRIC_MULTI)) ? FABRIC_MULTI
                                                                : N_FABRICS;
    if (r->f == N_FABRICS || n < 1 || n >= ALGORITHM_NAME)
        return ini_fail(doc, err, s->line, LM_E_NOTFOUND,
                        "[%s]: expected [allreduce.ALGORITHM.one] or [allreduce.ALGORITHM.multi]",
                        s->name);
    snprintf(name, ALGORITHM_NAME, "%.*s", (int)n, text);
    if (strcmp(algorithm_name(name, plain), name) != 0)
        return ini_fail(doc, err, s->line, LM_E_SYNTAX,
                        "[%s]: an algorithm's name is of letters, digits, _ and -", s->name);
    return LM_OK;
}

static lm_status put_fabric(const ini_document *doc, const ini_section *s, const char *name,
                            const reading *r, collective_model *m, lm_error *err)
{
    algorithm_model *to = algorithm_of(m, name);

    if (!to)
        return no_memory(err);
    if (to->of[r->f].rows)
        return ini_fail(doc, err, s->line, LM_E_SYNTAX, "[%s] is there twice", s->name);
    to->of[r->f] = r->m;
    return LM_OK;
}

lm_status collective_file_read(const ini_document *doc, const ini_section *s, collective_model *m,
                               lm_error *err)
{
    char      name[ALGORITHM_NAME];
    reading   r = { .m = { .n_planes = 1,
                           .bytes    = { NAN, NAN },
                           .nodes    = { NAN, NAN },
                           .devices  = { NAN, NAN },
                           .errors   = { 0, NAN, NAN, NAN, NAN, NAN } } };
    lm_status status;

    for (sync_baseline b = 0; b < N_SYNC_BASELINES; b++)
        for (size_t k = 0; k < BASELINE_COLUMNS; k++)
            r.m.baseline[b][k] = NAN;
    status = read_name(doc, s, &r, name, err);
    for (size_t i = 0; i < s->n_pairs && !status; i++)
        if ((status = read_pair(&r, &s->pair[i], err)))
            lm_error_prefix(err, "%s:%d", doc->path, s->pair[i].line);
    if (!status)
        status = check_complete(doc, s, &r, err);
    return status ? status : put_fabric(doc, s, name, &r, m, err);
}
