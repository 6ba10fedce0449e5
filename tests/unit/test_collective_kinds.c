/* Kinds of collectives beside all-reduces: their own fits, what stands in for them, groups. */
#include "collective_rows.h"

#include "fabric/collective.h"

/* 1 us a step and 0.01 ns a byte within nodes of 2 to 8 devices, `usual` between nodes of one. */
static collective_model *allreduces(void)
{
    made m = { .n = 0 };

    for (int64_t n = 2; n <= 16; n *= 2) {
        if (n <= 8)
            make(&m, "default", &(sync_plane){ { [SYNC_STEPS] = 1e-6, [SYNC_BYTES] = 1e-11 } }, 1,
                 n);
        make(&m, "default", &usual, n, 1);
    }
    return fit(&m);
}

static collective_answer ask(const collective_model *m, const interconnect *link,
                             const collective_call *a)
{
    collective_answer answer;
    lm_error          err;

    assert_int_equal(collective_ask(m, NULL, link, a, &answer, &err), LM_OK);
    assert_close(answer.seconds, collective_seconds(m, NULL, link, a), 1e-12);
    return answer;
}

static bool says(const collective_answer *a, const char *what)
{
    bool any = false;

    for (size_t i = 0; i < a->n_beyond; i++)
        any |= !strcmp(a->beyond[i].what, what);
    return any;
}

/*
 * 8 nodes of one device, 1e6 bytes. `usual`: 20 us a start, 10 us for each of log2 8 steps, 0.1 ns a
 * byte, 20 ns for each of sqrt(3e6) = 1732.05 chunks.
 * One pass is half of an all-reduce's steps and chunks: 15 us and 17.3205 us. Bytes: 7/8 of it, or all.
 * An all-to-all takes 7 steps of half an all-reduce's: 35 us. A send-recv takes one: 5 us, and
 * sqrt(1e6) / 2 = 500 chunks.
 */
static void allreduces_stand_in_by_volume_and_steps(void **state)
{
    static const double by_hand[] = {
        2e-5 + 3e-5 + 1.75e-4 + 3.4641016e-5, /* all-reduce */
        2e-5 + 1.5e-5 + 8.75e-5 + 1.7320508e-5,
        2e-5 + 1.5e-5 + 8.75e-5 + 1.7320508e-5,
        2e-5 + 3.5e-5 + 8.75e-5 + 1.7320508e-5, /* all-to-all */
        2e-5 + 0.5e-5 + 1e-4 + 1e-5,            /* send-recv */
        2e-5 + 1.5e-5 + 1e-4 + 1.7320508e-5,    /* broadcast */
    };
    collective_model *m = allreduces();

    (void)state;
    for (collective_kind k = 0; k < N_COLLECTIVE_KINDS; k++) {
        const collective_answer a   = ask(m, NULL, &(collective_call){ k, 1e6, 8, 1, 1 });
        const bool              own = k == COLLECTIVE_ALLREDUCE;

        assert_close(a.seconds / by_hand[k], 1, 1e-3);
        assert_int_equal(a.assumed, !own);
        assert_int_equal(a.share[0].assumed, !own);
        assert_ptr_equal(a.stand_in, own ? NULL : &collective_types[COLLECTIVE_ALLREDUCE]);
        assert_int_equal(says(&a, "priced by all-reduces: not measured"), !own);
    }
    collective_free(m);
}

/* Within a node of 8: 1 us for each of 3 steps, 1e-11 s a byte, halved where one pass is. */
static void within_a_node_too(void **state)
{
    collective_model *m = allreduces();

    (void)state;
    assert_close(
        ask(m, NULL, &(collective_call){ COLLECTIVE_REDUCESCATTER, 1e6, 1, 8, 1 }).seconds /
            (1.5e-6 + 8.75e-6),
        1, 1e-3);
    assert_close(ask(m, NULL, &(collective_call){ COLLECTIVE_ALLTOALL, 1e6, 1, 8, 1 }).seconds /
                     (3.5e-6 + 8.75e-6),
                 1, 1e-3);
    collective_free(m);
}

/* Both parts: 4 nodes of 2. An all-to-all has 2 devices' pieces between nodes, 2 x 3/4 of it, and a
 * quarter of the pieces stays within a node, of which half moves. */
static void pieces_of_several_devices_share_the_network(void **state)
{
    collective_model       *m   = allreduces();
    const collective_call   a   = { COLLECTIVE_ALLTOALL, 1e6, 4, 2, 1 };
    const collective_answer two = ask(m, NULL, &a);

    (void)state;
    /* 2e6 bytes of both devices: sqrt(2e6 x 2) = 2000 chunks, halved */
    assert_close(two.seconds / (2e-5 + 3 * 5e-6 + 1.5e-4 + 2e-5 + 0.5e-6 + 1.25e-6), 1, 1e-3);
    collective_free(m);
}

/* Two groups of 8 nodes send as much as one of 2e6 bytes; the network was measured with one device a
 * node. Within a node groups do not meet. */
static void groups_share_what_connects_nodes(void **state)
{
    collective_model       *m = allreduces();
    const collective_answer alone =
        ask(m, NULL, &(collective_call){ COLLECTIVE_ALLREDUCE, 2e6, 8, 1, 1 });
    const collective_answer two =
        ask(m, NULL, &(collective_call){ COLLECTIVE_ALLREDUCE, 1e6, 8, 1, 2 });

    (void)state;
    assert_close(two.seconds, alone.seconds, 1e-12);
    assert_true(says(&two, "devices of a node that send at once"));
    assert_close(ask(m, NULL, &(collective_call){ COLLECTIVE_ALLREDUCE, 1e6, 1, 4, 2 }).seconds,
                 ask(m, NULL, &(collective_call){ COLLECTIVE_ALLREDUCE, 1e6, 1, 4, 1 }).seconds, 0);
    collective_free(m);
}

/* All-gathers at three times what all-reduces take between nodes; reduce-scatters are like them. */
static void what_was_measured_answers_for_itself_and_its_like(void **state)
{
    collective_model     *m;
    made                  both = { .n = 0 };
    collective_answer     own, like, within;
    const collective_kind gather = COLLECTIVE_ALLGATHER, scatter = COLLECTIVE_REDUCESCATTER;
    lm_error              err;

    (void)state;
    for (int64_t n = 2; n <= 16; n *= 2) {
        const size_t before = both.n;

        make(&both, "default", &usual, n, 1);
        for (size_t i = before; i < both.n; i++) {
            both.row[i].seconds *= 3;
            both.row[i].of.kind = gather;
        }
        make(&both, "default", &usual, 1, n);
        make(&both, "default", &usual, n, 1);
    }
    m    = fit(&both);
    own  = ask(m, NULL, &(collective_call){ gather, 1e6, 8, 1, 1 });
    like = ask(m, NULL, &(collective_call){ scatter, 1e6, 8, 1, 1 });
    assert_true(!own.assumed && !own.stand_in && like.assumed);
    assert_ptr_equal(like.stand_in, &collective_types[gather]);
    assert_close(like.seconds, own.seconds, 1e-12); /* one pass each */
    /* of what was not measured within a node, there alone */
    within = ask(m, NULL, &(collective_call){ gather, 1e6, 1, 8, 1 });
    assert_ptr_equal(within.stand_in, &collective_types[COLLECTIVE_ALLREDUCE]);
    /* nothing stands in for a named algorithm of what was measured by another */
    assert_int_equal(
        collective_ask(m, "ring", NULL, &(collective_call){ gather, 1, 8, 1, 1 }, &own, &err),
        LM_E_NOTFOUND);
    assert_string_equal(err.text,
                        "no all-gather by the algorithm 'ring' was measured; 'default' was");
    collective_free(m);
}

/* No all-reduces at all: nothing stands in. Of a link 1 GB/s are reached: an all-to-all of 4 nodes of
 * one device sends 3/4 of it in 3 steps; a send-recv all in one. */
static void nothing_is_made_up(void **state)
{
    const interconnect link = { .bytes_per_second = 1e9 / 0.69, .latency = 2e-5 };
    made               m    = { .n = 0 };
    collective_model  *found;
    collective_answer  answer;
    lm_error           err;

    (void)state;
    make(&m, "default", &usual, 2, 1);
    for (size_t i = 0; i < m.n; i++)
        m.row[i].of.kind = COLLECTIVE_BROADCAST;
    found = fit(&m);
    assert_int_equal(collective_ask(found, NULL, NULL,
                                    &(collective_call){ COLLECTIVE_ALLTOALL, 1, 2, 1, 1 }, &answer,
                                    &err),
                     LM_E_NOTFOUND);
    assert_non_null(strstr(err.text, "no all-to-all was measured"));
    collective_free(found);
    assert_close(ask(NULL, &link, &(collective_call){ COLLECTIVE_ALLTOALL, 1e6, 4, 1, 1 }).seconds,
                 7.5e-4 + 6e-5, 1e-12);
    assert_close(ask(NULL, &link, &(collective_call){ COLLECTIVE_SENDRECV, 1e6, 2, 1, 4 }).seconds,
                 4e-3 + 2e-5, 1e-12);
}

/* 8 nodes, 1e6 bytes: 1 ns for each of 1.75e6 bytes are 1.75 ms; by log2's formula 1 ms, 0.1 ms for each of 3
 * doublings, 0.1 ns for each of 3e6 bytes are 1.6 ms. An all-gather has half of its doublings and bytes, a
 * send-recv half of one doubling and all bytes once. */
static void half_of_an_answer_is_by_log2(void **state)
{
    algorithm_model        a    = { .kind = COLLECTIVE_ALLREDUCE, .name = "default" };
    const collective_model m    = { &a, 1 };
    fabric_model          *f    = &a.of[FABRIC_MULTI];
    const double           by[] = { (1.75e-3 + 1.6e-3) / 2, (0.875e-3 + 1.3e-3) / 2 };

    (void)state;
    *f                            = (fabric_model){ .rows                    = 1,
                                                    .n_planes                = 1,
                                                    .bytes                   = { 1, 1e9 },
                                                    .nodes                   = { 2, 8 },
                                                    .devices                 = { 1, 1 },
                                                    .baseline[BASELINE_LOG2] = { 1e-3, 1e-4, 1e-10 } };
    f->plane[0].price[SYNC_BYTES] = 1e-9;
    f->log2_share                 = 0.5;
    for (collective_kind k = COLLECTIVE_ALLREDUCE; k <= COLLECTIVE_ALLGATHER; k++)
        assert_close(ask(&m, NULL, &(collective_call){ k, 1e6, 8, 1, 1 }).seconds, by[k], 1e-12);
    assert_close(ask(&m, NULL, &(collective_call){ COLLECTIVE_SENDRECV, 1e6, 8, 1, 1 }).seconds,
                 (1e-3 + 1.15e-3) / 2, 1e-12);
}

/* Two node counts cannot say how times grow; of four, planes that made the times do better. */
static void node_counts_left_out_choose_the_form(void **state)
{
    made m = { .n = 0 };

    (void)state;
    for (int64_t nodes = 2; nodes <= 16; nodes *= 2) {
        collective_model *found;

        make(&m, "default", &usual, nodes, 1);
        found = fit(&m);
        if (nodes == 4 || nodes == 16)
            assert_close(found->algorithm[0].of[FABRIC_MULTI].log2_share, nodes == 4 ? 0.5 : 0, 0);
        collective_free(found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduces_stand_in_by_volume_and_steps),
        cmocka_unit_test(within_a_node_too),
        cmocka_unit_test(pieces_of_several_devices_share_the_network),
        cmocka_unit_test(groups_share_what_connects_nodes),
        cmocka_unit_test(what_was_measured_answers_for_itself_and_its_like),
        cmocka_unit_test(nothing_is_made_up),
        cmocka_unit_test(half_of_an_answer_is_by_log2),
        cmocka_unit_test(node_counts_left_out_choose_the_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
