/* Predictions of launches that were left out. */
#include "fit/launch_models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/no_memory.h"
#include "base/random.h"
#include "fit/forms.h"
#include "fit/singles.h"
#include "solve/lsq.h"

#define KEY_BYTES 700
#define COUNTS    4 /* of a baseline */

/* ---- folds --------------------------------------------------------------------------------------
 */

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

/* Of each configuration a part: all parts as large as can be. */
static void draw(size_t *drawn, size_t n, const split_rule *rule)
{
    uint64_t state = rule->seed;

    for (size_t i = 0; i < n; i++)
        drawn[i] = i % rule->k;
    for (size_t i = n; i > 1; i--) {
        const size_t with = (size_t)random_below(&state, i);
        const size_t last = drawn[i - 1];

        drawn[i - 1] = drawn[with];
        drawn[with]  = last;
    }
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
            draw(drawn, n, rule);
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

/* ---- models -------------------------------------------------------------------------------------
 */

/* Fits to launches that are `in`, predicts those that are `out`. */
typedef struct task {
    const launches *l;
    const bool     *in, *out;
    double         *predicted;
} task;

static bool any(const bool *flag, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (flag[i])
            return true;
    return false;
}

static lm_status price(const task *t, layer_model *m, bool learned, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < t->l->n && !status; i++) {
        const timed_kernel *k = &t->l->launch[i];

        if (t->out[i])
            status = launch_seconds(m, &k->kernel, k->tag, learned, &t->predicted[i], err);
    }
    return status;
}

static lm_status by_prices(const task *t, bool learned, lm_error *err)
{
    const launches *l = t->l;
    residual_trees  judged[N_LAYER_CLASSES];
    layer_model     m;
    lm_status       status = launch_fit(l->launch, t->in, l->n, l->multiprocessors, &m, err);
    const bool      few    = status == LM_E_ARG; /* nothing is predicted */

    if (!status && learned)
        status = launch_learn(l->launch, t->in, l->n, l->multiprocessors, &m, judged, err);
    if (!status)
        status = price(t, &m, learned, err);
    layer_model_free(&m);
    return few ? LM_OK : status;
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

static lm_status count_kind(const task *t, size_t class, lm_pass pass, bool relative, double *room,
                            lm_error *err)
{
    double      *a = room, *b = room + COUNTS * t->l->n, *weight = b + t->l->n, of[COUNTS];
    lsq_problem  problem = { a, b, relative ? weight : NULL, 0, COUNTS };
    lsq_block    block;
    lsq_solution s;
    lm_status    status;

    for (size_t i = 0; i < t->l->n; i++)
        if (t->in[i] && of_kind(&t->l->launch[i], class, pass)) {
            counts(&t->l->launch[i].kernel, a + COUNTS * problem.rows);
            b[problem.rows]        = t->l->launch[i].seconds;
            weight[problem.rows++] = 1 / t->l->launch[i].seconds;
        }
    if (problem.rows < COUNTS)
        return LM_OK;
    if ((status = lsq_factor(&problem, &block, err)) ||
        (status = lsq_solve(&(const lsq_block *){ &block }, 1, relative, &s, err)))
        return status;
    for (size_t i = 0; i < t->l->n; i++)
        if (t->out[i] && of_kind(&t->l->launch[i], class, pass)) {
            counts(&t->l->launch[i].kernel, of);
            t->predicted[i] = 0;
            for (size_t j = 0; j < COUNTS; j++)
                t->predicted[i] += s.x[j] * of[j];
        }
    return LM_OK;
}

static lm_status by_counts(const task *t, bool relative, lm_error *err)
{
    double   *room   = malloc(((COUNTS + 2) * t->l->n + 1) * sizeof *room);
    lm_status status = room ? LM_OK : no_memory(err);

    for (size_t c = FIRST_LAUNCH; c <= N_LAYER_CLASSES && !status; c++) /* and of none */
        for (lm_pass p = 0; p < LM_N_PASSES && !status; p++)
            status = count_kind(t, c, p, relative, room, err);
    free(room);
    return status;
}

lm_status launches_predict(const launches *l, const char *model, const launch_folds *by,
                           layer_model *given, double *predicted, lm_error *err)
{
    const bool learned = !strcmp(model, MODEL_RESIDUAL);
    const bool ours    = learned || !strcmp(model, model_at(0));
    bool      *in = malloc(2 * l->n + 1), *out = in + l->n;
    task       t      = { l, in, out, predicted };
    lm_status  status = in ? LM_OK : no_memory(err);

    for (size_t i = 0; i < l->n; i++)
        predicted[i] = NAN;
    for (size_t f = 0; f < (by->n ? by->n : 1) && !status; f++) {
        for (size_t i = 0; i < l->n; i++) {
            in[i]  = !by->n || by->fold[i] != f;
            out[i] = !by->n || by->fold[i] == f;
        }
        if (given) {
            if (ours)
                status = price(&t, given, learned, err);
        } else if (any(in, l->n)) {
            if (ours)
                status = by_prices(&t, learned, err);
            else if (!strcmp(model, "nnls") || !strcmp(model, "convmeter"))
                status = by_counts(&t, !strcmp(model, "nnls"), err);
        }
    }
    free(in);
    return status;
}
