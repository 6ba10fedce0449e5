/* What was learned, and what across GPUs is learned from. */
#include "inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crossgpu/crossgpu.h"
#include "fit/layer_watts.h"
#include "layerwise/layerwise_model.h"
#include "learn/learner.h"
#include "network/kernels.h"
#include "single/learned.h"

/* Both ends of a way through text: the same text again. */
typedef struct both {
    void *read, *back;
} both;

/* False: a refusal, and nothing in `b`. */
static bool comes_back(const kept_kind *k, const char *name, const uint8_t *data, size_t size,
                       both *b)
{
    char           *text   = as_text(data, size), *first, *again;
    lm_error        err    = { 0 };
    const lm_status status = kept_read(k, name, "f", text, &b->read, &err);

    free(text);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    check(!kept_text(k, name, b->read, &first, &err));
    check(text = strdup(first));
    check(!kept_read(k, name, "f", text, &b->back, &err));
    check(!kept_text(k, name, b->back, &again, &err));
    check(!strcmp(first, again));
    free(text);
    free(first);
    free(again);
    return true;
}

static void both_free(const kept_kind *k, both *b)
{
    k->free(b->read);
    k->free(b->back);
}

/* What comes back predicts the same. */
bool fuzz_residual(const uint8_t *data, size_t size)
{
    static double x[RESIDUAL_FEATURES];
    both          b;

    if (!comes_back(&residual_kept, RESIDUAL_FILE, data, size, &b))
        return false;
    for (size_t c = 0; c < N_LAYER_CLASSES; c++) {
        const residual_trees *r    = ((const residual_set *)b.read)->of[c];
        const residual_trees *back = ((const residual_set *)b.back)->of[c];

        check(!r == !back);
        if (!r)
            continue;
        (void)residual_at(r, false, x);
        check(trees_predict(r->trees, x) == trees_predict(back->trees, x) ||
              isnan(trees_predict(r->trees, x)));
    }
    both_free(&residual_kept, &b);
    return true;
}

/* The same of single kernels. */
bool fuzz_kernels(const uint8_t *data, size_t size)
{
    static double x[RESIDUAL_FEATURES];
    both          b;

    if (!comes_back(&kernels_kept, KERNELS_FILE, data, size, &b))
        return false;
    for (size_t c = FIRST_LAUNCH; c < N_LAYER_CLASSES; c++) {
        const residual_trees *r = ((const residual_set *)b.read)->of[c];

        check(!r == !((const residual_set *)b.back)->of[c]);
        if (r)
            check(isfinite(residual_at(r, false, x)));
    }
    both_free(&kernels_kept, &b);
    return true;
}

bool fuzz_layer_watts(const uint8_t *data, size_t size)
{
    both b;

    if (!comes_back(&layer_watts_kept, LAYER_WATTS_NAME, data, size, &b))
        return false;
    both_free(&layer_watts_kept, &b);
    return true;
}

static void learner_lines(lines *l, void **what)
{
    learner *x = *what;

    learner_text(l, &x);
    *what = x;
}

static void learner_release(void *what)
{
    learner_free(what);
}

static const kept_kind learner_kept = { "learner", learner_lines, learner_release, NULL };

/* Predicts within its range. */
bool fuzz_learner(const uint8_t *data, size_t size)
{
    static const double x[LEARNER_FEATURES];
    double              told[2];
    lm_error            err = { 0 };
    both                b;

    if (!comes_back(&learner_kept, "learner", data, size, &b))
        return false;
    check(!learner_predict(b.read, x, 1, &told[0], &err) && told[0] > 0);
    check(!learner_predict(b.back, x, 1, &told[1], &err) && told[0] == told[1]);
    both_free(&learner_kept, &b);
    return true;
}

/* Whose file it says it is. */
static const char *kind_of(const uint8_t *data, size_t size)
{
    static const char head[] = "layermeter learned ";
    const size_t      n      = sizeof head - 1;

    for (size_t i = 0; layerwise_kinds[i]; i++) {
        const char *name = layerwise_kinds[i]->name;

        if (size > n + strlen(name) && !memcmp(data, head, n) &&
            !memcmp(data + n, name, strlen(name)))
            return name;
    }
    return layerwise_kinds[0]->name;
}

bool fuzz_layerwise(const uint8_t *data, size_t size)
{
    both b;

    if (!comes_back(&layerwise_kept, kind_of(data, size), data, size, &b))
        return false;
    both_free(&layerwise_kept, &b);
    return true;
}

/* Says something of any two of its GPUs. */
bool fuzz_crossgpu(const uint8_t *data, size_t size)
{
    static const double x[LEARNER_FEATURES];
    crossgpu_prediction said;
    const crossgpu     *read;
    lm_error            err = { 0 };
    both                b;

    if (!comes_back(&crossgpu_kept, CROSSGPU_FILE, data, size, &b))
        return false;
    read = b.read;
    (void)crossgpu_predict(read, x, &read->gpu[0], &read->gpu[1], &said, &err);
    both_free(&crossgpu_kept, &b);
    return true;
}

bool fuzz_runs(const uint8_t *data, size_t size)
{
    memory_file f      = file_of(data, size);
    runs       *r      = NULL;
    lm_error    err    = { 0 };
    lm_status   status = runs_load(f.path, &r, &err);

    close(f.fd);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    check(r->n >= 1);
    for (size_t i = 0; i < r->n; i++) {
        check(isfinite(r->run[i].seconds) && r->run[i].seconds > 0 && *r->run[i].gpu);
        for (size_t c = 0; c < r->n_columns; c++)
            check(isfinite(r->run[i].value[c]) || isnan(r->run[i].value[c]));
    }
    runs_free(r);
    return true;
}
