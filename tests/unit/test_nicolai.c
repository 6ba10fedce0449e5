/* What Nicolai's forests look at, by hand; a function behind an operation. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "layerwise/layerwise.h"
#include "nets.h"

static const char text[] =
    "[network]\nname = n\n[x]\ntype = input\nshape = 3x8x8\n"
    "[c]\ntype = conv2d\nfilters = 4\nkernel = 3,1\nstride = 2\n[r]\ntype = relu\n";

static double value(const layerwise_features *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (!strcmp(f->of[i].name, name))
            return f->of[i].value;
    fail_msg("no feature '%s'", name);
    return NAN;
}

/* Filters of 3 x 1 over 8 x 8 in steps of 2: 3 x 4 pixels; 4 x 3 x 3 weights and 4 of the bias. */
static void attributes_and_sizes_are_features(void **state)
{
    bound_text         n        = nets_bind(text, 2);
    const bound_layer *layer[1] = { nets_layer(&n, "c") };
    layerwise_case     c        = { .layer     = layer,
                                    .n_layers  = 1,
                                    .phase     = PHASE_STEP,
                                    .batch     = 2,
                                    .optimizer = "sgd",
                                    .settings  = "",
                                    .clock_mhz = NAN };
    layerwise_features f        = { .n = 0 };
    char               name[LAYERWISE_NAME];

    (void)state;
    assert_true(n.bound != NULL);
    assert_true(layerwise_nicolai.task(&c, name));
    assert_string_equal(name, "step");
    layerwise_nicolai.features(&c, &f);
    assert_close(value(&f, "operation.conv2d"), 1, 0);
    assert_close(value(&f, "operation.linear"), 0, 0);
    assert_close(value(&f, "operation.other"), 0, 0);
    assert_close(value(&f, "batch"), 2, 0);
    assert_close(value(&f, "input_elements"), 2 * 3 * 8 * 8, 0);
    assert_close(value(&f, "output_elements"), 2 * 4 * 3 * 4, 0);
    assert_close(value(&f, "weight_elements"), 4 * 3 * 3 + 4, 0);
    assert_close(value(&f, "input_dim1"), 3, 0);
    assert_close(value(&f, "output_dim3"), 4, 0);
    assert_close(value(&f, "kernel.first"), 3, 0);
    assert_close(value(&f, "kernel.last"), 1, 0);
    assert_close(value(&f, "stride.last"), 2, 0);
    assert_close(value(&f, "size.first"), 0, 0);
    assert_close(value(&f, "clock_held"), 0, 0);
    c.clock_mhz = 900;
    f.n         = 0;
    layerwise_nicolai.features(&c, &f);
    assert_close(value(&f, "clock_mhz"), 900, 0);
    assert_close(value(&f, "clock_held"), 1, 0);
    nets_free(&n);
}

static void a_function_is_chained_behind_an_operation(void **state)
{
    bound_text           n        = nets_bind(text, 2);
    const bound_layer   *layer[2] = { nets_layer(&n, "c"), nets_layer(&n, "r") };
    const layerwise_case c        = { .layer = layer, .n_layers = 2, .phase = PHASE_STEP };
    const bound_layer   *back[2]  = { layer[1], layer[0] };
    const layerwise_case turned   = { .layer = back, .n_layers = 2, .phase = PHASE_STEP };
    layerwise_features   f        = { .n = 0 };
    char                 name[LAYERWISE_NAME];

    (void)state;
    assert_true(layerwise_nicolai.task(&c, name));
    layerwise_nicolai.features(&c, &f);
    assert_close(value(&f, "operation.conv2d"), 1, 0);
    assert_close(value(&f, "chained.relu"), 1, 0);
    assert_close(value(&f, "chained.other"), 0, 0);
    assert_false(layerwise_nicolai.task(&turned, name));
    assert_true(layerwise_nicolai.target[LAYERWISE_SECONDS] &&
                layerwise_nicolai.target[LAYERWISE_WATTS]);
    nets_free(&n);
}

/* The module Conv2d(3, 4, (3, 1), stride=(2, 2)) with a bias, on an input of 2 x 3 x 8 x 8. */
static void the_published_encoding_has_attributes_and_flags(void **state)
{
    bound_text           n        = nets_bind(text, 2);
    const bound_layer   *layer[1] = { nets_layer(&n, "c") }, *relu[1] = { nets_layer(&n, "r") };
    const layerwise_case c = { .layer = layer, .n_layers = 1, .phase = PHASE_STEP, .batch = 2 };
    const layerwise_case r = { .layer = relu, .n_layers = 1, .phase = PHASE_STEP, .batch = 2 };
    layerwise_features   f = { .n = 0 };

    (void)state;
    layerwise_nicolai.features(&c, &f);
    assert_close(value(&f, "module.bias"), 1, 0);
    assert_close(value(&f, "module.in_channels"), 3, 0);
    assert_close(value(&f, "module.out_channels"), 4, 0);
    assert_close(value(&f, "module.kernel_size_0"), 3, 0);
    assert_close(value(&f, "module.kernel_size_1"), 1, 0);
    assert_close(value(&f, "module.stride_1"), 2, 0);
    assert_close(value(&f, "module.padding_0"), 0, 0);
    assert_close(value(&f, "module.padding_0_applicable"), 1, 0);
    assert_close(value(&f, "module.out_features_applicable"), 0, 0);
    assert_close(value(&f, "module.input_size_0"), 2, 0);
    assert_close(value(&f, "module.input_size_3"), 8, 0);
    f.n = 0;
    layerwise_nicolai.features(&r, &f);
    assert_close(value(&f, "module.kernel_size_0_applicable"), 0, 0);
    assert_close(value(&f, "module.bias_applicable"), 0, 0);
    assert_close(value(&f, "module.input_size_1"), 4, 0);
    assert_true(layerwise_nicolai.encoded("operation.relu", true));
    assert_true(layerwise_nicolai.encoded("clock_mhz", false));
    assert_true(layerwise_nicolai.encoded("module.p", true));
    assert_false(layerwise_nicolai.encoded("module.p", false));
    assert_false(layerwise_nicolai.encoded("output_elements", true));
    nets_free(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attributes_and_sizes_are_features),
        cmocka_unit_test(a_function_is_chained_behind_an_operation),
        cmocka_unit_test(the_published_encoding_has_attributes_and_flags),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
