/* For each task the best of several learners. */
#include "layerwise/layerwise_learners.h"

#include <math.h>

#include "learn/learner.h"

/* In the order of LAYERWISE_BEST_SETTINGS. */
enum { LEARNER, LOGS, PARTS, DRAWN, PASSES };

#define EPOCHS_LEAST 20
#define EPOCHS_MOST  300

/* The published perceptron (prenet.h), with a falling rate, so that it settles. */
static mlp_options perceptron(const double *setting, size_t rows, uint64_t seed)
{
    const double epochs = fmin(EPOCHS_MOST, fmax(EPOCHS_LEAST, setting[PASSES] / (double)rows));

    return (mlp_options){ .width       = { 32, 64, 128, 128, 128, 128 },
                          .n_layers    = 6,
                          .epochs      = (size_t)epochs,
                          .batch       = 32,
                          .rate        = 1e-3,
                          .decay       = 0.5,
                          .decay_every = (size_t)epochs / 5,
                          .dropout     = 0.2,
                          .seed        = seed };
}

/* Learners that the settings allow and this build can train; if there are none, the first one is
 * refused. */
static size_t candidates_of(const double *setting, size_t rows, uint64_t seed,
                            learner_options out[2 * N_LEARNERS])
{
    const size_t asked = (size_t)setting[LEARNER];
    size_t       n     = 0;

    for (learner_kind k = 0; k < N_LEARNERS; k++)
        for (int log = 0; log < 2; log++) {
            if ((asked && asked != (size_t)k + 1) || (setting[LOGS] < 2 && setting[LOGS] != log) ||
                (!asked && (k == LEARNER_EXTRA || !learner_available(k))))
                continue;
            out[n]            = learner_usual(k, log);
            out[n].boost.seed = seed;
            out[n++].mlp      = perceptron(setting, rows, seed);
        }
    return n;
}

/* Rows that a candidate learns from while it is judged. */
static size_t rows_seen(const double *setting, size_t n)
{
    const double drawn = fmin((double)n, setting[DRAWN]);

    return (size_t)fmax(1, drawn - drawn / setting[PARTS]);
}

static bool one_group(const learner_rows *r)
{
    size_t i = 1;

    while (i < r->n && r->group[i] == r->group[0])
        i++;
    return i >= r->n;
}

/* The best candidate and its error. With one group there is nothing to judge by: the first
 * candidate. */
static lm_status choose(const learner_rows *rows, const learner_options *candidate, size_t n,
                        const double *setting, uint64_t seed, size_t *best,
                        layerwise_judgement *judged, double *left_out, lm_error *err)
{
    stats_errors        errors[2 * N_LEARNERS];
    const learner_trial trial = { .folds  = (size_t)setting[PARTS],
                                  .rows   = (size_t)setting[DRAWN],
                                  .judged = learner_trial_usual.judged,
                                  .seed   = seed };
    lm_status           status;

    for (size_t i = 0; i < rows->n && left_out; i++)
        left_out[i] = NAN;
    if (one_group(rows))
        return LM_OK;
    if (!(status = learner_best(rows, candidate, n, &trial, best, errors, left_out, err)))
        *judged =
            (layerwise_judgement){ rows->n - errors[*best].n, errors[*best].n, errors[*best].mape };
    return status;
}

/* If the choice used only some rows, the final error comes from a learner without a part of the
 * groups. */
#define KEPT_PARTS 10

static lm_status judge_kept(const learner_rows *rows, const learner_options *kept, uint64_t seed,
                            layerwise_judgement *judged, double *left_out, lm_error *err)
{
    const learner_trial trial = { .folds = KEPT_PARTS, .rows = 0, .judged = 1, .seed = seed };
    stats_errors        errors;
    size_t              best   = 0;
    lm_status           status = learner_best(rows, kept, 1, &trial, &best, &errors, left_out, err);

    if (!status)
        *judged = (layerwise_judgement){ rows->n - errors.n, errors.n, errors.mape };
    return status;
}

static lm_status learn(const char *task, const learner_rows *rows, layerwise_target target,
                       const double *setting, uint64_t seed, void **out,
                       layerwise_judgement *judged, double *left_out, lm_error *err)
{
    learner_options candidate[2 * N_LEARNERS];
    const size_t    n      = candidates_of(setting, rows_seen(setting, rows->n), seed, candidate);
    const bool      one    = n == 1 && !left_out; /* nothing to choose, and nobody asks how good */
    size_t          best   = 0;
    learner        *l      = NULL;
    lm_status       status = LM_OK;

    (void)task;
    (void)target;
    *judged = (layerwise_judgement){ rows->n, 0, NAN };
    if (!one)
        status = choose(rows, candidate, n, setting, seed, &best, judged, left_out, err);
    if (status)
        return status;
    candidate[best].mlp = perceptron(setting, rows->n, seed); /* as many rows, not epochs */
    if ((double)rows->n > setting[DRAWN] && judged->held)
        status = judge_kept(rows, &candidate[best], seed, judged, left_out, err);
    if (!status && !(status = learner_train(rows, &candidate[best], &l, err)))
        *out = l;
    return status;
}

static lm_status predict(const void *learned, const double *x, size_t n, double *y, lm_error *err)
{
    return learner_predict(learned, x, n, y, err);
}

static size_t text(lines *l, void **learned)
{
    learner *x = *learned;

    learner_text(l, &x);
    *learned = x;
    return l->status ? 0 : learner_n_features(x);
}

static void release(void *learned)
{
    learner_free(learned);
}

/* "forest", "mlp, no logarithm" */
static const char *name(const void *learned, char *text, size_t size)
{
    snprintf(text, size, "%s%s", learner_name(learner_kind_of(learned)),
             learner_is_log(learned) ? "" : ", no logarithm");
    return text;
}

static lm_status decide(const void *learned, const double *x, learner_way *out, lm_error *err)
{
    return learner_decide(learned, x, out, err);
}

static void settle(const void *learned, double *setting)
{
    setting[LEARNER] = (double)learner_kind_of(learned) + 1;
    setting[LOGS]    = learner_is_log(learned);
}

const layerwise_learner layerwise_best = { learn, predict, text, release, name, decide, settle };
