/* What was measured. */
#include "folder.h"

#include <stdlib.h>

#include "fit/measured.h"

static measured_at at(const char *network, const char *input, int64_t batch, int64_t ranks)
{
    return (measured_at){ .network = network, .input = input, .batch = batch, .ranks = ranks };
}

static bool has(const measured_set *s, const char *network, int64_t batch, int64_t ranks)
{
    const measured_at one = at(network, "3x8x8", batch, ranks);

    return measured_has(s, &one);
}

static void add(measured_set *s, const char *network, int64_t batch, int64_t ranks)
{
    const measured_at one = at(network, "3x8x8", batch, ranks);

    assert_true(measured_add(s, &one));
}

static void each_configuration_is_there_once(void **state)
{
    measured_set s = { .n = 0 };

    (void)state;
    assert_false(has(&s, "a", 1, 1));
    for (int twice = 0; twice < 2; twice++) {
        add(&s, "b", 4, 2);
        add(&s, "a", 16, 1);
        add(&s, "a", 4, 1);
    }
    assert_int_equal(s.n, 3);
    assert_true(has(&s, "a", 4, 1) && has(&s, "a", 16, 1) && has(&s, "b", 4, 2));
    assert_false(has(&s, "a", 4, 2) || has(&s, "b", 4, 1) || has(&s, "a", 8, 1));
    measured_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_configuration_is_there_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
