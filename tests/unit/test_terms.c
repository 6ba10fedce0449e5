/* Terms of kernels, counted by hand; names. */
#include "check.h"

#include <string.h>

#include "counts/terms.h"
#include "nets.h"

static double value(const double *sum, const char *name)
{
    const size_t t = term_parse(name);

    assert_true(t < N_TERMS);
    return sum[t];
}

static size_t count(const double *sum)
{
    term_item room[N_TERMS];

    return terms_pack(sum, room).n;
}

static lm_kernel conv(int64_t c_in, int64_t c_out, int64_t groups, int64_t window)
{
    return (lm_kernel){ .size   = sizeof(lm_kernel),
                        .op     = LM_OP_CONV,
                        .pass   = LM_GRAD_WEIGHT,
                        .dtype  = LM_F32,
                        .repeat = 2,
                        .u.conv = { .n        = 3,
                                    .c_in     = c_in,
                                    .c_out    = c_out,
                                    .groups   = groups,
                                    .in       = { 1, 5, 5 },
                                    .out      = { 1, 5, 5 },
                                    .window   = { 1, window, window },
                                    .stride   = { 1, 1, 1 },
                                    .pad      = { 0, window / 2, window / 2 },
                                    .dilation = { 1, 1, 1 } } };
}

static void add(const lm_kernel *k, double *sum)
{
    term_chain chain = { 0 };

    terms_add(k, &term_settings_default, &chain, sum);
}

static void a_convolution_counts_rounded_flops_bytes_weights_and_launches(void **state)
{
    const lm_kernel k            = conv(20, 10, 1, 3);
    double          sum[N_TERMS] = { 0 };

    (void)state;
    add(&k, sum);
    /* 3 images x 25 pixels x 9 taps x 20 of 32 x 10 of 16 channels; 2 FLOP; twice */
    assert_close(value(sum, "conv3x3.flops.grad_weight"), 2 * 2 * 3 * 25 * 9 * 32.0 * 16, 1e-15);
    /* reads 3 x 25 x (20 + 10), writes 9 x 20 x 10; 4 bytes; twice */
    assert_close(value(sum, "conv.bytes.grad_weight"), 2 * 4 * 3 * 25 * 30.0, 1e-15);
    assert_close(value(sum, "conv.weights.grad_weight"), 2 * 4 * 9 * 200.0, 1e-15);
    assert_close(value(sum, "conv.launches.grad_weight"), 2, 0);
    assert_int_equal(count(sum), 4);
}

static void windows_are_told_apart_by_their_area(void **state)
{
    static const struct {
        int64_t     c_in, window[2];
        const char *name;
    } cases[] = {
        { 8, { 1, 1 }, "conv1x1.flops.grad_weight" },
        { 8, { 1, 7 }, "conv3x3.flops.grad_weight" },
        { 8, { 3, 3 }, "conv3x3.flops.grad_weight" },
        { 8, { 5, 5 }, "conv_large.flops.grad_weight" },
        { 4, { 3, 3 }, "conv_stem.flops.grad_weight" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double    sum[N_TERMS] = { 0 };
        lm_kernel k            = conv(cases[i].c_in, 16, 1, 1);

        k.u.conv.window[1] = cases[i].window[0];
        k.u.conv.window[2] = cases[i].window[1];
        add(&k, sum);
        assert_true(value(sum, cases[i].name) > 0);
        assert_int_equal(count(sum), 4);
    }
}

static void an_images_channels_are_not_rounded(void **state)
{
    const lm_kernel k = conv(3, 16, 1, 1), most = conv(4, 16, 1, 1);
    double          sum[N_TERMS] = { 0 }, more[N_TERMS] = { 0 };

    (void)state;
    add(&k, sum);
    add(&most, more);
    assert_close(value(sum, "conv_stem.flops.grad_weight"), 2 * 2 * 3 * 25 * 3.0 * 16, 1e-15);
    assert_close(value(more, "conv_stem.flops.grad_weight"), 2 * 2 * 3 * 25 * 4.0 * 16, 1e-15);
}

static void grouped_and_depthwise_convolutions_are_classes_of_their_own(void **state)
{
    const lm_kernel grouped = conv(20, 40, 4, 5), depthwise = conv(20, 20, 20, 5);
    double          sum[N_TERMS] = { 0 };

    (void)state;
    add(&grouped, sum);
    /* of each group 5 of 8 and 10 of 16 channels */
    assert_close(value(sum, "conv_grouped.flops.grad_weight"), 2 * 2 * 3 * 25 * 25 * 4 * 8.0 * 16,
                 1e-15);
    assert_close(value(sum, "conv_grouped.planes.grad_weight"), 2 * 3 * 40, 0);
    add(&depthwise, sum);
    assert_close(value(sum, "conv_depthwise.flops.grad_weight"), 2 * 2 * 3 * 25 * 25 * 20.0, 1e-15);
    assert_close(value(sum, "conv_depthwise.planes.grad_weight"), 2 * 3 * 20, 0);
    assert_close(value(sum, "conv.launches.grad_weight"), 4, 0);
    /* flops, bytes, planes of each; weights, launches and columns of both */
    assert_int_equal(count(sum), 9);
}

static double columns(int64_t c_in, int64_t c_out, int64_t groups, int64_t window, lm_pass pass,
                      lm_dtype type)
{
    lm_kernel k            = conv(c_in, c_out, groups, window);
    double    sum[N_TERMS] = { 0 };

    k.pass  = pass;
    k.dtype = type;
    add(&k, sum);
    return value(sum, pass == LM_GRAD_WEIGHT ? "conv.columns.grad_weight" : "conv.columns.forward");
}

/* Two launches, 3 x 25 outputs, each with its whole window. */
static void weights_of_narrow_groups_are_multiplied_by_columns(void **state)
{
    (void)state;
    assert_close(columns(32, 32, 32, 5, LM_GRAD_WEIGHT, LM_F32), 2 * 3 * 25 * 25 * 32.0, 1e-15);
    assert_close(columns(32, 32, 32, 3, LM_GRAD_WEIGHT, LM_F32), 0, 0);
    assert_close(columns(32, 32, 32, 5, LM_FORWARD, LM_F32), 0, 0);
    assert_close(columns(32, 32, 8, 3, LM_GRAD_WEIGHT, LM_F32), 2 * 3 * 25 * 9 * 32.0, 1e-15);
    assert_close(columns(32, 32, 4, 3, LM_GRAD_WEIGHT, LM_F32), 0, 0);
    assert_close(columns(32, 32, 4, 3, LM_GRAD_WEIGHT, LM_BF16), 2 * 3 * 25 * 9 * 32.0, 1e-15);
    assert_close(columns(32, 32, 2, 3, LM_GRAD_WEIGHT, LM_BF16), 0, 0);
    assert_close(columns(32, 32, 1, 5, LM_GRAD_WEIGHT, LM_BF16), 0, 0);
}

static lm_kernel product(lm_pass pass, int64_t m, int64_t n, int64_t k)
{
    return (lm_kernel){ .size   = sizeof(lm_kernel),
                        .op     = LM_OP_GEMM,
                        .pass   = pass,
                        .dtype  = LM_F16,
                        .repeat = 1,
                        .u.gemm = { .batch = 1, .m = m, .n = n, .k = k } };
}

/* Tensor cores have twice the peak in FP8: 1979 of 989 TFLOP/s on H100. */
static void products_in_fp8_count_half_their_flops(void **state)
{
    lm_kernel k            = product(LM_FORWARD, 20, 3, 5);
    double    sum[N_TERMS] = { 0 };

    (void)state;
    k.dtype = LM_F8;
    add(&k, sum);
    assert_close(value(sum, "gemm.flops.forward"), 20 * 3 * 5, 0);
    assert_close(value(sum, "gemm.weights.forward"), 3 * 5, 0);
}

static void products_tell_weights_from_activations(void **state)
{
    lm_kernel forward = product(LM_FORWARD, 20, 3, 5), few = product(LM_FORWARD, 8, 3, 5);
    lm_kernel weight       = product(LM_GRAD_WEIGHT, 5, 3, 20);
    double    sum[N_TERMS] = { 0 }, of_three[N_TERMS] = { 0 };

    (void)state;
    add(&forward, sum);
    assert_close(value(sum, "gemm.flops.forward"), 2 * 20 * 3 * 5, 0);
    assert_close(value(sum, "gemm.bytes.forward"), 2 * (20 * 5 + 20 * 3), 0);
    assert_close(value(sum, "gemm.weights.forward"), 2 * 3 * 5, 0);
    add(&few, sum);
    assert_close(value(sum, "gemv.weights.forward"), 2 * 3 * 5, 0);
    add(&weight, sum); /* written: 5 x 3 */
    assert_close(value(sum, "gemv.weights.grad_weight"), 2 * 5 * 3, 0);
    /* 20 rows of 3 samples are 7 of each */
    terms_add(&forward, &term_settings_default, &(term_chain){ .samples = 3 }, of_three);
    assert_close(value(of_three, "gemv.weights.forward"), 2 * 3 * 5, 0);
    forward.u.gemm.activations = 1;
    add(&forward, sum);
    assert_close(value(sum, "gemm.weights.forward"), 2 * 3 * 5, 0);
    assert_close(value(sum, "gemm.bytes.forward"),
                 2 * (20 * 5 + 20 * 3) + 2 * (8 * 5 + 8 * 3) + 2 * (20 * 5 + 20 * 3 + 3 * 5), 0);
}

static lm_kernel map(int64_t elements, int64_t flops)
{
    return (
        lm_kernel){ .size   = sizeof(lm_kernel),
                    .op     = LM_OP_MAP,
                    .pass   = LM_FORWARD,
                    .dtype  = LM_F32,
                    .repeat = 1,
                    .u.map  = { .elements = elements, .operands = 2, .flops_per_element = flops } };
}

static void functions_of_more_than_two_flops_count_their_elements(void **state)
{
    const lm_kernel cheap = map(10, 2), dear = map(10, 3);
    double          sum[N_TERMS] = { 0 };

    (void)state;
    add(&cheap, sum);
    assert_close(value(sum, "map.bytes.forward"), 4 * 30, 0);
    assert_int_equal(count(sum), 2);
    add(&dear, sum);
    assert_close(value(sum, "map.elements.forward"), 10, 0);
    terms_add_update(&cheap, sum);
    assert_close(value(sum, "update.bytes.forward"), 4 * 30, 0);
    assert_close(value(sum, "update.launches.forward"), 1, 0);
}

/* A product, a norm of its 60 elements, a map of them, a map of fewer, and one more of as many. */
static void what_follows_a_product_element_by_element_is_apart(void **state)
{
    const lm_kernel first = product(LM_FORWARD, 20, 3, 5), as_many = map(60, 1), fewer = map(30, 1);
    const lm_kernel norm         = { .size   = sizeof norm,
                                     .op     = LM_OP_NORM,
                                     .pass   = LM_FORWARD,
                                     .dtype  = LM_F32,
                                     .repeat = 1,
                                     .u.norm = { .rows = 3, .group = 20, .inner = 4 } };
    double          sum[N_TERMS] = { 0 };
    term_chain      chain        = { 0 };

    (void)state;
    terms_add(&first, &term_settings_default, &chain, sum);
    terms_add(&norm, &term_settings_default, &chain, sum);
    assert_close(value(sum, "norm_after.bytes.forward"), 4 * 120, 0);
    assert_close(value(sum, "norm.planes.forward"), 15, 0);
    terms_add(&as_many, &term_settings_default, &chain, sum);
    assert_close(value(sum, "map_after.bytes.forward"), 4 * 180, 0);
    assert_close(value(sum, "after.launches.forward"), 2, 0);
    terms_add(&fewer, &term_settings_default, &chain, sum);
    terms_add(&as_many, &term_settings_default, &chain, sum);
    assert_close(value(sum, "map.bytes.forward"), 4 * (90 + 180), 0);
    assert_close(value(sum, "other.launches.forward"), 2, 0);
    /* in a backward pass the second of two is still in a cache */
    chain = (term_chain){ .backward = true };
    terms_add(&as_many, &term_settings_default, &chain, sum);
    terms_add(&as_many, &term_settings_default, &chain, sum);
    assert_close(value(sum, "map_after.bytes.forward"), 4 * 360, 0);
    assert_close(value(sum, "after.launches.forward"), 2, 0);
}

static void updates_of_tensors_that_no_cache_holds_are_apart(void **state)
{
    /* 32 MiB of 4 bytes each, and one element more; two tensors are read, one written */
    const lm_kernel fits = map(8 << 20, 4), large = map((8 << 20) + 1, 4);
    double          sum[N_TERMS] = { 0 };

    (void)state;
    terms_add_update(&fits, sum);
    assert_close(value(sum, "update.bytes.forward"), 3 * 33554432.0, 0);
    assert_close(value(sum, "update_large.bytes.forward"), 0, 0);
    terms_add_update(&large, sum);
    assert_close(value(sum, "update_large.bytes.forward"), 3 * 33554436.0, 0);
    assert_close(value(sum, "update.launches.forward"), 2, 0);
}

/* A product with 4-byte weights of `rows` x 512 for one sample, and a convolution of one pixel. */
static pass_terms of_network(int64_t rows)
{
    char       text[400];
    pass_terms found;
    bound_text made;

    snprintf(text, sizeof text,
             "[network]\nname = n\n[x]\ntype = input\nshape = 511x1x1\n[c]\ntype = conv2d\n"
             "filters = 512\nkernel = 1\nbias = no\n[f]\ntype = flatten\n"
             "[a]\ntype = linear\nfeatures = %lld\nbias = no\n",
             (long long)rows);
    made = nets_bind(text, 1);
    assert_non_null(made.bound);
    assert_int_equal(
        terms_of_network(made.bound, &term_settings_default, OPTIMIZER_SGD, &found, NULL), LM_OK);
    bound_network_free(made.bound);
    network_free(made.net);
    return found;
}

static void weights_that_a_cache_holds_are_traffic(void **state)
{
    /* (511 + 513) x 512 x 4 bytes are 2 MiB; one row more is not held */
    const pass_terms fits = of_network(513), more = of_network(514);
    const double     conv = 4 * 511 * 512.0, inputs = 4 * 511.0, outputs = 4 * 512.0;

    (void)state;
    assert_close(value(fits.forward, "conv.weights.forward"), 0, 0);
    assert_close(value(fits.forward, "conv.bytes.forward"), conv + inputs + outputs, 0);
    assert_close(value(fits.forward, "gemv.weights.forward"), 0, 0);
    assert_close(value(fits.backward, "gemv.weights.grad_weight"), 0, 0);
    assert_close(value(more.forward, "conv.weights.forward"), conv, 0);
    assert_close(value(more.forward, "conv.bytes.forward"), inputs + outputs, 0);
    assert_close(value(more.forward, "gemv.weights.forward"), 4 * 512 * 514.0, 0);
}

/* 8 MiB of weights, as much of gradients and of each state; 32 MiB with the activations. */
static void updates_that_a_cpus_cache_holds_are_apart(void **state)
{
    const uint64_t mib    = 1 << 20;
    net_metrics    counts = { .param_bytes = 8 * mib, .activation_bytes = 8 * mib };
    const size_t   usual  = term_parse("update.bytes.forward"),
                 held     = term_parse("update_held.bytes.forward"),
                 launches = term_parse("update.launches.forward");

    (void)state;
    assert_true(terms_hold(&counts, OPTIMIZER_MOMENTUM));
    assert_false(terms_hold(&counts, OPTIMIZER_ADAM));
    counts.activation_bytes++;
    assert_false(terms_hold(&counts, OPTIMIZER_MOMENTUM));
    assert_true(terms_hold(&counts, OPTIMIZER_SGD));
    assert_int_equal(term_update_held(usual), held);
    assert_int_equal(term_update_not_held(held), usual);
    assert_int_equal(term_update_held(launches), launches);
    assert_int_equal(term_update_not_held(usual), usual);
    assert_true(term_of_update(held));
}

/* FLOPs of a convolution on a CPU, beside those on a GPU. */
static double on_cpu(const lm_kernel *k, const char *name)
{
    double     cpu[N_TERMS] = { 0 }, gpu[N_TERMS] = { 0 };
    term_chain chain[2] = { { .cpu = true }, { .cpu = false } };

    terms_add(k, &term_settings_default, &chain[0], cpu);
    terms_add(k, &term_settings_default, &chain[1], gpu);
    assert_close(value(cpu, "conv.bytes.grad_weight"), value(gpu, "conv.bytes.grad_weight"), 0);
    return value(cpu, name) / value(gpu, name);
}

static void loops_of_a_cpu_leave_out_rows_of_padding(void **state)
{
    lm_kernel k = conv(16, 16, 1, 3), other = conv(16, 16, 16, 3);

    (void)state;
    /* of 5 x 3 rows of windows two are padding, for 5 pixels and for 3, of which rows cost as 4 */
    assert_close(on_cpu(&k, "conv3x3.flops.grad_weight"), 13 / 15.0, 1e-12);
    assert_close(on_cpu(&other, "conv_depthwise.flops.grad_weight"), 13 / 15.0, 1e-12);
    k.u.conv.in[2] = k.u.conv.out[2] = 3;
    assert_close(on_cpu(&k, "conv3x3.flops.grad_weight"), 13 / 15.0 * 4 / 3, 1e-12);
    /* one pixel: a third of the rows */
    k.u.conv.in[1] = k.u.conv.out[1] = k.u.conv.in[2] = k.u.conv.out[2] = 1;
    assert_close(on_cpu(&k, "conv3x3.flops.grad_weight"), 4 / 3.0, 1e-12);
    /* strides and dilations: windows begin at -2 and 1 of 5 rows, and take each second one */
    k                    = conv(16, 16, 1, 3);
    k.u.conv.pad[1]      = 2;
    k.u.conv.stride[1]   = 3;
    k.u.conv.dilation[1] = 2;
    k.u.conv.out[1]      = 2;
    assert_close(on_cpu(&k, "conv3x3.flops.grad_weight"), 4 / 6.0, 1e-12);
    /* all pixels of an image share the weights of a window of one */
    other               = conv(16, 16, 1, 1);
    other.u.conv.out[1] = other.u.conv.out[2] = 1;
    assert_close(on_cpu(&other, "conv1x1.flops.grad_weight"), 4, 1e-12);
    other.u.conv.out[1] = 5;
    assert_close(on_cpu(&other, "conv1x1.flops.grad_weight"), 1, 1e-12);
}

/* 1 FLOP for each element that is read: 0.25 FLOP/byte of f32, below the balance of any device. */
static void memory_bounds_what_pooling_reads(void **state)
{
    (void)state;
    assert_int_equal(term_family_bound(term_family_of(term_parse("max_pool.flops.forward"))),
                     BOUND_TRAFFIC);
    assert_int_equal(term_family_bound(term_family_of(term_parse("avg_pool.flops.grad_input"))),
                     BOUND_TRAFFIC);
    assert_int_equal(term_family_bound(term_family_of(term_parse("conv3x3.flops.forward"))),
                     BOUND_ARITHMETIC);
}

static void names_go_there_and_back(void **state)
{
    char name[64];

    (void)state;
    for (size_t t = 0; t < N_TERMS; t++) {
        assert_int_equal(term_parse(term_name(t, name, sizeof name)), t);
        assert_true(*term_unit(t));
    }
    assert_int_equal(term_parse("conv3x3.flops"), N_TERMS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_counts_rounded_flops_bytes_weights_and_launches),
        cmocka_unit_test(windows_are_told_apart_by_their_area),
        cmocka_unit_test(an_images_channels_are_not_rounded),
        cmocka_unit_test(grouped_and_depthwise_convolutions_are_classes_of_their_own),
        cmocka_unit_test(weights_of_narrow_groups_are_multiplied_by_columns),
        cmocka_unit_test(products_tell_weights_from_activations),
        cmocka_unit_test(products_in_fp8_count_half_their_flops),
        cmocka_unit_test(functions_of_more_than_two_flops_count_their_elements),
        cmocka_unit_test(what_follows_a_product_element_by_element_is_apart),
        cmocka_unit_test(updates_of_tensors_that_no_cache_holds_are_apart),
        cmocka_unit_test(weights_that_a_cache_holds_are_traffic),
        cmocka_unit_test(updates_that_a_cpus_cache_holds_are_apart),
        cmocka_unit_test(loops_of_a_cpu_leave_out_rows_of_padding),
        cmocka_unit_test(memory_bounds_what_pooling_reads),
        cmocka_unit_test(names_go_there_and_back),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
