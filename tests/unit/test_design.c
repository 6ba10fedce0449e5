/* Which point to measure next. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "suggest/design.h"

#define ONE  (1u << PHASE_FORWARD | 1u << PHASE_BACKWARD | 1u << PHASE_UPDATE)
#define MANY (ONE | 1u << PHASE_SYNC)
#define SYNC (1u << PHASE_SYNC)

/* A network of `layers` layers that all look alike, at a batch. */
static design_case net(size_t number, uint64_t layers, uint64_t width, uint64_t batch, double nodes)
{
    design_case c = { .parts = nodes > 1 ? MANY : ONE, .network = number };

    c.load.counts.layers        = layers;
    c.load.counts.params        = layers * width * width;
    c.load.counts.conv_inputs   = batch * layers * width * 100;
    c.load.counts.conv_outputs  = batch * layers * width * 90;
    c.load.counts.flops_forward = batch * layers * width * width * 200;
    c.load.nodes                = nodes;
    c.load.bytes                = 4 * (double)c.load.counts.params;
    return c;
}

static design_case all_reduce(double bytes, double nodes)
{
    return (design_case){ .load    = { .nodes = nodes, .bytes = bytes },
                          .parts   = SYNC,
                          .network = DESIGN_NONE };
}

/* What a sweep tells to expect of a core, where it does not say. */
static const design_speeds core = { 4e10, 4e9 };

static design *open_design(const design_case *target, size_t n)
{
    design  *d;
    lm_error err;

    assert_int_equal(design_new(target, n, 8, &core, NULL, &d, &err), LM_OK);
    return d;
}

static void measure(design *d, const design_case *c, const design_times *t)
{
    lm_error err;

    assert_int_equal(design_measured(d, c, t, &err), LM_OK);
    assert_int_equal(design_update(d, &err), LM_OK);
}

static void nothing_asked_for_is_refused(void **state)
{
    design  *d;
    lm_error err;

    (void)state;
    assert_int_equal(design_new(NULL, 0, 1, &core, NULL, &d, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "nothing is asked for: no targets");
}

/* 1e9 FLOP at 4e10 a second, 1000 elements each way and 100 weights at 4e-10 s, 10 layers of 20 us;
 * the guess of a backward pass is twice that. */
static void before_anything_is_measured_a_guess_is_expected(void **state)
{
    design_case  c = { .parts = ONE, .network = 0 };
    design      *d;
    design_times t;

    (void)state;
    c.load.counts.flops_forward = 1000000000;
    c.load.counts.conv_inputs = c.load.counts.conv_outputs = 1000;
    c.load.counts.params                                   = 100;
    c.load.counts.layers                                   = 10;
    c.load.nodes                                           = 1;
    d                                                      = open_design(&c, 1);
    t                                                      = design_expected(d, &c);
    assert_close(t.seconds[PHASE_FORWARD] / (0.025 + 2100 * 4e-10 + 2e-4), 1, 1e-9);
    assert_close(t.seconds[PHASE_BACKWARD] / t.seconds[PHASE_FORWARD], 2, 1e-9);
    assert_close(t.seconds[PHASE_UPDATE] / (5e-5 + 1.6e-7), 1, 1e-9);
    assert_true(isnan(t.seconds[PHASE_SYNC]));
    assert_true(isnan(t.seconds[PHASE_BACKWARD_GRAD]));
    design_free(d);
}

/* A GPU of 100 times the FLOP and 50 times the bytes: what a layer costs in any case stays. */
static void the_guess_is_made_from_the_speeds_to_expect(void **state)
{
    static const design_speeds gpu = { 4e12, 2e11 };
    const design_case          c   = net(0, 10, 64, 8, 2);
    const net_metrics         *n   = &c.load.counts;
    const double elements = (double)n->conv_inputs + (double)n->conv_outputs + (double)n->params;
    design      *d;
    design_times t;
    lm_error     err;

    (void)state;
    assert_int_equal(design_new(&c, 1, 1, &gpu, NULL, &d, &err), LM_OK);
    t = design_expected(d, &c);
    assert_close(t.seconds[PHASE_FORWARD] /
                     ((double)n->flops_forward / 4e12 + elements * 8e-12 + 2e-4),
                 1, 1e-9);
    assert_close(t.seconds[PHASE_UPDATE] / (5e-5 + (double)n->params * 3.2e-11), 1, 1e-9);
    assert_close(t.seconds[PHASE_SYNC] / (2 * 2e-5 + c.load.bytes * 2e-11), 1, 1e-9);
    design_free(d);
}

static void a_machine_file_replaces_the_guess(void **state)
{
    const design_case target   = net(0, 10, 64, 1, 2);
    calibration      *cal      = calloc(1, sizeof *cal);
    fitted           *f        = &cal->fitted[form_find("counts", PHASE_SYNC)];
    const double      expected = 2 * 0.5 + target.load.bytes * 0.25;
    design           *d;
    lm_error          err;

    (void)state;
    f->present              = true;
    f->coefficient[0].value = 0.5; /* seconds a message, 2 (N - 1) of them */
    f->coefficient[1].value = 0.25;
    assert_int_equal(design_new(&target, 1, 1, &core, cal, &d, &err), LM_OK);
    assert_close(design_expected(d, &target).seconds[PHASE_SYNC] / expected, 1, 1e-9);
    design_free(d);
    free(cal);
}

/* Times of known coefficients come back, although the guess was ten times too fast. */
static void expectations_follow_what_was_measured(void **state)
{
    static const double c[]      = { 2e-10, 3e-9, 4e-9, 5e-9, 1e-4 };
    const design_case   big      = net(0, 40, 200, 32, 1);
    design             *d        = open_design(&big, 1);
    const size_t        at       = form_find("counts", PHASE_FORWARD);
    double              expected = 0;

    (void)state;
    for (size_t i = 0; i < 24; i++) {
        const design_case p =
            net(i % 8, 3 + 7 * (i % 5), UINT64_C(16) << i % 4, 1 + 5 * (i % 3), 1);
        design_times t;

        for (phase w = 0; w < N_TIMES; w++)
            t.seconds[w] = NAN;
        t.seconds[PHASE_FORWARD] = 0;
        for (size_t k = 0; k < 5; k++)
            t.seconds[PHASE_FORWARD] += c[k] * feature_value(forms[at].feature[k], &p.load);
        measure(d, &p, &t);
    }
    for (size_t k = 0; k < 5; k++)
        expected += c[k] * feature_value(forms[at].feature[k], &big.load);
    assert_close(design_expected(d, &big).seconds[PHASE_FORWARD] / expected, 1, 0.02);
    design_free(d);
}

/* What a forecast says by Sherman & Morrison is what the inverse says once a point took the time
 * that was expected of it. */
static void a_forecast_is_what_measuring_brings(void **state)
{
    const design_case target[]    = { net(0, 30, 128, 8, 4), net(1, 80, 64, 32, 1) };
    const design_case candidate[] = { net(2, 10, 64, 4, 2) };
    const double      cost        = 3;
    const bool        taken       = false;
    design           *d           = open_design(target, 2);
    const double      before      = design_width(d);
    design_times      t           = design_expected(d, candidate);
    double            width;
    size_t            n;
    lm_error          err;

    (void)state;
    assert_int_equal(design_forecast(d, candidate, &cost, &taken, 1, 2.9, &width, &n, NULL, &err),
                     LM_OK);
    assert_int_equal(n, 0);
    assert_close(width, before, 1e-12);
    assert_int_equal(design_forecast(d, candidate, &cost, &taken, 1, 3, &width, &n, NULL, &err),
                     LM_OK);
    assert_int_equal(n, 1);
    assert_true(width < before);
    assert_close(design_width(d), before, 0); /* it was a forecast only */
    measure(d, candidate, &t);
    assert_close(design_width(d), width, 1e-6);
    design_free(d);
}

static void another_network_is_worth_more_than_another_point_of_one(void **state)
{
    const design_case target   = net(7, 50, 128, 16, 1);
    const design_case measured = net(0, 20, 64, 4, 1), again = measured,
                      other = net(1, 20, 64, 4, 1);
    design      *d          = open_design(&target, 1);
    design_times t          = design_expected(d, &measured);
    double       first;

    (void)state;
    first = design_gain(d, &measured);
    measure(d, &measured, &t);
    assert_true(design_gain(d, &again) < first);
    assert_true(design_gain(d, &other) > 1.5 * design_gain(d, &again));
    design_free(d);
}

/* Although the formula is a sum of products and knows no sizes. */
static void points_near_the_targets_are_worth_more(void **state)
{
    const design_case target = net(7, 50, 128, 64, 1);
    const design_case small = net(1, 50, 128, 1, 1), near = net(1, 50, 128, 32, 1);
    design           *d = open_design(&target, 1);

    (void)state;
    for (size_t i = 2; i < 6; i++) {
        const design_case p = net(i, 10 * i, 32 * i, 1, 1);
        design_times      t = design_expected(d, &p);

        measure(d, &p, &t);
    }
    assert_true(design_gain(d, &near) > design_gain(d, &small));
    design_free(d);
}

static void an_allreduce_matters_to_several_nodes_only(void **state)
{
    const design_case alone = net(0, 20, 64, 4, 1), many = net(0, 20, 64, 4, 8);
    const design_case c = all_reduce(1 << 20, 2);
    design           *d = open_design(&alone, 1);

    (void)state;
    assert_close(design_gain(d, &c), 0, 0);
    design_free(d);
    d = open_design(&many, 1);
    assert_true(design_gain(d, &c) > 0);
    design_free(d);
}

static void the_choice_is_by_gain_per_second_within_the_limit(void **state)
{
    const design_case target   = net(7, 50, 128, 16, 1);
    const design_case c[]      = { net(0, 20, 64, 4, 1), net(0, 20, 64, 4, 1), net(0, 20, 64, 4, 1),
                                   all_reduce(4096, 2) };
    const double      cost[]   = { 2, 1, 3, 0.001 };
    bool              taken[4] = { false };
    design           *d        = open_design(&target, 1);

    (void)state;
    assert_int_equal(design_next(d, c, cost, taken, 4, 10), 1);
    taken[1] = true;
    assert_int_equal(design_next(d, c, cost, taken, 4, 10), 0);
    taken[0] = true;
    assert_int_equal(design_next(d, c, cost, taken, 4, 10), 2);
    assert_int_equal(design_next(d, c, cost, taken, 4, 2.5), DESIGN_NONE); /* dear */
    taken[2] = true; /* and the all-reduce brings nothing */
    assert_int_equal(design_next(d, c, cost, taken, 4, 10), DESIGN_NONE);
    design_free(d);
}

static void what_a_formula_lacks_goes_first(void **state)
{
    const design_case target   = net(7, 50, 128, 16, 4);
    const design_case c[]      = { net(6, 20, 64, 4, 1), all_reduce(1 << 24, 2) };
    const double      cost[]   = { 1e-9, 1000 }; /* by gain per second it would be the other one */
    bool              taken[2] = { false };
    design           *d        = open_design(&target, 1);

    (void)state;
    for (size_t i = 0; i < 5; i++) { /* as many as a forward pass has coefficients */
        const design_case p = net(i, 10 + 10 * i, 32 + 16 * i, 1 + i, 1);
        design_times      t = design_expected(d, &p);

        assert_true(design_lacks(d, &c[0]));
        measure(d, &p, &t);
    }
    assert_false(design_lacks(d, &c[0]));
    assert_true(design_lacks(d, &c[1]));
    assert_int_equal(design_next(d, c, cost, taken, 2, 1e4), 1);
    assert_int_equal(design_next(d, c, cost, taken, 2, 1), 0);
    design_free(d);
}

/* More time never makes it worse, and what is left in the end is what networks deviate. */
static void more_time_buys_narrower_intervals(void **state)
{
    const design_case target = net(7, 50, 128, 16, 1);
    design_case       c[64];
    double            cost[64], last = INFINITY;
    bool              taken[64] = { false };
    design           *d         = open_design(&target, 1);

    (void)state;
    for (size_t i = 0; i < 64; i++) {
        c[i]    = net(i % 7, 5 + 9 * (i % 7), UINT64_C(16) << i % 4, UINT64_C(1) << i % 6, 1);
        cost[i] = 1 + 0.1 * (double)(i % 6);
    }
    for (double budget = 1; budget < 200; budget *= 2) {
        double   width;
        size_t   n;
        lm_error err;

        assert_int_equal(design_forecast(d, c, cost, taken, 64, budget, &width, &n, NULL, &err),
                         LM_OK);
        assert_true(width <= last && (double)n <= budget);
        last = width;
    }
    assert_true(last > 2 * 1.6449 * 0.10 && last < 1);
    design_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_asked_for_is_refused),
        cmocka_unit_test(before_anything_is_measured_a_guess_is_expected),
        cmocka_unit_test(the_guess_is_made_from_the_speeds_to_expect),
        cmocka_unit_test(a_machine_file_replaces_the_guess),
        cmocka_unit_test(expectations_follow_what_was_measured),
        cmocka_unit_test(a_forecast_is_what_measuring_brings),
        cmocka_unit_test(another_network_is_worth_more_than_another_point_of_one),
        cmocka_unit_test(points_near_the_targets_are_worth_more),
        cmocka_unit_test(an_allreduce_matters_to_several_nodes_only),
        cmocka_unit_test(the_choice_is_by_gain_per_second_within_the_limit),
        cmocka_unit_test(what_a_formula_lacks_goes_first),
        cmocka_unit_test(more_time_buys_narrower_intervals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
