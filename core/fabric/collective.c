/* Seconds of collectives, by models fitted to measurements. */
#include "fabric/collective.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

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

lm_status collective_join(collective_model **to, collective_model *from, lm_error *err)
{
    collective_model *m = *to;
    algorithm_model  *more;
    size_t            taken = 0;

    if (!m || !from || !(more = realloc(m->algorithm, (m->n + from->n) * sizeof *more))) {
        const bool failed = m && from;

        *to = m ? m : from;
        if (failed)
            collective_free(from);
        return failed ? no_memory(err) : LM_OK;
    }
    m->algorithm = more;
    for (size_t i = 0; i < from->n; i++)
        if (!collective_algorithm(&(collective_model){ more, m->n }, from->algorithm[i].kind, NULL))
            more[m->n + taken++] = from->algorithm[i];
    m->n += taken;
    collective_free(from);
    return LM_OK;
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

const algorithm_model *collective_algorithm(const collective_model *m, collective_kind kind,
                                            const char *name)
{
    char plain[ALGORITHM_NAME];

    if (name)
        algorithm_name(name, plain);
    for (size_t i = 0; m && i < m->n; i++)
        if (m->algorithm[i].kind == kind && (!name || !strcmp(m->algorithm[i].name, plain)))
            return &m->algorithm[i];
    return NULL;
}

/* ---- what answers ---- */

/* Reason for the lack of an answer. */
typedef enum refusal { NO_REFUSAL, NOT_FITTED, NO_ALGORITHM, NOT_WITHIN, NOT_BETWEEN } refusal;

/* Parts of an answer, to be added: up to two models of fabrics with their questions, and a link
 * between nodes. */
typedef struct route {
    struct {
        const fabric_model *by;
        collective_call     of;
    } part[2];
    size_t              n;
    const interconnect *link;
} route;

static void add_part(route *r, const fabric_model *by, collective_call of)
{
    r->part[r->n].by   = by;
    r->part[r->n++].of = of;
}

/* Kinds that may answer: the kind itself, a similar one, all-reduces. The first measured one is
 * taken. */
typedef struct alternatives {
    collective_kind kind[3];
} alternatives;

static alternatives alternatives_of(collective_kind kind)
{
    return (alternatives){ { kind, collective_types[kind].like, COLLECTIVE_ALLREDUCE } };
}

/* First algorithm of a kind, or of its substitute. */
static const algorithm_model *first_of(const collective_model *m, collective_kind kind)
{
    const alternatives     s  = alternatives_of(kind);
    const algorithm_model *by = NULL;

    for (size_t k = 0; k < sizeof s.kind / sizeof s.kind[0] && !by; k++)
        by = collective_algorithm(m, s.kind[k], NULL);
    return by;
}

static const fabric_model *measured_on(const collective_model *m, const char *algorithm,
                                       collective_kind kind, fabric f)
{
    const alternatives s    = alternatives_of(kind);
    const bool         only = algorithm && collective_algorithm(m, kind, NULL);

    for (size_t k = 0; k < (only ? 1 : sizeof s.kind / sizeof s.kind[0]); k++) {
        const algorithm_model *by = collective_algorithm(m, s.kind[k], algorithm);

        if (by && by->of[f].rows)
            return &by->of[f];
    }
    return NULL;
}

/* The part of a call between nodes; each node counts as one device. */
static collective_call between(const collective_call *a)
{
    collective_call of = *a;

    if (collective_types[a->kind].pieces)
        of.groups = a->devices * (a->groups > 1 ? a->groups : 1);
    of.devices = 1;
    return of;
}

/* The part of a call within a node. If ranks send pieces, only those for the node itself. */
static collective_call within(const collective_call *a)
{
    collective_call of = *a;

    if (collective_types[a->kind].pieces)
        of.bytes = a->bytes / (double)a->nodes;
    of.nodes  = 1;
    of.groups = 0;
    return of;
}

static refusal find_route(const collective_model *m, const char *algorithm,
                          const interconnect *link, const collective_call *a, route *r)
{
    const fabric_model *one   = measured_on(m, algorithm, a->kind, FABRIC_ONE);
    const fabric_model *multi = measured_on(m, algorithm, a->kind, FABRIC_MULTI);
    const bool          told  = link && link->bytes_per_second > 0;
    const bool          both  = a->devices > 1 && !collective_types[a->kind].hop;
    const bool          wide  = multi && multi->devices.high > 1;

    *r = (route){ .n = 0 };
    if (a->nodes == 1 && a->devices == 1)
        return NO_REFUSAL;
    if (!one && !multi && first_of(m, a->kind))
        return NO_ALGORITHM;
    if (!one && !multi && !(told && a->nodes > 1 && !both))
        return NOT_FITTED;
    if (a->nodes == 1) {
        if (!one)
            return NOT_WITHIN;
        add_part(r, one, *a);
        return NO_REFUSAL;
    }
    if (multi && (!both || wide || !one)) {
        add_part(r, multi, *a);
        return NO_REFUSAL;
    }
    if (!multi && !told)
        return NOT_BETWEEN;
    if (both && !one)
        return NOT_WITHIN;
    if (multi)
        add_part(r, multi, between(a));
    else
        r->link = link;
    if (both)
        add_part(r, one, within(a));
    return NO_REFUSAL;
}

static lm_status refuse(refusal why, const collective_model *m, const char *algorithm,
                        const collective_call *a, lm_error *err)
{
    const char *title = collective_types[a->kind].title;

    switch (why) {
    case NO_ALGORITHM:
        return lm_error_set(err, LM_E_NOTFOUND,
                            "no %s by the algorithm '%.40s' was measured; '%.40s' was", title,
                            algorithm, first_of(m, a->kind)->name);
    case NOT_WITHIN:
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%ss within a node were not measured: measure them on one node "
                            "of %lld devices, then fit again",
                            title, (long long)a->devices);
    case NOT_BETWEEN:
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "%ss between nodes were not measured, only within one: measure "
            "them on 2 nodes or more, predict one node (--devices-per-node %lld), "
            "or give the link between nodes, which is then assumed (--bandwidth 10Gbit/s)",
            title, (long long)(a->nodes * a->devices));
    case NO_REFUSAL: return LM_OK;
    case NOT_FITTED: break;
    }
    return lm_error_set(err, LM_E_NOTFOUND,
                        "no %s was measured: calibrate on 2 ranks or more (mpirun), "
                        "then fit again, or name the interconnect of the devices, or a similar one "
                        "(--interconnect pcie4, nvlink4)",
                        title);
}

/* Seconds of a byte that a node sends over the user's link: its sending devices use their own adapters. */
static double link_price(const interconnect *link, const collective_call *a)
{
    const double devices = (double)a->devices * (a->groups > 1 ? (double)a->groups : 1);
    const double own     = link->per_device > 0 ? devices * link->per_device : HUGE_VAL;

    return 1 / (LINK_EFFICIENCY * fmin(link->bytes_per_second, own));
}

/* Two regressors of the user's link with their prices: bytes here, messages in link_steps(). A pass
 * has log2 N messages; with pieces one to each other node; a hop has one. */
static double link_bytes(const interconnect *link, const collective_call *a, double *price)
{
    const collective_call of = between(a);

    *price = link_price(link, a);
    return collective_sent(&of);
}

static double link_steps(const interconnect *link, const collective_call *a, double *price)
{
    const collective_type *t     = &collective_types[a->kind];
    const double           nodes = (double)a->nodes;

    *price = link->latency;
    return t->passes * (t->hop ? 1 : t->pieces ? nodes - 1 : log2(nodes));
}

void collective_take_link(collective_model *m, const interconnect *link, size_t rows)
{
    const double bytes = 1 / (LINK_EFFICIENCY * link->bytes_per_second);

    for (size_t i = 0; m && i < m->n; i++) {
        fabric_model *f = &m->algorithm[i].of[FABRIC_MULTI];

        if (m->algorithm[i].kind != COLLECTIVE_ALLREDUCE || f->rows)
            continue;
        *f = (fabric_model){ .kind     = COLLECTIVE_ALLREDUCE,
                             .rows     = rows,
                             .n_planes = 1,
                             .bytes    = { 1, INT32_MAX },
                             .nodes    = { 2, LINK_NODES },
                             .devices  = { 1, 1 },
                             .errors   = { 0, NAN, NAN, NAN, NAN, NAN } };
        f->plane[0].price[SYNC_STEPS] =
            collective_types[COLLECTIVE_ALLREDUCE].passes * link->latency;
        f->plane[0].price[SYNC_BYTES] = f->plane[0].price[SYNC_BYTES_TWO] = bytes;
        for (sync_baseline b = 0; b < N_SYNC_BASELINES; b++)
            for (size_t k = 0; k < BASELINE_COLUMNS; k++)
                f->baseline[b][k] = NAN;
    }
}

static bool is_valid(const collective_call *a)
{
    return a->bytes >= 0 && isfinite(a->bytes) && a->nodes >= 1 && a->devices >= 1 &&
           a->groups >= 0;
}

static bool find_seconds_route(const collective_model *m, const char *algorithm,
                               const interconnect *link, const collective_call *a, route *r)
{
    return is_valid(a) && find_route(m, algorithm, link, a, r) == NO_REFUSAL;
}

double collective_seconds(const collective_model *m, const char *algorithm,
                          const interconnect *link, const collective_call *a)
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
                               const interconnect *link, const collective_call *a)
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
            any |= m->algorithm[k].kind == COLLECTIVE_ALLREDUCE && m->algorithm[k].of[f].cache > 0;
    return any;
}

double collective_baseline(const collective_model *m, const char *algorithm, sync_baseline b,
                           const collective_call *a)
{
    const algorithm_model *by = collective_algorithm(m, a->kind, algorithm);

    if (a->nodes == 1 && a->devices == 1)
        return 0;
    if (!by || !by->of[fabric_of(a)].rows)
        return NAN;
    return fabric_baseline(&by->of[fabric_of(a)], b, a);
}

/* ---- what it is made of ---- */

static void add_note(collective_answer *out, const char *what, double factor)
{
    if (out->n_beyond < COLLECTIVE_NOTES) {
        out->beyond[out->n_beyond].what     = what;
        out->beyond[out->n_beyond++].factor = factor;
    }
}

/* Factor by which a value is outside of a range; 1: inside. */
static double leaves(const sync_range *r, double value)
{
    if (value > r->high * COLLECTIVE_TOLERANCE)
        return value / r->high;
    if (value * COLLECTIVE_TOLERANCE < r->low)
        return value / r->low;
    return 1;
}

/* Adds the bounds of a part, as if all parts were at their lows, or at their highs. */
static void add_bounds(collective_answer *out, const fabric_model *by, double seconds, double ratio)
{
    const double octaves = fabs(log2(ratio));
    const double factor  = octaves > 0 ? pow(by->bounds.per_octave, octaves) : 1;

    out->low += by->bounds.groups ? seconds * by->bounds.low / factor : (double)NAN;
    out->high += by->bounds.groups ? seconds * by->bounds.high * factor : (double)NAN;
}

static double farther(double a, double b)
{
    return fabs(log2(a)) > fabs(log2(b)) ? a : b;
}

/* Notes values outside of a fabric's range. Returns the largest factor; 1: none. */
static double add_notes(collective_answer *out, const fabric_model *by, const collective_call *a)
{
    const bool   multi   = a->nodes > 1;
    const double groups  = multi && a->groups > 1 ? (double)a->groups : 1;
    const double bytes   = a->bytes > 0 ? leaves(&by->bytes, a->bytes) : 1;
    const double nodes   = multi ? leaves(&by->nodes, (double)a->nodes) : 1;
    const double devices = leaves(&by->devices, groups * (double)a->devices);

    if (bytes != 1)
        add_note(out, multi ? "bytes between nodes" : "bytes within a node", bytes);
    if (nodes != 1)
        add_note(out, "nodes", nodes);
    if (devices != 1)
        add_note(out, groups > 1 ? "devices of a node that send at once" : "devices of a node",
                 devices);
    if (by->one_count && (multi ? nodes : devices) != 1)
        add_note(out,
                 multi ? "measured on one number of nodes: how latency grows is assumed"
                       : "measured on one number of devices: how latency grows is assumed",
                 0);
    return farther(bytes, farther(nodes, devices));
}

static void add_share(collective_answer *out, collective_share s)
{
    s.seconds = s.price * s.count;
    if (s.seconds > 0) {
        out->share[out->n++] = s;
        out->seconds += s.seconds;
    }
}

/* Adds BASELINE_LOG2's part of an answer. */
static void answer_log2(const fabric_model *by, const collective_call *a, bool beyond,
                        collective_answer *out)
{
    static const char *const name[BASELINE_COLUMNS] = { "log2 start", "log2 doublings",
                                                        "log2 bytes" };
    double                   x[BASELINE_COLUMNS];

    fabric_log2_columns(by, a, x);
    for (size_t k = 0; k < BASELINE_COLUMNS; k++) {
        const char *unit = collective_types[a->kind].title;

        if (k)
            sync_baseline_column(BASELINE_LOG2, k, &unit);
        add_share(out, (collective_share){ .name  = name[k],
                                           .unit  = unit,
                                           .bound = k < 2 ? BOUND_LAUNCH : BOUND_TRAFFIC,
                                           .count = x[k],
                                           .price = by->log2_share * by->baseline[BASELINE_LOG2][k],
                                           .assumed = by->kind != a->kind,
                                           .beyond  = beyond });
    }
}

static void answer_part(const fabric_model *by, const collective_call *a, collective_answer *out)
{
    const sync_plane *p      = fabric_plane(by, a);
    const double      ratio  = add_notes(out, by, a);
    const bool        beyond = ratio != 1;
    const double      before = out->seconds;
    const bool        other  = by->kind != a->kind;
    double            x[N_SYNC_COLUMNS];

    if (other && out->stand_in != &collective_types[by->kind]) {
        out->stand_in = &collective_types[by->kind];
        add_note(out, out->stand_in->stands_in, 0);
    }
    out->assumed |= other;
    fabric_columns(by, a, x);
    for (sync_column c = 0; c < N_SYNC_COLUMNS; c++)
        add_share(out, (collective_share){ .name    = sync_column_name(c),
                                           .unit    = sync_column_unit(c, a->kind),
                                           .bound   = sync_column_bound(c),
                                           .count   = x[c],
                                           .price   = (1 - by->log2_share) * p->price[c],
                                           .assumed = other,
                                           .beyond  = beyond });
    if (by->log2_share > 0)
        answer_log2(by, a, beyond, out);
    add_bounds(out, by, out->seconds - before, ratio);
}

static void answer_link(const interconnect *link, const collective_call *a, collective_answer *out)
{
    collective_share bytes = {
        .name = "link_bytes", .unit = "byte", .bound = BOUND_TRAFFIC, .assumed = true
    };
    collective_share steps = {
        .name = "link_steps", .unit = "step", .bound = BOUND_LAUNCH, .assumed = true
    };

    bytes.count = link_bytes(link, a, &bytes.price);
    steps.count = link_steps(link, a, &steps.price);
    add_share(out, bytes);
    add_share(out, steps);
    add_note(out, "network between nodes as given", 0);
    out->assumed = true;
}

lm_status collective_ask(const collective_model *m, const char *algorithm, const interconnect *link,
                         const collective_call *a, collective_answer *out, lm_error *err)
{
    collective_answer found = { .seconds = 0 };
    route             r;
    refusal           why;

    if (!is_valid(a))
        return lm_error_set(err, LM_E_ARG,
                            "%s of %g bytes on %lld nodes of %lld devices, %lld groups at once: "
                            "expected bytes from 0 up, and one node and device or more",
                            collective_types[a->kind].one, a->bytes, (long long)a->nodes,
                            (long long)a->devices, (long long)(a->groups ? a->groups : 1));
    if (a->nodes > INT64_MAX / a->devices)
        return lm_error_set(err, LM_E_OVERFLOW, "%lld nodes of %lld devices do not fit 64 bits",
                            (long long)a->nodes, (long long)a->devices);
    if ((why = find_route(m, algorithm, link, a, &r)))
        return refuse(why, m, algorithm, a, err);
    for (size_t i = 0; i < r.n; i++)
        answer_part(r.part[i].by, &r.part[i].of, &found);
    if (r.link)
        answer_link(r.link, a, &found);
    if (found.assumed)
        found.low = found.high = NAN;
    *out = found;
    return LM_OK;
}
