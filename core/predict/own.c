/* What steps share. */
#include "predict/own.h"

#include <stdlib.h>
#include <string.h>

#include "predict/by_layers.h"
#include "predict/sum.h"

/* Searches go between two setups, on one rank and on several. */
#define SCAN_OWN 4

struct step_scan {
    own_parts     own[SCAN_OWN];
    size_t        next;
    overlap_plan *plan; /* NULL: none yet */
};

lm_status step_scan_new(step_scan **out, lm_error *err)
{
    step_scan *s = calloc(1, sizeof *s);

    if (!s)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
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

/* What a device does by itself. */
static lm_status find_own(const predictor *who, const own_key *key, const step_setup *asked,
                          own_parts *out, lm_error *err)
{
    full_workload counted;
    sum           s = {
                  .who = who, .load = &counted.load, .measured = key->measured, .out = &out->sum, .err = err
    };
    part      parts[4];
    lm_status status = predict_load(who, asked->batch, asked->optimizer, &counted, err);
    size_t    n;

    out->key = (own_key){ 0 }; /* of nothing, until it is done */
    out->sum = (prediction){ 0 };
    memset(out->seconds, 0, sizeof out->seconds);
    if (status)
        return status;
    if (predict_by_layers(who) && (status = sum_layers(&s, asked, out->seconds)))
        return status;
    n = predict_by_layers(who) ? 0 : predict_parts(who, key->many, parts);
    for (size_t i = 0; i < n; i++) {
        double *seconds = &out->seconds[parts[i]];

        if (own_leaves_out(parts[i]))
            continue;
        if ((status = sum_add(&s, parts[i], own_times(parts[i], asked), seconds)))
            return status;
        if (*seconds < 0)
            sum_note(&out->sum, "negative time", 0);
    }
    out->load         = counted.load;
    out->load.forward = out->load.backward = out->load.update = (term_vector){ NULL, 0 };
    out->key                                                  = *key;
    return LM_OK;
}

/* The same from the scan, where a step before did it, too. */
lm_status own_of(const predictor *who, const step_setup *asked, own_parts *room,
                 const own_parts **out, lm_error *err)
{
    const own_key key  = { .batch        = asked->batch,
                           .accumulation = asked->sync.accumulation,
                           .optimizer    = asked->optimizer,
                           .measured     = predict_measured(who, asked),
                           .many         = step_setup_ranks(asked) > 1 };
    step_scan    *scan = who->scan;

    for (size_t i = 0; scan && i < SCAN_OWN; i++) {
        const own_key *k = &scan->own[i].key;

        if (k->batch == key.batch && k->accumulation == key.accumulation &&
            k->optimizer == key.optimizer && k->measured == key.measured && k->many == key.many) {
            *out = &scan->own[i];
            return LM_OK;
        }
    }
    if (scan) {
        room       = &scan->own[scan->next];
        scan->next = (scan->next + 1) % SCAN_OWN;
    }
    *out = room;
    return find_own(who, &key, asked, room, err);
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
