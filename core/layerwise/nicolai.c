/*
 * Nicolai's model: random forests of the time and of the power of single operations.
 *
 * C. Nicolai, "On Energy Modeling of Deep Neural Network Operations", master thesis, Heidelberg
 * University, 2025. Features are the module's type, one-hot, the attributes that it prints
 * (channels, kernel, stride, padding, groups, bias), the sizes of what it reads, writes and learns,
 * and the core clock; a forest (Breiman 2001) of seconds, one of watts, for forward passes and for
 * training steps apart. Energy is power times time, and a network the sum over all its operations.
 *
 * Where the thesis says nothing: attributes that a type does not have are 0, as is a clock that was
 * not held, which a flag of its own tells from all others. A function chained behind an operation,
 * as a sweep with `chain = yes` measures it, is a flag of that operation; other layers in a row are
 * none.
 *
 * With the setting encoding=1 the features are those of the published code
 * (github.com/ConstantinNicolai/ml-operator-profiling,
 * random_forest/random_forest_inference_clock.py, commit a89fd0d): the module's type, one-hot, its
 * attributes under PyTorch's names, two components of a tuple, up to four dimensions of the input,
 * each with a flag that says whether the module has it, and the clock. It has -1 where a module
 * lacks an attribute, here it is 0 beside the same flag: trees split both alike. Its `inplace`,
 * `eps` and `momentum` are left out: our layers have no such keys. So is its criterion of absolute
 * errors: this forest splits by squares.
 */
#include "layerwise/layerwise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "layers/schema.h"
#include "layerwise/layerwise_learners.h"

/* Modules of the thesis, by our names. */
static const char *const operations[] = { "conv2d",
                                          "linear",
                                          "batch_norm",
                                          "layer_norm",
                                          "relu",
                                          "silu",
                                          "sigmoid",
                                          "gelu",
                                          "max_pool2d",
                                          "avg_pool2d",
                                          "adaptive_avg_pool2d",
                                          "stochastic_depth",
                                          NULL };

/* Layers that stand behind another in a chain. */
static const char *const functions[] = {
    "relu", "silu", "sigmoid", "gelu", "stochastic_depth", NULL
};

static bool task(const layerwise_case *c, char *name)
{
    if (c->n_layers != 1 && (c->n_layers != 2 || !layerwise_is_function(c->layer[1])))
        return false;
    snprintf(name, LAYERWISE_NAME, "%s", phase_name(c->phase));
    return true;
}

static double elements(const lm_tensor *t, uint32_t n)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += (double)lm_elements(&t[i]);
    return sum;
}

static double weights(const bound_layer *l)
{
    double sum = 0;

    for (size_t i = 0; i < l->n_weights; i++)
        if (!(l->weights[i].flags & LM_FROZEN))
            sum += (double)lm_elements(&l->weights[i].tensor);
    return sum;
}

/* The attribute of that name as it was given: its first and its last number (0: it has none). */
static void add_attribute(const bound_layer *l, const char *key, layerwise_features *out)
{
    const lm_layer_type *type  = &l->entry->type;
    double               of[2] = { 0, 0 };
    char                 name[LAYERWISE_NAME];

    for (uint32_t i = 0; i < type->n_params; i++) {
        const lm_param *p =
            (const lm_param *)(const void *)((const char *)type->params + i * type->param_size);
        const lm_value *v = &l->param[i];

        if (strcmp(p->name, key) != 0 || !v->count)
            continue;
        for (int end = 0; end < 2; end++) {
            const uint32_t at = end ? v->count - 1 : 0;

            of[end] = p->kind == LM_REAL ? v->u.f[at] : (double)v->u.i[at];
        }
    }
    for (int end = 0; end < 2; end++) {
        snprintf(name, sizeof name, "%s.%s", key, end ? "last" : "first");
        layerwise_add(out, name, LAYERWISE_COUNT, of[end]);
    }
}

/* ---- the published encoding ---- */

#define MODULE "module." /* of its features, but for those that both have */

/* An attribute of PyTorch's module, and whether it has it. */
static void add_module(const char *name, bool has, double x, layerwise_features *out)
{
    char text[LAYERWISE_NAME];

    snprintf(text, sizeof text, MODULE "%.20s", name);
    layerwise_add(out, text, LAYERWISE_COUNT, has ? x : 0);
    snprintf(text, sizeof text, MODULE "%.20s_applicable", name);
    layerwise_add(out, text, LAYERWISE_FLAG, has);
}

static const lm_value *key_of(const bound_layer *l, const char *key)
{
    const uint32_t i = schema_find(&l->entry->type, key);

    return i < l->entry->type.n_params && l->param[i].count ? &l->param[i] : NULL;
}

/* A key of one number or of two, which stand for both of PyTorch's forms. */
static void add_tuple(const bound_layer *l, const char *key, const char *name,
                      layerwise_features *out)
{
    const lm_value *v = key_of(l, key);
    char            text[24];

    for (uint32_t i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "%.16s_%u", name, i);
        add_module(text, v != NULL, v ? (double)v->u.i[i < v->count ? i : v->count - 1] : 0, out);
    }
}

static void add_modules(const bound_layer *l, layerwise_features *out)
{
    const char      *type = l->decl->type;
    const bool       conv = !strcmp(type, "conv2d"), linear = !strcmp(type, "linear");
    const bool       norm   = !strcmp(type, "batch_norm");
    const lm_tensor *x      = &l->input[0];
    const lm_value  *width  = key_of(l, conv ? "filters" : "features");
    const lm_value  *bias   = key_of(l, norm ? "affine" : "bias"); /* a norm has both or none */
    const lm_value  *affine = norm ? key_of(l, "affine") : NULL;
    const lm_value  *p      = key_of(l, "p");
    const double     wide   = width ? (double)width->u.i[0] : 0;
    char             text[LAYERWISE_NAME];

    add_module("bias", bias != NULL, bias ? (double)bias->u.i[0] : 0, out);
    add_module("in_channels", conv, conv ? (double)x->dim[1] : 0, out);
    add_module("out_channels", conv, wide, out);
    add_tuple(l, "kernel", "kernel_size", out);
    add_tuple(l, "padding", "padding", out);
    add_tuple(l, "stride", "stride", out);
    add_module("in_features", linear, linear ? (double)x->dim[x->rank - 1] : 0, out);
    add_module("out_features", linear, wide, out);
    add_module("affine", affine != NULL, affine ? (double)affine->u.i[0] : 0, out);
    add_module("num_features", norm, norm ? (double)x->dim[1] : 0, out);
    add_module("p", p != NULL, p ? p->u.f[0] : 0, out);
    add_tuple(l, "size", "output_size", out);
    for (uint32_t d = 0; d < 4; d++) {
        const bool has = l->n_inputs && d < x->rank;

        snprintf(text, sizeof text, "input_size_%u", d);
        add_module(text, has, has ? (double)x->dim[d] : 0, out);
    }
}

static bool encoded(const char *feature, bool published)
{
    static const char *const both[] = { "operation.", LAYERWISE_CHAINED ".", LAYERWISE_CLOCK,
                                        LAYERWISE_HELD, NULL };

    for (size_t i = 0; both[i]; i++)
        if (!strncmp(feature, both[i], strlen(both[i])))
            return true;
    return !strncmp(feature, MODULE, strlen(MODULE)) == published;
}

static void features(const layerwise_case *c, layerwise_features *out)
{
    static const char *const attributes[] = {
        "kernel", "stride", "padding", "size", "groups", "p"
    };
    const bound_layer *l = c->layer[0];
    const lm_tensor   *x = &l->input[0], *y = &l->output[0];
    const bool         held = isfinite(c->clock_mhz);

    layerwise_add_words(out, "operation", operations, l->decl->type);
    layerwise_add_words(out, LAYERWISE_CHAINED, functions,
                        c->n_layers > 1 ? c->layer[1]->decl->type : "");
    layerwise_add(out, "batch", LAYERWISE_COUNT, (double)c->batch);
    layerwise_add(out, "input_elements", LAYERWISE_COUNT, elements(x, l->n_inputs));
    layerwise_add(out, "output_elements", LAYERWISE_COUNT, elements(y, l->n_outputs));
    layerwise_add(out, "weight_elements", LAYERWISE_COUNT, weights(l));
    for (uint32_t d = 1; d < 4; d++) {
        char name[LAYERWISE_NAME];

        snprintf(name, sizeof name, "input_dim%u", d);
        layerwise_add(out, name, LAYERWISE_COUNT,
                      l->n_inputs && d < x->rank ? (double)x->dim[d] : 0);
        snprintf(name, sizeof name, "output_dim%u", d);
        layerwise_add(out, name, LAYERWISE_COUNT,
                      l->n_outputs && d < y->rank ? (double)y->dim[d] : 0);
    }
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        add_attribute(l, attributes[i], out);
    layerwise_add(out, "bias", LAYERWISE_COUNT, (double)l->n_weights);
    layerwise_add(out, LAYERWISE_CLOCK, LAYERWISE_MHZ, held ? c->clock_mhz : 0);
    layerwise_add(out, LAYERWISE_HELD, LAYERWISE_FLAG, held);
    add_modules(l, out);
}

const layerwise_kind layerwise_nicolai = {
    .name      = "nicolai",
    .doc       = "random forests of time and power on the attributes and sizes of operations",
    .target    = { [LAYERWISE_SECONDS] = true, [LAYERWISE_WATTS] = true },
    .fewest    = 100,
    .chained   = true,
    .clocks    = true,
    .task      = task,
    .features  = features,
    .word      = { "gpu" },
    .setting   = { LAYERWISE_BEST_SETTINGS(2, 0),
                   { "encoding", 0, 0, 1, "1: features as the published code has them" } },
    .published = "encoding=1",
    .encoded   = encoded,
    .learner   = &layerwise_best,
};
