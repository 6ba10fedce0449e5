/* What is counted of a workload, at any batch. */
#include "fit_nets.h"

#include "counts/known.h"
#include "fit/forms.h"

static void features_follow_their_definitions(void **state)
{
    const workload      one                  = { .nodes = 1, .bytes = 1000 };
    const workload      four                 = { .counts = { .flops_forward = 7,
                                                             .conv_inputs   = 8,
                                                             .conv_outputs  = 9,
                                                             .layers        = 10,
                                                             .params        = 11 },
                                                 .nodes  = 4,
                                                 .bytes  = 1000 };
    static const double expected[N_FEATURES] = { 7, 8, 9, 1, 10, 11, 4, 6, 1500 };

    (void)state;
    for (feature f = 0; f < N_FEATURES; f++)
        assert_close(feature_value(f, &four), expected[f], 0);
    /* a ring of one sends nothing */
    assert_close(feature_value(FEATURE_RING_STEPS, &one), 0, 0);
    assert_close(feature_value(FEATURE_RING_BYTES, &one), 0, 0);
    assert_string_equal(feature_unit(FEATURE_RING_BYTES), "byte");
}

static void counts_are_read_at_their_batch(void **state)
{
    workload w;
    lm_error err = { LM_OK, "" };

    (void)state;
    assert_int_equal(counts_parse("params=2.5e1 macs=4.1e9  outputs=1.5", 2, LM_F16, &w, &err),
                     LM_OK);
    assert_close(feature_value(FEATURE_FLOPS, &w), 2 * 2 * 4.1e9, 0);
    assert_close(feature_value(FEATURE_OUTPUTS, &w), 3, 0);
    assert_close(feature_value(FEATURE_WEIGHTS, &w), 25, 0);
    assert_int_equal(w.counts.param_bytes, 50);
    assert_true(isnan(feature_value(FEATURE_INPUTS, &w)));
    assert_true(isnan(feature_value(FEATURE_LAYERS, &w)));
    assert_close(feature_value(FEATURE_ONE, &w), 1, 0);
    assert_close(feature_seconds(FEATURE_OUTPUTS, 2, &w), 6, 0);
    assert_close(feature_seconds(FEATURE_INPUTS, 0, &w), 0, 0); /* what costs nothing */
    assert_true(isnan(feature_seconds(FEATURE_INPUTS, 2, &w)));
    assert_int_equal(counts_parse("macs=1", 1, LM_F32, &w, &err), LM_OK);
    assert_true(isnan(feature_value(FEATURE_RING_BYTES, &w)));
}

static void counts_that_cannot_be_read_are_named(void **state)
{
    static const struct {
        const char *text, *message;
        lm_status   status;
    } cases[] = {
        { "", "'macs' is missing: of counts it is the one needed", LM_E_SYNTAX },
        { "outputs=3", "'macs' is missing: of counts it is the one needed", LM_E_SYNTAX },
        { "macs", "expected key=number, found 'macs'", LM_E_SYNTAX },
        { "macs=4G", "macs: expected a finite number, found '4G'", LM_E_ARG },
        { "macs=-1", "macs: -1 is negative", LM_E_ARG },
        { "macs=1 macs=1", "'macs' is given twice", LM_E_SYNTAX },
        { "flops=1", "'flops' is no count; known are macs, inputs, outputs, layers, params",
          LM_E_NOTFOUND },
        { "macs=1e18", "macs: 1e18 at batch 8 does not fit 64 bits", LM_E_OVERFLOW },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        workload w;
        lm_error err = { LM_OK, "" };

        assert_int_equal(counts_parse(cases[i].text, 8, LM_F32, &w, &err), cases[i].status);
        assert_string_equal(err.text, cases[i].message);
    }
}

/* The counts at batches up to 4096 are those of the bound network. */
static void compare_with_bindings(workloads *loads, const char *name, const char *input)
{
    net_metrics counts, bound_counts;

    for (int64_t batch = 1; batch <= 4096; batch *= 4) {
        const bind_options options = { .batch = batch, .dtype = LM_F16, .input = input };
        network           *net;
        bound_network     *bound;

        assert_int_equal(
            workloads_counts(loads,
                             &(workload_name){ .name = name, .input = input, .dtype = LM_F16 },
                             batch, &counts, NULL),
            LM_OK);
        assert_int_equal(network_load(name, NULL, &net, NULL), LM_OK);
        assert_int_equal(bind_network(net, nets_registry, &options, &bound, NULL), LM_OK);
        assert_int_equal(metrics_of_network(bound, NULL, &bound_counts, NULL), LM_OK);
        assert_memory_equal(&counts, &bound_counts, sizeof counts);
        bound_network_free(bound);
        network_free(net);
    }
}

static void counts_of_a_large_batch_are_those_of_binding_it(void **state)
{
    workloads  *loads = new_loads();
    net_metrics counts;
    lm_error    err;

    (void)state;
    compare_with_bindings(loads, "n2.ini", "3x20x24");
    /* with 8 experts, 4 tokens read all of them, and 64 tokens no more; a long input does from the first
     * sample on, and says nothing of a short one */
    folder_file("experts.ini", "[network]\nname = experts\n[x]\ntype = input\nshape = 512x6\n"
                               "[e]\ntype = moe\nexperts = 8\ntop_k = 2\nhidden = 5\n");
    compare_with_bindings(loads, "experts.ini", "512x6");
    compare_with_bindings(loads, "experts.ini", "1x6");
    assert_int_equal(workloads_counts(loads, &(workload_name){ .name = "n2.ini", .dtype = LM_F32 },
                                      0, &counts, &err),
                     LM_E_ARG);
    assert_error(err, LM_E_ARG, "batch 0: must be 1 or more");
    assert_int_equal(workloads_counts(loads, &(workload_name){ .name = "n2.ini", .dtype = LM_F32 },
                                      INT64_MAX, &counts, &err),
                     LM_E_OVERFLOW);
    assert_error(
        err, LM_E_OVERFLOW,
        "n2.ini: a count at batch 9223372036854775807 does not fit 64 bits: give a smaller batch");
    workloads_free(loads);
}

/* Counted together, several inputs of a network in a row and apart, and with what cannot be
 * counted among them: the same as one by one, and who asks is told what is wrong. */
static void what_is_counted_together_is_as_if_counted_alone(void **state)
{
    static const workload_name of[]  = { { .name = "n1.ini", .dtype = LM_F32 },
                                         { .name = "n1.ini", .dtype = LM_F32 },
                                         { .name = "n1.ini", .input = "3x20x24", .dtype = LM_F32 },
                                         { .name = "nowhere.ini", .dtype = LM_F32 },
                                         { .name = "n3.ini", .input = "3", .dtype = LM_F16 },
                                         { .name = "n4.ini", .input = "3x8x8", .dtype = LM_F16 },
                                         { .name = "n3.ini", .input = "3x9x30", .dtype = LM_F16 },
                                         { .name = "n1.ini", .input = "3x7x7", .dtype = LM_F32 } };
    static const size_t        n     = sizeof of / sizeof of[0];
    workloads                 *alone = new_loads(), *together = new_loads();
    full_workload              full[2] = { 0 };

    (void)state;
    assert_int_equal(workloads_prepare(together, of, 2, NULL), LM_OK);
    for (int again = 0; again < 2; again++)
        assert_int_equal(workloads_prepare(together, of, n, NULL), LM_OK);
    for (size_t i = 0; i < n; i++) {
        lm_error  err[2] = { 0 };
        lm_status status[2];

        for (int k = 0; k < 2; k++)
            status[k] = workloads_full(k ? together : alone, &of[i], 5, &term_settings_default,
                                       OPTIMIZER_MOMENTUM, &full[k], &err[k]);
        assert_int_equal(status[0], status[1]);
        assert_int_equal(status[0] != LM_OK, i == 3 || i == 4);
        if (status[0]) {
            assert_string_equal(err[0].text, err[1].text);
            continue;
        }
        assert_memory_equal(&full[0].load.counts, &full[1].load.counts, sizeof(net_metrics));
        assert_int_equal(full[0].load.backward.n, full[1].load.backward.n);
        for (size_t k = 0; k < full[0].load.backward.n; k++)
            assert_close(full[0].load.backward.item[k].value, full[1].load.backward.item[k].value,
                         0);
    }
    workloads_free(alone);
    workloads_free(together);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_follow_their_definitions),
        cmocka_unit_test(counts_are_read_at_their_batch),
        cmocka_unit_test(counts_that_cannot_be_read_are_named),
        cmocka_unit_test(counts_of_a_large_batch_are_those_of_binding_it),
        cmocka_unit_test(what_is_counted_together_is_as_if_counted_alone),
    };

    return cmocka_run_group_tests(tests, fit_nets_enter, nets_leave);
}
