/* Which ranks of a job take part in a point: layouts as schedulers make them, answers by hand. */
#include "check.h"

#include <string.h>

#include "ranks/placement.h"

#define RANKS 12

/* A job by the machine of each rank, a letter each. */
typedef struct layout {
    int       host[RANKS], seat[RANKS];
    placement p;
} layout;

static void lay_out(layout *l, const char *machines)
{
    const int n = (int)strlen(machines);
    int       leader[RANKS];

    for (int r = 0; r < n; r++)
        leader[r] = (int)(strchr(machines, machines[r]) - machines);
    placement_number(leader, n, l->host, l->seat);
    l->p = (placement){ n, l->host, l->seat };
}

static void machines_are_numbered_by_their_first_ranks(void **state)
{
    static const int host[] = { 0, 0, 1, 0, 2, 1 }, seat[] = { 0, 1, 0, 2, 0, 1 };
    layout           l;

    (void)state;
    lay_out(&l, "bbabca");
    for (int r = 0; r < 6; r++) {
        assert_int_equal(l.host[r], host[r]);
        assert_int_equal(l.seat[r], seat[r]);
    }
}

static void the_first_ranks_are_on_so_many_machines(void **state)
{
    static const int hosts[] = { 1, 1, 2, 2, 3, 3 };
    layout           l;

    (void)state;
    lay_out(&l, "bbabca");
    for (int n = 1; n <= 6; n++)
        assert_int_equal(placement_hosts(&l.p, n), hosts[n - 1]);
}

static void nodes_and_devices_choose_ranks(void **state)
{
    static const struct {
        const char *machines;
        int         nodes, devices;
        const char *members; /* x: takes part; NULL: there are no such ranks */
    } cases[] = {
        /* three machines of four, filled one after the other */
        { "aaaabbbbcccc", 1, 1, "x..........." },
        { "aaaabbbbcccc", 1, 4, "xxxx........" },
        { "aaaabbbbcccc", 2, 2, "xx..xx......" },
        { "aaaabbbbcccc", 3, 1, "x...x...x..." },
        { "aaaabbbbcccc", 3, 4, "xxxxxxxxxxxx" },
        { "aaaabbbbcccc", 4, 1, NULL },
        { "aaaabbbbcccc", 1, 5, NULL },
        /* dealt round */
        { "abcabcabcabc", 1, 2, "x..x........" },
        { "abcabcabcabc", 2, 2, "xx.xx......." },
        { "abcabcabcabc", 2, 4, "xx.xx.xx.xx." },
        /* machines of unequal size: the small ones are passed over where they do not suffice */
        { "abbbcddd", 2, 1, "xx......" },
        { "abbbcddd", 2, 3, ".xxx.xxx" },
        { "abbbcddd", 2, 2, ".xx..xx." },
        { "abbbcddd", 3, 2, NULL },
        { "a", 1, 1, "x" },
        { "a", 1, 2, NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool   member[RANKS];
        char   got[RANKS + 1] = "";
        layout l;

        lay_out(&l, cases[i].machines);
        assert_int_equal(placement_has(&l.p, cases[i].nodes, cases[i].devices),
                         cases[i].members != NULL);
        assert_int_equal(placement_choose(&l.p, cases[i].nodes, cases[i].devices, member),
                         cases[i].members != NULL);
        if (!cases[i].members)
            continue;
        for (int r = 0; r < l.p.n_ranks; r++)
            got[r] = member[r] ? 'x' : '.';
        assert_string_equal(got, cases[i].members);
    }
}

static void sizes_beyond_any_job_are_not_there(void **state)
{
    layout l;

    (void)state;
    lay_out(&l, "aabb");
    assert_false(placement_has(&l.p, 1000000, 1));
    assert_false(placement_has(&l.p, 1, INT64_C(1) << 40));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_are_numbered_by_their_first_ranks),
        cmocka_unit_test(the_first_ranks_are_on_so_many_machines),
        cmocka_unit_test(nodes_and_devices_choose_ranks),
        cmocka_unit_test(sizes_beyond_any_job_are_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
