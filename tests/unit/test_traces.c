/* Readers of traces and what becomes of times. */
#include "folder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/metrics.h"
#include "trace/trace.h"

static void points_in_time_are_read_as_tools_write_them(void **state)
{
    static const struct {
        const char *text;
        double      seconds;
    } cases[] = {
        { "1970/01/01 00:00:00.000", 0 },
        { "2022/02/24 05:48:20.165", 1645681700.165 }, /* date -u -d '2022-02-24 05:48:20' +%s */
        { "2022-02-24T05:48:20.165Z", 1645681700.165 },
        { "2022-02-24T06:48:20.165+01:00", 1645681700.165 },
        { "20220224 05:48:20", 1645681700 },
        { "2000/02/29 12:00:00", 951825600 }, /* a leap year that a century ends */
        { "05:48:20", 20900 },
        { "12.5", 12.5 },
        { "1708753700165", 1708753700.165 },       /* ms since 1970 */
        { "1708753700165000000", 1708753700.165 }, /* ns */
    };
    double seconds;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(when_time(cases[i].text, &seconds));
        assert_close(seconds, cases[i].seconds, 1e-12);
    }
    assert_false(when_time("2022/13/01 00:00:00", &seconds));
    assert_false(when_time("25:00:00", &seconds));
    assert_false(when_time("2022/02-24 05:48:20", &seconds));
    assert_false(when_time("-3", &seconds));
    assert_false(when_time("", &seconds));
}

static void values_have_units_or_are_missing(void **state)
{
    static const char *const missing[] = {
        "N/A",        "[N/A]",          "[Not Supported]", "-", "", "nan", "9223372036854775794",
        "2147483632", "140737488355328"
    };
    double value;

    (void)state;
    assert_true(when_value("25.50 W", &value));
    assert_close(value, 25.5, 1e-15);
    assert_true(when_value("0 %", &value));
    assert_close(value, 0, 1e-15);
    assert_true(when_value("-1.5e3", &value));
    assert_close(value, -1500, 1e-15);
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
        assert_true(when_value(missing[i], &value));
        assert_true(isnan(value));
    }
    assert_false(when_value("12 apples, 3", &value));
    assert_false(when_value("idle", &value));
}

static void a_metric_has_many_names(void **state)
{
    (void)state;
    assert_true(metric_same("1002", "SMACT"));
    assert_true(metric_same("smact", "DCGM_FI_PROF_SM_ACTIVE"));
    assert_true(metric_same("DCGM_FI_DEV_GPU_UTIL", "GPUTL"));
    assert_true(metric_same("power.draw [W]", "power.draw"));
    assert_false(metric_same("SMACT", "SMOCC"));
    assert_false(metric_same("", ""));
    assert_true(metric_rank("SMACT") < metric_rank("utilization.gpu"));
    assert_true(metric_rank("utilization.gpu") < metric_rank("power.draw"));
    assert_int_equal(metric_rank("temperature.gpu"), METRIC_UNKNOWN);
}

/* Loads a text as a trace. */
static lm_status load(const char *text, const trace_question *q, trace **out, lm_error *err)
{
    char      path[] = "/tmp/layermeter-trace-XXXXXX";
    const int fd     = mkstemp(path);
    lm_status status;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    status = trace_load(path, q, out, err);
    unlink(path);
    return status;
}

#define UNTIMED      ((trace_question){ .interval = NAN })
#define EVERY_100_MS ((trace_question){ .interval = 0.1 })

/* A GPU's sample by its name. */
static float value_of(const trace *t, const char *gpu, size_t i)
{
    for (size_t g = 0; g < t->n_gpus; g++)
        if (!strcmp(t->gpu[g].name, gpu)) {
            assert_true(i < t->gpu[g].n);
            return t->gpu[g].value[i];
        }
    fail_msg("no GPU %s", gpu);
    return NAN;
}

static void dcgmi_dmon_is_read_in_both_forms(void **state)
{
    static const char now[]  = "#Entity   DRAMA        SMACT        \n"
                               "ID                                  \n"
                               "GPU 1     0.382        0.941        \n"
                               "GPU 0     0.377        N/A          \n"
                               "GPU 1     0.380        0.912        \n"
                               "#Entity   DRAMA        SMACT        \n"
                               "ID                                  \n"
                               "GPU 0     0.371        0.900        \n"
                               "GPU 1     0.4\n"
                               "dmon was stopped do to receiving a signal\n";
    static const char then[] = "# Entity                      NAME  GRACT  POWER\n"
                               "      Id                                         \n"
                               "   GPU 0     NVIDIA A100-SXM4-40GB  0.941  212.3\n"
                               "   GPU 0     NVIDIA A100-SXM4-40GB  0.938  210.9\n";
    lm_error          err;
    trace            *t;

    (void)state;
    assert_int_equal(load(now, &EVERY_100_MS, &t, &err), LM_OK);
    assert_string_equal(t->metric, "SMACT"); /* shows load better than the first column */
    assert_int_equal(t->n_gpus, 2);
    assert_close(value_of(t, "1", 0), 0.941, 1e-6);
    assert_close(value_of(t, "1", 1), 0.912, 1e-6);
    assert_true(isnan(value_of(t, "0", 0)));
    assert_close(value_of(t, "0", 1), 0.9, 1e-6);
    for (size_t g = 0; g < 2; g++)
        assert_close(t->gpu[g].time[1] - t->gpu[g].time[0], 0.1, 1e-12);
    assert_int_equal(t->gpu[0].n, 2); /* the row that is cut short is dropped */
    trace_free(t);
    assert_int_equal(load(then, &EVERY_100_MS, &t, &err), LM_OK);
    assert_string_equal(t->metric, "GRACT");
    assert_close(value_of(t, "0", 1), 0.938, 1e-6); /* behind a text of two words */
    trace_free(t);
}

static void nvidia_smi_is_read_with_its_units_and_times(void **state)
{
    static const char query[] = "timestamp, index, temperature.gpu, utilization.gpu [%]\r\n"
                                "2022/02/24 05:48:20.165, 0, 39, 97 %\r\n"
                                "2022/02/24 05:48:20.287, 0, 39, [N/A]\r\n"
                                "2022/02/24 05:48:20.409, 0, 39, 3 %\r\n";
    static const char dmon[]  = "#Date       Time        gpu    pwr     sm\n"
                                "#YYYYMMDD   HH:MM:SS    Idx      W      %\n"
                                " 20240104   23:59:59      0     70      5\n"
                                " 20240105   00:00:00      0     71      -\n";
    static const char bare[] =
        "2024/10/10 13:18:58.369, 81, 145.99\n2024/10/10 13:18:58.469, 80, 146\n";
    trace_question third = { .metric = "3", .interval = NAN };
    lm_error       err;
    trace         *t;

    (void)state;
    assert_int_equal(load(query, &UNTIMED, &t, &err), LM_OK);
    assert_string_equal(t->metric, "utilization.gpu");
    assert_string_equal(t->unit, "%");
    assert_int_equal(t->gpu[0].n, 3);
    assert_close(t->gpu[0].time[2], 0.244, 1e-6);
    assert_true(isnan(t->gpu[0].value[1]));
    trace_free(t);
    assert_int_equal(load(dmon, &UNTIMED, &t, &err), LM_OK);
    assert_close(t->gpu[0].time[1], 1, 1e-9); /* over midnight */
    assert_close(t->gpu[0].value[0], 5, 1e-9);
    assert_true(isnan(t->gpu[0].value[1]));
    trace_free(t);
    assert_int_equal(load(bare, &third, &t, &err), LM_OK);
    assert_close(t->gpu[0].value[0], 145.99, 1e-6);
    trace_free(t);
}

static void exporters_are_read_scrape_after_scrape(void **state)
{
    static const char text[] =
        "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n"
        "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 200\n"
        "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",Hostname=\"n7\",pod=\"a}\\\"b\"} 97\n"
        "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",Hostname=\"n7\"} 9223372036854775794\n"
        "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 210\n"
        "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",Hostname=\"n7\"} 12\n";
    trace_question one = { .metric = "DCGM_FI_DEV_GPU_UTIL", .gpu = "0", .interval = 15 };
    lm_error       err;
    trace         *t;

    (void)state;
    assert_int_equal(load(text, &one, &t, &err), LM_OK);
    assert_string_equal(t->gpu[0].name, "n7/0");
    assert_int_equal(t->gpu[0].n, 2);
    assert_int_equal(t->gpu[1].n, 0); /* not asked for */
    assert_close(t->gpu[0].value[1], 12, 1e-9);
    assert_close(t->gpu[0].time[1], 15, 1e-9);
    trace_free(t);
}

/* The second sample of GPU 0, with what stands beside it. */
static trace_sample second_of(const char *text)
{
    const trace_question q = { .interval = 1, .beside = true };
    trace_reader        *r = NULL;
    trace_sample         s = { 0 };
    bool                 more;

    folder_file("beside.txt", text);
    assert_int_equal(trace_reader_open("beside.txt", &q, &r, NULL), LM_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trace_reader_next(r, &s, &more, NULL), LM_OK);
        assert_true(more);
    }
    trace_reader_close(r);
    return s;
}

static void what_stands_beside_is_read_by_any_of_its_names(void **state)
{
    trace_sample s;

    (void)state;
    s = second_of("timestamp, utilization.gpu [%], power.draw [W], clocks.sm [MHz], "
                  "clocks_throttle_reasons.active, power.limit [W]\n"
                  "1.0, 90 %, 300.00 W, 1410 MHz, 0x0000000000000000, 400 W\n"
                  "2.0, 80 %, 399.50 W, 1200 MHz, 0x0000000000000024, [N/A]\n");
    assert_close((double)s.value, 80, 0);
    assert_close((double)s.beside[BESIDE_BUSY], 80, 0);
    assert_close((double)s.beside[BESIDE_POWER], 399.5, 1e-6);
    assert_close((double)s.beside[BESIDE_CLOCK], 1200, 0);
    assert_close((double)s.beside[BESIDE_HELD], 0x24, 0);
    assert_true(isnan(s.beside[BESIDE_POWER_LIMIT]));

    s = second_of("#Entity   SMACT        GRACT   SMCLK\nID\n"
                  "GPU 0     0.500        0.900   1400\nGPU 0     0.400        0.750   1300\n");
    assert_close((double)s.value, 0.4, 1e-6); /* GRACT is a fraction of the time */
    assert_close((double)s.beside[BESIDE_BUSY], 75, 1e-6);
    assert_close((double)s.beside[BESIDE_CLOCK], 1300, 0);
    assert_true(isnan(s.beside[BESIDE_POWER]) && isnan(s.beside[BESIDE_HELD]));

    s = second_of("# gpu   pwr    sm   pclk\n# Idx     W     %   MHz\n"
                  "    0    70    99   1500\n    0    71    98   1490\n");
    assert_close((double)s.beside[BESIDE_POWER], 71, 0);
    assert_close((double)s.beside[BESIDE_BUSY], 98, 0);

    /* lines of their own, before and behind: the last that was told */
    s = second_of("DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 1410\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 97\n"
                  "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 311.5\n"
                  "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 1380\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 96\n");
    assert_close((double)s.beside[BESIDE_CLOCK], 1380, 0);
    assert_close((double)s.beside[BESIDE_POWER], 311.5, 0);
    assert_close((double)s.beside[BESIDE_BUSY], 96, 0);
}

static void what_is_wrong_is_said_with_its_line(void **state)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        { "", "is empty: there is no trace" },
        { "time_s,load\n1,5\n2,x\n3,6\n", ":3: 'x' is not a value of load" },
        { "time_s,load\n1,5\nsoon,4\n3,6\n", ":3: 'soon' is no time" },
        { "time_s,load\n1,5\n2\n3,6\n", ":3: 1 values in a row of 2 columns" },
        { "load\n1\n2\n",
          ":2: the trace has no times: say how far its samples are apart, --interval 100ms" },
        { "#Entity SMACT\nID\nGPU 0 0.1\n#Entity DRAMA\n",
          ":3: the trace has no times: say how far its samples are apart, "
          "--interval 100ms" },
        { "time_s,a,b\n1,2,3\n",
          ":1: no column is known as a GPU's load: choose one with --metric: a, b" },
        { "1,2,3\n4,5,6\n",
          ":1: no heading: choose one of the 3 columns by its number, --metric 2" },
        { "timestamp,load\n", "has no samples of load" },
    };
    lm_error err;
    trace   *t;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(load(cases[i].text, &UNTIMED, &t, &err) < 0);
        if (!strstr(err.text, cases[i].said))
            fail_msg("'%s' does not say '%s'", err.text, cases[i].said);
    }
    assert_true(load("#Entity SMACT\nID\nGPU 0 0.1\n#Entity DRAMA\nGPU 0 1\n", &EVERY_100_MS, &t,
                     &err) < 0);
    assert_non_null(strstr(err.text, ":4: the columns change here: no 'SMACT' among DRAMA"));
}

/* 10.0 10.1 then back to 5.0 5.1: taken as 10.2 10.3. */
static void clocks_that_jump_back_go_on(void **state)
{
    trace_clock c = { 0 };

    (void)state;
    assert_close(trace_clock_add(&c, 10.0, 1), 0, 1e-12);
    assert_close(trace_clock_add(&c, 10.1, 2), 0.1, 1e-9);
    assert_close(trace_clock_add(&c, 5.0, 3), 0.2, 1e-9);
    assert_close(trace_clock_add(&c, 5.1, 4), 0.3, 1e-9);
    assert_int_equal(c.n_jumps, 1);
    assert_close(c.jump, 5.1, 1e-9);
    assert_int_equal(c.jump_line, 3);
}

static trace_gpu_series series(double *time, float *value, size_t n)
{
    return (trace_gpu_series){ .name = "0", .n = n, .time = time, .value = value };
}

static void bins_are_means_and_gaps_are_missing(void **state)
{
    double           time[]  = { 0, 1, 2, 3, 6, 7, 8, 9 };
    float            value[] = { 1, 2, NAN, 4, 7, 8, 9, 10 };
    trace_gpu_series g       = series(time, value, 8);
    trace_grid       grid;
    lm_error         err;

    (void)state;
    assert_int_equal(trace_grid_of(&g, &grid, &err), LM_OK);
    assert_close(grid.step, 1, 1e-12);
    assert_int_equal(grid.n, 10);
    assert_int_equal(grid.n_missing, 3); /* the one without a value, and two in the gap */
    assert_close(grid.x[3], 4, 1e-9);
    assert_true(isnan(grid.x[2]) && isnan(grid.x[4]) && isnan(grid.x[5]));
    assert_close(grid.gap, 3, 1e-12);
    trace_grid_free(&grid);
}

static void sampling_that_changes_is_taken_at_its_slowest(void **state)
{
    double           time[600];
    float            value[600];
    trace_gpu_series g = series(time, value, 600);
    trace_grid       grid;
    lm_error         err;

    (void)state;
    for (int i = 0; i < 600; i++) {
        time[i]  = i < 300 ? 0.1 * i : 30 + 0.5 * (i - 300);
        value[i] = (float)i;
    }
    assert_int_equal(trace_grid_of(&g, &grid, &err), LM_OK);
    assert_close(grid.step, 0.5, 1e-9);
    assert_close(grid.shortest, 0.1, 1e-9);
    assert_close(grid.longest, 0.5, 1e-9);
    trace_grid_free(&grid);
}

/* 100 samples, a night, 300 samples: the longer part counts. */
static void a_gap_too_long_to_bridge_leaves_the_longer_part(void **state)
{
    double           time[400];
    float            value[400];
    trace_gpu_series g = series(time, value, 400);
    trace_grid       grid;
    lm_error         err;

    (void)state;
    for (int i = 0; i < 400; i++) {
        time[i]  = i + (i < 100 ? 0 : 30000);
        value[i] = (float)i;
    }
    assert_int_equal(trace_grid_of(&g, &grid, &err), LM_OK);
    assert_int_equal(grid.n, 300);
    assert_int_equal(grid.n_left_out, 100);
    assert_close(grid.x[0], 100, 1e-9);
    trace_grid_free(&grid);
    g.n = 1;
    assert_true(trace_grid_of(&g, &grid, &err) < 0);
    assert_string_equal(err.text, "GPU 0 has 1 sample");
}

/* A hundred samples of one moment, and one behind a gap: the longest part has no length. */
static void a_part_of_one_moment_is_no_trace(void **state)
{
    double           time[101]  = { 0 };
    float            value[101] = { 0 };
    trace_gpu_series g          = series(time, value, 101);
    trace_grid       grid;
    lm_error         err;

    (void)state;
    time[100] = 1000;
    assert_int_equal(trace_grid_of(&g, &grid, &err), LM_E_SYNTAX);
    assert_non_null(strstr(err.text, "bear the same time"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_in_time_are_read_as_tools_write_them),
        cmocka_unit_test(values_have_units_or_are_missing),
        cmocka_unit_test(a_metric_has_many_names),
        cmocka_unit_test(dcgmi_dmon_is_read_in_both_forms),
        cmocka_unit_test(nvidia_smi_is_read_with_its_units_and_times),
        cmocka_unit_test(exporters_are_read_scrape_after_scrape),
        cmocka_unit_test(what_stands_beside_is_read_by_any_of_its_names),
        cmocka_unit_test(what_is_wrong_is_said_with_its_line),
        cmocka_unit_test(clocks_that_jump_back_go_on),
        cmocka_unit_test(bins_are_means_and_gaps_are_missing),
        cmocka_unit_test(a_part_of_one_moment_is_no_trace),
        cmocka_unit_test(sampling_that_changes_is_taken_at_its_slowest),
        cmocka_unit_test(a_gap_too_long_to_bridge_leaves_the_longer_part),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
