/* The best layouts of machines and nodes, as plans of a run. */
#include "plan/layout_plans.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "plan/layout_predict.h"
#include "plan/layout_question.h"
#include "plan/layout_tables.h"

#define RUNNERS_UP 4 /* so many times the wanted number of layouts are predicted */

static layout_question question_of(const plan_job *job, size_t machine, int64_t nodes, size_t best,
                                   int64_t most)
{
    const device_room *room    = &job->side[machine].room;
    const int64_t      devices = job->question.setup.devices;

    return (layout_question){
        .ranks            = nodes * devices,
        .devices          = devices,
        .global_batch     = job->question.global_batch,
        .most_micro_batch = most,
        .room   = room->bytes ? (double)room_allowed(room->bytes, room->overhead > 0, ROOM_RESERVED)
                              : INFINITY,
        .memory = (double)room->bytes,
        .overhead = (double)room->overhead,
        .best     = best,
        .told     = job->told.told ? &job->told : NULL
    };
}

/* A whole run of steps of so many seconds. */
static failure_cost run_at(const plan_job *job, const layout_plan *p, int64_t tokens, double step,
                           double *ideal)
{
    const plan_question *q = &job->question;

    *ideal = q->training.dataset
                 ? training_seconds(&q->training, training_steps(&q->training, q->global_batch),
                                    step, 0, 0)
                 : step * LAYOUT_PLANS_TOKENS / ((double)tokens * (double)q->global_batch);
    return plan_run_of(q, p->nodes * q->setup.devices, *ideal);
}

static void put_run(const plan_job *job, int64_t tokens, layout_plan *p)
{
    const money       *hour = &job->machine[p->machine].hour[job->view.tier];
    const failure_cost c    = run_at(job, p, tokens, p->found.step, &p->ideal);
    double             ideal;

    p->every      = c.every;
    p->n_failures = c.failures;
    p->run        = (bounded){ c.seconds, run_at(job, p, tokens, p->found.low, &ideal).seconds,
                               run_at(job, p, tokens, p->found.high, &ideal).seconds };
    p->cost       = (bounded){ money_of_run(hour, p->nodes, p->run.value).amount,
                               money_of_run(hour, p->nodes, p->run.low).amount,
                               money_of_run(hour, p->nodes, p->run.high).amount };
}

static bool keeps_to(const plan_limits *l, const layout_plan *p)
{
    return p->run.value <= l->seconds && (isinf(l->cost) || p->cost.value <= l->cost);
}

static void take(const plan_job *job, const layout_plan *like, const layout_search *s,
                 layout_plans *out)
{
    layout_counts *counts = &out->counts[out->n_counts - 1];

    for (size_t i = 0; i < s->n; i++) {
        layout_plan *p = &out->plan[out->n];

        *p       = *like;
        p->place = i;
        p->found = s->found[i];
        p->tie   = i > 0 && layouts_tie(&s->found[0], &s->found[i]);
        put_run(job, out->tokens, p);
        if (isinf(p->run.value)) {
            out->no_end++;
            continue;
        }
        if (keeps_to(&job->limits, p)) {
            out->n++;
            continue;
        }
        out->fastest  = out->missed ? fmin(out->fastest, p->run.value) : p->run.value;
        out->cheapest = out->missed ? fmin(out->cheapest, p->cost.value) : p->cost.value;
        out->missed++;
        counts->missed = counts->missed > 0 ? fmin(counts->missed, p->run.value) : p->run.value;
    }
}

/* ---- as they are predicted ---- */

/* A layout that cannot be predicted is no error; a note names it. */
static bool is_refusal(lm_status s)
{
    return s == LM_E_UNSUPPORTED || s == LM_E_NOTFOUND || s == LM_E_ARG;
}

/* Replaces the sums of the search by a prediction. */
static lm_status predict_one(const layout_asked *a, const layout_question *q, layout_found *f,
                             lm_error *err)
{
    const double bytes  = f->bytes;
    lm_status    status = layout_predict(a, &f->layout, f, err);

    f->bytes = bytes;
    if (status || isfinite(q->room)) /* the search already asked for the bytes */
        return status;
    if (!(status = layout_memory(a, &f->layout, NULL, &f->bytes, err)))
        f->bytes += q->overhead;
    return status;
}

/* Predicts the layouts of the search and sorts them, the fastest first; equal ones in the search's
 * order. */
static lm_status predict_best(const layout_asked *a, const layout_question *q, size_t best,
                              layout_search *s, layout_counts *counts, lm_error *err)
{
    const size_t found = s->n;

    s->n = 0;
    for (size_t i = 0; i < found; i++) {
        layout_found    f      = s->found[i];
        lm_error        why    = { LM_OK, "" };
        const lm_status status = predict_one(a, q, &f, &why);
        size_t          at;

        if (status && !is_refusal(status)) {
            *err = why;
            return status;
        }
        if (status) {
            if (!counts->refused++)
                snprintf(counts->why, sizeof counts->why, "%s", why.text);
            continue;
        }
        for (at = s->n++; at > 0 && s->found[at - 1].step > f.step; at--)
            s->found[at] = s->found[at - 1];
        s->found[at] = f;
    }
    s->n = s->n < best ? s->n : best;
    return LM_OK;
}

static lm_status nothing(const plan_job *job, const layout_tables *t, const layout_plan *at,
                         const layout_search *s, layout_counts *counts, lm_error *err)
{
    const plan_side *side = &job->side[at->machine];
    char             needs[ROOM_TEXT];

    if (counts->refused)
        return lm_error_set(err, LM_E_NOTFOUND, "%s: none of the best %zu layouts is predicted: %s",
                            side->name, counts->refused, counts->why);
    if (s->no_time) {
        const lm_status status = layout_tables_unknown(t, at->nodes, err);

        lm_error_prefix(err, "%s", side->name);
        return status;
    }
    counts->short_of = s->least_bytes;
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "%s: none of %zu layouts on %lld node%s fits %.6g GB of memory: the smallest "
        "takes %s",
        side->name, s->looked_at, (long long)at->nodes, at->nodes == 1 ? "" : "s",
        1e-9 * (double)side->room.bytes,
        room_needs(s->least_bytes, side->room.overhead > 0, ROOM_RESERVED, needs));
}

/* Finds the layouts for one number of nodes on a machine. */
static lm_status find_on(const plan_job *job, layout_tables *t, const layout_plan *at, size_t best,
                         int64_t most, layout_plans *out, lm_error *err)
{
    const layout_prices prices = layout_tables_prices(t);
    const layout_asked  a = { job->side[at->machine].who, job->net, job->reg, &job->question.setup,
                              at->nodes };
    layout_question     q = question_of(job, at->machine, at->nodes, RUNNERS_UP * best, most);
    layout_counts      *counts = &out->counts[out->n_counts++];
    layout_search       s;
    lm_status           status;

    layout_tables_ask(t, q.ranks, &q);
    out->tokens     = q.facts.tokens;
    counts->machine = at->machine;
    counts->nodes   = at->nodes;
    status =
        job->whole ? layout_question_whole(&q, &a, &s, err) : layouts_find(&q, &prices, &s, err);
    if (status)
        return status;
    *counts = (layout_counts){ .machine   = at->machine,
                               .nodes     = at->nodes,
                               .looked_at = s.looked_at,
                               .too_large = s.too_large,
                               .no_time   = s.no_time,
                               .bounded   = s.bounded };
    snprintf(counts->whole, sizeof counts->whole, "%s",
             q.whole_updates && !job->whole ? "muon updates whole matrices: no tp, ep, ZeRO"
                                            : s.why);
    if (!job->whole)
        status = predict_best(&a, &q, best, &s, counts, err);
    if (!status && s.n)
        take(job, at, &s, out);
    else if (!status)
        status = nothing(job, t, at, &s, counts, err);
    layouts_free(&s);
    return status;
}

static lm_status unmet(const plan_job *job, const layout_plans *p, lm_error *err)
{
    money cost = { .amount = p->cheapest };
    char  time[40], paid[MONEY_TEXT];

    strcpy(cost.currency, job->currency);
    if (p->no_end)
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "devices fail more often than a run of the best %zu layouts makes progress: "
            "take fewer --nodes, or a longer --mtbf",
            p->no_end);
    return lm_error_set(err, LM_E_NOTFOUND,
                        "none of the best %zu layouts keeps to the deadline or budget: the fastest "
                        "takes %s%s%s; take other --nodes, or give more",
                        p->missed, text_duration(p->fastest, time, sizeof time),
                        isnan(cost.amount) ? "" : ", the cheapest costs ",
                        isnan(cost.amount) ? "" : money_print(&cost, paid));
}

/* find_on(); where others may have layouts, it is no error to have none. */
static lm_status find_or_none(const plan_job *job, layout_tables *t, const layout_plan *at,
                              size_t best, int64_t most, layout_plans *out, lm_error *err)
{
    lm_error        why    = { LM_OK, "" };
    const lm_status status = find_on(job, t, at, best, most, out, &why);

    if (!status)
        return LM_OK;
    if (!out->n || !is_refusal(status))
        *err = why;
    snprintf(out->counts[out->n_counts - 1].none, sizeof out->counts->none, "%s", why.text);
    return is_refusal(status) ? LM_OK : status;
}

lm_status layout_plans_find(const plan_job *job, size_t best, int64_t most_micro_batch,
                            layout_plans *out, lm_error *err)
{
    const plan_question *q      = &job->question;
    const size_t         places = job->n * q->n_nodes;
    lm_error             why    = { LM_OK, "" };
    lm_status            status = LM_OK;

    *out        = (layout_plans){ .plan = calloc(places * best, sizeof *out->plan) };
    out->counts = calloc(places, sizeof *out->counts);
    if (!out->plan || !out->counts)
        return no_memory(err);
    for (size_t i = 0; i < job->n && !status; i++) {
        const plan_side *side = &job->side[i];
        layout_tables   *t    = NULL;

        status = layout_tables_new(side->who, job->net, job->reg, &q->setup, &t, &why);
        for (size_t k = 0; k < q->n_nodes && !status; k++) {
            if (job->searches)
                job->searches(side->name, q->nodes[k]);
            status = find_or_none(job, t, &(layout_plan){ .machine = i, .nodes = q->nodes[k] },
                                  best, most_micro_batch, out, &why);
        }
        layout_tables_free(t);
    }
    if (!status && !out->n && (out->missed || out->no_end))
        return unmet(job, out, err);
    if (status || out->n) {
        if (err && status)
            *err = why;
        return status;
    }
    if (out->counts[out->n_counts - 1].short_of > 0)
        return lm_error_set(err, why.code, "%s; take more nodes%s%s", why.text,
                            q->setup.devices == 1 ? " or devices of a node (--devices-per-node 8)"
                                                  : "",
                            out->tokens ? ", or train adapters (NETWORK:lora=16)" : "");
    return lm_error_set(err, why.code, "%s", why.text);
}

void layout_plans_free(layout_plans *p)
{
    free(p->plan);
    free(p->counts);
    *p = (layout_plans){ .plan = NULL };
}
