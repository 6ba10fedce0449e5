/* All-reduces: their columns by hand, and prices that made the times come back. */
#include "collective_rows.h"

#include "fabric/collective.h"
#include "fabric/scheme.h"

/* ---- columns --------------------------------------------------------------------------------- */

/* 4 nodes of 2 devices, 1024 bytes: n = 8, V = 2 x 7/8 x 1024 = 1792; log2 4 = 2 steps, 3 in a
 * ring; between nodes 2 x 3/4 x 1024 / 2 = 768 for each device. */
/* A rank of n sends (n - 1) / n of its message in each pass: Patarasuk & Yuan 2009. */
static void every_kind_has_its_row(void **state)
{
    /* 100 bytes on 4 devices of a node, a rank's bytes: nccl-tests, doc/PERFORMANCE.md; ... */
    static const double by_hand[] = { 150, 75, 75, 75, 100, 100 };
    /* ... on 4 nodes of 2 devices, a node's: 7/8 of it, of all-to-alls 2 x 3/4 ... */
    static const double between[] = { 175, 87.5, 87.5, 150, 100, 100 };
    /* ... and what a device sends to others, 3/4 (of all, in two passes, of all-reduces) / 2. */
    static const double of_a_device[] = { 75, 37.5, 37.5, 75, 50, 50 };
    lm_error            err;
    collective_kind     kind;

    (void)state;
    assert_int_equal(sizeof by_hand / sizeof by_hand[0], N_COLLECTIVE_KINDS);
    for (collective_kind k = 0; k < N_COLLECTIVE_KINDS; k++) {
        const collective_type *t = &collective_types[k];
        double                 x[N_SYNC_COLUMNS];

        assert_int_equal(collective_kind_parse(t->name, &kind, &err), LM_OK);
        assert_int_equal(kind, k);
        assert_int_equal(collective_kind_spelled(t->spelled[0]), k);
        assert_true(t->passes > 0);
        assert_true(collective_algorithm_known(k, ALGORITHM_DEFAULT)->measured);
        assert_null(collective_algorithm_known(k, "no such")->name);
        sync_columns(&(collective_call){ k, 100, 1, 4, 1 }, false, 0, x);
        assert_close(x[SYNC_BYTES], by_hand[k], 1e-12);
        sync_columns(&(collective_call){ k, 100, 4, 2, 1 }, false, 0, x);
        assert_close(x[SYNC_BYTES], between[k], 1e-12);
        assert_close(x[SYNC_RAIL_BYTES], of_a_device[k], 1e-12);
        sync_columns(&(collective_call){ k, 100, 4, 2, 3 }, false, 0, x);
        assert_close(x[SYNC_BYTES], 3 * between[k], 1e-12);
        assert_close(x[SYNC_RAIL_BYTES], of_a_device[k], 1e-12);
    }
    assert_int_equal(collective_kind_parse("all-reduce", &kind, &err), LM_E_NOTFOUND);
    assert_int_equal(collective_kind_spelled("alltohell"), N_COLLECTIVE_KINDS);
}

static void columns_are_those_by_hand(void **state)
{
    const collective_call a = { COLLECTIVE_ALLREDUCE, 1024, 4, 2, 1 };
    double                x[N_SYNC_COLUMNS];

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
    sync_columns(&(collective_call){ COLLECTIVE_ALLREDUCE, 100, 1, 4, 1 }, false, 0, x);
    assert_close(x[SYNC_STEPS], 2, 0);
    assert_close(x[SYNC_BYTES], 150, 0);
    assert_close(x[SYNC_DEVICES], 0, 0);
    assert_close(x[SYNC_RAIL_BYTES], 0, 0);
    assert_int_equal(fabric_of(&(collective_call){ COLLECTIVE_ALLREDUCE, 100, 1, 4, 1 }),
                     FABRIC_ONE);
    assert_int_equal(fabric_of(&(collective_call){ COLLECTIVE_ALLREDUCE, 100, 2, 1, 1 }),
                     FABRIC_MULTI);
}

static void two_nodes_have_bytes_of_their_own(void **state)
{
    double x[N_SYNC_COLUMNS];

    (void)state;
    sync_columns(&(collective_call){ COLLECTIVE_ALLREDUCE, 100, 2, 1, 1 }, false, 0, x);
    assert_close(x[SYNC_BYTES], 0, 0);
    assert_close(x[SYNC_BYTES_TWO], 100, 0);
}

/* n = 8: Hockney 14 messages and 1.75 S; log2 3; PALEO 14, 6, 3, 1 times S. */
static void baselines_are_those_published(void **state)
{
    const collective_call a = { COLLECTIVE_ALLREDUCE, 1000, 4, 2, 1 };
    double                x[BASELINE_COLUMNS];

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

/* ---- fits ------------------------------------------------------------------------------------ */

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
    assert_close(
        collective_seconds(found, NULL, NULL,
                           &(collective_call){ COLLECTIVE_ALLREDUCE, 5e6, 64, 4, 1 }) /
            priced(&usual, &(collective_call){ COLLECTIVE_ALLREDUCE, 5e6, 64, 4, 1 }, false),
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
            m.row[m.n++] = (collective_time){ { COLLECTIVE_ALLREDUCE, bytes, 1, 2, 1 },
                                              "default",
                                              1e-6 + 2e-10 * bytes +
                                                  spills * 3e-10 * fmax(0, bytes - (1 << 22)) };
        found = fit(&m);
        one   = &found->algorithm[0].of[FABRIC_ONE];
        assert_close(one->cache, spills ? 1 << 22 : 0, 0);
        assert_close(one->plane[0].price[SYNC_SPILLED_BYTES], spills * 3e-10, 1e-14);
        assert_close(collective_seconds(found, NULL, NULL,
                                        &(collective_call){ COLLECTIVE_ALLREDUCE, 3e7, 1, 2, 1 }),
                     1e-6 + 6e-3 + spills * 3e-10 * (3e7 - (1 << 22)), 1e-6);
        collective_free(found);
    }
}

/* Patarasuk & Yuan's ring: 2 (n - 1) messages of 50 us, V bytes at 1 GB/s. Hockney's formula is
 * that ring, and finds both; so does ours, with half as many steps. */
static void a_ring_is_found_by_hockney_and_by_us(void **state)
{
    made                  m = { .n = 0 };
    collective_model     *found;
    const collective_call asked = { COLLECTIVE_ALLREDUCE, 3e6, 32, 1, 1 };
    double                truth;

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
    const sync_plane      doubling = { { [SYNC_STEPS] = 1e-5, [SYNC_TREE_BYTES] = 1e-10 } };
    made                  m        = { .n = 0 };
    const collective_call asked    = { COLLECTIVE_ALLREDUCE, 1e8, 128, 1, 1 };
    collective_model     *found;

    (void)state;
    for (int64_t nodes = 2; nodes <= 32; nodes *= 2)
        make(&m, "default", &doubling, nodes, 1);
    found = fit(&m);
    assert_close(collective_seconds(found, NULL, NULL, &asked) / priced(&doubling, &asked, false),
                 1, 1e-3);
    collective_free(found);
}

/* What is forced sends what its name says: recursive doubling all bytes in each step, which one
 * number of nodes does not tell, Rabenseifner's algorithm never more than a ring (Thakur et al.
 * 2005). */
static void forced_algorithms_send_what_their_names_say(void **state)
{
    const sync_plane      doubling = { { [SYNC_STEPS] = 1e-5, [SYNC_TREE_BYTES] = 1e-10 } };
    const collective_call asked    = { COLLECTIVE_ALLREDUCE, 1e8, 128, 1, 1 };
    collective_model     *found;

    (void)state;
    for (int64_t most = 4; most <= 8; most *= 2) {
        made m = { .n = 0 };

        for (int64_t nodes = 4; nodes <= most; nodes *= 2)
            make(&m, "recursive_doubling", &doubling, nodes, 1);
        found = fit(&m);
        assert_close(collective_seconds(found, NULL, NULL, &asked) /
                         priced(&doubling, &asked, false),
                     1, 1e-3);
        collective_free(found);
    }
    for (int ours = 0; ours < 2; ours++) {
        made m = { .n = 0 };

        for (int64_t nodes = 2; nodes <= 32; nodes *= 2)
            make(&m, ours ? "rabenseifner" : "other", &doubling, nodes, 1);
        found = fit(&m);
        assert_true((found->algorithm[0].of[FABRIC_MULTI].plane[0].price[SYNC_TREE_BYTES] == 0) ==
                    ours);
        collective_free(found);
    }
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
            const collective_call a = { COLLECTIVE_ALLREDUCE, bytes, nodes, 1, 1 };

            m.row[m.n++] =
                (collective_time){ a, "default",
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
    made                  m     = { .n = 0 };
    const collective_call asked = { COLLECTIVE_ALLREDUCE, 1e7, 32, 1, 1 };
    collective_model     *found;

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
    collective_answer answer;
    lm_error          err;

    (void)state;
    make(&m, "default", &usual, 2, 1);
    found = fit(&m);
    p     = &found->algorithm[0].of[FABRIC_MULTI].plane[0];
    assert_true(p->price[SYNC_BYTES] == p->price[SYNC_BYTES_TWO] && p->price[SYNC_BYTES] > 0);
    /* all of the latency is taken to grow with the nodes, and that is said */
    assert_true(p->price[SYNC_START] == 0);
    assert_int_equal(collective_ask(found, NULL, NULL,
                                    &(collective_call){ COLLECTIVE_ALLREDUCE, 1e6, 8, 1, 1 },
                                    &answer, &err),
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
    const collective_time row[] = { { { COLLECTIVE_ALLREDUCE, 1000, 2, 1, 1 }, "default", 1e-3 },
                                    { { COLLECTIVE_ALLREDUCE, 1e6, 2, 1, 1 }, "default", 2e-3 },
                                    { { COLLECTIVE_ALLREDUCE, 1000, 3, 1, 1 }, "alone", 1e-3 } };
    collective_model     *found;
    lm_error              err;

    (void)state;
    assert_int_equal(collective_fit(row, 3, &found, &err), LM_OK);
    assert_int_equal(found->n, 1); /* one row is no fit */
    assert_close(collective_seconds(found, NULL, NULL, &row[1].of), 2e-3, 1e-9);
    collective_free(found);
    assert_int_equal(collective_fit(row, 0, &found, &err), LM_OK);
    assert_int_equal(found->n, 0);
    collective_free(found);
    assert_int_equal(
        collective_fit(&(collective_time){ { COLLECTIVE_ALLREDUCE, 0, 2, 1, 1 }, "default", 1 }, 1,
                       &found, &err),
        LM_E_ARG);
    assert_int_equal(
        collective_fit(&(collective_time){ { COLLECTIVE_ALLREDUCE, 1, 1, 1, 1 }, "default", 1 }, 1,
                       &found, &err),
        LM_E_ARG);
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
        cmocka_unit_test(forced_algorithms_send_what_their_names_say),
        cmocka_unit_test(a_second_plane_comes_in_where_it_helps),
        cmocka_unit_test(outliers_weigh_little),
        cmocka_unit_test(bytes_between_two_nodes_stand_in_for_more),
        cmocka_unit_test(every_kind_has_its_row),
        cmocka_unit_test(small_and_odd_sets_are_fitted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
