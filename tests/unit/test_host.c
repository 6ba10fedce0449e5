/* What the host does with layer types that are old, silent or wrong. */
#include "nets.h"

#include "network/metrics.h"

/* How the one fake type behaves in the test at hand. */
static struct {
    lm_status infer_status, cost_status, lower_status;
    bool      explain;
    int64_t   dim;
    lm_dtype  dtype;
    lm_kernel kernel;
    lm_weight weight;
    uint64_t  flops;
} act;

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    output[0]        = layer->input[0];
    output[0].dim[1] = act.dim;
    output[0].dtype  = act.dtype;
    if (act.infer_status && act.explain)
        return (layer->host->fail)(layer, act.infer_status, "%d is %s", 7,
                                   "odd"); /* fail() is cmocka's */
    return act.infer_status;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    assert_int_equal(cost->size, sizeof *cost);
    assert_int_equal(cost->pass[LM_FORWARD].flops, 0);
    assert_non_null(layer->output);
    assert_int_equal(layer->size, sizeof *layer);
    assert_int_equal(layer->host->abi_minor, LM_ABI_MINOR);
    cost->pass[LM_FORWARD].flops = act.flops;
    return act.cost_status;
}

static lm_status weights(const lm_layer *layer, lm_sink *sink)
{
    (void)layer;
    if (act.weight.size)
        sink->weight(sink, &act.weight);
    return LM_OK;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    (void)layer;
    if (act.kernel.size && pass == LM_FORWARD)
        sink->kernel(sink, &act.kernel);
    return act.lower_status;
}

static const lm_layer_type        fake      = { .size       = sizeof(lm_layer_type),
                                                .name       = "fake",
                                                .min_inputs = 1,
                                                .max_inputs = 1,
                                                .n_outputs  = 1,
                                                .infer      = infer,
                                                .cost       = cost,
                                                .weights    = weights,
                                                .lower      = lower };
static const lm_layer_type        unlowered = { .size       = sizeof(lm_layer_type),
                                                .name       = "unlowered",
                                                .min_inputs = 1,
                                                .max_inputs = 1,
                                                .n_outputs  = 1,
                                                .infer      = infer,
                                                .cost       = cost };
static const lm_layer_type *const types[]   = { &fake, &unlowered };
static const lm_plugin            plugin    = { LM_PLUGIN_HEAD, LM_TYPES(types), .name = "fake" };

static int enter(void **state)
{
    return nets_enter(state) || registry_add(nets_registry, &plugin, "here", 0, NULL);
}

static bound_text bind_fake(void)
{
    return nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 3\n[f]\ntype = fake\n", 2);
}

static int behave(void **state)
{
    (void)state;
    memset(&act, 0, sizeof act);
    act.dim   = 3;
    act.dtype = LM_F32;
    return 0;
}

static void refused(lm_status code, const char *text)
{
    bound_text m = bind_fake();

    assert_error(m.err, code, "n.ini:6: layer 'f': %s", text);
    assert_null(m.bound);
    nets_free(&m);
}

static void a_reason_given_is_passed_on(void **state)
{
    (void)state;
    act.infer_status = LM_E_UNSUPPORTED;
    act.explain      = true;
    refused(LM_E_UNSUPPORTED, "7 is odd");
    act.infer_status = 5; /* no code at all */
    refused(LM_E_ARG, "7 is odd");
}

static void a_reason_not_given_is_said_to_be_missing(void **state)
{
    (void)state;
    act.infer_status = LM_E_SHAPE;
    refused(LM_E_SHAPE, "the plugin gives no reason");
    act.infer_status = LM_OK;
    act.cost_status  = LM_E_ARG;
    refused(LM_E_ARG, "the plugin gives no reason");
    act.cost_status  = LM_OK;
    act.lower_status = LM_E_UNSUPPORTED;
    refused(LM_E_UNSUPPORTED, "the plugin gives no reason");
}

/* A status above 0 is none: it becomes an error, in the text as in the code. */
static void a_positive_status_is_a_failure(void **state)
{
    (void)state;
    act.infer_status = 5;
    refused(LM_E_SHAPE, "the plugin gives no reason");
}

static void impossible_outputs_are_refused(void **state)
{
    (void)state;
    act.dim = 0;
    refused(LM_E_SHAPE, "output dimension 1 would be 0");
    act.dim = -4;
    refused(LM_E_SHAPE, "output dimension 1 would be -4");
    act.dim = INT64_MAX;
    refused(LM_E_OVERFLOW, "output has more than 2^64 bytes");
    act.dim   = 3;
    act.dtype = 77;
    refused(LM_E_ABI, "the plugin gives an impossible output");
}

static void impossible_kernels_and_weights_are_refused(void **state)
{
    static const struct {
        lm_op    op;
        lm_pass  pass;
        uint32_t repeat;
    } cases[] = {
        { LM_OP_MAP, LM_GRAD_INPUT, 1 },        { LM_OP_MAP, LM_FORWARD, 0 },
        { LM_OP_ALLREDUCE, LM_FORWARD, 1 },     { -1, LM_FORWARD, 1 },
        { LM_OP_ATTENTION + 1, LM_FORWARD, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        act.kernel = (lm_kernel){ .size   = sizeof(lm_kernel),
                                  .op     = cases[i].op,
                                  .pass   = cases[i].pass,
                                  .dtype  = LM_F32,
                                  .repeat = cases[i].repeat };
        refused(LM_E_ABI, "the plugin emits a kernel of another pass or kind");
    }
    act.kernel.size = 0;
    act.weight      = (lm_weight){ .size = sizeof(lm_weight), .tensor = { .dtype = LM_F32 } };
    refused(LM_E_ABI, "the plugin emits a weight without role or shape");
    act.weight.role        = "weight";
    act.weight.tensor.rank = LM_MAX_RANK + 1;
    refused(LM_E_ABI, "the plugin emits a weight without role or shape");
}

static void work_that_saturates_is_refused(void **state)
{
    (void)state;
    act.flops = UINT64_MAX;
    refused(LM_E_OVERFLOW, "work does not fit 64 bits");
}

/* A record of an older plugin ends early; what stands behind it in memory is not its own. */
static void short_records_are_filled_up_with_zeros(void **state)
{
    bound_text m;

    (void)state;
    memset(&act.kernel, 0xA5, sizeof act.kernel);
    act.kernel.size           = offsetof(lm_kernel, u.map.flops_per_element);
    act.kernel.op             = LM_OP_MAP;
    act.kernel.pass           = LM_FORWARD;
    act.kernel.dtype          = LM_F32;
    act.kernel.repeat         = 2;
    act.kernel.u.map.elements = 6;
    act.kernel.u.map.operands = 1;
    memset(&act.weight, 0xA5, sizeof act.weight);
    act.weight.size   = offsetof(lm_weight, flags);
    act.weight.role   = "weight";
    act.weight.tensor = (lm_tensor){ .dtype = LM_F32, .rank = 1, .dim = { 5 } };
    m                 = bind_fake();
    assert_string_equal(m.err.text, "");
    {
        const bound_layer *l = nets_layer(&m, "f");
        const lm_kernel   *k = l->kernels[LM_FORWARD];

        assert_int_equal(l->n_kernels[LM_FORWARD], 1);
        assert_int_equal(k->size, sizeof *k);
        assert_int_equal(k->u.map.elements, 6);
        assert_int_equal(k->u.map.flops_per_element, 0);
        for (size_t i = 3; i < 32; i++)
            assert_int_equal(k->u.room[i], 0);
        assert_int_equal(l->n_weights, 1);
        assert_int_equal(l->weights[0].flags, 0);
        assert_true(l->trained);
        assert_int_equal(l->weights[0].size, sizeof(lm_weight));
        assert_true(l->weights[0].role != act.weight.role); /* copied at once */
    }
    nets_free(&m);
}

/* Its work is known, its time never measured: tables mark it. */
static void a_layer_that_does_not_lower_is_counted_as_such(void **state)
{
    bound_text  m;
    net_metrics n;

    (void)state;
    act.flops = 1000;
    m = nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 3\n[f]\ntype = unlowered\n", 2);
    assert_false(nets_layer(&m, "f")->lowered);
    assert_int_equal(metrics_of_network(m.bound, NULL, &n, NULL), LM_OK);
    assert_int_equal(n.layers_not_lowered, 1);
    assert_int_equal(n.other_flops_forward, 1000);
    assert_int_equal(n.layers, 1);
    nets_free(&m);
    act.flops = 0; /* without work there is nothing to lower */
    m = nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 3\n[f]\ntype = unlowered\n", 2);
    assert_int_equal(metrics_of_network(m.bound, NULL, &n, NULL), LM_OK);
    assert_int_equal(n.layers_not_lowered, 0);
    nets_free(&m);
}

#define test(name) cmocka_unit_test_setup(name, behave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_reason_given_is_passed_on),
        test(a_reason_not_given_is_said_to_be_missing),
        test(a_positive_status_is_a_failure),
        test(impossible_outputs_are_refused),
        test(impossible_kernels_and_weights_are_refused),
        test(work_that_saturates_is_refused),
        test(short_records_are_filled_up_with_zeros),
        test(a_layer_that_does_not_lower_is_counted_as_such),
    };

    return cmocka_run_group_tests(tests, enter, nets_leave);
}
