/* Regression trees: predictions, text, and what XGBoost grows. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "kept_text.h"
#include "learn/boost.h"

#define N 400

static double uniform(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

PART(trees);

/* x0 < 2 ? 10 : (x1 < 0.5 ? 20 : 30), and x0 < 1 ? 0.25 : 0.5, and 100. */
#define TWO "trees 2 2\nbase 100\ntree 5 0:2:1:2 =10 1:0.5:3:4 =20 =30\ntree 3 0:1:1:2 =0.25 =0.5\n"

static void leaves_add_up(void **state)
{
    static const struct {
        double x[2], y;
    } cases[]   = { { { 0, 0 }, 110.25 },
                    { { 1, 9 }, 110.5 },
                    { { 2, 0 }, 120.5 }, /* not below its threshold */
                    { { 3, 0.5 }, 130.5 } };
    trees *t    = trees_read("t", TWO, NULL);
    char  *text = trees_written(t);

    (void)state;
    assert_string_equal(text, TWO);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_true(trees_predict(t, cases[i].x) == cases[i].y);
    free(text);
    trees_free(t);
}

/* Chains of any length: tree k takes k steps where every x0 < 1, and adds 2^k at its end. Trees
 * that go down side by side come to their ends at different times. */
static void trees_of_any_depth_add_up(void **state)
{
    const double far[] = { 0 }, near[] = { 2 };
    char        *text = NULL;
    size_t       size;

    (void)state;
    for (size_t n = 1; n <= 20; n++) {
        FILE  *out = open_memstream(&text, &size);
        trees *t;

        fprintf(out, "trees 1 %zu\nbase 0\n", n);
        for (size_t k = 0; k < n; k++) {
            fprintf(out, "tree %zu", 2 * k + 1);
            for (size_t i = 0; i < k; i++)
                fprintf(out, " 0:1:%zu:%zu =0", 2 * i + 2, 2 * i + 1);
            fprintf(out, " =%d\n", 1 << k);
        }
        fclose(out);
        t = trees_read("t", text, NULL);
        assert_non_null(t);
        assert_true(trees_predict(t, far) == (double)((1 << n) - 1));
        assert_true(trees_predict(t, near) == 1); /* the first has no way to leave */
        trees_free(t);
        free(text);
    }
}

/* The way of (2, 0.4): not below 2, which 5 + 7 rows are not, then below 0.5. Of leaves that do not
 * say of how many rows they are nothing is known of those above them. */
static void a_way_says_what_holds_and_of_how_many_rows(void **state)
{
    static const char told[]   = "trees 2 1\nbase 0\n"
                                 "tree 5 0:2:1:2 =10:3 1:0.5:3:4 =20:5 =30:7\n",
                      untold[] = "trees 2 1\nbase 0\ntree 5 0:2:1:2 =10:3 1:0.5:3:4 =20 =30:7\n";
    const double x[]           = { 2, 0.4 };
    trees       *t             = trees_read("t", told, NULL);
    char        *text          = trees_written(t);
    tree_way     way;

    (void)state;
    assert_string_equal(text, told);
    assert_int_equal(trees_way(t, 0, x, &way, NULL), LM_OK);
    assert_true(way.n == 2 && way.value == 20);
    assert_true(way.step[0].feature == 0 && !way.step[0].below && way.step[0].threshold == 2);
    assert_true(way.step[1].feature == 1 && way.step[1].below && way.step[1].threshold == 0.5);
    assert_true(way.step[0].rows == 12 && way.step[1].rows == 5);
    assert_true(trees_predict(t, x) == 20); /* rows of leaves are no way on */
    free(text);
    trees_free(t);
    t = trees_read("t", untold, NULL);
    assert_int_equal(trees_way(t, 0, x, &way, NULL), LM_OK);
    assert_true(way.value == 20 && isnan(way.step[0].rows) && isnan(way.step[1].rows));
    trees_free(t);
}

static void a_way_of_too_many_steps_is_refused(void **state)
{
    const double x[]  = { 0 };
    char        *text = NULL;
    size_t       size;
    FILE        *out = open_memstream(&text, &size);
    lm_error     err = { LM_OK, "" };
    tree_way     way;
    trees       *t;

    (void)state;
    fprintf(out, "trees 1 1\nbase 0\ntree %d", 2 * TREES_STEPS + 3);
    for (int i = 0; i <= TREES_STEPS; i++)
        fprintf(out, " 0:1:%d:%d =0", 2 * i + 2, 2 * i + 1);
    fputs(" =1\n", out);
    fclose(out);
    assert_non_null(t = trees_read("t", text, NULL));
    assert_int_equal(trees_way(t, 0, x, &way, &err), LM_E_UNSUPPORTED);
    assert_string_equal(err.text, "a tree of more than 64 steps");
    trees_free(t);
    free(text);
}

static void what_would_not_end_is_refused(void **state)
{
    static const struct {
        const char *text, *what;
    } cases[] = {
        { "trees 2\n", "t:1: expected 1 numbers, found 0" },
        { "trees 0 1\n", "t:1: expected whole numbers from 1 to 4096, found '0'" },
        { "trees 1 1\nbase inf\n", "t:2: number 1 is inf" },
        { "trees 1 1\nbase 0\n", "t:3: the file ends here; expected 'tree ...'" },
        { "trees 1 1\nbase 0\ntree\n", "t:3: expected 1 numbers, found 0" },
        { "trees 1 1\nbase 0\ntree 0\n",
          "t:3: expected whole numbers from 1 to 50000000, found '0'" },
        { "trees 1 1\nbase 0\ntree 1 0:1:0:0\n", "t:3: node 0: '0:1:0:0' is none" }, /* itself */
        { "trees 1 1\nbase 0\ntree 3 0:1:1:3 =1 =2\n", "t:3: node 0: '0:1:1:3' is none" },
        { "trees 1 1\nbase 0\ntree 3 1:1:1:2 =1 =2\n", "t:3: node 0: '1:1:1:2' is none" },
        { "trees 1 1\nbase 0\ntree 1 =nan\n", "t:3: node 0: '=nan' is none" },
        { "trees 1 1\nbase 0\ntree 1 =1:x\n", "t:3: node 0: '=1:x' is none" },
        { "trees 1 1\nbase 0\ntree 1 =1 =2\n", "t:3: more than this line has: '=2'" },
        { "trees 1 1\nbase 0\ntree 2 =1\n", "t:3: node 1: '' is none" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lm_error err = { LM_OK, "" };

        assert_null(trees_read("t", cases[i].text, &err));
        assert_string_equal(err.text, cases[i].what);
    }
}

/* 1 below 5, 3 above, and noise. */
static learn_rows steps(double *x, double *y, uint64_t seed)
{
    for (size_t i = 0; i < N; i++) {
        x[2 * i]     = 10 * uniform(&seed);
        x[2 * i + 1] = uniform(&seed);
        y[i]         = (x[2 * i] < 5 ? 1 : 3) + 0.02 * (uniform(&seed) - 0.5);
    }
    return (learn_rows){ x, y, N, 2 };
}

static double root_mean_square(const trees *t, const learn_rows *r)
{
    double squares = 0;

    for (size_t i = 0; i < r->n; i++)
        squares += pow(trees_predict(t, r->x + 2 * i) - r->y[i], 2);
    return sqrt(squares / (double)r->n);
}

static void a_step_is_learned(void **state)
{
    const boost_options *const ways[] = { &boost_default, &forest_default };
    double                     x[2 * N], y[N], other_x[2 * N], other_y[N];
    const learn_rows           rows = steps(x, y, 1), other = steps(other_x, other_y, 2);

    (void)state;
    if (!boost_available())
        skip();
    for (size_t w = 0; w < 2; w++) {
        trees *t = NULL, *again = NULL;
        char  *text, *twice;

        assert_int_equal(boost_train(&rows, w ? NULL : &other, ways[w], &t, NULL), LM_OK);
        assert_int_equal(boost_train(&rows, w ? NULL : &other, ways[w], &again, NULL), LM_OK);
        /* of 2: a few rows fall between the last below 5 and the first above */
        assert_true(root_mean_square(t, &other) < 0.25);
        if (w) {
            tree_way way;

            assert_int_equal(trees_way(t, 0, x, &way, NULL), LM_OK);
            assert_true(way.n && way.step[0].rows < N && way.step[0].rows > 0.2 * N);
        }
        text  = trees_written(t);
        twice = trees_written(again);
        assert_string_equal(text, twice);
        trees_free(again);
        assert_non_null(again = trees_read("t", text, NULL));
        for (size_t i = 0; i < N; i++)
            assert_true(trees_predict(t, x + 2 * i) == trees_predict(again, x + 2 * i));
        free(text);
        free(twice);
        trees_free(again);
        trees_free(t);
    }
}

static void what_cannot_be_learned_is_told(void **state)
{
    double        x[] = { 1, 2 }, y[] = { 1, NAN };
    learn_rows    rows = { x, y, 2, 1 };
    boost_options o    = boost_default;
    trees        *t    = NULL;
    lm_error      err  = { LM_OK, "" };

    (void)state;
    if (!boost_available()) {
        assert_int_equal(boost_train(&rows, NULL, &o, &t, &err), LM_E_UNSUPPORTED);
        return;
    }
    assert_int_equal(boost_train(&rows, NULL, &o, &t, &err), LM_E_ARG);
    assert_string_equal(err.text, "row 2: nan to be told");
    rows.n = 0;
    assert_int_equal(boost_train(&rows, NULL, &o, &t, &err), LM_E_ARG);
    assert_string_equal(err.text, "0 rows of 1 features to learn from");
    o.rows = 2;
    assert_int_equal(boost_train(&rows, NULL, &o, &t, &err), LM_E_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_add_up),
        cmocka_unit_test(trees_of_any_depth_add_up),
        cmocka_unit_test(a_way_says_what_holds_and_of_how_many_rows),
        cmocka_unit_test(a_way_of_too_many_steps_is_refused),
        cmocka_unit_test(what_would_not_end_is_refused),
        cmocka_unit_test(a_step_is_learned),
        cmocka_unit_test(what_cannot_be_learned_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
