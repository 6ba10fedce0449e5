/* Networks as sums of what a learned model of single layers tells. */
#include "nets.h"

#include <string.h>

#include "layerwise/layerwise.h"
#include "layerwise/layerwise_network.h"

/* Shows attention as a whole, or (a text that begins with "!") in parts. */
static lm_status see(void *context, layerwise_case *c, bool *parted)
{
    char *text = context;

    for (size_t i = 0; i < c->n_layers && *text == '!' && c->n_layers > 1; i++)
        if (layerwise_is_attention(c->layer[i])) {
            *parted = true;
            return LM_OK;
        }
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
    const layerwise_setup how       = { "sgd", "", NULL, NAN, NULL };
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

/* Queries, keys and values by a product each, or by one that is cut, as GPT-2 has them, with the function that is behind the
 * output by itself; values that another layer reads as well, and attention without a product behind it, are no such case. */
static void attention_is_one_case_with_the_products_around_it(void **state)
{
    static const char each[] = "[q]\ntype = linear\nfeatures = 8\n"
                               "[k]\ntype = linear\ninputs = n\nfeatures = 8\n"
                               "[v]\ntype = linear\ninputs = n\nfeatures = 8\n";
    static const char cut[]  = "[a]\ntype = linear\nfeatures = 24\n"
                               "[q]\ntype = chunk\naxis = -1\nparts = 3\npart = 0\n"
                               "[k]\ntype = chunk\ninputs = a\naxis = -1\nparts = 3\npart = 1\n"
                               "[v]\ntype = chunk\ninputs = a\naxis = -1\nparts = 3\npart = 2\n";
    static const struct {
        const char *before, *behind, *whole, *parts;
    } cases[] = {
        { each, "[o]\ntype = linear\nfeatures = 8\n[r]\ntype = relu\n", " n q+k+v+s+o r",
          "! n q k v s o+r" },
        { cut, "[o]\ntype = linear\nfeatures = 8\n", " n a+s+o", "! n a s o" },
        { each, "[t]\ntype = tanh\n", " n q k v s t", "! n q k v s t" },
        { each, "[o]\ntype = linear\nfeatures = 8\n[t]\ntype = add\ninputs = o, v\n",
          " n q+k+s+o v t", "! n q k v s o t" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const layerwise_setup how = { "sgd", "", NULL, NAN, NULL };
        char                  ini[900], text[200] = "";
        bound_text            net;
        lm_error              err = { LM_OK, "" };

        snprintf(ini, sizeof ini,
                 "[network]\nname = n\n[x]\ntype = input\nshape = 5x8\n[n]\ntype = layer_norm\n%s"
                 "[s]\ntype = scaled_dot_product_attention\ninputs = q, k, v\nheads = 2\n%s",
                 cases[i].before, cases[i].behind);
        net = nets_bind(ini, 2);
        if (!net.bound)
            fail_msg("%s", net.err.text);
        assert_int_equal(layerwise_each(net.bound, true, &how, see, text, &err), LM_OK);
        assert_string_equal(text, cases[i].whole);
        strcpy(text, "!");
        assert_int_equal(layerwise_each(net.bound, true, &how, see, text, &err), LM_OK);
        assert_string_equal(text, cases[i].parts);
        nets_free(&net);
    }
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
    const layerwise_setup how = { "sgd", "", NULL, NAN, NULL };
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
    assert_int_equal(sum.told[PHASE_STEP], 2);
    assert_int_equal(sum.told[PHASE_BACKWARD], 0);
    assert_true(isnan(sum.seconds[PHASE_STEP]) && isnan(sum.seconds[PHASE_INFERENCE]));
    assert_int_equal(sum.others.n, 2); /* elu, the loss: no price, and not for nothing */
    assert_int_equal(sum.others.why.code, LM_E_NOTFOUND);
    assert_string_equal(sum.others.why.text, "e (elu)");
    assert_int_equal(layerwise_refuse(&sum.others, "justus", &err), LM_E_NOTFOUND);
    assert_non_null(strstr(err.text, "justus does not know layer e (elu)"));
    assert_true(sum.beyond == 1);
    assert_int_equal(sum.other[PHASE_FORWARD], 0);
    assert_int_equal(sum.other[PHASE_BACKWARD],
                     2); /* steps are told, their backward passes are not */
    {
        double shown = 0;

        assert_int_equal(layerwise_sum_each(m, net.bound, &how, add_step, &shown, &sum, &err),
                         LM_OK);
        assert_close(1e3 * shown, 2 * expm1(0.75), 1e-6);
    }
    layerwise_free(m);
    nets_free(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_belong_to_the_layer_before_them),
        cmocka_unit_test(attention_is_one_case_with_the_products_around_it),
        cmocka_unit_test(networks_are_sums_of_their_layers),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
