/* Compares learners on held-out groups. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/random.h"
#include "learn/learner.h"
#include "solve/folds.h"

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

/* Some rows, as a learner takes them. */
typedef struct copy {
    size_t *row;
    double *x, *y;
    size_t  n;
} copy;

/* The judged rows in their folds, and their predictions. */
typedef struct bench {
    arena                 *arena; /* owns all arrays but the candidates */
    const learner_rows    *r;
    const learner_options *candidate;
    size_t                 n_candidates;
    size_t                 most; /* after so many judged rows no more folds are left out; 0: no
                                  * limit */
    size_t                *row, *fold;
    size_t                 n, folds;
    copy                   seen, other;
    double                *measured, *told; /* told: of each candidate r->n */
    size_t                *judged;          /* rows, in that order */
    size_t                 n_judged;
} bench;

/* Draws groups in random order until there are enough rows, and deals them to the folds. */
static lm_status deal(const learner_rows *r, const learner_trial *t, bench *out, lm_error *err)
{
    member *all    = malloc(r->n * sizeof *all);
    size_t  groups = 0;

    if (!all)
        return no_memory(err);
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

static bool copy_new(arena *a, const learner_rows *r, copy *out)
{
    out->row = arena_array(a, r->n, sizeof *out->row);
    out->x   = arena_array(a, r->n * r->n_features, sizeof *out->x);
    out->y   = arena_array(a, r->n, sizeof *out->y);
    return out->row && out->x && out->y;
}

static void copy_rows(const bench *b, const fold_turn *t, bool in, copy *out)
{
    const size_t width = b->r->n_features;

    out->n = folds_copy(t, in, b->row, sizeof *b->row, out->row);
    for (size_t i = 0; i < out->n; i++) {
        memcpy(out->x + i * width, b->r->x + out->row[i] * width, width * sizeof *out->x);
        out->y[i] = b->r->y[out->row[i]];
    }
}

/* Predictions of one candidate for the left-out rows. */
static lm_status judge(const bench *b, const learner_options *o, double *told, lm_error *err)
{
    const learner_rows rows = { b->seen.x, b->seen.y, NULL, b->seen.n, b->r->n_features };
    learner           *l    = NULL;
    lm_status          status;

    if (!(status = learner_train(&rows, o, &l, err)))
        status = learner_predict(l, b->other.x, b->other.n, told, err);
    learner_free(l);
    return status;
}

static lm_status bench_new(const learner_rows *r, const learner_options *candidate, size_t n,
                           const learner_trial *t, bench *b, lm_error *err)
{
    arena *a = b->arena = arena_new();

    if (!a)
        return no_memory(err);
    b->r            = r;
    b->candidate    = candidate;
    b->n_candidates = n;
    b->most         = t->judged;
    b->row          = arena_array(a, r->n, sizeof *b->row);
    b->fold         = arena_array(a, r->n, sizeof *b->fold);
    b->measured     = arena_array(a, r->n, sizeof *b->measured);
    b->judged       = arena_array(a, r->n, sizeof *b->judged);
    b->told         = arena_array(a, n * r->n, sizeof *b->told);
    if (!b->row || !b->fold || !b->measured || !b->judged || !b->told ||
        !copy_new(a, r, &b->seen) || !copy_new(a, r, &b->other))
        return no_memory(err);
    return deal(r, t, b, err);
}

/* All candidates on one fold. */
static lm_status judge_fold(void *context, const fold_turn *t, lm_error *err)
{
    bench    *b      = context;
    lm_status status = LM_OK;

    if (b->most && b->n_judged >= b->most)
        return LM_OK;
    copy_rows(b, t, true, &b->seen);
    copy_rows(b, t, false, &b->other);
    for (size_t c = 0; c < b->n_candidates && !status; c++)
        if (learner_available(b->candidate[c].kind))
            status = judge(b, &b->candidate[c], b->told + c * b->r->n + b->n_judged, err);
    memcpy(b->measured + b->n_judged, b->other.y, b->other.n * sizeof *b->measured);
    memcpy(b->judged + b->n_judged, b->other.row, b->other.n * sizeof *b->judged);
    b->n_judged += b->other.n;
    return status;
}

static lm_status judge_all(bench *b, stats_errors *errors, lm_error *err)
{
    const folds     by     = { .of = b->fold, .rows = b->n, .n = b->folds };
    const lm_status status = folds_leave_out(&by, judge_fold, b, err);

    for (size_t c = 0; c < b->n_candidates && !status; c++)
        errors[c] = stats_compare(b->told + c * b->r->n, b->measured,
                                  learner_available(b->candidate[c].kind) ? b->n_judged : 0);
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
    bench         b      = { .arena = NULL };
    double        least  = HUGE_VAL;
    lm_status     status = check(rows, trial, n, err);

    if (status)
        return status;
    if (!(found = calloc(n, sizeof *found)))
        return no_memory(err);
    if (!(status = bench_new(rows, candidate, n, trial, &b, err)))
        status = judge_all(&b, found, err);
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
    arena_free(b.arena);
    free(found);
    return status;
}
