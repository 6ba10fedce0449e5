/* All-reduces: columns, fits, what is refused, machine files. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sync/collective.h"
#include "sync/collective_file.h"
#include "sync/scheme.h"

#define ROWS 400

/* ---- columns ------------------------------------------------------------------------------------
 */

/* 4 nodes of 2 devices, 1024 bytes: n = 8, V = 2 x 7/8 x 1024 = 1792; log2 4 = 2 steps, 3 in a
 * ring; between nodes 2 x 3/4 x 1024 / 2 = 768 for each device. */
static void columns_are_those_by_hand(void **state)
{
    const allreduce a = { 1024, 4, 2 };
    double          x[N_SYNC_COLUMNS];

    (void)state;
    sync_columns(&a, false, 0, x);
    assert_close(x[SYNC_START], 1, 0);
    assert_close(x[SYNC_STEPS], 2, 0);
    assert_close(x[SYNC_BYTES], 1792, 0);
    assert_close(x[SYNC_BYTES_TWO], 0, 0);
    assert_close(x[SYNC_PIPELINE], sqrt(2048), 1e-15);
    assert_close(x[SYNC_CHUNKS], 2 * 32, 0);
    assert_close(x[SYNC_TREE_BYTES], 2048, 0);
    assert_close(x[SYNC_DEVICES], 1, 0);
    assert_close(x[SYNC_RAIL_BYTES], 768, 0);
    sync_columns(&a, true, 0, x);
    assert_close(x[SYNC_STEPS], 3, 0);
    assert_close(x[SYNC_PIPELINE], sqrt(3072), 1e-15);
}

/* Within a node of 4 devices: n = 4, V = 2 x 3/4 x 100 = 150. */
static void within_a_node_devices_take_the_place_of_nodes(void **state)
{
    double x[N_SYNC_COLUMNS];

    (void)state;
    sync_columns(&(allreduce){ 100, 1, 4 }, false, 0, x);
    assert_close(x[SYNC_STEPS], 2, 0);
    assert_close(x[SYNC_BYTES], 150, 0);
    assert_close(x[SYNC_DEVICES], 0, 0);
    assert_close(x[SYNC_RAIL_BYTES], 0, 0);
    assert_int_equal(fabric_of(&(allreduce){ 100, 1, 4 }), FABRIC_ONE);
    assert_int_equal(fabric_of(&(allreduce){ 100, 2, 1 }), FABRIC_MULTI);
}

static void two_nodes_have_bytes_of_their_own(void **state)
{
    double x[N_SYNC_COLUMNS];

    (void)state;
    sync_columns(&(allreduce){ 100, 2, 1 }, false, 0, x);
    assert_close(x[SYNC_BYTES], 0, 0);
    assert_close(x[SYNC_BYTES_TWO], 100, 0);
}

/* n = 8: Hockney 14 messages and 1.75 S; log2 3; PALEO 14, 6, 3, 1 times S. */
static void baselines_are_those_published(void **state)
{
    const allreduce a = { 1000, 4, 2 };
    double          x[BASELINE_COLUMNS];

    (void)state;
    assert_int_equal(sync_baseline_columns(BASELINE_CONVMETER, &a, x), 3);
    assert_true(x[0] == 1 && x[1] == 250 && x[2] == 8);
    assert_int_equal(sync_baseline_columns(BASELINE_HOCKNEY, &a, x), 2);
    assert_true(x[0] == 14 && x[1] == 1750);
    assert_int_equal(sync_baseline_columns(BASELINE_LOG2, &a, x), 3);
    assert_true(x[0] == 1 && x[1] == 3 && x[2] == 3000);
    for (int s = 0; s < N_PALEO_SCHEMES; s++) {
        static const double rounds[] = { 14, 6, 3, 1 };

        assert_int_equal(sync_baseline_columns((sync_baseline)(BASELINE_PALEO + s), &a, x), 1);
        assert_close(x[0], 1000 * rounds[s], 0);
    }
    for (sync_baseline b = 0; b < N_SYNC_BASELINES; b++)
        assert_int_equal(sync_baseline_parse(sync_baseline_name(b)), b);
    assert_int_equal(sync_baseline_parse("mean"), N_SYNC_BASELINES);
}

/* ---- fits ---------------------------------------------------------------------------------------
 */

/* Times by prices: rows of several sizes on so many nodes each. */
typedef struct made {
    allreduce_time row[ROWS];
    size_t         n;
} made;

static double priced(const sync_plane *p, const allreduce *a, bool ring)
{
    double x[N_SYNC_COLUMNS], seconds = 0;

    sync_columns(a, ring, 0, x);
    for (sync_column c = 0; c < N_SYNC_COLUMNS; c++)
        seconds += p->price[c] * x[c];
    return seconds;
}

static void make(made *m, const char *algorithm, const sync_plane *p, int64_t nodes,
                 int64_t devices)
{
    for (double bytes = 1024; bytes <= 1 << 30; bytes *= 4) {
        const allreduce a = { bytes, nodes, devices };

        m->row[m->n++] =
            (allreduce_time){ a, algorithm, priced(p, &a, !strcmp(algorithm, "ring")) };
    }
}

static collective_model *fit(const made *m)
{
    collective_model *found;
    lm_error          err;

    assert_int_equal(collective_fit(m->row, m->n, &found, &err), LM_OK);
    return found;
}

static const sync_plane usual = { { [SYNC_START]     = 2e-5,
                                    [SYNC_STEPS]     = 1e-5,
                                    [SYNC_BYTES]     = 1e-10,
                                    [SYNC_BYTES_TWO] = 5e-11,
                                    [SYNC_PIPELINE]  = 2e-8 } };

static void prices_are_found_again(void **state)
{
    made              m = { .n = 0 };
    collective_model *found;
    const sync_plane *p;

    (void)state;
    for (int64_t nodes = 2; nodes <= 16; nodes *= 2)
        make(&m, "default", &usual, nodes, 4);
    found = fit(&m);
    assert_int_equal(found->n, 1);
    assert_int_equal(found->algorithm[0].of[FABRIC_ONE].rows, 0);
    p = &found->algorithm[0].of[FABRIC_MULTI].plane[0];
    for (sync_column c = 0; c < SYNC_CHUNKS; c++)
        assert_close(p->price[c] / usual.price[c], 1, 1e-3);
    assert_close(collective_seconds(found, NULL, NULL, &(allreduce){ 5e6, 64, 4 }) /
                     priced(&usual, &(allreduce){ 5e6, 64, 4 }, false),
                 1, 1e-3);
    collective_free(found);
}

/* 0.2 ns a byte up to 4 MiB, 0.5 ns beyond: within a node the border is found, and what lies behind
 * it; without one there is none. */
static void messages_leave_caches_within_a_node(void **state)
{
    (void)state;
    for (int spills = 0; spills < 2; spills++) {
        made                m = { .n = 0 };
        collective_model   *found;
        const fabric_model *one;

        for (double bytes = 65536; bytes <= 1 << 28; bytes *= 4)
            m.row[m.n++] = (allreduce_time){ { bytes, 1, 2 },
                                             "default",
                                             1e-6 + 2e-10 * bytes +
                                                 spills * 3e-10 * fmax(0, bytes - (1 << 22)) };
        found = fit(&m);
        one   = &found->algorithm[0].of[FABRIC_ONE];
        assert_close(one->cache, spills ? 1 << 22 : 0, 0);
        assert_close(one->plane[0].price[SYNC_SPILLED_BYTES], spills * 3e-10, 1e-14);
        assert_close(collective_seconds(found, NULL, NULL, &(allreduce){ 3e7, 1, 2 }),
                     1e-6 + 6e-3 + spills * 3e-10 * (3e7 - (1 << 22)), 1e-6);
        collective_free(found);
    }
}

/* Patarasuk & Yuan's ring: 2 (n - 1) messages of 50 us, V bytes at 1 GB/s. Hockney's formula is
 * that ring, and finds both; so does ours, with half as many steps. */
static void a_ring_is_found_by_hockney_and_by_us(void **state)
{
    made              m = { .n = 0 };
    collective_model *found;
    const allreduce   asked = { 3e6, 32, 1 };
    double            truth;

    (void)state;
    for (int64_t nodes = 2; nodes <= 8; nodes *= 2)
        make(&m, "ring",
             &(sync_plane){ { [SYNC_STEPS] = 1e-4, [SYNC_BYTES] = 1e-9, [SYNC_BYTES_TWO] = 1e-9 } },
             nodes, 1);
    found = fit(&m);
    assert_true(found->algorithm[0].of[FABRIC_MULTI].ring);
    truth = 62 * 5e-5 + 2.0 * 31 / 32 * 3e6 * 1e-9;
    assert_close(collective_seconds(found, "ring", NULL, &asked) / truth, 1, 1e-6);
    assert_close(collective_baseline(found, "ring", BASELINE_HOCKNEY, &asked) / truth, 1, 1e-6);
    assert_close(found->algorithm[0].of[FABRIC_MULTI].baseline[BASELINE_HOCKNEY][0], 5e-5, 1e-9);
    assert_close(found->algorithm[0].of[FABRIC_MULTI].baseline[BASELINE_HOCKNEY][1], 1e-9, 1e-12);
    collective_free(found);
}

/* Recursive doubling: log2 N times all bytes. The usual columns do not have that; what is left out
 * says so. */
static void bytes_of_every_step_come_in_where_they_help(void **state)
{
    const sync_plane  doubling = { { [SYNC_STEPS] = 1e-5, [SYNC_TREE_BYTES] = 1e-10 } };
    made              m        = { .n = 0 };
    const allreduce   asked    = { 1e8, 128, 1 };
    collective_model *found;

    (void)state;
    for (int64_t nodes = 2; nodes <= 32; nodes *= 2)
        make(&m, "recursive_doubling", &doubling, nodes, 1);
    found = fit(&m);
    assert_close(collective_seconds(found, NULL, NULL, &asked) / priced(&doubling, &asked, false),
                 1, 1e-3);
    collective_free(found);
}

/* One protocol for small messages and one for large ones, the cheaper of which is taken. */
static void a_second_plane_comes_in_where_it_helps(void **state)
{
    const sync_plane small = {
        { [SYNC_STEPS] = 2e-6, [SYNC_BYTES] = 2e-9, [SYNC_BYTES_TWO] = 2e-9 }
    };
    const sync_plane large = {
        { [SYNC_STEPS] = 2e-3, [SYNC_BYTES] = 1e-10, [SYNC_BYTES_TWO] = 1e-10 }
    };
    made              m = { .n = 0 };
    collective_model *found;

    (void)state;
    for (int64_t nodes = 2; nodes <= 32; nodes *= 2)
        for (double bytes = 1024; bytes <= 1 << 30; bytes *= 2) {
            const allreduce a = { bytes, nodes, 1 };

            m.row[m.n++] =
                (allreduce_time){ a, "default",
                                  fmin(priced(&small, &a, false), priced(&large, &a, false)) };
        }
    found = fit(&m);
    assert_int_equal(found->algorithm[0].of[FABRIC_MULTI].n_planes, 2);
    for (size_t i = 0; i < m.n; i++)
        assert_close(collective_seconds(found, NULL, NULL, &m.row[i].of) / m.row[i].seconds, 1,
                     0.02);
    collective_free(found);
}

/* A tenth of the rows at four times their time: a bad choice of the library, or a busy network. */
static void outliers_weigh_little(void **state)
{
    made              m     = { .n = 0 };
    const allreduce   asked = { 1e7, 32, 1 };
    collective_model *found;

    (void)state;
    for (int64_t nodes = 2; nodes <= 16; nodes *= 2)
        make(&m, "default", &usual, nodes, 1);
    for (size_t i = 0; i < m.n; i += 10)
        m.row[i].seconds *= 4;
    found = fit(&m);
    assert_close(collective_seconds(found, NULL, NULL, &asked) / priced(&usual, &asked, false), 1,
                 0.1);
    collective_free(found);
}

static void bytes_between_two_nodes_stand_in_for_more(void **state)
{
    made              m = { .n = 0 };
    collective_model *found;
    const sync_plane *p;
    allreduce_answer  answer;
    lm_error          err;

    (void)state;
    make(&m, "default", &usual, 2, 1);
    found = fit(&m);
    p     = &found->algorithm[0].of[FABRIC_MULTI].plane[0];
    assert_true(p->price[SYNC_BYTES] == p->price[SYNC_BYTES_TWO] && p->price[SYNC_BYTES] > 0);
    /* all of the latency is taken to grow with the nodes, and that is said */
    assert_true(p->price[SYNC_START] == 0);
    assert_int_equal(collective_ask(found, NULL, NULL, &(allreduce){ 1e6, 8, 1 }, &answer, &err),
                     LM_OK);
    assert_int_equal(answer.n_beyond, 2);
    assert_string_equal(answer.beyond[0].what, "nodes");
    assert_close(answer.beyond[0].factor, 4, 0);
    assert_string_equal(answer.beyond[1].what,
                        "measured on one number of nodes: how latency grows is assumed");
    collective_free(found);
}

static void small_and_odd_sets_are_fitted(void **state)
{
    const allreduce_time row[] = { { { 1000, 2, 1 }, "default", 1e-3 },
                                   { { 1e6, 2, 1 }, "default", 2e-3 },
                                   { { 1000, 3, 1 }, "alone", 1e-3 } };
    collective_model    *found;
    lm_error             err;

    (void)state;
    assert_int_equal(collective_fit(row, 3, &found, &err), LM_OK);
    assert_int_equal(found->n, 1); /* one row is no fit */
    assert_close(collective_seconds(found, NULL, NULL, &row[1].of), 2e-3, 1e-9);
    collective_free(found);
    assert_int_equal(collective_fit(row, 0, &found, &err), LM_OK);
    assert_int_equal(found->n, 0);
    collective_free(found);
    assert_int_equal(
        collective_fit(&(allreduce_time){ { 0, 2, 1 }, "default", 1 }, 1, &found, &err), LM_E_ARG);
    assert_int_equal(
        collective_fit(&(allreduce_time){ { 1, 1, 1 }, "default", 1 }, 1, &found, &err), LM_E_ARG);
}

/* ---- what is asked ------------------------------------------------------------------------------
 */

/* All-reduces within nodes of 2 to 8 devices, or between nodes of one. */
static collective_model *measured_on(bool within, bool between)
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

static void assert_refused(const collective_model *m, const interconnect *link, allreduce a,
                           const char *text)
{
    allreduce_answer answer;
    lm_error         err;

    assert_int_equal(collective_ask(m, NULL, link, &a, &answer, &err), LM_E_NOTFOUND);
    assert_non_null(strstr(err.text, text));
    assert_true(isnan(collective_seconds(m, NULL, link, &a)));
}

static void what_was_not_measured_is_refused(void **state)
{
    collective_model *one = measured_on(true, false), *multi = measured_on(false, true);

    (void)state;
    assert_refused(one, NULL, (allreduce){ 1e6, 2, 1 }, "ask for one node (--devices-per-node 2)");
    assert_refused(one, NULL, (allreduce){ 1e6, 2, 1 }, "--bandwidth 10Gbit/s");
    assert_refused(multi, NULL, (allreduce){ 1e6, 1, 2 }, "within a node were not measured");
    assert_refused(NULL, NULL, (allreduce){ 1e6, 2, 1 }, "calibrate on 2 ranks or more");
    assert_refused(NULL, &(interconnect){ 1e9, 0 }, (allreduce){ 1e6, 2, 2 }, "calibrate on");
    collective_free(one);
    collective_free(multi);
}

static void no_bytes_or_nodes_are_an_error(void **state)
{
    collective_model *m   = measured_on(true, true);
    const allreduce bad[] = { { NAN, 2, 1 }, { 1, 0, 1 }, { 1, 2, 0 }, { -1, 2, 1 }, { 1, -2, 1 } };
    allreduce_answer answer;
    lm_error         err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(collective_ask(m, NULL, NULL, &bad[i], &answer, &err), LM_E_ARG);
        assert_true(isnan(collective_seconds(m, NULL, NULL, &bad[i])));
    }
    assert_int_equal(collective_ask(m, "ring", NULL, &(allreduce){ 1, 2, 1 }, &answer, &err),
                     LM_E_NOTFOUND);
    assert_string_equal(err.text,
                        "no all-reduce by the algorithm 'ring' was measured; 'default' was");
    collective_free(m);
}

static void one_rank_takes_no_time(void **state)
{
    collective_model *m = measured_on(true, true);
    allreduce_answer  answer;
    lm_error          err;

    (void)state;
    assert_true(collective_seconds(m, NULL, NULL, &(allreduce){ 1e9, 1, 1 }) == 0);
    assert_true(collective_seconds(NULL, NULL, NULL, &(allreduce){ 1e9, 1, 1 }) == 0);
    assert_int_equal(collective_ask(m, NULL, NULL, &(allreduce){ 1e9, 1, 1 }, &answer, &err),
                     LM_OK);
    assert_true(answer.seconds == 0 && !answer.n && !answer.n_beyond);
    assert_true(collective_baseline(m, NULL, BASELINE_PALEO + PALEO_BUTTERFLY_MIXING,
                                    &(allreduce){ 1e9, 1, 1 }) == 0);
    collective_free(m);
}

/* 10 Gbit/s is 1.25 GB/s, of which 1 is reached: 1.5 S for 4 nodes, and 2 log2 4 = 4 times 20 us.
 */
static void a_link_that_is_told_is_assumed(void **state)
{
    const interconnect link = { 1.25e9, 2e-5 };
    collective_model  *one  = measured_on(true, false);
    const allreduce    flat = { 1e6, 4, 1 }, both = { 1e6, 4, 8 };
    allreduce_answer   answer;
    lm_error           err;

    (void)state;
    assert_int_equal(collective_ask(NULL, NULL, &link, &flat, &answer, &err), LM_OK);
    assert_close(answer.seconds, 1.5e-3 + 8e-5, 1e-12);
    assert_true(answer.assumed && answer.share[0].assumed);
    assert_string_equal(answer.beyond[0].what, "network between nodes as told");
    /* within the node what was measured there: 3 us and 1.75 S of 1e-11 */
    assert_int_equal(collective_ask(one, NULL, &link, &both, &answer, &err), LM_OK);
    assert_close(answer.seconds / (1.5e-3 + 8e-5 + 3e-6 + 1.75e-5), 1, 1e-6);
    collective_free(one);
}

/* Between nodes of one device each, and within nodes: both, one after the other. */
static void devices_add_what_they_take_within_a_node(void **state)
{
    collective_model *m = measured_on(true, true);
    const allreduce   a = { 1e7, 4, 8 };

    (void)state;
    assert_close(collective_seconds(m, NULL, NULL, &a),
                 collective_seconds(m, NULL, NULL, &(allreduce){ 1e7, 4, 1 }) +
                     collective_seconds(m, NULL, NULL, &(allreduce){ 1e7, 1, 8 }),
                 1e-12);
    collective_free(m);
}

static void a_link_does_not_replace_what_was_measured(void **state)
{
    collective_model *m = measured_on(false, true);
    const allreduce   a = { 1e7, 4, 1 };

    (void)state;
    assert_true(collective_seconds(m, NULL, &(interconnect){ 1, 1 }, &a) ==
                collective_seconds(m, NULL, NULL, &a));
    collective_free(m);
}

static void shares_add_up_and_ranges_are_told(void **state)
{
    collective_model *m = measured_on(true, true);
    const allreduce   a = { 4.0 * (1 << 30), 64, 8 };
    allreduce_answer  answer;
    lm_error          err;
    double            sum = 0;

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
    collective_model *m = measured_on(true, true);

    (void)state;
    for (int64_t nodes = 1; nodes <= 1024; nodes *= 2)
        for (int64_t devices = 1; devices <= 16; devices *= 2) {
            double last = 0;

            for (double bytes = 1; bytes < 1e12 && nodes * devices > 1; bytes *= 3) {
                const double t =
                    collective_seconds(m, NULL, NULL, &(allreduce){ bytes, nodes, devices });

                assert_true(t > last);
                last = t;
                if (nodes > 2)
                    assert_true(collective_seconds(m, NULL, NULL,
                                                   &(allreduce){ bytes, 2 * nodes, devices }) >= t);
            }
        }
    collective_free(m);
}

/* ---- files --------------------------------------------------------------------------------------
 */

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static lm_status read_all(const char *path, collective_model *m, lm_error *err)
{
    ini_document *doc;
    lm_status     status = ini_load(path, &doc, err);

    for (size_t i = 0; !status && i < doc->n_sections; i++) {
        assert_true(collective_file_owns(&doc->section[i]));
        status = collective_file_read(doc, &doc->section[i], m, err);
    }
    ini_free(doc);
    return status;
}

static void files_hold_all_of_a_model(void **state)
{
    collective_model *m = measured_on(true, true), *back = calloc(1, sizeof *back);
    char              path[] = "/tmp/test_collective.XXXXXX";
    const int         file   = mkstemp(path);
    FILE             *out    = fdopen(file, "w");
    lm_error          err;

    (void)state;
    assert_non_null(out);
    collective_file_write(out, m);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(read_all(path, back, &err), LM_OK);
    assert_int_equal(back->n, m->n);
    for (int64_t nodes = 1; nodes <= 8; nodes *= 2)
        for (int64_t devices = 1; devices <= 8; devices *= 2) {
            const allreduce a = { 12345678, nodes, devices };

            assert_true(collective_seconds(back, NULL, NULL, &a) ==
                        collective_seconds(m, NULL, NULL, &a));
            assert_true(devices > 1 || nodes == 1 ||
                        collective_baseline(back, NULL, BASELINE_LOG2, &a) ==
                            collective_baseline(m, NULL, BASELINE_LOG2, &a));
        }
    assert_close(back->algorithm[0].of[FABRIC_MULTI].nodes.high, 8, 0);
    unlink(path);
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
        { "[allreduce.default.one]\n" HEAD "start = -1 s/all-reduce\n", "a price below 0" },
        { "[allreduce.default.one]\n" HEAD "start = nan s/all-reduce\n", "start" },
        { "[allreduce.default.one]\n" HEAD "bytes_two = 1 s/byte\n", "'bytes_two' is no key" },
        { "[allreduce.default.one]\nrows = 0\n", "rows: must be 1 or more" },
        { "[allreduce.default.one]\nnodes_range = 2\n", "expected a range" },
        { "[allreduce.default.one]\nnodes_range = 2 .. 1\n", "upwards" },
        { "[allreduce.default.one]\nnodes_range = 0 .. 1\n", "above 0" },
        { "[allreduce.default.one]\nhockney.ring = 0\n", "'hockney.ring' is no key" },
    };
    char path[] = "/tmp/test_collective.XXXXXX";

    (void)state;
    close(mkstemp(path));
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        collective_model *m = calloc(1, sizeof *m);
        lm_error          err;

        write_text(path, broken[i].text);
        assert_int_not_equal(read_all(path, m, &err), LM_OK);
        assert_non_null(strstr(err.text, broken[i].says));
        collective_free(m);
    }
    unlink(path);
}

static void baselines_that_are_not_in_a_file_answer_nothing(void **state)
{
    collective_model *m      = calloc(1, sizeof *m);
    char              path[] = "/tmp/test_collective.XXXXXX";
    const allreduce   a      = { 8, 1, 2 };
    lm_error          err;

    (void)state;
    close(mkstemp(path));
    write_text(path, "[allreduce.default.one]\n" HEAD PLANE);
    assert_int_equal(read_all(path, m, &err), LM_OK);
    assert_close(collective_seconds(m, NULL, NULL, &a), 1 + 1 + 8, 1e-15);
    assert_true(isnan(collective_baseline(m, NULL, BASELINE_HOCKNEY, &a)));
    unlink(path);
    collective_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_those_by_hand),
        cmocka_unit_test(within_a_node_devices_take_the_place_of_nodes),
        cmocka_unit_test(two_nodes_have_bytes_of_their_own),
        cmocka_unit_test(baselines_are_those_published),
        cmocka_unit_test(prices_are_found_again),
        cmocka_unit_test(messages_leave_caches_within_a_node),
        cmocka_unit_test(a_ring_is_found_by_hockney_and_by_us),
        cmocka_unit_test(bytes_of_every_step_come_in_where_they_help),
        cmocka_unit_test(a_second_plane_comes_in_where_it_helps),
        cmocka_unit_test(outliers_weigh_little),
        cmocka_unit_test(bytes_between_two_nodes_stand_in_for_more),
        cmocka_unit_test(small_and_odd_sets_are_fitted),
        cmocka_unit_test(what_was_not_measured_is_refused),
        cmocka_unit_test(no_bytes_or_nodes_are_an_error),
        cmocka_unit_test(one_rank_takes_no_time),
        cmocka_unit_test(a_link_that_is_told_is_assumed),
        cmocka_unit_test(devices_add_what_they_take_within_a_node),
        cmocka_unit_test(a_link_does_not_replace_what_was_measured),
        cmocka_unit_test(shares_add_up_and_ranges_are_told),
        cmocka_unit_test(times_grow_with_bytes_and_nodes),
        cmocka_unit_test(files_hold_all_of_a_model),
        cmocka_unit_test(broken_files_are_refused),
        cmocka_unit_test(baselines_that_are_not_in_a_file_answer_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
