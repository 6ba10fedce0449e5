/* Plans a run: batches, plans, answers. */
#include "plan/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "plan/limits.h"

/* ---- prices ---- */

bool plan_job_priced(const plan_job *job, const char **why)
{
    for (size_t i = 0; i < job->n; i++)
        if (!*job->side[i].no_price)
            return true;
    if (why)
        *why = job->side[0].no_price;
    return false;
}

const char *plan_price_name(const plan_job *job)
{
    if (!plan_job_priced(job, NULL))
        return NULL;
    for (size_t i = 0; i < job->n; i++)
        if (job->side[i].price)
            return price_tier_name(job->view.tier);
    return "given";
}

/* ---- batches ---- */

/* Batches: powers of two, up to the largest that fits any machine and the data set. */
static lm_status automatic(plan_job *job, lm_error *err)
{
    plan_question *q    = &job->question;
    int64_t        most = 0;

    for (size_t i = 0; i < job->n; i++) {
        if (!job->side[i].room.bytes)
            return lm_error_set(
                err, LM_E_NOTFOUND,
                "%s does not state the memory of its device, which --batch auto needs: "
                "give --memory 80GB, --device or a list of batches",
                job->side[i].name);
        for (size_t k = 0; k < PLAN_SHARES; k++) {
            const int64_t fits = job->machine[i].fits[k].largest[0][0];

            most = fits > most ? fits : most;
        }
    }
    most           = most < q->training.dataset ? most : q->training.dataset;
    job->own_batch = calloc(64, sizeof *job->own_batch);
    if (!job->own_batch)
        return no_memory(err);
    q->n_batch = 0;
    for (int64_t b = 1; b <= most; b *= 2)
        job->own_batch[q->n_batch++] = b;
    if (!q->n_batch) /* the message names what a plan lacks */
        job->own_batch[q->n_batch++] = 1;
    q->batch = job->own_batch;
    return LM_OK;
}

bool plan_job_too_large(const plan_job *job)
{
    const plan_question *q     = &job->question;
    const bool           train = q->setup.program == PROGRAM_TRAINING;
    const int64_t        ranks = train ? q->nodes[0] * q->setup.devices : 1;
    size_t               n     = 0;

    for (size_t i = 0; i < job->n; i++)
        n += job->side[i].room.bytes &&
             !batch_limit(job->machine[i].fits, ranks,
                          q->global_batch ? 2 : q->setup.sync.accumulation);
    return train ? n > 0 : n == job->n;
}

/* ---- search ---- */

/* Forgets what was counted since; plans that are there stay. */
static void forget(plan_set *set, const plan_set *before)
{
    const plan_set now = *set;

    *set      = *before;
    set->plan = now.plan;
    set->room = now.room;
}

/* Plans of one batch list. A machine without calibration for several nodes is planned on one, unless
 * the user asked for several. */
static lm_status search_batches(plan_job *job, size_t i, const plan_question *asked, lm_error *err)
{
    static const int64_t one    = 1;
    plan_side           *side   = &job->side[i];
    plan_question        q      = *asked;
    const plan_set       before = job->set;
    const lm_status      status = plan_search(&job->machine[i], i, &q, &job->set, err);

    if (status != LM_E_NOTFOUND || job->nodes_given || q.setup.devices > 1)
        return status;
    strcpy(side->one_node, err->text);
    forget(&job->set, &before);
    q.nodes   = &one;
    q.n_nodes = 1;
    return plan_search(&job->machine[i], i, &q, &job->set, err);
}

/* A batch that the user did not give is halved until it fits the memory and --within. */
static lm_status search_one(plan_job *job, size_t i, lm_error *err)
{
    plan_side     *side   = &job->side[i];
    plan_question  q      = job->question;
    const plan_set before = job->set;
    lm_status      status;

    q.setup.again = side->again;
    status        = search_batches(job, i, &q, err);
    for (side->batch = *q.batch; job->batch_free && !status && job->set.n == before.n;) {
        side->smaller = job->set.no_messages > before.no_messages
                            ? "needs messages without a price (--interconnect)"
                        : job->set.too_slow > before.too_slow   ? "takes longer than --within"
                        : job->set.too_large > before.too_large ? "does not fit its memory"
                                                                : NULL;
        if (!side->smaller || side->batch == 1)
            break;
        forget(&job->set, &before);
        side->batch /= 2;
        q.batch = &side->batch;
        status  = search_batches(job, i, &q, err);
    }
    return status;
}

/* The largest batch that fits the first machine in any way of sharing. */
static int64_t largest_of_ways(const plan_job *job, int64_t devices)
{
    const plan_question *q    = &job->question;
    int64_t              most = 0;

    for (size_t k = 0; !k || k < q->n_shares; k++) {
        const int64_t fits = batch_limit(&job->machine[0].fits[k], devices,
                                         q->global_batch ? 2 : q->setup.sync.accumulation);

        most = fits > most ? fits : most;
    }
    return most;
}

/* Error of batches that do not fit: the largest that does, or what helps. */
static lm_status too_large(const plan_job *job, lm_error *err)
{
    const plan_question *q       = &job->question;
    const plan_side     *side    = &job->side[0];
    const step_setup     least   = { .nodes = q->nodes[0], .devices = q->setup.devices };
    const int64_t        devices = step_setup_ranks(&least), fits = largest_of_ways(job, devices);
    const bind_options   b  = limits_bind(side->who, q->setup.program);
    memory_options    with  = room_options(&q->setup.sync, q->setup.optimizer, b.dtype, &side->room,
                                           devices > 1, q->global_batch > 0);
    const rank_memory alone = { .net = job->net, .reg = job->reg, .bind = &b, .how = &with };
    char              remedy[ROOM_REMEDY], room[ROOM_SIZE];

    with.masters = true; /* of what the remedy has in 16 bits */
    room_size((double)side->room.bytes, room);
    if (fits)
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "%s: batch %lld does not fit %s of memory: the largest that fits is %lld", side->name,
            (long long)q->batch[0], room, (long long)fits);
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "%s: not even batch 1 fits %s of memory: %s; a shorter sample (%s--sequence, "
        "--image) needs less",
        side->name, room,
        q->setup.program == PROGRAM_INFERENCE
            ? "let more devices share the network (--devices-per-node 8 tries each "
              "--tp and --pp), or take a larger one"
            : room_remedy(&alone, side->room.bytes, remedy),
        q->setup.program == PROGRAM_INFERENCE ? "--context, " : "");
}

/* Error if there is no plan, with the reason. */
static lm_status nothing_left(const plan_job *job, lm_error *err)
{
    const plan_question *q    = &job->question;
    const plan_side     *side = &job->side[0];

    if (job->set.no_messages) /* a way that fits */
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "%s: devices that share the network send each other messages, which have "
            "no prices: give --interconnect, or --bandwidth between nodes",
            side->name);
    if (job->set.too_slow)
        return lm_error_set(
            err, LM_E_NOTFOUND, "%s: a batch of %lld takes longer than --within %g ms: take %s",
            side->name, (long long)side->batch, q->within * 1e3,
            side->batch > 1 ? "a smaller --batch, or another machine"
                            : "another machine, or more devices that share the network");
    if (job->set.too_large)
        return too_large(job, err);
    if (job->set.no_time)
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "%s: the formulas of '%s' say that no step takes any time: they are far "
            "from what they were fitted to; take --model layermeter",
            side->name, side->who->model);
    if (job->set.no_end)
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "%s: devices fail more often than a run makes progress between checkpoints: give "
            "a longer --mtbf, a shorter --checkpoint or --restart, or fewer --nodes",
            side->name);
    if (job->set.idle)
        return lm_error_set(
            err, LM_E_ARG,
            "a global batch of %lld leaves devices idle at every number of nodes: take a "
            "larger one, or fewer --nodes",
            (long long)q->global_batch);
    return lm_error_set(err, LM_E_ARG,
                        "batch %lld on %lld device%s is more than the data set's %lld samples: "
                        "take a smaller --batch or fewer --nodes",
                        (long long)q->batch[0], (long long)(q->nodes[0] * q->setup.devices),
                        q->nodes[0] * q->setup.devices == 1 ? "" : "s",
                        (long long)q->training.dataset);
}

/* Tokens of a generation share the read of the weights, so a larger batch makes each cheaper. */
static bool chooses_batch(const plan_job *job)
{
    bool rooms = true;

    for (size_t i = 0; i < job->n; i++)
        rooms &= job->side[i].room.bytes > 0;
    return job->automatic || (job->batch_free && job->span.tokens && rooms);
}

lm_status plan_job_search(plan_job *job, lm_error *err)
{
    lm_status status = chooses_batch(job) ? automatic(job, err) : LM_OK;

    for (size_t i = 0; i < job->n && !status; i++)
        status = search_one(job, i, err);
    if (!status && !job->set.n)
        status = nothing_left(job, err);
    if (!status)
        status = plan_mark_dominated(&job->set, job->machine, &job->view, err);
    return status;
}

/* ---- answers ---- */

static void ask(const plan_job *job, plan_goal goal, size_t machine, plan_answers *out)
{
    plan_limits within = job->limits;

    within.machine = machine;
    if (plan_answer_find(&job->set, job->machine, goal, &within, &job->view, &out->answer[out->n]))
        out->n++;
}

static plan_goal first_goal(const plan_job *job)
{
    if (!isinf(job->limits.seconds))
        return GOAL_NODES;
    return !isinf(job->limits.cost) || !plan_job_priced(job, NULL) ? GOAL_TIME : GOAL_COST;
}

void plan_job_ask(const plan_job *job, plan_answers *out)
{
    const plan_goal first = first_goal(job);

    for (size_t i = 0; i < job->n; i++) /* plans without a price have no cheapest one */
        ask(job, first == GOAL_COST && *job->side[i].no_price ? GOAL_TIME : first, i, out);
    if (!out->n)
        return;
    if (job->n > PLAN_MACHINES_FEW && first == GOAL_COST)
        ask(job, first, ANY_MACHINE, out);
    if (first == GOAL_NODES && plan_job_priced(job, NULL))
        ask(job, GOAL_COST, ANY_MACHINE, out);
    else if (first == GOAL_COST || job->n > 1)
        ask(job, GOAL_TIME, ANY_MACHINE, out);
}

void plan_job_free(plan_job *job)
{
    plan_set_free(&job->set);
    free_all(job->own_batch, job->side, job->machine, job->half);
}
