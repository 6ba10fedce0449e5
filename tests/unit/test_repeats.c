/* What repeated rows say: noise floor, drift, and which rows are drifted. */
#include "folder.h"

#include "observe/repeats.h"

#define HEAD "kind,name,phase,batch,seconds,flags,status\n"

static observations *load(const char *rows)
{
    observations *obs = NULL;
    lm_error      err = { LM_OK, "" };
    char          text[4096];

    snprintf(text, sizeof text, "%s%s", HEAD, rows);
    observations_load(folder_file("o.csv", text), &obs, &err);
    assert_string_equal(err.text, "");
    return obs;
}

static void the_noise_floor_is_the_median_difference_of_repetitions(void **state)
{
    observations *obs = load("network,n,forward,1,9,,ok\n" /* no step: does not count */
                             "network,n,step,1,10,,ok\n"
                             "network,n,step,2,20,,ok\n"
                             "network,n,forward,1,1,anchor,ok\n"
                             "network,n,step,1,11,anchor,ok\n" /* 1 / 10.5 */
                             "network,n,step,2,30,contended,ok\n"
                             "network,n,step,2,,,skipped-memory\n"
                             "network,n,step,2,19,,ok\n" /* 1 / 19.5 */
                             "kernel,conv,forward,,1,,ok\n"
                             "kernel,conv,grad_input,,2,,ok\n"
                             "kernel,conv,forward,,1.01,,ok\n" /* 0.01 / 1.005 */);
    repeats       r;

    (void)state;
    assert_int_equal(repeats_find(obs, NULL, &r, NULL), LM_OK);
    assert_int_equal(r.n_noise, 3);
    assert_close(r.noise_floor, 1 / 19.5, 1e-15);
    assert_int_equal(r.n_anchors, 2);
    assert_true(isnan(r.drift) && isnan(r.drift_noise)); /* two times are no line */
    assert_int_equal(r.n_drifted, 0);
    observations_free(obs);
}

static void too_few_repetitions_say_nothing(void **state)
{
    observations *obs = load("network,n,step,1,10,,ok\nnetwork,n,step,1,11,,ok\n"
                             "network,n,step,1,12,,ok\n");
    repeats       r;
    bool          drifted[3] = { true, true, true };

    (void)state;
    assert_int_equal(repeats_find(obs, drifted, &r, NULL), LM_OK);
    assert_int_equal(r.n_noise, 2);
    assert_true(isnan(r.noise_floor));
    assert_int_equal(r.n_anchors, 0);
    assert_false(drifted[0] || drifted[1] || drifted[2]);
    observations_free(obs);
}

/* Anchors 100 102 101 (150, contended) 140 101 101 102: their median is 101, and 140 is off. */
static void rows_between_anchors_that_are_off_are_drifted(void **state)
{
    observations     *obs          = load("network,n,step,1,100,,ok\n"                 /* 0 */
                                          "network,n,step,2,7,,ok\n"                   /* 1 */
                                          "network,n,step,1,102,anchor,ok\n"           /* 2 */
                                          "network,n,step,1,101,anchor,ok\n"           /* 3 */
                                          "network,n,step,3,7,,ok\n"                   /* 4 */
                                          "network,n,step,1,150,contended anchor,ok\n" /* 5 */
                                          "network,n,step,4,7,,ok\n"                   /* 6 */
                                          "network,n,step,1,140,anchor,ok\n"           /* 7 */
                                          "network,n,step,5,7,,ok\n"                   /* 8 */
                                          "network,n,step,1,101,anchor,ok\n"           /* 9 */
                                          "network,n,step,1,101,anchor,ok\n"           /* 10 */
                                          "network,n,step,1,102,anchor,ok\n"           /* 11 */
                                          "network,n,step,6,7,,ok\n" /* 12 */);
    static const bool expected[13] = {
        [4] = true, [5] = true, [6] = true, [7] = true, [8] = true, [9] = true
    };
    bool    drifted[13];
    repeats r;

    (void)state;
    assert_int_equal(repeats_find(obs, drifted, &r, NULL), LM_OK);
    assert_int_equal(r.n_anchors, 7);
    /* 2/101, 1/101.5, 39/120.5, 39/120.5, 0, 1/101.5: the median is between 1/101.5 and 2/101 */
    assert_close(r.noise_floor, (1 / 101.5 + 2 / 101.0) / 2, 1e-15);
    for (size_t i = 0; i < 13; i++)
        if (drifted[i] != expected[i])
            fail_msg("row %zu: %s", i, drifted[i] ? "drifted" : "not drifted");
    assert_int_equal(r.n_drifted, 6);
    observations_free(obs);
}

static void drift_is_the_slope_of_the_anchor(void **state)
{
    observations *obs = load("network,n,step,1,100,,ok\n"
                             "network,n,step,1,101,anchor,ok\n"
                             "network,n,step,1,102,anchor,ok\n"
                             "network,n,step,1,103,anchor,ok\n"
                             "network,n,step,1,104,anchor,ok\n");
    repeats       r;

    (void)state;
    assert_int_equal(repeats_find(obs, NULL, &r, NULL), LM_OK);
    assert_close(r.drift, 4 / 102.0, 1e-12);
    assert_close(r.drift_noise, 0, 1e-12);
    observations_free(obs);
}

static void a_noisy_anchor_flags_nothing(void **state)
{
    /* differences of 8 % and more from one to the next: 7 % off the median is noise */
    observations *obs = load("network,n,step,1,100,,ok\n"
                             "network,n,step,1,93,anchor,ok\n"
                             "network,n,step,1,101,anchor,ok\n"
                             "network,n,step,1,93,anchor,ok\n"
                             "network,n,step,1,107,anchor,ok\n");
    bool          drifted[5];
    repeats       r;

    (void)state;
    assert_int_equal(repeats_find(obs, drifted, &r, NULL), LM_OK);
    assert_true(r.noise_floor > 0.07);
    assert_int_equal(r.n_drifted, 0);
    observations_free(obs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_noise_floor_is_the_median_difference_of_repetitions),
        cmocka_unit_test(too_few_repetitions_say_nothing),
        cmocka_unit_test(rows_between_anchors_that_are_off_are_drifted),
        cmocka_unit_test(drift_is_the_slope_of_the_anchor),
        cmocka_unit_test(a_noisy_anchor_flags_nothing),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
