/* What was learned, and what across GPUs is learned from. */
#include "inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "baselines/layerwise_model.h"
#include "crossgpu/crossgpu_file.h"
#include "fit/layer_watts.h"
#include "learn/learner.h"
#include "network/kernels.h"
#include "single/learned.h"
#include "single/operator_residual.h"

/* How one sort of what was learned is kept as text. */
typedef struct kept {
    lm_status (*read)(char *text, void **out, lm_error *err);
    void (*write)(FILE *out, const void *what);
    void (*free)(void *what);
} kept;

/* `reading` makes `made` of `text`, which it may overwrite, or says in `err` why not. */
#define KEPT(type, reading, writing, freeing)                           \
    static lm_status read_##type(char *text, void **out, lm_error *err) \
    {                                                                   \
        type           *made   = NULL;                                  \
        const lm_status status = (reading);                             \
                                                                        \
        *out = made;                                                    \
        return status;                                                  \
    }                                                                   \
    static void write_##type(FILE *out, const void *what)               \
    {                                                                   \
        writing(out, what);                                             \
    }                                                                   \
    static void free_##type(void *what)                                 \
    {                                                                   \
        freeing(what);                                                  \
    }                                                                   \
    static const kept kept_##type = { read_##type, write_##type, free_##type }

static char *written(const kept *k, const void *what)
{
    char  *text = NULL;
    size_t n;
    FILE  *out = open_memstream(&text, &n);

    check(out);
    k->write(out, what);
    fclose(out);
    return text;
}

/* Both ends of a way through text: the same text again. */
typedef struct both {
    void *read, *back;
} both;

/* False: a refusal, and nothing in `b`. */
static bool comes_back(const kept *k, const uint8_t *data, size_t size, both *b)
{
    char           *text   = as_text(data, size), *first, *again;
    lm_error        err    = { 0 };
    const lm_status status = k->read(text, &b->read, &err);

    free(text);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    first = written(k, b->read);
    check(text = strdup(first));
    check(!k->read(text, &b->back, &err));
    again = written(k, b->back);
    check(!strcmp(first, again));
    free(text);
    free(first);
    free(again);
    return true;
}

static void both_free(const kept *k, both *b)
{
    k->free(b->read);
    k->free(b->back);
}

KEPT(residual_set, residual_set_read("f", text, &made, err), residual_set_write, residual_set_free);

/* What comes back predicts the same. */
bool fuzz_residual(const uint8_t *data, size_t size)
{
    static double x[RESIDUAL_FEATURES];
    both          b;

    if (!comes_back(&kept_residual_set, data, size, &b))
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
    both_free(&kept_residual_set, &b);
    return true;
}

KEPT(operator_residuals, operator_residuals_read("f", text, &made, err), operator_residuals_write,
     operator_residuals_free);

/* The same of single kernels. */
bool fuzz_kernels(const uint8_t *data, size_t size)
{
    static double x[RESIDUAL_FEATURES];
    both          b;

    if (!comes_back(&kept_operator_residuals, data, size, &b))
        return false;
    for (operator_class c = 0; c < N_OPERATOR_CLASSES; c++) {
        const residual_trees *r = ((const operator_residuals *)b.read)->of[c];

        check(!r == !((const operator_residuals *)b.back)->of[c]);
        if (r)
            check(isfinite(residual_at(r, false, x)));
    }
    both_free(&kept_operator_residuals, &b);
    return true;
}

KEPT(layer_watts, layer_watts_read("f", text, &made, err), layer_watts_write, layer_watts_free);

bool fuzz_layer_watts(const uint8_t *data, size_t size)
{
    both b;

    if (!comes_back(&kept_layer_watts, data, size, &b))
        return false;
    both_free(&kept_layer_watts, &b);
    return true;
}

KEPT(learner, learner_read(&(lines){ .path = "f", .at = text }, &made, err), learner_write,
     learner_free);

/* Predicts within its range. */
bool fuzz_learner(const uint8_t *data, size_t size)
{
    static const double x[LEARNER_FEATURES];
    double              told[2];
    lm_error            err = { 0 };
    both                b;

    if (!comes_back(&kept_learner, data, size, &b))
        return false;
    check(!learner_predict(b.read, x, 1, &told[0], &err) && told[0] > 0);
    check(!learner_predict(b.back, x, 1, &told[1], &err) && told[0] == told[1]);
    both_free(&kept_learner, &b);
    return true;
}

/* Whose file it says it is. */
static const layerwise_kind *kind_of(const char *text)
{
    static const char head[] = "layermeter model ";

    for (size_t i = 0; !strncmp(text, head, sizeof head - 1) && layerwise_kinds[i]; i++)
        if (!strncmp(text + sizeof head - 1, layerwise_kinds[i]->name,
                     strlen(layerwise_kinds[i]->name)))
            return layerwise_kinds[i];
    return layerwise_kinds[0];
}

KEPT(layerwise_model, layerwise_read("f", text, kind_of(text), &made, err), layerwise_write,
     layerwise_free);

bool fuzz_layerwise(const uint8_t *data, size_t size)
{
    both b;

    if (!comes_back(&kept_layerwise_model, data, size, &b))
        return false;
    both_free(&kept_layerwise_model, &b);
    return true;
}

KEPT(crossgpu, crossgpu_read("f", text, &made, err), crossgpu_write, crossgpu_free);

/* Says something of any two of its GPUs. */
bool fuzz_crossgpu(const uint8_t *data, size_t size)
{
    static const double x[LEARNER_FEATURES];
    crossgpu_prediction said;
    const crossgpu     *read;
    lm_error            err = { 0 };
    both                b;

    if (!comes_back(&kept_crossgpu, data, size, &b))
        return false;
    read = b.read;
    (void)crossgpu_predict(read, x, &read->gpu[0], &read->gpu[1], &said, &err);
    both_free(&kept_crossgpu, &b);
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
