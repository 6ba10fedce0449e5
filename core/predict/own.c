/* What steps share. */
#include "predict/own.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "fit/shared.h"
#include "predict/by_layers.h"
#include "predict/sum.h"

/* Grids go through nodes by batches or the other way round; what takes a place that is taken, takes
 * it. Both are powers of two. */
#define SCAN_OWN   256
#define SCAN_RANKS 1024

struct step_scan {
    overlap_plan *plan; /* NULL: none yet */
    rank_parts    ranks[SCAN_RANKS];
    own_parts     own[SCAN_OWN];
};

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
        overlap_plan_free(s->plan);
    free(s);
}

bool own_leaves_out(part which)
{
    return which == PART_SYNC || which == PART_GRAD_MANY;
}

double own_times(part which, const step_setup *s)
{
    return which == PART_FORWARD || which == PART_BACKWARD || which == PART_STEP
               ? (double)s->sync.accumulation
               : 1;
}

/* What a device does by itself, by its layers: that they take in a network what they take alone is
 * assumed. */
static lm_status sum_layers(sum *s, const step_setup *asked, double seconds[N_PARTS])
{
    static const part done[] = { PART_FORWARD, PART_BACKWARD, PART_UPDATE };
    whole_seconds     found;
    const lm_status   status =
        by_layers_seconds(s->who, asked->batch, asked->optimizer, &found, s->err);

    if (status)
        return status;
    seconds[PART_FORWARD]  = found.forward;
    seconds[PART_BACKWARD] = found.backward;
    seconds[PART_UPDATE]   = found.update;
    for (size_t i = 0; i < sizeof done / sizeof done[0]; i++) {
        seconds[done[i]] *= own_times(done[i], asked);
        ledger_add(&s->out->ledger,
                   predict_composed(s->who) ? CERTAINTY_EXTRAPOLATED : CERTAINTY_ASSUMED,
                   seconds[done[i]]);
    }
    if (!predict_composed(s->who))
        sum_note(s->out, "layers by themselves", 0);
    return LM_OK;
}

static void find_ranks(const predictor *who, int64_t nodes, int64_t devices, rank_parts *out)
{
    const int64_t ranks = nodes * devices;
    measured_at   at    = { .network = who->network, .ranks = ranks };

    out->nodes   = nodes;
    out->devices = devices;
    out->beyond =
        ranks > 1 && ranks > who->cal->max_ranks && !calibration_asks(who->cal, who->model)
            ? (double)ranks / (double)who->cal->max_ranks
            : 0;
    out->told_link = calibration_assumes(who->cal, who->model, nodes);
    out->bytes     = NAN;
    out->measured  = (measured_batches){ NULL, 0 };
    if (predict_measurable(who, &at.input))
        out->measured = measured_on(&who->cal->measured, &at);
    intervals_reach(calibration_intervals(who->cal, who->model), SCOPE_NODES, ranks, &out->reach);
}

rank_parts *own_ranks(const predictor *who, const step_setup *asked, step_room *room)
{
    rank_parts *at = &room->ranks;

    if (who->scan) {
        const uint64_t hash =
            (uint64_t)asked->nodes + (uint64_t)asked->devices * 0x9E3779B97F4A7C15u;

        at = &who->scan->ranks[hash & (SCAN_RANKS - 1)];
        if (at->nodes == asked->nodes && at->devices == asked->devices)
            return at;
    }
    find_ranks(who, asked->nodes, asked->devices, at);
    return at;
}

lm_status own_ask_ranks(const predictor *who, const step_setup *asked, const own_parts *own,
                        rank_parts *ranks, lm_error *err)
{
    const double bytes = step_setup_bytes(asked, &own->load);
    workload     load;
    sum          s       = { .who = who, .load = &load, .out = &ranks->sum, .err = err };
    double       seconds = 0;
    lm_status    status  = LM_OK;

    if (ranks->bytes == bytes)
        return LM_OK;
    load         = own->load;
    load.nodes   = (double)step_setup_ranks(asked);
    load.bytes   = bytes;
    ranks->bytes = NAN; /* of nothing, until it is done */
    ranks->sum   = (prediction){ .nodes = asked->nodes, .devices = asked->devices };
    for (size_t i = 0; i < own->n_parts && !status; i++)
        if (own_leaves_out(own->part[i]))
            status = sum_add(&s, own->part[i], 1, &seconds);
    if (status)
        return status;
    if (seconds < 0)
        sum_note(&ranks->sum, "negative time", 0);
    ranks->seconds = seconds;
    ranks->bytes   = bytes;
    return LM_OK;
}

/* What a device does by itself takes longer where others of its host do the same. */
static void share_host(const predictor *who, int64_t devices, unsigned measured, own_parts *own)
{
    const bool known = sharing_known(&who->cal->shared, devices);

    for (part w = 0; w < N_PARTS; w++) {
        const double more = own->seconds[w] * (shared_times(who->cal, who->model, w, devices) - 1);

        if (!(more > 0))
            continue;
        own->seconds[w] += more;
        ledger_add(&own->sum.ledger,
                   !known              ? CERTAINTY_EXTRAPOLATED
                   : measured >> w & 1 ? CERTAINTY_MEASURED
                                       : CERTAINTY_INTERPOLATED,
                   more);
    }
}

/* What a device does by itself. */
static lm_status find_own(const predictor *who, const own_key *key, const step_setup *asked,
                          own_parts *out, lm_error *err)
{
    const bool    by_layers = predict_by_layers(who);
    full_workload counted;
    sum           s      = { .who = who, .load = &counted.load, .out = &out->sum, .err = err };
    lm_status     status = predict_load(who, asked->batch, asked->optimizer, &counted, err);

    out->key = (own_key){ 0 }; /* of nothing, until it is done */
    out->sum = (prediction){ 0 };
    memset(out->seconds, 0, sizeof out->seconds);
    if (status)
        return status;
    if (by_layers && (status = sum_layers(&s, asked, out->seconds)))
        return status;
    out->by_layers = by_layers && !predict_composed(who);
    out->n_parts   = predict_parts(who, key->many, out->part);
    s.measured     = predict_measured(who, asked);
    for (size_t i = 0; i < out->n_parts && !by_layers; i++) {
        double *seconds = &out->seconds[out->part[i]];

        if (own_leaves_out(out->part[i]))
            continue;
        if ((status = sum_add(&s, out->part[i], own_times(out->part[i], asked), seconds)))
            return status;
        if (*seconds < 0)
            sum_note(&out->sum, "negative time", 0);
    }
    if (!out->by_layers)
        share_host(who, asked->devices, s.measured, out);
    out->load         = counted.load;
    out->load.forward = out->load.backward = out->load.update = (term_vector){ NULL, 0 };
    out->known = calibration_intervals(who->cal, who->model);
    intervals_reach(out->known, SCOPE_BATCH, asked->batch, &out->reach);
    out->key = *key;
    return LM_OK;
}

lm_status own_of(const predictor *who, const step_setup *asked, const rank_parts *ranks,
                 step_room *room, const own_parts **out, lm_error *err)
{
    const own_key key = { .batch        = asked->batch,
                          .accumulation = asked->sync.accumulation,
                          .devices      = asked->devices,
                          .optimizer    = asked->optimizer,
                          .together     = measured_batch(&ranks->measured, asked->batch),
                          .many         = step_setup_ranks(asked) > 1 };
    own_parts    *at  = &room->own;

    if (who->scan) {
        const own_key *k;

        at = &who->scan->own[((uint64_t)asked->batch * 4 + key.many * 2U + key.together) &
                             (SCAN_OWN - 1)];
        k  = &at->key;
        if (k->batch == key.batch && k->accumulation == key.accumulation &&
            k->devices == key.devices && k->optimizer == key.optimizer &&
            k->together == key.together && k->many == key.many) {
            *out = at;
            return LM_OK;
        }
    }
    *out = at;
    return find_own(who, &key, asked, at, err);
}

lm_status own_plan(const predictor *who, const gradient_schedule *schedule,
                   const sync_policy *policy, overlap_plan **out, lm_error *err)
{
    step_scan *scan   = who->scan;
    lm_status  status = LM_OK;

    *out = NULL;
    if (scan && scan->plan && overlap_plan_holds(scan->plan, schedule, policy))
        *out = scan->plan;
    if (!*out)
        status = overlap_plan_of(who->cal, who->model, schedule, policy, out, err);
    if (!status && scan && scan->plan != *out) {
        overlap_plan_free(scan->plan);
        scan->plan = *out;
    }
    return status;
}
