/* Networks as sums of what a learned model of single layers tells. */
#include "nets.h"

#include <string.h>

#include "models/layerwise.h"
#include "models/layerwise_network.h"

static lm_status see(void *context, layerwise_case *c)
{
    char *text = context;

    for (size_t i = 0; i < c->n_layers; i++) {
        strcat(text, i ? "+" : " ");
        strcat(text, c->layer[i]->decl->name);
    }
    return LM_OK;
}

/* A function that two read is by itself; so is padding that does. */
static void functions_belong_to_the_layer_before_them(void **state)
{
    bound_text            net       = nets_bind("[network]\nname = n\n"
                                                                 "[x]\ntype = input\nshape = 3x8x8\n"
                                                                 "[p]\ntype = pad\nbefore = 0,0\nafter = 1,1\n"
                                                                 "[c]\ntype = conv2d\nfilters = 4\nkernel = 3\n"
                                                                 "[r]\ntype = relu\n"
                                                                 "[d]\ntype = conv2d\nfilters = 4\nkernel = 1\n"
                                                                 "[s]\ntype = add\ninputs = d, r\n"
                                                                 "[t]\ntype = tanh\n"
                                                                 "[flat]\ntype = flatten\n"
                                                                 "[f]\ntype = linear\nfeatures = 2\n"
                                                                 "[loss]\ntype = cross_entropy\n",
                                                2);
    const layerwise_setup how       = { "sgd", "", NULL, NAN };
    char                  text[200] = "";
    lm_error              err       = { LM_OK, "" };

    (void)state;
    if (!net.bound)
        fail_msg("%s", net.err.text);
    assert_int_equal(layerwise_each(net.bound, true, &how, see, text, &err), LM_OK);
    assert_string_equal(text, " p+c+r d s t f loss");
    *text = '\0';
    assert_int_equal(layerwise_each(net.bound, false, &how, see, text, &err), LM_OK);
    assert_string_equal(text, " p c r d s t f loss");
    nets_free(&net);
}

/* The same, of relu or no function. */
static const char of_relu[] = "layermeter learned justus 4\n"
                              "tasks 1\n"
                              "task dense seconds\n"
                              "rows 90 10\n"
                              "error 0.1\n"
                              "interval\n"
                              "phases 0\n"
                              "features 4\n"
                              "count batch 1 64\n"
                              "flag activation.relu 0 1\n"
                              "flag activation.other 0 0\n"
                              "flag optimizer.sgd 0 1\n"
                              "unit_of_log 0.001\n"
                              "mlp 4\n"
                              "mean 0 0 0 0\n"
                              "deviation 1 1 1 1\n"
                              "target 0 1\n"
                              "unit 0.5 0 0 0 0.25\n";

static lm_status add_step(void *context, const layerwise_case *c, const double seconds[N_PHASES],
                          lm_error *err)
{
    double *sum = context;

    (void)c;
    (void)err;
    if (!isnan(seconds[PHASE_STEP]))
        *sum += seconds[PHASE_STEP];
    return LM_OK;
}

static void networks_are_sums_of_their_layers(void **state)
{
    bound_text            net = nets_bind("[network]\nname = n\n"
                                                     "[x]\ntype = input\nshape = 9\n"
                                                     "[a]\ntype = linear\nfeatures = 5\n"
                                                     "[r]\ntype = relu\n"
                                                     "[b]\ntype = linear\nfeatures = 2\n"
                                                     "[e]\ntype = elu\n"
                                                     "[loss]\ntype = cross_entropy\n",
                                          8);
    const layerwise_setup how = { "sgd", "", NULL, NAN };
    void                 *m   = NULL;
    lm_error              err = { LM_OK, "" };
    layerwise_sum         sum;
    char                  text[600];

    (void)state;
    if (!net.bound)
        fail_msg("%s", net.err.text);
    strcpy(text, of_relu);
    assert_int_equal(kept_read(&layerwise_kept, "justus", "f", text, &m, &err), LM_OK);
    assert_int_equal(layerwise_sum_of(m, net.bound, &how, &sum, &err), LM_OK);
    assert_close(1e3 * sum.seconds[PHASE_FORWARD], 2 * expm1(0.5), 1e-6);
    assert_close(1e3 * sum.seconds[PHASE_INFERENCE], 2 * expm1(0.5), 1e-6);
    assert_close(1e3 * sum.seconds[PHASE_STEP], 2 * expm1(0.75), 1e-6);
    assert_true(isnan(sum.seconds[PHASE_BACKWARD]) && isnan(sum.seconds[PHASE_UPDATE]));
    assert_int_equal(sum.told[PHASE_STEP], 2);
    assert_int_equal(sum.untold[PHASE_STEP], 2); /* elu, the loss */
    assert_int_equal(sum.told[PHASE_BACKWARD], 0);
    assert_true(sum.beyond == 1);
    assert_true(isnan(sum.low[PHASE_STEP])); /* a file without intervals */
    assert_int_equal(sum.other[PHASE_FORWARD], 0);
    assert_int_equal(sum.other[PHASE_BACKWARD],
                     2); /* steps are told, their backward passes are not */
    assert_int_equal(sum.other[PHASE_UPDATE],
                     2 + 1); /* the loss has none, and its step is unknown */
    {
        double shown = 0;

        assert_int_equal(layerwise_sum_each(m, net.bound, &how, add_step, &shown, &sum, &err),
                         LM_OK);
        assert_true(shown == sum.seconds[PHASE_STEP]);
    }
    layerwise_free(m);
    nets_free(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_belong_to_the_layer_before_them),
        cmocka_unit_test(networks_are_sums_of_their_layers),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
