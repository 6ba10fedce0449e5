/* Predictions of launches that were left out. */
#include "fit/launch_models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/no_memory.h"
#include "base/random.h"
#include "fit/singles.h"
#include "solve/lsq.h"

#define KEY_BYTES 700
#define COUNTS    4 /* of a baseline */

/* ---- folds ---- */

/* Numbers configurations in the order of the file. */
static lm_status number(const launches *l, arena *a, size_t *of, size_t *n, lm_error *err)
{
    names     seen   = { 0 };
    lm_status status = LM_OK;

    *n = 0;
    for (size_t i = 0; i < l->n && !status; i++) {
        char  key[KEY_BYTES];
        char *own;

        observation_key(l->row[i], key, sizeof key);
        of[i] = names_find(&seen, key);
        if (of[i] != NAMES_NONE)
            continue;
        of[i] = *n;
        own   = arena_text(a, key, strlen(key));
        if (!own || !names_add(&seen, own, (*n)++))
            status = no_memory(err);
    }
    names_free(&seen);
    return status;
}

lm_status launch_folds_new(const launches *l, const split_rule *rule, launch_folds *out,
                           lm_error *err)
{
    size_t   *drawn = malloc((l->n + 1) * sizeof *drawn);
    arena    *a     = arena_new();
    size_t    n;
    lm_status status;

    *out = (launch_folds){ malloc((l->n + 1) * sizeof *out->fold), 0 };
    if (!drawn || !a || !out->fold)
        status = no_memory(err);
    else if (rule->kind != SPLIT_KFOLD && rule->kind != SPLIT_NONE)
        status = lm_error_set(
            err, LM_E_ARG, "of single kernels parts at random can be left out, kfold=10, or none");
    else
        status = number(l, a, out->fold, &n, err);
    if (!status && rule->kind == SPLIT_KFOLD) {
        if (rule->k > n)
            status = lm_error_set(err, LM_E_ARG, "%zu parts of %zu configurations", rule->k, n);
        else {
            random_deal(drawn, n, rule->k, rule->seed);
            for (size_t i = 0; i < l->n; i++)
                out->fold[i] = drawn[out->fold[i]];
            out->n = rule->k;
        }
    }
    free(drawn);
    arena_free(a);
    if (status)
        launch_folds_free(out);
    return status;
}

void launch_folds_free(launch_folds *f)
{
    free(f->fold);
    *f = (launch_folds){ 0 };
}

/* ---- models ---- */

/* Launches that are predicted. */
typedef struct task {
    const launches    *l;
    const layer_model *given; /* NULL: fits */
    bool               learned;
    bool              *in;   /* of each: is it fitted to? */
    double            *room; /* of baselines */
    double            *predicted;
} task;

static lm_status price(const task *t, const fold_turn *f, const layer_model *m, lm_error *err)
{
    layer_asker by     = layer_asker_of(m);
    lm_status   status = LM_OK;

    for (size_t i = 0; i < t->l->n && !status; i++) {
        const timed_kernel *k = &t->l->launch[i];

        if (fold_out(f, i))
            status = launch_seconds(&by, &k->kernel, k->tag, t->learned, &t->predicted[i], err);
    }
    layer_asker_free(&by);
    return status;
}

static lm_status by_given(void *context, const fold_turn *f, lm_error *err)
{
    const task *t = context;

    return price(t, f, t->given, err);
}

static lm_status by_prices(void *context, const fold_turn *f, lm_error *err)
{
    const task     *t = context;
    const launches *l = t->l;
    residual_trees  judged[N_LAYER_CLASSES];
    layer_model     m      = { 0 };
    lm_status       status = folds_mark(f, t->in)
                                 ? launch_fit(l->launch, t->in, l->n, l->multiprocessors, &m, err)
                                 : lm_error_set(err, LM_E_ARG, "no launches");

    if (!status && t->learned)
        status = launch_learn(l->launch, t->in, l->n, l->multiprocessors, &m, judged, err);
    if (!status)
        status = price(t, f, &m, err);
    layer_model_free(&m);
    return status;
}

static void counts(const lm_kernel *k, double out[COUNTS])
{
    const lm_work w = lm_kernel_work(k);

    out[0] = (double)w.flops;
    out[1] = (double)w.read_bytes;
    out[2] = (double)w.written_bytes;
    out[3] = 1;
}

static bool of_kind(const timed_kernel *k, size_t class, lm_pass pass)
{
    return launch_class_of(&k->kernel) == class && k->kernel.pass == pass;
}

static lm_status count_kind(const task *t, const fold_turn *f, size_t class, lm_pass pass,
                            bool relative, lm_error *err)
{
    double      *a = t->room, *b = a + COUNTS * t->l->n, *weight = b + t->l->n, of[COUNTS];
    lsq_problem  problem = { a, b, relative ? weight : NULL, 0, COUNTS };
    lsq_solution s;
    lm_status    status;

    for (size_t i = 0; i < t->l->n; i++)
        if (fold_in(f, i) && of_kind(&t->l->launch[i], class, pass)) {
            counts(&t->l->launch[i].kernel, a + COUNTS * problem.rows);
            b[problem.rows]        = t->l->launch[i].seconds;
            weight[problem.rows++] = 1 / t->l->launch[i].seconds;
        }
    if (problem.rows < COUNTS)
        return LM_OK;
    if ((status = lsq_fit(&problem, relative, &s, err)))
        return status;
    for (size_t i = 0; i < t->l->n; i++)
        if (fold_out(f, i) && of_kind(&t->l->launch[i], class, pass)) {
            counts(&t->l->launch[i].kernel, of);
            t->predicted[i] = 0;
            for (size_t j = 0; j < COUNTS; j++)
                t->predicted[i] += s.x[j] * of[j];
        }
    return LM_OK;
}

static lm_status by_counts(const task *t, const fold_turn *f, bool relative, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t c = FIRST_LAUNCH; c <= N_LAYER_CLASSES && !status; c++) /* and of none */
        for (lm_pass p = 0; p < LM_N_PASSES && !status; p++)
            status = count_kind(t, f, c, p, relative, err);
    return status;
}

static lm_status by_least_squares(void *context, const fold_turn *f, lm_error *err)
{
    return by_counts(context, f, false, err);
}

static lm_status by_relative_ones(void *context, const fold_turn *f, lm_error *err)
{
    return by_counts(context, f, true, err);
}

lm_status launches_predict(const launches *l, const formula_model *model, const launch_folds *by,
                           const layer_model *given, double *predicted, lm_error *err)
{
    static const fold_fit ways[N_LAUNCH_WAYS] = {
        [LAUNCHES_BY_PRICES]          = by_prices,
        [LAUNCHES_BY_COUNTS]          = by_least_squares,
        [LAUNCHES_BY_RELATIVE_COUNTS] = by_relative_ones,
    };
    const folds    f      = { .of     = by->fold,
                              .rows   = l->n,
                              .n      = by->n,
                              .all    = !by->n,
                              .silent = !given && model->launches == LAUNCHES_BY_PRICES };
    const fold_fit how    = given ? by_given : ways[model->launches];
    task           t      = { .l         = l,
                              .given     = given,
                              .learned   = model->residual,
                              .in        = malloc(l->n + 1),
                              .room      = malloc(((COUNTS + 2) * l->n + 1) * sizeof(double)),
                              .predicted = predicted };
    lm_status      status = t.in && t.room ? LM_OK : no_memory(err);

    for (size_t i = 0; i < l->n; i++)
        predicted[i] = NAN;
    if (!status && model->launches && (!given || model->launches == LAUNCHES_BY_PRICES))
        status = folds_leave_out(&f, how, &t, err);
    free(t.in);
    free(t.room);
    return status;
}
