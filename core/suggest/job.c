/* The next points to measure, from a question. */
#include "suggest/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "observe/variants.h"

static const design_speeds usual_speeds = { 4e10, 4e9 };

/* ---- what is known --------------------------------------------------------------------------- */

static lm_status take_observations(suggest_job *q, const char *path, lm_error *err)
{
    const char *usual = NULL;
    lm_status   status;
    variants    all;

    if ((status = observations_load(path, &q->obs, err)) ||
        (status = points_from(q->obs, q->loads, &q->p, err)))
        return status;
    if (q->a->where && (status = points_where(&q->p, q->a->where, err))) {
        lm_error_prefix(err, "%s", q->obs->path);
        return status;
    }
    if ((status = points_check_variants(&q->p, q->obs->path, err)) ||
        (status = variants_of(&q->p, &all, err)))
        return status;
    if (all.n)
        strcpy(q->variant, all.of[0].text);
    variants_free(&all);
    for (size_t i = 0; i < q->p.n_points; i++) {
        const observation *row = q->p.point[i].row;

        usual = points_usual_optimizer(usual, row);
        if (observation_of_network(row))
            q->dtype = row->dtype;
        if (!q->a->max_nodes && row->ranks > q->max_nodes)
            q->max_nodes = row->ranks;
    }
    if (usual && optimizer_parse(usual, &q->update, NULL))
        q->update = OPTIMIZER_MOMENTUM;
    return LM_OK;
}

static lm_status learn(suggest_job *q, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < q->p.n_points && !status; i++) {
        design_times      times;
        const design_case what = candidates_case(&q->c, &q->p.point[i], &times);

        if (!(what.parts & DESIGN_STEP))
            continue;
        q->n_learned++;
        status = design_measured(q->d, &what, &times, err);
    }
    return status ? status : design_update(q->d, err);
}

/* ---- what could be measured ------------------------------------------------------------------ */

/* Numbers of ranks: 1, 2, 4 ... and the maximum. */
static lm_status list_ranks(suggest_job *q, lm_error *err)
{
    q->ranks = malloc(65 * sizeof *q->ranks);
    if (!q->ranks)
        return no_memory(err);
    for (int64_t r = 1; r < q->max_nodes; r *= 2) {
        q->ranks[q->n_ranks++] = r;
        if (r > q->max_nodes / 2)
            break; /* the next power of two is larger, or none of this type */
    }
    q->ranks[q->n_ranks++] = q->max_nodes;
    return LM_OK;
}

static lm_status add_named(suggest_job *q, const word_list *name, const candidate_ranges *r,
                           const char *option, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < name->n && !status; i++)
        if ((status = candidates_add(&q->c, q->loads, name->at[i], r, err)))
            lm_error_prefix(err, "%s", option);
    return status;
}

static lm_status add_shipped(suggest_job *q, const candidate_ranges *named, lm_error *err)
{
    candidate_ranges r = *named;
    network_names    known;
    lm_status        status = network_list(&known, err);

    if (status)
        return status;
    r.most_params = CANDIDATES_MOST_PARAMS;
    for (size_t i = 0; i < known.n && !status; i++) {
        lm_error ignored;

        /* a network that needs arguments is no candidate */
        if (candidates_add(&q->c, q->loads, known.name[i], &r, &ignored) == LM_E_NOMEM)
            status = no_memory(err);
    }
    network_names_free(&known);
    return status;
}

static lm_status add_candidates(suggest_job *q, lm_error *err)
{
    const suggest_question *a      = q->a;
    const size_t            n      = a->try_image.n;
    int64_t                *image  = calloc(n + 1, sizeof *image);
    candidate_ranges        r      = { .batch   = a->try_batch.at,
                                       .image   = image,
                                       .n_batch = a->try_batch.n,
                                       .n_image = n + 1,
                                       .dtype   = q->dtype };
    lm_status               status = image ? list_ranks(q, err) : no_memory(err);

    if (!status) {
        memcpy(image + 1, a->try_image.at, n * sizeof *image); /* the file's own first */
        r.ranks   = q->ranks;
        r.n_ranks = q->n_ranks;
        status    = a->from.n ? add_named(q, &a->from, &r, "--from", err)
                              : add_named(q, &a->asked, &r, "--for", err);
    }
    if (!status && !a->from.n)
        status = add_shipped(q, &r, err);
    free(image);
    return status;
}

static lm_status add_targets(suggest_job *q, lm_error *err)
{
    for (size_t k = 0; k < q->a->asked.n; k++) {
        const size_t before = q->t.n;
        size_t      *of;
        lm_status    status =
            targets_add_at(&q->t, q->loads, q->a->asked.at[k], q->dtype, q->a->batch.at,
                           q->a->batch.n, q->a->nodes.at, q->a->nodes.n, err);

        if (status) {
            lm_error_prefix(err, "--for");
            return status;
        }
        of = realloc(q->target_of, (q->t.n + 1) * sizeof *of);
        if (!of)
            return no_memory(err);
        q->target_of = of;
        for (size_t i = before; i < q->t.n; i++)
            of[i] = k;
    }
    return LM_OK;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static lm_status fits(void *context, size_t at, bool *yes, lm_error *err)
{
    const suggest_job *q = context;

    return candidate_fits(&q->c.item[at], q->reg, q->dtype, q->update, (uint64_t)q->a->memory, yes,
                          err);
}

static lm_status nothing(const suggest_job *q, lm_error *err)
{
    double least = HUGE_VAL;

    for (size_t i = 0; i < q->c.n; i++)
        least = fmin(least, q->cost[i]);
    if (!q->c.n)
        return lm_error_set(
            err, LM_E_ARG,
            "nothing is left to measure: of these networks, batches and images %zu points "
            "are measured already and %zu are refused; give other --from, --try-batch or "
            "--try-image",
            q->c.n_measured, q->c.n_refused);
    if (q->s.n_refused)
        return lm_error_set(
            err, LM_E_ARG,
            "nothing to measure fits into %s: try more --memory, smaller --try-batch or "
            "--try-image",
            q->memory);
    return lm_error_set(
        err, LM_E_ARG,
        "no point takes less than --budget: the cheapest of %zu is expected to take %.2g s", q->c.n,
        least);
}

static lm_status find_answer(suggest_job *q, lm_error *err)
{
    const suggest_asked     asked  = { q->target_of, q->t.n, q->a->asked.n };
    const suggest_question *a      = q->a;
    const suggest_limits    limits = { isnan(a->budget) ? HUGE_VAL : a->budget, (size_t)a->points,
                                    a->memory ? fits : NULL, q };
    lm_status               status;

    if ((status =
             design_new(q->t.item, q->t.n, q->c.n_networks, &usual_speeds, q->known, &q->d, err)) ||
        (status = learn(q, err)))
        return status;
    q->cost = malloc((q->c.n + 1) * sizeof *q->cost);
    q->step = malloc((q->c.n + 1) * sizeof *q->step);
    if (!q->cost || !q->step)
        return no_memory(err);
    for (size_t i = 0; i < q->c.n; i++) {
        q->step[i] = design_step_seconds(q->d, &q->c.what[i]);
        q->cost[i] = candidate_cost(&stopping_usual, q->step[i]);
    }
    status = suggest_points(q->d, q->c.what, q->cost, q->c.n, &asked, &limits, &q->s, err);
    return status || q->s.n ? status : nothing(q, err);
}

lm_status suggest_job_run(suggest_job *q, const registry *reg, const char *observed, lm_error *err)
{
    lm_status status;

    q->reg       = reg;
    q->max_nodes = q->a->max_nodes;
    if ((status = workloads_new(reg, &q->loads, err)) || (status = candidates_new(&q->c, err)) ||
        (observed && (status = take_observations(q, observed, err))))
        return status;
    q->max_nodes = q->max_nodes ? q->max_nodes : 1;
    if ((status = candidates_measured(&q->c, &q->p, err)) || (status = add_candidates(q, err)) ||
        (status = add_targets(q, err)))
        return status;
    return find_answer(q, err);
}

void suggest_job_free(suggest_job *q)
{
    suggestion_free(&q->s);
    design_free(q->d);
    free_all(q->cost, q->step, q->target_of);
    targets_free(&q->t);
    candidates_free(&q->c);
    points_free(&q->p);
    observations_free(q->obs);
    workloads_free(q->loads);
    free(q->ranks);
}
