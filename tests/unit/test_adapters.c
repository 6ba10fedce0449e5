/* Networks with low-rank adapters: what is trained of them, by hand and as PEFT prints it. */
#include "nets.h"

#include <string.h>

#include "network/memory.h"
#include "network/metrics.h"

static bound_text opened(const char *name, const bind_options *b)
{
    bound_text made = { NULL, NULL, { LM_OK, "" } };

    if (!network_open(name, nets_registry, NULL, &made.net, &made.err))
        bind_network(made.net, nets_registry, b, &made.bound, &made.err);
    return made;
}

static net_metrics counts_of(const char *name)
{
    bound_text  t = opened(name, &(bind_options){ .batch = 1, .dtype = LM_BF16 });
    net_metrics m   = { 0 };
    lm_error    err = t.err;

    if (!t.bound || metrics_of_network(t.bound, NULL, &m, &err))
        fail_msg("%s", err.text);
    nets_free(&t);
    return m;
}

static uint64_t trained_of(const bound_text *t)
{
    uint64_t n = 0;

    assert_string_equal(t->err.text, "");
    for (size_t i = 0; i < t->bound->n_layers; i++)
        for (size_t k = 0; k < t->bound->layer[i].n_weights; k++)
            if (!(t->bound->layer[i].weights[k].flags & LM_FROZEN))
                n += lm_elements(&t->bound->layer[i].weights[k].tensor);
    return n;
}

/* "trainable params: 41,943,040" of Llama 3 8B with rank 16 beside all seven linear layers, 4,194,304 of
 * Llama 2 7B with rank 8 beside queries and values: print_trainable_parameters() of PEFT. */
static void trained_parameters_are_those_that_peft_prints(void **state)
{
    static const struct {
        const char *net;
        uint64_t    trained;
    } of[] = { { "llama3_8b:sequence=64:lora=16", 41943040 },
               { "llama2_7b:sequence=64:lora=8+q_proj+v_proj", 4194304 } };

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        bound_text t = opened(of[i].net, &(bind_options){ .batch = 1, .dtype = LM_BF16 });

        assert_int_equal(trained_of(&t), of[i].trained);
        nets_free(&t);
    }
}

/* Two linear layers of 8, 6 and 4 features, with adapters of rank 2: forward all products; backward those of the
 * adapters' weights, and gradients of inputs from the second layer on and through B. */
static void work_is_that_by_hand(void **state)
{
    static const char *const text = "[network]\nname = n\n"
                                    "[x]\ntype = input\nshape = 8\n"
                                    "[one]\ntype = linear\nfeatures = 6\n"
                                    "[two]\ntype = linear\nfeatures = 4\n";
    char                     name[300];
    net_metrics              m;

    (void)state;
    snprintf(name, sizeof name, "%s:lora=2", folder_file("two.ini", text));
    m = counts_of(name);
    assert_int_equal(m.flops_forward, 2 * (8 * 6 + 8 * 2 + 2 * 6 + 6 * 4 + 6 * 2 + 2 * 4));
    assert_int_equal(m.flops_backward, 2 * (8 * 2 + 2 * 6 + 6 * 2 + 2 * 4) /* weights of A and B */
                                           + 2 * (2 * 6 + 6 * 4 + 6 * 2 + 2 * 4)); /* inputs */
}

/* Frozen weights have neither gradients nor states; an input that tells another length keeps the adapters. */
static void memory_has_states_of_adapters_alone(void **state)
{
    const memory_options o       = { .optimizer = OPTIMIZER_ADAM };
    bind_options         b       = { .batch = 1, .dtype = LM_F32 };
    bound_text           t       = opened("gpt2:layers=2:sequence=64:lora=4", &b);
    const uint64_t       trained = trained_of(&t);
    memory_use           use;
    net_metrics          whole = counts_of("gpt2:layers=2:sequence=64");

    (void)state;
    /* c_attn, c_proj, c_fc, c_proj */
    assert_int_equal(trained, 2 * 4 * 768 * ((1 + 3) + (1 + 1) + (1 + 4) + (4 + 1)));
    assert_int_equal(memory_of_step(t.net, nets_registry, &b, &o, &use, NULL, &t.err), LM_OK);
    assert_int_equal(use.part[MEMORY_OPTIMIZER], 8 * trained);
    assert_int_equal(use.part[MEMORY_WEIGHTS], 4 * trained);
    assert_int_equal(use.part[MEMORY_FROZEN], 4 * whole.params);
    assert_true(use.part[MEMORY_GRADIENTS] <= 4 * trained);
    nets_free(&t);
    b.input = "32";
    t       = opened("gpt2:layers=2:lora=4", &b);
    assert_int_equal(trained_of(&t), trained);
    assert_int_equal(metrics_tokens(t.bound), 32);
    nets_free(&t);
}

static const lm_tensor *weight_of(const bound_text *t, const char *layer)
{
    assert_string_equal(t->err.text, "");
    return &nets_layer(t, layer)->weights[0].tensor;
}

/* Of columns B is divided, of rows A. */
static void ranks_share_adapters_as_their_layers(void **state)
{
    bound_text t = opened("llama3_8b:layers=1:sequence=64:lora=16",
                          &(bind_options){ .batch = 1, .dtype = LM_BF16, .shard = { .tp = 4 } });

    (void)state;
    assert_int_equal(lm_elements(weight_of(&t, "model.layers.0.self_attn.q_proj.lora_A")),
                     16 * 4096);
    assert_int_equal(lm_elements(weight_of(&t, "model.layers.0.self_attn.q_proj.lora_B")),
                     16 * 4096 / 4);
    assert_int_equal(lm_elements(weight_of(&t, "model.layers.0.self_attn.o_proj.lora_A")),
                     16 * 4096 / 4);
    assert_int_equal(lm_elements(weight_of(&t, "model.layers.0.self_attn.o_proj.lora_B")),
                     16 * 4096);
    nets_free(&t);
}

static void adapters_that_cannot_be_are_refused(void **state)
{
    static const struct {
        const char *net, *why;
    } bad[] = {
        { "gpt2:lora=0",
          "lora: expected a rank from 1 to 1000000, then +NAME of layers, found '0'" },
        { "gpt2:lora=x",
          "lora: expected a rank from 1 to 1000000, then +NAME of layers, found 'x'" },
        { "gpt2:lora=4+nothing", "lora=4: no linear layer of its takes an adapter" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        bound_text t = opened(bad[i].net, &(bind_options){ .batch = 1, .dtype = LM_F32 });

        assert_null(t.net);
        if (!strstr(t.err.text, bad[i].why))
            fail_msg("'%s' does not say '%s'", t.err.text, bad[i].why);
        nets_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trained_parameters_are_those_that_peft_prints),
        cmocka_unit_test(work_is_that_by_hand),
        cmocka_unit_test(memory_has_states_of_adapters_alone),
        cmocka_unit_test(ranks_share_adapters_as_their_layers),
        cmocka_unit_test(adapters_that_cannot_be_are_refused),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
