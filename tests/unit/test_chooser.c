/* What a run learns while it measures. */
#include "check.h"

#include <stdlib.h>

#include "observe/flags.h"
#include "run/chooser.h"

enum { N = 6 };

/* All-reduces of 1 to 32 MB on four ranks: no networks are needed to choose among them. */
static sweep make_plan(sweep_point at[N])
{
    for (int i = 0; i < N; i++)
        at[i] = (sweep_point){ .row = { .kind      = OBS_COLLECTIVE,
                                        .phase     = PHASE_SYNC,
                                        .name      = "allreduce",
                                        .input     = "",
                                        .algorithm = "default",
                                        .geometry  = "",
                                        .optimizer = "",
                                        .settings  = "",
                                        .flags     = "",
                                        .dtype     = LM_F32,
                                        .ranks     = 4,
                                        .hosts     = 1,
                                        .bytes     = INT64_C(1000000) << i } };
    return (sweep){ .stop             = { .min_repeats = 1, .max_repeats = 1 },
                    .flops_per_second = 4e10,
                    .bytes_per_second = 4e9,
                    .point            = at,
                    .n_points         = N };
}

static chooser *open_chooser(const sweep *plan)
{
    const chooser_aim aim = { .own_only = true, .virtual = true };
    chooser          *c;
    lm_error          err;

    assert_int_equal(chooser_new(plan, NULL, &aim, &c, &err), LM_OK);
    return c;
}

/* 50 us a message, 6 of them; 2 ns a byte, of 1.5 times as many. */
static double truth(const sweep_point *p)
{
    return 6 * 5e-5 + 2e-9 * 1.5 * (double)p->row.bytes;
}

static point_result times(double seconds, uint32_t flags)
{
    return (point_result){ .status = "ok",
                           .flags  = flags,
                           .phase  = { [PHASE_SYNC] = {
                                           .measured = true, .repeats = 1, .median = seconds } } };
}

static void learn(chooser *c, const sweep *plan, size_t at, double factor, uint32_t flags)
{
    const double       seconds = factor * truth(&plan->point[at]);
    const point_result r       = times(seconds, flags);
    lm_error           err;

    assert_int_equal(chooser_learn(c, at, &r, seconds, &err), LM_OK);
}

static void learn_again(chooser *c, const sweep *plan, size_t at, double factor, uint32_t flags)
{
    const point_result r = times(factor * truth(&plan->point[at]), flags);
    lm_error           err;

    assert_int_equal(chooser_learn_again(c, at, &r, &err), LM_OK);
    assert_int_equal(chooser_settle(c, &err), LM_OK);
}

/* As if the doubtful times had never been. */
static void what_is_measured_again_replaces_what_was_doubted(void **state)
{
    sweep_point at[N];
    const sweep plan       = make_plan(at);
    chooser    *told_twice = open_chooser(&plan), *told_once = open_chooser(&plan);

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        learn(told_twice, &plan, i, 10, FLAG_CONTENDED);
        learn(told_once, &plan, i, 1, 0);
    }
    assert_true(chooser_cost(told_twice, 5) > 5 * truth(&at[5]));
    for (size_t i = 0; i < 4; i++)
        learn_again(told_twice, &plan, i, 1, 0);
    assert_close(chooser_width(told_twice), chooser_width(told_once), 1e-12);
    assert_close(chooser_cost(told_twice, 5) / truth(&at[5]), 1, 0.1);
    chooser_free(told_twice);
    chooser_free(told_once);
}

static void what_is_no_better_changes_nothing(void **state)
{
    sweep_point at[N];
    const sweep plan = make_plan(at);
    chooser    *c    = open_chooser(&plan);
    double      width, cost;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        learn(c, &plan, i, 1, 0);
    learn(c, &plan, 3, 2, FLAG_THROTTLED);
    width = chooser_width(c);
    cost  = chooser_cost(c, 5);
    learn_again(c, &plan, 0, 3, FLAG_ANCHOR); /* that is for the drift */
    learn_again(c, &plan, 1, 3, FLAG_CONTENDED);
    learn_again(c, &plan, 2, 3, 0); /* nothing was wrong with the first */
    learn_again(c, &plan, 3, 4, FLAG_CONTENDED);
    assert_close(chooser_width(c), width, 1e-12);
    assert_close(chooser_cost(c, 5), cost, 1e-12);
    learn_again(c, &plan, 3, 1.5, FLAG_CONTENDED); /* doubtful, but less so */
    assert_true(chooser_cost(c, 5) < cost);
    chooser_free(c);
}

/* What a point took stands in the place of what it should take. */
static void a_point_that_was_measured_costs_what_it_took(void **state)
{
    sweep_point  at[N];
    const sweep  plan = make_plan(at);
    chooser     *c    = open_chooser(&plan);
    const double all  = chooser_cost_left(c, NULL);
    size_t       left;

    (void)state;
    assert_true(all > 0);
    learn(c, &plan, 2, 1, 0);
    assert_close(chooser_cost(c, 2), truth(&at[2]), 1e-12);
    chooser_cost_left(c, &left);
    assert_int_equal(left, N - 1);
    chooser_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_measured_again_replaces_what_was_doubted),
        cmocka_unit_test(what_is_no_better_changes_nothing),
        cmocka_unit_test(a_point_that_was_measured_costs_what_it_took),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
