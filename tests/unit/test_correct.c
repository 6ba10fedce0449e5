/* Corrections by a few measurements: factors, what they apply to, what leaving out shows. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "transfer/correct.h"

#define ROWS 10

static correct_row row(double flops, double bandwidth, double seconds, size_t group)
{
    return (correct_row){ { [RESOURCE_FLOPS] = flops, [RESOURCE_BANDWIDTH] = bandwidth },
                          seconds,
                          group,
                          PHASE_INFERENCE,
                          8,
                          0,
                          0 };
}

/* Ten times of half of what was measured, x = 1/2: (10 x + 0.1) / (10 x^2 + 0.1), as in the end no
 * residual is beyond 0.3. Of traffic nothing is known. */
static void a_factor_is_held_near_1(void **state)
{
    correct_row     r[ROWS];
    correct_factors f;

    (void)state;
    for (size_t i = 0; i < ROWS; i++)
        r[i] = row(1e-3, 0, 2e-3, i);
    assert_int_equal(correct_fit(r, ROWS, NULL, &f, NULL), LM_OK);
    assert_int_equal(f.rows, ROWS);
    assert_close(f.of[RESOURCE_FLOPS], 5.1 / 2.6, 1e-9);
    assert_close(f.of[RESOURCE_BANDWIDTH], 1, 1e-9);
    assert_close(f.of[RESOURCE_HOST], 1, 1e-9);
    assert_close(correct_seconds(&r[0], &f), 1e-3 * 5.1 / 2.6, 1e-12);
}

/* t = 2 arithmetic + 1/2 traffic, in shares enough to tell them apart. */
static void resources_are_told_apart(void **state)
{
    correct_row     r[200];
    correct_factors f;

    (void)state;
    for (size_t i = 0; i < 200; i++) {
        const double a = 1e-3 * (double)(1 + i % 7), b = 1e-3 * (double)(1 + i % 5);

        r[i] = row(a, b, 2 * a + b / 2, i);
    }
    assert_int_equal(correct_fit(r, 200, NULL, &f, NULL), LM_OK);
    assert_close(f.of[RESOURCE_FLOPS], 2, 0.02);
    assert_close(f.of[RESOURCE_BANDWIDTH], 0.5, 0.02);
}

/* Times that fall as traffic grows: no factor below 0. */
static void factors_are_not_negative(void **state)
{
    correct_row     r[ROWS];
    correct_factors f;

    (void)state;
    for (size_t i = 0; i < ROWS; i++)
        r[i] = row(1e-3, 1e-3 * (double)(1 + i), 1e-3 / (double)(1 + i), i);
    assert_int_equal(correct_fit(r, ROWS, NULL, &f, NULL), LM_OK);
    assert_true(f.of[RESOURCE_BANDWIDTH] >= 0);
    assert_true(f.of[RESOURCE_FLOPS] >= 0);
}

static void nothing_left_is_an_error(void **state)
{
    const correct_row r = row(1e-3, 0, 1e-3, 3);
    correct_factors   f;
    const folds       by = { .of = &r.group, .rows = 1, .n = 4 };
    lm_error          err;

    (void)state;
    assert_int_equal(correct_fit(&r, 1, &(fold_turn){ &by, 3 }, &f, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "there are no measurements to correct by");
}

static calibration *machine(void)
{
    const size_t at  = form_find("layermeter", PHASE_INFERENCE);
    calibration *cal = calloc(1, sizeof *cal);
    fitted      *f   = &cal->fitted[at];

    f->present                                         = true;
    f->term                                            = calloc(N_TERMS, sizeof *f->term);
    f->term[term_parse("conv1x1.flops.forward")].value = 1e-12;
    f->term[term_parse("conv.bytes.forward")].value    = 3e-12;
    for (size_t s = 0; s < N_TIMES; s++)
        cal->intervals[0].of[s] = interval_unknown;
    return cal;
}

/* Points of one network each with 1e9 FLOP, measured at 2 ms. */
static void rows_are_times_that_the_model_tells(void **state)
{
    const term_item   item    = { (uint32_t)term_parse("conv1x1.flops.forward"), 1e9 };
    const term_item   product = { (uint32_t)term_parse("gemm.flops.forward"), 1e9 };
    const observation what    = observation_blank;
    point             pt      = { .row = &what, .evaluated.forward = { &item, 1 }, .group = 4 };
    const points      p       = { .point = &pt, .n_points = 1 };
    calibration      *cal     = machine();
    correct_row      *r;
    size_t            n;
    lm_error          err;

    (void)state;
    for (phase f = 0; f < N_PHASES; f++)
        pt.seconds[f] = NAN;
    assert_int_equal(correct_rows(cal, &p, &r, &n, &err), LM_E_ARG);
    pt.seconds[PHASE_INFERENCE] = 2e-3;
    pt.seconds[PHASE_FORWARD]   = 1e-3; /* of which the machine knows nothing */
    assert_int_equal(correct_rows(cal, &p, &r, &n, NULL), LM_OK);
    assert_int_equal(n, 1);
    assert_close(r[0].part[RESOURCE_FLOPS] * 1e3, 1, 1e-12);
    assert_close(r[0].part[RESOURCE_BANDWIDTH], 0, 0);
    assert_close(r[0].seconds, 2e-3, 0);
    assert_int_equal(r[0].group, 4);
    assert_int_equal(r[0].of, PHASE_INFERENCE);
    free(r);
    /* the product of a network of tokens costs half of what other networks pay */
    cal->by_steps = (laid_factors){ true, true, { 0.5, 1, 1, 1 }, 0, { 1, 1, 1, 1 } };
    cal->fitted[form_find("layermeter", PHASE_INFERENCE)].term[product.term].value = 1e-12;
    pt.evaluated = (workload){ .forward = { &product, 1 }, .tokens = true };
    assert_int_equal(correct_rows(cal, &p, &r, &n, NULL), LM_OK);
    assert_close(r[0].part[RESOURCE_FLOPS] * 1e3, 0.5, 1e-12);
    free(r);
    calibration_free(cal);
}

/* Ten networks at twice the time: nine say (9/2 + .1) / (9/4 + .1) of the tenth. */
static void a_calibration_is_corrected_and_judged(void **state)
{
    const size_t    at   = form_find("layermeter", PHASE_INFERENCE);
    const intervals own  = { .of[PHASE_INFERENCE] = { .low = 0.8, .high = 1.05 } };
    const double    nine = 4.6 / 2.35;
    double          far;
    calibration    *cal = machine();
    correct_row     r[ROWS];
    correct_factors f;
    correct_errors  e;
    interval       *i = &cal->intervals[0].of[PHASE_INFERENCE];

    (void)state;
    for (size_t k = 0; k < ROWS; k++)
        r[k] = row(1e-3, 0, 2e-3, k);
    cal->by_steps = (laid_factors){ true, true, { 0.5, 1, 1, 1 }, 1e-6, { 1, 1, 1, 1 } };
    assert_int_equal(correct_calibration(cal, NULL, r, ROWS, &own, &f, &e, NULL), LM_OK);
    assert_close(cal->fitted[at].term[term_parse("conv1x1.flops.forward")].value * 1e12, 5.1 / 2.6,
                 1e-9);
    assert_close(cal->fitted[at].term[term_parse("conv.bytes.forward")].value * 1e12, 3, 1e-9);
    assert_close(cal->by_steps.of[LAID_PRODUCTS], 0.5, 0); /* of the corrected price */
    assert_int_equal(e.groups, ROWS);
    assert_close(e.mape_before, 0.5, 1e-12);
    assert_close(e.mape, 1 - nine / 2, 1e-9);
    /* ten networks say it by themselves, with a prior one of 1 and an error of 0.1; t(11) is 1.796 */
    far = 1.796 * sqrt((0.01 + 10.0 / 11 * pow(log(2 / nine), 2)) / 11 * (12.0 / 11));
    assert_close(log(i->low), log(2 / nine) * 10 / 11 - far, 1e-3);
    assert_close(log(i->high), log(2 / nine) * 10 / 11 + far, 1e-3);
    assert_close(i->range[SCOPE_BATCH].low, 8, 0);
    assert_false(interval_known(&cal->intervals[0].of[PHASE_STEP]));
    calibration_free(cal);
}

/* Rows of other networks, where networks of tokens have prices of their own: half of the FLOP/s, but
 * for those alone. Nothing is left out of one row. With a network of tokens among them, all change. */
static void networks_of_tokens_keep_their_prices(void **state)
{
    const intervals own  = { .of[PHASE_INFERENCE] = interval_unknown };
    const size_t    at   = form_find("layermeter", PHASE_INFERENCE);
    const size_t    term = term_parse("conv1x1.flops.forward");

    (void)state;
    for (int tokens = 0; tokens < 2; tokens++) {
        point           pt  = { .load.tokens = tokens };
        const points    p   = { .point = &pt, .n_points = 1 };
        calibration    *cal = machine();
        correct_row     r[] = { row(1e-3, 0, 2e-3, 0), row(1e-3, 0, 2e-3, 0) };
        correct_factors f;
        correct_errors  e;

        cal->by_steps = (laid_factors){ true, true, { 1, 1, 1, 1 }, 0, { 1, 1.5, 1, 1 } };
        assert_int_equal(correct_calibration(cal, &p, r, 2, &own, &f, &e, NULL), LM_OK);
        assert_true(f.of[RESOURCE_FLOPS] > 1.5);
        assert_close(cal->fitted[at].term[term].value * 1e12, tokens ? f.of[RESOURCE_FLOPS] : 1,
                     1e-12);
        assert_close(cal->by_steps.others[RESOURCE_FLOPS],
                     tokens ? 1.5 : 1.5 * f.of[RESOURCE_FLOPS], 1e-12);
        calibration_free(cal);
    }
}

/* A start of a launch scales as launches do. */
static void a_start_is_the_hosts(void **state)
{
    correct_factors f   = { .of = { [RESOURCE_HOST] = 3, 1, 1, 1, 1, 1, 1, 1 } };
    calibration    *cal = machine();

    (void)state;
    cal->by_steps = (laid_factors){ true, true, { 1, 1, 1, 1 }, 2e-6, { 1, 1, 1, 1 } };
    correct_apply(cal, &f, true);
    assert_close(cal->by_steps.start * 1e6, 2, 1e-12);
    correct_apply(cal, &f, false);
    assert_close(cal->by_steps.start * 1e6, 6, 1e-12);
    calibration_free(cal);
}

/* Nine hold no 90 % between their extremes: the machines' bounds stay where they are wider. */
static void few_networks_make_no_interval_narrower(void **state)
{
    const intervals own = { .of[PHASE_INFERENCE] = { .low = 0.8, .high = 1.5 } };
    calibration    *cal = machine();
    correct_row     r[ROWS];
    correct_factors f;
    correct_errors  e;
    interval       *i = &cal->intervals[0].of[PHASE_INFERENCE];

    (void)state;
    for (size_t k = 0; k < ROWS - 1; k++)
        r[k] = row(1e-3, 0, 2e-3, k);
    assert_int_equal(correct_calibration(cal, NULL, r, ROWS - 1, &own, &f, &e, NULL), LM_OK);
    assert_close(i->low, 0.8, 0);
    assert_close(i->high, 1.5, 0); /* 2 / ((8/2 + .1) / (8/4 + .1)) is 1.024, by the others 1.087 */
    calibration_free(cal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_factor_is_held_near_1),
        cmocka_unit_test(resources_are_told_apart),
        cmocka_unit_test(factors_are_not_negative),
        cmocka_unit_test(nothing_left_is_an_error),
        cmocka_unit_test(rows_are_times_that_the_model_tells),
        cmocka_unit_test(a_calibration_is_corrected_and_judged),
        cmocka_unit_test(networks_of_tokens_keep_their_prices),
        cmocka_unit_test(a_start_is_the_hosts),
        cmocka_unit_test(few_networks_make_no_interval_narrower),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
