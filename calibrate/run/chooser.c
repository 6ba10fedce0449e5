/* Choice of the next point of a sweep. */
#include "run/chooser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/names.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "observe/flags.h"
#include "observe/variants.h"
#include "run/cost.h"
#include "suggest/candidates.h"
#include "suggest/design.h"

#define KEY_BYTES  1200
#define MANY_NODES 16 /* planners ask for more nodes than a job has */
#define FOR_MAX    64

/* A measured point, as the design knows it. */
typedef struct chooser_lesson {
    design_case  what;
    design_times times;
    uint32_t     flags;
} chooser_lesson;

struct chooser {
    const sweep    *plan;
    design         *d;
    design_case    *candidate;  /* of each point of the plan: the parts that fits use */
    uint32_t       *runs;       /* all its parts */
    double         *once;       /* seconds of one repetition, as expected */
    double         *cost;       /* seconds that measuring takes, or took */
    size_t         *learned_at; /* its lesson; CHOOSER_NONE: none yet */
    bool           *taken;
    chooser_lesson *learned;
    size_t          n_learned, learned_room;
    bool            stale; /* one of them was replaced */
    cost_model      costs;
    names           by_name; /* networks of the plan */
    size_t          n_networks;
    size_t          n_told, n_updated; /* lessons; when the design was last fitted */
    char        variant[VARIANT_TEXT]; /* element type and settings of the fit that is aimed at */
    const char *optimizer;             /* whose updates fits take */
    const char *asked_for;
    char       *asked_for_text; /* owned; or NULL */
};

/* ---- candidates ---- */

/* The plan's first networks decide, as they do in a fit to what is measured first. */
static void find_variant(chooser *c)
{
    for (size_t i = c->plan->n_points; i-- > 0;)
        if (c->plan->point[i].row.kind == OBS_NETWORK)
            variant_print(&c->plan->point[i].row, c->variant);
    for (size_t i = 0; i < c->plan->n_points; i++)
        c->optimizer = points_usual_optimizer(c->optimizer, &c->plan->point[i].row);
}

/* Does it share coefficients with the fit? */
static bool of_variant(const chooser *c, const observation *row)
{
    char text[VARIANT_TEXT];

    if (row->kind == OBS_LAYER) /* formulas are of whole networks here */
        return false;
    if (row->kind != OBS_NETWORK)
        return true;
    variant_print(row, text);
    return !strcmp(text, c->variant);
}

/* Whether a fit takes a part's time from such a row: as if all its phases had been measured. */
static uint32_t parts_of(const chooser *c, const observation *row)
{
    point p = {
        .row        = row,
        .collective = observation_collective(row),
        .other_algorithm =
            collective_algorithm_known(observation_collective(row), row->algorithm)->beside
    };
    uint32_t parts = 0;

    for (phase f = 0; f < N_PHASES; f++)
        p.seconds[f] = (row->phase == PHASE_INFERENCE) == (f == PHASE_INFERENCE) &&
                               of_variant(c, row) && points_takes(row, c->optimizer, f)
                           ? 1
                           : NAN;
    for (phase w = 0; w < N_TIMES; w++)
        if (!isnan(point_seconds(&p, w)))
            parts |= 1u << w;
    return parts;
}

/* Work of a point for which the design has formulas. */
static uint32_t runs_of(const observation *row)
{
    const uint32_t sync = row->ranks > 1 ? 1u << PHASE_SYNC : 0;

    switch (row->kind) {
    case OBS_NETWORK:
        if (row->phase == PHASE_INFERENCE)
            return 1u << PHASE_FORWARD;
        return 1u << PHASE_FORWARD | 1u << PHASE_BACKWARD | 1u << PHASE_UPDATE | sync;
    case OBS_COLLECTIVE: return sync;
    case OBS_COUNTS:
    case OBS_KERNEL:
    case OBS_LAYER:
    case OBS_STREAM:
    case OBS_N_KINDS: break;
    }
    return 0;
}

static design_case candidate_of(const chooser *c, const sweep_point *p)
{
    const bool whole = p->row.kind == OBS_NETWORK;

    return (design_case){
        .load    = { .counts = whole ? p->counts : (net_metrics){ 0 },
                     .nodes  = (double)p->row.ranks,
                     .bytes  = (double)(whole ? (int64_t)p->counts.param_bytes : p->row.bytes) },
        .parts   = parts_of(c, &p->row),
        .network = whole ? names_find(&c->by_name, p->row.name) : DESIGN_NONE,
    };
}

/* ---- what is asked for ---- */

static lm_status add_named(chooser *c, const char *list, workloads *loads, lm_dtype dtype,
                           int64_t most, targets *t, lm_error *err)
{
    char     *name[FOR_MAX], *copy = strdup(list);
    lm_status status = copy ? LM_OK : no_memory(err);
    size_t    n      = copy ? text_split(copy, ',', name, FOR_MAX) : 0;

    for (size_t i = 0; i < n && !status; i++)
        if ((status = targets_add(t, loads, name[i], dtype, most, err)))
            lm_error_prefix(err, "--for");
    free(copy);
    c->asked_for_text = strdup(list);
    c->asked_for      = c->asked_for_text ? c->asked_for_text : "";
    return status;
}

static lm_status add_own(chooser *c, workloads *loads, lm_dtype dtype, int64_t most, targets *t,
                         lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0, seen = 0; i < c->plan->n_points && !status; i++) {
        const observation *r = &c->plan->point[i].row;

        if (r->kind != OBS_NETWORK || names_find(&c->by_name, r->name) != seen)
            continue;
        seen++;
        status = targets_add(t, loads, r->name, dtype, most, err);
    }
    c->asked_for = "the networks of the sweep";
    return status;
}

/* A sweep without networks asks for its all-reduces. */
static lm_status add_nothing_better(const chooser *c, targets *t, lm_error *err)
{
    if (t->n)
        return LM_OK;
    t->item = malloc((c->plan->n_points + 1) * sizeof *t->item);
    if (!t->item)
        return no_memory(err);
    for (size_t i = 0; i < c->plan->n_points; i++)
        if (c->candidate[i].parts)
            t->item[t->n++] = c->candidate[i];
    if (!t->n) /* single kernels, which no formula has */
        t->item[t->n++] = (design_case){ .load = { .nodes = 1 }, .network = DESIGN_NONE };
    return LM_OK;
}

static lm_status aim_at(chooser *c, workloads *loads, const chooser_aim *aim, targets *t,
                        lm_error *err)
{
    lm_dtype  dtype = LM_F32;
    int64_t   most  = 1;
    lm_status status;

    for (size_t i = c->plan->n_points; i-- > 0;) {
        const observation *r = &c->plan->point[i].row;

        dtype = r->kind == OBS_NETWORK ? r->dtype : dtype;
        most  = r->ranks > most ? r->ranks : most;
    }
    if (most > 1 && most < MANY_NODES)
        most = MANY_NODES;
    if (aim->networks)
        return add_named(c, aim->networks, loads, dtype, most, t, err);
    c->asked_for = "a spread of the shipped networks";
    status       = aim->own_only ? LM_OK : targets_add_known(t, loads, dtype, most, err);
    if (!status && !t->n)
        status = add_own(c, loads, dtype, most, t, err);
    return status ? status : add_nothing_better(c, t, err);
}

/* ---- opening ---- */

static lm_status name_networks(chooser *c, lm_error *err)
{
    for (size_t i = 0; i < c->plan->n_points; i++) {
        const observation *r = &c->plan->point[i].row;

        if (r->kind == OBS_NETWORK && names_find(&c->by_name, r->name) == NAMES_NONE &&
            !names_add(&c->by_name, r->name, c->n_networks++))
            return no_memory(err);
    }
    return LM_OK;
}

/* Times and costs of the remaining points, by present knowledge. */
static void expect(chooser *c)
{
    for (size_t i = 0; i < c->plan->n_points; i++) {
        const sweep_point *p    = &c->plan->point[i];
        design_case        all  = c->candidate[i];
        double             once = 0;
        design_times       t;

        if (c->taken[i])
            continue;
        all.parts = c->runs[i];
        t         = design_expected(c->d, &all);
        for (phase w = 0; w < N_TIMES; w++)
            once += isnan(t.seconds[w]) ? 0 : t.seconds[w];
        c->once[i] = c->runs[i] ? once : cost_guess_once(c->plan, p);
        c->cost[i] = cost_expected(&c->costs, &c->plan->stop, p->row.kind, c->once[i]);
    }
}

lm_status chooser_new(const sweep *plan, workloads *loads, const chooser_aim *aim, chooser **out,
                      lm_error *err)
{
    const size_t        n      = plan->n_points + 1;
    chooser            *c      = calloc(1, sizeof *c);
    targets             t      = { .item = NULL };
    lm_status           status = LM_OK;
    const design_speeds speeds = { plan->flops_per_second, plan->bytes_per_second };

    if (c) {
        c->plan       = plan;
        c->asked_for  = "";
        c->candidate  = calloc(n, sizeof *c->candidate);
        c->runs       = calloc(n, sizeof *c->runs);
        c->once       = calloc(n, sizeof *c->once);
        c->cost       = calloc(n, sizeof *c->cost);
        c->learned_at = calloc(n, sizeof *c->learned_at);
        c->taken      = calloc(n, sizeof *c->taken);
        find_variant(c);
        cost_begin(&c->costs, aim->virtual);
    }
    if (!c || !c->candidate || !c->runs || !c->once || !c->cost || !c->learned_at || !c->taken)
        status = no_memory(err);
    if (!status)
        status = name_networks(c, err);
    for (size_t i = 0; i < plan->n_points && !status; i++) {
        c->candidate[i]  = candidate_of(c, &plan->point[i]);
        c->runs[i]       = runs_of(&plan->point[i].row);
        c->learned_at[i] = CHOOSER_NONE;
    }
    if (!status)
        status = aim_at(c, loads, aim, &t, err);
    if (!status)
        status = design_new(t.item, t.n, c->n_networks, &speeds, aim->known, &c->d, err);
    targets_free(&t);
    if (status) {
        chooser_free(c);
        return status;
    }
    expect(c);
    *out = c;
    return LM_OK;
}

void chooser_free(chooser *c)
{
    if (!c)
        return;
    design_free(c->d);
    names_free(&c->by_name);
    free_all(c->candidate, c->runs, c->once, c->cost, c->learned_at, c->taken, c->learned,
             c->asked_for_text, c);
}

/* ---- learning ---- */

static double sum_of(const design_times *t)
{
    double sum = 0;

    for (phase w = 0; w < N_TIMES; w++)
        sum += isnan(t->seconds[w]) ? 0 : t->seconds[w];
    return sum;
}

/* Measured once more: does it count instead? What is wrong with doubtful times makes them longer;
 * anchors are measured again for another reason. */
static bool is_better(const chooser_lesson *then, const chooser_lesson *now)
{
    if (!(then->flags & FLAGS_DOUBTFUL) || now->flags & FLAG_ANCHOR)
        return false;
    return !(now->flags & FLAGS_DOUBTFUL) || sum_of(&now->times) < sum_of(&then->times);
}

/* at: CHOOSER_NONE for a point outside the plan. */
static lm_status remember(chooser *c, size_t at, const chooser_lesson *l, lm_error *err)
{
    const size_t before = at == CHOOSER_NONE ? CHOOSER_NONE : c->learned_at[at];

    if (before != CHOOSER_NONE) {
        if (is_better(&c->learned[before], l)) {
            c->learned[before] = *l;
            c->stale           = true;
        }
        return LM_OK;
    }
    if (c->n_learned == c->learned_room) {
        const size_t    room = c->learned_room ? 2 * c->learned_room : 64;
        chooser_lesson *more = realloc(c->learned, room * sizeof *more);

        if (!more)
            return no_memory(err);
        c->learned      = more;
        c->learned_room = room;
    }
    if (at != CHOOSER_NONE)
        c->learned_at[at] = c->n_learned;
    c->learned[c->n_learned++] = *l;
    return design_measured(c->d, &l->what, &l->times, err);
}

lm_status chooser_settle(chooser *c, lm_error *err)
{
    lm_status status = LM_OK;

    if (c->stale)
        design_forget(c->d);
    for (size_t i = 0; c->stale && i < c->n_learned && !status; i++)
        status = design_measured(c->d, &c->learned[i].what, &c->learned[i].times, err);
    c->stale     = false;
    c->n_updated = c->n_told;
    if (!status)
        status = design_update(c->d, err);
    if (!status)
        expect(c);
    return status;
}

static chooser_lesson lesson_of(const chooser *c, const point *p)
{
    chooser_lesson l = { .what = { .load = p->load, .network = DESIGN_NONE }, .flags = p->flags };

    if (p->row->kind == OBS_NETWORK)
        l.what.network = names_find(&c->by_name, p->row->name);
    for (phase w = 0; w < N_TIMES; w++) {
        l.times.seconds[w] = of_variant(c, p->row) ? point_seconds(p, w) : NAN;
        l.what.parts |= isnan(l.times.seconds[w]) ? 0 : 1u << w;
    }
    return l;
}

/* Points that the file holds may be measured again. */
static size_t find_in_plan(const names *by_key, const observation *row)
{
    char   key[KEY_BYTES];
    size_t at;

    observation_key(row, key, sizeof key);
    at = names_find(by_key, key);
    return at == NAMES_NONE ? CHOOSER_NONE : at;
}

lm_status chooser_recall(chooser *c, const points *earlier, lm_error *err)
{
    names     by_key = { 0 };
    arena    *text   = arena_new();
    lm_status status = text ? LM_OK : no_memory(err);

    for (size_t i = 0; i < c->plan->n_points && !status; i++) {
        char        key[KEY_BYTES];
        const char *kept;

        observation_key(&c->plan->point[i].row, key, sizeof key);
        kept = arena_text(text, key, strlen(key));
        if (!kept || !names_add(&by_key, kept, i))
            status = no_memory(err);
    }
    for (size_t i = 0; i < earlier->n_points && !status; i++) {
        const chooser_lesson l = lesson_of(c, &earlier->point[i]);

        if (l.what.parts)
            status = remember(c, find_in_plan(&by_key, earlier->point[i].row), &l, err);
    }
    names_free(&by_key);
    arena_free(text);
    return status ? status : chooser_settle(c, err);
}

void chooser_drop(chooser *c, size_t at)
{
    c->taken[at] = true;
}

/* Measured seconds by part, and of one repetition of all. */
static design_times times_of(const point_result *r, double *once)
{
    static const phase of[N_PHASES] = { [PHASE_FORWARD]     = PHASE_FORWARD,
                                        [PHASE_BACKWARD]    = PHASE_BACKWARD,
                                        [PHASE_SYNC]        = PHASE_SYNC,
                                        [PHASE_UPDATE]      = PHASE_UPDATE,
                                        [PHASE_STEP]        = N_TIMES,
                                        [PHASE_INFERENCE]   = PHASE_INFERENCE,
                                        [PHASE_GRAD_INPUT]  = PHASE_GRAD_INPUT,
                                        [PHASE_GRAD_WEIGHT] = PHASE_GRAD_WEIGHT };
    design_times       t;

    *once = 0;
    for (phase w = 0; w < N_TIMES; w++)
        t.seconds[w] = NAN;
    for (phase f = 0; f < N_PHASES; f++)
        if (r->phase[f].measured && of[f] < N_TIMES) {
            t.seconds[of[f]] = r->phase[f].median;
            *once += r->phase[f].median;
        }
    return t;
}

static lm_status tell(chooser *c, size_t at, const point_result *r, double *once, lm_error *err)
{
    const chooser_lesson l = { .what  = c->candidate[at],
                               .times = times_of(r, once),
                               .flags = r->flags };

    return strcmp(r->status, "ok") ? LM_OK : remember(c, at, &l, err);
}

lm_status chooser_learn(chooser *c, size_t at, const point_result *r, double seconds, lm_error *err)
{
    double    once;
    lm_status status = tell(c, at, r, &once, err);

    c->taken[at] = true;
    /* without a formula the guess must learn, too */
    if (!strcmp(r->status, "ok"))
        cost_learn(&c->costs, &c->plan->stop, c->plan->point[at].row.kind,
                   c->runs[at] ? once : c->once[at], seconds);
    c->cost[at] = seconds;
    c->n_told++;
    /* a fit is cheap, but not for each of very many points */
    if (!status && c->n_told - c->n_updated > c->n_updated / 20)
        return chooser_settle(c, err);
    if (!status)
        expect(c);
    return status;
}

lm_status chooser_learn_again(chooser *c, size_t at, const point_result *r, lm_error *err)
{
    double once;

    return tell(c, at, r, &once, err);
}

/* ---- choice ---- */

double chooser_cost(const chooser *c, size_t at)
{
    return c->cost[at];
}

double chooser_cost_left(const chooser *c, size_t *n_left)
{
    double seconds = 0;
    size_t n       = 0;

    for (size_t i = 0; i < c->plan->n_points; i++)
        if (!c->taken[i]) {
            seconds += c->cost[i];
            n++;
        }
    if (n_left)
        *n_left = n;
    return seconds;
}

size_t chooser_next(const chooser *c, double seconds)
{
    const size_t n  = c->plan->n_points;
    const size_t at = design_next(c->d, c->candidate, c->cost, c->taken, n, seconds);

    if (at != DESIGN_NONE)
        return at;
    for (size_t i = 0; i < n; i++)
        if (!c->taken[i] && c->cost[i] <= seconds)
            return i;
    return CHOOSER_NONE;
}

double chooser_width(const chooser *c)
{
    return design_width(c->d);
}

/* Points that tell nothing fill the remaining time, as in chooser_next(). */
static lm_status fill(const chooser *c, double seconds, size_t *order, size_t *n, lm_error *err)
{
    bool *gone = malloc(c->plan->n_points + 1);

    if (!gone)
        return no_memory(err);
    memcpy(gone, c->taken, c->plan->n_points * sizeof *gone);
    for (size_t i = 0; i < *n; i++) {
        gone[order[i]] = true;
        seconds -= c->cost[order[i]];
    }
    for (size_t i = 0; i < c->plan->n_points; i++)
        if (!gone[i] && c->cost[i] <= seconds) {
            order[(*n)++] = i;
            seconds -= c->cost[i];
        }
    free(gone);
    return LM_OK;
}

lm_status chooser_forecast(const chooser *c, double seconds, double *width, size_t *n,
                           size_t *order, lm_error *err)
{
    lm_status status = design_forecast(c->d, c->candidate, c->cost, c->taken, c->plan->n_points,
                                       seconds, width, n, order, err);

    return status || !order ? status : fill(c, seconds, order, n, err);
}

const char *chooser_asked_for(const chooser *c)
{
    return c->asked_for;
}
