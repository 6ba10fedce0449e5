/* The headers that stand in for NVIDIA's have NVIDIA's numbers. */
#include "check.h"

#include "values.h"

static void every_number_is_that_of_the_real_headers(void **state)
{
    size_t n = 0;

    (void)state;
    for (; values_stub[n].name; n++) {
        assert_string_equal(values_stub[n].name, values_real[n].name);
        if (values_stub[n].value != values_real[n].value)
            fail_msg("%s is %lld, not %lld", values_stub[n].name, values_real[n].value,
                     values_stub[n].value);
    }
    assert_null(values_real[n].name);
    assert_true(n > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_is_that_of_the_real_headers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
