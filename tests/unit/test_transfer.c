/* Prices of operators by datasheets. */
#include "check.h"

#include "single/operator_transfer.h"

static void price(operator_model *m, operator_class c, const char *name, resource r, double value)
{
    const size_t at = columns_need(&m->of[c].columns, name, "unit", r);

    m->of[c].columns.column[at].price = value;
    m->of[c].columns.column[at].floor = r == RESOURCE_HOST;
    m->of[c].power                    = operator_power(c);
}

static double price_of(const operator_model *m, operator_class c, const char *name)
{
    const size_t at = columns_find(&m->of[c].columns, name);

    return at == COLUMN_NONE ? -1 : m->of[c].columns.column[at].price;
}

/* Twice the peak at the same power: half the time, times the root of 2 FLOP/s a watt more; twice
 * the bandwidth, half the time; the host as it is. */
static void prices_fall_with_what_they_depend_on(void **state)
{
    operator_model        a = { 0 }, b = { 0 };
    const operator_source from = { &a, { 10e12, 500e9, 80, 250 } };
    const device_speed    to   = { 20e12, 1000e9, 100, 250 };

    (void)state;
    price(&a, OPERATOR_GEMM, "wave_flops", RESOURCE_FLOPS, 1);
    price(&a, OPERATOR_GEMM, "bytes", RESOURCE_BANDWIDTH, 2);
    price(&a, OPERATOR_GEMM, "floor", RESOURCE_HOST, 3);
    price(&a, OPERATOR_MAP, "bytes", RESOURCE_BANDWIDTH, 4);
    price(&b, OPERATOR_MAP, "bytes", RESOURCE_BANDWIDTH, 5);
    assert_int_equal(operator_transfer(&from, 1, &to, &b, NULL), LM_OK);
    assert_close(price_of(&b, OPERATOR_GEMM, "wave_flops"), sqrt(2) / 2, 1e-15);
    assert_close(price_of(&b, OPERATOR_GEMM, "bytes"), 1, 1e-15);
    assert_close(price_of(&b, OPERATOR_GEMM, "floor"), 3, 1e-15);
    assert_true(b.of[OPERATOR_GEMM].columns.column[2].floor);
    assert_close(b.of[OPERATOR_GEMM].how.multiprocessors, 100, 0);
    assert_close(price_of(&b, OPERATOR_MAP, "bytes"), 5, 0); /* measured */
    assert_int_equal(b.of[OPERATOR_NORM].columns.n, 0);      /* nowhere */
    operator_model_free(&a);
    operator_model_free(&b);
}

/* One source is the device itself, the other ln 2 away in bandwidth: weights 1 and
 * exp(-0.4805 / 0.5) = 0.3825. */
static void near_sources_weigh_more(void **state)
{
    operator_model        a = { 0 }, b = { 0 }, m = { 0 };
    const device_speed    to     = { 10e12, 500e9, NAN, NAN };
    const operator_source from[] = { { &a, to }, { &b, { 10e12, 250e9, 80, 70 } } };
    const double          w      = exp(-log(2) * log(2) / 0.5);

    (void)state;
    price(&a, OPERATOR_MAP, "bytes", RESOURCE_BANDWIDTH, 1);
    price(&b, OPERATOR_MAP, "bytes", RESOURCE_BANDWIDTH, 6);
    assert_int_equal(operator_transfer(from, 2, &to, &m, NULL), LM_OK);
    assert_close(price_of(&m, OPERATOR_MAP, "bytes"), (1 + 3 * w) / (1 + w), 1e-14);
    assert_close(m.of[OPERATOR_MAP].how.multiprocessors, 0, 0);
    operator_model_free(&a);
    operator_model_free(&b);
    operator_model_free(&m);
}

static void an_unknown_peak_is_refused(void **state)
{
    operator_model        a = { 0 }, m = { 0 };
    const operator_source from = { &a, { NAN, 500e9, 80, 250 } };
    const device_speed    to   = { 10e12, 500e9, NAN, NAN };
    lm_error              err  = { 0 };

    (void)state;
    assert_int_equal(operator_transfer(&from, 1, &to, &m, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "a device's peak or bandwidth is not known");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prices_fall_with_what_they_depend_on),
        cmocka_unit_test(near_sources_weigh_more),
        cmocka_unit_test(an_unknown_peak_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
