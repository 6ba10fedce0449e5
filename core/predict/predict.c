/* A predicted training step or forward pass of inference: prices of a model, composed. */
#include "predict/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "models/linear.h"
#include "predict/answering.h"
#include "predict/host_step.h"
#include "predict/laid_out.h"

/* ---- what steps share -------------------------------------------------------------------------
 */

/* Sizes of the caches of a scan, powers of two. Grids run over nodes, batches and bucket sizes in
 * any order, so 256 batches with four prices each are kept. A new entry replaces the old one at its
 * place. */
#define SCAN_PRICED    1024
#define SCAN_EXCHANGED 1024

struct step_scan {
    priced_program *program; /* NULL: none yet */
    exchanged       exchanged[SCAN_EXCHANGED];
    priced          priced[SCAN_PRICED];
};

bool predict_in_buckets(const predictor *who)
{
    return who->cal && who->cal->overlapping.rows && who->cal->max_hosts > 1 &&
           !(who->link.bytes_per_second > 0) && predictor_tells_gradients(who);
}

lm_status step_scan_new(step_scan **out, lm_error *err)
{
    step_scan *s = calloc(1, sizeof *s);

    if (!s)
        return no_memory(err);
    *out = s;
    return LM_OK;
}

void step_scan_free(step_scan *s)
{
    if (s)
        priced_program_free(s->program);
    free(s);
}

/* Memory of a single step for values that a scan would share. */
typedef struct answer_room {
    priced    own;
    exchanged ranks;
} answer_room;

static void find_ranks(answering *a, answer_room *room)
{
    const step_setup *s    = a->asked;
    measured_at       at   = { .network = a->who->network, .ranks = step_setup_ranks(s) };
    const uint64_t    hash = (uint64_t)s->nodes + (uint64_t)s->devices * 0x9E3779B97F4A7C15u;
    exchanged        *e =
        a->who->scan ? &a->who->scan->exchanged[hash & (SCAN_EXCHANGED - 1)] : &room->ranks;

    a->ranks = e;
    if (e->nodes == s->nodes && e->devices == s->devices)
        return;
    e->nodes    = s->nodes;
    e->devices  = s->devices;
    e->measured = (measured_batches){ NULL, 0 };
    e->reach_of = NULL;
    e->bytes    = NAN;
    if (step_measurable(a->who, &at.input))
        e->measured = measured_on(&a->who->cal->measured, &at);
}

static bool same_key(const price_key *a, const price_key *b)
{
    return a->batch == b->batch && a->devices == b->devices && a->optimizer == b->optimizer &&
           a->program == b->program && a->how == b->how;
}

static lm_status find_own(answering *a, answer_room *room)
{
    const step_setup *s    = a->asked;
    const bool        many = step_setup_exchanges(s);
    const price_key   key  = {
           .batch     = s->batch,
           .devices   = s->devices,
           .optimizer = s->optimizer,
           .program   = s->program,
           .how       = (measured_batch(&a->ranks->measured, s->batch) ? PRICED_TOGETHER : 0u) |
                  (many ? PRICED_MANY : 0u) | (s->sync.accumulation > 1 ? PRICED_MICRO : 0u)
    };
    const uint64_t at = (uint64_t)s->batch * 4 + (key.how & (PRICED_TOGETHER | PRICED_MANY));
    priced        *p  = a->who->scan ? &a->who->scan->priced[at & (SCAN_PRICED - 1)] : &room->own;
    lm_status      status;

    a->own = p;
    if (same_key(&p->key, &key))
        return LM_OK;
    p->key.batch = 0; /* invalid until the price is known */
    if ((status = host_price(a->who, s, &p->price, a->err)))
        return status;
    if (p->price.known)
        intervals_reach(p->price.known, SCOPE_BATCH, s->batch, &p->reach);
    p->key  = key;
    p->many = many;
    return LM_OK;
}

static lm_status find_exchange(answering *a)
{
    const net_metrics *counts = &a->own->price.counts;
    const double       bytes  = step_setup_bytes(a->asked, counts);
    lm_status          status;

    if (!a->own->many || a->ranks->bytes == bytes)
        return LM_OK;
    a->ranks->bytes = NAN;
    if ((status = a->who->by->exchange(a->who, a->asked, counts, &a->ranks->price, a->err)))
        return status;
    a->ranks->bytes = bytes;
    return LM_OK;
}

static lm_status find_program(answering *a)
{
    const predictor         *who      = a->who;
    const step_setup        *s        = a->asked;
    const workload_name      of       = predictor_workload(who, s->program);
    step_scan               *scan     = who->scan;
    const term_settings      plain    = { 0 };
    const gradient_schedule *schedule = NULL;
    lm_status                status   = workloads_gradients(
                         who->loads, &of, s->batch, who->cal ? &who->cal->settings : &plain, &schedule, a->err);

    if (status)
        return status;
    if (scan && scan->program &&
        priced_program_holds(scan->program, schedule, s->batch, &s->sync)) {
        a->program = scan->program;
        return LM_OK;
    }
    if ((status = who->by->buckets(who, s, schedule, &a->program, a->err)))
        return status;
    if (scan) {
        priced_program_free(scan->program);
        scan->program = a->program;
    }
    return LM_OK;
}

static void release(answering *a)
{
    if (!a->who->scan)
        priced_program_free(a->program);
}

/* ---- seconds ----------------------------------------------------------------------------------
 */

step_work answering_work(const answering *a)
{
    const step_price *p       = &a->own->price;
    const double      forward = a->micro * p->forward.value;
    double            back    = a->micro * p->backward.value;

    if (a->asked->again > 0)
        back += a->asked->again * forward;
    return (step_work){ .forward  = forward,
                        .backward = back,
                        .update   = p->update.value,
                        .compute  = forward + back,
                        .micro    = a->micro };
}

static step_times beside_passes(answering *a, const step_work *w, double pass, double longer,
                                bool brief)
{
    const program_case c = { .work    = *w,
                             .batch   = a->asked->batch,
                             .ranks   = { a->asked->nodes, a->asked->devices, 0 },
                             .pass    = pass,
                             .message = longer,
                             .brief   = brief };
    step_times         t;

    priced_program_run(a->program, &c, &t);
    return t;
}

step_times answering_times(answering *a, const step_work *w, double pass, double longer, bool brief)
{
    if (!a->in_turn)
        return beside_passes(a, w, pass, longer, brief);
    return schedule_in_turn(w, pass, a->own->many ? longer * a->ranks->price.seconds : 0,
                            a->own->many);
}

/* A model of whole steps: parts are unknown. One device exchanges nothing. */
static void put_whole(const answering *a, prediction *out)
{
    const double sync = a->own->many ? a->ranks->price.seconds : 0;

    out->sync = out->exposed = sync;
    out->messages            = a->own->many;
    out->copy = out->straggler = 0;
    out->step                  = a->micro * a->own->price.step.value + sync;
    out->grad                  = out->step - out->forward - out->backward;
}

static lm_status put_seconds(answering *a, prediction *out)
{
    const bool joint = a->own->many && a->ranks->price.joint;
    step_work  w     = answering_work(a);
    step_times t;

    if (joint)
        w.update = 0;
    t = answering_times(a, &w, 1, 1, true);
    if (a->program && isnan(t.sync))
        return linear_missing(a->who, PHASE_SYNC, a->err);
    out->batch    = a->asked->batch;
    out->nodes    = a->asked->nodes;
    out->devices  = a->asked->devices;
    out->forward  = t.forward;
    out->backward = w.backward;
    out->update   = a->own->price.update.value;
    out->alone    = (bounded){ w.backward, NAN, NAN };
    out->waited = out->bubble = out->unsplit = 0; /* of layouts */
    if (isnan(w.forward + w.backward)) {
        put_whole(a, out);
        return LM_OK;
    }
    out->backward  = t.backward;
    out->sync      = joint ? NAN : t.sync;
    out->exposed   = joint ? NAN : t.exposed;
    out->messages  = joint ? 0 : (int64_t)t.n;
    out->copy      = t.copy;
    out->straggler = t.straggler;
    out->grad      = t.grad;
    out->step      = t.step;
    return LM_OK;
}

/* Energy, from a model that predicts power, too. */
static void put_power(const answering *a, prediction *out)
{
    const step_price *p    = &a->own->price;
    const double      more = a->micro - 1; /* micro-steps without an update */
    const bounded    *step = &p->joules_step, *passes = &p->joules_passes;

    out->own_seconds = 0;
    out->own_joules  = (bounded){ 0, 0, 0 };
    if (isnan(step->value))
        return;
    out->own_seconds = p->step.value;
    out->own_joules  = *step;
    if (more > 0) {
        out->own_seconds += more * (p->forward.value + p->backward.value);
        out->own_joules.value += more * passes->value;
        out->own_joules.low += more * passes->low;
        out->own_joules.high += more * passes->high;
    }
}

/* ---- what it stands on ------------------------------------------------------------------------
 */

static void put_grounds(const answering *a, prediction *out)
{
    const predictor  *who     = a->who;
    const step_price *p       = &a->own->price;
    const ledger     *once    = &a->ranks->price.grounds.ledger;
    const double      exposed = out->exposed + out->copy + out->straggler;
    grounds          *g       = &out->grounds;

    g->ledger   = (ledger){ .seconds = { 0 } };
    g->n_beyond = 0;
    if (a->own->many && a->ranks->price.beyond > 0)
        grounds_note(g, "nodes", a->ranks->price.beyond);
    grounds_join(g, &p->passes);
    grounds_join(g, &p->rest);
    if (a->own->many)
        grounds_join(g, &a->ranks->price.grounds);
    if (p->counts.layers_not_lowered)
        grounds_note(g, "layers without kernels are not in it", 0);
    if (who->cal && who->cal->transferred)
        grounds_note(g, "transferred", 0);
    if (predictor_other_types(who))
        grounds_note(g, "dtype", 0);
    if (p->stands_in) {
        grounds_note(g, "training's forward pass", 0);
        ledger_add(&g->ledger, CERTAINTY_ASSUMED, out->step);
        return;
    }
    ledger_add_all(&g->ledger, &p->passes.ledger, a->micro);
    ledger_add_all(&g->ledger, &p->rest.ledger, 1);
    if (a->asked->again > 0) { /* never measured as part of a backward pass */
        grounds_note(g, "recomputed layers", 0);
        ledger_add(&g->ledger, CERTAINTY_ASSUMED, a->asked->again * a->micro * p->forward.value);
    }
    if (!a->own->many)
        return;
    if (!a->in_turn) {
        /* the exposed share of one message's ledger */
        if (who->cal->overlapping.rows)
            ledger_add_all(&g->ledger, once, exposed / a->ranks->price.seconds);
        else
            ledger_add(&g->ledger, CERTAINTY_ASSUMED, out->exposed);
    } else if (a->own->key.how & PRICED_TOGETHER && step_measured_as_sent(a->asked) &&
               (a->micro == 1 || !isnan(p->forward.value))) { /* a whole step has its micro-steps */
        ledger_add(&g->ledger, CERTAINTY_MEASURED, ledger_seconds(once));
    } else {
        ledger_add_all(&g->ledger, once, 1);
    }
}

/* ---- answers ----------------------------------------------------------------------------------
 */

static lm_status check_setup(const step_setup *s, lm_error *err)
{
    if (s->nodes < 1)
        return lm_error_set(err, LM_E_ARG, "%lld nodes: must be 1 or more", (long long)s->nodes);
    if (s->devices < 1)
        return lm_error_set(err, LM_E_ARG, "%lld devices of a node: must be 1 or more",
                            (long long)s->devices);
    if (s->sync.accumulation < 1)
        return lm_error_set(err, LM_E_ARG, "%lld micro-steps: must be 1 or more",
                            (long long)s->sync.accumulation);
    if (s->program == PROGRAM_INFERENCE && s->sync.accumulation > 1)
        return lm_error_set(err, LM_E_ARG,
                            "inference accumulates nothing: micro-steps are of "
                            "training");
    if (step_setup_ranks(s) == INT64_MAX)
        return lm_error_set(err, LM_E_OVERFLOW, "%lld nodes of %lld devices do not fit 64 bits",
                            (long long)s->nodes, (long long)s->devices);
    return LM_OK;
}

/* Finds all prices of a step. The caller calls release() in either case. */
static lm_status find_prices(answering *a, answer_room *room, bool buckets)
{
    lm_status status = check_setup(a->asked, a->err);

    if (status)
        return status;
    room->ranks.nodes   = 0;
    room->own.key.batch = 0;
    find_ranks(a, room);
    if ((status = find_own(a, room)) || ((buckets || !a->in_turn) && (status = find_program(a))))
        return status;
    return find_exchange(a);
}

/* Copies the messages of a step; a single message counts as one bucket. */
static lm_status copy_messages(answering *a, step_times *out)
{
    const step_work w = answering_work(a);
    step_times      t;
    overlap_bucket *bucket;

    a->in_turn = false;
    t          = answering_times(a, &w, 1, 1, false);
    if (!(bucket = malloc((t.n + 1) * sizeof *bucket)))
        return no_memory(a->err);
    memcpy(bucket, t.bucket, t.n * sizeof *bucket);
    *out        = t;
    out->bucket = bucket;
    return LM_OK;
}

static lm_status predict(const predictor *who, const step_setup *s, bool brief, prediction *out,
                         step_times *messages, lm_error *err)
{
    answering   a = { .who     = who,
                      .asked   = s,
                      .micro   = (double)s->sync.accumulation,
                      .in_turn = step_setup_in_turn(s),
                      .brief   = brief,
                      .err     = err };
    answer_room room;
    lm_status   status;

    if (s->laid_out)
        return predict_laid_out(who, s, out, messages, err);
    status = find_prices(&a, &room, messages != NULL);
    if (!status && !(status = put_seconds(&a, out))) {
        put_power(&a, out);
        put_grounds(&a, out);
        answering_put_bounds(&a, out);
        answering_doubt_types(who, s->program, out);
        answering_hold_bounds(&a, out);
        status = messages ? copy_messages(&a, messages) : LM_OK;
    }
    release(&a);
    return status;
}

lm_status predict_step(const predictor *who, const step_setup *s, prediction *out, lm_error *err)
{
    return predict(who, s, false, out, NULL, err);
}

lm_status predict_seconds(const predictor *who, const step_setup *s, prediction *out, lm_error *err)
{
    return predict(who, s, true, out, NULL, err);
}

lm_status predict_timeline(const predictor *who, const step_setup *s, prediction *out,
                           step_times *messages, lm_error *err)
{
    return predict(who, s, false, out, messages, err);
}

lm_status predict_case(const predictor *who, const step_setup *s, const prediction *p,
                       const step_parts *parts, double *out, lm_error *err)
{
    answering       a = { .who     = who,
                          .asked   = s,
                          .micro   = (double)s->sync.accumulation,
                          .in_turn = step_setup_in_turn(s),
                          .err     = err };
    answer_room     room;
    const step_work w = { .forward  = parts->forward,
                          .backward = p->alone.value,
                          .update   = parts->update,
                          .compute  = parts->forward + parts->backward,
                          .micro    = a.micro };
    lm_status       status;

    *out = NAN;
    if (isnan(parts->forward + parts->backward + parts->update + parts->messages))
        return LM_OK;
    if (!(status = find_prices(&a, &room, false)))
        *out =
            answering_times(&a, &w, parts->backward / p->alone.value, parts->messages, true).step;
    release(&a);
    return status;
}
