/* Learned residuals of the prices of single layers. */
#include "single/residual.h"

#include <stdlib.h>

#include "base/no_memory.h"

void residual_set_free(residual_set *s)
{
    for (size_t c = 0; s && c < N_LAYER_CLASSES; c++)
        residual_free(s->of[c]);
    free(s);
}

lm_status residual_of(const residual_trees *r, const priced_row *row, double *out, lm_error *err)
{
    double    x[RESIDUAL_FEATURES];
    lm_status status = LM_OK;

    *out = 0;
    if (!(row->seconds > 0))
        return LM_OK;
    status = residual_features(&r->space, row, x, err);
    if (!status)
        *out = residual_at(r, residual_word(row, NULL) != NULL, x);
    return status;
}

/* ---- learning ---- */

/* Rows of one class on all machines, machine after machine. */
typedef struct learning {
    const residual_source *from;
    size_t                 n;
    size_t                *first; /* first row of each machine, and the end */
    size_t                 last;  /* machine of the last row */
    size_t class;
} learning;

static uint64_t mix(uint64_t h, double value)
{
    return shape_mix(h, (int64_t)value);
}

/* Group of a shape: all its batches, so that held-out shapes have no other batch in a fit. */
static uint64_t shape_number(const layer_shape *s)
{
    uint64_t h = mix(mix((uint64_t)s->groups, (double)s->c_in), (double)s->c_out);

    if (s->kind == SHAPE_LAUNCH)
        return launch_shape(s->kernel);
    for (int i = 0; i < 3 && s->kind == SHAPE_CONV; i++)
        h = mix(mix(mix(h, (double)s->in[i]), (double)s->window[i]), (double)s->stride[i]);
    if (s->kind == SHAPE_WORK)
        h = mix(mix(mix(h, s->inputs), s->outputs), s->weights);
    return h;
}

static lm_status price_rows(void *context, const bool *in, lm_error *err)
{
    const learning *l      = context;
    lm_status       status = LM_OK;

    for (size_t i = 0; i < l->n && !status; i++) {
        size_t count;

        status = layer_rows_fit(l->from[i].r, in ? in + l->first[i] : NULL, &count, err);
    }
    return status;
}

static size_t machine_of(const learning *l, size_t row)
{
    size_t at = l->last < l->n && row >= l->first[l->last] ? l->last : 0;

    while (row >= l->first[at + 1])
        at++;
    return at;
}

static lm_status look(void *context, size_t i, residual_space *space, double *x, priced_look *out,
                      lm_error *err)
{
    learning              *l   = context;
    const size_t           at  = machine_of(l, i);
    const residual_source *s   = &l->from[at];
    const layer_time      *t   = &s->r->time[i - l->first[at]];
    const priced_row       row = { .shape   = t->shape,
                                   .run     = &t->run,
                                   .rows    = &s->r->rows,
                                   .at      = i - l->first[at],
                                   .columns = &s->r->columns,
                                   .seconds = rows_priced(&s->r->rows, i - l->first[at], &s->r->columns),
                                   .device = s->device };
    lm_status              status;

    if (at != l->last) /* optimizers' columns may be in another order */
        residual_space_free(space);
    l->last = at;
    *out    = (priced_look){ row.seconds, residual_word(&row, NULL) != NULL };
    status  = residual_space_columns(space, row.columns, err);
    return !status && row.seconds > 0 ? residual_features(space, &row, x, err) : status;
}

static lm_status learn_rows(learning *l, size_t n, residual_trees **out, residual_trees *judged,
                            lm_error *err)
{
    double        *seconds = malloc((n + 1) * sizeof *seconds);
    uint64_t      *shape   = malloc((n + 1) * sizeof *shape);
    lesson         all     = { l, n, seconds, shape, price_rows, look };
    residual_space space;
    lm_status      status = seconds && shape ? LM_OK : no_memory(err);

    if (!status && l->n && l->from[0].r->class->launch) /* launches have no columns before */
        status = price_rows(l, NULL, err);
    for (size_t i = 0; i < l->n && !status; i++) {
        const residual_source *s = &l->from[i];

        for (size_t k = 0; k < s->r->n; k++) {
            seconds[l->first[i] + k] = !s->in || s->in[k] ? s->r->time[k].seconds : 0;
            shape[l->first[i] + k]   = shape_number(s->r->time[k].shape);
        }
    }
    if (!status)
        status = residual_features_new(l->class, l->from, l->n, &space, err);
    if (!status)
        status = lesson_learn(&all, &space, out, judged, err);
    free(shape);
    free(seconds);
    return status;
}

lm_status residual_learn(size_t class, const residual_source *from, size_t n, residual_trees **out,
                         residual_trees *judged, lm_error *err)
{
    learning  l      = { .from  = from,
                         .n     = n,
                         .first = calloc(n + 1, sizeof *l.first),
                         .last  = n,
                         .class = class };
    lm_status status = l.first ? LM_OK : no_memory(err);

    *out = NULL;
    for (size_t i = 0; i < n && !status; i++)
        l.first[i + 1] = l.first[i] + from[i].r->n;
    if (!status)
        status = learn_rows(&l, l.first[n], out, judged, err);
    free(l.first);
    return status;
}
