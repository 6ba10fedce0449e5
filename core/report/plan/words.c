/* Plans and answers in words. */
#include "report/plan/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "predict/scaling.h"

/* Appends to a text of PLAN_SENTENCE bytes. */
#define say(out, ...) text_add(out, PLAN_SENTENCE, __VA_ARGS__)

static const char *nodes_word(int64_t n)
{
    return n == 1 ? "node" : "nodes";
}

static bool several_batches(const plan_job *job)
{
    return job->question.n_batch > 1 || job->question.global_batch;
}

static money cost_of(const plan_job *job, const plan *p, const plan_view *v)
{
    money m = { .amount = plan_cost(p, job->machine, v) };

    strcpy(m.currency, job->currency);
    return m;
}

/* " for 1,040 USD list (920 to 1,170 USD)". `of`: behind the bounds; NULL: without bounds. */
static void say_cost(const plan_job *job, const plan *p, const plan_view *v, const char *of,
                     char *out)
{
    const plan_view low  = { TIME_LOW, v->tier, v->less_memory },
                    high = { TIME_HIGH, v->tier, v->less_memory };
    char        text[3][MONEY_TEXT];
    const money m = cost_of(job, p, v), least = cost_of(job, p, &low),
                most = cost_of(job, p, &high);

    if (isnan(m.amount))
        return;
    say(out, " for %s", money_print(&m, text[0]));
    if (job->side[p->machine].price) /* else it was told */
        say(out, " %s", price_tier_name(v->tier));
    if (of && !isnan(least.amount) && !isnan(most.amount))
        say(out, " (%s to %s%s)", money_print(&least, text[1]), money_print(&most, text[2]), of);
}

static bool infers(const plan_job *job)
{
    return job->question.setup.program == PROGRAM_INFERENCE;
}

const char *plan_sample_word(const plan_job *job)
{
    return job->span.tokens ? "tokens" : "samples";
}

/* " finish 90 epochs in ", " infer 50,000 samples, up to 1,240 a second, in ",
 * " generate 50,000 tokens, up to 1,240 a second, in " */
static void say_run(const plan_job *job, const plan *p, char *out)
{
    const training *t    = &job->question.training;
    const bool      one  = p->setup.nodes == 1;
    const double    rate = fmin((double)p->global_batch / p->step.seconds[TIME_EXPECTED], 1e15);
    char            all[32], second[32];

    if (!infers(job)) {
        say(out, " finish%s %lld epoch%s in ", one ? "es" : "", (long long)t->epochs,
            t->epochs == 1 ? "" : "s");
        return;
    }
    if (rate < 1000)
        snprintf(second, sizeof second, "%.3g", rate);
    else
        text_grouped((uint64_t)(rate + 0.5), second, sizeof second);
    say(out, " %s%s %s %s%s, up to %s a second, in ", job->span.tokens ? "generate" : "infer",
        one ? "s" : "", text_grouped((uint64_t)t->dataset, all, sizeof all), plan_sample_word(job),
        job->question.rate > 0 && (double)t->dataset == ceil(3600 * job->question.rate)
            ? " (an hour at --rate)"
            : "",
        second);
}

/* "23.1 h (20.4 h to 25.9 h)"; `of` as in say_cost() */
static void say_time(const plan *p, const plan_view *v, const char *of, char *out)
{
    const double low = p->run.seconds[TIME_LOW], high = p->run.seconds[TIME_HIGH];
    char         text[3][HOURS_TEXT];

    say(out, "%s", text_duration(plan_seconds(p, v), text[0], sizeof text[0]));
    if (of && !isnan(low) && !isnan(high))
        say(out, " (%s to %s%s)", text_duration(low, text[1], sizeof text[1]),
            text_duration(high, text[2], sizeof text[2]), of);
}

/* " with batch 64", if there is a choice */
static void say_batch(const plan_job *job, const plan *p, char *out)
{
    char policy[SYNC_POLICY_TEXT], words[LAYOUT_TEXT];

    if (job->question.n_shares)
        say(out, " by %s", layout_print(&p->setup.layout, words));
    if (several_batches(job))
        say(out, " with batch %lld", (long long)p->setup.batch);
    if (p->setup.sync.accumulation > 1)
        say(out, infers(job) ? ", %lld batches in flight," : " in %lld micro-steps",
            (long long)p->setup.sync.accumulation);
    if (job->question.n_policies > 1 && step_setup_ranks(&p->setup) > 1)
        say(out, " by %s", sync_policy_print(&p->setup.sync, policy));
}

/* "18 nodes (16 to 22)", "18 nodes (16 to more than 64)". True: with such bounds. */
static bool say_nodes(const plan_job *job, const plan_answer *a, char *out)
{
    const int64_t nodes = a->asked.answer->setup.nodes;

    say(out, "%lld %s", (long long)nodes, nodes_word(nodes));
    if (a->asked.goal != GOAL_NODES || !a->bounded || !a->low ||
        (a->high && a->low->setup.nodes == a->high->setup.nodes))
        return false;
    if (!a->high)
        say(out, " (%lld to more than %lld)", (long long)a->low->setup.nodes,
            (long long)job->question.nodes[job->question.n_nodes - 1]);
    else
        say(out, " (%lld to %lld)", (long long)a->low->setup.nodes,
            (long long)a->high->setup.nodes);
    return true;
}

const char *plan_answer_print(const plan_job *job, const plan_answer *a, char out[PLAN_SENTENCE])
{
    const plan *p = a->asked.answer;
    char        text[HOURS_TEXT], of[40] = "";

    *out = '\0';
    if (job->n > 1)
        say(out, "%s: ", job->side[p->machine].name);
    if (a->asked.goal != GOAL_NODES)
        say(out, "%s: ", plan_goal_name(a->asked.goal));
    if (say_nodes(job, a, out)) /* times and costs stay with the expected number */
        snprintf(of, sizeof of, " on %lld", (long long)p->setup.nodes);
    say_batch(job, p, out);
    say_run(job, p, out);
    say_time(p, &a->asked.view, of, out);
    say_cost(job, p, &a->asked.view, of, out);
    if (job->question.failures.mtbf > 0)
        say(out, ", goodput %.3g %% with a checkpoint every %s",
            100 * p->ideal / p->run.seconds[TIME_EXPECTED],
            text_duration(p->every, text, sizeof text));
    if (a->fewer)
        say(out, "; %lld would take %s", (long long)a->fewer->setup.nodes,
            text_duration(plan_seconds(a->fewer, &a->asked.view), text, sizeof text));
    return out;
}

/* The effect of an assumption on the answer, in the unit of the goal. */
static void say_outcome(const plan_job *job, const plan_answer *a, const sensitivity *s, char *out)
{
    const plan *p = s->answer ? s->answer : a->asked.answer;
    plan_view   v = s->of.view;
    char        text[HOURS_TEXT];

    v.tier = a->asked.view.tier;
    if (!strcmp(s->of.name, "price"))
        v.tier = s->of.view.tier;
    if (!s->answer) {
        say(out, "no plan keeps to the limits (%lld %s: %s", (long long)p->setup.nodes,
            nodes_word(p->setup.nodes), text_duration(s->seconds, text, sizeof text));
        say_cost(job, p, &v, NULL, out);
        say(out, ")");
        return;
    }
    if (p->machine != a->asked.answer->machine)
        say(out, "%s, ", job->side[p->machine].name);
    if (a->asked.goal == GOAL_NODES)
        say(out, "%lld %s", (long long)p->setup.nodes, nodes_word(p->setup.nodes));
    else
        say(out, "%s on %lld %s", text_duration(s->seconds, text, sizeof text),
            (long long)p->setup.nodes, nodes_word(p->setup.nodes));
    say_cost(job, p, &v, NULL, out);
}

const char *plan_hangs_on_print(const plan_job *job, const plan_answer *a, char out[PLAN_SENTENCE])
{
    const sensitivity *s = a->hangs_on;
    char               text[HOURS_TEXT];

    *out = '\0';
    if (!a->n_hangs_on)
        return strcpy(out, a->bounded ? "no assumption alone changes it"
                                      : "what it depends on is unknown: there are no intervals");
    if (s->moved > 0) {
        say(out, "depends most on %s: if %s, ", s->of.name, s->of.what);
        say_outcome(job, a, s, out);
    } else if (s->stretched > 0) {
        plan_view v = a->asked.view;

        v.time = s->of.view.time;
        say(out, "no assumption alone changes it; the time depends most on %s: if %s, %s",
            s->of.name, s->of.what,
            text_duration(plan_seconds(a->asked.answer, &v), text, sizeof text));
    } else {
        say(out, "no assumption alone changes it");
    }
    return out;
}

/* ---- if no plan meets the limits ---- */

/* "64 nodes of a.ini with batch 32, 30.1 h for 820 USD list" */
static void say_plan(const plan_job *job, const plan *p, char *out)
{
    say(out, "%lld %s of %.60s with batch %lld, ", (long long)p->setup.nodes,
        nodes_word(p->setup.nodes), job->side[p->machine].name, (long long)p->setup.batch);
    say_time(p, &job->view, NULL, out);
    say_cost(job, p, &job->view, NULL, out);
}

/* Nodes beyond the list that meet the limits, by doubling; 0: none. */
static int64_t more_nodes(const plan_job *job)
{
    plan_question q    = job->question;
    int64_t       last = q.nodes[q.n_nodes - 1];

    for (int64_t n = last; n <= TURNING_LIMIT / 2;) {
        plan_set set = { .plan = NULL };
        bool     found;

        n *= 2;
        q.nodes   = &n;
        q.n_nodes = 1;
        for (size_t i = 0; i < job->n; i++) {
            if (job->batch_free && !job->own_batch) { /* the machine's plans took their own */
                q.batch   = &job->side[i].batch;
                q.n_batch = 1;
            }
            if (plan_search(&job->machine[i], i, &q, &set, NULL))
                break; /* so many nodes may have no plan */
        }
        found = plan_choose(&set, job->machine, GOAL_NODES, &job->limits, &job->view) != NULL;
        plan_set_free(&set);
        if (found)
            return n;
    }
    return 0;
}

static void say_help(const plan_job *job, const plan *fastest, char *out)
{
    const double  startup = job->question.training.startup, left = job->limits.seconds - startup;
    const double  times = fmin((plan_seconds(fastest, &job->view) - startup) / left, 1e15);
    const int64_t more  = more_nodes(job);
    char          text[HOURS_TEXT];

    if (!(left > 0)) {
        say(out, "; start-up alone takes %s", text_duration(startup, text, sizeof text));
        return;
    }
    if (times < 100)
        say(out, "; steps would have to be %.2g times as fast", times);
    else
        say(out, "; steps would have to be %s times as fast",
            text_grouped((uint64_t)times, text, sizeof text));
    if (more)
        say(out, ", or take up to %lld nodes (--nodes)", (long long)more);
    else if (*job->side[fastest->machine].one_node)
        say(out, "; of several nodes nothing is known, %s", job->side[fastest->machine].one_node);
    else
        say(out, ", and more nodes do not help: take %sanother --batch or machine",
            infers(job) ? "" : "fewer epochs, ");
}

static void say_cheaper(const plan_job *job, const plan *cheapest, char *out)
{
    plan_view spot = job->view;

    spot.tier = PRICE_SPOT;
    if (job->view.tier != PRICE_SPOT &&
        plan_choose(&job->set, job->machine, GOAL_COST, &job->limits, &spot)) {
        const money m = cost_of(job, cheapest, &spot);
        char        text[MONEY_TEXT];

        say(out, "; at spot prices %s (--spot)", money_print(&m, text));
    } else {
        say(out, "; take fewer %s or a cheaper machine",
            infers(job) ? plan_sample_word(job) : "epochs");
    }
}

/* The best plan of one machine under the limits that it can meet. */
const char *plan_unmet_print(const plan_job *job, size_t machine, char out[PLAN_SENTENCE])
{
    const plan_limits time_only = { job->limits.seconds, INFINITY, machine },
                      none      = { INFINITY, INFINITY, machine };
    const plan *in_time = plan_choose(&job->set, job->machine, GOAL_COST, &time_only, &job->view),
               *fastest = plan_choose(&job->set, job->machine, GOAL_TIME, &none, &job->view);

    *out = '\0';
    say(out, "%s: no plan keeps to the limits: ", job->side[machine].name);
    if (!fastest) {
        say(out, "none is possible");
    } else {
        say(out, "%s", in_time ? "in time the cheapest is " : "the fastest is ");
        say_plan(job, in_time ? in_time : fastest, out);
    }
    return out;
}

lm_status plan_unmet(const plan_job *job, lm_error *err)
{
    const plan_limits time_only = { job->limits.seconds, INFINITY, ANY_MACHINE },
                      cost_only = { INFINITY, job->limits.cost, ANY_MACHINE },
                      none      = { INFINITY, INFINITY, ANY_MACHINE };
    const plan *fastest  = plan_choose(&job->set, job->machine, GOAL_TIME, &none, &job->view);
    const plan *cheapest = plan_choose(&job->set, job->machine, GOAL_COST, &none, &job->view);
    const plan *in_time  = plan_choose(&job->set, job->machine, GOAL_COST, &time_only, &job->view);
    const plan *in_cost  = plan_choose(&job->set, job->machine, GOAL_TIME, &cost_only, &job->view);
    char        out[PLAN_SENTENCE] = "", text[HOURS_TEXT];
    money       budget             = { .amount = job->limits.cost };

    strcpy(budget.currency, job->currency);
    if (!in_time) {
        if (job->question.rate > 0)
            say(out, "no plan %s %.6g %s a second", job->span.tokens ? "generates" : "infers",
                job->question.rate, plan_sample_word(job));
        else
            say(out, "no plan finishes within %s",
                text_duration(job->limits.seconds, text, sizeof text));
        say(out, ": the fastest is ");
        say_plan(job, fastest, out);
        say_help(job, fastest, out);
    } else if (!in_cost) {
        char amount[MONEY_TEXT];

        say(out, "no plan costs at most %s: the cheapest is ", money_print(&budget, amount));
        say_plan(job, cheapest, out);
        say_cheaper(job, cheapest, out);
    } else {
        say(out, "no plan keeps to both limits: in time the cheapest is ");
        say_plan(job, in_time, out);
        say(out, "; for the money the fastest is ");
        say_plan(job, in_cost, out);
    }
    return lm_error_set(err, LM_E_NOTFOUND, "%s", out);
}
