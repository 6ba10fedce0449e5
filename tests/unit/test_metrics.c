/* Counts of networks: by hand, by block, and how they grow with the batch. */
#include "nets.h"

#include "network/metrics.h"

static const char small[] = /* every line of arithmetic below refers to this network */
    "[network]\nname = n\noutput = loss\n"
    "[x]\ntype = input\nshape = 3x8x8\n"
    "[stem.conv]\ntype = conv2d\nfilters = 4\nkernel = 3\npadding = 1\n"
    "[stem.bn]\ntype = batch_norm\n"
    "[stem.relu]\ntype = relu\n"
    "[dw]\ntype = conv2d\nfilters = 4\nkernel = 3\npadding = 1\ngroups = 4\nbias = no\n"
    "[add]\ntype = add\ninputs = dw, stem.relu\n"
    "[pool]\ntype = max_pool2d\nkernel = 2\n"
    "[flat]\ntype = flatten\n"
    "[drop]\ntype = dropout\nfunctional = yes\n"
    "[fc]\ntype = linear\nfeatures = 5\n"
    "[stem2]\ntype = relu\n"
    "[loss]\ntype = cross_entropy\n";

static net_metrics count(const bound_text *m, const char *prefix)
{
    net_metrics out;
    lm_error    err = { LM_OK, "" };

    assert_string_equal(m->err.text, "");
    metrics_of_network(m->bound, prefix, &out, &err);
    assert_string_equal(err.text, "");
    return out;
}

static void a_small_network_matches_hand_counts(void **state)
{
    bound_text        m = nets_bind(small, 2);
    const net_metrics n = count(&m, NULL);

    (void)state;
    /* weights: conv 4*3*9 + 4, bn 4 + 4, dw 4*9, fc 5*64 + 5 */
    assert_int_equal(n.params, 112 + 8 + 36 + 325);
    assert_int_equal(n.param_tensors, 2 + 2 + 1 + 2);
    assert_int_equal(n.param_bytes, 4 * n.params);
    /* conv: 2*4*8*8 = 512 outputs of 27 products; dw: 512 of 9; fc: 2*5 of 64 */
    assert_int_equal(n.macs_conv, 512 * 27 + 512 * 9);
    assert_int_equal(n.macs_linear, 640);
    assert_int_equal(n.flops_forward, 2 * (512 * 36 + 640));
    /* conv is the first trained layer: no gradient of its input */
    assert_int_equal(n.flops_grad_input, 2 * (512 * 9 + 640));
    assert_int_equal(n.flops_grad_weight, 2 * (512 * 36 + 640));
    assert_int_equal(n.flops_backward, n.flops_grad_input + n.flops_grad_weight);
    assert_int_equal(n.conv_inputs, 2 * 3 * 64 + 512);
    assert_int_equal(n.conv_outputs, 512 + 512);
    assert_int_equal(n.linear_inputs, 2 * 64);
    assert_int_equal(n.linear_outputs, 2 * 5);
    /* conv, bn, relu, dw, pool, fc, relu; not x, add, flatten, loss, nor the functional dropout */
    assert_int_equal(n.layers, 7);
    /* outputs of these: four of 512, pool 128, fc and relu 10 each */
    assert_int_equal(n.activation_bytes, 4 * (4 * 512 + 128 + 10 + 10));
    assert_int_equal(n.layers_not_lowered, 0);
    nets_free(&m);
}

static void products_and_the_rest_make_up_the_cost(void **state)
{
    bound_text m = nets_bind(small, 3);

    (void)state;
    for (size_t i = 0; i < m.bound->n_layers; i++) {
        const bound_layer *l = &m.bound->layer[i];
        net_metrics        n;

        assert_int_equal(metrics_of_layer(l, &n, NULL), LM_OK);
        assert_int_equal(n.flops_forward + n.other_flops_forward, l->cost.pass[LM_FORWARD].flops);
        assert_int_equal(n.flops_backward + n.other_flops_backward,
                         l->cost.pass[LM_GRAD_INPUT].flops + l->cost.pass[LM_GRAD_WEIGHT].flops);
        assert_int_equal(n.read_bytes, l->cost.pass[LM_FORWARD].read_bytes +
                                           l->cost.pass[LM_GRAD_INPUT].read_bytes +
                                           l->cost.pass[LM_GRAD_WEIGHT].read_bytes);
    }
    nets_free(&m);
}

static void functional_layers_cost_but_do_not_count(void **state)
{
    bound_text  m   = nets_bind(small, 2);
    net_metrics add = count(&m, "add"), drop = count(&m, "drop"), x = count(&m, "x");

    (void)state;
    assert_int_equal(add.layers, 0);
    assert_int_equal(add.activation_bytes, 0);
    assert_int_equal(add.other_flops_forward, 512);
    assert_int_equal(drop.layers, 0);
    assert_true(drop.other_flops_forward > 0);
    assert_int_equal(x.layers + x.activation_bytes + x.read_bytes, 0);
    nets_free(&m);
}

static void a_block_is_its_name_and_what_follows_a_dot(void **state)
{
    bound_text  m    = nets_bind(small, 1);
    net_metrics stem = count(&m, "stem");
    lm_error    err;

    (void)state;
    assert_true(metrics_in_block("layer1", "layer1") &&
                metrics_in_block("layer1.0.conv", "layer1"));
    assert_false(metrics_in_block("layer10", "layer1") || metrics_in_block("layer", "layer1"));
    assert_int_equal(stem.layers, 3); /* not stem2 */
    assert_int_equal(stem.params, 120);
    assert_int_equal(metrics_of_network(m.bound, "ste", &stem, &err), LM_E_NOTFOUND);
    assert_error(err, LM_E_NOTFOUND, "n.ini: no layer 'ste' and none under it");
    nets_free(&m);
}

static void blocks_add_up_to_the_network(void **state)
{
    static const char *const parts[]                = { "x",    "stem", "dw", "add",   "pool",
                                                        "flat", "drop", "fc", "stem2", "loss" };
    bound_text               m                      = nets_bind(small, 2);
    net_metrics              all                    = count(&m, NULL), one;
    uint64_t     sum[sizeof all / sizeof(uint64_t)] = { 0 }, value[sizeof all / sizeof(uint64_t)];
    const size_t n                                  = sizeof all / sizeof(uint64_t);

    (void)state;
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
        one = count(&m, parts[p]);
        memcpy(value, &one, sizeof value);
        for (size_t i = 0; i < n; i++)
            sum[i] += value[i];
    }
    assert_memory_equal(sum, &all, sizeof sum);
    nets_free(&m);
}

/* Each layer fits 64 bits, their sum does not: 2 * 10^18 FLOP a layer forward, 19 of them. */
static void a_total_beyond_64_bits_is_an_error(void **state)
{
    bound_text  m = nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 1000000000\n"
                               "[a.1..19]\ntype = linear\nfeatures = 1000000000\nbias = no\n",
                              1);
    net_metrics n;
    lm_error    err;

    (void)state;
    assert_string_equal(m.err.text, "");
    assert_int_equal(metrics_of_network(m.bound, "a.1", &n, &err), LM_OK);
    assert_int_equal(n.flops_forward, 2000000000000000000ull);
    assert_int_equal(metrics_of_network(m.bound, NULL, &n, &err), LM_E_OVERFLOW);
    assert_error(err, LM_E_OVERFLOW, "n.ini: a total does not fit 64 bits");
    nets_free(&m);
}

/* Rows of integers are tokens; images are none, nor are classes beside them. */
static void tokens_are_the_first_datas_integers(void **state)
{
    static const struct {
        const char *text;
        int64_t     tokens;
    } cases[] = {
        { "shape = 77\ndtype = i64\n", 77 },
        { "shape = 77\n", 0 },
        { "shape = 3x7\ndtype = i64\n", 0 },
        { "shape = 3x8x8\n[y]\ntype = input\nshape = 9\ndtype = i64\n", 0 },
        { "shape = 5\ndtype = i64\n[y]\ntype = input\nshape = 9\n", 5 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char       text[200];
        bound_text m;

        snprintf(text, sizeof text, "[network]\nname = n\noutput = %s\n[x]\ntype = input\n%s",
                 strstr(cases[i].text, "[y]") ? "x, y" : "x", cases[i].text);
        m = nets_bind(text, 2);
        assert_string_equal(m.err.text, "");
        assert_int_equal(metrics_tokens(m.bound), cases[i].tokens);
        nets_free(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_network_matches_hand_counts),
        cmocka_unit_test(products_and_the_rest_make_up_the_cost),
        cmocka_unit_test(functional_layers_cost_but_do_not_count),
        cmocka_unit_test(a_block_is_its_name_and_what_follows_a_dot),
        cmocka_unit_test(blocks_add_up_to_the_network),
        cmocka_unit_test(a_total_beyond_64_bits_is_an_error),
        cmocka_unit_test(tokens_are_the_first_datas_integers),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
