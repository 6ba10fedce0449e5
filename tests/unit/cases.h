/** Layers of several inputs, or none: a network's text, and the work of the layer `l` in it. */
#ifndef UNIT_CASES_H
#define UNIT_CASES_H

#include "layers.h"

#include "base/text.h"

/** A network needs data and uses all it has: x and l are its outputs. Layers begin in line 7. */
#define CASES_OUTPUT(names) \
    "[network]\nname = n\noutput = " names "\n[x]\ntype = input\nshape = 5\n"
#define CASES_HEAD CASES_OUTPUT("x, l")

/** What a layer must yield at batch 2 in f32. Works are FLOP, bytes read, bytes written. */
typedef struct work_case {
    const char *text;   /**< sections; the layer in question is called l */
    const char *output; /**< "2x3 f32" */
    lm_work     work[LM_N_PASSES];
    uint64_t    saved_bytes;
    uint32_t    keeps;
} work_case;

/** A tensor without a batch in front of it, and a gradient that goes back to it. */
#define LEARNED(name, shape) "[" name "]\ntype = parameter\nshape = " shape "\n"

static inline const char *case_tensor(const lm_tensor *t, char text[128])
{
    char *at = text;

    *at = '\0';
    for (uint32_t d = 0; d < t->rank; d++)
        at += sprintf(at, "%s%lld", d ? "x" : "", (long long)t->dim[d]);
    sprintf(at, "%s%s", t->rank ? " " : "", text_dtype_name(t->dtype));
    return text;
}

/** Kernels of each pass add up to its cost. */
static inline void assert_cost_is_kernels(const bound_layer *l)
{
    for (lm_pass pass = 0; pass < LM_N_PASSES; pass++) {
        lm_work sum = { 0, 0, 0 };

        for (size_t i = 0; i < l->n_kernels[pass]; i++) {
            const lm_work  one   = lm_kernel_work(&l->kernels[pass][i]);
            const uint64_t times = l->kernels[pass][i].repeat;

            sum.flops += times * one.flops;
            sum.read_bytes += times * one.read_bytes;
            sum.written_bytes += times * one.written_bytes;
        }
        assert_memory_equal(&sum, &l->cost.pass[pass], sizeof sum);
    }
}

static inline void check_case(const work_case *c)
{
    bound_text         m = nets_bind(c->text, 2);
    const bound_layer *l = nets_layer(&m, "l");
    char               text[128];

    if (strcmp(case_tensor(&l->output[0], text), c->output))
        fail_msg("%s\noutput is %s, not %s", c->text, text, c->output);
    for (lm_pass p = 0; p < LM_N_PASSES; p++) {
        const lm_work *is = &l->cost.pass[p], *want = &c->work[p];

        if (is->flops != want->flops || is->read_bytes != want->read_bytes ||
            is->written_bytes != want->written_bytes)
            fail_msg("%s\npass %d: %llu FLOP, %llu read, %llu written, not %llu, %llu, %llu",
                     c->text, p, (unsigned long long)is->flops, (unsigned long long)is->read_bytes,
                     (unsigned long long)is->written_bytes, (unsigned long long)want->flops,
                     (unsigned long long)want->read_bytes, (unsigned long long)want->written_bytes);
    }
    if (l->cost.saved_bytes != c->saved_bytes || l->cost.keeps != c->keeps)
        fail_msg("%s\nsaves %llu bytes, keeps %u, not %llu, %u", c->text,
                 (unsigned long long)l->cost.saved_bytes, l->cost.keeps,
                 (unsigned long long)c->saved_bytes, c->keeps);
    assert_cost_is_kernels(l);
    nets_free(&m);
}

#define check_cases(cases)                                           \
    do {                                                             \
        for (size_t i = 0; i < sizeof(cases) / sizeof *(cases); i++) \
            check_case(&(cases)[i]);                                 \
    } while (0)

typedef struct refusal_case {
    const char *text, *message;
    lm_status   code;
} refusal_case;

#define check_refusals(cases)                                               \
    do {                                                                    \
        for (size_t i = 0; i < sizeof(cases) / sizeof *(cases); i++) {      \
            bound_text m = nets_bind((cases)[i].text, 2);                   \
                                                                            \
            assert_error(m.err, (cases)[i].code, "%s", (cases)[i].message); \
            nets_free(&m);                                                  \
        }                                                                   \
    } while (0)

#endif
