/* Times of all-reduces, of what was measured. */
#include "sync/collective.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

collective_model *collective_copy(const collective_model *m)
{
    collective_model *copy = malloc(sizeof *copy);

    if (!copy)
        return NULL;
    *copy = (collective_model){ malloc((m->n + 1) * sizeof *m->algorithm), m->n };
    if (!copy->algorithm) {
        free(copy);
        return NULL;
    }
    if (m->n)
        memcpy(copy->algorithm, m->algorithm, m->n * sizeof *m->algorithm);
    return copy;
}

void collective_free(collective_model *m)
{
    if (!m)
        return;
    free(m->algorithm);
    free(m);
}

const char *algorithm_name(const char *text, char buffer[ALGORITHM_NAME])
{
    size_t n = 0;

    for (; text[n] && n + 1 < ALGORITHM_NAME; n++)
        buffer[n] = isalnum((unsigned char)text[n]) || text[n] == '-' ? text[n] : '_';
    buffer[n] = '\0';
    return buffer;
}

bool algorithm_beside(const char *name)
{
    return !strcmp(name, ALGORITHM_RING) || !strcmp(name, ALGORITHM_NONBLOCKING);
}

const algorithm_model *collective_algorithm(const collective_model *m, const char *name)
{
    char plain[ALGORITHM_NAME];

    if (name)
        algorithm_name(name, plain);
    for (size_t i = 0; m && i < m->n; i++)
        if (!name || !strcmp(m->algorithm[i].name, plain))
            return &m->algorithm[i];
    return NULL;
}

/* ---- what answers -------------------------------------------------------------------------------
 */

/* Why nothing does. */
typedef enum refusal { NO_REFUSAL, NOT_FITTED, NO_ALGORITHM, NOT_WITHIN, NOT_BETWEEN } refusal;

/* Parts that add up: a fabric's model and what it is asked, and a link between nodes. */
typedef struct route {
    struct {
        const fabric_model *by;
        allreduce           of;
    } part[2];
    size_t              n;
    const interconnect *link;
} route;

static void add_part(route *r, const fabric_model *by, int64_t nodes, int64_t devices, double bytes)
{
    r->part[r->n].by   = by;
    r->part[r->n++].of = (allreduce){ bytes, nodes, devices };
}

static refusal find_route(const collective_model *m, const char *algorithm,
                          const interconnect *link, const allreduce *a, route *r)
{
    const algorithm_model *by    = collective_algorithm(m, algorithm);
    const fabric_model    *one   = by && by->of[FABRIC_ONE].rows ? &by->of[FABRIC_ONE] : NULL;
    const fabric_model    *multi = by && by->of[FABRIC_MULTI].rows ? &by->of[FABRIC_MULTI] : NULL;
    const bool             told  = link && link->bytes_per_second > 0;

    *r = (route){ .n = 0 };
    if (a->nodes == 1 && a->devices == 1)
        return NO_REFUSAL;
    if (!by && m && m->n)
        return NO_ALGORITHM;
    if (!by && !(told && a->devices == 1))
        return NOT_FITTED;
    if (a->nodes == 1) {
        if (!one)
            return NOT_WITHIN;
        add_part(r, one, 1, a->devices, a->bytes);
        return NO_REFUSAL;
    }
    if (multi && (a->devices == 1 || multi->devices.high > 1 || !one)) {
        add_part(r, multi, a->nodes, a->devices, a->bytes);
        return NO_REFUSAL;
    }
    if (!multi && !told)
        return NOT_BETWEEN;
    if (!multi && a->devices > 1 && !one)
        return NOT_WITHIN;
    if (multi)
        add_part(r, multi, a->nodes, 1, a->bytes);
    else
        r->link = link;
    if (a->devices > 1)
        add_part(r, one, 1, a->devices, a->bytes);
    return NO_REFUSAL;
}

static lm_status refuse(refusal why, const collective_model *m, const char *algorithm,
                        const allreduce *a, lm_error *err)
{
    switch (why) {
    case NO_ALGORITHM:
        return lm_error_set(err, LM_E_NOTFOUND,
                            "no all-reduce by the algorithm '%.40s' was measured; '%.40s' was",
                            algorithm, m->algorithm[0].name);
    case NOT_WITHIN:
        return lm_error_set(err, LM_E_NOTFOUND,
                            "all-reduces within a node were not measured: measure them on one node "
                            "of %lld devices, then fit again",
                            (long long)a->devices);
    case NOT_BETWEEN:
        return lm_error_set(err, LM_E_NOTFOUND,
                            "all-reduces between nodes were not measured, only within one: measure "
                            "them on 2 nodes or more, ask for one node (--devices-per-node %lld), "
                            "or tell what connects nodes (--bandwidth 10Gbit/s), to be assumed",
                            (long long)(a->nodes * a->devices));
    case NO_REFUSAL: return LM_OK;
    case NOT_FITTED: break;
    }
    return lm_error_set(err, LM_E_NOTFOUND,
                        "no all-reduce was measured: calibrate on 2 ranks or more (mpirun), "
                        "then fit again");
}

/* The link's rate and latency, of one message to each of log2 N partners and back. */
static double link_bytes(const interconnect *link, const allreduce *a, double *price)
{
    *price = 1 / (LINK_EFFICIENCY * link->bytes_per_second);
    return 2 * (double)(a->nodes - 1) / (double)a->nodes * a->bytes;
}

static double link_steps(const interconnect *link, const allreduce *a, double *price)
{
    *price = link->latency;
    return 2 * log2((double)a->nodes);
}

static bool find_seconds_route(const collective_model *m, const char *algorithm,
                               const interconnect *link, const allreduce *a, route *r)
{
    return a->bytes >= 0 && a->nodes >= 1 && a->devices >= 1 &&
           find_route(m, algorithm, link, a, r) == NO_REFUSAL;
}

double collective_seconds(const collective_model *m, const char *algorithm,
                          const interconnect *link, const allreduce *a)
{
    double seconds = 0, price;
    route  r;

    if (!find_seconds_route(m, algorithm, link, a, &r))
        return NAN;
    for (size_t i = 0; i < r.n; i++)
        seconds += fabric_seconds(r.part[i].by, &r.part[i].of);
    if (r.link) {
        seconds += link_bytes(r.link, a, &price) * price;
        seconds += link_steps(r.link, a, &price) * price;
    }
    return seconds;
}

double collective_cold_seconds(const collective_model *m, const char *algorithm,
                               const interconnect *link, const allreduce *a)
{
    double seconds = 0;
    route  r;

    if (!find_seconds_route(m, algorithm, link, a, &r))
        return NAN;
    for (size_t i = 0; i < r.n; i++)
        seconds += fabric_cold_seconds(r.part[i].by, &r.part[i].of);
    return seconds;
}

bool collective_spills(const collective_model *m)
{
    bool any = false;

    for (size_t k = 0; m && k < m->n; k++)
        for (fabric f = 0; f < N_FABRICS; f++)
            any |= m->algorithm[k].of[f].cache > 0;
    return any;
}

double collective_baseline(const collective_model *m, const char *algorithm, sync_baseline b,
                           const allreduce *a)
{
    const algorithm_model *by = collective_algorithm(m, algorithm);

    if (a->nodes == 1 && a->devices == 1)
        return 0;
    if (!by || !by->of[fabric_of(a)].rows)
        return NAN;
    return fabric_baseline(&by->of[fabric_of(a)], b, a);
}

/* ---- what it is made of -------------------------------------------------------------------------
 */

static void add_note(allreduce_answer *out, const char *what, double factor)
{
    if (out->n_beyond < ALLREDUCE_NOTES) {
        out->beyond[out->n_beyond].what     = what;
        out->beyond[out->n_beyond++].factor = factor;
    }
}

/* By what factor a value leaves a range; 1: it does not. */
static double leaves(const sync_range *r, double value)
{
    if (value > r->high * ALLREDUCE_TOLERANCE)
        return value / r->high;
    if (value * ALLREDUCE_TOLERANCE < r->low)
        return value / r->low;
    return 1;
}

/* What leaves the range of a fabric; does anything? */
static bool add_notes(allreduce_answer *out, const fabric_model *by, const allreduce *a)
{
    const bool   multi   = a->nodes > 1;
    const double bytes   = a->bytes > 0 ? leaves(&by->bytes, a->bytes) : 1;
    const double nodes   = multi ? leaves(&by->nodes, (double)a->nodes) : 1;
    const double devices = leaves(&by->devices, (double)a->devices);

    if (bytes != 1)
        add_note(out, multi ? "bytes between nodes" : "bytes within a node", bytes);
    if (nodes != 1)
        add_note(out, "nodes", nodes);
    if (devices != 1)
        add_note(out, "devices of a node", devices);
    if (by->one_count && (multi ? nodes : devices) != 1)
        add_note(out,
                 multi ? "measured on one number of nodes: how latency grows is assumed"
                       : "measured on one number of devices: how latency grows is assumed",
                 0);
    return bytes != 1 || nodes != 1 || devices != 1;
}

static void add_share(allreduce_answer *out, allreduce_share s)
{
    s.seconds = s.price * s.count;
    if (s.seconds > 0) {
        out->share[out->n++] = s;
        out->seconds += s.seconds;
    }
}

static void answer_part(const fabric_model *by, const allreduce *a, allreduce_answer *out)
{
    const sync_plane *p      = fabric_plane(by, a);
    const bool        beyond = add_notes(out, by, a);
    double            x[N_SYNC_COLUMNS];

    sync_columns(a, by->ring, by->cache, x);
    for (sync_column c = 0; c < N_SYNC_COLUMNS; c++)
        add_share(out, (allreduce_share){ .name   = sync_column_name(c),
                                          .unit   = sync_column_unit(c),
                                          .bound  = sync_column_bound(c),
                                          .count  = x[c],
                                          .price  = p->price[c],
                                          .beyond = beyond });
}

static void answer_link(const interconnect *link, const allreduce *a, allreduce_answer *out)
{
    allreduce_share bytes = {
        .name = "link_bytes", .unit = "byte", .bound = BOUND_TRAFFIC, .assumed = true
    };
    allreduce_share steps = {
        .name = "link_steps", .unit = "step", .bound = BOUND_LAUNCH, .assumed = true
    };

    bytes.count = link_bytes(link, a, &bytes.price);
    steps.count = link_steps(link, a, &steps.price);
    add_share(out, bytes);
    add_share(out, steps);
    add_note(out, "network between nodes as told", 0);
    out->assumed = true;
}

lm_status collective_ask(const collective_model *m, const char *algorithm, const interconnect *link,
                         const allreduce *a, allreduce_answer *out, lm_error *err)
{
    allreduce_answer found = { .seconds = 0 };
    route            r;
    refusal          why;

    if (a->nodes < 1 || a->devices < 1 || !(a->bytes >= 0) || !isfinite(a->bytes))
        return lm_error_set(err, LM_E_ARG,
                            "an all-reduce of %g bytes on %lld nodes of %lld devices: expected "
                            "bytes from 0 up, and one node and device or more",
                            a->bytes, (long long)a->nodes, (long long)a->devices);
    if (a->nodes > INT64_MAX / a->devices)
        return lm_error_set(err, LM_E_OVERFLOW, "%lld nodes of %lld devices do not fit 64 bits",
                            (long long)a->nodes, (long long)a->devices);
    if ((why = find_route(m, algorithm, link, a, &r)))
        return refuse(why, m, algorithm, a, err);
    for (size_t i = 0; i < r.n; i++)
        answer_part(r.part[i].by, &r.part[i].of, &found);
    if (r.link)
        answer_link(r.link, a, &found);
    *out = found;
    return LM_OK;
}
