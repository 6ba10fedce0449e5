/** Layers one by one: a table of sentences in numbers, each computed by hand. */
#ifndef UNIT_LAYERS_H
#define UNIT_LAYERS_H

#include "nets.h"

#include "layers/kernel_text.h"

/**
 * One layer behind a trained one that keeps shapes, so that every gradient is wanted. Batch 2, f32.
 *
 * Work is that of the three passes: forward, gradient of the input, gradient of the weights.
 */
typedef struct layer_case {
    const char *shape;   /**< of one sample */
    const char *layer;   /**< type and keys */
    const char *output;  /**< "2x8x5x6", "scalar" */
    const char *weights; /**< "weight=8x4x3x3 bias=8", in order; "" for none */
    uint64_t    flops[LM_N_PASSES];
    uint64_t    saved_bytes;
    uint32_t    keeps;
} layer_case;

static inline const char *layers_shape(const lm_tensor *t, char *buffer, size_t size)
{
    size_t n = 0;

    snprintf(buffer, size, "%s", t->rank ? "" : "scalar");
    for (uint32_t d = 0; d < t->rank; d++)
        n += (size_t)snprintf(buffer + n, size - n, "%s%lld", d ? "x" : "", (long long)t->dim[d]);
    return buffer;
}

static inline const char *layers_weights(const bound_layer *l, char *buffer, size_t size)
{
    size_t n = 0;

    buffer[0] = '\0';
    for (size_t i = 0; i < l->n_weights; i++) {
        char shape[160];

        n += (size_t)snprintf(buffer + n, size - n, "%s%s=%s%s", i ? " " : "", l->weights[i].role,
                              layers_shape(&l->weights[i].tensor, shape, sizeof shape),
                              l->weights[i].flags & LM_FROZEN ? " (frozen)" : "");
    }
    return buffer;
}

/** "map elements=4 operands=1 flops_per_element=2; reduce ...": the kernels of one pass. */
static inline const char *layers_kernels(const bound_layer *l, lm_pass pass, char *buffer,
                                         size_t size)
{
    size_t n = 0;

    buffer[0] = '\0';
    for (size_t i = 0; i < l->n_kernels[pass]; i++) {
        const lm_kernel *k = &l->kernels[pass][i];
        char             geometry[512];

        n += (size_t)snprintf(
            buffer + n, size - n, "%s%s %s%s%s", i ? "; " : "", kernel_op_name(k->op),
            k->pass == pass ? "" : kernel_pass_name(k->pass), k->pass == pass ? "" : " ",
            kernel_print_geometry(k, geometry, sizeof geometry));
    }
    return buffer;
}

/** The layer 'l' of that text, behind an input of that shape; release with nets_free(). */
static inline bound_text layers_bind(const char *shape, const char *layer)
{
    char text[600];

    snprintf(
        text, sizeof text,
        "[network]\nname = n\noutput = l\n[x]\ntype = input\nshape = %s\n[w]\ntype = prelu\n[l]\n%s\n",
        shape, layer);
    return nets_bind(text, 2);
}

static inline void layers_check(const layer_case *c, size_t n)
{
    for (size_t i = 0; i < n; i++, c++) {
        bound_text         m = layers_bind(c->shape, c->layer);
        const bound_layer *l = nets_layer(&m, "l");
        char               buffer[600];
        bool               same = true;

        assert_string_equal(layers_shape(l->output, buffer, sizeof buffer), c->output);
        assert_string_equal(layers_weights(l, buffer, sizeof buffer), c->weights);
        for (lm_pass p = 0; p < LM_N_PASSES; p++)
            same &= l->cost.pass[p].flops == c->flops[p];
        if (!same || l->cost.saved_bytes != c->saved_bytes || l->cost.keeps != c->keeps)
            fail_msg("case %zu, %s: flops %llu %llu %llu, saved %llu, keeps %u", i, c->layer,
                     (unsigned long long)l->cost.pass[0].flops,
                     (unsigned long long)l->cost.pass[1].flops,
                     (unsigned long long)l->cost.pass[2].flops,
                     (unsigned long long)l->cost.saved_bytes, l->cost.keeps);
        assert_true(l->lowered);
        nets_free(&m);
    }
}

#define LAYERS_CHECK(cases) layers_check((cases), sizeof(cases) / sizeof(cases)[0])

/** What is refused, and why: the text without file, line and layer. */
typedef struct refused_case {
    const char *shape, *layer, *message;
    lm_status   code;
} refused_case;

static inline void layers_refuse(const refused_case *c, size_t n)
{
    for (size_t i = 0; i < n; i++, c++) {
        bound_text  m     = layers_bind(c->shape, c->layer);
        const char *found = strstr(m.err.text, "layer 'l': ");

        assert_string_equal(found ? found + strlen("layer 'l': ") : m.err.text, c->message);
        assert_int_equal(m.err.code, c->code);
        assert_null(m.bound);
        nets_free(&m);
    }
}

#define LAYERS_REFUSE(cases) layers_refuse((cases), sizeof(cases) / sizeof(cases)[0])

#endif
