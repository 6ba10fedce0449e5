/* How many coefficients rows tell apart. */
#include "check.h"

#include <math.h>

#include "base/random.h"
#include "shrink/shrink_rows.h"

#define ROWS  20
#define TERMS 12

/* Rank of rows whose terms are `from` random columns, and combinations of them up to `n`; seconds
 * of any size. */
static size_t rank_of(size_t from, size_t n, size_t rows, double apart, uint64_t seed)
{
    term_item   items[ROWS][TERMS];
    shrink_row  row[ROWS];
    shrink_rows r;
    size_t      rank;

    for (size_t i = 0; i < rows; i++) {
        term_item *item = items[i];

        row[i] = (shrink_row){ { item, n }, (double)(1 + random_below(&seed, 1000)) * 1e-6, 0, i };

        for (size_t k = 0; k < n; k++) {
            const double fresh = (double)(1 + random_below(&seed, 1u << 30));
            double       mixed = 0;

            for (size_t j = 0; j < from && k >= from; j++)
                mixed += item[j].value * (double)(1 + (j + k) % 5);
            item[k] = (term_item){ (uint32_t)(7 * k),
                                   k < from ? fresh : mixed * (1 + apart * fresh / (1u << 30)) };
        }
        for (size_t k = 0; k < n; k++) /* units do not matter */
            item[k].value *= pow(10, (double)(3 * k) - 15);
    }
    assert_int_equal(shrink_rows_new(row, rows, 0, &r, NULL), LM_OK);
    assert_int_equal(term_rank(&r, &rank, NULL), LM_OK);
    shrink_rows_free(&r);
    return rank;
}

static void rank_is_that_of_the_columns_whatever_their_units(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++)
        for (size_t from = 1; from <= TERMS; from++)
            assert_int_equal(rank_of(from, TERMS, ROWS, 0, seed), from);
}

static void fewer_rows_than_coefficients_tell_as_many_as_there_are(void **state)
{
    (void)state;
    for (size_t rows = 0; rows < TERMS; rows++)
        assert_int_equal(rank_of(TERMS, TERMS, rows, 0, rows), rows);
}

static void columns_that_differ_a_little_are_told_apart_or_not(void **state)
{
    (void)state;
    assert_int_equal(rank_of(1, 2, ROWS, 1e-2, 3), 2);
    assert_int_equal(rank_of(1, 2, ROWS, 1e-8, 3), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_is_that_of_the_columns_whatever_their_units),
        cmocka_unit_test(fewer_rows_than_coefficients_tell_as_many_as_there_are),
        cmocka_unit_test(columns_that_differ_a_little_are_told_apart_or_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
