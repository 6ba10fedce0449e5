/* Gathers the data of a report: asks the models. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/order.h"
#include "pages/page.h"
#include "pages/page_parts.h"
#include "plan/limits.h"
#include "predict/predict.h"
#include "predict/recompute.h"
#include "program/rank_memory.h"

/* ---- labels ---- */

/* Longer names do not fit under a picture. */
#define LABEL_MAX 28
/* Behind the label of a machine that nobody measured. */
#define TRANSFERRED " (transferred)"

/* The name of a path before its last `less` names, without `ending`. */
static void name_of(const char *path, int less, const char *ending, char *out, size_t size)
{
    size_t n = strlen(path), begin;

    for (; less > 0; less--) {
        while (n && path[n - 1] != '/')
            n--;
        while (n && path[n - 1] == '/')
            n--;
    }
    for (begin = n; begin && path[begin - 1] != '/';)
        begin--;
    if (n - begin > strlen(ending) && !strncmp(path + n - strlen(ending), ending, strlen(ending)))
        n -= strlen(ending);
    if (n - begin <= LABEL_MAX) {
        snprintf(out, size, "%.*s", (int)(n - begin), path + begin);
        return;
    }
    for (n = begin + LABEL_MAX; n > begin && (path[n] & 0xC0) == 0x80;) /* no half character */
        n--;
    snprintf(out, size, "%.*s…", (int)(n - begin), path + begin);
}

static bool label_taken(const page *p, size_t i)
{
    for (size_t k = 0; k < p->n_machines; k++)
        if (k != i && !strcmp(p->machine[k].label, p->machine[i].label))
            return true;
    return false;
}

void page_label(page *p)
{
    bool again[PAGE_MACHINES];

    for (size_t i = 0; i < p->n_machines; i++)
        name_of(p->machine[i].file, 0, ".ini", p->machine[i].label, PAGE_NAME);
    for (size_t i = 0; i < p->n_machines; i++)
        again[i] = label_taken(p, i) || !strcmp(p->machine[i].label, "machine");
    for (size_t i = 0; i < p->n_machines; i++) {
        page_machine *m = &p->machine[i];

        if (again[i])
            name_of(m->file, 1, "", m->label, PAGE_NAME);
        if (!*m->label)
            name_of(m->file, 0, ".ini", m->label, PAGE_NAME);
    }
    for (size_t i = 0; i < p->n_machines; i++)
        if (p->machine[i].who && p->machine[i].who->cal && p->machine[i].who->cal->transferred)
            strcat(p->machine[i].label, TRANSFERRED); /* LABEL_MAX leaves room for it */
    for (size_t i = 0; i < p->n_machines; i++)
        again[i] = label_taken(p, i);
    for (size_t i = 0; i < p->n_machines; i++) { /* the last resort: numbers */
        char        *label = p->machine[i].label;
        const size_t n     = strlen(label);

        if (again[i])
            snprintf(label + n, PAGE_NAME - n, " (%zu)", i + 1);
    }
}

/* ---- points ---- */

/* A machine without calibration of several nodes still answers for one node, and a layout for nodes that
 * it divides. Any other failure is an error. */
static bool may_refuse(const page *p, lm_status status, int64_t nodes)
{
    return (status == LM_E_NOTFOUND && nodes * p->question.setup.devices > 1) ||
           (status == LM_E_ARG && p->layout);
}

static scale_question question_of(const page *p, const page_machine *m)
{
    scale_question q = p->question;

    q.setup.again = m->again;
    return q;
}

lm_status page_setup(const page *p, const page_machine *m, int64_t nodes, step_setup *out,
                     lm_error *err)
{
    const scale_question q = question_of(p, m);

    return scale_setup(&q, nodes, out, err);
}

static lm_status gather_again(const page *p, page_machine *m, lm_error *err)
{
    const char *recompute = p->question.setup.layout.recompute;
    step_setup  s         = p->question.setup;

    if (!p->layout || !strcmp(recompute, "none"))
        return LM_OK;
    return recompute_share(m->who, &s, recompute, &m->again, err);
}

/* Least squares can give a negative step far from the measurements. */
static lm_status check_above_0(const page_machine *m, const scale_point *x, lm_error *err)
{
    if (x->step.step > 0)
        return LM_OK;
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "%s predicts a step of %.3g ms on %lld node%s: no time; take another --model",
        m->who->model, 1e3 * x->step.step, (long long)x->step.nodes, x->step.nodes == 1 ? "" : "s");
}

/* Inference: replicas do not wait for each other, so one stands for all. */
static lm_status gather_batches(const page *p, page_machine *m, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < p->n_nodes && !status; i++) {
        scale_question q = p->question;

        q.setup.batch = p->batch[i];
        status        = scale_fits_dataset(&q, p->nodes[i], err);
        if (!status)
            status = scale_at(m->who, &q, p->nodes[i], &m->point[i], err);
        if (!status)
            status = check_above_0(m, &m->point[i], err);
    }
    return status;
}

static lm_status gather_points(const page *p, page_machine *m, lm_error *err)
{
    scale_question q;
    scale_curve    curve;
    lm_status      status = gather_again(p, m, err);

    if (status)
        return status;
    q        = question_of(p, m);
    m->point = calloc(p->n_nodes + 1, sizeof *m->point);
    if (!m->point)
        return no_memory(err);
    m->turning.nodes = -1;
    if (p->batch)
        return gather_batches(p, m, err);
    if ((status = scale_curve_begin(m->who, &q, &curve, err)))
        return status;
    for (size_t i = 0; i < p->n_nodes; i++) {
        status = scale_fits_dataset(&p->question, p->nodes[i], err);
        if (!status)
            status = scale_curve_at(&curve, p->nodes[i], &m->point[i], err);
        if (!status)
            status = check_above_0(m, &m->point[i], err);
        if (status && !may_refuse(p, status, p->nodes[i]))
            return status;
        if (!status)
            continue;
        m->refused            = *err;
        m->point[i].step.step = NAN;
    }
    if (p->layout)
        return LM_OK;
    status = scale_curve_turning(&curve, &m->turning, err);
    return status == LM_E_NOTFOUND ? LM_OK : status;
}

/* Has any machine a known point? */
static lm_status check_points(const page *p, lm_error *err)
{
    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < p->n_nodes; i++)
            if (page_known(&p->machine[k].point[i]))
                return LM_OK;
    *err = p->machine[0].refused;
    return err->code;
}

/* The most nodes for which all machines with several nodes were calibrated; else the fewest above
 * one. */
static int64_t nodes_within(const page *p)
{
    int64_t most = p->nodes[0];

    for (size_t i = 0; i < p->n_nodes && p->layout;
         i++) /* nothing was measured: the most there are */
        if (page_point(p, &p->machine[0], p->nodes[i]))
            most = p->nodes[i];
    for (size_t i = 0; i < p->n_nodes && !p->layout; i++) {
        bool within = true;

        for (size_t k = 0; k < p->n_machines; k++)
            within &= !page_known(&p->machine[k].point[i]) ||
                      p->nodes[i] * p->question.setup.devices <= p->machine[k].who->cal->max_ranks;
        if (within || (most == 1 && i < 2))
            most = p->nodes[i];
    }
    return most;
}

/* ---- one step in detail ---- */

/* Some models have no buckets: the page says so. */
static lm_status gather_buckets(page_machine *m, const step_setup *s, lm_error *err)
{
    prediction      step;
    const lm_status status = predict_timeline(m->who, s, &step, &m->buckets, err);

    if (status != LM_E_UNSUPPORTED)
        return status;
    m->untold = *err;
    return LM_OK;
}

ORDER_DOWN_BY(by_seconds, explained, seconds)

/* Work of the device itself, the longest first. All-reduces run beside it, and the timeline shows
 * them; under a layout all parts are there. */
static lm_status gather_work(page_machine *m, bool laid, explain_key key, explained **row,
                             size_t *n, lm_error *err)
{
    size_t          all, kept = 0;
    const lm_status status = explain_by(m->apart, key, row, &all, err);

    if (status)
        return status;
    for (size_t i = 0; i < all; i++) {
        explained x = (*row)[i];

        x.seconds -= laid ? 0 : x.part[PHASE_SYNC];
        if (x.seconds > 1e-9 * m->apart->step.step)
            (*row)[kept++] = x;
    }
    qsort(*row, kept, sizeof **row, by_seconds);
    *n = kept;
    return LM_OK;
}

/* The stages of a pipeline, where a picture can show their tasks. */
static lm_status gather_stages(const page *p, page_machine *m, const step_setup *s, lm_error *err)
{
    const double tasks =
        2.0 * (double)s->layout.pp * (double)s->layout.vp * (double)s->sync.accumulation;
    lm_status status;

    if (!p->layout || s->layout.pp == 1 || tasks > PAGE_TASKS)
        return LM_OK;
    status = timeline_picture_of(m->who, s, &m->apart->step, p->layout, &m->tasks, &m->stages, err);
    if (!status)
        timeline_begin(&m->tasks, &m->stages);
    return status;
}

static lm_status gather_apart(const page *p, page_machine *m, lm_error *err)
{
    step_setup s;
    lm_status  status;

    m->at  = page_point(p, m, p->at) || p->layout ? p->at : 1;
    status = page_setup(p, m, m->at, &s, err);
    if (!status)
        status = explain_step(m->who, &s, &m->apart, err);
    if (!status && !(m->apart->step.step > 0))
        status = lm_error_set(err, LM_E_NOTFOUND,
                              "%s: %s predicts a step of %.3g ms: no time; take another --model",
                              m->file, m->who->model, 1e3 * m->apart->step.step);
    if (!status)
        status = gather_work(m, p->layout != NULL, EXPLAIN_CLASS, &m->kernels, &m->n_kernels, err);
    if (!status)
        status = gather_work(m, p->layout != NULL, EXPLAIN_BLOCK, &m->blocks, &m->n_blocks, err);
    for (size_t i = 0; i < m->n_kernels; i++)
        m->work += m->kernels[i].seconds;
    if (!status && !p->batch)
        status = gather_stages(p, m, &s, err);
    return status || p->batch ? status : gather_buckets(m, &s, err);
}

/* Memory over a step: of the fullest rank, where ranks share the network. */
static lm_status gather_rank(page *p, const step_setup *s, const bind_options *b, memory_options *o,
                             lm_error *err)
{
    layout            l = s->layout;
    const rank_memory m = { .net  = p->held ? p->held : p->net,
                            .reg  = p->registry,
                            .bind = b,
                            .how  = o,
                            .l    = p->layout ? &l : NULL };
    lm_status         status;

    l.micro_batch  = s->batch;
    l.accumulation = s->sync.accumulation;
    if (p->layout && strcmp(l.recompute, "none") != 0)
        o->recompute = s->layout.recompute;
    if (p->layout && ((status = layout_settle(&l, NULL, step_setup_ranks(s), err)) ||
                      (status = rank_memory_check(&l, err))))
        return status;
    return rank_memory_over_step(&m, &p->use, &p->rank, &p->moment, &p->n_moments, err);
}

static lm_status gather_memory(page *p, lm_error *err)
{
    const device_room none = { .bytes = 0 };
    limits            room = { .who = p->machine[0].who, .room = { .bytes = p->memory } };
    memory_types      types;
    memory_options    o;
    bind_options      b = p->bind;
    step_setup        s;
    lm_status         status = scale_setup(&p->question, p->at, &s, err);

    if (status || (status = limits_begin(&room, err)))
        return status;
    p->memory    = room.room.bytes;
    b.batch      = s.batch;
    b.on         = p->machine[0].who->on;
    b.evaluation = p->batch != NULL;
    types        = limits_types_of(p->machine[0].who, &s);
    b.dtype      = types.dtype;
    o            = room_options(&s.sync, s.optimizer, b.dtype, &none, step_setup_ranks(&s) > 1,
                                s.sync.accumulation > 1 && !types.sums);
    o.mixed      = types.mixed;
    o.sums       = types.sums;
    return gather_rank(p, &s, &b, &o, err);
}

lm_status page_gather(page *p, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t k = 0; k < p->n_machines && !status; k++)
        status = gather_points(p, &p->machine[k], err);
    if (!status)
        status = check_points(p, err);
    if (status)
        return status;
    p->at = nodes_within(p);
    for (size_t k = 0; k < p->n_machines && !status; k++)
        status = gather_apart(p, &p->machine[k], err);
    if (!status)
        status = gather_memory(p, err);
    if (!status)
        status = scale_tokens(p->machine[0].who, &p->tokens, err);
    if (status)
        return status;
    if (p->batch) {
        page_batches_charts(p);
        return LM_OK;
    }
    page_scaling_charts(p);
    page_step_charts(p);
    page_overlap_charts(p);
    page_memory_charts(p);
    page_cost_charts(p);
    page_calibration_charts(p);
    return LM_OK;
}

void page_free(page *p)
{
    for (size_t k = 0; k < p->n_machines; k++) {
        free_all(p->machine[k].point, p->machine[k].kernels, p->machine[k].blocks);
        explanation_free(p->machine[k].apart);
        free(p->machine[k].buckets.bucket);
        free(p->machine[k].tasks.task);
    }
    for (size_t i = 0; i < p->n_charts; i++)
        free(p->chart[i].svg);
    free(p->moment);
}
