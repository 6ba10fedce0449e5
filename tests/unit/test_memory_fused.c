/* Memory that ways of frameworks save or need, such as fused kernels: small networks by hand. */
#include "nets.h"

#include <stdlib.h>

#include "network/memory.h"

/* The head of a network, up to its input's shape. */
#define X "[network]\nname = n\n[x]\ntype = input\nshape = "

static memory_use use_of(const bound_text *m, memory_options o, const bind_options *b)
{
    memory_use use = { .peak = 0 };
    lm_error   err = { LM_OK, "" };

    assert_string_equal(m->err.text, "");
    memory_of_step(m->net, nets_registry, b, &o, &use, NULL, &err);
    assert_string_equal(err.text, "");
    return use;
}

/* At batch 2 each tensor has 8 elements, 32 bytes. Kept are those of gate, silu, up and product, and the
 * result; a fused product computes silu again. */
static void a_fused_gate_does_not_keep_the_activation(void **state)
{
    static const char *const fused[] = { "no", "yes" };
    const bind_options       b       = { .batch = 2, .dtype = LM_F32 };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char text[400];

        snprintf(text, sizeof text,
                 X "4\n[gate]\ntype = linear\nfeatures = 4\n[silu]\ntype = silu\n"
                   "[up]\ntype = linear\nfeatures = 4\ninputs = x\n"
                   "[mul]\ntype = multiply\ninputs = silu, up\nfused = %s\n"
                   "[down]\ntype = linear\nfeatures = 4\n",
                 fused[i]);
        bound_text m = nets_bind(text, 2);

        assert_int_equal(use_of(&m, (memory_options){ .optimizer = OPTIMIZER_SGD }, &b).kept,
                         (i ? 4 : 5) * 32);
        nets_free(&m);
    }
}

/* Two blocks of q and k, which read the same tensor, and o; a head behind them. Matrices of 8 x 8 elements in
 * 16 bits have 128 bytes. */
static const char blocks[] = X "8\n[block b]\n"
                               "[b/in]\ntype = relu\n"
                               "[b/q]\ntype = linear\nfeatures = 8\nbias = no\n"
                               "[b/k]\ntype = linear\nfeatures = 8\nbias = no\ninputs = in\n"
                               "[b/sum]\ntype = add\ninputs = q, k\n"
                               "[b/o]\ntype = linear\nfeatures = 8\nbias = no\n"
                               "[m.0..1]\nblock = b\n"
                               "[head]\ntype = linear\nfeatures = 8\nbias = no\n";

/* 7 matrices have sums of 256 bytes each. A product adds to them: of q and k together a tensor of 256 bytes
 * stays for both blocks, of o one of 128. The head has a gradient of its own for its pass. */
static void fused_gradients_leave_one_tensor_for_each_shape(void **state)
{
    const bind_options b = { .batch = 1, .dtype = LM_BF16 };
    memory_options     o = { .optimizer = OPTIMIZER_SGD, .masters = true, .sums = LM_F32 };
    bound_text         m = nets_bind_with(blocks, &b);
    memory_use         use;

    (void)state;
    use = use_of(&m, o, &b);
    assert_int_equal(use.part[MEMORY_GRADIENTS], 7 * 256 + 128);
    o.fused_gradients = true;
    use               = use_of(&m, o, &b);
    assert_string_equal(use.layer, "head");
    assert_int_equal(use.part[MEMORY_GRADIENTS], 7 * 256 + 256 + 128 + 128);
    nets_free(&m);
}

/* Bytes of a part in the moment of a layer's pass; NULL: of the update. */
static uint64_t in_moment(const bound_text *m, const memory_options *o, const bind_options *b,
                          const char *layer, timeline_pass pass, memory_part part)
{
    memory_moment *moment = NULL;
    memory_use     use;
    size_t         n;
    uint64_t       bytes = UINT64_MAX;
    lm_error       err   = { LM_OK, "" };

    memory_over_step(m->net, nets_registry, b, o, &use, &moment, &n, &err);
    assert_string_equal(err.text, "");
    for (size_t i = 0; i < n; i++)
        if (moment[i].pass == pass &&
            (!layer || !strcmp(m->bound->layer[moment[i].layer].decl->name, layer)))
            bytes = moment[i].part[part];
    free(moment);
    return bytes;
}

/* 7 matrices of 128 bytes: sums of 256 each; at the end of the backward pass all gradients beside
 * them. With 2 nodes a bucket for each, with 2 ranks that share states flat copies of all and of a half. */
static void late_sums_leave_all_gradients_until_the_pass_ends(void **state)
{
    const bind_options b = { .batch = 1, .dtype = LM_BF16 };
    memory_options     o = { .optimizer = OPTIMIZER_SGD,
                             .masters   = true,
                             .sums      = LM_F32,
                             .nodes     = 2,
                             .shares    = { .states = 2 } };
    bound_text         m = nets_bind_with(blocks, &b);

    (void)state;
    for (int late = 0; late < 2; late++) {
        o.late_sums = late;
        assert_int_equal(in_moment(&m, &o, &b, "m.0.q", TIMELINE_BACKWARD, MEMORY_GRADIENTS),
                         7 * 256 + (late ? 7 : 1) * 128);
        assert_int_equal(in_moment(&m, &o, &b, NULL, TIMELINE_UPDATE, MEMORY_GRADIENTS), 7 * 256);
        assert_int_equal(in_moment(&m, &o, &b, NULL, TIMELINE_UPDATE, MEMORY_BUCKETS),
                         late ? 7 * 128 : 0);
        assert_int_equal(in_moment(&m, &o, &b, NULL, TIMELINE_UPDATE, MEMORY_GATHERED),
                         late ? 7 * (128 + 64) : 0);
    }
    o.shares.states = 1;
    assert_int_equal(in_moment(&m, &o, &b, NULL, TIMELINE_UPDATE, MEMORY_GATHERED), 0);
    nets_free(&m);
}

/* Each rank has 2 of 4 tokens, 64 bytes; 'up' and 'gate' gather all, 128 bytes, once for both. Backward
 * they gather them again, beside the gradient of all tokens. Kept, they are an activation. */
static void gathered_inputs_are_whole_while_layers_run(void **state)
{
    static const char  text[] = X "4x8\n[t]\ntype = relu\nsplit = tokens\n"
                                  "[n]\ntype = linear\nfeatures = 8\nbias = no\n"
                                  "[up]\ntype = linear\nfeatures = 8\nbias = no\nsplit = columns\n"
                                  "[gate]\ntype = linear\nfeatures = 8\nbias = no\nsplit = columns\n"
                                  "inputs = n\n"
                                  "[mul]\ntype = multiply\ninputs = up, gate\n"
                                  "[down]\ntype = linear\nfeatures = 8\nbias = no\nsplit = rows\n";
    const bind_options b      = { .batch = 1, .dtype = LM_F32, .shard = { .tp = 2, .sp = true } };
    bound_text         m      = nets_bind_with(text, &b);
    memory_options     o      = { .optimizer = OPTIMIZER_SGD };

    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        o.keep_gathered = kept;
        for (int gate = 0; gate < 2; gate++) {
            const char *layer = gate ? "gate" : "up";

            assert_int_equal(in_moment(&m, &o, &b, layer, TIMELINE_FORWARD, MEMORY_WORKSPACE),
                             kept ? 0 : 128);
            assert_int_equal(in_moment(&m, &o, &b, layer, TIMELINE_BACKWARD, MEMORY_WORKSPACE),
                             kept ? 128 : 256);
        }
        assert_int_equal(in_moment(&m, &o, &b, "mul", TIMELINE_FORWARD, MEMORY_WORKSPACE), 0);
        /* t, up, gate, mul and the result, 64 each, and n or all tokens of it */
        assert_int_equal(use_of(&m, o, &b).kept, 5 * 64 + (kept ? 128 : 64));
    }
    nets_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fused_gate_does_not_keep_the_activation),
        cmocka_unit_test(fused_gradients_leave_one_tensor_for_each_shape),
        cmocka_unit_test(late_sums_leave_all_gradients_until_the_pass_ends),
        cmocka_unit_test(gathered_inputs_are_whole_while_layers_run),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
