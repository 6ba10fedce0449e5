/* A run beside its plan. */
#include "damaged.h"
#include "folder.h"

#include "base/checksum.h"
#include "sample/device_sample.h"
#include "watch/run.h"

/* ---- verdicts ---------------------------------------------------------------------------------
 */

static const planned_time planned = { 100, 95, 105 };

static watch_means means_of(double busy, double clock, double power, double heat)
{
    return (watch_means){ .busy        = busy,
                          .clock_mhz   = clock,
                          .watts       = NAN,
                          .limit_watts = NAN,
                          .held_power  = power,
                          .held_heat   = heat };
}

/* Each expectation by hand: 112 s of 100 planned are 12 too long, of which half is to be explained.
 */
static void what_is_too_long_is_explained_by_clock_waiting_or_work(void **state)
{
    static const struct {
        double      seconds, exposed;
        int64_t     ranks;
        double      busy, clock, power, heat, usual;
        const char *text;
    } cases[] = {
        { 104, 0.1, 8, 0.9, 1400, 0, 0, 1400, "on plan" },
        { 90, 0.1, 8, 0.9, 1400, 0, 0, 1400, "faster by 10 %" },
        { 112, 0.1, 8, NAN, NAN, NAN, NAN, NAN, "slower by 12 %" },
        /* 0.21 * 112 = 23.5 s idle, 10 of them planned: 13.5 more; 23.5 / 10 times as long */
        { 112, 0.1, 8, 0.79, 1400, 0, 0, 1400,
          "slower by 12 %, sync-bound: busy 79 % of the time" },
        /* the same idle, but all-reduces of 2 s would have to take 12 times as long */
        { 112, 0.02, 8, 0.79, 1400, 0, 0, 1400,
          "slower by 12 %, input-bound: busy 79 % of the time" },
        { 112, 0.1, 1, 0.9, 1400, 0, 0, 1400,
          "slower by 12 %, input-bound: busy 90 % of the time" },
        /* 0.04 * 112 = 4.5 s idle: less than half of 12 */
        { 112, NAN, 1, 0.96, 1400, 0, 0, 1400,
          "slower by 12 %, compute-bound: busy 96 % of the time" },
        { 112, 0.1, 8, 0.96, 1400, 0, 0, 1400,
          "slower by 12 %, compute- or sync-bound: busy 96 % of the time" },
        { 112, 0.1, 8, 0.79, 1200, 0.63, 0, 1410,
          "slower by 12 %, clock throttled: 1200 MHz after 1410 MHz, 63 % of the time by power" },
        { 112, 0.1, 8, 0.99, 1400, 0, 0.3, 1400,
          "slower by 12 %, clock throttled: 1400 MHz, 30 % of the time by heat" },
        { 112, 0.1, 8, 0.99, 1200, NAN, NAN, 1410,
          "slower by 12 %, clock throttled: 1200 MHz after 1410 MHz" },
        { 112, 0.1, 1, 0.99, 1350, 0.1, 0, 1410,
          "slower by 12 %, compute-bound: busy 99 % of the time" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const watch_means m =
            means_of(cases[i].busy, cases[i].clock, cases[i].power, cases[i].heat);
        const watch_verdict v = watch_judge(cases[i].seconds, &planned, cases[i].exposed,
                                            cases[i].ranks, &m, cases[i].usual);
        char                text[WATCH_VERDICT_TEXT];

        assert_string_equal(watch_verdict_print(&v, &m, cases[i].usual, text), cases[i].text);
        assert_true(v.bounded);
    }
}

static void a_plan_without_an_interval_is_kept_within_a_tenth(void **state)
{
    const planned_time  open = { 100, NAN, NAN };
    const watch_means   m    = means_of(NAN, NAN, NAN, NAN);
    const watch_verdict met  = watch_judge(109, &open, NAN, 1, &m, NAN),
                        slow = watch_judge(111, &open, NAN, 1, &m, NAN);

    (void)state;
    assert_true(!met.bounded && met.finding == WATCH_ON_PLAN);
    assert_true(slow.finding == WATCH_SLOWER && slow.cause == CAUSE_UNTOLD);
    assert_string_equal(watch_verdict_word(&slow), "slower");
}

/* ---- what stands beside -----------------------------------------------------------------------
 */

static void add(watch_history *h, double time, float busy, float clock, float held, double period)
{
    const float beside[N_BESIDE] = { [BESIDE_BUSY]        = busy,
                                     [BESIDE_CLOCK]       = clock,
                                     [BESIDE_HELD]        = held,
                                     [BESIDE_POWER]       = NAN,
                                     [BESIDE_POWER_LIMIT] = NAN };

    watch_history_add(h, time, beside, period);
}

static void means_are_of_a_stretch_and_clocks_of_work_alone(void **state)
{
    watch_history *h;
    watch_means    m;

    (void)state;
    assert_int_equal(watch_history_new(&h, NULL), LM_OK);
    for (int i = 0; i < 100; i++) /* 10 s at work, of which 2.5 are held down, then 10 at rest */
        add(h, 0.1 * i, 100, 1400, i < 25 ? (float)HELD_POWER_CAP : 0, NAN);
    for (int i = 100; i < 200; i++)
        add(h, 0.1 * i, 0, 210, (float)HELD_IDLE, NAN);
    m = watch_history_means(h, 0, 10);
    assert_close(m.busy, 1, 1e-12);
    assert_close(m.held_power, 0.25, 0.02);
    assert_close(m.held_heat, 0, 0);
    assert_true(isnan(m.watts));
    m = watch_history_means(h, 0, 20);
    assert_close(m.busy, 0.5, 1e-12);
    assert_close(m.clock_mhz, 1400, 1e-12);
    watch_history_free(h);
}

/* A week at 10 Hz with epochs of 20 min: the last day is told to a bin. */
static void history_forgets_what_is_old(void **state)
{
    watch_history *h;
    const int      n = 6048000;

    (void)state;
    assert_int_equal(watch_history_new(&h, NULL), LM_OK);
    for (int i = 0; i < n; i++)
        add(h, 0.1 * i, i < n - 36000 ? 100 : 50, 1400, 0, 1200);
    assert_close(watch_history_means(h, 0.1 * n - 3600, 0.1 * n).busy, 0.5, 0.01);
    assert_close(watch_history_means(h, 0.1 * n - 7200, 0.1 * n - 3600).busy, 1, 0.01);
    assert_true(isnan(watch_history_means(h, 0, 3600).busy)); /* long gone */
    watch_history_free(h);
}

/* ---- plans ------------------------------------------------------------------------------------
 */

#define PLAN                                                                             \
    "{\"network\": \"resnet50\", \"set\": null, \"input\": null, \"dtype\": \"f16\", "   \
    "\"optimizer\": \"adam\", \"answers\": ["                                            \
    "{\"question\": \"fewest nodes\", \"plan\": null},"                                  \
    "{\"question\": \"cheapest\", \"plan\": {\"machine\": \"a.ini\", \"nodes\": 4, "     \
    "\"devices\": 8, \"batch\": 32, \"micro_steps\": 1, \"sync\": \"ddp:25MiB\", "       \
    "\"bucket_bytes\": 26214400, \"grad_dtype\": null, \"steps_per_epoch\": 100, "       \
    "\"evaluations_per_epoch\": 20, \"step_s\": 0.2, \"step_low_s\": 0.19, "             \
    "\"step_high_s\": 0.22, \"exposed_s\": 0.02, \"epoch_s\": 25, \"epoch_low_s\": 24, " \
    "\"epoch_high_s\": 27}}]}"

static void an_answer_of_a_plan_is_read(void **state)
{
    watch_plan p;

    (void)state;
    folder_file("plan.json", PLAN);
    assert_int_equal(watch_plan_load("plan.json", "cheapest", &p, NULL), LM_OK);
    assert_string_equal(p.network, "resnet50");
    assert_string_equal(p.dtype, "f16");
    assert_true(p.plain && p.nodes == 4 && p.devices == 8 && p.batch == 32 && p.steps == 100);
    assert_int_equal(p.bucket_bytes, 26214400);
    assert_close(p.step.low, 0.19, 0);
    assert_close(p.epoch.high, 27, 0);
    assert_close(p.exposed, 0.02, 0);
}

/* Read, and another plan than `context`? */
static bool is_another(const char *text, void *context)
{
    const watch_plan *was = context;
    watch_plan        p;

    folder_file("damaged.json", text);
    return !watch_plan_load("damaged.json", "cheapest", &p, NULL) &&
           (strcmp(p.network, was->network) != 0 || strcmp(p.dtype, was->dtype) != 0 ||
            strcmp(p.optimizer, was->optimizer) != 0 || strcmp(p.machine, was->machine) != 0 ||
            strcmp(p.sync, was->sync) != 0 || p.plain != was->plain || p.nodes != was->nodes ||
            p.devices != was->devices || p.batch != was->batch ||
            p.micro_steps != was->micro_steps || p.bucket_bytes != was->bucket_bytes ||
            p.steps != was->steps || p.evaluations != was->evaluations ||
            memcmp(&p.step, &was->step, sizeof p.step) != 0 ||
            memcmp(&p.epoch, &was->epoch, sizeof p.epoch) != 0 || p.exposed != was->exposed);
}

static void no_damaged_byte_of_a_plan_changes_it_unnoticed(void **state)
{
    char       text[sizeof PLAN + 60];
    watch_plan p;
    lm_error   err;

    (void)state;
    snprintf(text, sizeof text, "%.*s,\n  \"checksum\": \"" CHECKSUM_ROOM "\"\n}\n",
             (int)(sizeof PLAN - 2), PLAN);
    checksum_put(text, strstr(text, CHECKSUM_ROOM));
    folder_file("plan.json", text);
    assert_int_equal(watch_plan_load("plan.json", "cheapest", &p, NULL), LM_OK);
    assert_int_equal(damaged_unnoticed(text, 3, is_another, &p), 0);
    *strchr(text, ' ') = '\t'; /* between two words: the same plan, but not the same text */
    folder_file("plan.json", text);
    assert_int_equal(watch_plan_load("plan.json", "cheapest", &p, &err), LM_E_SYNTAX);
    assert_error(
        err, LM_E_SYNTAX,
        "plan.json: its text is not what its checksum is of: damaged, cut short or edited? "
        "copy it again, or run 'layermeter plan ... --format json' again; where the change "
        "is meant, take out its 'checksum'");
}

static void what_is_no_plan_is_said_in_one_line(void **state)
{
    static const struct {
        const char *text;
        lm_status   code;
        const char *says;
    } cases[] = {
        { "", LM_E_SYNTAX, "plan.json:1: no JSON: '[' or '{' expected near end of file" },
        { "[]", LM_E_SYNTAX, "plan.json: no plan" },
        { "{}", LM_E_SYNTAX,
          "plan.json: 'answers' is not there: is it what 'layermeter plan --format json' of this "
          "version writes?" },
        { "{\"answers\": []}", LM_E_NOTFOUND, "plan.json: the plan has no answer" },
        { "{\"answers\": [{\"question\": \"cheapest\", \"plan\": {}}]}", LM_E_SYNTAX,
          "plan.json: 'network' is not there: is it what 'layermeter plan --format json' of this "
          "version writes?" },
        { PLAN, LM_E_NOTFOUND, "plan.json: the plan has no answer" },
    };
    watch_plan p;
    lm_error   err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        folder_file("plan.json", cases[i].text);
        assert_int_equal(watch_plan_load("plan.json", NULL, &p, &err), cases[i].code);
        assert_error(err, cases[i].code, "%s", cases[i].says);
    }
    folder_file("plan.json", PLAN);
    assert_int_equal(watch_plan_load("plan.json", "fastest", &p, &err), LM_E_NOTFOUND);
    assert_error(err, LM_E_NOTFOUND, "plan.json: the plan has no answer to: fastest");
}

/* ---- runs -------------------------------------------------------------------------------------
 */

static size_t n_epochs, n_judged;

static lm_status count(void *context, const watched *w, lm_error *err)
{
    (void)context;
    (void)err;
    n_epochs++;
    n_judged += w->judged;
    return LM_OK;
}

/* Epochs of so many seconds: at work but for the last twentieth. From `held` s on power holds the
 * clock down. */
static lm_status follow(const watch_plan *p, double length, double held, double seconds,
                        watch_summary *out, lm_error *err)
{
    watch_run *r;
    lm_status  status;

    n_epochs = n_judged = 0;
    assert_int_equal(watch_run_new(p, count, NULL, &r, NULL), LM_OK);
    for (int i = 0; 0.1 * i < seconds; i++) {
        const double t                = 0.1 * i;
        const bool   rest             = fmod(t, length) > 0.95 * length;
        const float  beside[N_BESIDE] = { [BESIDE_BUSY]        = rest ? 0 : 100,
                                          [BESIDE_CLOCK]       = t < held ? 1400 : 1000,
                                          [BESIDE_HELD]        = t < held ? 0 : HELD_POWER_CAP,
                                          [BESIDE_POWER]       = rest ? 100 : 300,
                                          [BESIDE_POWER_LIMIT] = NAN };

        assert_int_equal(watch_run_add(r, t, rest ? 5 : (float)(95 + i % 3), beside, NULL), LM_OK);
    }
    status = watch_run_end(r, out, err);
    watch_run_free(r);
    return status;
}

static watch_plan plan_of(void)
{
    watch_plan p;

    folder_file("plan.json", PLAN);
    assert_int_equal(watch_plan_load("plan.json", "cheapest", &p, NULL), LM_OK);
    return p;
}

static void a_run_becomes_one_row(void **state)
{
    const watch_plan p = plan_of();
    watch_summary    s;
    observation      row;

    (void)state;
    assert_int_equal(follow(&p, 26, INFINITY, 400, &s, NULL), LM_OK);
    assert_int_equal(s.scale, WATCH_EPOCHS);
    assert_int_equal(s.verdict.finding, WATCH_ON_PLAN);
    assert_true(n_judged >= 12 && n_epochs >= n_judged);
    assert_close(s.mean, 26, 1e-3);
    assert_int_equal(watch_observation(&p, &s, &row, NULL), LM_OK);
    /* 26 s where 25 were planned: so is a step, 0.2 s planned */
    assert_close(row.seconds, 0.208, 1e-3);
    assert_close(row.power_w, 290, 5);
    assert_close(row.clock_mhz, 1400, 1e-6);
    assert_true(row.ranks == 32 && row.hosts == 4 && row.batch == 32 && row.dtype == LM_F16);
    assert_int_equal(row.repeats, 100 * (int64_t)s.n);
    assert_string_equal(row.flags, "");
    assert_int_equal(observation_check(&row, NULL), LM_OK);
}

static void epochs_that_power_held_down_do_not_count_where_others_are_there(void **state)
{
    const watch_plan p = plan_of();
    watch_summary    s;
    observation      row;

    (void)state;
    assert_int_equal(follow(&p, 26, 200, 400, &s, NULL), LM_OK);
    assert_true(s.n_clean >= 5 && s.n_clean <= 8 && s.n > s.n_clean);
    assert_int_equal(watch_observation(&p, &s, &row, NULL), LM_OK);
    assert_string_equal(row.flags, "");
    assert_close(row.clock_mhz, 1400, 20);
    assert_int_equal(follow(&p, 26, 0, 400, &s, NULL), LM_OK);
    assert_int_equal(watch_observation(&p, &s, &row, NULL), LM_OK);
    assert_string_equal(row.flags, "throttled");
}

static void what_is_neither_epoch_nor_step_is_no_verdict(void **state)
{
    const watch_plan p = plan_of();
    watch_summary    s;
    lm_error         err;

    (void)state;
    assert_int_equal(follow(&p, 5, INFINITY, 200, &s, &err), LM_E_NOTFOUND);
    assert_int_equal(n_judged, 0);
    assert_error(err, LM_E_NOTFOUND,
                 "something repeats every 5 s: neither the plan's epoch (25 s) nor its step "
                 "(0.2 s)");
}

static void long_steps_are_compared_where_epochs_are_not_seen(void **state)
{
    watch_plan    p = plan_of();
    watch_summary s;
    observation   row;

    (void)state;
    p.step  = (planned_time){ 10, 9, 11 };
    p.epoch = (planned_time){ 1250, 1200, 1300 };
    assert_int_equal(follow(&p, 12, INFINITY, 300, &s, NULL), LM_OK);
    assert_int_equal(s.scale, WATCH_STEPS);
    assert_close(s.verdict.ratio, 1.2, 1e-2);
    assert_int_equal(watch_observation(&p, &s, &row, NULL), LM_OK);
    assert_close(row.seconds, 12, 1e-2);
    assert_int_equal(row.repeats, (int64_t)s.n);
}

static void what_a_row_cannot_say_is_no_observation(void **state)
{
    watch_plan    p = plan_of();
    watch_summary s = { .n = 3, .mean = 26, .least = 25 };
    observation   row;
    lm_error      err;

    (void)state;
    p.micro_steps = 4;
    assert_int_equal(watch_observation(&p, &s, &row, &err), LM_E_UNSUPPORTED);
    assert_error(err, LM_E_UNSUPPORTED, "no observation: a row cannot hold accumulated gradients");
    p.micro_steps = 1;
    p.plain       = false;
    assert_int_equal(watch_observation(&p, &s, &row, &err), LM_E_UNSUPPORTED);
    p.plain = true;
    strcpy(p.sync, "horovod:64MB:5ms");
    assert_int_equal(watch_observation(&p, &s, &row, &err), LM_E_UNSUPPORTED);
}

/* ---- files ------------------------------------------------------------------------------------
 */

static void a_row_goes_behind_the_others_with_their_settings(void **state)
{
    observation   row = observation_blank;
    observations *obs;
    FILE         *out;
    lm_error      err;

    (void)state;
    row.name    = "resnet50";
    row.phase   = PHASE_STEP;
    row.batch   = 32;
    row.ranks   = 8;
    row.seconds = 0.25;
    assert_int_equal(observation_append("new.csv", &row, "a.ini", NULL), LM_OK);
    assert_int_equal(observation_append("new.csv", &row, "a.ini", NULL), LM_OK);
    assert_int_equal(observations_load("new.csv", &obs, NULL), LM_OK);
    assert_int_equal(obs->n_rows, 2);
    assert_string_equal(observations_provenance(obs, "planned on"), "a.ini");
    observations_free(obs);

    out = fopen("old.csv", "w");
    observation_print_head(out);
    row.name     = "vgg16";
    row.settings = "layout=nhwc math=tf32";
    row.threads  = 2;
    observation_print(out, &row, "ok");
    fclose(out);
    row.name     = "resnet50";
    row.settings = "";
    row.threads  = 0;
    assert_int_equal(observation_append("old.csv", &row, "", NULL), LM_OK);
    assert_int_equal(observations_load("old.csv", &obs, NULL), LM_OK);
    assert_string_equal(obs->row[1].name, "resnet50");
    assert_string_equal(obs->row[1].settings, "layout=nhwc math=tf32");
    assert_int_equal(obs->row[1].threads, 2);
    observations_free(obs);

    folder_file("other.csv", "kind,name,phase,batch,seconds\nnetwork,a,step,1,0.5\n");
    assert_int_equal(observation_append("other.csv", &row, "", &err), LM_E_SYNTAX);
    assert_error(err, LM_E_SYNTAX,
                 "other.csv: its columns are not those that this program writes: name a new file");
    folder_file("none.csv", "a,b\n1,2\n");
    assert_true(observation_append("none.csv", &row, "", &err) != LM_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_too_long_is_explained_by_clock_waiting_or_work),
        cmocka_unit_test(a_plan_without_an_interval_is_kept_within_a_tenth),
        cmocka_unit_test(means_are_of_a_stretch_and_clocks_of_work_alone),
        cmocka_unit_test(history_forgets_what_is_old),
        cmocka_unit_test(a_row_goes_behind_the_others_with_their_settings),
    };
    static const struct CMUnitTest of_plans[] = {
        cmocka_unit_test(an_answer_of_a_plan_is_read),
        cmocka_unit_test(no_damaged_byte_of_a_plan_changes_it_unnoticed),
        cmocka_unit_test(what_is_no_plan_is_said_in_one_line),
        cmocka_unit_test(a_run_becomes_one_row),
        cmocka_unit_test(epochs_that_power_held_down_do_not_count_where_others_are_there),
        cmocka_unit_test(what_is_neither_epoch_nor_step_is_no_verdict),
        cmocka_unit_test(long_steps_are_compared_where_epochs_are_not_seen),
        cmocka_unit_test(what_a_row_cannot_say_is_no_observation),
    };
    int failed = cmocka_run_group_tests(tests, folder_enter, folder_leave);

    if (HAVE_JSON)
        failed += cmocka_run_group_tests(of_plans, folder_enter, folder_leave);
    return failed;
}
