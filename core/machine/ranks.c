/* Sections on several ranks: prices of collectives, overlap, slowdown of ranks on one host. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "machine/sections.h"

/* ---- [KIND.ALGORITHM.one], [... .multi] ---- */

#define SECOND "second."

static const key fabric_keys[] = {
    { KEY("rows", KEY_COUNT, fabric_model, rows), .least = 1, .needed = true },
    { KEY("mape_percent", KEY_REAL, fabric_model, errors.mape), .scale = 100 },
    { KEY("bytes_range", KEY_RANGE, fabric_model, bytes), .needed = true },
    { KEY("nodes_range", KEY_RANGE, fabric_model, nodes), .needed = true },
    { KEY("devices_range", KEY_RANGE, fabric_model, devices), .needed = true },
    { KEY("ring", KEY_FLAG, fabric_model, ring) },
    { KEY("one_count", KEY_FLAG, fabric_model, one_count) },
    { KEY("cache", KEY_REAL, fabric_model, cache), .least = DBL_TRUE_MIN, .above = true,
      .range = "a number above 0" },
    { KEY("interval", KEY_RANGE, fabric_model, bounds.low), .above = true },
    { KEY("interval_groups", KEY_COUNT, fabric_model, bounds.groups), .above = true },
    { KEY("interval_per_octave", KEY_REAL, fabric_model, bounds.per_octave), .digits = 4,
      .least = 1, .above = true },
    { KEY("log2_share", KEY_REAL, fabric_model, log2_share), .most = 1, .above = true },
};

/* Does a fabric have a column? Some belong to all-reduces between nodes, one to those within a
 * node. */
static bool has_column(fabric f, sync_column c)
{
    const bool between = c == SYNC_BYTES_TWO || c == SYNC_DEVICES || c == SYNC_RAIL_BYTES;

    return f == FABRIC_MULTI ? c != SYNC_SPILLED_BYTES : !between;
}

static void price_both(record *r, const char *prefix, const char *name, const char *unit,
                       bool needed, double *price)
{
    char all[80], per[40];

    snprintf(all, sizeof all, "%s%s", prefix, name);
    snprintf(per, sizeof per, "s/%s", unit);
    record_key(r, (key){ .name = all, .kind = KEY_REAL, .unit = per, .needed = needed }, price);
}

/* Reads or writes a plane. Without a border there is no price beyond caches. */
static void plane_both(record *r, const char *prefix, collective_kind kind, fabric f,
                       const fabric_model *m, sync_plane *plane)
{
    for (sync_column c = 0; c < N_SYNC_COLUMNS; c++) {
        const bool used = c != SYNC_SPILLED_BYTES || m->cache > 0;

        if (has_column(f, c) && (used || !r->out))
            price_both(r, prefix, sync_column_name(c), sync_column_unit(c, kind), used,
                       &plane->price[c]);
    }
}

static bool has_second(const ini_section *s)
{
    for (size_t i = 0; i < s->n_pairs; i++)
        if (!strncmp(s->pair[i].key, SECOND, strlen(SECOND)))
            return true;
    return false;
}

static void check_upwards(record *r, const char *name, const sync_range *range)
{
    if (!r->status && !(range->low > 0 && range->high >= range->low) && !isnan(range->low))
        record_fail(r, record_take(r, name), LM_E_ARG, "%s: expected numbers above 0, upwards",
                    name);
}

static void fabric_both(record *r, collective_kind kind, fabric f, fabric_model *m)
{
    record_note(r,
                "%s: relative least squares, non-negative, Huber 0.3%s; then formulas of others, "
                "by name",
                f == FABRIC_ONE ? "within a node" : "between nodes",
                m->n_planes > 1 ? "; the cheaper of two planes" : "");
    RECORD_KEYS(r, fabric_keys, m);
    if (!r->out) {
        m->errors.n = m->rows;
        m->n_planes = has_second(r->section) ? 2 : 1;
        check_upwards(r, "bytes_range", &m->bytes);
        check_upwards(r, "nodes_range", &m->nodes);
        check_upwards(r, "devices_range", &m->devices);
    }
    for (size_t k = 0; k < m->n_planes; k++)
        plane_both(r, k ? SECOND : "", kind, f, m, &m->plane[k]);
    for (sync_baseline b = 0; b < N_SYNC_BASELINES; b++) {
        const char *name, *unit;
        char        prefix[40];

        snprintf(prefix, sizeof prefix, "%s.", sync_baseline_name(b));
        for (size_t k = 0; (name = sync_baseline_column(b, k, &unit)); k++)
            price_both(r, prefix, name, unit, m->log2_share > 0 && b == BASELINE_LOG2,
                       &m->baseline[b][k]);
    }
}

/* Finds or adds the algorithm of a section. */
static algorithm_model *algorithm_of(record *r, calibration *cal, collective_kind kind,
                                     const char *name)
{
    collective_model *m = cal->collectives = section_room(r, cal->collectives, sizeof *m);
    algorithm_model  *more;

    for (size_t i = 0; m && i < m->n; i++)
        if (m->algorithm[i].kind == kind && !strcmp(m->algorithm[i].name, name))
            return &m->algorithm[i];
    if (!m || !(more = realloc(m->algorithm, (m->n + 1) * sizeof *more))) {
        r->status = no_memory(r->err);
        return NULL;
    }
    m->algorithm = more;
    more[m->n]   = (algorithm_model){ .kind = kind };
    algorithm_name(name, more[m->n].name);
    return &more[m->n++];
}

static fabric_model fabric_unknown(void)
{
    fabric_model m = { .bytes   = { NAN, NAN },
                       .nodes   = { NAN, NAN },
                       .devices = { NAN, NAN },
                       .errors  = { 0, NAN, NAN, NAN, NAN, NAN } };

    for (sync_baseline b = 0; b < N_SYNC_BASELINES; b++)
        for (size_t k = 0; k < BASELINE_COLUMNS; k++)
            m.baseline[b][k] = NAN;
    return m;
}

static void write_fabrics(record *r, collective_model *m)
{
    char star[SECTION_STAR];

    r->name = "*";
    for (size_t i = 0; i < m->n; i++)
        for (fabric f = 0; f < N_FABRICS; f++)
            if (m->algorithm[i].of[f].rows) {
                snprintf(star, sizeof star, "%s.%s.%s", collective_types[m->algorithm[i].kind].name,
                         m->algorithm[i].name, fabric_name(f));
                record_begin(r, star);
                fabric_both(r, m->algorithm[i].kind, f, &m->algorithm[i].of[f]);
            }
}

/* "allreduce.default.multi" */
void collectives_both(record *r, calibration *cal, const char *star)
{
    const char      *first = strchr(star, '.'), *dot = strrchr(star, '.');
    const size_t     n = dot > first ? (size_t)(dot - first) - 1 : 0;
    char             kind_name[SECTION_STAR], name[ALGORITHM_NAME], plain[ALGORITHM_NAME];
    collective_kind  kind;
    fabric           f = 0;
    algorithm_model *a;

    if (r->out && cal->collectives)
        write_fabrics(r, cal->collectives);
    if (r->out)
        return;
    while (f < N_FABRICS && strcmp(dot + 1, fabric_name(f)) != 0)
        f++;
    snprintf(kind_name, sizeof kind_name, "%.*s", (int)(first - star), star);
    if (f == N_FABRICS || n < 1 || n >= ALGORITHM_NAME) {
        record_fail(r, NULL, LM_E_NOTFOUND,
                    "[%s]: expected [%s.ALGORITHM.one] or [%s.ALGORITHM.multi]", r->section->name,
                    kind_name, kind_name);
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)n, first + 1);
    if (strcmp(algorithm_name(name, plain), name) != 0)
        record_fail(r, NULL, LM_E_SYNTAX,
                    "[%s]: an algorithm's name is of letters, digits, _ and -", r->section->name);
    record_failed(r, NULL, r->status ? LM_OK : collective_kind_parse(kind_name, &kind, r->err));
    if (r->status || !(a = algorithm_of(r, cal, kind, name)))
        return;
    a->of[f]      = fabric_unknown();
    a->of[f].kind = kind;
    fabric_both(r, kind, f, &a->of[f]);
}

/* ---- [overlap] ---- */

static const key overlap_keys[] = {
    { KEY("rows", KEY_COUNT, overlap_constants, rows) },
    { KEY("spreads", KEY_COUNT, overlap_constants, spreads) },
    { KEY("slowdown", KEY_REAL, overlap_constants, slowdown), .unit = "s/s", .needed = true },
    { KEY("stretch", KEY_REAL, overlap_constants, stretch), .unit = "s/s", .needed = true },
    { KEY("surcharge", KEY_REAL, overlap_constants, surcharge), .unit = "s/s", .above = true },
    { KEY("cold", KEY_REAL, overlap_constants, cold), .unit = "byte/byte", .most = 1,
      .above = true },
    { KEY("latency", KEY_REAL, overlap_constants, latency), .unit = "s", .above = true },
    { KEY("lag", KEY_REAL, overlap_constants, lag), .unit = "s/s", .above = true },
    { KEY("copy", KEY_REAL, overlap_constants, copy), .unit = "s/byte", .needed = true },
    { KEY("straggler", KEY_REAL, overlap_constants, straggler), .unit = "s/s", .needed = true },
};

void overlap_both(record *r, calibration *cal, const char *star)
{
    if (r->out && !cal->overlapping.rows && !cal->overlapping.spreads)
        return;
    record_begin(r, star);
    RECORD_KEYS(r, overlap_keys, &cal->overlapping);
}

/* ---- [curve.N] ---- */

static const key curve_keys[] = {
    { KEY("rows", KEY_COUNT, job_curve, rows), .least = JOB_CURVE_LEAST, .needed = true },
    { KEY("mape_percent", KEY_REAL, job_curve, mape), .scale = 100, .needed = true },
    { KEY("step", KEY_REAL, job_curve, step), .unit = "s", .needed = true },
    { KEY("sample", KEY_REAL, job_curve, sample), .unit = "s/sample", .needed = true },
    { KEY("within", KEY_REAL, job_curve, within), .unit = "s", .needed = true },
    { KEY("between", KEY_REAL, job_curve, between), .unit = "s", .needed = true },
    { KEY("least_batch", KEY_REAL, job_curve, least_batch), .least = 1, .needed = true },
    { KEY("most_batch", KEY_REAL, job_curve, most_batch), .least = 1, .needed = true },
    { KEY("hosts", KEY_REAL, job_curve, hosts), .least = 1, .needed = true },
    { KEY("devices", KEY_REAL, job_curve, devices), .least = 1, .needed = true },
    { KEY("ranks", KEY_REAL, job_curve, ranks), .least = 2, .needed = true },
};

/* Without it each step was of one micro-step. */
static const key micro_key = { KEY("micro_steps", KEY_RANGE, job_curve, least_micro), .least = 1 };

static void write_curves(record *r, job_curves *all)
{
    char number[SECTION_STAR];

    for (size_t i = 0; i < all->n; i++) {
        snprintf(number, sizeof number, "%zu", i + 1);
        record_begin(r, number);
        record_put(r, "network", "%s", all->of[i].network);
        record_put(r, "input", "%s", all->of[i].input);
        RECORD_KEYS(r, curve_keys, &all->of[i]);
        if (all->of[i].most_micro > 1)
            record_keys(r, &micro_key, 1, &all->of[i]);
    }
}

void curves_both(record *r, calibration *cal, const char *star)
{
    const ini_pair *name, *input;
    job_curve       c = { .least_micro = 1, .most_micro = 1 };

    (void)star;
    if (r->out) {
        write_curves(r, &cal->curves);
        return;
    }
    name  = record_take(r, "network");
    input = record_take(r, "input");
    RECORD_KEYS(r, curve_keys, &c);
    record_keys(r, &micro_key, 1, &c);
    check_upwards(r, "micro_steps", &(sync_range){ c.least_micro, c.most_micro });
    if (*r->missing) /* is said when the section ends */
        return;
    if (!name || !input)
        record_fail(r, NULL, LM_E_NOTFOUND, "[%s]: network or input is missing", r->section->name);
    else if (!(c.step + c.sample > 0))
        record_fail(r, NULL, LM_E_ARG, "[%s]: a device takes no time", r->section->name);
    else if (job_curves_find(&cal->curves, name->value, input->value))
        record_fail(r, NULL, LM_E_ARG, "[%s]: %s has two curves", r->section->name, name->value);
    else if (!r->status)
        r->status = job_curves_add(&cal->curves, name->value, input->value, &c, r->err);
}

/* ---- [layouts] ---- */

static const key laid_keys[] = {
    { KEY("rows", KEY_COUNT, laid_steps, rows), .least = 1, .needed = true },
    { KEY("mape_percent", KEY_REAL, laid_steps, mape), .scale = 100 },
    { KEY("interval", KEY_RANGE, laid_steps, low), .above = true },
    { KEY("interval_groups", KEY_COUNT, laid_steps, groups), .above = true },
    { KEY("kernels", KEY_FLAG, laid_steps, kernels), .above = true },
};

/* "network.1 = NAME" */
static void laid_networks(record *r, laid_steps *l)
{
    char            name[40];
    const ini_pair *p;

    for (size_t i = 0; r->out && i < l->n_networks; i++) {
        snprintf(name, sizeof name, "network.%zu", i + 1);
        record_put(r, name, "%s", l->network[i]);
    }
    for (size_t i = 1; !r->out && !r->status; i++) {
        snprintf(name, sizeof name, "network.%zu", i);
        if (!(p = record_take(r, name)))
            return;
        if (!laid_steps_add(l, p->value))
            r->status = no_memory(r->err);
    }
}

void laid_both(record *r, calibration *cal, const char *star)
{
    if (r->out && !cal->laid.rows)
        return;
    record_begin(r, star);
    RECORD_KEYS(r, laid_keys, &cal->laid);
    laid_networks(r, &cal->laid);
    check_upwards(r, "interval",
                  &(sync_range){ cal->laid.groups ? cal->laid.low : NAN,
                                 cal->laid.groups ? cal->laid.high : NAN });
}

/* ---- [layouts.factors] ---- */

static const key factor_keys[] = {
    { KEY("tokens", KEY_FLAG, laid_factors, tokens), .needed = true },
    { KEY("products", KEY_REAL, laid_factors, of[LAID_PRODUCTS]), .needed = true },
    { KEY("attention", KEY_REAL, laid_factors, of[LAID_ATTENTION]), .needed = true },
    { KEY("other_kernels", KEY_REAL, laid_factors, of[LAID_MOVES]), .needed = true },
    { KEY("update", KEY_REAL, laid_factors, of[LAID_UPDATE]), .needed = true },
    { KEY("start", KEY_REAL, laid_factors, start), .unit = "s/launch" },
    { KEY("others", KEY_REAL, laid_factors, others), .n = N_RESOURCES },
};

void laid_factors_both(record *r, calibration *cal, const char *star)
{
    if (r->out && !cal->by_steps.known)
        return;
    record_begin(r, star);
    if (!r->out)
        cal->by_steps = laid_factors_none;
    RECORD_KEYS(r, factor_keys, &cal->by_steps);
    cal->by_steps.known = true;
}

/* ---- [sharing.DEVICES] ---- */

static const key sharing_keys[] = {
    { KEY("rows", KEY_COUNT, sharing_at, rows), .least = 1, .needed = true },
    { KEY("forward", KEY_REAL, sharing_at, forward), .unit = "s/s", .least = 1 },
    { KEY("backward", KEY_REAL, sharing_at, backward), .unit = "s/s", .least = 1 },
    { KEY("update", KEY_REAL, sharing_at, update), .unit = "s/s", .least = 1 },
};

void sharing_both(record *r, calibration *cal, const char *star)
{
    sharing *s = &cal->shared;
    uint64_t devices;
    char     number[SECTION_STAR];

    for (size_t i = 0; i < s->n && r->out; i++) {
        snprintf(number, sizeof number, "%" PRId64, s->of[i].devices);
        record_begin(r, number);
        RECORD_KEYS(r, sharing_keys, &s->of[i]);
    }
    if (r->out)
        return;
    if (text_uint(star, &devices, r->err) || devices < 2 || devices > INT32_MAX ||
        (s->n && (int64_t)devices <= s->of[s->n - 1].devices))
        record_fail(r, NULL, LM_E_ARG,
                    "[%s]: expected a number of devices above 1 and those before it",
                    r->section->name);
    else if (s->n == SHARING_MOST)
        record_fail(r, NULL, LM_E_ARG, "[%s]: more than %d numbers of devices", r->section->name,
                    SHARING_MOST);
    if (r->status)
        return;
    s->of[s->n] =
        (sharing_at){ .devices = (int64_t)devices, .forward = NAN, .backward = NAN, .update = NAN };
    RECORD_KEYS(r, sharing_keys, &s->of[s->n++]);
}

/* ---- [latency] ---- */

static const key latency_keys[] = {
    { KEY("rows", KEY_COUNT, repeat_spread, rows), .least = 1, .needed = true },
    { KEY("spread", KEY_REAL, repeat_spread, sigma), .unit = "s/s", .needed = true },
};

void latency_both(record *r, calibration *cal, const char *star)
{
    if (r->out && !cal->latency.rows)
        return;
    record_begin(r, star);
    RECORD_KEYS(r, latency_keys, &cal->latency);
}
