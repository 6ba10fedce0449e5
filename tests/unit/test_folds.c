/* Leaving out fold by fold: who is fitted to, who is told, and in which turns. */
#include "check.h"

#include <string.h>

#include "base/random.h"
#include "solve/folds.h"

#define ROWS 7

/* What a turn saw: the sum of the rows that it fits to, told to those that it leaves out. */
typedef struct seen {
    double told[ROWS];
    size_t turns, of[ROWS];
    size_t fails; /* the fold that does */
} seen;

static lm_status add_up(void *context, const fold_turn *t, lm_error *err)
{
    seen  *s = context;
    bool   in[ROWS];
    double sum = 0;

    s->of[s->turns++] = t->fold;
    if (t->fold == s->fails)
        return lm_error_set(err, LM_E_ARG, "too few");
    assert_true(folds_mark(t, in) <= ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(in[i] == fold_in(t, i));
        sum += in[i] ? (double)(1 << i) : 0;
    }
    for (size_t i = 0; i < ROWS; i++)
        if (fold_out(t, i))
            s->told[i] = sum;
    return LM_OK;
}

static const size_t fold_of[ROWS] = { 0, 0, 3, FOLD_ALWAYS, 1, 3, 1 };

static void each_fold_is_told_by_the_rest(void **state)
{
    const folds f = { .of = fold_of, .rows = ROWS, .n = 4 };
    seen        s = { .fails = 99 };

    (void)state;
    assert_int_equal(folds_leave_out(&f, add_up, &s, NULL), LM_OK);
    /* fold 2 has no rows, and row 3 is of no fold: it is always fitted to and never told */
    assert_int_equal(s.turns, 3);
    assert_int_equal(s.of[2], 3);
    assert_close(s.told[0], 4 + 8 + 16 + 32 + 64, 0);
    assert_close(s.told[2], 1 + 2 + 8 + 16 + 64, 0);
    assert_close(s.told[3], 0, 0);
    assert_close(s.told[6], 1 + 2 + 4 + 8 + 32, 0);
}

static void nothing_left_out_is_one_turn_of_all(void **state)
{
    const folds f = { .of = fold_of, .rows = ROWS, .n = 4, .all = true };
    seen        s = { .fails = 99 };

    (void)state;
    assert_int_equal(folds_leave_out(&f, add_up, &s, NULL), LM_OK);
    assert_int_equal(s.turns, 1);
    assert_true(s.of[0] == FOLD_ALWAYS);
    for (size_t i = 0; i < ROWS; i++)
        assert_close(s.told[i], 127, 0);
}

static void too_few_rows_end_it_or_say_nothing(void **state)
{
    folds    f   = { .of = fold_of, .rows = ROWS, .n = 4 };
    seen     s   = { .fails = 1 };
    lm_error err = { 0 };

    (void)state;
    assert_int_equal(folds_leave_out(&f, add_up, &s, &err), LM_E_ARG);
    assert_int_equal(s.turns, 2);
    assert_error(err, LM_E_ARG, "too few");
    s        = (seen){ .fails = 1 };
    f.silent = true;
    assert_int_equal(folds_leave_out(&f, add_up, &s, &err), LM_OK);
    assert_int_equal(s.turns, 3);
    assert_close(s.told[4], 0, 0);
    assert_true(s.told[5] > 0);
}

static void parts_differ_by_one_and_follow_the_seed(void **state)
{
    size_t part[23], again[23], other[23], count[5] = { 0 };

    (void)state;
    random_deal(part, 23, 5, 7);
    random_deal(again, 23, 5, 7);
    random_deal(other, 23, 5, 8);
    for (size_t i = 0; i < 23; i++)
        count[part[i]]++;
    for (size_t k = 0; k < 5; k++)
        assert_true(count[k] == 4 || count[k] == 5);
    assert_memory_equal(part, again, sizeof part);
    assert_true(memcmp(part, other, sizeof part) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fold_is_told_by_the_rest),
        cmocka_unit_test(nothing_left_out_is_one_turn_of_all),
        cmocka_unit_test(too_few_rows_end_it_or_say_nothing),
        cmocka_unit_test(parts_differ_by_one_and_follow_the_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
