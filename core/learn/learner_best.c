/* Compares learners on held-out groups. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/random.h"
#include "learn/learner.h"

const learner_trial learner_trial_usual = { .folds = 5, .rows = 6000, .judged = 2000, .seed = 1 };

/* A row, its group, and the group's place in the random order. */
typedef struct member {
    uint64_t group, place;
    size_t   row;
} member;

static int by_place(const void *a, const void *b)
{
    const member *x = a, *y = b;

    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* All that is judged: some rows, in parts. */
typedef struct parts {
    size_t *row, *fold;
    size_t  n, folds;
} parts;

/* Draws groups in random order until there are enough rows, and deals them to the folds. */
static lm_status deal(const learner_rows *r, const learner_trial *t, parts *out, lm_error *err)
{
    member *all    = malloc(r->n * sizeof *all);
    size_t  groups = 0;

    out->row  = malloc(r->n * sizeof *out->row);
    out->fold = malloc(r->n * sizeof *out->fold);
    if (!all || !out->row || !out->fold) {
        free(all);
        return no_memory(err);
    }
    for (size_t i = 0; i < r->n; i++) {
        const uint64_t group = r->group ? r->group[i] : i;
        uint64_t       state = group + t->seed * 0x9e3779b97f4a7c15ull;

        all[i] = (member){ group, random_next(&state), i };
    }
    qsort(all, r->n, sizeof *all, by_place);
    for (size_t i = 0; i < r->n; i++) {
        const bool begins = !i || all[i].group != all[i - 1].group;

        if (begins && t->rows && i >= t->rows && groups >= t->folds)
            break;
        groups += begins;
        out->row[i]  = all[i].row;
        out->fold[i] = (groups - 1) % t->folds;
        out->n       = i + 1;
    }
    free(all);
    out->folds = groups < t->folds ? groups : t->folds;
    return groups > 1 ? LM_OK
                      : lm_error_set(err, LM_E_ARG,
                                     "all %zu rows are of one group: nothing is left to judge a "
                                     "learner by",
                                     r->n);
}

/* Rows of a fold, or (in = false) of all others. */
typedef struct copy {
    double *x, *y;
    size_t  n;
} copy;

static void copy_rows(const learner_rows *r, const parts *p, size_t fold, bool in, copy *out)
{
    out->n = 0;
    for (size_t i = 0; i < p->n; i++)
        if ((p->fold[i] == fold) == in) {
            memcpy(out->x + out->n * r->n_features, r->x + p->row[i] * r->n_features,
                   r->n_features * sizeof *out->x);
            out->y[out->n++] = r->y[p->row[i]];
        }
}

/* Predictions of one candidate for one fold. */
static lm_status judge_fold(const copy *seen, const copy *other, size_t width,
                            const learner_options *o, double *told, lm_error *err)
{
    const learner_rows rows = { seen->x, seen->y, NULL, seen->n, width };
    learner           *l    = NULL;
    lm_status          status;

    if (!(status = learner_train(&rows, NULL, o, &l, err)))
        status = learner_predict(l, other->x, other->n, told, err);
    learner_free(l);
    return status;
}

/* Room for one judgement. */
typedef struct bench {
    parts   p;
    copy    seen, other;
    double *measured, *told; /* told: of each candidate p.n */
    size_t *judged;          /* rows, in that order */
    size_t  n_judged;
} bench;

static lm_status bench_new(const learner_rows *r, size_t candidates, const learner_trial *t,
                           bench *b, lm_error *err)
{
    const size_t cells = r->n * r->n_features;

    *b = (bench){ .seen     = { malloc(cells * sizeof(double)), malloc(r->n * sizeof(double)), 0 },
                  .other    = { malloc(cells * sizeof(double)), malloc(r->n * sizeof(double)), 0 },
                  .measured = malloc(r->n * sizeof(double)),
                  .judged   = malloc(r->n * sizeof(size_t)),
                  .told     = malloc(candidates * r->n * sizeof(double)) };
    if (!b->seen.x || !b->seen.y || !b->other.x || !b->other.y || !b->measured || !b->judged ||
        !b->told)
        return no_memory(err);
    return deal(r, t, &b->p, err);
}

static void bench_free(bench *b)
{
    free(b->p.row);
    free(b->p.fold);
    free(b->seen.x);
    free(b->seen.y);
    free(b->other.x);
    free(b->other.y);
    free(b->measured);
    free(b->judged);
    free(b->told);
}

static lm_status judge_all(bench *b, const learner_rows *r, const learner_options *candidate,
                           size_t n, const learner_trial *t, stats_errors *errors, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t f = 0; f < b->p.folds && !status && !(t->judged && b->n_judged >= t->judged); f++) {
        copy_rows(r, &b->p, f, false, &b->seen);
        copy_rows(r, &b->p, f, true, &b->other);
        for (size_t c = 0; c < n && !status; c++)
            if (learner_available(candidate[c].kind))
                status = judge_fold(&b->seen, &b->other, r->n_features, &candidate[c],
                                    b->told + c * r->n + b->n_judged, err);
        memcpy(b->measured + b->n_judged, b->other.y, b->other.n * sizeof *b->measured);
        for (size_t i = 0; i < b->p.n; i++) /* in the order of copy_rows() */
            if (b->p.fold[i] == f)
                b->judged[b->n_judged++] = b->p.row[i];
    }
    for (size_t c = 0; c < n && !status; c++)
        errors[c] = stats_compare(b->told + c * r->n, b->measured,
                                  learner_available(candidate[c].kind) ? b->n_judged : 0);
    return status;
}

static lm_status check(const learner_rows *r, const learner_trial *t, size_t n, lm_error *err)
{
    if (!r->n || !r->n_features || r->n_features > LEARNER_FEATURES)
        return lm_error_set(err, LM_E_ARG, "%zu rows of %zu features to learn from", r->n,
                            r->n_features);
    if (t->folds < 2 || !n)
        return lm_error_set(err, LM_E_ARG, "%zu candidates, %zu parts: 1 and 2 or more", n,
                            t->folds);
    return LM_OK;
}

lm_status learner_best(const learner_rows *rows, const learner_options *candidate, size_t n,
                       const learner_trial *trial, size_t *best, stats_errors *errors,
                       double *left_out, lm_error *err)
{
    stats_errors *found  = NULL;
    bench         b      = { .told = NULL };
    double        least  = HUGE_VAL;
    lm_status     status = check(rows, trial, n, err);

    if (status)
        return status;
    if (!(found = calloc(n, sizeof *found)))
        return no_memory(err);
    if (!(status = bench_new(rows, n, trial, &b, err)))
        status = judge_all(&b, rows, candidate, n, trial, found, err);
    for (size_t c = 0; c < n && !status; c++)
        if (found[c].n && found[c].mape < least) {
            least = found[c].mape;
            *best = c;
        }
    if (!status && least == HUGE_VAL)
        status = lm_error_set(err, LM_E_UNSUPPORTED,
                              "no learner of this list can be trained by this build: install "
                              "XGBoost (libxgboost-dev) and build again");
    if (!status && errors)
        memcpy(errors, found, n * sizeof *found);
    for (size_t i = 0; i < rows->n && !status && left_out; i++)
        left_out[i] = NAN;
    for (size_t i = 0; i < b.n_judged && !status && left_out; i++)
        left_out[b.judged[i]] = b.told[*best * rows->n + i];
    bench_free(&b);
    free(found);
    return status;
}
