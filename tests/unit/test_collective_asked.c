/* What models of all-reduces answer, and the files that keep them. */
#include "collective_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabric/collective.h"
#include "fabric/scheme.h"
#include "machine_text.h"

/* All-reduces within nodes of 2 to 8 devices, or between nodes of one. */
static collective_model *model_of(bool within, bool between)
{
    made m = { .n = 0 };

    for (int64_t n = 2; n <= 8; n *= 2) {
        if (within)
            make(&m, "default", &(sync_plane){ { [SYNC_STEPS] = 1e-6, [SYNC_BYTES] = 1e-11 } }, 1,
                 n);
        if (between)
            make(&m, "default", &usual, n, 1);
    }
    return fit(&m);
}

static void assert_refused(const collective_model *m, const interconnect *link, collective_call a,
                           const char *text)
{
    collective_answer answer;
    lm_error          err;

    assert_int_equal(collective_ask(m, NULL, link, &a, &answer, &err), LM_E_NOTFOUND);
    assert_non_null(strstr(err.text, text));
    assert_true(isnan(collective_seconds(m, NULL, link, &a)));
}

static void what_was_not_measured_is_refused(void **state)
{
    collective_model *one = model_of(true, false), *multi = model_of(false, true);

    (void)state;
    assert_refused(one, NULL, (collective_call){ COLLECTIVE_ALLREDUCE, 1e6, 2, 1, 1 },
                   "predict one node (--devices-per-node 2)");
    assert_refused(one, NULL, (collective_call){ COLLECTIVE_ALLREDUCE, 1e6, 2, 1, 1 },
                   "--bandwidth 10Gbit/s");
    assert_refused(multi, NULL, (collective_call){ COLLECTIVE_ALLREDUCE, 1e6, 1, 2, 1 },
                   "within a node were not measured");
    assert_refused(NULL, NULL, (collective_call){ COLLECTIVE_ALLREDUCE, 1e6, 2, 1, 1 },
                   "calibrate on 2 ranks or more");
    assert_refused(NULL, &(interconnect){ .bytes_per_second = 1e9 },
                   (collective_call){ COLLECTIVE_ALLREDUCE, 1e6, 2, 2, 1 }, "calibrate on");
    collective_free(one);
    collective_free(multi);
}

static void no_bytes_or_nodes_are_an_error(void **state)
{
    collective_model     *m     = model_of(true, true);
    const collective_call bad[] = { { COLLECTIVE_ALLREDUCE, NAN, 2, 1, 1 },
                                    { COLLECTIVE_ALLREDUCE, 1, 0, 1, 1 },
                                    { COLLECTIVE_ALLREDUCE, 1, 2, 0, 1 },
                                    { COLLECTIVE_ALLREDUCE, -1, 2, 1, 1 },
                                    { COLLECTIVE_ALLREDUCE, 1, -2, 1, 1 } };
    collective_answer     answer;
    lm_error              err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(collective_ask(m, NULL, NULL, &bad[i], &answer, &err), LM_E_ARG);
        assert_true(isnan(collective_seconds(m, NULL, NULL, &bad[i])));
    }
    assert_int_equal(collective_ask(m, "ring", NULL,
                                    &(collective_call){ COLLECTIVE_ALLREDUCE, 1, 2, 1, 1 }, &answer,
                                    &err),
                     LM_E_NOTFOUND);
    assert_string_equal(err.text,
                        "no all-reduce by the algorithm 'ring' was measured; 'default' was");
    collective_free(m);
}

static void one_rank_takes_no_time(void **state)
{
    collective_model *m = model_of(true, true);
    collective_answer answer;
    lm_error          err;

    (void)state;
    assert_true(collective_seconds(m, NULL, NULL,
                                   &(collective_call){ COLLECTIVE_ALLREDUCE, 1e9, 1, 1, 1 }) == 0);
    assert_true(collective_seconds(NULL, NULL, NULL,
                                   &(collective_call){ COLLECTIVE_ALLREDUCE, 1e9, 1, 1, 1 }) == 0);
    assert_int_equal(collective_ask(m, NULL, NULL,
                                    &(collective_call){ COLLECTIVE_ALLREDUCE, 1e9, 1, 1, 1 },
                                    &answer, &err),
                     LM_OK);
    assert_true(answer.seconds == 0 && !answer.n && !answer.n_beyond);
    assert_true(collective_baseline(m, NULL, BASELINE_PALEO + PALEO_BUTTERFLY_MIXING,
                                    &(collective_call){ COLLECTIVE_ALLREDUCE, 1e9, 1, 1, 1 }) == 0);
    collective_free(m);
}

/* A link of which 1 GB/s is reached: 1.5 S for 4 nodes, and 2 log2 4 = 4 times 20 us.
 */
static void a_link_that_is_told_is_assumed(void **state)
{
    const interconnect    link = { .bytes_per_second = 1e9 / 0.69, .latency = 2e-5 };
    collective_model     *one  = model_of(true, false);
    const collective_call flat = { COLLECTIVE_ALLREDUCE, 1e6, 4, 1, 1 },
                          both = { COLLECTIVE_ALLREDUCE, 1e6, 4, 8, 1 };
    collective_answer answer;
    lm_error          err;

    (void)state;
    assert_int_equal(collective_ask(NULL, NULL, &link, &flat, &answer, &err), LM_OK);
    assert_close(answer.seconds, 1.5e-3 + 8e-5, 1e-12);
    assert_true(answer.assumed && answer.share[0].assumed);
    assert_string_equal(answer.beyond[0].what, "network between nodes as given");
    /* within the node what was measured there: 3 us and 1.75 S of 1e-11 */
    assert_int_equal(collective_ask(one, NULL, &link, &both, &answer, &err), LM_OK);
    assert_close(answer.seconds / (1.5e-3 + 8e-5 + 3e-6 + 1.75e-5), 1, 1e-6);
    collective_free(one);
}

/* Of 1 GB/s a device reaches 0.25: alone it takes 1.5 S / 0.25, and 4 of 8 devices take 1.5 S, as do all. Four
 * groups of one device each send 4 x 1.5 S over the whole. */
static void a_device_has_its_share_of_a_link(void **state)
{
    const interconnect link = { .bytes_per_second = 1e9 / 0.69,
                                .per_device       = 0.25e9 / 0.69,
                                .latency          = 2e-5 };
    collective_model  *one  = model_of(true, false);
    const struct {
        int64_t devices, groups;
        double  seconds;
    } asked[] = { { 1, 1, 6e-3 }, { 1, 0, 6e-3 }, { 1, 2, 6e-3 }, { 1, 4, 6e-3 }, { 1, 8, 12e-3 } };

    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        const collective_call a = { COLLECTIVE_ALLREDUCE, 1e6, 4, asked[i].devices,
                                    asked[i].groups };

        assert_close(collective_seconds(NULL, NULL, &link, &a) / (asked[i].seconds + 8e-5), 1,
                     1e-9);
    }
    for (int64_t devices = 2; devices <= 8; devices *= 2) {
        const collective_call both = { COLLECTIVE_ALLREDUCE, 1e6, 4, devices, 1 };
        const collective_call own  = { COLLECTIVE_ALLREDUCE, 1e6, 1, devices, 1 };
        const double          sent = devices == 2 ? 3e-3 : 1.5e-3;

        assert_close((collective_seconds(one, NULL, &link, &both) -
                      collective_seconds(one, NULL, NULL, &own)) /
                         (sent + 8e-5),
                     1, 1e-6);
    }
    collective_free(one);
}

/* Between nodes of one device each, and within nodes: both, one after the other. */
static void devices_add_what_they_take_within_a_node(void **state)
{
    collective_model     *m = model_of(true, true);
    const collective_call a = { COLLECTIVE_ALLREDUCE, 1e7, 4, 8, 1 };

    (void)state;
    assert_close(collective_seconds(m, NULL, NULL, &a),
                 collective_seconds(m, NULL, NULL,
                                    &(collective_call){ COLLECTIVE_ALLREDUCE, 1e7, 4, 1, 1 }) +
                     collective_seconds(m, NULL, NULL,
                                        &(collective_call){ COLLECTIVE_ALLREDUCE, 1e7, 1, 8, 1 }),
                 1e-12);
    collective_free(m);
}

static void a_link_does_not_replace_what_was_measured(void **state)
{
    collective_model     *m = model_of(false, true);
    const collective_call a = { COLLECTIVE_ALLREDUCE, 1e7, 4, 1, 1 };

    (void)state;
    assert_true(collective_seconds(m, NULL, &(interconnect){ .bytes_per_second = 1, .latency = 1 },
                                   &a) == collective_seconds(m, NULL, NULL, &a));
    collective_free(m);
}

static void shares_add_up_and_ranges_are_told(void **state)
{
    collective_model     *m = model_of(true, true);
    const collective_call a = { COLLECTIVE_ALLREDUCE, 4.0 * (1 << 30), 64, 8, 1 };
    collective_answer     answer;
    lm_error              err;
    double                sum = 0;

    (void)state;
    assert_int_equal(collective_ask(m, NULL, NULL, &a, &answer, &err), LM_OK);
    for (size_t i = 0; i < answer.n; i++) {
        sum += answer.share[i].seconds;
        assert_close(answer.share[i].seconds, answer.share[i].price * answer.share[i].count, 0);
    }
    assert_close(sum, answer.seconds, 1e-15);
    assert_close(answer.seconds, collective_seconds(m, NULL, NULL, &a), 1e-12);
    assert_int_equal(answer.n_beyond, 3); /* bytes twice, nodes; 8 devices were measured within */
    assert_string_equal(answer.beyond[1].what, "nodes");
    assert_close(answer.beyond[1].factor, 8, 0);
    collective_free(m);
}

/* More bytes never take less time, nor does one more round of nodes between more than two. */
static void times_grow_with_bytes_and_nodes(void **state)
{
    collective_model *m = model_of(true, true);

    (void)state;
    for (int64_t nodes = 1; nodes <= 1024; nodes *= 2)
        for (int64_t devices = 1; devices <= 16; devices *= 2) {
            double last = 0;

            for (double bytes = 1; bytes < 1e12 && nodes * devices > 1; bytes *= 3) {
                const double t = collective_seconds(
                    m, NULL, NULL,
                    &(collective_call){ COLLECTIVE_ALLREDUCE, bytes, nodes, devices, 1 });

                assert_true(t > last);
                last = t;
                if (nodes > 2)
                    assert_true(collective_seconds(m, NULL, NULL,
                                                   &(collective_call){ COLLECTIVE_ALLREDUCE, bytes,
                                                                       2 * nodes, devices, 1 }) >=
                                t);
            }
        }
    collective_free(m);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The all-reduces of a machine file, to be freed. */
static collective_model *taken(calibration *cal)
{
    collective_model *m = cal->collectives;

    cal->collectives = NULL;
    calibration_free(cal);
    return m;
}

static void files_hold_all_of_a_model(void **state)
{
    collective_model *m   = model_of(true, true), *back;
    calibration       cal = { .collectives = m };

    (void)state;
    back = taken(machine_text_again(&cal));
    assert_int_equal(back->n, m->n);
    for (int64_t nodes = 1; nodes <= 8; nodes *= 2)
        for (int64_t devices = 1; devices <= 8; devices *= 2) {
            const collective_call a = { COLLECTIVE_ALLREDUCE, 12345678, nodes, devices, 1 };

            assert_true(collective_seconds(back, NULL, NULL, &a) ==
                        collective_seconds(m, NULL, NULL, &a));
            assert_true(devices > 1 || nodes == 1 ||
                        collective_baseline(back, NULL, BASELINE_LOG2, &a) ==
                            collective_baseline(m, NULL, BASELINE_LOG2, &a));
        }
    assert_close(back->algorithm[0].of[FABRIC_MULTI].nodes.high, 8, 0);
    collective_free(m);
    collective_free(back);
}

#define HEAD "rows = 4\nbytes_range = 1 .. 2\nnodes_range = 1 .. 1\ndevices_range = 2 .. 4\n"
#define PLANE                                                                            \
    "start = 1 s/all-reduce\nsteps = 1 s/step\nbytes = 1 s/byte\npipeline = 0 s/chunk\n" \
    "chunks = 0 s/chunk\ntree_bytes = 0 s/byte\n"

static void broken_files_are_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } broken[] = {
        { "[allreduce.default.some]\n" HEAD PLANE, ":1: [allreduce.default.some]: expected" },
        { "[allreduce.one]\n" HEAD PLANE, "expected [allreduce.ALGORITHM.one]" },
        { "[allreduce.a b.one]\n" HEAD PLANE, "letters, digits" },
        { "[allreduce.default.one]\n" HEAD, "'start' is missing" },
        { "[allreduce.default.one]\n" PLANE, "'rows' is missing" },
        { "[allreduce.default.one]\nrows = 1\n" PLANE, "'bytes_range' is missing" },
        { "[allreduce.default.one]\n" HEAD PLANE "second.start = 1 s/all-reduce\n",
          "'second.steps' is missing" },
        { "[allreduce.default.one]\n" HEAD "start = 1 s/byte\n", ":6: start: expected a number" },
        { "[allreduce.default.one]\n" HEAD "start = 1\n", "start: expected a number" },
        { "[allreduce.default.one]\n" HEAD "start = -1 s/all-reduce\n",
          "start: expected 0 or more, found '-1 s/all-reduce'" },
        { "[allreduce.default.one]\n" HEAD "start = nan s/all-reduce\n", "start" },
        { "[allreduce.default.one]\n" HEAD "bytes_two = 1 s/byte\n", "'bytes_two' is not a key" },
        { "[allreduce.default.one]\nrows = 0\n", "rows: expected 1 or more, found '0'" },
        { "[allreduce.default.one]\nnodes_range = 2\n", "expected two numbers with .. between" },
        { "[allreduce.default.one]\nnodes_range = 2 .. 1\n", "upwards" },
        { "[allreduce.default.one]\nnodes_range = 0 .. 1\n", "above 0" },
        { "[allreduce.default.one]\nhockney.ring = 0\n", "'hockney.ring' is not a key" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        calibration *cal = NULL;
        lm_error     err;

        assert_int_not_equal(machine_text_load(broken[i].text, &cal, &err), LM_OK);
        assert_non_null(strstr(err.text, broken[i].says));
    }
}

static void baselines_that_are_not_in_a_file_answer_nothing(void **state)
{
    collective_model     *m = taken(machine_text_of("[allreduce.default.one]\n" HEAD PLANE));
    const collective_call a = { COLLECTIVE_ALLREDUCE, 8, 1, 2, 1 };

    (void)state;
    assert_close(collective_seconds(m, NULL, NULL, &a), 1 + 1 + 8, 1e-15);
    assert_true(isnan(collective_baseline(m, NULL, BASELINE_HOCKNEY, &a)));
    collective_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_measured_is_refused),
        cmocka_unit_test(no_bytes_or_nodes_are_an_error),
        cmocka_unit_test(one_rank_takes_no_time),
        cmocka_unit_test(a_link_that_is_told_is_assumed),
        cmocka_unit_test(a_device_has_its_share_of_a_link),
        cmocka_unit_test(devices_add_what_they_take_within_a_node),
        cmocka_unit_test(a_link_does_not_replace_what_was_measured),
        cmocka_unit_test(shares_add_up_and_ranges_are_told),
        cmocka_unit_test(times_grow_with_bytes_and_nodes),
        cmocka_unit_test(files_hold_all_of_a_model),
        cmocka_unit_test(broken_files_are_refused),
        cmocka_unit_test(baselines_that_are_not_in_a_file_answer_nothing),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
