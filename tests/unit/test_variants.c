/* Element types and settings of networks. */
#include "nets.h"

#include "fit/fit.h"
#include "observe/variants.h"

static int enter(void **state)
{
    if (nets_enter(state))
        return -1;
    for (int i = 0; i < 2; i++)
        folder_file(i ? "b.ini" : "a.ini",
                    "[network]\nname = n\n[x]\ntype = input\nshape = 3\n[l]\ntype = linear\n"
                    "features = 2\n");
    folder_file("mixed.csv",
                "kind,name,phase,seconds,batch,dtype,ranks,bytes,bucket_bytes,settings\n"
                "network,a.ini,forward,1,1,f32,1,,,layout=nchw math=tf32\n"
                "network,b.ini,forward,2,1,bf16,1,,,layout=nhwc math=tf32\n"
                "network,a.ini,forward,3,2,bf16,1,,,layout=nhwc math=tf32\n"
                "network,a.ini,forward,4,1,bf16,2,,1000,layout=nhwc math=tf32 progress=thread\n"
                "network,a.ini,forward,5,1,f32,1,,,layout=nhwc math=tf32\n"
                "collective,allreduce,sync,6,,f32,4,1000,,\n");
    return 0;
}

static workloads    *loads;
static observations *obs;

static points read_points(void)
{
    points   p;
    lm_error err;

    assert_int_equal(workloads_new(nets_registry, &loads, &err), LM_OK);
    assert_int_equal(observations_load("mixed.csv", &obs, &err), LM_OK);
    assert_int_equal(points_from(obs, loads, &p, &err), LM_OK);
    return p;
}

static void leave_points(points *p)
{
    points_free(p);
    observations_free(obs);
    workloads_free(loads);
}

/* progress is about all-reduces, of which a fit takes none that was hidden */
static void those_with_the_most_points_come_first(void **state)
{
    points   p = read_points();
    variants v;
    lm_error err;

    (void)state;
    assert_int_equal(variants_of(&p, &v, &err), LM_OK);
    assert_int_equal(v.n, 3);
    assert_string_equal(v.of[0].text, "dtype=bf16 layout=nhwc math=tf32");
    assert_string_equal(v.of[1].text, "dtype=f32 layout=nchw math=tf32");
    assert_string_equal(v.of[2].text, "dtype=f32 layout=nhwc math=tf32");
    assert_int_equal(v.of[0].n_points, 3);
    assert_int_equal(v.of[1].n_points, 1);
    variants_free(&v);
    leave_points(&p);
}

/* Networks that have all words, and every bare all-reduce; groups are those that are left. */
static void words_choose_networks(void **state)
{
    points   p = read_points();
    lm_error err;

    (void)state;
    assert_int_equal(points_where(&p, "layout=nhwc", &err), LM_OK);
    assert_int_equal(p.n_points, 5);
    assert_int_equal(points_where(&p, "layout=nhwc, dtype=f32", &err), LM_OK);
    assert_int_equal(p.n_points, 2);
    assert_close(p.point[0].seconds[PHASE_FORWARD], 5, 0);
    assert_close(p.point[1].seconds[PHASE_SYNC], 6, 0);
    assert_int_equal(p.n_groups, 2);
    assert_string_equal(p.group[p.point[0].group], "a.ini");
    assert_int_equal(p.collectives, p.point[1].group);
    assert_int_equal(points_check_variants(&p, "mixed.csv", &err), LM_OK);
    leave_points(&p);
}

static void words_that_no_network_has_are_told_with_those_there_are(void **state)
{
    points   p = read_points();
    lm_error err;

    (void)state;
    assert_int_equal(points_where(&p, "dtype=bf", &err), LM_E_ARG);
    assert_error(err, LM_E_ARG,
                 "nothing was measured with 'dtype=bf'; there is: dtype=bf16 layout=nhwc "
                 "math=tf32; dtype=f32 layout=nchw math=tf32; dtype=f32 layout=nhwc math=tf32");
    assert_int_equal(p.n_points, 6);
    leave_points(&p);
}

static void one_fit_takes_one_of_them(void **state)
{
    points       p   = read_points();
    calibration *cal = NULL;
    lm_error     err;

    (void)state;
    assert_int_equal(fit_all(obs, &p, &cal, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG,
                 "mixed.csv: of several element types or settings, each of which has its own "
                 "coefficients: choose with --where: dtype=bf16 layout=nhwc math=tf32; dtype=f32 "
                 "layout=nchw math=tf32; dtype=f32 layout=nhwc math=tf32");
    leave_points(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_with_the_most_points_come_first),
        cmocka_unit_test(words_choose_networks),
        cmocka_unit_test(words_that_no_network_has_are_told_with_those_there_are),
        cmocka_unit_test(one_fit_takes_one_of_them),
    };

    return cmocka_run_group_tests(tests, enter, nets_leave);
}
