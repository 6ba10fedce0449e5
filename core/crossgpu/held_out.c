/* Predictions for held-out runs. */
#include "crossgpu/held_out.h"

#include <math.h>
#include <stdlib.h>

#include "base/names.h"
#include "base/no_memory.h"
#include "base/random.h"
#include "base/text.h"

const char *const held_out_names[N_HELD_OUT] = { "group", "workload", "row", "gpu" };

lm_status held_out_parse(const char *name, held_out_kind *out, lm_error *err)
{
    const size_t at = text_place(name, held_out_names, N_HELD_OUT);

    if (at == N_HELD_OUT)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "expected group, workload, row or gpu, found '%.40s'", name);
    *out = (held_out_kind)at;
    return LM_OK;
}

/* All rows of a workload are in one part. */
static lm_status deal_workloads(const pairs *p, uint64_t seed, size_t *part, lm_error *err)
{
    names     seen = { .n = 0 };
    size_t   *of = malloc(p->n * sizeof *of), n = 0;
    lm_status status = of ? LM_OK : no_memory(err);

    for (size_t i = 0; i < p->n && !status; i++) {
        const char  *name = p->r->run[p->row[i].from].workload;
        const size_t at   = names_find(&seen, name);

        part[i] = at == NAMES_NONE ? n : at;
        if (at == NAMES_NONE && !names_add(&seen, name, n++))
            status = no_memory(err);
    }
    if (!status)
        random_deal(of, n, HELD_OUT_PARTS, seed);
    for (size_t i = 0; i < p->n && !status; i++)
        part[i] = of[part[i]];
    names_free(&seen);
    free(of);
    return status;
}

static lm_status deal_rows(const pairs *p, held_out_kind leave, uint64_t seed, size_t *part,
                           size_t *parts, lm_error *err)
{
    *parts = HELD_OUT_PARTS;
    if (leave == HELD_OUT_WORKLOAD)
        return deal_workloads(p, seed, part, err);
    if (leave == HELD_OUT_ROW) {
        random_deal(part, p->n, HELD_OUT_PARTS, seed);
        return LM_OK;
    }
    *parts = leave == HELD_OUT_GPU ? p->n_gpus : p->n_groups;
    for (size_t i = 0; i < p->n; i++)
        part[i] = leave == HELD_OUT_GPU ? p->row[i].pair % p->n_gpus : p->row[i].group;
    if (*parts < 2)
        return lm_error_set(err, LM_E_ARG,
                            "%s: one group of workloads, '%.60s': nothing is left to learn from "
                            "(the column 'group' says what is left out together)",
                            p->r->path, p->group[0]);
    return LM_OK;
}

/* It is no failure if a method makes no prediction. */
static lm_status predict_row(const crossgpu *c, const pairs *p, const pair_row *row,
                             const double *x, crossgpu_prediction *out, lm_error *err)
{
    const lm_status status = crossgpu_predict(c, x, &p->gpu[row->pair / p->n_gpus],
                                              &p->gpu[row->pair % p->n_gpus], out, err);

    if (status != LM_E_NOTFOUND)
        return status;
    *out = (crossgpu_prediction){ NAN, NAN, NAN, BASIS_DATASHEET, 0 };
    return LM_OK;
}

typedef struct holding {
    const pairs            *p;
    const crossgpu_options *o;
    held_out_kind           leave;
    size_t                 *at; /* scratch */
    crossgpu_prediction    *out;
} holding;

/* Predictions for one part; runs on a left-out GPU are not in the training data either. */
static lm_status predict_part(void *context, const fold_turn *t, lm_error *err)
{
    holding     *h    = context;
    const pairs *p    = h->p;
    selection    some = { .p = p, .at = h->at };
    crossgpu    *c    = NULL;
    lm_status    status;

    for (size_t i = 0; i < p->n; i++)
        if (fold_in(t, i) && (h->leave != HELD_OUT_GPU || p->row[i].pair / p->n_gpus != t->fold))
            h->at[some.n++] = i;
    if (!some.n)
        return lm_error_set(err, LM_E_ARG, "%s: without %s nothing is left to learn from",
                            p->r->path, h->leave == HELD_OUT_GPU ? p->gpu[t->fold].name : "a part");
    status = crossgpu_learn(&some, h->o, &c, err);
    for (size_t i = 0; i < p->n && !status; i++)
        if (fold_out(t, i)) {
            status = predict_row(c, p, &p->row[i], p->x + p->row[i].from * space_n_run(&p->s),
                                 &h->out[i], err);
            h->out[i].fold = t->fold;
        }
    crossgpu_free(c);
    return status;
}

lm_status held_out_predict(const pairs *p, const crossgpu_options *o, held_out_kind leave,
                           crossgpu_prediction *out, lm_error *err)
{
    size_t   *part = malloc(p->n * sizeof *part), *at = malloc(p->n * sizeof *at), parts = 0;
    lm_status status =
        part && at ? deal_rows(p, leave, o->seed, part, &parts, err) : no_memory(err);

    if (!status) {
        const folds by = { .of = part, .rows = p->n, .n = parts };
        holding     h  = { p, o, leave, at, out };

        status = folds_leave_out(&by, predict_part, &h, err);
    }
    free(part);
    free(at);
    return status;
}

lm_status held_out_test(const crossgpu *c, const pairs *p, crossgpu_prediction *out, lm_error *err)
{
    double   *x      = malloc(space_n_run(&c->s) * sizeof *x);
    size_t   *place  = malloc((c->s.n_metrics + 1) * sizeof *place);
    lm_status status = x && place ? space_place(&c->s, p->r, place, err) : no_memory(err);

    for (size_t i = 0; i < p->n && !status; i++) {
        const pair_row *row = &p->row[i];

        status = space_run(&c->s, p->r, &p->r->run[row->from], place,
                           &p->gpu[row->pair / p->n_gpus], x, err);
        if (!status)
            status = predict_row(c, p, row, x, &out[i], err);
    }
    free(x);
    free(place);
    return status;
}
