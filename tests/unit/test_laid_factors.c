/* Factors on the prices of kernels, by steps under layouts: what they are on, and for which networks. */
#include "fit_nets.h"

#include "fit/calibration.h"
#include "fit/laid_factors.h"
#include "predict/laid_prices.h"
#include "transfer/refit.h"

static const laid_factors of_tokens  = { true, true, { 0.5, 0.25, 4, 8 }, 3, { 1, 1, 1, 1 } };
static const laid_factors of_all     = { true, false, { 0.5, 0.25, 4, 8 }, 3, { 1, 1, 1, 1 } };
static const laid_factors of_nothing = { false, true, { 0.5, 0.25, 4, 8 }, 3, { 1, 1, 1, 1 } };

static double price(const laid_factors *f, bool tokens, phase part, const char *term)
{
    return laid_factors_price(f, tokens, part, term_parse(term), 16);
}

static void each_kind_of_kernel_has_its_factor(void **state)
{
    static const struct {
        const char *term;
        phase       part;
        double      of;
    } cases[] = {
        { "gemm.flops.forward", PHASE_FORWARD, 8 },
        { "gemm.bytes.grad_input", PHASE_BACKWARD, 8 },
        { "gemm.weights.grad_weight", PHASE_STEP, 8 },
        { "gemv.weights.forward", PHASE_FORWARD, 8 },
        { "attention.flops.forward", PHASE_FORWARD, 4 },
        { "attention.bytes.grad_input", PHASE_BACKWARD, 4 },
        { "norm.bytes.forward", PHASE_FORWARD, 64 },
        { "norm_after.bytes.forward", PHASE_FORWARD, 64 },
        { "norm.planes.forward", PHASE_FORWARD, 64 },
        { "map.bytes.forward", PHASE_STEP, 64 },
        { "map_after.bytes.forward", PHASE_FORWARD, 64 },
        { "map.elements.forward", PHASE_FORWARD, 64 },
        { "update.bytes.forward", PHASE_UPDATE, 128 },
        { "gemm.launches.forward", PHASE_FORWARD, 19 },
        { "conv3x3.flops.forward", PHASE_FORWARD, 16 },
        { "conv.bytes.forward", PHASE_FORWARD, 16 },
        /* in inference of products alone */
        { "gemm.flops.forward", PHASE_INFERENCE, 8 },
        { "gemm.bytes.forward", PHASE_INFERENCE, 16 },
        { "attention.flops.forward", PHASE_INFERENCE, 16 },
        { "map.bytes.forward", PHASE_INFERENCE, 16 },
        { "gemm.launches.forward", PHASE_INFERENCE, 16 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(term_parse(cases[i].term) < N_TERMS);
        assert_close(price(&of_tokens, true, cases[i].part, cases[i].term), cases[i].of, 0);
        assert_close(price(&of_tokens, false, cases[i].part, cases[i].term), 16, 0);
        assert_close(price(&of_all, false, cases[i].part, cases[i].term), cases[i].of, 0);
        assert_close(price(&of_nothing, true, cases[i].part, cases[i].term), 16, 0);
        assert_close(price(&laid_factors_none, true, cases[i].part, cases[i].term), 16, 0);
    }
}

/* A machine whose every term of a forward pass takes a second. */
static calibration *of_seconds(const laid_factors *f)
{
    calibration *cal = calloc(1, sizeof *cal);
    fitted      *to  = &cal->fitted[form_find(DEFAULT_MODEL, PHASE_FORWARD)];

    *to           = (fitted){ .present = true, .term = calloc(N_TERMS, sizeof *to->term) };
    cal->by_steps = *f;
    for (size_t t = 0; t < N_TERMS; t++)
        to->term[t].value = 1;
    return cal;
}

/* Seconds of a network's forward pass, and those of its products alone. */
static double seconds_of(const calibration *cal, const char *name, double *products)
{
    const size_t        at    = form_find(DEFAULT_MODEL, PHASE_FORWARD);
    workloads          *loads = new_loads();
    const workload_name of    = { .name = name, .dtype = LM_F32 };
    full_workload       full;
    contribution        room[MAX_CONTRIBUTIONS];
    double              sum = 0;
    size_t              n;

    assert_int_equal(
        workloads_full(loads, &of, 2, &term_settings_default, OPTIMIZER_SGD, &full, NULL), LM_OK);
    n         = calibration_contributions(cal, at, &full.load, room);
    *products = 0;
    for (size_t k = 0; k < n; k++) {
        sum += room[k].seconds;
        assert_close(room[k].seconds, room[k].price * room[k].count, 1e-12);
        if (laid_kernel_of(PHASE_FORWARD, room[k].regressor) == LAID_PRODUCTS)
            *products += room[k].seconds;
    }
    workloads_free(loads);
    return sum;
}

static void networks_of_tokens_have_other_prices(void **state)
{
    static const laid_factors half  = { true, true, { 0.5, 1, 1, 1 }, 0, { 1, 1, 1, 1 } };
    calibration              *plain = of_seconds(&laid_factors_none), *cal = of_seconds(&half);
    double                    products[2], sum[2];

    (void)state;
    sum[0] = seconds_of(plain, "gpt2", &products[0]);
    sum[1] = seconds_of(cal, "gpt2", &products[1]);
    assert_true(products[0] > 0);
    assert_close(products[1] / products[0], 0.5, 1e-12);
    assert_close((sum[0] - sum[1]) / products[0], 0.5, 1e-12);
    sum[0] = seconds_of(plain, "vit_b_16", &products[0]);
    sum[1] = seconds_of(cal, "vit_b_16", &products[1]);
    assert_true(products[0] > 0);
    assert_close(sum[1] / sum[0], 1, 0);
    calibration_free(plain);
    calibration_free(cal);
}

/* Rows of networks carry the kind of their network; so do schedules of gradients. */
static void loads_and_schedules_tell_networks_of_tokens(void **state)
{
    static const char *const name[] = { "gpt2", "resnet18" };
    workloads               *loads  = new_loads();

    (void)state;
    for (int i = 0; i < 2; i++) {
        const workload_name      of = { .name = name[i], .dtype = LM_F32 };
        const gradient_schedule *s;

        assert_int_equal(workloads_gradients(loads, &of, 2, &term_settings_default, &s, NULL),
                         LM_OK);
        assert_int_equal(s->tokens, i == 0);
    }
    workloads_free(loads);
}

/* Factors after a fit of the forward pass to rows of a network. */
static laid_factors after_rows_of(const char *name)
{
    const size_t  at     = form_find(DEFAULT_MODEL, PHASE_FORWARD);
    workloads    *loads  = new_loads();
    calibration  *cal    = of_seconds(&of_tokens);
    refit_choice  chosen = { .n = 1 };
    laid_factors  out;
    observations *obs;
    points        p;
    char          text[400] = "kind,name,phase,seconds,batch\n";

    for (int b = 1; b <= 8; b++)
        text_add(text, sizeof text, "network,%s,forward,%d,%d\n", name, b, b);
    p = join(text, loads, &obs);
    assert_int_equal(points_count_terms(&p, loads, &term_settings_default, NULL), LM_OK);
    chosen.taken[at] = true;
    assert_int_equal(refit_take(cal, &p, &chosen, NULL), LM_OK);
    assert_non_null(calibration_told(cal, "fitted_anew"));
    out = cal->by_steps;
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
    calibration_free(cal);
    return out;
}

static void factors_end_where_rows_tell_networks_of_tokens(void **state)
{
    (void)state;
    assert_true(after_rows_of("n0.ini").known);
    assert_false(after_rows_of("gpt2").known);
}

/* Host, flops, bandwidth, depth. */
static void other_networks_have_factors_by_resource(void **state)
{
    static const laid_factors apart = { true, true, { 0.5, 0.25, 4, 8 }, 3, { 2, 3, 5, 7 } };
    static const laid_factors all   = { true, false, { 1, 1, 1, 1 }, 0, { 2, 3, 5, 7 } };

    (void)state;
    assert_close(price(&apart, false, PHASE_STEP, "gemm.launches.forward"), 32, 0);
    assert_close(price(&apart, false, PHASE_STEP, "conv3x3.flops.forward"), 48, 0);
    assert_close(price(&apart, false, PHASE_INFERENCE, "map.bytes.forward"), 80, 0);
    assert_close(price(&apart, false, PHASE_STEP, "norm.planes.forward"), 112, 0);
    assert_close(price(&apart, true, PHASE_STEP, "conv3x3.flops.forward"), 16, 0);
    assert_close(price(&all, false, PHASE_STEP, "conv3x3.flops.forward"), 16, 0);
}

/* Of an earlier fit to networks of all kinds, and of none: the next one multiplies its factors. */
static void fits_build_on_the_factors_before(void **state)
{
    const double factor[N_LAID_FACTORS] = {
        [LAID_PRODUCTS] = 2, [LAID_UPDATE] = 3, [LAID_STARTS] = 4
    };
    laid_prices p;
    lm_error    err;

    (void)state;
    for (int known = 0; known < 2; known++)
        for (int of = 0; of < 2; of++)
            for (int now = 0; now < 2; now++) {
                const laid_factors before = { known, of, { 5, 1, 1, 1 }, 1e-6, { 1, 1, 1, 1 } };
                calibration       *cal    = of_seconds(&before);
                const double       times  = known ? 5 : 1;

                assert_int_equal(laid_prices_keep(cal, 4, true, now, &p, &err), LM_OK);
                laid_prices_put(&p, factor);
                assert_true(cal->by_steps.known);
                assert_int_equal(cal->by_steps.tokens, known ? of && now : now);
                assert_close(cal->by_steps.of[LAID_PRODUCTS], 2 * times, 0);
                assert_close(cal->by_steps.of[LAID_UPDATE], 3, 0);
                assert_close(cal->by_steps.start * 1e6, 4 + known, 1e-12);
                laid_prices_put(&p, factor); /* not twice */
                assert_close(cal->by_steps.of[LAID_PRODUCTS], 2 * times, 0);
                laid_prices_restore(&p);
                assert_int_equal(cal->by_steps.known, known);
                assert_close(cal->by_steps.of[LAID_PRODUCTS], 5, 0);
                laid_prices_free(&p);
                calibration_free(cal);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_kernel_has_its_factor),
        cmocka_unit_test(networks_of_tokens_have_other_prices),
        cmocka_unit_test(loads_and_schedules_tell_networks_of_tokens),
        cmocka_unit_test(other_networks_have_factors_by_resource),
        cmocka_unit_test(fits_build_on_the_factors_before),
        cmocka_unit_test(factors_end_where_rows_tell_networks_of_tokens),
    };

    return cmocka_run_group_tests(tests, fit_nets_enter, nets_leave);
}
