/* Points of a sweep during reading. */
#include "sweep/sweep_points.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

#define POINTS_MAX 100000 /* more is a typing error, not a sweep */
#define KEY_BYTES  1200

count_list sweep_list_or(count_list l, const int64_t *one)
{
    return l.n ? l : (count_list){ one, 1, false };
}

observation sweep_row(void)
{
    observation row = observation_blank;

    row.ranks = row.hosts = 1;
    return row;
}

lm_status sweep_fail_at(sweep_loading *l, int line, lm_status status, const char *key)
{
    lm_error_prefix(l->err, "%s:%d: %s", l->s->path, line, key);
    return status;
}

lm_status sweep_read(sweep_loading *l, const ini_section *s, const ini_key *keys, sweep_values *out)
{
    char what[80];

    snprintf(what, sizeof what, "[%.70s]", s->name);
    return ini_keys_read(l->s->path, s, keys, what, l->s->arena, out, l->err);
}

bool sweep_has(const sweep_loading *l, const observation *row)
{
    char text[KEY_BYTES];

    observation_key(row, text, sizeof text);
    return names_find(&l->keys, text) != NAMES_NONE;
}

lm_status sweep_add(sweep_loading *l, const sweep_point *p)
{
    sweep *s = l->s;
    char   text[KEY_BYTES], *kept;

    if (sweep_has(l, &p->row))
        return LM_OK;
    if (s->n_points == POINTS_MAX)
        return lm_error_set(l->err, LM_E_ARG, "more than %d points", POINTS_MAX);
    if (s->n_points == l->room) {
        const size_t room = l->room ? 2 * l->room : 128;
        sweep_point *more = realloc(s->point, room * sizeof *more);

        if (!more)
            return no_memory(l->err);
        s->point = more;
        l->room  = room;
    }
    observation_key(&p->row, text, sizeof text);
    kept = arena_text(s->arena, text, strlen(text));
    if (!kept || !names_add(&l->keys, kept, s->n_points))
        return no_memory(l->err);
    s->point[s->n_points++] = *p;
    return LM_OK;
}

sweep_work sweep_work_of_counts(const net_metrics *c)
{
    const double traffic = (double)c->read_bytes + (double)c->written_bytes;

    return (sweep_work){
        .forward_flops = (double)c->flops_forward,
        .all_flops     = (double)c->flops_forward + (double)c->flops_backward +
                     (double)c->other_flops_forward + (double)c->other_flops_backward,
        .all_bytes = traffic + 4 * (double)c->param_bytes,
        /* weights, gradients, momentum; outputs, and their gradients, as if all were kept */
        .memory = 3 * (double)c->param_bytes + 2 * (double)c->activation_bytes,
    };
}

/* Seconds of one repetition at the expected speeds. Only the filter max_seconds uses them: it must
 * select the same points on every machine. Expected times of a run are in run/cost.h. */
static double sweep_once_seconds(const sweep_loading *l, const sweep_work *work)
{
    return work->all_flops / l->common.flops_per_second +
           work->all_bytes / l->common.bytes_per_second + 1e-4;
}

bool sweep_wanted(const sweep_loading *l, const sweep_values *v, const sweep_work *work)
{
    return work->forward_flops >= v->min_flops &&
           (v->max_flops <= 0 || work->forward_flops <= v->max_flops) &&
           (v->max_bytes <= 0 || work->memory <= (double)v->max_bytes) &&
           (v->once_seconds <= 0 || sweep_once_seconds(l, work) <= v->once_seconds);
}
