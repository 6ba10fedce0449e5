/* A job's own curve: steps on few devices, continued to more. */
#include "check.h"

#include <math.h>

#include "fabric/job_curve.h"

/* 20 ms + 5 ms a sample, 8 ms of many devices of a host, 40 ms of many hosts. */
static double truth(double batch, double hosts, double devices)
{
    return 0.020 + 0.005 * batch + 0.008 * (devices - 1) / devices + 0.040 * (hosts - 1) / hosts;
}

static job_row row_of(int64_t batch, int64_t hosts, int64_t devices)
{
    return (job_row){ batch, 1, hosts, devices,
                      truth((double)batch, (double)hosts, (double)devices) };
}

/* The ridge holds what all-reduces leave a little below what was measured. */
static void curve_continues_what_made_it(void **state)
{
    const job_row row[] = { row_of(8, 1, 1),  row_of(32, 1, 1), row_of(8, 1, 8),
                            row_of(32, 1, 8), row_of(8, 2, 8),  row_of(32, 2, 8) };
    job_curve     c;
    lm_error      err;

    (void)state;
    assert_int_equal(job_curve_fit(row, 6, &c, &err), LM_OK);
    assert_close((job_curve_own(&c, 16)) / (truth(16, 1, 1)), 1, 0.01);
    assert_close((job_curve_own(&c, 16) + job_curve_exposed(&c, 16, 8)) / (truth(16, 16, 8)), 1,
                 0.05);
    assert_true(c.hosts == 2 && c.devices == 8 && c.ranks == 16 && c.rows == 6);
    assert_true(c.least_batch == 8 && c.most_batch == 32);
    assert_true(c.mape < 0.01);
}

/* Of one batch a step of another goes by its samples: nothing tells the rest. */
static void one_batch_goes_by_samples(void **state)
{
    const job_row row[] = { row_of(16, 1, 1), row_of(16, 1, 4), row_of(16, 4, 4) };
    job_curve     c;
    lm_error      err;

    (void)state;
    assert_int_equal(job_curve_fit(row, 3, &c, &err), LM_OK);
    assert_true(c.step == 0);
    assert_close((job_curve_own(&c, 32)) / (2 * job_curve_own(&c, 16)), 1, 1e-12);
}

/* As many rows as unknowns: none contradicts the others, so a step that doubles on two hosts is no outlier.
 * NumPy's and SciPy's least squares of the same equations find 1.7191 s there, with Huber's limit 1.5828 s. */
static void few_rows_have_no_outlier(void **state)
{
    const job_row row[] = { { 8, 1, 1, 1, 1 }, { 8, 1, 1, 8, 1 }, { 8, 1, 2, 8, 2 } };
    job_curve     c;
    lm_error      err;

    (void)state;
    assert_int_equal(job_curve_fit(row, 3, &c, &err), LM_OK);
    assert_close(job_curve_own(&c, 8) + job_curve_exposed(&c, 2, 8), 1.7191, 2e-4);
}

/*
 * 96 ms of 96 samples on a host, 86 ms of 72 on eight: 14 ms more than samples say. The least sum of squares
 * of both rows' relative errors (the first counts an eighth, as it has an eighth of the ranks) and of
 * 0.1 (a / m - 0.1)^2 + 0.03 (w^2 + x^2) / m^2, m = 91 ms being the median, is at a = 9.97, w = 2.54,
 * x = 10.17 ms and 0.897 ms a sample: 0.1 (9.97 - 9.1) x 7/8 = 0.03 x 2.54, as a and w are told apart by
 * nothing else. Of 6 samples on 64 hosts 9.97 + 6 x 0.897 + 7/8 x 2.54 + 63/64 x 10.17 = 27.6 ms.
 */
static void batches_that_shrink_with_hosts_do_not_tell_what_stays(void **state)
{
    const job_row row[] = { { 96, 1, 1, 8, 0.096 }, { 72, 1, 8, 8, 0.086 } };
    job_curve     c;
    lm_error      err;

    (void)state;
    assert_int_equal(job_curve_fit(row, 2, &c, &err), LM_OK);
    assert_close((job_curve_own(&c, 6) + job_curve_exposed(&c, 64, 8)) / 0.0276, 1, 0.003);
    assert_close(job_curve_own(&c, 96) + job_curve_exposed(&c, 1, 8), 0.096, 0.02);
}

/* A step that does not grow costs nothing between hosts: no extrapolation makes it. */
static void flat_steps_stay(void **state)
{
    const job_row row[] = { { 16, 1, 1, 8, 0.1 }, { 16, 1, 2, 8, 0.1 } };
    job_curve     c;
    lm_error      err;

    (void)state;
    assert_int_equal(job_curve_fit(row, 2, &c, &err), LM_OK);
    assert_close((job_curve_own(&c, 16) + job_curve_exposed(&c, 64, 8)) / (0.1), 1, 1e-6);
}

static void one_number_of_ranks_is_no_curve(void **state)
{
    const job_row row[] = { row_of(16, 2, 4), row_of(32, 2, 4), row_of(16, 1, 8) };
    job_curve     c;
    lm_error      err;

    (void)state;
    assert_int_equal(job_curve_fit(row, 3, &c, &err), LM_E_ARG);
    assert_string_equal(err.text, "a curve needs steps on 2 numbers of ranks");
}

/*
 * Micro-steps repeat a device's work, and all-reduces stay: 2 x 40 samples take 0.2 s alone, and 0.25 s on two
 * hosts. As there is one batch, a = 0. NumPy's least squares of the same equations, with the ridge that holds x a
 * little below 0.1 s, find 2.5886 ms a sample and x = 74.75 ms.
 */
static void micro_steps_repeat_a_devices_work(void **state)
{
    const job_row row[] = { { 40, 2, 1, 1, 0.2 }, { 40, 2, 2, 1, 0.25 } };
    job_curve     c;
    lm_error      err;

    (void)state;
    assert_int_equal(job_curve_fit(row, 2, &c, &err), LM_OK);
    assert_true(c.step == 0 && c.least_micro == 2 && c.most_micro == 2);
    assert_close(job_curve_own(&c, 40) / (40 * 0.0025886), 1, 1e-4);
    assert_close(job_curve_exposed(&c, 4, 1) / (0.75 * 0.07475), 1, 1e-4);
}

/* A tenth of a micro-step is constant, not of a step: NumPy's least squares of 2 x 56 samples on a host in
 * 0.35 s, 2 x 28 on two in 0.2 s, find a = 15.418, w = 8.341, x = 11.121 ms and 2.8035 ms a sample. */
static void a_tenth_of_a_micro_step_is_constant(void **state)
{
    const job_row row[] = { { 56, 2, 1, 4, 0.35 }, { 28, 2, 2, 4, 0.2 } };
    job_curve     c;
    lm_error      err;

    (void)state;
    assert_int_equal(job_curve_fit(row, 2, &c, &err), LM_OK);
    assert_close(c.step / 0.015418, 1, 1e-3);
    assert_close(c.within / 0.008341, 1, 1e-3);
    assert_close(c.between / 0.011121, 1, 1e-3);
    assert_close(c.sample / 0.0028035, 1, 1e-3);
}

/* Two measured micro-steps share one update. If all of a is that update, it takes 2 a a step: one micro-step
 * alone takes all of it, four take half of a each; 3 are measured as they are. */
static void micro_steps_share_an_update(void **state)
{
    const job_curve c = { .step = 0.01, .sample = 0.001, .least_micro = 2, .most_micro = 3 };

    (void)state;
    assert_close(job_curve_own_once(&c, 10, 1), 0.020 + 0.010, 1e-15);
    assert_close(job_curve_own_once(&c, 10, 3), job_curve_own(&c, 10), 1e-15);
    assert_close(job_curve_own_once(&c, 10, 6), 0.005 + 0.010, 1e-15);
}

/* Beside what the curve misses its own rows: 1.645 / sqrt(2 / pi) of its mean error. */
static double beside(const job_curve *c, double usual)
{
    return exp(hypot(usual, 2.06 * c->mape));
}

/* 0.033 within the measured batches, and 2 octaves of 0.19 more at a quarter of the smallest. Of all-reduces
 * 0.14 up to an octave beyond, twice that at two. */
static void bounds_widen_beyond(void **state)
{
    const job_row row[] = { row_of(8, 1, 1), row_of(32, 1, 8), row_of(32, 2, 8) };
    job_curve     c;
    lm_error      err;

    (void)state;
    assert_int_equal(job_curve_fit(row, 3, &c, &err), LM_OK);
    assert_close((job_curve_own_spread(&c, 16)) / (beside(&c, 0.033)), 1, 1e-12);
    assert_close((job_curve_own_spread(&c, 2)) / (beside(&c, 0.033 + 2 * 0.19)), 1, 1e-12);
    assert_close((job_curve_exposed_spread(&c, 4, 8)) / (beside(&c, 0.14)), 1, 1e-12);
    assert_close((job_curve_exposed_spread(&c, 8, 8)) / (beside(&c, 2 * 0.14)), 1, 1e-12);
    assert_close((job_curve_exposed_spread(&c, 1, 64)) / (beside(&c, 2 * 0.14)), 1, 1e-12);
    assert_true(job_curve_knows(&c, true, true));
    c.mape = 0.1;
    assert_close(job_curve_own_spread(&c, 16) / exp(hypot(0.033, 0.206)), 1, 1e-12);
    assert_close(job_curve_exposed_spread(&c, 4, 8) / exp(hypot(0.14, 0.206)), 1, 1e-12);
}

static void curves_are_found_by_network_and_input(void **state)
{
    const job_row row[] = { row_of(16, 1, 1), row_of(16, 1, 4) };
    job_curves    all   = { 0 };
    job_curve     c;
    lm_error      err;

    (void)state;
    assert_int_equal(job_curve_fit(row, 2, &c, &err), LM_OK);
    assert_int_equal(job_curves_add(&all, "a", "3x8x8", &c, &err), LM_OK);
    assert_int_equal(job_curves_add(&all, "b", "3x8x8", &c, &err), LM_OK);
    assert_ptr_equal(job_curves_find(&all, "b", "3x8x8"), &all.of[1]);
    assert_null(job_curves_find(&all, "b", "3x16x16"));
    assert_false(job_curve_knows(&c, true, false));
    job_curves_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curve_continues_what_made_it),
        cmocka_unit_test(one_batch_goes_by_samples),
        cmocka_unit_test(few_rows_have_no_outlier),
        cmocka_unit_test(batches_that_shrink_with_hosts_do_not_tell_what_stays),
        cmocka_unit_test(micro_steps_repeat_a_devices_work),
        cmocka_unit_test(a_tenth_of_a_micro_step_is_constant),
        cmocka_unit_test(micro_steps_share_an_update),
        cmocka_unit_test(flat_steps_stay),
        cmocka_unit_test(one_number_of_ranks_is_no_curve),
        cmocka_unit_test(bounds_widen_beyond),
        cmocka_unit_test(curves_are_found_by_network_and_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
