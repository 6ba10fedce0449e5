/* Corrections by runs: which rows, what leaving out shows, what is kept, what intervals become. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "observe/flags.h"
#include "transfer/runs.h"

#define RUNS 4

/* A machine: 1 ms of arithmetic forward, as much traffic backward, updates that take nothing, and a
 * ring of 0.1 ms a step. */
static calibration *machine(void)
{
    static const struct {
        phase       of;
        const char *term;
        double      price;
    } prices[]        = { { PHASE_FORWARD, "conv1x1.flops.forward", 1e-12 },
                          { PHASE_BACKWARD, "conv.bytes.grad_input", 1e-12 },
                          { PHASE_UPDATE, "update.bytes.grad_weight", 0 } };
    calibration *cal  = calloc(1, sizeof *cal);
    fitted      *ring = &cal->fitted[form_find("layermeter", PHASE_SYNC)];

    for (size_t i = 0; i < sizeof prices / sizeof prices[0]; i++) {
        fitted *f = &cal->fitted[form_find("layermeter", prices[i].of)];

        f->present                                         = true;
        f->term                                            = calloc(N_TERMS, sizeof *f->term);
        f->term[term_parse(prices[i].term)].value          = prices[i].price;
        f->term[term_parse(prices[i].term)].standard_error = prices[i].price / 10;
    }
    ring->present              = true;
    ring->coefficient[0].value = 1e-4;
    for (size_t s = 0; s < N_TIMES; s++)
        cal->intervals[0].of[s] = interval_unknown;
    cal->intervals[0].of[PHASE_STEP] =
        (interval){ .groups     = 5,
                    .low        = 0.8,
                    .high       = 1.05,
                    .per_octave = 1.1,
                    .range      = { { 1e-3, 2e-3 }, { 1, 4 }, { NAN, NAN } } };
    cal->intervals[0].of[PHASE_FORWARD] = cal->intervals[0].of[PHASE_STEP];
    cal->dtype                          = LM_F32;
    return cal;
}

/* Runs of networks that take `forward` ms by arithmetic and `backward` ms by traffic. */
typedef struct made {
    term_item   item[RUNS][3];
    observation row[RUNS];
    point       point[RUNS];
    points      p;
} made;

static void add(made *m, size_t group, double forward, double backward, double seconds)
{
    const size_t i    = m->p.n_points++;
    term_item   *item = m->item[i];
    point       *pt   = &m->point[i];

    item[0]         = (term_item){ (uint32_t)term_parse("conv1x1.flops.forward"), 1e9 * forward };
    item[1]         = (term_item){ (uint32_t)term_parse("conv.bytes.grad_input"), 1e9 * backward };
    item[2]         = (term_item){ (uint32_t)term_parse("update.bytes.grad_weight"), 1 };
    m->row[i]       = observation_blank;
    m->row[i].kind  = OBS_NETWORK;
    m->row[i].phase = PHASE_STEP;
    m->row[i].name  = "made";
    m->row[i].dtype = LM_F32;
    m->row[i].batch = 8;
    m->row[i].ranks = m->row[i].hosts = 1;
    *pt                               = (point){ .row = &m->row[i], .input = "", .group = group };
    pt->load                          = (workload){ .nodes    = 1,
                                                    .forward  = { &item[0], 1 },
                                                    .backward = { &item[1], 1 },
                                                    .update   = { &item[2], 1 } };
    for (phase f = 0; f < N_PHASES; f++)
        pt->seconds[f] = pt->beside[f] = pt->together[f] = pt->watts[f] = pt->mhz[f] = NAN;
    pt->seconds[PHASE_STEP] = seconds;
    m->p.point              = m->point;
}

/* Two runs of one configuration are one row, of their mean; a flagged one, one of another type, one
 * with its passes are none. */
static void runs_are_steps_alone(void **state)
{
    calibration *cal = machine();
    made         m   = { .p = { .n_points = 0 } };
    run_rows     r;

    (void)state;
    add(&m, 0, 1, 2, 4e-3);
    add(&m, 0, 1, 2, 6e-3);
    add(&m, 1, 1, 1, 9e-3);
    add(&m, 2, 1, 1, 9e-3);
    m.point[2].flags = FLAG_THROTTLED;
    m.row[3].dtype   = LM_BF16;
    assert_int_equal(run_rows_from(cal, &m.p, &r, NULL), LM_OK);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.runs, 2);
    assert_int_equal(r.networks, 1);
    assert_int_equal(r.n_doubtful, 1);
    assert_int_equal(r.n_other, 1);
    assert_close(r.row[0].part[RESOURCE_FLOPS], 1e-3, 1e-12);
    assert_close(r.row[0].part[RESOURCE_BANDWIDTH], 2e-3, 1e-12);
    assert_close(r.row[0].seconds, 5e-3, 1e-12);
    assert_close(r.row[0].fixed, 0, 0);
    assert_int_equal(r.slot[0], PHASE_STEP);
    run_rows_free(&r);
    calibration_free(cal);
}

static void a_file_without_runs_is_refused(void **state)
{
    calibration *cal = machine();
    made         m   = { .p = { .n_points = 0 } };
    run_rows     r;
    lm_error     err;

    (void)state;
    add(&m, 0, 1, 2, 4e-3);
    m.point[0].seconds[PHASE_FORWARD] = 1e-3;
    assert_int_equal(run_rows_from(cal, &m.p, &r, &err), LM_E_ARG);
    assert_error(
        err, LM_E_ARG,
        "no run in it: expected whole steps of networks without their parts, as 'layermeter watch --observations' appends them");
    m.point[0].seconds[PHASE_FORWARD] = NAN;
    m.point[0].flags                  = FLAG_THROTTLED;
    assert_int_equal(run_rows_from(cal, &m.p, &r, &err), LM_E_ARG);
    assert_error(
        err, LM_E_ARG,
        "no run can be used: 1 are flagged, 0 of another element type, other settings or "
        "another optimizer, of 0 all-reduces are more than 20 %%, and of 0 the coefficients "
        "are unknown");
    cal->fitted[form_find("layermeter", PHASE_FORWARD)].present = false;
    assert_int_equal(run_rows_from(cal, &m.p, &r, &err), LM_E_ARG);
    assert_error(
        err, LM_E_ARG,
        "runs correct formulas of a step's parts, and not all were fitted: fit whole steps alone, from one file");
    calibration_free(cal);
}

/* Of two ranks the ring takes 2 x 0.1 ms: a tenth of a step of 2 ms, two thirds of one of 0.3 ms.
 */
static void all_reduces_stay_as_predicted(void **state)
{
    calibration *cal = machine();
    made         m   = { .p = { .n_points = 0 } };
    run_rows     r;

    (void)state;
    add(&m, 0, 0.9, 0.9, 3e-3);
    add(&m, 1, 0.05, 0.05, 3e-3);
    for (size_t i = 0; i < 2; i++) {
        m.row[i].ranks = m.row[i].hosts = 2;
        m.point[i].load.nodes           = 2;
    }
    assert_int_equal(run_rows_from(cal, &m.p, &r, NULL), LM_OK);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.n_exposed, 1);
    assert_int_equal(r.slot[0], PHASE_STEP_MANY);
    assert_close(r.row[0].fixed, 2e-4, 1e-12);
    assert_close(correct_seconds(&r.row[0], &(correct_factors){ { 1, 2, 3, 1 }, 1 }), 4.7e-3,
                 1e-12);
    run_rows_free(&r);
    calibration_free(cal);
}

/* Two devices of one host take 1.5 times as long forward and 1.2 times backward. */
static void ranks_of_a_host_take_longer(void **state)
{
    calibration *cal = machine();
    made         m   = { .p = { .n_points = 0 } };
    run_rows     r;

    (void)state;
    cal->shared = (sharing){ .of = { { 2, 6, 1.5, 1.2, 1 } }, .n = 1 };
    add(&m, 0, 1, 1, 3e-3);
    m.row[0].ranks        = 2;
    m.point[0].load.nodes = 2;
    assert_int_equal(run_rows_from(cal, &m.p, &r, NULL), LM_OK);
    assert_close(r.row[0].part[RESOURCE_FLOPS], 1.5e-3, 1e-12);
    assert_close(r.row[0].part[RESOURCE_BANDWIDTH], 1.2e-3, 1e-12);
    run_rows_free(&r);
    calibration_free(cal);
}

/* What is beside the factors is taken off the measured time: (x (1 - c) + 0.1) / (x^2 + 0.1) with
 * x = 1/2, c = 1/4 of it. */
static void fixed_seconds_are_no_factors(void **state)
{
    const correct_row r = { .part = { [RESOURCE_FLOPS] = 2e-3 }, .seconds = 4e-3, .fixed = 1e-3 };
    correct_factors   f;

    (void)state;
    assert_int_equal(correct_fit(&r, 1, NULL, &f, NULL), LM_OK);
    assert_close(f.of[RESOURCE_FLOPS], 0.475 / 0.35, 1e-9);
}

/* Three networks of arithmetic at twice the time, x = 1/2: (3/2 + .1) / (3/4 + .1) of all three,
 * (1 + .1) / (1/2 + .1) of two of them, which leaves 2 / (1.1 / .6) of the third. */
static void three_runs_correct_a_machine(void **state)
{
    const double   all = 1.6 / 0.85, two = 1.1 / 0.6;
    calibration   *cal = machine();
    const fitted  *f   = &cal->fitted[form_find("layermeter", PHASE_FORWARD)];
    const size_t   t   = term_parse("conv1x1.flops.forward");
    interval      *of  = cal->intervals[0].of;
    made           m   = { .p = { .n_points = 0 } };
    run_correction c;
    run_rows       r;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        add(&m, i, (double)(2 + i), 0, 2e-3 * (double)(2 + i));
    assert_int_equal(run_rows_from(cal, &m.p, &r, NULL), LM_OK);
    assert_int_equal(correct_by_runs(cal, &r, &c, NULL), LM_OK);
    assert_true(c.kept);
    assert_true(c.by_network);
    assert_int_equal(c.errors.groups, 3);
    assert_close(c.factors.of[RESOURCE_FLOPS], all, 1e-9);
    assert_close(c.factors.of[RESOURCE_BANDWIDTH], 1, 1e-9);
    assert_close(c.errors.mape_before, 0.5, 1e-12);
    assert_close(c.errors.mape, 1 - two / 2, 1e-9);
    assert_close(f->term[t].value * 1e12, all, 1e-9);
    assert_close(f->term[t].standard_error * 1e13, all, 1e-9);
    assert_close(of[PHASE_STEP].low, 0.8, 1e-12); /* as it was */
    /* the runs, left out: three ratios of 2 / two and a prior one of 1, with an error of 0.1 */
    assert_close(
        log(of[PHASE_STEP].high),
        0.75 * log(2 / two) + 2.132 * sqrt((0.01 + 0.75 * pow(log(2 / two), 2)) / 4 * 1.25), 2e-3);
    assert_close(of[PHASE_FORWARD].low, 0.8 / all, 1e-9); /* perhaps as before */
    assert_close(of[PHASE_FORWARD].high, 1.05, 1e-9);
    assert_close(of[PHASE_STEP].range[SCOPE_SECONDS].low, 1e-3, 1e-12);
    assert_close(of[PHASE_STEP].range[SCOPE_SECONDS].high, 8e-3, 1e-12);
    assert_close(of[PHASE_STEP].range[SCOPE_BATCH].high, 8, 0);
    run_rows_free(&r);
    calibration_free(cal);
}

/* Of one network the other configuration judges, and other networks may be as before: */
static void one_network_says_less_of_others(void **state)
{
    const double   both = 1.1 / 0.6, one = 0.6 / 0.35;
    calibration   *cal = machine();
    interval      *of  = cal->intervals[0].of;
    made           m   = { .p = { .n_points = 0 } };
    run_correction c;
    run_rows       r;

    (void)state;
    add(&m, 0, 1, 0, 2e-3);
    add(&m, 0, 2, 0, 4e-3);
    assert_int_equal(run_rows_from(cal, &m.p, &r, NULL), LM_OK);
    assert_int_equal(correct_by_runs(cal, &r, &c, NULL), LM_OK);
    assert_true(c.kept);
    assert_false(c.by_network);
    assert_close(c.errors.mape, 1 - one / 2, 1e-9);
    assert_close(of[PHASE_STEP].low, 0.8 / both, 1e-9);
    assert_close(of[PHASE_STEP].high, 2 / one, 1e-9);
    run_rows_free(&r);
    calibration_free(cal);
}

/* One network at twice, another at half the time; and one configuration, of which nothing is left
 * out. */
static void what_does_not_help_changes_nothing(void **state)
{
    calibration   *cal = machine();
    const fitted  *f   = &cal->fitted[form_find("layermeter", PHASE_FORWARD)];
    made           m   = { .p = { .n_points = 0 } };
    run_correction c;
    run_rows       r;

    (void)state;
    add(&m, 0, 1, 0, 2e-3);
    for (size_t networks = 1; networks < 3; networks++) {
        assert_int_equal(run_rows_from(cal, &m.p, &r, NULL), LM_OK);
        assert_int_equal(correct_by_runs(cal, &r, &c, NULL), LM_OK);
        assert_false(c.kept);
        assert_close(f->term[term_parse("conv1x1.flops.forward")].value * 1e12, 1, 1e-12);
        assert_close(cal->intervals[0].of[PHASE_STEP].high, 1.05, 1e-9);
        assert_close(cal->intervals[0].of[PHASE_FORWARD].low, 0.8, 1e-12);
        run_rows_free(&r);
        add(&m, networks, 1, 0, 0.5e-3);
    }
    calibration_free(cal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_steps_alone),
        cmocka_unit_test(a_file_without_runs_is_refused),
        cmocka_unit_test(all_reduces_stay_as_predicted),
        cmocka_unit_test(ranks_of_a_host_take_longer),
        cmocka_unit_test(fixed_seconds_are_no_factors),
        cmocka_unit_test(three_runs_correct_a_machine),
        cmocka_unit_test(one_network_says_less_of_others),
        cmocka_unit_test(what_does_not_help_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
