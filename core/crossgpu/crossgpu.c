/* Predicting for other GPUs. */
#include "crossgpu/crossgpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

static const char *const methods[N_CROSSGPU_METHODS] = { "layermeter", "stacking", "pair-ratio" };

const char *crossgpu_method_name(crossgpu_method m)
{
    return methods[m];
}

lm_status crossgpu_method_parse(const char *name, crossgpu_method *out, lm_error *err)
{
    for (crossgpu_method m = 0; m < N_CROSSGPU_METHODS; m++)
        if (!strcmp(name, methods[m])) {
            *out = m;
            return LM_OK;
        }
    return lm_error_set(err, LM_E_NOTFOUND,
                        "'%.40s' is no method: expected layermeter, stacking or pair-ratio", name);
}

void crossgpu_free(crossgpu *c)
{
    if (!c)
        return;
    space_free(&c->s);
    free(c->gpu);
    bounds_free(&c->bounds);
    nearest_free(&c->nearest);
    parts_free(&c->parts);
    learner_free(c->trees);
    stacking_free(&c->stack);
    free(c->median);
    free(c);
}

size_t crossgpu_gpu(const crossgpu *c, const char *name)
{
    size_t i = 0;

    while (i < c->n_gpus && !device_same_name(c->gpu[i].name, name))
        i++;
    return i;
}

/* ---- predicting ---------------------------------------------------------------------------------
 */

/* Features of a pair of which one may not have been learned from. */
static lm_status pair_features(const crossgpu *c, const double *x, const gpu *from, const gpu *to,
                               double **out, lm_error *err)
{
    const size_t n = space_n_run(&c->s);
    lm_status    status;

    if (!(*out = malloc((n + space_n_pair(&c->s)) * sizeof **out)))
        return no_memory(err);
    memcpy(*out, x, n * sizeof **out);
    if ((status = space_pair(&c->s, from, to, *out + n, err)))
        free(*out);
    return status;
}

lm_status crossgpu_trees(const learner *l, const double *x, double *out, lm_error *err)
{
    lm_status status = learner_predict(l, x, 1, out, err);

    *out = log(*out);
    return status;
}

/* Of a pair that was learned from. */
static lm_status learned_log_ratio(const crossgpu *c, const double *x, const gpu *from,
                                   const gpu *to, size_t a, size_t b, double *out, lm_error *err)
{
    double    said[N_BY] = { nearest_log_ratio(&c->nearest, x, a, b), 0, 0 }, *room;
    lm_status status     = LM_OK;

    if (!(room = malloc(c->parts.n * sizeof *room)))
        return no_memory(err);
    said[BY_PARTS] = parts_log_ratio(&c->parts, &c->s, x, a, b, room);
    free(room);
    if (c->trees && !(status = pair_features(c, x, from, to, &room, err))) {
        status = crossgpu_trees(c->trees, room, &said[BY_TREES], err);
        free(room);
    }
    *out = 0;
    for (size_t k = 0; k < N_BY; k++)
        *out += c->share[k] > 0 ? c->share[k] * said[k] : 0;
    return status;
}

static lm_status predict_ours(const crossgpu *c, const double *x, const gpu *from, const gpu *to,
                              size_t a, size_t b, crossgpu_prediction *out, lm_error *err)
{
    double    log_ratio = NAN;
    lm_status status    = LM_OK;

    if (a < c->n_gpus && b < c->n_gpus)
        status = learned_log_ratio(c, x, from, to, a, b, &log_ratio, err);
    if (status)
        return status;
    out->basis = isnan(log_ratio) ? BASIS_DATASHEET : BASIS_LEARNED;
    if (isnan(log_ratio))
        log_ratio = bounds_log_ratio(&c->bounds, &c->s, x, from, to);
    out->seconds = exp(x[c->s.n_metrics] + log_ratio);
    return LM_OK;
}

static lm_status predict_stacked(const crossgpu *c, const double *x, const gpu *from, const gpu *to,
                                 crossgpu_prediction *out, lm_error *err)
{
    double   *all;
    lm_status status = pair_features(c, x, from, to, &all, err);

    if (status)
        return status;
    status = stacking_seconds(&c->stack, all, &out->seconds, err);
    free(all);
    return status;
}

/* Of a run on GPU number a, on number b. */
static void state_bounds(const crossgpu *c, size_t a, size_t b, crossgpu_prediction *p)
{
    const interval *i = &c->unknown[UNKNOWN_TARGET], *k = &c->unknown[UNKNOWN_SOURCE];

    if (p->basis == BASIS_LEARNED)
        i = k = &c->known;
    else if (nearest_knows(&c->nearest, a) && !nearest_knows(&c->nearest, b))
        k = i;
    else if (nearest_knows(&c->nearest, b) && !nearest_knows(&c->nearest, a))
        i = k;
    p->low = p->high = NAN;
    if (!interval_known(i) || !interval_known(k))
        return;
    p->low  = p->seconds * fmin(i->low, k->low);
    p->high = p->seconds * fmax(i->high, k->high);
}

lm_status crossgpu_predict(const crossgpu *c, const double *x, const gpu *from, const gpu *to,
                           crossgpu_prediction *out, lm_error *err)
{
    const size_t        a = crossgpu_gpu(c, from->name), b = crossgpu_gpu(c, to->name);
    const bool          known = a < c->n_gpus && b < c->n_gpus;
    crossgpu_prediction p     = { .basis = known ? BASIS_LEARNED : BASIS_DATASHEET };
    lm_status           status;

    if (c->method == CROSSGPU_PAIR_RATIO) {
        if (!known || isnan(c->median[a * c->n_gpus + b]))
            return lm_error_set(
                err, LM_E_NOTFOUND,
                "'%s' and '%s' were not learned from together, and pair-ratio knows "
                "nothing else",
                from->name, to->name);
        p.seconds = exp(x[c->s.n_metrics] + c->median[a * c->n_gpus + b]);
        status    = LM_OK;
    } else if (c->method == CROSSGPU_STACKING) {
        status = predict_stacked(c, x, from, to, &p, err);
    } else {
        status = predict_ours(c, x, from, to, a, b, &p, err);
    }
    if (status)
        return status;
    state_bounds(c, a, b, &p);
    *out = p;
    return LM_OK;
}
