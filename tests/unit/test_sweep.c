/* What a sweep draws: the generator as its header states it, and layers by themselves. */
#include "nets.h"

#include <string.h>

#include "network/kernels.h"
#include "network/single.h"
#include "sweep/draw.h"
#include "sweep/sweep.h"

/* Expected: the same few lines in Python. */
static void the_generator_is_what_its_header_says(void **state)
{
    static const int64_t of_64[] = { 1, 25, 61, 7, 3, 8, 2, 24 };
    draw                 d       = draw_begin(7, "layers");

    (void)state;
    assert_true(draw_next(&d) == UINT64_C(2037883864893102909));
    assert_true(draw_next(&d) == UINT64_C(12421442513949935354));
    d = draw_begin(1, "layers.conv");
    for (size_t i = 0; i < sizeof of_64 / sizeof of_64[0]; i++)
        assert_int_equal(draw_log(&d, 1, 64), of_64[i]);
    assert_int_equal(draw_below(&d, 7), 5);
}

/* 1/x: what lies between a and b has the share log(b/a) / log(high/low). */
static void logarithmic_ranges_are_uniform_in_the_logarithm(void **state)
{
    draw   d    = draw_begin(3, "log");
    size_t n[3] = { 0 };

    (void)state;
    for (size_t i = 0; i < 30000; i++) {
        const int64_t x = draw_log(&d, 10, 9999);

        assert_true(x >= 10 && x <= 9999);
        n[x < 100 ? 0 : x < 1000 ? 1 : 2]++;
    }
    for (size_t i = 0; i < 3; i++)
        assert_close((double)n[i] / 30000, 1. / 3, 0.01);
}

static void a_value_is_one_of_its_alternatives(void **state)
{
    draw     d       = draw_begin(1, "values");
    lm_error err     = { LM_OK, "" };
    bool     seen[4] = { false };

    (void)state;
    for (size_t i = 0; i < 200; i++) {
        const char *text;

        draw_forget(&d);
        assert_int_equal(draw_value(&d, "kernel", "5", 0, &err), LM_OK);
        assert_int_equal(draw_value(&d, "padding", "0, ${kernel / 2}, 10..12, 64..256*2", 0, &err),
                         LM_OK);
        text = draw_get(&d, "padding");
        seen[0] |= !strcmp(text, "0");
        seen[1] |= !strcmp(text, "2");
        seen[2] |= !strcmp(text, "10") || !strcmp(text, "12");
        seen[3] |= !strcmp(text, "64") || !strcmp(text, "256");
    }
    for (size_t i = 0; i < 4; i++)
        assert_true(seen[i]);
    assert_int_equal(draw_value(&d, "shape", "0,-1,$kernel", 1, &err), LM_OK);
    assert_string_equal(draw_get(&d, "shape"), "0,-1,5");
    assert_null(draw_get(&d, "stride"));
}

static void values_that_mean_nothing_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
        lm_status   code;
    } cases[] = {
        { "$stride", "'stride' is not a key of an earlier line", LM_E_NOTFOUND },
        { "${kernel", "'${' without '}'", LM_E_SYNTAX },
        { "5..3", "5..3 holds no number", LM_E_ARG },
        { "0..8 log", "0..8 log holds no number", LM_E_ARG },
        { "1..9e99", "expected a whole number, found '9e99'", LM_E_ARG },
        { "-9223372036854775807..9223372036854775807",
          "-9223372036854775807..9223372036854775807 holds no number", LM_E_ARG },
        { "", "has no value", LM_E_SYNTAX },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        draw     d   = draw_begin(1, "values");
        lm_error err = { LM_OK, "" };

        assert_int_equal(draw_value(&d, "kernel", "3", 0, &err), LM_OK);
        draw_value(&d, "padding", cases[i].text, 0, &err);
        assert_error(err, cases[i].code, "%s", cases[i].message);
    }
}

/* A layer alone launches what it launches behind a layer that is trained. */
static void a_layer_by_itself_is_the_layer_of_a_network(void **state)
{
    bound_text in_network = nets_bind(
        "[network]\nname = n\n[data]\ntype = input\nshape = 3x8x8\n[first]\ntype = conv2d\nfilters = "
        "4\nkernel = 1\n[second]\ntype = conv2d\nfilters = 8\nkernel = 3\npadding = 1\n",
        6);
    network       *net   = NULL;
    bound_network *alone = NULL;
    lm_error       err   = { LM_OK, "" };
    kernel_list    list  = { NULL, 0, 0 };
    bound_layer   *there, *here;

    (void)state;
    assert_non_null(in_network.bound);
    single_bind("conv2d", "filters=8 kernel=3 padding=1", "4x8x8", 6, LM_F32, nets_registry, &net,
                &alone, &err);
    assert_string_equal(err.text, "");
    there = &in_network.bound->layer[2];
    here  = &alone->layer[1];
    for (lm_pass p = 0; p < LM_N_PASSES; p++) {
        assert_int_equal(here->n_kernels[p], 1);
        assert_memory_equal(here->kernels[p], there->kernels[p], sizeof(lm_kernel));
    }
    assert_int_equal(kernels_update(alone, OPTIMIZER_MOMENTUM, &list, &err), LM_OK);
    assert_int_equal(list.n, 2); /* weight, bias */
    kernel_list_free(&list);
    bound_network_free(alone);
    network_free(net);
    nets_free(&in_network);
}

static void numbers_get_no_gradient_and_several_inputs_are_listed(void **state)
{
    network       *net   = NULL;
    bound_network *alone = NULL;
    lm_error       err   = { LM_OK, "" };

    (void)state;
    single_bind("embedding", "vocabulary=100 width=8", "16:i64", 2, LM_F32, nets_registry, &net,
                &alone, &err);
    assert_string_equal(err.text, "");
    assert_false(alone->layer[1].needs_grad_input);
    bound_network_free(alone);
    network_free(net);
    single_bind("matmul", "", "4x8, 8x2", 3, LM_F32, nets_registry, &net, &alone, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(alone->layer[2].output->dim[2], 2);
    bound_network_free(alone);
    network_free(net);
}

static void layers_that_cannot_be_are_refused(void **state)
{
    static const struct {
        const char *type, *geometry, *input, *message;
    } cases[] = {
        { "conv2d", "filters=8 kernel=3", "3x2x2",
          "single layer: layer 'conv2d': window reaches over" },
        { "conv2d", "filters=8", "3x8x8",
          "single layer: layer 'conv2d': 'conv2d' needs 'kernel ='" },
        { "conv2d", "filters=8 size=3", "3x8x8", "geometry: 'conv2d' has no key 'size'" },
        { "conv2d", "filters=8 kernel", "3x8x8", "geometry: expected KEY=VALUE, found 'kernel'" },
        { "conv2d", "filters=8 filters=9", "3x8x8", "geometry: 'filters' is given twice" },
        { "relu", "", "8:i63", "input: expected an element type (" },
        { "relu", "", "8xx", "input: " },
        { "rleu", "", "8", "unknown layer type 'rleu'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        network       *net   = NULL;
        bound_network *bound = NULL;
        lm_error       err   = { LM_OK, "" };

        assert_int_not_equal(single_bind(cases[i].type, cases[i].geometry, cases[i].input, 1,
                                         LM_F32, nets_registry, &net, &bound, &err),
                             LM_OK);
        if (strncmp(err.text, cases[i].message, strlen(cases[i].message)))
            fail_msg("'%s' does not begin with '%s'", err.text, cases[i].message);
    }
}

static lm_status anything(void *context, const char *compute, sweep_limits *out, lm_error *err)
{
    (void)compute;
    (void)err;
    *out = *(const sweep_limits *)context;
    return LM_OK;
}

static sweep *load_on(autocast_kind on, const char *text, uint32_t obeys, lm_error *err)
{
    sweep_limits limits = { .settings = obeys, .on = on };
    workloads   *loads  = NULL;
    sweep       *plan   = NULL;

    assert_int_equal(workloads_new(nets_registry, &loads, err), LM_OK);
    sweep_load(folder_file("s.ini", text), nets_registry, loads, anything, &limits, &plan, err);
    workloads_free(loads);
    return plan;
}

static sweep *load(const char *text, uint32_t obeys, lm_error *err)
{
    return load_on(AUTOCAST_GPU, text, obeys, err);
}

/* Rows of a CPU told no cache before there was a choice. */
static void only_cold_caches_of_a_cpu_are_told(void **state)
{
    lm_error err  = { LM_OK, "" };
    sweep   *plan = load_on(AUTOCAST_CPU,
                            "[sweep]\nbackend = b\ncache = warm, cold\n"
                              "[layers]\ntype = relu\ninput = 3x8x8\nbatch = 1\ncount = 1\n",
                            1u << SETTING_CACHE, &err);

    (void)state;
    assert_string_equal(err.text, "");
    assert_int_equal(plan->n_points, 2);
    assert_string_equal(plan->point[0].row.settings, "");
    assert_string_equal(plan->point[1].row.settings, "cache=cold");
    sweep_free(plan);
}

/* The convolutions of the generator in Python, with every combination of type and layout. */
static void layers_are_drawn_once_and_measured_in_every_variant(void **state)
{
    static const char *const geometry[] = { "filters=39 kernel=2 stride=4 padding=0",
                                            "filters=4 kernel=1 stride=4 padding=0",
                                            "filters=77 kernel=3 stride=4 padding=0" };
    static const char *const input[]    = { "1x57x57", "926x2x2", "9x5x5" };
    lm_error                 err        = { LM_OK, "" };
    sweep                   *plan       = load(
                                "[layers.conv]\ntype = conv2d\ncount = 3\nbatch = 1..64 log\n_image = 1..512 log\n"
                                                        "_channels = 1..${10000 / _image} log\ninput = ${_channels}x${_image}x${_image}\n"
                                                        "filters = 1..${10000 / _image} log\nkernel = 1..7\nstride = 1..4\n"
                                                        "padding = 0, ${kernel / 2}\ndtype = f32, f16\n[sweep]\nbackend = b\nlayout = nchw, nhwc\n",
                                1u << SETTING_LAYOUT | 1u << SETTING_CACHE, &err);

    (void)state;
    assert_string_equal(err.text, "");
    assert_int_equal(plan->n_points, 3 * 4);
    for (size_t i = 0; i < plan->n_points; i++) {
        const sweep_point *p = &plan->point[i];

        assert_int_equal(p->row.kind, OBS_LAYER);
        assert_string_equal(p->row.name, "conv2d");
        assert_string_equal(p->row.geometry, geometry[i / 4]);
        assert_string_equal(p->row.input, input[i / 4]);
        assert_int_equal(p->row.dtype, i % 2 ? LM_F16 : LM_F32);
        assert_string_equal(p->row.settings,
                            i % 4 < 2 ? "cache=warm layout=nchw" : "cache=warm layout=nhwc");
        assert_int_equal(p->how.value[SETTING_LAYOUT], i % 4 >= 2);
        assert_true(p->counts.flops_forward > 0);
    }
    sweep_free(plan);
}

static void filters_bound_what_is_drawn(void **state)
{
    lm_error err  = { LM_OK, "" };
    sweep   *plan = load("[sweep]\nbackend = b\nflops_per_second = 1e9\nbytes_per_second = 1e12\n"
                           "[layers]\ntype = linear\ncount = 50\nbatch = 1..64\n_in = 1..4095\n"
                           "input = $_in\nfeatures = 1..4095\nmin_flops = 1e6\nmax_flops = 1e8\n"
                           "max_bytes = 40MB\nmax_seconds = 0.2\n",
                         0, &err);

    (void)state;
    assert_string_equal(err.text, "");
    assert_int_equal(plan->n_points, 50);
    for (size_t i = 0; i < plan->n_points; i++) {
        const net_metrics *c = &plan->point[i].counts;

        assert_in_range(c->flops_forward, 1000000, 100000000);
        assert_true(3 * c->param_bytes + 2 * c->activation_bytes <= 40000000);
        assert_true(3 * c->flops_forward <= 200000000);
    }
    sweep_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator_is_what_its_header_says),
        cmocka_unit_test(logarithmic_ranges_are_uniform_in_the_logarithm),
        cmocka_unit_test(a_value_is_one_of_its_alternatives),
        cmocka_unit_test(values_that_mean_nothing_are_refused),
        cmocka_unit_test(a_layer_by_itself_is_the_layer_of_a_network),
        cmocka_unit_test(numbers_get_no_gradient_and_several_inputs_are_listed),
        cmocka_unit_test(layers_that_cannot_be_are_refused),
        cmocka_unit_test(layers_are_drawn_once_and_measured_in_every_variant),
        cmocka_unit_test(only_cold_caches_of_a_cpu_are_told),
        cmocka_unit_test(filters_bound_what_is_drawn),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
