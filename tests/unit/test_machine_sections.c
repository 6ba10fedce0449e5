/* Sections of machine files: what is written is read as it was, and what is none is refused by its
 * line. */
#include "machine_text.h"

#include "base/file.h"
#include "single/composed.h"
#include "single/model.h"

#define POWER "[power]\narithmetic = 100 W\ntraffic = 90 W\nlaunch = 40 W\n"
#define KNOTS "[layermeter.inference]\nmacs_knots = "
#define AGAIN ": cut short, or edited? fit the observations again"
#define OTHER ": written by another version, or by hand? fit the observations again"

#define CURVE(step)                                                                                \
    "[curve.1]\nnetwork = n\ninput = 3\nrows = 2\nmape_percent = 1\nwithin = 0 s\nbetween = 0 s\n" \
    "least_batch = 1\nmost_batch = 2\nhosts = 1\ndevices = 2\nranks = 2\n" step

static void what_is_no_section_is_refused_by_line(void **state)
{
    static const struct {
        const char *text, *message;
        lm_status   code;
    } cases[] = {
        { "[]\nrows = 3\n",
          "m.ini:1: []: no formula of that name; is this a machine file, and of this version? fit "
          "the observations again",
          LM_E_NOTFOUND },
        { "[machine]\ntile = 0\n", "m.ini:2: tile: expected 1 or more, found '0'", LM_E_ARG },
        { "[machine]\ndtype = f3\n",
          "m.ini:2: expected an element type (f32 f16 bf16 f64 i32 i8 f8 i64 u8), found 'f3'",
          LM_E_ARG },

        { CURVE("step = 0 s\nsample = 0 s/sample\n"), "m.ini:1: [curve.1]: a device takes no time",
          LM_E_ARG },
        { CURVE(
              "step = 1 s\nsample = 0 s/sample\n") "[curve.2]\nnetwork = n\ninput = 3\nrows = 2\n",
          "m.ini:15: [curve.2]: 'mape_percent' is missing" AGAIN, LM_E_NOTFOUND },
        { CURVE("step = 1 s\nsample = -1 s/sample\n"),
          "m.ini:14: sample: expected 0 or more, found '-1 s/sample'", LM_E_ARG },
        { CURVE("step = 1 s\nsample = 0 s/sample\nmicro_steps = 0 .. 2\n"),
          "m.ini:15: micro_steps: expected 1 or more, found '0 .. 2'", LM_E_ARG },
        { CURVE("step = 1 s\nsample = 0 s/sample\nmicro_steps = 3 .. 2\n"),
          "m.ini:15: micro_steps: expected numbers above 0, upwards", LM_E_ARG },

        { "[host]\nrows = 1\noperation = 1, 1, 1 s/operation\ninference = 1 s/operation\n",
          "m.ini:1: inference and inference_rows belong together", LM_E_ARG },
        { "[host]\nrows = 1\noperation = 1, 1, 1 s/operation\ninference_rows = 1\n",
          "m.ini:1: inference and inference_rows belong together", LM_E_ARG },

        { "[measured]\nat1 = n\n",
          "m.ini:2: at1: expected 'NETWORK, INPUT, ranks N, batch N N ...'", LM_E_SYNTAX },
        { "[measured]\nat1 = n, 3, ranks 1, batch\n",
          "m.ini:2: at1: expected 'batch N N ...', found 'batch'", LM_E_SYNTAX },
        { "[measured]\nat1 = n, 3, ranks 1, batch 0\n", "m.ini:2: at1: batch: must be 1 or more",
          LM_E_ARG },
        { "[measured]\nat1 = n, 3, ranks 0, batch 1\n", "m.ini:2: at1: ranks: must be 1 or more",
          LM_E_ARG },
        { "[measured]\nat1 = n, 3, rank 1, batch 1\n",
          "m.ini:2: at1: expected 'ranks N', found 'rank 1'", LM_E_SYNTAX },
        { "[measured]\nat1 = , 3, ranks 1, batch 1\n",
          "m.ini:2: at1: expected 'NETWORK, INPUT, ranks N, batch N N ...'", LM_E_SYNTAX },

        { KNOTS "1, 2, 3\n", "m.ini:2: macs_knots: expected 5 numbers", LM_E_SYNTAX },
        { KNOTS "1, 2, 3, 4, 5, 6\n", "m.ini:2: macs_knots: expected 5 numbers", LM_E_SYNTAX },
        { KNOTS "1, 2, x, 4, 5\n", "m.ini:2: macs_knots: expected a finite number, found 'x'",
          LM_E_ARG },
        { KNOTS "1, 2, 3, 5, 4\n",
          "m.ini:1: [layermeter.inference]: knots must be above 0 and must not fall", LM_E_ARG },
        { KNOTS "0, 2, 3, 4, 5\n",
          "m.ini:2: macs_knots: expected numbers above 0, found '0, 2, 3, 4, 5'", LM_E_ARG },

        { "[layermeter.intervals]\nstep = 0.9 .. 1.1, batch 0 .. 3\n",
          "m.ini:2: step: expected a range above 0, found '0.9 .. 1.1, batch 0 .. 3'", LM_E_ARG },
        { "[layermeter.intervals]\nstep = 0.9 .. 1.1, batch 3 .. 2\n",
          "m.ini:2: step: expected ranges upwards", LM_E_ARG },
        { "[layermeter.intervals]\nstep = 0.9 .. 1.1, per_octave 0.5\n",
          "m.ini:2: step: expected bounds around 1 and a factor per octave of 1 or more",
          LM_E_ARG },

        { "[kernels.foo]\nfloor = 1 s/launch, floor\n",
          "m.ini:1: [kernels.foo]: no such kind of kernels", LM_E_NOTFOUND },
        { "[kernels.map]\nrows = 3\n", "m.ini:1: [kernels.map]: 'floor' is missing",
          LM_E_NOTFOUND },
        { "[kernels.map]\nfloor = 1 s/launch\n",
          "m.ini:2: floor: expected a price as '1.2e-13 s/FLOP, flops', found '1 s/launch'",
          LM_E_SYNTAX },
        { "[kernels.map]\nfloor = -1 s/launch, floor\n", "m.ini:2: floor: a price below 0",
          LM_E_ARG },
        { "[kernels.map]\nbytes = 1 s/byte, luck\n",
          "m.ini:2: bytes: 'luck' is none of floor, host, flops, bandwidth, depth", LM_E_NOTFOUND },
        { "[kernels.gemm]\ntiles = 7\n", "m.ini:2: tiles: '7' is none of mixed, 128, 64",
          LM_E_NOTFOUND },
        { "[kernels.gemm]\npower = 0.5\n", "m.ini:2: power: expected 1 or more, found '0.5'",
          LM_E_ARG },

        { "[layermeter.single.pool]\nrows = 1\n",
          "m.ini:1: [layermeter.single.pool]: no class of single layers of that name",
          LM_E_NOTFOUND },
        { "[layermeter.single.conv]\nforward.inputs = 1 s/element\n",
          "m.ini:2: 'forward.inputs' is not a key of layermeter.single.conv", LM_E_NOTFOUND },
        { "[layermeter.single.other]\nforward.norm.flops = 1e-12 s/FLOP\n",
          "m.ini:2: 'forward.norm.flops' is not a key of layermeter.single.other", LM_E_NOTFOUND },
        { "[layermeter.single.conv]\nforward.input = 1 s/byte\n",
          "m.ini:2: forward.input: expected a number and 's/element', found '1 s/byte'",
          LM_E_SYNTAX },
        { "[layermeter.single.conv]\nforward.input = -1 s/element\n",
          "m.ini:2: forward.input: a price below 0", LM_E_ARG },
        { "[layermeter.single.conv]\ncall = 1 s/call, 5 rows\n",
          "m.ini:2: call: unknown word '5 rows'", LM_E_SYNTAX },
        { "[layermeter.single.conv]\njoin = 17\n", "m.ini:2: join: expected 1 to 16, found '17'",
          LM_E_ARG },
        { "[layermeter.single.device]\nflops = 0\n",
          "m.ini:2: flops: expected a figure above 0, found '0'", LM_E_ARG },
        { "[layermeter.single.device]\ncores = 1\n",
          "m.ini:2: 'cores' is not a key of [layermeter.single.device]" OTHER, LM_E_NOTFOUND },
        { "[layermeter.single.residual]\nfile = a/m.residual\nhash = 0123456789abcdef\n",
          "m.ini:2: 'a/m.residual': expected the name of a file beside this one", LM_E_ARG },
        { "[kernels.residual]\nfile = m.kernels\nhash = 0123\n",
          "m.ini:3: [kernels.residual] has a file and a hash of 16 digits; found 'hash = 0123'",
          LM_E_NOTFOUND },
        { "[learned.]\nfile = m.x\n", "m.ini:1: [learned.]: expected the name of what was learned",
          LM_E_NOTFOUND },

        { "[composed.all]\nrows = 1\n",
          "m.ini:1: [composed.all]: expected [composed.step] or [composed.inference]",
          LM_E_NOTFOUND },

        { "[overlap]\nrows = 7\nslowdown = 1 s/s\n",
          "m.ini:1: [overlap]: 'stretch' is missing" AGAIN, LM_E_NOTFOUND },
        { "[overlap]\nslowdown = -1 s/s\n", "m.ini:2: slowdown: expected 0 or more, found '-1 s/s'",
          LM_E_ARG },
        { "[overlap]\nslowdown = 1 s\n",
          "m.ini:2: slowdown: expected a number and 's/s', found '1 s'", LM_E_SYNTAX },
        { "[overlap]\ncold = 1.5 byte/byte\n",
          "m.ini:2: cold: expected 0 to 1, found '1.5 byte/byte'", LM_E_ARG },
        { "[overlap]\nspeed = 1\n", "m.ini:2: 'speed' is not a key of [overlap]" OTHER,
          LM_E_NOTFOUND },
        { "[sharing.1]\nrows = 7\n",
          "m.ini:1: [sharing.1]: expected a number of devices above 1 and those before it",
          LM_E_ARG },
        { "[sharing.4]\nrows = 7\n[sharing.2]\nrows = 7\n",
          "m.ini:3: [sharing.2]: expected a number of devices above 1 and those before it",
          LM_E_ARG },
        { "[sharing.2]\nforward = 1 s/s\n", "m.ini:1: [sharing.2]: 'rows' is missing" AGAIN,
          LM_E_NOTFOUND },
        { "[sharing.2]\nforward = 0.5 s/s\n",
          "m.ini:2: forward: expected 1 or more, found '0.5 s/s'", LM_E_ARG },
        { "[sharing.2]\nforward = 2 s\n",
          "m.ini:2: forward: expected a number and 's/s', found '2 s'", LM_E_SYNTAX },
        { "[sharing.2]\nspeed = 1\n", "m.ini:2: 'speed' is not a key of [sharing.2]" OTHER,
          LM_E_NOTFOUND },

        { "[power]\narithmetic = 100 W\n", "m.ini:1: [power]: 'traffic' is missing" AGAIN,
          LM_E_NOTFOUND },
        { "[power]\narithmetic = 100 kW\n",
          "m.ini:2: arithmetic: expected a number and 'W', found '100 kW'", LM_E_SYNTAX },
        { "[power]\narithmetic = 100\n",
          "m.ini:2: arithmetic: expected a number and 'W', found '100'", LM_E_SYNTAX },
        { "[power]\narithmetic = nan W\n",
          "m.ini:2: arithmetic: expected a finite number, found 'nan'", LM_E_ARG },
        { "[power]\nidle = -3 W\n", "m.ini:2: idle: expected 0 to 100000, found '-3 W'", LM_E_ARG },
        { "[power]\nidle = 1e9 W\n", "m.ini:2: idle: expected 0 to 100000, found '1e9 W'",
          LM_E_ARG },
        { "[power]\nwatts = 3 W\n", "m.ini:2: 'watts' is not a key of [power]" OTHER,
          LM_E_NOTFOUND },
        { POWER "knee = 0 MHz\n", "m.ini:1: [power]: clocks must be above 0", LM_E_ARG },
        { POWER "cap = 0 W\n", "m.ini:1: [power]: cap must be above 0", LM_E_ARG },
        { POWER "idle = 100 W\n", "m.ini:1: [power]: idle and memory are more than traffic",
          LM_E_ARG },
        { POWER "low = 2\nhigh = 1\n", "m.ini:1: [power]: low is above high", LM_E_ARG },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        calibration *cal = NULL;
        lm_error     err = { LM_OK, "" };

        assert_int_equal(machine_text_load(cases[i].text, &cal, &err), cases[i].code);
        assert_error(err, cases[i].code, "%s", cases[i].message);
        assert_null(cal);
    }
}

static void powers_are_read_as_they_were(void **state)
{
    power_model  m   = power_unknown;
    calibration  cal = { .power = &m }, *again;
    power_model *back;

    (void)state;
    m.bound_w[BOUND_ARITHMETIC] = 130;
    m.bound_w[BOUND_TRAFFIC]    = 110;
    m.bound_w[BOUND_LAUNCH]     = 50;
    m.memory_w                  = 20;
    m.knee_mhz                  = 500;
    m.rows                      = 12;
    m.groups                    = 3;
    m.mape                      = 0.031;
    m.low                       = 0.9;
    m.high                      = 1.2;
    again                       = machine_text_again(&cal);
    back                        = again->power;
    assert_close(back->bound_w[BOUND_TRAFFIC], 110, 0);
    assert_close(back->knee_mhz, 500, 0);
    assert_close(back->memory_w, 20, 0);
    assert_close(back->mape, 0.031, 1e-15);
    assert_true(isnan(back->held_out_mape) && isnan(back->low_mhz) && isnan(back->cap_w));
    assert_int_equal(back->rows, 12);
    assert_int_equal(back->groups, 3);
    calibration_free(again);
}

static void add(measured_set *s, const char *of, int64_t batch, int64_t ranks)
{
    assert_true(measured_add(s, &(measured_at){ of, "3x8x8", batch, ranks }));
}

/* What stands in a file. */
static bool holds(const char *path, const char *text)
{
    char    *all;
    size_t   n;
    lm_error err;
    bool     found;

    assert_int_equal(file_read_text(path, &all, &n, &err), LM_OK);
    found = strstr(all, text) != NULL;
    free(all);
    return found;
}

static void what_was_measured_is_read_as_it_was(void **state)
{
    calibration cal = { .n_learned = 0 }, *again;

    (void)state;
    calibration_free(machine_text_again(&cal)); /* nothing: no section */
    assert_false(holds("again.ini", "[measured]"));
    add(&cal.measured, "dir, with comma/net.ini", 3, 2);
    for (int64_t b = 1; b <= 25; b++)
        add(&cal.measured, "n", b, 1);
    again = machine_text_again(&cal);
    assert_true(holds("again.ini", "\nat1 = dir, with comma/net.ini, 3x8x8, ranks 2, batch 3\n"));
    assert_true(holds("again.ini", "\nat4 = n, 3x8x8, ranks 1, batch 21 22 23 24 25\n"));
    assert_int_equal(again->measured.n, 26);
    for (size_t i = 0; i < again->measured.n; i++)
        assert_true(measured_has(&cal.measured, &again->measured.at[i]));
    measured_free(&cal.measured);
    calibration_free(again);
}

static void curves_are_read_as_they_were(void **state)
{
    const job_curve  c   = { .step        = 0.01,
                             .sample      = 0.005,
                             .within      = 0.002,
                             .between     = 0.03,
                             .least_batch = 8,
                             .most_batch  = 64,
                             .least_micro = 2,
                             .most_micro  = 8,
                             .hosts       = 2,
                             .devices     = 4,
                             .ranks       = 8,
                             .rows        = 7,
                             .mape        = 0.0125 };
    calibration      cal = { .n_learned = 0 }, *again;
    const job_curve *found;
    lm_error         err;

    (void)state;
    assert_int_equal(job_curves_add(&cal.curves, "n", "3x8x8", &c, &err), LM_OK);
    assert_int_equal(job_curves_add(&cal.curves, "m", "3x8x8", &c, &err), LM_OK);
    again = machine_text_again(&cal);
    found = job_curves_find(&again->curves, "m", "3x8x8");
    assert_int_equal(again->curves.n, 2);
    assert_non_null(found);
    assert_true(found->step == c.step && found->sample == c.sample && found->within == c.within &&
                found->between == c.between && found->least_batch == c.least_batch &&
                found->most_batch == c.most_batch && found->least_micro == 2 &&
                found->most_micro == 8 && found->hosts == c.hosts && found->devices == c.devices &&
                found->ranks == c.ranks && found->rows == c.rows);
    assert_close(found->mape, c.mape, 1e-12);
    job_curves_free(&cal.curves);
    calibration_free(again);
}

static void intervals_are_read_as_they_were(void **state)
{
    calibration     cal  = { .n_learned = 0 }, *again;
    const interval *back = NULL;

    (void)state;
    cal.intervals[0].of[PHASE_STEP] =
        (interval){ .groups     = 19,
                    .low        = 0.85,
                    .high       = 1.2,
                    .per_octave = 1.125,
                    .octaves    = 1.5,
                    .range      = { { 0.0005, 2 }, { 1, 64 }, { NAN, NAN } } };
    again = machine_text_again(&cal);
    assert_true(holds("again.ini",
                      "[layermeter.intervals]\nstep = 0.85 .. 1.2, groups 19, per_octave "
                      "1.125, octaves 1.5, seconds 0.0005 .. 2, batch 1 .. 64\n"));
    back = &again->intervals[0].of[PHASE_STEP];
    assert_int_equal(back->groups, 19);
    assert_true(back->low == 0.85 && back->high == 1.2 && back->per_octave == 1.125);
    assert_true(back->octaves == 1.5);
    assert_true(back->range[SCOPE_SECONDS].low == 0.0005 && back->range[SCOPE_BATCH].high == 64);
    assert_true(isnan(back->range[SCOPE_NODES].low) && isnan(back->range[SCOPE_NODES].high));
    calibration_free(again);
}

/* A file by hand has keys in any order, sections too. */
static void keys_stand_in_any_order(void **state)
{
    calibration *cal = machine_text_of(
        "[sharing.2]\nupdate = 1.5 s/s\nrows = 7\n"
        "[composed.inference]\nproducts = 0.5\nhost = 1\nhost.backward = 1\nothers = 1\n"
        "products.backward = 1\nothers.backward = 1\nupdate = 1\nrows = 3\n"
        "[machine]\nmax_hosts = 2\nmax_ranks = 8\ntransferred = yes\ndtype = bf16\n"
        "[kernels.map]\nbytes = 2e-12 s/byte, bandwidth\nrows = 30\nfloor = 1e-5 s/launch, floor\n");

    (void)state;
    assert_int_equal(cal->shared.n, 1);
    assert_int_equal(cal->shared.of[0].devices, 2);
    assert_int_equal(cal->shared.of[0].rows, 7);
    assert_close(cal->shared.of[0].update, 1.5, 0);
    assert_true(isnan(cal->shared.of[0].forward));
    assert_int_equal(cal->composed->inference.rows, 3);
    assert_close(cal->composed->inference.of[WHOLE_PRODUCTS], 0.5, 0);
    assert_int_equal(cal->composed->step.rows, 0);
    assert_close(cal->composed->step.of[WHOLE_PRODUCTS], 1, 0);
    assert_int_equal(cal->max_ranks, 8);
    assert_int_equal(cal->max_hosts, 2);
    assert_true(cal->transferred);
    assert_int_equal(cal->dtype, LM_BF16);
    assert_int_equal(cal->operators->of[LAUNCH_MAP].rows, 30);
    assert_close(1e12 * cal->operators->of[LAUNCH_MAP].columns.column[0].price, 2, 1e-12);
    calibration_free(cal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_section_is_refused_by_line),
        cmocka_unit_test(powers_are_read_as_they_were),
        cmocka_unit_test(what_was_measured_is_read_as_it_was),
        cmocka_unit_test(curves_are_read_as_they_were),
        cmocka_unit_test(intervals_are_read_as_they_were),
        cmocka_unit_test(keys_stand_in_any_order),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
