/* Fit of collectives. fabric.h has the formulas, collective.h the rules. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "fabric/collective_cache.h"
#include "solve/folds.h"

#define LEAST_ROWS  2
#define FOLDS       8    /* maximum number of node counts left out, the largest ones */
#define GAIN        0.9  /* two planes must reduce the error to this share */
#define PIPE_SIZES  4    /* number of sizes needed for the pipeline's term */
#define MANY_PLACES 3    /* number of node counts needed for growth with nodes */
#define LOG2_SHARE  0.5  /* share of BASELINE_LOG2 in answers between nodes, ... */
#define LOG2_SIZES  4    /* ... if there are so many sizes ... */
#define LOG2_PLACES 2    /* ... and so many node counts, ... */
#define LOG2_KEEPS  0.97 /* ... unless planes alone reduce the held-out error below this share */
#define LOG2_THIN   0.8  /* the same with only MANY_PLACES node counts */

/* Kinds of fits: our answers, planes alone, or formulas of others. */
typedef enum fit_what { FIT_ANSWERS, FIT_PLANES, FIT_BASELINES } fit_what;

/* Parts of a formula. */
typedef struct candidate {
    unsigned columns;
    unsigned growing; /* columns that need MANY_PLACES node counts */
    size_t   planes;
    double   log2_share;
} candidate;

/* ---- which formula ---- */

static double place_of(const collective_call *a)
{
    return a->nodes > 1 ? (double)a->nodes : (double)a->devices;
}

/* Numbers of different sizes, places (nodes; within a node, devices) and devices. */
typedef struct spread {
    size_t  sizes, places, devices;
    double *place; /* ascending */
} spread;

static lm_status spread_of(const fit_row *row, size_t n, spread *out, lm_error *err)
{
    double *size = malloc((n + 1) * sizeof *size), *device = malloc((n + 1) * sizeof *device);

    out->place = malloc((n + 1) * sizeof *out->place);
    if (!size || !device || !out->place) {
        free_all(size, device, out->place);
        return no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        size[i]       = row[i].of.bytes;
        device[i]     = (double)row[i].of.devices;
        out->place[i] = place_of(&row[i].of);
    }
    out->sizes   = planes_distinct(size, n);
    out->devices = planes_distinct(device, n);
    out->places  = planes_distinct(out->place, n);
    free(size);
    free(device);
    return LM_OK;
}

/* Columns that the rows can determine. The start differs from steps only with several node counts,
 * and from bytes only with several sizes. Bytes of a ring differ from bytes of every step only with
 * several node counts. */
static unsigned usual_columns(const fit_row *row, const spread *s,
                              const collective_algorithm_type *known)
{
    const bool multi   = row[0].of.nodes > 1;
    const bool hop     = collective_types[row[0].of.kind].hop; /* a hop has one step: the start */
    unsigned   columns = COLUMN(SYNC_STEPS);

    if (known->all_bytes)
        columns |= COLUMN(SYNC_TREE_BYTES);
    if (!known->all_bytes || s->places > 1)
        columns |= COLUMN(SYNC_BYTES) | (multi ? COLUMN(SYNC_BYTES_TWO) : 0);
    if (s->places > 1 && s->sizes > 1 && !hop)
        columns |= COLUMN(SYNC_START);
    if (s->sizes >= PIPE_SIZES)
        columns |= COLUMN(SYNC_PIPELINE);
    if (multi && s->devices > 1)
        columns |= COLUMN(SYNC_DEVICES) | COLUMN(SYNC_RAIL_BYTES);
    return columns;
}

static lm_status fit_baseline(const fit_row *row, size_t n, sync_baseline b,
                              double price[BASELINE_COLUMNS], lm_error *err)
{
    double   *x       = malloc((n * BASELINE_COLUMNS + 1) * sizeof *x);
    double   *seconds = malloc((n + 1) * sizeof *seconds);
    size_t    columns = 0;
    lm_status status  = x && seconds ? LM_OK : no_memory(err);

    for (size_t i = 0; i < n && !status; i++) {
        double value[BASELINE_COLUMNS];

        columns = sync_baseline_columns(b, &row[i].of, value);
        memcpy(x + i * columns, value, columns * sizeof *x);
        seconds[i] = row[i].seconds;
    }
    if (!status)
        status = planes_solve(x, seconds, n, columns, price, err);
    free(x);
    free(seconds);
    return status;
}

/* Are there fewer than MANY_PLACES numbers of nodes? */
static bool few_places(const fit_row *row, size_t n)
{
    double seen[MANY_PLACES];
    size_t found = 0;

    for (size_t i = 0; i < n && found < MANY_PLACES; i++) {
        size_t k = 0;

        while (k < found && seen[k] != place_of(&row[i].of))
            k++;
        if (k == found)
            seen[found++] = place_of(&row[i].of);
    }
    return found < MANY_PLACES;
}

static lm_status fit_candidate(fit_row *row, size_t n, const candidate *c, fabric_model *out,
                               lm_error *err)
{
    const unsigned columns = few_places(row, n) ? c->columns & ~c->growing : c->columns;
    lm_status      status;

    out->n_planes = 1;
    status        = planes_fit_one(row, n, columns, &out->plane[0], err);
    if (!status && c->planes > 1)
        status = planes_fit_two(row, n, columns, out, err);
    if (!status && c->log2_share > 0)
        status = fit_baseline(row, n, BASELINE_LOG2, out->baseline[BASELINE_LOG2], err);
    out->log2_share = c->log2_share;
    return status;
}

/* Held-out errors over node counts: of one plane and of two, alone and with BASELINE_LOG2's
 * share. */
typedef struct leaving {
    const fit_row *row;
    fit_row       *rest; /* scratch */
    candidate      of;   /* planes and share vary */
    bool           ring, shares;
    double         error[2][2]; /* [planes - 1][with share]: sums of mean relative errors */
} leaving;

/* Mean relative error of the rows that are left out. */
static double error_of(const leaving *l, const fold_turn *t, const fabric_model *m)
{
    double sum  = 0;
    size_t left = 0;

    for (size_t i = 0; i < t->by->rows; i++)
        if (fold_out(t, i)) {
            sum += fabs(fabric_seconds(m, &l->row[i].of) / l->row[i].seconds - 1);
            left++;
        }
    return sum / (double)left;
}

/* Errors on one node count, by fits to the others. */
static lm_status errors_without(void *context, const fold_turn *t, lm_error *err)
{
    leaving     *l      = context;
    const size_t kept   = folds_copy(t, true, l->row, sizeof *l->row, l->rest);
    lm_status    status = LM_OK;

    for (size_t planes = 1; planes <= 2 && !status; planes++) {
        fabric_model m = { .kind = l->row[0].of.kind, .ring = l->ring };

        l->of.planes     = planes;
        l->of.log2_share = l->shares ? LOG2_SHARE : 0;
        if ((status = fit_candidate(l->rest, kept, &l->of, &m, err)))
            break;
        for (size_t shared = 0; shared <= l->shares; shared++) {
            m.log2_share = shared ? LOG2_SHARE : 0;
            l->error[planes - 1][shared] += error_of(l, t, &m);
        }
    }
    return status;
}

/* Leaves the largest node counts out in turn, never the smallest. */
static lm_status held_out_errors(const fit_row *row, size_t n, const spread *s, leaving *l,
                                 lm_error *err)
{
    size_t     *of     = malloc((n + 1) * sizeof *of);
    const folds by     = { .of = of, .rows = n, .n = FOLDS };
    lm_status   status = LM_OK;

    l->row  = row;
    l->rest = malloc((n + 1) * sizeof *l->rest);
    if (!of || !l->rest)
        status = no_memory(err);
    for (size_t i = 0; i < n && !status; i++) {
        of[i] = FOLD_ALWAYS;
        for (size_t k = 1; k <= FOLDS && k < s->places; k++)
            if (place_of(&row[i].of) == s->place[s->places - k])
                of[i] = k - 1;
    }
    if (!status)
        status = folds_leave_out(&by, errors_without, l, err);
    free(of);
    free(l->rest);
    return status;
}

/* Columns that need three node counts and that a ring's bytes do not replace. */
static unsigned growing_columns(const spread *s, const collective_algorithm_type *known)
{
    unsigned columns = s->sizes >= PIPE_SIZES ? COLUMN(SYNC_CHUNKS) : 0;

    return known->ring_bytes ? columns : columns | COLUMN(SYNC_TREE_BYTES);
}

/* May half of an answer be BASELINE_LOG2's? */
static bool may_share(const fit_row *row, const spread *s)
{
    return row[0].of.nodes > 1 && s->places >= LOG2_PLACES && s->sizes >= LOG2_SIZES &&
           !collective_types[row[0].of.kind].hop;
}

/* Chooses one plane or two, and whether half of an answer is BASELINE_LOG2's, by errors on node
 * counts left out. If none can be left out: one plane. It is alone for algorithms that send as few
 * bytes as a ring in log2 N steps. */
static lm_status choose(const fit_row *row, size_t n, const spread *s,
                        const collective_algorithm_type *known, fit_what what, candidate *out,
                        lm_error *err)
{
    const unsigned usual   = usual_columns(row, s, known);
    const bool     many    = s->places >= MANY_PLACES;
    const unsigned growing = many ? growing_columns(s, known) & ~usual : 0;
    leaving        l = { .ring = known->ring, .shares = what != FIT_PLANES && may_share(row, s) };
    bool           alone = known->ring_bytes && !known->ring;

    *out = (candidate){ .columns = usual | growing, .growing = growing, .planes = 1 };
    l.of = *out;
    if (many) {
        const double    share  = s->places > MANY_PLACES ? 1 : LOG2_THIN;
        const lm_status status = held_out_errors(row, n, s, &l, err);

        if (status)
            return status;
        out->planes += l.error[1][0] < GAIN * l.error[0][0];
        alone = l.error[out->planes - 1][0] < share * l.error[out->planes - 1][1];
    }
    out->log2_share = l.shares && !alone ? LOG2_SHARE : 0;
    return LM_OK;
}

/* ---- a fabric ---- */

/* Fits baselines, which have whole seconds only. BASELINE_LOG2 is also a part of our own
 * answers. */
static lm_status fit_baselines(const fit_row *row, size_t n, fabric_model *out, lm_error *err)
{
    lm_status status = LM_OK;

    for (sync_baseline b = 0; b < N_SYNC_BASELINES && !status; b++) {
        const bool known = collective_types[row[0].of.kind].sums || b == BASELINE_LOG2;

        for (size_t k = 0; k < BASELINE_COLUMNS && !known; k++)
            out->baseline[b][k] = NAN;
        if (known)
            status = fit_baseline(row, n, b, out->baseline[b], err);
    }
    return status;
}

static void widen(sync_range *r, double value)
{
    r->low  = fmin(r->low, value);
    r->high = fmax(r->high, value);
}

static lm_status judge(const fit_row *row, size_t n, fabric_model *out, lm_error *err)
{
    double *predicted = malloc((n + 1) * sizeof *predicted);
    double *measured  = malloc((n + 1) * sizeof *measured);

    if (predicted && measured) {
        out->bytes = out->nodes = out->devices = (sync_range){ HUGE_VAL, -HUGE_VAL };
        for (size_t i = 0; i < n; i++) {
            predicted[i] = fabric_seconds(out, &row[i].of);
            measured[i]  = row[i].seconds;
            widen(&out->bytes, row[i].of.bytes);
            widen(&out->nodes, (double)row[i].of.nodes);
            widen(&out->devices, (double)row[i].of.devices);
        }
        out->errors = stats_compare(predicted, measured, n);
    }
    free(predicted);
    free(measured);
    return predicted && measured ? LM_OK : no_memory(err);
}

static lm_status fit_fabric(fit_row *row, size_t n, const collective_algorithm_type *known,
                            fit_what what, fabric_model *out, lm_error *err)
{
    fabric_model m      = { .kind = row[0].of.kind, .rows = n, .ring = known->ring };
    spread       s      = { .sizes = 0 };
    candidate    c      = { 0 };
    lm_status    status = spread_of(row, n, &s, err);

    if (status)
        return status;
    if (what != FIT_BASELINES)
        status = choose(row, n, &s, known, what, &c, err);
    if (!status && what != FIT_BASELINES)
        status = fit_candidate(row, n, &c, &m, err);
    if (!status && what != FIT_BASELINES && row[0].of.nodes < 2 && m.n_planes < 2)
        status = planes_fit_cache(row, n, c.columns, &m, err);
    if (!status)
        status = fit_baselines(row, n, &m, err);
    if (!status)
        status = judge(row, n, &m, err);
    m.one_count = s.places < 2;
    free(s.place);
    if (!status)
        *out = m;
    return status;
}

/* ---- all ---- */

static lm_status fit_algorithm(const collective_time *row, size_t n, fit_what what,
                               algorithm_model *out, lm_error *err)
{
    const collective_algorithm_type *known  = collective_algorithm_known(out->kind, out->name);
    fit_row                         *rows   = malloc((n + 1) * sizeof *rows);
    lm_status                        status = rows ? LM_OK : no_memory(err);

    for (fabric f = 0; f < N_FABRICS && !status; f++) {
        size_t kept = 0;

        for (size_t i = 0; i < n; i++) {
            char name[ALGORITHM_NAME];

            if (row[i].of.kind != out->kind || fabric_of(&row[i].of) != f ||
                strcmp(algorithm_name(row[i].algorithm, name), out->name) != 0)
                continue;
            rows[kept] = (fit_row){ .seconds = row[i].seconds, .of = row[i].of };
            sync_columns(&row[i].of, known->ring, 0, rows[kept++].x);
        }
        if (kept >= LEAST_ROWS)
            status = fit_fabric(rows, kept, known, what, &out->of[f], err);
    }
    free(rows);
    return status;
}

static lm_status check_row(const collective_time *r, lm_error *err)
{
    if (r->of.bytes > 0 && isfinite(r->of.bytes) && r->seconds > 0 && isfinite(r->seconds) &&
        r->of.nodes > 0 && r->of.devices > 0 && (r->of.nodes > 1 || r->of.devices > 1))
        return LM_OK;
    return lm_error_set(err, LM_E_ARG, "%s of %g bytes on %lld nodes of %lld devices in %g s",
                        collective_types[r->of.kind].one, r->of.bytes, (long long)r->of.nodes,
                        (long long)r->of.devices, r->seconds);
}

/* Lists algorithms by kind. The library's own choice comes first, because it answers for all; the
 * others follow in the order of the rows. */
static bool name_algorithms(const collective_time *row, size_t n, collective_model *m)
{
    for (size_t pass = 0; pass < 2 * N_COLLECTIVE_KINDS; pass++)
        for (size_t i = 0; i < n; i++) {
            const collective_kind kind = (collective_kind)(pass / 2);
            algorithm_model      *more;

            if (row[i].of.kind != kind ||
                (strcmp(row[i].algorithm, ALGORITHM_DEFAULT) != 0) != (pass % 2 > 0) ||
                collective_algorithm(m, kind, row[i].algorithm))
                continue;
            if (!(more = realloc(m->algorithm, (m->n + 1) * sizeof *more)))
                return false;
            m->algorithm = more;
            more[m->n]   = (algorithm_model){ .kind = kind };
            algorithm_name(row[i].algorithm, more[m->n++].name);
        }
    return true;
}

/* Removes algorithms without a fit. */
static void drop_empty(collective_model *m)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->n; i++)
        if (m->algorithm[i].of[FABRIC_ONE].rows || m->algorithm[i].of[FABRIC_MULTI].rows)
            m->algorithm[kept++] = m->algorithm[i];
    m->n = kept;
}

static lm_status fit_all(const collective_time *row, size_t n, fit_what what,
                         collective_model **out, lm_error *err)
{
    collective_model *m      = calloc(1, sizeof *m);
    lm_status         status = m ? LM_OK : no_memory(err);

    for (size_t i = 0; i < n && !status; i++)
        status = check_row(&row[i], err);
    if (!status && !name_algorithms(row, n, m))
        status = no_memory(err);
    for (size_t k = 0; !status && k < m->n; k++)
        status = fit_algorithm(row, n, what, &m->algorithm[k], err);
    if (status) {
        collective_free(m);
        return status;
    }
    drop_empty(m);
    *out = m;
    return LM_OK;
}

lm_status collective_fit(const collective_time *row, size_t n, collective_model **out,
                         lm_error *err)
{
    return fit_all(row, n, FIT_ANSWERS, out, err);
}

lm_status collective_fit_planes(const collective_time *row, size_t n, collective_model **out,
                                lm_error *err)
{
    return fit_all(row, n, FIT_PLANES, out, err);
}

lm_status collective_fit_baselines(const collective_time *row, size_t n, collective_model **out,
                                   lm_error *err)
{
    return fit_all(row, n, FIT_BASELINES, out, err);
}
