/* What planners ask for. */
#include "nets.h"

#include "suggest/candidates.h"

static int enter(void **state)
{
    if (nets_enter(state))
        return -1;
    folder_file("small.ini", "[network]\nname = small\n[x]\ntype = input\nshape = 3x8x8\n"
                             "[c]\ntype = conv2d\nfilters = 4\nkernel = 3\nbias = no\n");
    return 0;
}

/* 4 filters of 3x3x3 weights on 6x6 places: 108 weights, 108 * 36 products a sample. */
static void a_network_is_asked_for_at_three_batches_alone_and_on_many_nodes(void **state)
{
    static const uint64_t batch[] = { 1, 8, 64 };
    const uint32_t        alone   = 1u << PHASE_FORWARD | 1u << PHASE_BACKWARD | 1u << PHASE_UPDATE;
    targets               t       = { .n = 0 };
    workloads            *loads;
    lm_error              err;

    (void)state;
    assert_int_equal(workloads_new(nets_registry, &loads, &err), LM_OK);
    assert_int_equal(targets_add(&t, loads, "small.ini", LM_F32, 16, &err), LM_OK);
    assert_int_equal(t.n, 6);
    for (size_t i = 0; i < 6; i++) {
        const design_case *c = &t.item[i];

        assert_int_equal(c->load.counts.flops_forward, 2 * 108 * 36 * batch[i / 2]);
        assert_close(c->load.nodes, i % 2 ? 16 : 1, 0);
        assert_close(c->load.bytes, 4 * 108, 0);
        assert_int_equal(c->parts, i % 2 ? alone | 1u << PHASE_SYNC : alone);
    }
    assert_int_equal(targets_add(&t, loads, "small.ini", LM_F32, 1, &err), LM_OK);
    assert_int_equal(t.n, 9);
    targets_free(&t);
    workloads_free(loads);
}

static void a_network_that_is_not_there_is_told(void **state)
{
    targets    t = { .n = 0 };
    workloads *loads;
    lm_error   err;

    (void)state;
    assert_int_equal(workloads_new(nets_registry, &loads, &err), LM_OK);
    assert_int_equal(targets_add(&t, loads, "none.ini", LM_F32, 1, &err), LM_E_IO);
    assert_int_equal(t.n, 0);
    workloads_free(loads);
}

/* Of the shipped ones a fifth, at three batches each, none of billions of parameters. */
static void the_known_networks_are_asked_for_in_a_spread(void **state)
{
    targets    t = { .n = 0 };
    workloads *loads;
    lm_error   err;

    (void)state;
    assert_int_equal(workloads_new(nets_registry, &loads, &err), LM_OK);
    assert_int_equal(targets_add_known(&t, loads, LM_F32, 1, &err), LM_OK);
    assert_true(t.n >= 3 * 15 && t.n <= 3 * 30 && t.n % 3 == 0);
    for (size_t i = 0; i < t.n; i++)
        assert_true(t.item[i].load.counts.params <= 500000000);
    targets_free(&t);
    workloads_free(loads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_is_asked_for_at_three_batches_alone_and_on_many_nodes),
        cmocka_unit_test(a_network_that_is_not_there_is_told),
        cmocka_unit_test(the_known_networks_are_asked_for_in_a_spread),
    };

    return cmocka_run_group_tests(tests, enter, nets_leave);
}
