/* Linear layers that imported networks let ranks share. */
#include "nets.h"

#include "onnx/pairs.h"

#define HEAD(name, features) "[" name "]\ntype = linear\nfeatures = " features "\n"

static network *marked(const char *text)
{
    network *net = NULL;
    lm_error err = { LM_OK, "" };

    if (network_load(folder_file("n.ini", text), NULL, &net, &err) || pairs_mark(net, &err))
        fail_msg("%s", err.text);
    return net;
}

static lm_way way_of(const network *net, const char *name)
{
    for (size_t i = 0; i < net->n_layers; i++)
        if (!strcmp(net->layer[i].name, name))
            return net->layer[i].way;
    fail_msg("no layer %s", name);
    return LM_WHOLE;
}

/* Three layers: the first two are a pair, the third has none. Each of two ranks does half of the pair. */
static void columns_stand_before_rows(void **state)
{
    network       *net   = marked("[network]\nname = n\n[x]\ntype = input\nshape = 8\n" HEAD(
                "a", "16") "[r]\ntype = relu\n[d]\ntype = dropout\np = 0.5\n" HEAD("b", "4")
                                      HEAD("c", "3"));
    bind_options   b     = { .batch = 1, .dtype = LM_F32, .shard = { .tp = 2 } };
    bound_network *bound = NULL;
    lm_error       err   = { LM_OK, "" };

    (void)state;
    assert_int_equal(way_of(net, "a"), LM_COLUMNS);
    assert_int_equal(way_of(net, "b"), LM_ROWS);
    assert_int_equal(way_of(net, "c"), LM_WHOLE);
    assert_int_equal(bind_network(net, nets_registry, &b, &bound, &err), LM_OK);
    assert_int_equal(bound->layer[1].output[0].dim[1], 16 / 2);
    assert_int_equal(bound->layer[4].weights[0].tensor.dim[1], 16 / 2);
    assert_int_equal(bound->layer[5].weights[0].tensor.dim[1], 4);
    bound_network_free(bound);
    network_free(net);
}

/* silu(x G) times x U, then D: columns, columns, rows. */
static void a_gate_has_two_columns(void **state)
{
    network *net = marked("[network]\nname = n\n[x]\ntype = input\nshape = 8\n" HEAD(
        "g", "16") "[s]\ntype = silu\n[u]\ntype = linear\nfeatures = 16\ninputs = x\n"
                   "[m]\ntype = multiply\ninputs = s, u\n" HEAD("d", "8"));

    (void)state;
    assert_int_equal(way_of(net, "g"), LM_COLUMNS);
    assert_int_equal(way_of(net, "u"), LM_COLUMNS);
    assert_int_equal(way_of(net, "d"), LM_ROWS);
    network_free(net);
}

/* What is read twice, normalised, or has shared parameters is no pair. */
static void what_is_not_sure_stays_whole(void **state)
{
    static const char *const between[] = {
        "[r]\ntype = relu\n" HEAD("b", "8") "[z]\ntype = add\ninputs = b, r\n",
        "[r]\ntype = layer_norm\n" HEAD("b", "8"),
        HEAD("b", "8") "shares = a\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof between / sizeof *between; i++) {
        char     text[400];
        network *net;

        snprintf(text, sizeof text,
                 "[network]\nname = n\n[x]\ntype = input\nshape = 8\n" HEAD("a", "8") "%s",
                 between[i]);
        net = marked(text);
        assert_int_equal(way_of(net, "a"), LM_WHOLE);
        assert_int_equal(way_of(net, "b"), LM_WHOLE);
        network_free(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_stand_before_rows),
        cmocka_unit_test(a_gate_has_two_columns),
        cmocka_unit_test(what_is_not_sure_stays_whole),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
