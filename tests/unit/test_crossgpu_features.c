/* Runs on several GPUs: files of runs, traces as columns, features of pairs. */
#include "crossgpu_runs.h"

#include "crossgpu/digest.h"

static void refused(const char *text, lm_status code, const char *message)
{
    runs    *r = NULL;
    lm_error err;

    assert_int_not_equal(runs_load(folder_file("r.csv", text), &r, &err), LM_OK);
    assert_error(err, code, "%s", message);
}

/* ---- files --------------------------------------------------------------------------------------
 */

static void repeats_become_their_medians(void **state)
{
    runs *r = load(
        "# a title\nworkload,gpu,seconds,p_w\na,T4,3,10\nb,T4,5,\na,T4,1,30\na,T4,2,20\n,T4,9,1\n,T4,8,1\n");

    (void)state;
    assert_int_equal(r->n, 4);
    assert_string_equal(r->run[0].workload, "a");
    assert_string_equal(r->run[0].group, "a");
    assert_int_equal(r->run[0].repeats, 3);
    assert_close(r->run[0].seconds, 2, 0);
    assert_close(r->run[0].value[0], 20, 0);
    assert_int_equal(r->run[0].line, 3);
    assert_true(isnan(r->run[1].value[0]));
    assert_close(r->run[3].seconds, 8, 0); /* without a workload nothing repeats */
    runs_free(r);
}

static void what_is_no_run_is_refused(void **state)
{
    (void)state;
    refused("", LM_E_SYNTAX, "r.csv: empty");
    refused("gpu,seconds\n", LM_E_SYNTAX, "r.csv: no runs");
    refused("gpu,power_w\nT4,1\n", LM_E_SYNTAX,
            "r.csv:1: no column 'seconds': runs have gpu, seconds, workload and any metrics");
    refused("gpu,seconds,gpu\nT4,1,T4\n", LM_E_SYNTAX, "r.csv:1: two columns 'gpu'");
    refused("gpu,seconds,p,p\nT4,1,1,1\n", LM_E_SYNTAX, "r.csv:1: two columns 'p'");
    refused("gpu,seconds,\nT4,1,1\n", LM_E_SYNTAX, "r.csv:1: column 3 has no name");
    refused("gpu,seconds\nT4,0\n", LM_E_ARG,
            "r.csv:2: seconds: expected a number above 0, found '0'");
    refused("gpu,seconds\nT4,12 s\n", LM_E_ARG,
            "r.csv:2: seconds: expected a number above 0, found '12 s'");
    refused("gpu,seconds\n,1\n", LM_E_ARG, "r.csv:2: gpu: not given");
    refused("gpu,seconds\nT4\n", LM_E_SYNTAX, "r.csv:2: 1 fields, the header has 2");
    refused(
        "gpu,seconds,power\nT4,1,25 W\n", LM_E_ARG,
        "r.csv:2: power: '25 W' is no number: units belong into the column's name, power_mean_w, "
        "and other texts are no metrics");
    refused("workload,group,gpu,seconds\na,x,T4,1\na,y,T4,1\n", LM_E_ARG,
            "r.csv:3: workload 'a' is of group 'y' here and of 'x' in line 2");
}

/* ---- traces -------------------------------------------------------------------------------------
 */

static double column_of(const digest *d, const char *wanted)
{
    for (size_t i = 0; i < d->n; i++)
        if (!strcmp(d->column[i].name, wanted))
            return d->column[i].value;
    return NAN;
}

/* 1, 2, 3, 6: mean 3, squares 4 + 1 + 0 + 9; quartiles between the ranks. What is missing does not
 * count. */
static void a_trace_comes_to_distributions(void **state)
{
    static const char    text[] = "timestamp, index, power.draw [W], clocks.sm [MHz]\n"
                                  "2024/02/24 10:00:00.000, 0, 6 W, 900 MHz\n"
                                  "2024/02/24 10:00:00.000, 1, 70 W, 300 MHz\n"
                                  "2024/02/24 10:00:01.000, 0, 1 W, 900 MHz\n"
                                  "2024/02/24 10:00:02.000, 0, [N/A], 900 MHz\n"
                                  "2024/02/24 10:00:03.000, 0, 3 W, 900 MHz\n"
                                  "2024/02/24 10:00:04.000, 0, 2 W, 900 MHz\n";
    const trace_question q      = { .gpu = "0", .interval = NAN };
    const char          *one[] = { "power.draw" }, *none[] = { "fan.speed" };
    /* of 6 1 - 3 2 a second apart, seen 7 s after something else: 1 and 3 are within epochs */
    epoch              some[] = { { 7, 0.5, NAN, EPOCH_WARMUP },
                                  { 7.5, 2, NAN, EPOCH_STEADY },
                                  { 9.5, 1.5, NAN, EPOCH_STEADY },
                                  { 11, 1, NAN, EPOCH_PARTIAL } };
    epochs             e      = { .n = 4, .epoch = some };
    const digest_times all = { NULL, 0 }, within = { &e, 7 };
    digest             d;
    lm_error           err;

    (void)state;
    folder_file("t.csv", text);
    assert_int_equal(digest_trace("t.csv", &q, &within, one, 1, &d, &err), LM_OK);
    assert_close(column_of(&d, "power_draw_mean_w"), 2, 1e-12);
    assert_close(column_of(&d, "power_draw_max_w"), 3, 0);
    digest_free(&d);
    e.n = 1;
    assert_int_equal(digest_trace("t.csv", &q, &within, one, 1, &d, &err), LM_E_ARG);
    assert_string_equal(err.text, "t.csv: power.draw: no values within the steady epochs");
    assert_int_equal(digest_trace("t.csv", &q, &all, NULL, 0, &d, &err), LM_OK);
    assert_int_equal(d.n, 2 * DIGEST_STATISTICS);
    assert_close(column_of(&d, "power_draw_mean_w"), 3, 1e-12);
    assert_close(column_of(&d, "power_draw_std_w"), sqrt(3.5), 1e-12);
    assert_close(column_of(&d, "power_draw_min_w"), 1, 0);
    assert_close(column_of(&d, "power_draw_q25_w"), 1.75, 1e-12);
    assert_close(column_of(&d, "power_draw_q50_w"), 2.5, 1e-12);
    assert_close(column_of(&d, "power_draw_q75_w"), 3.75, 1e-12);
    assert_close(column_of(&d, "power_draw_max_w"), 6, 0);
    assert_close(column_of(&d, "clocks_sm_mean_mhz"), 900, 0);
    digest_free(&d);
    assert_int_equal(digest_trace("t.csv", &q, &all, one, 1, &d, &err), LM_OK);
    assert_int_equal(d.n, DIGEST_STATISTICS);
    digest_free(&d);
    assert_int_equal(digest_trace("t.csv", &q, &all, none, 1, &d, &err), LM_E_NOTFOUND);
    assert_int_equal(digest_trace("-", &q, &all, NULL, 0, &d, &err), LM_E_UNSUPPORTED);
}

/* ---- pairs --------------------------------------------------------------------------------------
 */

static void no_pair(const char *text, lm_status code, const char *message)
{
    device_list *d = devices();
    runs        *r = load(text);
    pairs       *p = NULL;
    lm_error     err;

    assert_int_not_equal(pairs_of(r, d, FEATURES_BOTH, &p, &err), LM_OK);
    assert_error(err, code, "%s", message);
    runs_free(r);
    devices_free(d);
}

static void runs_that_make_no_pairs_say_why(void **state)
{
    (void)state;
    no_pair("workload,gpu,seconds\na,Slow,1\nb,slow,1\n", LM_E_ARG,
            "r.csv: all runs are on one GPU, 'Slow': what another does is learned from the same "
            "workloads on both");
    no_pair(
        "workload,gpu,seconds\na,Slow,1\nb,Fast,1\n", LM_E_ARG,
        "r.csv: no workload ran on two GPUs: give the same work the same text in the column 'workload'");
    no_pair(
        "gpu,seconds\nSlow,1\nFast,1\n", LM_E_ARG,
        "r.csv: no workload ran on two GPUs: give the same work the same text in the column 'workload'");
    no_pair("workload,gpu,seconds\na,Slow,1\na,Bare,1\n", LM_E_NOTFOUND,
            "r.csv:3: gpu: boards.ini:21: device 'Bare' has no bandwidth");
    no_pair("workload,gpu,seconds,power draw\na,Slow,1,1\na,Fast,1,2\n", LM_E_ARG,
            "r.csv: column 'power draw': names have no blanks");
}

/* Shares of what the datasheet has: 50 of 100 W, 1500 of 2000 MHz, a quarter of the seconds. */
static void metrics_lose_their_units(void **state)
{
    device_list *d = devices();
    runs        *r = load("workload,gpu,seconds,a_w,b_mhz,c_percent,d_us,e,f_mib\n"
                                 "a,Slow,2,50,500,40,500000,3,7\na,Fast,1,50,1500,80,0,0.1,9\n");
    pairs       *p = NULL;
    lm_error     err;

    (void)state;
    assert_int_equal(pairs_of(r, d, FEATURES_BOTH, &p, &err), LM_OK);
    assert_int_equal(p->n, 2);
    assert_int_equal(p->s.n_metrics, 5); /* a_w is the same in both */
    assert_string_equal(p->left_out, "a_w (constant)");
    assert_close(p->x[0], 0.5, 1e-12);
    assert_close(p->x[1], 0.4, 1e-12);
    assert_close(p->x[2], 0.5, 1e-12);
    assert_close(p->x[3], asinh(3), 1e-12);
    assert_close(p->x[4], asinh(7), 1e-12); /* of no memory is known how large it is */
    assert_close(p->x[5], log(2), 1e-12);
    assert_close(p->x[6], 0.75, 1e-12);
    assert_close(p->row[0].log_ratio, log(0.5), 1e-12);
    assert_close(p->device[1 * space_n_pair(&p->s)], log(0.5), 1e-12); /* of the peaks */
    pairs_free(p);
    runs_free(r);
    devices_free(d);
}

/* Static features are the pair's figures, dynamic ones the run's metrics; seconds are in both. */
static void features_come_in_groups(void **state)
{
    static const struct {
        unsigned features;
        size_t   run, pair;
    } groups[]     = { { FEATURES_BOTH, 3, 8 }, /* peak, bandwidth, clock, power: twice */
                       { FEATURES_STATIC, 1, 8 },
                       { FEATURES_DYNAMIC, 3, 0 } };
    device_list *d = devices();
    runs        *r = load("workload,gpu,seconds,a_w,c_percent\na,Slow,2,50,40\na,Fast,1,60,80\n"),
         *constant = load("workload,gpu,seconds,a_w\na,Slow,2,50\na,Fast,1,50\n");
    unsigned some  = 0;
    pairs   *p     = NULL;
    lm_error err;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pairs_of(r, d, groups[i].features, &p, &err), LM_OK);
        assert_int_equal(space_n_run(&p->s), groups[i].run);
        assert_int_equal(space_n_pair(&p->s), groups[i].pair);
        assert_close(p->x[groups[i].run - 1], log(2), 1e-12);
        pairs_free(p);
    }
    assert_int_equal(pairs_of(constant, d, FEATURES_DYNAMIC, &p, &err), LM_E_ARG);
    assert_string_equal(err.text, "r.csv: no dynamic features: left out: a_w (constant)");
    assert_int_equal(features_add("dynamic", &some, &err), LM_OK);
    assert_int_equal(some, FEATURES_DYNAMIC);
    assert_int_equal(features_add("latent", &some, &err), LM_E_ARG);
    runs_free(r);
    runs_free(constant);
    devices_free(d);
}

/* Of shipped devices more figures are known: never a 0 for one that is not. */
static void more_figures_of_datasheets_are_features(void **state)
{
    device_list *d = NULL;
    gpu          t4, v100;
    lm_error     err;

    (void)state;
    assert_int_equal(devices_open(NULL, &d, &err), LM_OK);
    assert_int_equal(gpu_find(d, "T4", &t4, &err), LM_OK);
    assert_int_equal(gpu_find(d, "V100-SXM2-16GB", &v100, &err), LM_OK);
    assert_close(t4.figure[FIGURE_CAPABILITY], 7.5, 0);
    assert_close(t4.figure[FIGURE_TENSOR_CORES], 320, 0);
    assert_close(v100.figure[FIGURE_TENSOR_CORES], 640, 0);
    assert_close(v100.figure[FIGURE_BUS] / t4.figure[FIGURE_BUS], 16, 0);
    assert_close(t4.figure[FIGURE_SHARED], 65536, 0);
    assert_close(t4.figure[FIGURE_THREADS] / v100.figure[FIGURE_THREADS], 0.5, 0);
    assert_true(isnan(t4.figure[FIGURE_F64])); /* unknown is not 0 */
    assert_close(t4.figure[FIGURE_BASE_CLOCK], 585e6, 0);
    devices_free(d);
}

/* Clocks of the memory are those that deviceQuery reported on the authors' instances: 5001, 877 and 715 MHz. A V100 has no cores
 * for ray tracing, a P100 no tensor cores either: features of a pair are finite all the same, log(1 + 40) - log(1 + 0) first. */
static void units_that_a_device_lacks_are_features(void **state)
{
    space        s = { .features = FEATURES_STATIC };
    device_list *d = NULL;
    gpu          t4, v100, p100;
    lm_error     err;
    double       x[2];

    (void)state;
    assert_int_equal(devices_open(NULL, &d, &err), LM_OK);
    assert_int_equal(gpu_find(d, "T4", &t4, &err), LM_OK);
    assert_int_equal(gpu_find(d, "V100-SXM2-16GB", &v100, &err), LM_OK);
    assert_int_equal(gpu_find(d, "P100-PCIE-16GB", &p100, &err), LM_OK);
    assert_close(t4.figure[FIGURE_MEMORY_CLOCK] / 5001e6, 1, 2e-3);
    assert_close(v100.figure[FIGURE_MEMORY_CLOCK] / 877e6, 1, 3e-3);
    assert_close(p100.figure[FIGURE_MEMORY_CLOCK] / 715e6, 1, 2e-3);
    assert_close(v100.figure[FIGURE_RT_CORES] + p100.figure[FIGURE_TENSOR_CORES], 0, 0);
    assert_true(figure_known(FIGURE_RT_CORES, 0) && !figure_known(FIGURE_BUS, 0));
    s.uses[FIGURE_RT_CORES] = true;
    assert_int_equal(space_pair(&s, &t4, &v100, x, &err), LM_OK);
    assert_close(x[0], 3.713572, 1e-6);
    assert_close(x[1], 3.713572, 1e-6);
    s = (space){ .features = FEATURES_STATIC, .uses = { [FIGURE_TENSOR_CORES] = true } };
    assert_int_equal(space_pair(&s, &p100, &v100, x, &err), LM_OK);
    assert_close(x[0], -6.463029, 1e-6);
    assert_close(x[1], 0, 0);
    devices_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeats_become_their_medians),
        cmocka_unit_test(what_is_no_run_is_refused),
        cmocka_unit_test(a_trace_comes_to_distributions),
        cmocka_unit_test(runs_that_make_no_pairs_say_why),
        cmocka_unit_test(metrics_lose_their_units),
        cmocka_unit_test(features_come_in_groups),
        cmocka_unit_test(more_figures_of_datasheets_are_features),
        cmocka_unit_test(units_that_a_device_lacks_are_features),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
