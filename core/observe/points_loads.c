/* Counts and terms of points. */
#include "observe/points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/names.h"
#include "base/no_memory.h"
#include "counts/known.h"
#include "network/autocast.h"
#include "observe/judge.h"

static lm_status layer_counts(const observation *row, const registry *reg, layer_work *work,
                              layer_shape *shape, net_metrics *out, lm_error *err)
{
    network       *net;
    bound_network *bound;
    lm_status      status = row_bind_layer(row, reg, &net, &bound, err);

    if (status)
        return status;
    status = metrics_of_network(bound, NULL, out, err);
    shape_of_chain(bound, work, shape);
    bound_network_free(bound);
    network_free(net);
    return status;
}

workload_name row_workload(const observation *row, bool evaluation)
{
    return (workload_name){ .name       = row->name,
                            .input      = row->input,
                            .dtype      = row->dtype,
                            .mixed      = autocast_of_settings(row->settings),
                            .on         = row->on,
                            .evaluation = evaluation };
}

const workload *point_load(const point *p, phase which)
{
    return which == PHASE_INFERENCE ? &p->evaluated : &p->load;
}

/* Was a network's point measured in evaluation mode? */
static bool evaluated(const point *pt)
{
    return pt->row->kind == OBS_NETWORK && !isnan(pt->seconds[PHASE_INFERENCE]);
}

static lm_status count_network(workloads *loads, point *pt, bool evaluation, net_metrics *out,
                               lm_error *err)
{
    const workload_name of     = row_workload(pt->row, evaluation);
    const lm_status     status = workloads_counts(loads, &of, pt->row->batch, out, err);

    return status ? status : workloads_input(loads, &of, &pt->input, err);
}

static lm_status count_load(workloads *loads, arena *shapes, point *pt, lm_error *err)
{
    const observation *row    = pt->row;
    lm_status          status = LM_OK;
    layer_shape        shape;
    layer_work         work;

    pt->input = "";
    if (row->kind == OBS_COUNTS) {
        pt->input = row->input;
        status    = counts_parse(row->geometry, row->batch, row->dtype, &pt->load, err);
    } else if (row->kind == OBS_NETWORK) {
        status = count_network(loads, pt, false, &pt->load.counts, err);
    } else if (row->kind == OBS_LAYER) {
        pt->input = row->input;
        status = layer_counts(row, workloads_registry(loads), &work, &shape, &pt->load.counts, err);
        if (!status && shape.kind == SHAPE_WORK &&
            !(shape.work = arena_copy(shapes, &work, 1, sizeof work)))
            return no_memory(err);
        if (!status && shape.kind != SHAPE_OTHER &&
            !(pt->shape = arena_copy(shapes, &shape, 1, sizeof shape)))
            status = no_memory(err);
    }
    pt->load.nodes = (double)row->ranks;
    pt->load.hosts = (double)row->hosts;
    pt->load.bytes =
        row->kind == OBS_COLLECTIVE ? (double)row->bytes : (double)pt->load.counts.param_bytes;
    pt->evaluated = pt->load;
    return status || !evaluated(pt) ? status
                                    : count_network(loads, pt, true, &pt->evaluated.counts, err);
}

/* Counts all networks at once, in parallel: that is most of the work. */
static lm_status prepare_networks(workloads *loads, const points *p, lm_error *err)
{
    workload_name *of = malloc((2 * p->n_points + 1) * sizeof *of);
    size_t         n  = 0;
    lm_status      status;

    if (!of)
        return no_memory(err);
    for (size_t i = 0; i < p->n_points; i++) {
        const observation *row = p->point[i].row;

        if (row->kind == OBS_NETWORK)
            of[n++] = row_workload(row, false);
        if (evaluated(&p->point[i]))
            of[n++] = row_workload(row, true);
    }
    status = workloads_prepare(loads, of, n, err);
    free(of);
    return status;
}

/* Notes a row that its network refuses. It is reported after doubts about other rows. */
static lm_status note_refused(points *p, const point *pt, const lm_error *why, lm_error *err)
{
    const doubt d = { .kind = DOUBT_REFUSED,
                      .row  = pt->row,
                      .line = pt->row->line,
                      .why  = arena_text(p->shapes, why->text, strlen(why->text)) };

    return d.why && doubts_add(p->doubts, &d) ? LM_OK : no_memory(err);
}

/* Drops groups without accepted points. */
static lm_status drop_empty_groups(points *p, lm_error *err)
{
    size_t *to = calloc(p->n_groups + 1, sizeof *to), n = 0;

    if (!to)
        return no_memory(err);
    for (size_t i = 0; i < p->n_points; i++)
        to[p->point[i].group] = 1;
    for (size_t g = 0; g < p->n_groups; g++)
        if (to[g]) {
            p->group[n] = p->group[g];
            to[g]       = n++;
        }
    for (size_t i = 0; i < p->n_points; i++)
        p->point[i].group = to[p->point[i].group];
    if (p->collectives != NAMES_NONE)
        p->collectives = to[p->collectives];
    p->n_groups = n;
    free(to);
    return LM_OK;
}

lm_status points_count_loads(const observations *obs, workloads *loads, points *p, lm_error *err)
{
    lm_status status   = prepare_networks(loads, p, err);
    size_t    kept     = 0;
    bool      networks = false;

    for (size_t i = 0; i < p->n_points && !status; i++) {
        const observation *row = p->point[i].row;
        lm_error           why = { LM_OK, "" };

        status = count_load(loads, p->shapes, &p->point[i], &why);
        if (!status) {
            networks |= row->kind == OBS_NETWORK;
            p->point[kept++] = p->point[i];
        } else if (status == LM_E_SHAPE && row->kind == OBS_NETWORK &&
                   (networks || i + 1 < p->n_points)) {
            status = note_refused(p, &p->point[i], &why, err);
        } else {
            *err = why;
            lm_error_prefix(err, "%s:%d", obs->path, row->line);
        }
    }
    if (status || kept == p->n_points)
        return status;
    p->n_points = kept;
    return drop_empty_groups(p, err);
}

static lm_status keep_pass(arena *a, const term_vector *from, term_vector *to, lm_error *err)
{
    *to = (term_vector){ arena_copy(a, from->item, from->n, sizeof *from->item), from->n };
    return to->item || !to->n ? LM_OK : no_memory(err);
}

/* Optimizer for terms. Updates that are no map of the weights have no terms and are not fitted. */
static optimizer update_by(const observation *row)
{
    optimizer o;

    return optimizer_parse(observation_optimizer(row), &o, NULL) || !optimizer_is_measured(o)
               ? OPTIMIZER_MOMENTUM
               : o;
}

/* Terms of a network of a row in one mode. */
static lm_status keep_terms(workloads *loads, const observation *row, bool evaluation,
                            const term_settings *s, arena *a, full_workload *room, workload *to,
                            lm_error *err)
{
    const workload_name of   = row_workload(row, evaluation);
    const workload     *load = &room->load;
    lm_status status         = workloads_full(loads, &of, row->batch, s, update_by(row), room, err);

    to->tokens = load->tokens;
    if (status || (status = keep_pass(a, &load->forward, &to->forward, err)) ||
        (status = keep_pass(a, &load->backward, &to->backward, err)))
        return status;
    return keep_pass(a, &load->update, &to->update, err);
}

lm_status points_count_terms(points *p, workloads *loads, const term_settings *s, lm_error *err)
{
    arena         *a      = arena_new();
    full_workload *full   = malloc(sizeof *full);
    lm_status      status = a && full ? LM_OK : no_memory(err);

    for (size_t i = 0; i < p->n_points && !status; i++) {
        point             *pt  = &p->point[i];
        const observation *row = pt->row;

        if (row->kind != OBS_NETWORK)
            continue;
        status = keep_terms(loads, row, false, s, a, full, &pt->load, err);
        if (!status && evaluated(pt))
            status = keep_terms(loads, row, true, s, a, full, &pt->evaluated, err);
    }
    free(full);
    arena_free(p->terms);
    p->terms = a;
    return status;
}
