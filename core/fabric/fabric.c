/* Regressors of collectives. */
#include "fabric/fabric.h"

#include <math.h>
#include <string.h>

#include "fabric/scheme.h"

fabric fabric_of(const collective_call *a)
{
    return a->nodes > 1 ? FABRIC_MULTI : FABRIC_ONE;
}

const char *fabric_name(fabric f)
{
    return f == FABRIC_ONE ? "one" : "multi";
}

static const struct {
    const char *name, *unit;
    term_bound  bound;
} columns[N_SYNC_COLUMNS] = {
    [SYNC_START]         = { "start", NULL, BOUND_LAUNCH }, /* NULL: the kind's title */
    [SYNC_STEPS]         = { "steps", "step", BOUND_LAUNCH },
    [SYNC_BYTES]         = { "bytes", "byte", BOUND_TRAFFIC },
    [SYNC_BYTES_TWO]     = { "bytes_two", "byte", BOUND_TRAFFIC },
    [SYNC_PIPELINE]      = { "pipeline", "chunk", BOUND_LAUNCH },
    [SYNC_CHUNKS]        = { "chunks", "chunk", BOUND_LAUNCH },
    [SYNC_TREE_BYTES]    = { "tree_bytes", "byte", BOUND_TRAFFIC },
    [SYNC_DEVICES]       = { "devices", "device", BOUND_LAUNCH },
    [SYNC_RAIL_BYTES]    = { "rail_bytes", "byte", BOUND_TRAFFIC },
    [SYNC_SPILLED_BYTES] = { "spilled_bytes", "byte", BOUND_TRAFFIC },
};

const char *sync_column_name(sync_column c)
{
    return columns[c].name;
}

const char *sync_column_unit(sync_column c, collective_kind kind)
{
    return columns[c].unit ? columns[c].unit : collective_types[kind].title;
}

term_bound sync_column_bound(sync_column c)
{
    return columns[c].bound;
}

static double ranks_of(const collective_call *a)
{
    return (double)a->nodes * (double)a->devices;
}

static double at_once(const collective_call *a)
{
    return a->groups > 1 && a->nodes > 1 ? (double)a->groups : 1;
}

/* Bytes that a rank sends, for a message of so many bytes. */
static double sent_of(const collective_call *a, double bytes)
{
    const bool   pieces = collective_types[a->kind].pieces && a->nodes > 1;
    const double nodes = (double)a->nodes, devices = (double)a->devices;

    return at_once(a) *
           (pieces ? devices * collective_volume(a->kind, nodes)
                   : collective_volume(a->kind, ranks_of(a))) *
           bytes;
}

double collective_sent(const collective_call *a)
{
    return sent_of(a, a->bytes);
}

/* Bytes that each device sends over its own link. */
static double rail_bytes(const collective_call *a)
{
    const double all = collective_volume(a->kind, (double)a->nodes) * a->bytes;

    return collective_types[a->kind].pieces ? all : all / (double)a->devices;
}

void sync_columns(const collective_call *a, bool ring, double cache, double out[N_SYNC_COLUMNS])
{
    const bool   multi  = a->nodes > 1;
    const double places = multi ? (double)a->nodes : (double)a->devices;
    const double lam    = collective_types[a->kind].hop ? 1 : ring ? places - 1 : log2(places);
    const double bytes  = at_once(a) * a->bytes;
    const bool   two    = a->nodes == 2;

    out[SYNC_START]         = 1;
    out[SYNC_STEPS]         = lam;
    out[SYNC_BYTES]         = two ? 0 : collective_sent(a);
    out[SYNC_BYTES_TWO]     = two ? collective_sent(a) : 0;
    out[SYNC_PIPELINE]      = sqrt(bytes * lam);
    out[SYNC_CHUNKS]        = sqrt(bytes) * lam;
    out[SYNC_TREE_BYTES]    = bytes * lam;
    out[SYNC_DEVICES]       = multi ? (double)a->devices - 1 : 0;
    out[SYNC_RAIL_BYTES]    = multi ? rail_bytes(a) : 0;
    out[SYNC_SPILLED_BYTES] = cache > 0 ? sent_of(a, fmax(0, a->bytes - cache)) : 0;
}

/* ---- baselines ---- */

typedef struct regressor {
    const char *name, *unit;
} regressor;

static const struct {
    const char *name;
    regressor   column[BASELINE_COLUMNS];
} baselines[N_SYNC_BASELINES] = {
    [BASELINE_CONVMETER] = { "convmeter",
                             { { "start", "all-reduce" },
                               { "elements", "element" },
                               { "ranks", "rank" } } },
    [BASELINE_HOCKNEY]   = { "hockney", { { "messages", "message" }, { "ring_bytes", "byte" } } },
    [BASELINE_LOG2]      = { "log2",
                             { { "start", "all-reduce" },
                               { "doublings", "doubling" },
                               { "tree_bytes", "byte" } } },
    [BASELINE_PALEO + PALEO_ONE_TO_ALL] = { "paleo_one_to_all", { { "rounds", "byte" } } },
    [BASELINE_PALEO + PALEO_TREE]       = { "paleo_tree", { { "rounds", "byte" } } },
    [BASELINE_PALEO + PALEO_BUTTERFLY]  = { "paleo_butterfly", { { "rounds", "byte" } } },
    [BASELINE_PALEO +
        PALEO_BUTTERFLY_MIXING]         = { "paleo_butterfly_mixing", { { "rounds", "byte" } } },
};

const char *sync_baseline_name(sync_baseline b)
{
    return baselines[b].name;
}

sync_baseline sync_baseline_parse(const char *name)
{
    sync_baseline b = 0;

    while (b < N_SYNC_BASELINES && strcmp(baselines[b].name, name) != 0)
        b++;
    return b;
}

const char *sync_baseline_column(sync_baseline b, size_t k, const char **unit)
{
    if (k >= BASELINE_COLUMNS || !baselines[b].column[k].name)
        return NULL;
    *unit = baselines[b].column[k].unit;
    return baselines[b].column[k].name;
}

size_t sync_baseline_columns(sync_baseline b, const collective_call *a,
                             double out[BASELINE_COLUMNS])
{
    const double n = ranks_of(a);

    switch (b) {
    case BASELINE_CONVMETER:
        out[0] = 1;
        out[1] = a->bytes / 4; /* number of gradients of 32 bits */
        out[2] = n;
        return 3;
    case BASELINE_HOCKNEY:
        out[0] = 2 * (n - 1);
        out[1] = collective_volume(a->kind, n) * a->bytes;
        return 2;
    case BASELINE_LOG2:
        out[0] = 1;
        out[1] = log2(n);
        out[2] = a->bytes * log2(n);
        return 3;
    case BASELINE_PALEO: /* the first of PALEO's schemes */
    case N_SYNC_BASELINES: break;
    }
    out[0] =
        a->bytes * paleo_scheme_rounds((paleo_scheme)(b - BASELINE_PALEO), (int64_t)fmin(n, 4e18));
    return 1;
}

/* ---- seconds ---- */

void fabric_columns(const fabric_model *m, const collective_call *a, double out[N_SYNC_COLUMNS])
{
    static const sync_column stepped[] = { SYNC_STEPS, SYNC_PIPELINE, SYNC_CHUNKS, SYNC_TREE_BYTES,
                                           SYNC_DEVICES };
    const collective_type   *own       = &collective_types[a->kind];
    const double             share     = own->passes / collective_types[m->kind].passes;

    sync_columns(a, m->ring, m->cache, out);
    if (a->kind == m->kind)
        return;
    if (own->pieces)
        out[SYNC_STEPS] = (double)(a->nodes > 1 ? a->nodes : a->devices) - 1;
    for (size_t k = 0; k < sizeof stepped / sizeof stepped[0]; k++)
        out[stepped[k]] *= share;
}

void fabric_log2_columns(const fabric_model *m, const collective_call *a,
                         double out[BASELINE_COLUMNS])
{
    const collective_type *own = &collective_types[a->kind];
    collective_call        of = *a, byte = *a;

    if (own->hop) { /* two ranks */
        of.nodes   = 2;
        of.devices = 1;
    }
    sync_baseline_columns(BASELINE_LOG2, &of, out);
    out[2] *= at_once(a);
    if (a->kind == m->kind)
        return;
    of.kind  = m->kind;
    of.bytes = byte.bytes = 1;
    out[1] *= own->passes / collective_types[m->kind].passes;
    out[2] *= collective_sent(&byte) / collective_sent(&of);
}

static double log2_seconds(const fabric_model *m, const collective_call *a)
{
    double x[BASELINE_COLUMNS], seconds = 0;

    fabric_log2_columns(m, a, x);
    for (size_t k = 0; k < BASELINE_COLUMNS; k++)
        seconds += m->baseline[BASELINE_LOG2][k] * x[k];
    return seconds;
}

static double plane_seconds(const sync_plane *p, const double x[N_SYNC_COLUMNS])
{
    double seconds = 0;

    for (sync_column c = 0; c < N_SYNC_COLUMNS; c++)
        seconds += p->price[c] * x[c];
    return seconds;
}

const sync_plane *fabric_plane(const fabric_model *m, const collective_call *a)
{
    double x[N_SYNC_COLUMNS];

    if (m->n_planes < 2)
        return &m->plane[0];
    fabric_columns(m, a, x);
    return plane_seconds(&m->plane[1], x) < plane_seconds(&m->plane[0], x) ? &m->plane[1]
                                                                           : &m->plane[0];
}

double fabric_seconds(const fabric_model *m, const collective_call *a)
{
    double x[N_SYNC_COLUMNS], seconds;

    fabric_columns(m, a, x);
    seconds = plane_seconds(&m->plane[0], x);
    if (m->n_planes > 1)
        seconds = fmin(seconds, plane_seconds(&m->plane[1], x));
    return m->log2_share > 0 ? (1 - m->log2_share) * seconds + m->log2_share * log2_seconds(m, a)
                             : seconds;
}

double fabric_cold_seconds(const fabric_model *m, const collective_call *a)
{
    const double within = m->cache > 0 ? fmin(a->bytes, m->cache) : 0;

    return (1 - m->log2_share) * fabric_plane(m, a)->price[SYNC_SPILLED_BYTES] * sent_of(a, within);
}

double fabric_baseline(const fabric_model *m, sync_baseline b, const collective_call *a)
{
    double       x[BASELINE_COLUMNS], seconds = 0;
    const size_t n = sync_baseline_columns(b, a, x);

    for (size_t k = 0; k < n; k++)
        seconds += m->baseline[b][k] * x[k];
    return seconds;
}
