/* Softmaxes, linear layers and losses: shapes, parameters, work and what is kept by hand; batch 2
 * and single precision. */
#include "layers.h"

/* 2 * 5 * 6 elements, 5 FLOP forward and 4 backward; softmin turns the sign of each, too. */
static void softmaxes_match_hand_counts(void **state)
{
    static const layer_case cases[] = {
        { "5x6", "type = softmax", "2x5x6", "", { 300, 240, 0 }, 0, LM_KEEPS_OUTPUT },
        { "5x6", "type = log_softmax\naxis = 1", "2x5x6", "", { 300, 240, 0 }, 0, LM_KEEPS_OUTPUT },
        { "5x6", "type = softmin\naxis = -2", "2x5x6", "", { 360, 300, 0 }, 0, LM_KEEPS_OUTPUT },
    };
    bound_text m = layers_bind("5x6", "type = softmin\naxis = 1");
    char       buffer[300];

    (void)state;
    LAYERS_CHECK(cases);
    assert_string_equal(layers_kernels(nets_layer(&m, "l"), LM_GRAD_INPUT, buffer, sizeof buffer),
                        "softmax rows=12 group=5; map elements=60 operands=1 flops_per_element=1");
    nets_free(&m);
}

/* Ten rows. linear: 10 * 6 * 3 products a pass. bilinear with 6 and 4 features: 10 * 6 * 12
 * products forward and 10 * 3 * 4 with the other input; each gradient 10 * 12 pairs and as many
 * products. A bias adds 30 forward, and 30 are summed up for its gradient. */
static void linear_layers_match_hand_counts(void **state)
{
    static const layer_case cases[] = {
        { "5x6",
          "type = linear\nfeatures = 3",
          "2x5x3",
          "weight=3x6 bias=3",
          { 360 + 30, 360, 360 + 30 },
          0,
          LM_KEEPS_INPUT },
        { "5x6",
          "type = linear\nfeatures = 3\nbias = no",
          "2x5x3",
          "weight=3x6",
          { 360, 360, 360 },
          0,
          LM_KEEPS_INPUT },
        /* 3 groups of 2 inputs and 4 features: 10 * 2 * 12 */
        { "5x6",
          "type = linear\nfeatures = 12\ngroups = 3",
          "2x5x12",
          "weight=12x2 bias=12",
          { 480 + 120, 480, 480 + 120 },
          0,
          LM_KEEPS_INPUT },
        /* b is data: only the first input has a gradient */
        { "5x6",
          "type = bilinear\nfeatures = 3\ninputs = w, b\n[b]\ntype = input\nshape = 5x4",
          "2x5x3",
          "weight=3x6x4 bias=3",
          { 1440 + 240 + 30, 120 + 1440, 120 + 1440 + 30 },
          0,
          LM_KEEPS_INPUT },
        /* 10 * 6 * 18 and 10 * 3 * 6 products, 180 pairs for each input */
        { "5x6",
          "type = bilinear\nfeatures = 3\ninputs = w, w\nbias = no",
          "2x5x3",
          "weight=3x6x6",
          { 2160 + 360, 2 * (180 + 2160), 180 + 2160 },
          0,
          LM_KEEPS_INPUT },
    };
    bound_text m = layers_bind("5x6", "type = linear\nfeatures = 3");
    bound_text g = layers_bind("5x6", "type = linear\nfeatures = 12\ngroups = 3");
    char       buffer[300];

    (void)state;
    LAYERS_CHECK(cases);
    assert_string_equal(layers_kernels(nets_layer(&m, "l"), LM_GRAD_WEIGHT, buffer, sizeof buffer),
                        "gemm batch=1 m=3 n=6 k=10 bias=0; reduce rows=3 group=10 inner=3");
    assert_string_equal(layers_kernels(nets_layer(&g, "l"), LM_FORWARD, buffer, sizeof buffer),
                        "gemm batch=3 m=10 n=4 k=2 bias=1");
    assert_string_equal(layers_kernels(nets_layer(&g, "l"), LM_GRAD_WEIGHT, buffer, sizeof buffer),
                        "gemm batch=3 m=4 n=2 k=10 bias=0; reduce rows=12 group=10 inner=12");
    nets_free(&g);
    nets_free(&m);
}

/* Pairs of 10 x 3 gradients and 10 x 4 inputs. */
static void a_bilinear_layer_runs_as_products_of_pairs(void **state)
{
    bound_text         m = layers_bind("5x6", "type = bilinear\nfeatures = 3\ninputs = w, b\n[b]\n"
                                                      "type = input\nshape = 5x4");
    const bound_layer *l = nets_layer(&m, "l");
    char               buffer[300];

    (void)state;
    assert_string_equal(layers_kernels(l, LM_FORWARD, buffer, sizeof buffer),
                        "gemm batch=1 m=10 n=12 k=6 bias=0; "
                        "gemm batch=10 m=1 n=3 k=4 bias=1 activations=1");
    assert_string_equal(layers_kernels(l, LM_GRAD_INPUT, buffer, sizeof buffer),
                        "map elements=120 operands=2 flops_per_element=1 reads=70; "
                        "gemm batch=1 m=10 n=6 k=12 bias=0");
    assert_string_equal(layers_kernels(l, LM_GRAD_WEIGHT, buffer, sizeof buffer),
                        "map elements=120 operands=2 flops_per_element=1 reads=70; "
                        "gemm batch=1 m=12 n=6 k=10 bias=0; reduce rows=3 group=10 inner=3");
    assert_int_equal(l->cost.workspace_bytes, 4 * 30 * 6);
    nets_free(&m);
}

#define TARGET(shape, dtype) "\ninputs = w, t\n[t]\ntype = input\nshape = " shape "\ndtype = " dtype

/* 60 elements: the function of each, listed at the head of plugins/loss.c, and the sum. */
static void losses_of_elements_match_hand_counts(void **state)
{
    static const struct {
        const char *type;
        unsigned    forward, backward, target, saved;
        uint32_t    keeps[3]; /* alone, with a target, with one that is computed */
    } cases[] = {
        { "mse_loss", 2, 2, 2, 0, { 1, 1, 1 } },
        { "l1_loss", 2, 2, 2, 240, { 0, 0, 0 } },
        { "smooth_l1_loss", 7, 5, 5, 0, { 1, 1, 1 } },
        { "bce_loss", 10, 6, 7, 0, { 1, 1, 1 } },
        { "bce_with_logits_loss", 10, 6, 1, 0, { 1, 1, 1 } },
        { "kl_div_loss", 4, 1, 4, 0, { 0, LM_KEEPS_ONE(1), LM_KEEPS_INPUT } },
    };
    static const char *const inputs[] = { "", TARGET("5x6", "network"), "\ninputs = w, w" };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t n = 0; n < 3; n++) {
            const unsigned both     = n == 2 ? cases[i].target : 0;
            const uint64_t backward = 60 * (cases[i].backward + both);
            char           layer[200];
            layer_case     c = { .shape       = "5x6",
                                 .layer       = layer,
                                 .output      = "scalar",
                                 .weights     = "",
                                 .flops       = { 60 * (cases[i].forward + 1), backward, 0 },
                                 .saved_bytes = cases[i].saved,
                                 .keeps       = cases[i].keeps[n] };

            snprintf(layer, sizeof layer, "type = %s%s", cases[i].type, inputs[n]);
            layers_check(&c, 1);
        }
}

/* 2 * 6 decisions among 5 classes: a softmax of 60 scores, and one sum over the decisions, or over
 * all scores where the target is probabilities. */
static void losses_of_classes_match_hand_counts(void **state)
{
    static const layer_case cases[] = {
        { "10", "type = cross_entropy", "scalar", "", { 100 + 2, 80, 0 }, 80, 0 },
        { "5x6", "type = cross_entropy", "scalar", "", { 300 + 12, 240, 0 }, 240, 0 },
        { "5x6",
          "type = cross_entropy" TARGET("6", "i64"),
          "scalar",
          "",
          { 300 + 12, 240, 0 },
          240,
          LM_KEEPS_ONE(1) },
        { "5x6",
          "type = cross_entropy" TARGET("5x6", "network"),
          "scalar",
          "",
          { 300 + 60 + 60, 60 + 240, 0 },
          240,
          LM_KEEPS_ONE(1) },
        { "5x6",
          "type = cross_entropy\ninputs = w, w",
          "scalar",
          "",
          { 300 + 60 + 60, 60 + 60 + 240, 0 },
          240,
          LM_KEEPS_ONE(1) },
        /* the second reading of 60 scores, with a FLOP for each: the scale of the gradient */
        { "5x6",
          "type = cross_entropy\nfused = yes",
          "scalar",
          "",
          { 300 + 60 + 12, 0, 0 },
          0,
          LM_KEEPS_ONE(0) },
        { "5x6", "type = nll_loss", "scalar", "", { 12, 0, 0 }, 0, LM_KEEPS_INPUT },
        { "5x6",
          "type = nll_loss" TARGET("6", "i32"),
          "scalar",
          "",
          { 12, 0, 0 },
          0,
          LM_KEEPS_INPUT },
        /* 2 samples of 7 steps, 5 classes and 3 symbols: 2 * 7 * 7 states */
        { "7x5",
          "type = ctc_loss\nlength = 3",
          "scalar",
          "",
          { 14 * 98, 23 * 98 + 6 * 70, 0 },
          4 * 98,
          LM_KEEPS_INPUT },
        { "7x5",
          "type = ctc_loss" TARGET("3", "i64"),
          "scalar",
          "",
          { 14 * 98, 23 * 98 + 6 * 70, 0 },
          4 * 98,
          LM_KEEPS_INPUT },
    };

    (void)state;
    LAYERS_CHECK(cases);
}

/* Of 7 steps 4 classes of 5 can occur: 3 symbols and the blank. */
static void ctc_is_one_kernel_that_nothing_can_run(void **state)
{
    bound_text         m = layers_bind("7x5", "type = ctc_loss\nlength = 3");
    const bound_layer *l = nets_layer(&m, "l");
    char               buffer[300];

    (void)state;
    assert_string_equal(layers_kernels(l, LM_FORWARD, buffer, sizeof buffer),
                        "opaque flops=1372 read_bytes=224 written_bytes=392");
    assert_string_equal(layers_kernels(l, LM_GRAD_INPUT, buffer, sizeof buffer),
                        "opaque flops=2674 read_bytes=672 written_bytes=280");
    nets_free(&m);
}

static void what_does_not_fit_is_refused_by_its_reason(void **state)
{
    static const refused_case cases[] = {
        { "5x6", "type = softmax\naxis = 3", "no dimension 3 in a tensor of rank 3", LM_E_ARG },
        { "5x6", "type = linear\nfeatures = 8\ngroups = 4",
          "6 inputs and 8 features do not divide into 4 groups", LM_E_SHAPE },
        { "5x6", "type = linear\nfeatures = 8\ngroups = 3",
          "6 inputs and 8 features do not divide into 3 groups", LM_E_SHAPE },
        { "5x6", "type = bilinear\nfeatures = 3\ninputs = w, b\n[b]\ntype = input\nshape = 4x4",
          "5 and 4 elements do not fit in dimension 1", LM_E_SHAPE },
        { "5x6", "type = bilinear\nfeatures = 3\ninputs = w, b\n[b]\ntype = input\nshape = 4",
          "inputs of rank 3 and 2", LM_E_SHAPE },
        { "5x6", "type = bilinear\nfeatures = 3",
          "'bilinear' takes 2 inputs, 1 given: set 'inputs ='", LM_E_SHAPE },
        { "5x6", "type = mse_loss" TARGET("5", "network"), "target of rank 2, expected 3",
          LM_E_SHAPE },
        { "5x6", "type = mse_loss" TARGET("5x7", "network"),
          "target of 7 elements in dimension 2, expected 6", LM_E_SHAPE },
        { "5x6", "type = mse_loss" TARGET("5x6", "f64"),
          "input and target of different element types: put a cast before one of them",
          LM_E_SHAPE },
        { "5x6", "type = cross_entropy" TARGET("5x6", "f16"),
          "input and target of different element types: put a cast before one of them",
          LM_E_SHAPE },
        { "7x5", "type = ctc_loss" TARGET("3", "network"),
          "the target holds no class numbers of i64 or i32: set 'dtype = i64' where it is put in, "
          "or put a cast before it",
          LM_E_SHAPE },
        { "5x6", "type = cross_entropy" TARGET("5", "i64"),
          "target of 5 elements in dimension 1, expected 6", LM_E_SHAPE },
        { "5x6", "type = nll_loss" TARGET("6", "network"),
          "target of real numbers, expected class numbers: set 'dtype = i64' where it is put in",
          LM_E_SHAPE },
        { "7x5", "type = ctc_loss",
          "targets of unknown length: set 'length =' or give the target as second input",
          LM_E_ARG },
        { "7x5", "type = ctc_loss\nlength = 2" TARGET("3", "i64"),
          "target of 3 elements in dimension 1, expected 2", LM_E_SHAPE },
    };

    (void)state;
    LAYERS_REFUSE(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmaxes_match_hand_counts),
        cmocka_unit_test(linear_layers_match_hand_counts),
        cmocka_unit_test(a_bilinear_layer_runs_as_products_of_pairs),
        cmocka_unit_test(losses_of_elements_match_hand_counts),
        cmocka_unit_test(losses_of_classes_match_hand_counts),
        cmocka_unit_test(ctc_is_one_kernel_that_nothing_can_run),
        cmocka_unit_test(what_does_not_fit_is_refused_by_its_reason),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
