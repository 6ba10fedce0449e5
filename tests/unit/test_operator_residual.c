/* Residuals of single kernels: features by hand, what is learned, where it is silent, how it is
 * kept. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "asking.h"
#include "base/file.h"
#include "base/random.h"
#include "folder.h"
#include "learn/boost.h"
#include "single/launch.h"

#define N    600
#define MAPS 300
#define SOME 240 /* products that suffice to learn */

static lm_kernel gemm(int64_t m, int64_t n, int64_t k)
{
    return (lm_kernel){ .size   = sizeof(lm_kernel),
                        .op     = LM_OP_GEMM,
                        .dtype  = LM_F32,
                        .repeat = 1,
                        .u.gemm = { 1, m, n, k, 0, 0, 0 } };
}

static lm_kernel map(int64_t elements)
{
    return (lm_kernel){ .size   = sizeof(lm_kernel),
                        .op     = LM_OP_MAP,
                        .dtype  = LM_F32,
                        .repeat = 1,
                        .u.map  = { elements, 1, 1, 0, 0, 0 } };
}

static double value_of(const lm_kernel *k, double multiprocessors, const char *name)
{
    feature_list found;

    launch_features(k, multiprocessors, 1e-3, &found);
    for (size_t i = 0; i < found.n; i++)
        if (!strcmp(found.of[i].name, name))
            return found.value[i];
    fail_msg("no feature %s", name);
    return NAN;
}

/* 200 x 300 over 101 on 4 multiprocessors: of 128x64 tiles 2 x 5 = 10, 2.5 each, a third wave half
 * idle. */
static void features_of_a_product_by_hand(void **state)
{
    const lm_kernel k = gemm(200, 300, 101);

    (void)state;
    assert_close(value_of(&k, 4, "tiles128x64"), log(2.5), 1e-12);
    assert_close(value_of(&k, 4, "waves128x64"), 3 / 2.5, 1e-12);
    assert_close(value_of(&k, 4, "fill128x64"), 200 * 300. / (10 * 128 * 64), 1e-12);
    assert_close(value_of(&k, 4, "product.k.rest4"), 3, 0);
    assert_close(value_of(&k, 4, "flops"), log(2 * 200. * 300 * 101), 1e-12);
    assert_close(value_of(&k, 4, "intensity"),
                 log(2 * 200. * 300 * 101 / (4 * (200 * 101 + 101 * 300 + 200 * 300))), 1e-12);
    assert_close(value_of(&k, 4, "seconds"), log(1e-3), 1e-12);
    assert_close(value_of(&k, 4, "f32"), 1, 0);
    assert_close(value_of(&k, 4, "bf16"), 0, 0);
    /* not known: every tile is a wave */
    assert_close(value_of(&k, 0, "waves128x64"), 1, 0);
}

/* Each class has its features in one order, and no more than there is room for. */
static void features_have_one_order(void **state)
{
    const lm_kernel k = gemm(3, 5, 7);
    feature_list    names_of, found;

    (void)state;
    for (size_t c = FIRST_LAUNCH; c < N_LAYER_CLASSES; c++) {
        launch_feature_names(c, &names_of);
        assert_in_range(names_of.n, 10, FEATURES_MOST);
        for (size_t i = 0; i < names_of.n; i++)
            for (size_t j = 0; j < i; j++)
                assert_string_not_equal(names_of.of[i].name, names_of.of[j].name);
    }
    launch_feature_names(LAUNCH_GEMM, &names_of);
    launch_features(&k, 0, 1, &found);
    assert_int_equal(found.n, names_of.n);
    for (size_t i = 0; i < found.n; i++)
        assert_string_equal(found.of[i].name, names_of.of[i].name);
}

/* Rows of activations are a batch; weights are a shape. */
static void what_differs_in_its_batch_alone_is_of_one_shape(void **state)
{
    const lm_kernel a = gemm(10, 20, 30), b = gemm(999, 20, 30), c = gemm(10, 21, 30);

    (void)state;
    assert_true(launch_shape(&a) == launch_shape(&b));
    assert_true(launch_shape(&a) != launch_shape(&c));
}

/* ---- learning -----------------------------------------------------------------------------------
 */

/* What prices can tell, times what they cannot: sums that fill vectors of 4 are faster. */
static double seconds_of(const lm_kernel *k)
{
    return 1e-5 + 1e-12 * (double)lm_kernel_work(k).flops * (k->u.gemm.k % 4 ? 1.5 : 1);
}

typedef struct world {
    timed_kernel   row[N + MAPS];
    layer_model    m;
    residual_trees judged[N_LAYER_CLASSES];
    lm_error       err;
} world;

static world *world_new(void)
{
    world   *w    = calloc(1, sizeof *w);
    uint64_t seed = 5;

    for (size_t i = 0; i < N; i++) {
        const lm_kernel k = gemm(128 * (1 + (int64_t)random_below(&seed, 20)),
                                 128 * (1 + (int64_t)random_below(&seed, 20)),
                                 256 + (int64_t)random_below(&seed, 2000));

        w->row[i] = (timed_kernel){ k, "", seconds_of(&k), false };
    }
    /* of each element as long as of any other: prices say all */
    for (size_t i = 0; i < MAPS; i++) {
        const lm_kernel k = map(1000000 + 10000 * (int64_t)i);

        w->row[N + i] =
            (timed_kernel){ k, i % 2 ? "add" : "gelu", 1e-11 * (double)k.u.map.elements, false };
    }
    assert_int_equal(launch_fit(w->row, NULL, N + MAPS, 0, &w->m, &w->err), LM_OK);
    return w;
}

static void world_free(world *w)
{
    layer_model_free(&w->m);
    free(w);
}

static double priced(layer_model *m, const lm_kernel *k, const char *tag)
{
    double seconds = -1;

    assert_int_equal(launch_by(m, k, tag, false, &seconds, NULL), LM_OK);
    return seconds;
}

static launch_cost cost_of(layer_model *m, const lm_kernel *k)
{
    launch_cost cost;

    assert_int_equal(launch_cost_by(m, k, "", false, &cost, NULL), LM_OK);
    return cost;
}

static void learn(world *w)
{
    if (launch_learn(w->row, NULL, N + MAPS, 0, &w->m, w->judged, &w->err))
        fail_msg("%s", w->err.text);
}

static double learned(world *w, const lm_kernel *k, const char *tag)
{
    double seconds = -1;

    if (launch_by(&w->m, k, tag, true, &seconds, &w->err))
        fail_msg("%s", w->err.text);
    return seconds;
}

static bool silent(world *w, const lm_kernel *k, const char *tag)
{
    return learned(w, k, tag) == priced(&w->m, k, tag);
}

static void what_prices_of_kernels_leave_over_is_learned(void **state)
{
    world    *w = world_new();
    lm_kernel k = gemm(1024, 1024, 1020);

    (void)state;
    if (!boost_available()) {
        assert_int_equal(launch_learn(w->row, NULL, N, 0, &w->m, w->judged, &w->err),
                         LM_E_UNSUPPORTED);
        world_free(w);
        return;
    }
    learn(w);
    assert_true(learned_any(&w->m));
    assert_int_equal(w->judged[LAUNCH_GEMM].judged, N);
    assert_true(w->judged[LAUNCH_GEMM].mape < 0.5 * w->judged[LAUNCH_GEMM].mape_priced);
    assert_true(fabs(learned(w, &k, "") / seconds_of(&k) - 1) < 0.1);
    assert_true(fabs(priced(&w->m, &k, "") / seconds_of(&k) - 1) > 0.1);

    /* prices alone where nothing was seen: far away, another element type, with a bias */
    k = gemm(1024, 100000, 1021);
    assert_true(silent(w, &k, ""));
    k       = gemm(1024, 1024, 1021);
    k.dtype = LM_BF16;
    assert_true(silent(w, &k, ""));
    k.dtype       = LM_F32;
    k.u.gemm.bias = 1;
    assert_true(silent(w, &k, ""));
    /* of maps the prices said all */
    assert_null(w->m.learned->of[LAUNCH_MAP]);
    assert_int_equal(w->judged[LAUNCH_MAP].judged, MAPS);
    world_free(w);
}

/* Rows that are left out change nothing. */
static void what_is_left_out_is_not_seen(void **state)
{
    bool  *in = malloc(SOME * sizeof *in);
    double said[2];

    (void)state;
    for (int again = 0; again < 2 && boost_available(); again++) {
        world          *w = world_new();
        const lm_kernel k = gemm(1024, 1024, 1021);
        layer_model     m;

        /* trees of few shapes have few places to split: a fraction of the work */
        for (size_t i = 41; i < SOME; i++)
            w->row[i] = w->row[i % 41];
        for (size_t i = 0; i < SOME; i++) {
            in[i] = i % 4 != 0;
            w->row[i].seconds *= again && !in[i] ? 7 : 1;
        }
        assert_int_equal(launch_fit(w->row, in, SOME, 0, &m, &w->err), LM_OK);
        layer_model_free(&w->m);
        w->m = m;
        assert_int_equal(launch_learn(w->row, in, SOME, 0, &w->m, w->judged, &w->err), LM_OK);
        said[again] = learned(w, &k, "");
        world_free(w);
    }
    if (boost_available())
        assert_true(said[0] == said[1]);
    free(in);
}

/* ---- by hand ------------------------------------------------------------------------------------
 */

/* e^0.5 for sums that do not fill vectors of 4, of any product between 1 and e^50. */
static residual_set *by_hand(const layer_model *m)
{
    void         *read = NULL;
    residual_set *set;
    feature_list  names_of;
    size_t        size, at = 0;
    lm_error      err = { 0 };
    char         *text;
    FILE         *out = open_memstream(&text, &size);

    fprintf(
        out,
        "layermeter learned kernels 4\nclasses 1\nclass gemm\nrows 900 300\nerrors 0.2 0.1\nclamp -1 1\n");
    launch_feature_names(LAUNCH_GEMM, &names_of);
    fprintf(out, "features %zu\n", names_of.n);
    for (size_t i = 0; i < names_of.n; i++) {
        const bool flag = names_of.of[i].kind == FEATURE_FLAG;

        fprintf(
            out, "feature %s %d %d\n", names_of.of[i].name,
            flag ? !strcmp(names_of.of[i].name, "f32") || !strcmp(names_of.of[i].name, "forward")
                 : -50,
            flag ? !strcmp(names_of.of[i].name, "f32") || !strcmp(names_of.of[i].name, "forward")
                 : 50);
        at = !strcmp(names_of.of[i].name, "product.k.rest4") ? i : at;
    }
    fprintf(out, "trees %zu 1\nbase 0\ntree 3 %zu:0.5:1:2 =0 =0.5\n", names_of.n, at);
    fclose(out);
    if (kept_read(&kernels_kept, KERNELS_FILE, "h", text, &read, &err))
        fail_msg("%s", err.text);
    free(text);
    set = read;
    assert_int_equal(
        residual_space_columns(&set->of[LAUNCH_GEMM]->space, &m->of[LAUNCH_GEMM].columns, NULL),
        LM_OK);
    return set;
}

/* A floor of 20 us, a start of 2 us, 1 ps a FLOP; p 4. */
static void price_by_hand(layer_model *m)
{
    static const struct {
        const char *name;
        double      price;
        bool        floor;
    } of[]          = { { "floor", 20e-6, true },
                        { "tile_flops", 1e-12, false },
                        { "launch", 2e-6, false } };
    layer_prices *p = &m->of[LAUNCH_GEMM];

    p->present      = true;
    p->columns.join = 4;
    p->rows         = 20;
    for (size_t i = 0; i < 3; i++) {
        const size_t at = columns_need(&p->columns, of[i].name, "x", RESOURCE_FLOPS);

        p->columns.column[at].price = of[i].price;
        p->columns.column[at].floor = of[i].floor;
    }
}

/* 64 tiles of 128 x 128 over 1024 and 1021 (1024 in steps of 8): 2.147483648e9 FLOP, 2.1495 ms of
 * device and 20 us of floor. */
static void a_residual_changes_work_not_floors(void **state)
{
    layer_model     m   = { .learned = NULL };
    const lm_kernel odd = gemm(1024, 1024, 1021), even = gemm(1024, 1024, 1024),
                    small = gemm(1, 1, 1);
    const double work     = 2.147483648e-3;
    launch_cost  cost;
    double       seconds;

    (void)state;
    price_by_hand(&m);
    m.learned = by_hand(&m);
    assert_close(cost_of(&m, &odd).work, work, 1e-12);
    assert_int_equal(launch_by(&m, &odd, "", true, &seconds, NULL), LM_OK);
    assert_close(seconds, exp(0.5) * priced(&m, &odd, ""), 1e-6);
    assert_int_equal(launch_cost_by(&m, &odd, "", true, &cost, NULL), LM_OK);
    assert_close(cost.floor, 20e-6, 0);
    assert_close(cost.start, 2e-6, 0);
    /* (floor^4 + (start + work)^4)^(1/4) is what the launch takes by itself */
    assert_close(rows_seconds((row_cost){ cost.floor, cost.start + cost.work }, 4), seconds, 1e-9);
    assert_int_equal(launch_cost_by(&m, &even, "", true, &cost, NULL), LM_OK);
    assert_close(cost.work, work, 1e-12);
    /* 32 x 32 x 8 x 2 / 0.72 FLOP: the floor is all that is seen */
    assert_int_equal(launch_cost_by(&m, &small, "", true, &cost, NULL), LM_OK);
    assert_close(cost.work, cost_of(&m, &small).work, 0);
    layer_model_free(&m);
}

static void residuals_of_kernels_are_kept_beside_their_machine_file(void **state)
{
    layer_model     m = { .learned = NULL }, back = { .learned = NULL };
    const lm_kernel odd    = gemm(1024, 1024, 1021);
    lm_error        err    = { 0 };
    file_drafts     drafts = { 0 };
    double          seconds, again;

    (void)state;
    price_by_hand(&m);
    price_by_hand(&back);
    m.learned = by_hand(&m);
    assert_int_equal(launch_by(&m, &odd, "", true, &seconds, &err), LM_OK);
    assert_int_equal(kept_file_save(&m.learned_file, &kernels_kept, KERNELS_FILE, m.learned,
                                    "m.ini", &drafts, &err),
                     LM_OK);
    assert_int_equal(file_drafts_commit(&drafts, &err), LM_OK);
    assert_string_equal(m.learned_file.path, "m.kernels");
    assert_int_equal(kept_file_name(&back.learned_file, "m.ini", "m.kernels", &err), LM_OK);
    back.learned_file.hash = m.learned_file.hash;
    assert_int_equal(load_learned(&back, &err), LM_OK);
    assert_int_equal(launch_by(&back, &odd, "", true, &again, &err), LM_OK);
    assert_true(again == seconds);
    layer_model_free(&back);

    /* another one than was written */
    back = (layer_model){ .learned = NULL };
    price_by_hand(&back);
    assert_int_equal(kept_file_name(&back.learned_file, "m.ini", "m.kernels", &err), LM_OK);
    back.learned_file.hash = m.learned_file.hash + 1;
    assert_int_equal(load_learned(&back, &err), LM_E_ARG);
    assert_non_null(
        strstr(err.text, "m.kernels: not the residual of kernels that its machine file"));
    layer_model_free(&back);
    layer_model_free(&m);
}

#define HEAD "layermeter learned kernels 4\nclasses 1\n"

static void what_is_no_residual_of_kernels_is_refused(void **state)
{
    static const struct {
        const char *text, *says;
        lm_status   status;
    } cases[] = {
        { "layermeter learned kernels 9\n", "f:1: of version 9, this program reads 4",
          LM_E_UNSUPPORTED },
        { "layermeter residual 1\n", "f:1: was written by an older version: run 'layermeter fit",
          LM_E_UNSUPPORTED },
        { HEAD "class conv\n", "f:3: 'conv' is none of gemm, batched, ", LM_E_NOTFOUND },
        { HEAD "class other\n", "f:3: 'other' is none of gemm, batched, ", LM_E_NOTFOUND },
        { HEAD "class gemm\nrows 1 1\nerrors 0 0\nclamp 0 0\nfeatures 1\nfeature bf16 0 1\n",
          "f:7: expected whole numbers from ", LM_E_SYNTAX },
        { HEAD "class gemm\nrows 1 1\nerrors 0 0\nclamp 0 0\nfeatures 96\nfeature bf16 0 1\n",
          "f:8: 'bf16' is no feature that comes next", LM_E_NOTFOUND },
        { HEAD "class gemm\nrows 1 1\n", "'errors ...'", LM_E_SYNTAX },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        void    *read = NULL;
        char    *text = strdup(cases[i].text);
        lm_error err  = { 0 };

        assert_int_equal(kept_read(&kernels_kept, KERNELS_FILE, "f", text, &read, &err),
                         cases[i].status);
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s", err.text);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_of_a_product_by_hand),
        cmocka_unit_test(features_have_one_order),
        cmocka_unit_test(what_differs_in_its_batch_alone_is_of_one_shape),
        cmocka_unit_test(what_prices_of_kernels_leave_over_is_learned),
        cmocka_unit_test(what_is_left_out_is_not_seen),
        cmocka_unit_test(a_residual_changes_work_not_floors),
        cmocka_unit_test(residuals_of_kernels_are_kept_beside_their_machine_file),
        cmocka_unit_test(what_is_no_residual_of_kernels_is_refused),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
