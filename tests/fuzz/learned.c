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

/* What is read is written the same again, and predicts. */
bool fuzz_residual(const uint8_t *data, size_t size)
{
    char         *text = as_text(data, size), *again = NULL;
    residual_set *read = NULL, *back = NULL;
    static double x[RESIDUAL_FEATURES];
    size_t        n;
    lm_error      err = { 0 };
    lm_status     status;
    FILE         *out;

    status = residual_set_read("f", text, &read, &err);
    free(text);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    out = open_memstream(&again, &n);
    residual_set_write(out, read);
    fclose(out);
    check(!residual_set_read("f", again, &back, &err));
    free(again);
    for (size_t c = 0; c < N_LAYER_CLASSES; c++) {
        const residual_trees *r = read->of[c];

        check(!r == !back->of[c]);
        if (!r)
            continue;
        (void)residual_at(r, false, x);
        check(trees_predict(r->trees, x) == trees_predict(back->of[c]->trees, x) ||
              isnan(trees_predict(r->trees, x)));
    }
    residual_set_free(read);
    residual_set_free(back);
    return true;
}

/* What is read is written the same again. */
bool fuzz_layer_watts(const uint8_t *data, size_t size)
{
    char        *first = as_text(data, size), *again = NULL;
    layer_watts *read = NULL, *back = NULL;
    size_t       n;
    lm_error     err    = { 0 };
    lm_status    status = layer_watts_read("f", first, &read, &err);
    FILE        *out;

    free(first);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    check(out = open_memstream(&first, &n));
    layer_watts_write(out, read);
    fclose(out);
    again = strdup(first);
    check(again && !layer_watts_read("f", again, &back, &err));
    free(again);
    check(out = open_memstream(&again, &n));
    layer_watts_write(out, back);
    fclose(out);
    check(!strcmp(first, again));
    free(first);
    free(again);
    layer_watts_free(read);
    layer_watts_free(back);
    return true;
}

static learner *learner_of(char *text, lm_status *status, lm_error *err)
{
    lines    in = { .path = "f", .at = text };
    learner *l  = NULL;

    *status = learner_read(&in, &l, err);
    free(text);
    return l;
}

/* What is read is written the same again, and predicts within its range. */
bool fuzz_learner(const uint8_t *data, size_t size)
{
    static const double x[LEARNER_FEATURES];
    char               *first = NULL, *again = NULL;
    double              told[2];
    size_t              n;
    lm_error            err = { 0 };
    lm_status           status;
    learner            *read = learner_of(as_text(data, size), &status, &err), *back;
    FILE               *out;

    if (status) {
        check_refusal(status, &err);
        return false;
    }
    check(out = open_memstream(&first, &n));
    learner_write(out, read);
    fclose(out);
    check(back = learner_of(strdup(first), &status, &err));
    check(out = open_memstream(&again, &n));
    learner_write(out, back);
    fclose(out);
    check(!strcmp(first, again));
    check(!learner_predict(read, x, 1, &told[0], &err) && told[0] > 0);
    check(!learner_predict(back, x, 1, &told[1], &err) && told[0] == told[1]);
    free(first);
    free(again);
    learner_free(read);
    learner_free(back);
    return true;
}

/* The same of single kernels. */
bool fuzz_kernels(const uint8_t *data, size_t size)
{
    char               *text = as_text(data, size), *again = NULL;
    operator_residuals *read = NULL, *back = NULL;
    static double       x[RESIDUAL_FEATURES];
    size_t              n;
    lm_error            err = { 0 };
    lm_status           status;
    FILE               *out;

    status = operator_residuals_read("f", text, &read, &err);
    free(text);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    out = open_memstream(&again, &n);
    operator_residuals_write(out, read);
    fclose(out);
    check(!operator_residuals_read("f", again, &back, &err));
    free(again);
    for (operator_class c = 0; c < N_OPERATOR_CLASSES; c++) {
        check(!read->of[c] == !back->of[c]);
        if (read->of[c])
            check(isfinite(residual_at(read->of[c], false, x)));
    }
    operator_residuals_free(read);
    operator_residuals_free(back);
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

/* What is read is written the same again, and says something of any two of its GPUs. */
bool fuzz_crossgpu(const uint8_t *data, size_t size)
{
    static const double x[LEARNER_FEATURES];
    char               *text = as_text(data, size), *first = NULL, *again = NULL;
    crossgpu           *read = NULL, *back = NULL;
    crossgpu_prediction said;
    size_t              n;
    lm_error            err    = { 0 };
    lm_status           status = crossgpu_read("f", text, &read, &err);
    FILE               *out;

    free(text);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    check(out = open_memstream(&first, &n));
    crossgpu_write(out, read);
    fclose(out);
    check(text = strdup(first));
    check(!crossgpu_read("f", text, &back, &err));
    free(text);
    check(out = open_memstream(&again, &n));
    crossgpu_write(out, back);
    fclose(out);
    check(!strcmp(first, again));
    (void)crossgpu_predict(read, x, &read->gpu[0], &read->gpu[1], &said, &err);
    free(first);
    free(again);
    crossgpu_free(read);
    crossgpu_free(back);
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

/* What is read is written the same again. */
bool fuzz_layerwise(const uint8_t *data, size_t size)
{
    char                 *first = as_text(data, size), *again = NULL;
    const layerwise_kind *kind = kind_of(first);
    layerwise_model      *read = NULL, *back = NULL;
    size_t                n;
    lm_error              err    = { 0 };
    lm_status             status = layerwise_read("f", first, kind, &read, &err);
    FILE                 *out;

    free(first);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    check(out = open_memstream(&first, &n));
    layerwise_write(out, read);
    fclose(out);
    again = strdup(first);
    check(again && !layerwise_read("f", again, kind, &back, &err));
    free(again);
    check(out = open_memstream(&again, &n));
    layerwise_write(out, back);
    fclose(out);
    check(!strcmp(first, again));
    free(first);
    free(again);
    layerwise_free(read);
    layerwise_free(back);
    return true;
}
