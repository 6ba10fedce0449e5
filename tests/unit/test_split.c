/* Which points are left out of a fit together. */
#include "nets.h"

#include "fit/form_data.h"
#include "fit/forms.h"
#include "fit/split.h"

static workloads    *loads;
static observations *obs;
static points        p;

/* a.ini takes 3x20x20 by itself; b.ini takes no image. */
static int enter(void **state)
{
    lm_error err = { LM_OK, "" };

    if (nets_enter(state))
        return -1;
    folder_file("a.ini", "[network]\nname = a\n[x]\ntype = input\nshape = 3x20x20\n"
                         "[c]\ntype = conv2d\nfilters = 2\nkernel = 1\n");
    folder_file("b.ini", "[network]\nname = b\n[x]\ntype = input\nshape = 3\n"
                         "[l]\ntype = linear\nfeatures = 2\n");
    folder_file("o.csv", "kind,name,phase,seconds,input,batch,ranks,bytes\n"
                         "network,a.ini,forward,1,3x8x8,1,1,\n"
                         "network,a.ini,forward,2,3x15x9,3,1,\n"
                         "network,a.ini,forward,3,3x16x16,2,4,\n"
                         "network,a.ini,forward,4,,4,4,\n"
                         "network,b.ini,forward,5,,9,2,\n"
                         "network,b.ini,forward,5.5,,9,2,\n"
                         "collective,allreduce,sync,6,,,2,1000\n"
                         "collective,allreduce,sync,7,,,8,1000\n");
    if (workloads_new(nets_registry, &loads, &err) || observations_load("o.csv", &obs, &err) ||
        points_from(obs, loads, &p, &err)) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int leave(void **state)
{
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
    return nets_leave(state);
}

#define NEVER SPLIT_ALWAYS

static void each_point_is_in_the_fold_of_its_value(void **state)
{
    static const struct {
        const char *rule;
        size_t      n_folds;
        const char *name[4];
        size_t      fold[8];
    } cases[] = {
        { "network", 2, { "a.ini", "b.ini" }, { 0, 0, 0, 0, 1, 1, NEVER, NEVER } },
        { "ranks", 4, { "1", "2", "4", "8" }, { 0, 0, 2, 2, 1, 1, 1, 3 } },
        { "batch", 4, { "1", "2..3", "4..7", "8..15" }, { 0, 1, 1, 2, 3, 3, NEVER, NEVER } },
        { "image", 2, { "8..15", "16..31" }, { 0, 0, 1, 1, NEVER, NEVER, NEVER, NEVER } },
        { "none", 0, { NULL }, { NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER } },
        { "batch=4..", 1, { "batch=4.." }, { NEVER, NEVER, NEVER, 0, 0, 0, NEVER, NEVER } },
        { "bytes", 1, { "1000" }, { NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, 0, 0 } },
        { "bytes=1000..",
          1,
          { "bytes=1000.." },
          { NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, 0, 0 } },
        { "ranks=2..4", 1, { "ranks=2..4" }, { NEVER, NEVER, 0, 0, 0, 0, 0, NEVER } },
    };

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        split_rule rule;
        split      s;
        lm_error   err;
        char       text[64];
        size_t     total = 0, folded = 0;

        assert_int_equal(split_rule_parse(cases[c].rule, &rule, &err), LM_OK);
        assert_string_equal(split_rule_print(&rule, text, sizeof text), cases[c].rule);
        assert_int_equal(split_new(&p, &rule, &s, &err), LM_OK);
        assert_int_equal(s.n_folds, cases[c].n_folds);
        for (size_t f = 0; f < s.n_folds; f++) {
            assert_string_equal(s.name[f], cases[c].name[f]);
            total += s.points[f];
        }
        for (size_t i = 0; i < 8; i++) {
            assert_int_equal(s.fold[i], cases[c].fold[i]);
            folded += s.fold[i] != SPLIT_ALWAYS;
        }
        assert_int_equal(total, folded);
        split_free(&s);
    }
}

/* Eight points, of which two are of one configuration: seven, in parts of 3, 2 and 2. */
static void parts_are_even_and_keep_configurations_together(void **state)
{
    bool differs = false;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const split_rule rule  = { .kind = SPLIT_KFOLD, .k = 3, .seed = seed };
        size_t           in[3] = { 0 };
        split            s, again;
        lm_error         err;

        assert_int_equal(split_new(&p, &rule, &s, &err), LM_OK);
        assert_int_equal(split_new(&p, &rule, &again, &err), LM_OK);
        assert_memory_equal(s.fold, again.fold, 8 * sizeof *s.fold);
        assert_int_equal(s.n_folds, 3);
        assert_int_equal(s.fold[4], s.fold[5]);
        for (size_t i = 0; i < 8; i++)
            in[s.fold[i]] += i != 5;
        assert_int_equal(in[0], 3);
        assert_int_equal(in[1], 2);
        assert_int_equal(in[2], 2);
        differs |= s.fold[0] != 0;
        split_free(&s);
        split_free(&again);
    }
    assert_true(differs);
}

static void what_cannot_be_split_is_told(void **state)
{
    static const struct {
        const char *rule, *text;
    } cases[] = {
        { "device",
          "no row says on which machine it was measured: keep a file for each, fit one and "
          "validate the others with --machine" },
        { "kfold=8", "kfold=8: only 7 configurations were measured" },
        { "image=32..", "nothing was measured with image=32.." },
    };

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        split_rule rule;
        split      s;
        lm_error   err;

        assert_int_equal(split_rule_parse(cases[c].rule, &rule, &err), LM_OK);
        assert_int_equal(split_new(&p, &rule, &s, &err), LM_E_ARG);
        assert_error(err, LM_E_ARG, "%s", cases[c].text);
    }
}

static void rules_that_make_no_sense_are_refused(void **state)
{
    static const char *const rules[] = { "",          "networks",  "net",        "kfold=1",
                                         "kfold=x",   "kfold=",    "batch=",     "batch=4",
                                         "batch=..4", "batch=0..", "ranks=5..4", "network=2..",
                                         "none=",     "batch=2..x" };

    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        split_rule rule;
        lm_error   err = { LM_OK, "" };

        assert_int_not_equal(split_rule_parse(rules[i], &rule, &err), LM_OK);
        assert_true(err.text[0] != '\0');
    }
}

/* The all-reduces on 2 and on 8 ranks determine latency and bandwidth together: without either
 * there are fewer rows than coefficients. */
static void a_fold_without_which_rows_are_too_few_is_not_predicted(void **state)
{
    const split_rule rule = { .kind = SPLIT_RANKS };
    split            by;
    form_data        d;
    form_solution    s;
    lm_error         err;
    double           predicted[2];

    (void)state;
    assert_int_equal(split_new(&p, &rule, &by, &err), LM_OK);
    assert_int_equal(form_data_new(&p, form_find("layermeter", PHASE_SYNC), &by, &d, &err), LM_OK);
    assert_int_equal(d.n_rows, 2);
    assert_int_equal(form_data_fit(&d, SPLIT_ALWAYS, &s, &err), LM_OK);
    assert_int_equal(form_data_fit(&d, 3, &s, &err), LM_E_ARG);
    assert_int_equal(form_data_predict(&d, &p, predicted, &err), LM_OK);
    assert_true(isnan(predicted[0]) && isnan(predicted[1]));
    form_data_free(&d);
    split_free(&by);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_point_is_in_the_fold_of_its_value),
        cmocka_unit_test(parts_are_even_and_keep_configurations_together),
        cmocka_unit_test(what_cannot_be_split_is_told),
        cmocka_unit_test(rules_that_make_no_sense_are_refused),
        cmocka_unit_test(a_fold_without_which_rows_are_too_few_is_not_predicted),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
