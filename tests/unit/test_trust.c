/* Whether numbers can be trusted: on made-up machines, ranks and times. */
#include "folder.h"

#include <sys/stat.h>

#include "measure/harness.h"
#include "measure/machine_state.h"
#include "measure/run_queue.h"
#include "measure/slowest.h"
#include "measure/trust.h"

/* ---- a world whose other ranks say what a test wants ----------------------------------------- */

struct world {
    int rank, size;
};

static const double *said[16]; /* by the other ranks, in the order of the calls; NULL: nothing */
static size_t        n_said;

int world_rank(const world *w)
{
    return w->rank;
}

int world_size(const world *w)
{
    return w->size;
}

void world_max(const world *w, double *values, int n)
{
    const double *others = w->size > 1 ? said[n_said++] : NULL;

    for (int i = 0; others && i < n; i++)
        values[i] = fmax(values[i], others[i]);
}

/* This rank's own place keeps what it says. */
void world_gather(const world *w, const void *mine, int n, void *all)
{
    assert_int_equal(n, sizeof(double));
    if (w->size > 1)
        memcpy(all, said[n_said++], (size_t)w->size * sizeof(double));
    memcpy((double *)all + w->rank, mine, sizeof(double));
}

void world_hosts_of(const world *w, char (*name)[WORLD_HOST])
{
    for (int r = 0; r < w->size; r++)
        snprintf(name[r], WORLD_HOST, "n%d", r);
}

static void others_say(const double *first, const double *second, const double *third)
{
    said[0] = first;
    said[1] = second;
    said[2] = third;
    n_said  = 0;
}

static const world alone = { 0, 1 };

/* ---- files of a made-up system --------------------------------------------------------------- */

/* Writes a file below folders that are made on the way. */
static void put_file(const char *path, const char *text)
{
    char  folder[200];
    FILE *out;

    for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        mkdir(folder, 0777);
    }
    out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static int enter(void **state)
{
    return folder_enter(state) || setenv("LAYERMETER_SYSTEM_ROOT", ".", 1);
}

static int leave(void **state)
{
    return system("rm -rf sys proc task") || folder_leave(state);
}

#define CPU0 "sys/devices/system/cpu/cpu0/"

/* Every CPU that the test may run on has this clock. */
static void set_clock(const char *khz)
{
    char path[120];

    for (int cpu = 0; cpu < 64; cpu++) {
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu);
        put_file(path, khz);
    }
}

static void the_state_of_a_cpu_is_read_below_a_root(void **state)
{
    machine_state s;

    (void)state;
    assert_int_equal(system("rm -rf sys proc"), 0);
    s = machine_state_cpu();
    assert_true(isnan(s.clock_mhz) && isnan(s.throttles) && !s.held_down);

    put_file("proc/cpuinfo", "processor\t: 0\nmodel name\t: x\ncpu MHz\t\t: 2100.500\n\n");
    for (int cpu = 1; cpu < 64; cpu++) {
        FILE *out = fopen("proc/cpuinfo", "a");

        fprintf(out, "processor\t: %d\ncpu MHz\t\t: 2100.500\n\n", cpu);
        fclose(out);
    }
    assert_close(machine_state_cpu().clock_mhz, 2100.5, 1e-12);
    set_clock("2800000\n"); /* cpufreq knows better */
    assert_close(machine_state_cpu().clock_mhz, 2800, 1e-12);

    put_file(CPU0 "thermal_throttle/core_throttle_count", "3\n");
    put_file(CPU0 "thermal_throttle/package_throttle_count", "4\n");
    put_file("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "5\n");
    assert_close(machine_state_cpu().throttles, 12, 0);
}

static void keep(void *context, const char *key, const char *value)
{
    char *text = context;

    snprintf(text + strlen(text), 1000 - strlen(text), "%s=%s;", key, value);
}

static void what_limits_the_clock_is_described(void **state)
{
    char text[1000] = "";

    (void)state;
    assert_int_equal(system("rm -rf sys proc"), 0);
    machine_describe_cpu(keep, text);
    assert_string_equal(text, ""); /* nothing unknown is told */
    put_file(CPU0 "cpufreq/scaling_governor", "powersave\n");
    put_file(CPU0 "cpufreq/scaling_driver", "intel_pstate\n");
    put_file(CPU0 "cpufreq/cpuinfo_min_freq", "800000\n");
    put_file(CPU0 "cpufreq/cpuinfo_max_freq", "3600000\n");
    put_file("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
    put_file(CPU0 "thermal_throttle/core_throttle_count", "7\n");
    machine_describe_cpu(keep, text);
    assert_string_equal(text, "cpu_governor=powersave;cpu_clock_driver=intel_pstate;cpu_turbo=off;"
                              "cpu_clock_range=800 to 3600 MHz;cpu_throttles_so_far=7;");
}

/* ---- waiting for a core ---------------------------------------------------------------------- */

static void the_longest_wait_of_a_thread_counts(void **state)
{
    run_queue *q;

    (void)state;
    assert_null(run_queue_open("nowhere"));
    assert_true(isnan(run_queue_waited(NULL))); /* unknown, not 0 */
    put_file("task/1/schedstat", "5000000000 100000000 7\n");
    put_file("task/2/schedstat", "4000000000 0 7\n");
    put_file("task/3/schedstat", "1000000 0 7\n"); /* a helper */
    q = run_queue_open("task");
    assert_non_null(q);
    run_queue_mark(q);
    assert_close(run_queue_waited(q), 0, 0);
    put_file("task/1/schedstat", "5000000000 350000000 8\n");
    put_file("task/2/schedstat", "4000000000 400000000 8\n");
    put_file("task/3/schedstat", "1000000 900000000 8\n");
    assert_close(run_queue_waited(q), 0.4, 1e-12);
    run_queue_mark(q);
    assert_close(run_queue_waited(q), 0, 0);
    run_queue_close(q);
    for (int i = 1; i <= 3; i++) {
        char path[40];

        snprintf(path, sizeof path, "task/%d/schedstat", i);
        put_file(path, "0 0 0\n");
    }
    assert_null(run_queue_open("task")); /* a kernel that does not count */
    put_file("task/1/schedstat", "no numbers\n");
    put_file("task/2/schedstat", "1\n");
    put_file("task/3/schedstat", "");
    assert_null(run_queue_open("task"));
}

/* ---- conditions of a point ------------------------------------------------------------------- */

static const backend_type virtual_type = { .name = "v", .virtual = 1 };
static const backend_type cpu_type     = { .name = "c" };

static void set_state(const backend *self, machine_state *out)
{
    static int n;

    (void)self;
    *out = (machine_state){ .clock_mhz = 1000 + 100 * n, .throttles = 5, .held_down = n == 2 };
    n++;
}

static const backend_type device_type = { .name = "d", .state = set_state };

/* One repetition of two phases. */
static void repeat(conditions *c, double wall, double cpu, double wall2, double cpu2)
{
    backend_time a = { wall, cpu }, b = { wall2, cpu2 };

    conditions_phase_begins(c);
    conditions_phase_ended(c, &a);
    conditions_phase_begins(c);
    conditions_phase_ended(c, &b);
    conditions_repetition_ended(c);
}

static void the_median_repetition_decides_over_contention(void **state)
{
    const backend    device = { &virtual_type };
    conditions       c;
    condition_report r;

    (void)state;
    assert_int_equal(conditions_open(&c, &device, 10, NULL), LM_OK);
    repeat(&c, 1, 1, 1, 1);
    repeat(&c, 2, 1, 1, 1);   /* 3 / 2 */
    repeat(&c, 1, 1, 1.2, 1); /* 2.2 / 2 */
    r = conditions_close(&c);
    assert_close(r.stretch, 1.1, 1e-12);
    assert_close(r.own_seconds, 2.2, 1e-12);
    assert_close(r.seconds, 2 + 3 + 2.2, 1e-12);
    assert_false(r.heat_told);
    assert_true(isnan(r.clock_mhz));
    assert_false(r.throttled || r.waits_untold);

    assert_int_equal(conditions_open(&c, &device, 10, NULL), LM_OK);
    repeat(&c, 1, NAN, 1, 1); /* one phase of unknown CPU time makes all unknown */
    r = conditions_close(&c);
    assert_true(isnan(r.stretch));
    assert_close(r.own_seconds, 2, 0);

    assert_int_equal(conditions_open(&c, &device, 10, NULL), LM_OK);
    r = conditions_close(&c); /* nothing computes */
    assert_true(isnan(r.stretch) && isnan(r.own_seconds));
}

static void a_counter_that_rises_or_a_device_that_says_so_is_throttling(void **state)
{
    const backend    cpu = { &cpu_type }, device = { &device_type };
    conditions       c;
    condition_report r;

    (void)state;
    assert_int_equal(system("rm -rf sys proc"), 0);
    put_file(CPU0 "thermal_throttle/core_throttle_count", "3\n");
    assert_int_equal(conditions_open(&c, &cpu, 10, NULL), LM_OK);
    repeat(&c, 1, 1, 1, 1);
    assert_false(conditions_close(&c).throttled);
    assert_int_equal(conditions_open(&c, &cpu, 10, NULL), LM_OK);
    put_file(CPU0 "thermal_throttle/core_throttle_count", "4\n");
    repeat(&c, 1, 1, 1, 1);
    r = conditions_close(&c);
    assert_true(r.throttled && r.heat_told);

    assert_int_equal(conditions_open(&c, &device, 10, NULL), LM_OK); /* 1000 MHz */
    repeat(&c, 1, NAN, 1, NAN);                                      /* 1100 */
    r = conditions_close(&c);                                        /* 1200, held down */
    assert_true(r.throttled);
    assert_close(r.clock_mhz, 1150, 1e-12);
    assert_true(isnan(r.stretch)); /* its host's waits are not its own */
    assert_false(r.waits_untold);
}

/* ---- judging --------------------------------------------------------------------------------- */

static const trust_limits limits = {
    .retries = 2, .retry_share = 0.5, .anchor_share = 0.1, .anchor_seconds = 0.1
};

static point_result judged(trust *t, const world *w, double stretch, double own, double clock)
{
    const condition_report c = {
        .stretch = stretch, .own_seconds = own, .seconds = own, .clock_mhz = clock
    };
    point_result r = { .status = "ok" };

    trust_judge(t, w, &c, &r);
    return r;
}

static void contention_and_clocks_are_flagged(void **state)
{
    trust       *t = trust_new(&limits, 3);
    point_result r;

    (void)state;
    r = judged(t, &alone, 1.1, 1, 3000);
    assert_int_equal(r.flags, 0);
    assert_close(r.stretch, 1.1, 0);
    assert_close(r.clock_mhz, 3000, 0);
    assert_int_equal(judged(t, &alone, 1.11, 1, 2700).flags, FLAG_CONTENDED);
    assert_int_equal(judged(t, &alone, 1, 1, 2699).flags, FLAG_THROTTLED);
    /* an idle machine's clock rises by and by; and where a counter tells, it alone does */
    assert_int_equal(judged(t, &alone, 1, 0.9 * TRUST_CLOCK_SECONDS, 1000).flags, 0);
    {
        const condition_report wide = {
            .stretch = 1, .own_seconds = 1, .seconds = 1, .clock_mhz = 2000, .heat_told = true
        };
        point_result of = { .status = "ok" };

        trust_judge(t, &alone, &wide, &of);
        assert_int_equal(of.flags, 0);
        assert_close(of.clock_mhz, 2000, 0);
    }
    /* an all-reduce need not heat anything */
    assert_int_equal(judged(t, &alone, NAN, NAN, 800).flags, 0);
    r = judged(t, &alone, NAN, 1, NAN);
    assert_int_equal(r.flags, 0);
    assert_true(isnan(r.stretch) && isnan(r.clock_mhz));
    trust_free(t);
}

static void the_worst_rank_decides(void **state)
{
    static const double busy[] = { 1.5, 0, -2000, 0 }, hot[] = { 0, 1, -HUGE_VAL, 0 };
    const world         w = { 0, 2 };
    trust              *t = trust_new(&limits, 3);
    point_result        r;

    (void)state;
    others_say(busy, NULL, NULL);
    r = judged(t, &w, 1, NAN, 3000);
    assert_int_equal(r.flags, FLAG_CONTENDED);
    assert_close(r.clock_mhz, 2000, 0);
    others_say(hot, NULL, NULL);
    assert_int_equal(judged(t, &w, 1, NAN, 3000).flags, FLAG_THROTTLED);
    trust_free(t);
}

/* The other rank was preempted in the forward pass: its CPU time belongs to its wall time, however
 * much this one's used. Of the update it knows none. */
static void a_preempted_rank_s_cpu_time_is_not_hidden(void **state)
{
    enum { F = PHASE_FORWARD, B = PHASE_BACKWARD, U = PHASE_UPDATE, CPU = N_PHASES };
    const world w                 = { 0, 2 };
    double      own[2 * N_PHASES] = { [F] = 1,         [B] = 2,         [U] = 1,
                                      [CPU + F] = 0.9, [CPU + B] = 1.9, [CPU + U] = 1 };
    double      longest[N_PHASES] = { [F] = 2, [B] = 2, [U] = 3 };
    double      others[N_PHASES], out[N_PHASES];

    (void)state;
    for (phase p = 0; p < N_PHASES; p++)
        others[p] = -HUGE_VAL;
    others[F] = 0.5;
    others_say(others, NULL, NULL);
    slowest_cpu(&w, own, longest, out);
    assert_close(out[F], 0.5, 0);
    assert_close(out[B], 1.9, 0);
    assert_true(isnan(out[U]));
    own[CPU + B] = NAN;
    slowest_cpu(&alone, own, own, out);
    assert_close(out[F], 0.9, 0);
    assert_true(isnan(out[B]));
}

/* Four ranks, of which this is the third. */
static void a_rank_slow_over_the_run_is_named_with_its_host(void **state)
{
    static const double times[3][4] = { { 1, 1.05, 0, 1.02 },
                                        { 2, 2.0, 0, 2.1 },
                                        { 1, 1.5, 0, 1 } };
    static const double mine[3]     = { 1.3, 2.2, 1.25 }; /* 1.275, 1.1, 1.25 of the lower median */
    static const double ratios[4]   = { 1, 1.12, 0, 1.05 };
    const world         w           = { 2, 4 };
    trust              *t           = trust_new(&limits, 3);
    trust_summary       s;
    char                text[2000] = "";
    FILE               *out;

    (void)state;
    for (int i = 0; i < 3; i++) {
        others_say(NULL, NULL, times[i]);
        assert_int_equal(judged(t, &w, 1, mine[i], 3000).flags, 0);
        assert_int_equal(n_said, 3);
    }
    others_say(NULL, ratios, NULL); /* memory, ratios, clocks */
    assert_int_equal(trust_summarise(t, &w, &s, NULL), LM_OK);
    assert_int_equal(s.n_slow, 2);
    assert_int_equal(s.slow[0].rank, 1);
    assert_string_equal(s.slow[0].host, "n1");
    assert_int_equal(s.slow[1].rank, 2);
    assert_close(s.slow[1].ratio, 1.25, 1e-12);
    assert_string_equal(s.slow[1].host, "n2");
    out = fmemopen(text, sizeof text, "w");
    trust_print(&s, true, out);
    fclose(out);
    assert_true(!strncmp(text,
                         "slow rank: rank 1 on n1 needs 1.12 times as long as the median rank\n"
                         "slow rank: rank 2 on n2 needs 1.25 ",
                         100));
    trust_summary_free(&s);
    trust_free(t);
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Measures point `at` for `once` seconds in each of two repetitions. */
static void note(trust *t, size_t at, double once, uint32_t flags, double stretch)
{
    const sweep_point  p = { .row = { .kind = OBS_NETWORK } };
    const point_result r = { .flags = flags, .stretch = stretch, .spent = 2 * once, .repeats = 2 };

    trust_note(t, at, &p, &r);
}

static void flagged_points_are_measured_again_the_worst_first(void **state)
{
    trust *t = trust_new(&limits, 5);

    (void)state;
    note(t, 0, 0.5, 0, 1);
    note(t, 1, 0.5, FLAG_CONTENDED, 1.5);
    note(t, 2, 0.5, FLAG_CONTENDED, 2);
    note(t, 3, 4, FLAG_THROTTLED, 3); /* 8 s: more than half of the 12 s so far */
    note(t, 4, 0.5, 0, 1);
    assert_int_equal(trust_retry(t, 0.9), TRUST_NONE); /* no time left */
    assert_int_equal(trust_retry(t, HUGE_VAL), 2);
    note(t, 2, 0.5, FLAG_CONTENDED, 1.8);          /* again, in vain */
    assert_int_equal(trust_retry(t, HUGE_VAL), 1); /* each gets its turn */
    note(t, 1, 0.5, 0, 1);
    assert_int_equal(trust_retry(t, HUGE_VAL), 2);
    note(t, 2, 0.5, FLAG_CONTENDED, 1.8); /* its second and last retry */
    assert_int_equal(trust_retry(t, HUGE_VAL), TRUST_NONE);
    {
        trust_summary s;

        assert_int_equal(trust_summarise(t, &alone, &s, NULL), LM_OK);
        assert_int_equal(s.n_points, 5);
        assert_int_equal(s.n_flagged, 3);
        assert_int_equal(s.n_retries, 3);
        assert_int_equal(s.n_left, 2);
        assert_int_equal(s.n_slow, 0);
        trust_summary_free(&s);
    }
    trust_free(t);
}

static void retries_of_earlier_runs_count(void **state)
{
    trust *t = trust_new(&limits, 2);

    (void)state;
    note(t, 0, 5, 0, 1);
    trust_recall(t, 1, 2, false);
    assert_int_equal(trust_retry(t, HUGE_VAL), TRUST_NONE); /* not known what it costs: its turn
                                                               comes with the other points */
    note(t, 1, 0.1, FLAG_CONTENDED, 2);
    assert_int_equal(trust_retry(t, HUGE_VAL), TRUST_NONE); /* that was the third try */
    trust_free(t);
}

static void the_anchor_is_near_a_tenth_of_a_second_and_bounded_in_time(void **state)
{
    trust *t = trust_new(&limits, 9);

    (void)state;
    assert_int_equal(trust_anchor_due(t, false), TRUST_NONE);
    note(t, 0, 0.001, 0, 1);
    note(t, 1, 0.5, 0, 1);
    assert_int_equal(trust_anchor_due(t, false), TRUST_NONE); /* 1 ms is affordable, but poor */
    note(t, 2, 0.12, FLAG_CONTENDED, 2);                      /* no anchor to trust */
    note(t, 3, 0.15, 0, 1);                                   /* good: 0.3 s are due at 3 s */
    assert_int_equal(trust_anchor_due(t, false), TRUST_NONE);
    note(t, 4, 0.8, 0, 1); /* 3.142 s */
    assert_int_equal(trust_anchor_due(t, false), 3);
    note(t, 3, 0.15, FLAG_ANCHOR, 1);
    assert_int_equal(trust_anchor_due(t, false), TRUST_NONE);
    assert_int_equal(trust_anchor_due(t, true), TRUST_NONE); /* just measured */
    note(t, 5, 0.1, 0, 1);
    assert_int_equal(trust_anchor_due(t, true), 3);
    note(t, 6, 1.5, 0, 1);
    assert_int_equal(trust_anchor_due(t, false), 3); /* it stays, though 5 is nearer */
    trust_free(t);
}

static void without_a_good_anchor_the_nearest_serves(void **state)
{
    trust *t = trust_new(&limits, 3);

    (void)state;
    note(t, 0, 0.001, 0, 1);
    note(t, 1, 0.0005, 0, 1);
    note(t, 2, 4.9, 0, 1);
    assert_int_equal(trust_anchor_due(t, false), TRUST_NONE);
    note(t, 2, 5.1, 0, 1);
    assert_int_equal(trust_anchor_due(t, false), 0); /* after 10 s */
    trust_free(t);
}

static void an_anchor_of_an_earlier_run_is_measured_first(void **state)
{
    trust *t = trust_new(&limits, 3);

    (void)state;
    trust_recall(t, 1, 0, true);
    assert_int_equal(trust_anchor_due(t, true), TRUST_NONE); /* nothing was measured since */
    assert_int_equal(trust_anchor_due(t, false), 1);
    trust_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_of_a_cpu_is_read_below_a_root),
        cmocka_unit_test(what_limits_the_clock_is_described),
        cmocka_unit_test(the_longest_wait_of_a_thread_counts),
        cmocka_unit_test(the_median_repetition_decides_over_contention),
        cmocka_unit_test(a_counter_that_rises_or_a_device_that_says_so_is_throttling),
        cmocka_unit_test(contention_and_clocks_are_flagged),
        cmocka_unit_test(the_worst_rank_decides),
        cmocka_unit_test(a_preempted_rank_s_cpu_time_is_not_hidden),
        cmocka_unit_test(a_rank_slow_over_the_run_is_named_with_its_host),
        cmocka_unit_test(flagged_points_are_measured_again_the_worst_first),
        cmocka_unit_test(retries_of_earlier_runs_count),
        cmocka_unit_test(the_anchor_is_near_a_tenth_of_a_second_and_bounded_in_time),
        cmocka_unit_test(without_a_good_anchor_the_nearest_serves),
        cmocka_unit_test(an_anchor_of_an_earlier_run_is_measured_first),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
