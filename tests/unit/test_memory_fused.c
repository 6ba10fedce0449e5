/* Memory that fused kernels of frameworks save or need: small networks by hand. */
#include "nets.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fused_gate_does_not_keep_the_activation),
        cmocka_unit_test(fused_gradients_leave_one_tensor_for_each_shape),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
