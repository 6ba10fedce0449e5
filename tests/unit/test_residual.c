/* Residuals of single layers: what is learned, when it is not, and how it is kept. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asking.h"
#include "base/file.h"
#include "base/random.h"
#include "folder.h"
#include "kept_text.h"
#include "learn/boost.h"
#include "single/learned.h"
#include "single/residual_memo.h"

#define N    600
#define SOME 300 /* rows that suffice where the size of an error is not the question */

static const layer_run forward = { .forward = true, .alone = true };
static const layer_run within  = { .forward = true }; /* a network */

static layer_shape product(int64_t n, int64_t a, int64_t b)
{
    return (layer_shape){ .kind    = SHAPE_DENSE,
                          .n       = n,
                          .c_in    = a,
                          .c_out   = b,
                          .groups  = 1,
                          .inputs  = (double)(n * a),
                          .outputs = (double)(n * b),
                          .weights = (double)(a * b) };
}

/* What prices can tell, times what they cannot: outputs that fill vectors of 4 are faster. */
static double seconds_of(const layer_shape *s)
{
    return (1e-4 + 2e-10 * s->weights) * (s->c_out % 4 ? 1.5 : 1);
}

static double uniform(uint64_t *seed)
{
    return (double)(random_next(seed) >> 11) * 0x1p-53;
}

typedef struct world {
    layer_shape shape[N];
    layer_time  time[N];
    layer_model m;
    lm_error    err;
} world;

/* Of times with a residual that is known, or with noise alone. */
static world *world_new(bool known, uint64_t seed)
{
    world *w = calloc(1, sizeof *w);

    for (size_t i = 0; i < N; i++) {
        w->shape[i] =
            product(1 + (int64_t)random_below(&seed, 8), 100 + (int64_t)random_below(&seed, 2000),
                    100 + (int64_t)random_below(&seed, 2000));
        w->time[i] = (layer_time){ &w->shape[i], forward, seconds_of(&w->shape[i]) };
        if (!known)
            w->time[i].seconds =
                (1e-4 + 2e-10 * w->shape[i].weights) * (0.8 + 0.4 * uniform(&seed));
    }
    assert_int_equal(layer_model_fit(w->time, N, &w->m, &w->err), LM_OK);
    return w;
}

static void world_free(world *w)
{
    layer_model_free(&w->m);
    free(w);
}

/* Trees of few shapes have few places to split: a fraction of the work. */
static void repeat_shapes(world *w)
{
    for (size_t i = 40; i < N; i++) {
        w->shape[i]        = w->shape[i % 40];
        w->time[i].seconds = w->time[i % 40].seconds;
    }
}

static double learned(world *w, const layer_shape *s, const layer_run *run)
{
    double seconds = -1;

    if (load_learned(&w->m, &w->err) || learned_by(&w->m, s, run, &seconds, &w->err))
        fail_msg("%s", w->err.text);
    return seconds;
}

/* Mean relative errors on shapes that nobody saw: by prices, and with the residual. */
static void errors_of_new(world *w, double out[2])
{
    uint64_t seed = 77;

    out[0] = out[1] = 0;
    for (int i = 0; i < 200; i++) {
        const layer_shape s =
            product(1 + (int64_t)random_below(&seed, 8), 200 + (int64_t)random_below(&seed, 1800),
                    200 + (int64_t)random_below(&seed, 1800));

        out[0] += fabs(seconds_by(&w->m, &s, &forward) / seconds_of(&s) - 1) / 200;
        out[1] += fabs(learned(w, &s, &forward) / seconds_of(&s) - 1) / 200;
    }
}

static void what_prices_leave_over_is_learned(void **state)
{
    world         *w = world_new(true, 3);
    residual_trees judged[N_LAYER_CLASSES];
    layer_shape    far = product(4, 100000, 500), odd = product(4, 500, 501);
    double         error[2];

    (void)state;
    if (!boost_available()) {
        assert_int_equal(learned_fit(w->time, N, &w->m, judged, &w->err), LM_E_UNSUPPORTED);
        assert_non_null(strstr(w->err.text, "libxgboost-dev"));
        world_free(w);
        return;
    }
    assert_int_equal(learned_fit(w->time, N, &w->m, judged, &w->err), LM_OK);
    assert_true(learned_any(&w->m));
    assert_int_equal(judged[1].judged, N);
    assert_true(judged[1].mape < 0.5 * judged[1].mape_priced);
    errors_of_new(w, error);
    assert_true(error[1] < 0.5 * error[0]);
    /* what is said of held out rows is what comes of new ones */
    assert_true(error[1] < 1.5 * judged[1].mape && error[1] > 0.5 * judged[1].mape);

    /* prices alone beyond what was learned from: far away, within a network */
    assert_true(learned(w, &far, &forward) == seconds_by(&w->m, &far, &forward));
    assert_true(learned(w, &odd, &forward) != seconds_by(&w->m, &odd, &forward));
    assert_true(learned(w, &odd, &within) == seconds_by(&w->m, &odd, &within));
    odd.bias = true;
    assert_true(learned(w, &odd, &forward) == seconds_by(&w->m, &odd, &forward));
    world_free(w);
}

static void noise_is_not_learned(void **state)
{
    world         *w = world_new(false, 4);
    residual_trees judged[N_LAYER_CLASSES];

    (void)state;
    if (boost_available()) {
        assert_int_equal(learned_fit(w->time, N, &w->m, judged, &w->err), LM_OK);
        assert_false(learned_any(&w->m));
        assert_int_equal(judged[1].judged, N);
        assert_true(judged[1].mape > 0.97 * judged[1].mape_priced);
        /* too few rows */
        assert_int_equal(learned_fit(w->time, RESIDUAL_ROWS - 1, &w->m, judged, &w->err), LM_OK);
        assert_false(learned_any(&w->m));
        assert_int_equal(judged[1].judged, 0);
    }
    world_free(w);
}

/* What is left out takes no part: neither in prices nor in trees, ranges and what is said of them.
 */
static void what_is_left_out_is_not_seen(void **state)
{
    world          *w = world_new(true, 8);
    bool            in[SOME];
    layer_rows      r;
    residual_trees *found;
    double          said[2][6];

    (void)state;
    repeat_shapes(w);
    for (size_t i = 0; i < SOME; i++)
        in[i] = i % 3 != 0;
    for (int again = 0; again < 2 && boost_available(); again++) {
        for (size_t i = 0; i < SOME && again; i++)
            w->time[i].seconds *= in[i] ? 1 : 100;
        assert_int_equal(layer_rows_new(&layer_class_dense, w->time, SOME, &r, &w->err), LM_OK);
        r.rates = (layer_rates){ 1e12, 1e11 };
        assert_int_equal(residual_learn(LAYER_DENSE, &(residual_source){ &r, in, NULL }, 1, &found,
                                        NULL, &w->err),
                         LM_OK);
        assert_non_null(found);
        assert_int_equal(found->rows, SOME - SOME / 3);
        memcpy(said[again],
               (double[]){ found->mape_priced, found->mape, found->low, found->high,
                           (double)found->trees->n_nodes, rows_priced(&r.rows, 1, &r.columns) },
               sizeof said[again]);
        residual_free(found);
        layer_rows_free(&r);
    }
    if (boost_available())
        assert_memory_equal(said[0], said[1], sizeof said[0]);
    world_free(w);
}

/* What is asked again is answered from memory, and what differs in anything is not. */
static void questions_are_told_apart(void **state)
{
    residual_memo    *memo  = calloc(1, sizeof *memo);
    layer_shape       shape = product(4, 500, 501);
    layer_run         run   = forward;
    residual_question q[5];
    residual_answer  *a;

    (void)state;
    assert_true(residual_question_of(&shape, &run, 1e-3, &q[0]));
    assert_true(residual_question_of(&shape, &run, 2e-3, &q[1]));
    run.trains_inputs = true;
    assert_true(residual_question_of(&shape, &run, 1e-3, &q[2]));
    shape.n = 5;
    assert_true(residual_question_of(&shape, &forward, 1e-3, &q[3]));
    shape.n    = 4;
    shape.bias = true;
    assert_true(residual_question_of(&shape, &forward, 1e-3, &q[4]));
    for (int i = 0; i < 5; i++) {
        a = residual_memo_find(memo, &q[i]);
        assert_false(a->known);
        a->known = true;
        a->r     = i;
    }
    for (int i = 0; i < 5; i++) { /* unless another took its place */
        a = residual_memo_find(memo, &q[i]);
        assert_true(!a->known || a->r == i);
    }
    a = residual_memo_find(memo, &q[4]);
    assert_memory_equal(&a->asked, &q[4], sizeof q[4]);
    { /* every flag of a run tells, evaluation among them */
        const layer_run one[] = { { .forward = true },        { .backward = true },
                                  { .evaluation = true },     { .alone = true },
                                  { .input_gradient = true }, { .trains_inputs = true } };

        for (size_t i = 0; i < sizeof one / sizeof one[0]; i++)
            for (size_t j = 0; j < i; j++) {
                assert_true(residual_question_of(&shape, &one[i], 1e-3, &q[0]));
                assert_true(residual_question_of(&shape, &one[j], 1e-3, &q[1]));
                assert_memory_not_equal(&q[0], &q[1], sizeof q[0]);
            }
    }
    run.update = true; /* by which optimizer is not remembered */
    assert_false(residual_question_of(&shape, &run, 1e-3, &q[0]));
    shape.kind = SHAPE_WORK;
    assert_false(residual_question_of(&shape, &forward, 1e-3, &q[0]));
    free(memo);
}

/* ---- several machines ---------------------------------------------------------------------------
 */

/* A machine of `flops` FLOP/s on which outputs that do not fill vectors of 4 take e^more as long.
 */
static world *machine(double flops, double more, uint64_t seed)
{
    world *w = world_new(true, seed);

    for (size_t i = 0; i < N; i++)
        w->time[i].seconds =
            (1e-4 + 2e-10 * w->shape[i].weights) * (w->shape[i].c_out % 4 ? exp(more) : 1);
    layer_model_free(&w->m);
    assert_int_equal(layer_model_fit(w->time, N, &w->m, &w->err), LM_OK);
    w->m.device = (layer_device){ { [LAYER_FLOPS] = flops, [LAYER_BANDWIDTH] = 1e11 } };
    return w;
}

/* The same residual for both, which knows on which of them it is. */
static void machines_share_a_residual(void **state)
{
    world          *w[2]    = { machine(1e12, 0.2, 3), machine(1e13, 0.8, 4) };
    learned_source  from[2] = { { w[0]->time, SOME, &w[0]->m }, { w[1]->time, SOME, &w[1]->m } };
    residual_trees  judged[N_LAYER_CLASSES];
    const columns  *c = &w[0]->m.of[1].columns;
    residual_space  space;
    layer_rows      none = { .columns = *c };
    residual_source features[2];
    layer_shape     odd = product(4, 500, 501), even = product(4, 500, 500);
    double          more[2];
    lm_error        err = { 0 };

    (void)state;
    for (int i = 0; i < 2; i++)
        features[i] = (residual_source){ &none, NULL, &w[i]->m.device };
    /* figures that all devices have, where there are several */
    assert_int_equal(residual_features_new(LAYER_DENSE, features, 2, &space, &err), LM_OK);
    assert_int_equal(space.words - space.figures, 2);
    assert_string_equal(space.feature[space.figures].name, "device.flops");
    assert_int_equal(residual_features_new(LAYER_DENSE, features, 1, &space, &err), LM_OK);
    assert_int_equal(space.words - space.figures, 0);

    if (boost_available()) {
        if (learned_fit_pool(from, 2, judged, &err))
            fail_msg("%s", err.text);
        assert_int_equal(judged[1].judged, 2 * SOME);
        assert_true(judged[1].mape < 0.5 * judged[1].mape_priced);
        for (int i = 0; i < 2; i++) {
            assert_ptr_not_equal(w[i]->m.learned, w[1 - i]->m.learned);
            more[i] = log(learned(w[i], &odd, &forward) / learned(w[i], &even, &forward));
        }
        assert_close(more[0], 0.2, 0.5);
        assert_close(more[1], 0.8, 0.2);
        /* it asks for what is known of the device */
        w[0]->m.device = (layer_device){ { 0 } };
        odd            = product(4, 500, 503); /* not asked before */
        assert_int_equal(learned_by(&w[0]->m, &odd, &forward, &more[0], &err), LM_E_NOTFOUND);
        assert_non_null(strstr(err.text, "asks for the device's flops, which is not known"));
    }
    world_free(w[0]);
    world_free(w[1]);
}

/* ---- files --------------------------------------------------------------------------------------
 */

/* A residual by hand: e^0.5 for outputs that do not fill vectors of 4. */
static residual_set *by_hand(const columns *c)
{
    residual_set   *s = calloc(1, sizeof *s);
    residual_trees *r = s->of[1] = calloc(1, sizeof *r);
    char            text[100];
    size_t          at = 0;
    lines           in;
    layer_rows      none = { .columns = *c };

    assert_int_equal(residual_features_new(LAYER_DENSE, &(residual_source){ &none, NULL, NULL }, 1,
                                           &r->space, NULL),
                     LM_OK);
    while (strcmp(r->space.feature[at].name, "channels_out.rest4") != 0)
        at++;
    for (size_t i = 0; i < r->space.n; i++) {
        r->space.feature[i].low  = 0;
        r->space.feature[i].high = r->space.feature[i].kind == FEATURE_COUNT ? 20 : 1;
        if (!strcmp(r->space.feature[i].name, "seconds"))
            r->space.feature[i].low = -20;
    }
    snprintf(text, sizeof text, "trees %zu 1\nbase 0\ntree 3 %zu:0.5:1:2 =0 =0.5\n", r->space.n,
             at);
    in = lines_of(NULL, "t", text, NULL);
    trees_text(&in, &r->trees);
    assert_int_equal(in.status, LM_OK);
    *r = (residual_trees){ .rows        = 900,
                           .judged      = 300,
                           .mape_priced = 0.2,
                           .mape        = 0.1,
                           .low         = -1,
                           .high        = 1,
                           .space       = r->space,
                           .trees       = r->trees };
    assert_int_equal(residual_space_columns(&r->space, c, NULL), LM_OK);
    return s;
}

static char *text_of(const residual_set *s)
{
    return kept_written(&residual_kept, RESIDUAL_FILE, s);
}

static lm_status read_text(char *text, residual_set **out, lm_error *err)
{
    void           *read   = NULL;
    const lm_status status = kept_read(&residual_kept, RESIDUAL_FILE, "f", text, &read, err);

    *out = read;
    return status;
}

static void a_residual_is_kept_beside_its_machine_file(void **state)
{
    world            *w = world_new(true, 5), *back = world_new(true, 5);
    const char       *path = "m.ini", *name = "m.residual";
    char             *text, *again;
    const layer_shape odd = product(4, 500, 501), even = product(4, 500, 500);
    const double      priced = seconds_by(&w->m, &odd, &forward);
    residual_set     *read   = NULL;
    size_t            size;
    file_drafts       drafts = { 0 };

    (void)state;
    w->m.learned = by_hand(&w->m.of[1].columns);
    assert_close(learned(w, &odd, &forward), priced * exp(0.5), 1e-7);
    assert_true(learned(w, &even, &forward) == seconds_by(&w->m, &even, &forward));
    w->m.learned->of[1]->high = 0.25; /* held */
    assert_close(learned(w, &odd, &forward), priced * exp(0.25), 1e-12);

    assert_int_equal(kept_file_save(&w->m.learned_file, &residual_kept, RESIDUAL_FILE, w->m.learned,
                                    path, &drafts, &w->err),
                     LM_OK);
    assert_int_equal(file_drafts_commit(&drafts, &w->err), LM_OK);
    assert_string_equal(w->m.learned_file.path, name);
    assert_int_equal(file_read_text(name, &text, &size, &w->err), LM_OK);
    assert_memory_equal(
        text, "layermeter learned residual 4\nclasses 1\nclass dense\nrows 900 300\n", 65);
    assert_int_equal(read_text(text, &read, &w->err), LM_OK);
    free(text);
    text  = text_of(read);
    again = text_of(w->m.learned);
    assert_string_equal(text, again);
    free(text);
    free(again);
    residual_set_free(read);

    /* it is read when it is asked */
    assert_int_equal(kept_file_name(&back->m.learned_file, path, "m.residual", &w->err), LM_OK);
    back->m.learned_file.hash = w->m.learned_file.hash;
    assert_null(back->m.learned);
    assert_true(learned(back, &odd, &forward) == learned(w, &odd, &forward));
    assert_non_null(back->m.learned);
    world_free(back);

    /* a file that is another, and one that is gone */
    back = world_new(true, 5);
    assert_int_equal(kept_file_name(&back->m.learned_file, path, "m.residual", &w->err), LM_OK);
    back->m.learned_file.hash = w->m.learned_file.hash + 1;
    assert_int_equal(load_learned(&back->m, &w->err), LM_E_ARG);
    assert_non_null(strstr(w->err.text, "m.residual: not the residual that its machine file"));
    unlink(name);
    assert_int_equal(load_learned(&back->m, &w->err), LM_E_IO);
    assert_int_equal(kept_file_name(&back->m.learned_file, path, "../m.residual", &w->err),
                     LM_E_ARG);
    world_free(back);
    world_free(w);
}

/* Two who ask in turn, of prices, of a residual and of an update that has no price: they agree with
 * one who asks alone, and not a byte of the model is another. */
static void asking_leaves_the_model_as_it_is(void **state)
{
    world            *w      = world_new(true, 6);
    const layer_shape s[]    = { product(4, 500, 501), product(4, 500, 500), product(5, 700, 33) };
    const layer_run   update = { .update = true, .optimizer = "adagrad", .alone = true };
    layer_asker       by[2]  = { layer_asker_of(&w->m), layer_asker_of(&w->m) };
    const columns    *c      = &w->m.of[1].columns;
    layer_model       before;
    column           *prices = malloc(c->n * sizeof *prices);

    (void)state;
    w->m.learned = by_hand(c);
    before       = w->m;
    memcpy(prices, c->column, c->n * sizeof *prices);
    for (size_t i = 0; i < 12; i++) {
        const layer_shape *asked = &s[i / 2 % 3];
        double             found = NAN, alone = NAN;

        assert_int_equal(learned_seconds(&by[i % 2], asked, &forward, &found, &w->err), LM_OK);
        assert_int_equal(learned_by(&w->m, asked, &forward, &alone, &w->err), LM_OK);
        assert_true(found > 0 && found == alone);
        assert_true(isnan(layer_model_seconds(&by[i % 2], asked, &update)));
    }
    assert_memory_equal(&before, &w->m, sizeof before);
    assert_memory_equal(prices, c->column, c->n * sizeof *prices);
    free(prices);
    layer_asker_free(&by[0]);
    layer_asker_free(&by[1]);
    world_free(w);
}

/* The text with the first `from` made `to`. */
static char *with(const char *text, const char *from, const char *to)
{
    const char *at  = strstr(text, from);
    char       *out = NULL;
    size_t      n;
    FILE       *f = open_memstream(&out, &n);

    assert_non_null(at);
    fprintf(f, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    fclose(f);
    return out;
}

static void what_is_no_residual_is_refused(void **state)
{
    static const struct {
        const char *from, *to, *says;
        lm_status   status;
    } cases[] = {
        { "residual 4", "residual 5", "f:1: of version 5, this program reads 4", LM_E_UNSUPPORTED },
        { "residual 4", "residual 3",
          "f:1: was written by an older version: run 'layermeter fit OBSERVATIONS -o FILE' again",
          LM_E_UNSUPPORTED },
        { "layermeter learned residual 4", "layermeter residual 1",
          "f:1: was written by an older version: run 'layermeter fit OBSERVATIONS -o FILE' again",
          LM_E_UNSUPPORTED },
        { "learned residual", "learned kernels", "f:1: holds 'kernels', not 'residual'",
          LM_E_NOTFOUND },
        { "layermeter learned residual 4", "trees 3 3", "f:1: expected 'layermeter learned ...'",
          LM_E_SYNTAX },
        { "classes 1", "classes 0", "f:2: expected whole numbers from 1 to 4, found '0'",
          LM_E_SYNTAX },
        { "class dense", "class sparse", "f:3: 'sparse' is none of conv, dense, ", LM_E_NOTFOUND },
        { "errors 0.2", "errors nan", "f:5: number 1 is nan", LM_E_ARG },
        { "clamp -1 1", "clamp 1 -1", "f:6: clamp: from 1 to -1", LM_E_ARG },
        { "feature batch", "feature weight_decay", "f:8: 'weight_decay' is no feature that",
          LM_E_NOTFOUND },
        { "feature batch 0 20", "feature batch 20 0", "f:8: a range from 20 to 0", LM_E_ARG },
        { "feature batch 0 20", "feature batch 0", "f:8: expected 1 numbers, found 0",
          LM_E_SYNTAX },
        { ":0.5:1:2", ":nan:1:2", "node 0: ", LM_E_SYNTAX },
        { "=0.5\n", "=0.5\nclass dense\n", "more than was written: 'class dense", LM_E_SYNTAX },
        { "classes 1", "classes 2", "the file ends here; expected 'class ...'", LM_E_SYNTAX },
    };
    world        *w    = world_new(true, 6);
    residual_set *made = by_hand(&w->m.of[1].columns);
    char         *text = text_of(made);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char         *other = with(text, cases[i].from, cases[i].to);
        residual_set *read  = NULL;

        assert_int_equal(read_text(other, &read, &w->err), cases[i].status);
        if (!strstr(w->err.text, cases[i].says))
            fail_msg("%s: %s", cases[i].to, w->err.text);
        free(other);
    }
    /* cut short after each line but the last */
    for (const char *at = strchr(text, '\n'); at[1]; at = strchr(at + 1, '\n')) {
        char         *cut  = strndup(text, (size_t)(at + 1 - text));
        residual_set *read = NULL;

        assert_int_equal(read_text(cut, &read, &w->err), LM_E_SYNTAX);
        free(cut);
    }
    free(text);
    residual_set_free(made);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_prices_leave_over_is_learned),
        cmocka_unit_test(noise_is_not_learned),
        cmocka_unit_test(what_is_left_out_is_not_seen),
        cmocka_unit_test(questions_are_told_apart),
        cmocka_unit_test(machines_share_a_residual),
        cmocka_unit_test(a_residual_is_kept_beside_its_machine_file),
        cmocka_unit_test(asking_leaves_the_model_as_it_is),
        cmocka_unit_test(what_is_no_residual_is_refused),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
