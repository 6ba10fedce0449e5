/* Two learners below a third. */
#include "crossgpu/stacking.h"

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/random.h"
#include "solve/folds.h"

#define PARTS 5
#define LEAST 10

static const learner_kind lower_kinds[2] = { LEARNER_FOREST, LEARNER_XGBOOST };

void stacking_free(stacking *s)
{
    learner_free(s->lower[0]);
    learner_free(s->lower[1]);
    learner_free(s->upper);
    *s = (stacking){ .upper = NULL };
}

/* All rows, and some of them. */
typedef struct stack_rows {
    arena   *arena;                   /* owns all below */
    double  *x, *y, *part_x, *part_y; /* n x m, n */
    double  *said;                    /* n x 2, by the lower learners */
    size_t  *part;                    /* of each row */
    size_t   n, m;
    uint64_t seed;
} stack_rows;

static lm_status rows_of(const selection *s, uint64_t seed, stack_rows *r, lm_error *err)
{
    const size_t n = s->n, m = pairs_n_features(s->p);

    *r = (stack_rows){ .arena = arena_new(), .n = n, .m = m, .seed = seed };
    if (r->arena) {
        r->x      = arena_array(r->arena, n * m, sizeof *r->x);
        r->y      = arena_array(r->arena, n, sizeof *r->y);
        r->part_x = arena_array(r->arena, n * m, sizeof *r->x);
        r->part_y = arena_array(r->arena, n, sizeof *r->y);
        r->said   = arena_array(r->arena, 2 * n, sizeof *r->said);
        r->part   = arena_array(r->arena, n, sizeof *r->part);
    }
    if (!r->x || !r->y || !r->part_x || !r->part_y || !r->said || !r->part)
        return no_memory(err);
    for (size_t i = 0; i < n; i++) {
        pairs_features(s->p, selected(s, i), r->x + i * m);
        r->y[i] = s->p->r->run[selected(s, i)->to].seconds;
    }
    random_deal(r->part, n, PARTS, seed);
    return LM_OK;
}

static learner_options options_of(learner_kind kind, uint64_t seed)
{
    learner_options o = learner_usual(kind, false);

    o.boost.seed = seed;
    if (kind == LEARNER_FOREST) { /* a third of the features, Breiman's (2001) choice for
                                   * regression */
        o.boost.features = 1.0 / 3;
        o.boost.depth    = 10;
    }
    if (kind == LEARNER_XGBOOST) { /* XGBoost's default */
        o.boost.trees = 100;
        o.boost.depth = 6;
        o.boost.rate  = 0.3;
    }
    return o;
}

static lm_status train(learner_kind kind, const double *x, const double *y, size_t n, size_t m,
                       uint64_t seed, learner **out, lm_error *err)
{
    const learner_options o    = options_of(kind, seed);
    const learner_rows    rows = { .x = x, .y = y, .n = n, .n_features = m };

    return learner_train(&rows, &o, out, err);
}

/* Predictions of the lower learners for the rows of one part, trained on the others. */
static lm_status say_unseen(void *context, const fold_turn *t, lm_error *err)
{
    stack_rows  *r      = context;
    const size_t n      = folds_copy(t, true, r->y, sizeof *r->y, r->part_y);
    lm_status    status = LM_OK;

    (void)folds_copy(t, true, r->x, r->m * sizeof *r->x, r->part_x);
    for (size_t k = 0; k < 2 && !status; k++) {
        learner *l = NULL;

        status = train(lower_kinds[k], r->part_x, r->part_y, n, r->m, r->seed, &l, err);
        for (size_t i = 0; i < r->n && !status; i++)
            if (fold_out(t, i))
                status = learner_predict(l, r->x + i * r->m, 1, &r->said[2 * i + k], err);
        learner_free(l);
    }
    return status;
}

lm_status stacking_fit(const selection *rows, learner_kind alone, uint64_t seed, stacking *out,
                       lm_error *err)
{
    const size_t n_lower = alone == N_LEARNERS ? 2 : 0;
    stack_rows   r       = { .n = 0 };
    lm_status    status;

    *out = (stacking){ .upper = NULL };
    if (rows->n < LEAST)
        return lm_error_set(err, LM_E_ARG,
                            "%zu pairs of runs: the learners of the stack take %d at least",
                            rows->n, LEAST);
    status = rows_of(rows, seed, &r, err);
    if (!status && n_lower) {
        const folds by = { .of = r.part, .rows = r.n, .n = PARTS };

        status = folds_leave_out(&by, say_unseen, &r, err);
    }
    for (size_t k = 0; k < n_lower && !status; k++)
        status = train(lower_kinds[k], r.x, r.y, r.n, r.m, seed, &out->lower[k], err);
    if (!status)
        status = n_lower ? train(LEARNER_BOOSTED, r.said, r.y, r.n, 2, seed, &out->upper, err)
                         : train(alone, r.x, r.y, r.n, r.m, seed, &out->upper, err);
    arena_free(r.arena);
    if (status)
        stacking_free(out);
    return status;
}

lm_status stacking_seconds(const stacking *s, const double *x, double *out, lm_error *err)
{
    double    said[2];
    lm_status status = LM_OK;

    for (size_t k = 0; k < 2 && s->lower[k] && !status; k++)
        status = learner_predict(s->lower[k], x, 1, &said[k], err);
    return status ? status : learner_predict(s->upper, *s->lower ? said : x, 1, out, err);
}

static void one_text(lines *l, size_t n_features, learner **both)
{
    learner_text(l, both);
    if (!l->status)
        lines_check(l, learner_n_features(*both) == n_features,
                    "a learner of %zu features, there are %zu", learner_n_features(*both),
                    n_features);
}

void stacking_text(lines *l, size_t n_features, bool whole, stacking *s)
{
    for (size_t k = 0; k < 2 && whole; k++)
        one_text(l, n_features, &s->lower[k]);
    one_text(l, whole ? 2 : n_features, &s->upper);
}
