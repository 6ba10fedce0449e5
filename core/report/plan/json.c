/* Questions and answers of 'layermeter plan' as JSON. */
#include "report/plan/parts.h"

#include <math.h>

#include "base/text.h"
#include "plan/limits.h"
#include "report/step_fields.h"

static void put_machine(const plan_job *job, size_t i, json *j)
{
    const plan_side *side  = &job->side[i];
    const price     *p     = side->price;
    const lm_dtype   mixed = limits_mixed(side->who);

    json_open(j, NULL, '{');
    json_text(j, "machine", side->name);
    json_text(j, "device", side->device);
    if (side->room.bytes)
        json_count(j, "memory_bytes", side->room.bytes);
    else
        json_text(j, "memory_bytes", NULL);
    json_text(j, "memory_mixed", mixed ? text_dtype_name(mixed) : NULL); /* as `memory --mixed` */
    json_real(j, "price_per_node_hour", job->machine[i].hour[job->view.tier].amount);
    json_text(j, "price_of", p ? p->name : NULL);
    json_text(j, "price_file", p ? p->path : NULL);
    json_text(j, "price_date", p ? p->date : NULL);
    json_text(j, "price_source", p ? p->source : NULL);
    json_text(j, "price_checked",
              p && p->check == PRICE_CHECKED       ? "yes"
              : p && p->check == PRICE_NOT_CHECKED ? "no"
                                                   : NULL);
    if (side->who->cal)
        json_count(j, "calibrated_ranks", (uint64_t)side->who->cal->max_ranks);
    json_text(j, "one_node", *side->one_node ? side->one_node : NULL);
    json_close(j, '}');
}

static void put_plan(const plan_job *job, const char *key, const plan *p, json *j)
{
    const plan_heads heads = { job->currency, job->kwh.currency, plan_sample_word(job) };
    const field_view v     = { .fields = plan_answer_fields,
                               .from   = plan_fields,
                               .in     = IN_JSON,
                               .facts  = plan_facts_of(job),
                               .whole  = &heads };
    plan_row         r;

    if (!p) {
        json_text(j, key, NULL);
        return;
    }
    if (plan_row_of(job, p, &r, NULL))
        r.step.forward = r.step.backward = r.step.exposed = NAN;
    json_open(j, key, '{');
    fields_json(&v, &r, j);
    json_close(j, '}');
}

static void put_assumptions(const plan_answer *a, json *j)
{
    json_open(j, "assumptions", '[');
    for (size_t i = 0; i < a->n_hangs_on; i++) {
        const sensitivity *s = &a->hangs_on[i];

        json_open(j, NULL, '{');
        json_text(j, "assumption", s->of.name);
        json_text(j, "if", s->of.what);
        if (s->answer)
            json_count(j, "nodes", (uint64_t)s->answer->setup.nodes);
        else
            json_text(j, "nodes", NULL);
        json_real(j, "hours", s->seconds / 3600);
        json_real(j, "cost", s->cost);
        json_bool(j, "keeps_to_limits", s->answer != NULL);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void plan_json_answer(const plan_job *job, const plan_answer *a, json *j)
{
    char text[PLAN_SENTENCE];

    json_open(j, NULL, '{');
    json_text(j, "question", plan_goal_name(a->asked.goal));
    json_text(j, "sentence", plan_answer_print(job, a, text));
    put_plan(job, "plan", a->asked.answer, j);
    put_plan(job, "if_low", a->low, j);
    put_plan(job, "if_high", a->high, j);
    put_plan(job, "fewer_nodes", a->fewer, j);
    json_text(j, "hangs_on", plan_hangs_on_print(job, a, text));
    put_assumptions(a, j);
    json_close(j, '}');
}

void plan_json_question(const plan_job *job, json *j)
{
    const plan_question *q      = &job->question;
    const training      *t      = &q->training;
    const bool           infers = q->setup.program == PROGRAM_INFERENCE;
    const lm_dtype       mixed  = job->side[0].who->mixed;

    json_text(j, "network", job->network);
    json_text(j, "set", job->net->set);
    json_text(j, "input", job->side[0].who->input);
    json_text(j, "dtype", text_dtype_name((int32_t)job->side[0].who->dtype));
    json_text(j, "mixed", mixed ? text_dtype_name((int32_t)mixed) : NULL);
    if (infers)
        step_json_phase(j, job->question.setup.program, &job->span);
    else
        json_text(j, "optimizer", optimizer_name(job->question.setup.optimizer));
    json_text(j, "note", job->net->note);
    json_text(j, "model", job->side[0].who->model);
    if (!infers)
        json_count(j, "epochs", (uint64_t)t->epochs);
    json_count(j, "dataset", (uint64_t)t->dataset);
    if (!infers)
        json_count(j, "evaluate", (uint64_t)t->evaluate);
    if (infers) {
        json_real(j, "rate_per_s", q->rate > 0 ? q->rate : NAN);
        json_real(j, "within_s", q->within > 0 ? q->within : NAN);
    }
    json_real(j, "startup_s", t->startup);
    if (q->failures.mtbf > 0) {
        json_real(j, "mtbf_s", q->failures.mtbf);
        json_real(j, "checkpoint_s", q->failures.checkpoint);
        json_real(j, "restart_s", q->failures.restart);
    }
    json_real(j, "deadline_s", job->limits.seconds);
    json_real(j, "budget", job->limits.cost);
    json_text(j, "currency", *job->currency ? job->currency : NULL);
    json_text(j, "price", plan_price_name(job));
    json_open(j, "left_out", '{');
    json_count(j, "memory", job->set.too_large);
    json_count(j, "dataset", job->set.beyond_dataset);
    json_count(j, "idle_devices", job->set.idle);
    json_count(j, "no_time", job->set.no_time);
    if (infers)
        json_count(j, "too_slow", job->set.too_slow);
    json_close(j, '}');
    json_open(j, "machines", '[');
    for (size_t i = 0; i < job->n; i++)
        put_machine(job, i, j);
    json_close(j, ']');
}
