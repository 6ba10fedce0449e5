/* What was learned from runs on several GPUs, as text. */
#include "crossgpu/crossgpu_file.h"

#include <math.h>
#include <stdlib.h>

static void gpus_text(lines *l, crossgpu *c)
{
    if (!LINE(l, "gpus", ITEM_COUNT(&c->n_gpus, 2, GPUS_MAX)))
        return;
    if (!l->out)
        c->gpu = lines_array(l, c->n_gpus, sizeof *c->gpu);
    for (size_t f = 0; f < N_FIGURES && !l->out; f++)
        c->s.uses[f] = true;
    for (size_t i = 0; i < c->n_gpus && !l->status; i++) {
        gpu   *g = &c->gpu[i];
        double figure[N_FIGURES]; /* 0: its datasheet lacks it */

        for (size_t f = 0; f < N_FIGURES; f++)
            figure[f] = g->figure[f] > 0 ? g->figure[f] : 0;
        LINE(l, "gpu", ITEM_REALS(figure, N_FIGURES, 0, DBL_MAX), ITEM_REST(g->name));
        for (size_t f = 0; f < N_FIGURES && !l->out; f++) {
            lines_check(l, figure[f] > 0 || f > FIGURE_BANDWIDTH, "%s of 0", figure_name(f));
            g->figure[f] = figure[f] > 0 ? figure[f] : (double)NAN;
            c->s.uses[f] &= figure[f] > 0;
        }
    }
}

static void metrics_text(lines *l, space *s)
{
    if (!LINE(l, "metrics", ITEM_COUNT(&s->n_metrics, 0, LEARNER_FEATURES / 2)))
        return;
    if (!l->out)
        s->metric = lines_array(l, s->n_metrics, sizeof *s->metric);
    for (size_t i = 0; i < s->n_metrics && !l->status; i++) {
        space_metric *m = &s->metric[i];

        LINE(l, "metric", ITEM_ANY(&m->low), ITEM_ANY(&m->high), ITEM_REST(m->name));
        lines_check(l, m->low <= m->high, "a range from %g to %g", m->low, m->high);
        if (!l->out && !l->status)
            space_metric_unit(s, m);
    }
}

static void medians_text(lines *l, crossgpu *c)
{
    const size_t n = c->n_gpus * c->n_gpus;

    if (!l->out)
        c->median = lines_array(l, n, sizeof *c->median);
    for (size_t i = 0; i < n && !l->status; i++)
        LINE(l, "median", ITEM_KNOWN(&c->median[i], 1, -DBL_MAX, DBL_MAX));
}

/* Shares, and trees where they have one. */
static void shares_text(lines *l, crossgpu *c)
{
    const size_t n = space_n_run(&c->s) + space_n_pair(&c->s);

    if (!LINE(l, "shares", ITEM_REALS(c->share, N_BY, 0, 1)) || !(c->share[BY_TREES] > 0))
        return;
    learner_text(l, &c->trees);
    if (!l->status)
        lines_check(l, learner_n_features(c->trees) == n, "trees of %zu features, there are %zu",
                    learner_n_features(c->trees), n);
}

static void learned_text(lines *l, crossgpu *c)
{
    switch (c->method) {
    case CROSSGPU_PAIR_RATIO: medians_text(l, c); return;
    case CROSSGPU_STACKING:
        stacking_text(l, space_n_run(&c->s) + space_n_pair(&c->s), &c->stack);
        return;
    case CROSSGPU_LAYERMETER:
        bounds_text(l, &c->s, &c->bounds);
        nearest_text(l, space_n_run(&c->s), c->n_gpus, &c->nearest);
        parts_text(l, &c->s, c->n_gpus, &c->parts);
        shares_text(l, c);
        return;
    case N_CROSSGPU_METHODS: return;
    }
}

static void text(lines *l, void **both)
{
    const char *methods[N_CROSSGPU_METHODS];
    crossgpu   *c = *both = lines_made(l, *both, sizeof *c);
    size_t      method, seed;

    if (!c)
        return;
    for (crossgpu_method m = 0; m < N_CROSSGPU_METHODS; m++)
        methods[m] = crossgpu_method_name(m);
    method = c->method;
    seed   = c->seed;
    LINE(l, "method", ITEM_CHOICE(&method, methods, N_CROSSGPU_METHODS));
    LINE(l, "seed", ITEM_COUNT(&seed, 0, HUGE_VAL));
    LINE(l, "rows", ITEM_COUNT(&c->n_rows, 0, HUGE_VAL), ITEM_COUNT(&c->n_groups, 0, HUGE_VAL));
    c->method = (crossgpu_method)method;
    c->seed   = seed;
    interval_line(l, "learned", &c->known);
    interval_line(l, "unknown_target", &c->unknown[UNKNOWN_TARGET]);
    interval_line(l, "unknown_source", &c->unknown[UNKNOWN_SOURCE]);
    gpus_text(l, c);
    metrics_text(l, &c->s);
    if (!l->status)
        learned_text(l, c);
}

static void release(void *what)
{
    crossgpu_free(what);
}

const kept_kind crossgpu_kept = { "learned runs", text, release, "layermeter learn RUNS -o FILE" };

lm_status crossgpu_save(const crossgpu *c, const char *path, lm_error *err)
{
    return kept_save(&crossgpu_kept, CROSSGPU_FILE, c, path, err);
}

lm_status crossgpu_load(const char *path, crossgpu **out, lm_error *err)
{
    void           *read   = NULL;
    const lm_status status = kept_load(&crossgpu_kept, CROSSGPU_FILE, path, &read, err);

    if (!status)
        *out = read;
    return status;
}
