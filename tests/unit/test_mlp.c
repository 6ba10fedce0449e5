/* Multi-layer perceptrons: gradients, what they learn, text. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "kept_text.h"
#include "learn/mlp_net.h"

#define N 256

static double uniform(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

static const mlp_options usual = { .width       = { 16, 16 },
                                   .n_layers    = 2,
                                   .epochs      = 200,
                                   .batch       = 32,
                                   .rate        = 0.01,
                                   .decay       = 0.5,
                                   .decay_every = 50,
                                   .seed        = 1 };

/* y = 3 + 2 |a| + b, which relus hold exactly. */
static learn_rows kinked(double *x, double *y, uint64_t seed)
{
    for (size_t i = 0; i < N; i++) {
        x[2 * i]     = 4 * uniform(&seed) - 2;
        x[2 * i + 1] = 100 * uniform(&seed);
        y[i]         = 3 + 2 * fabs(x[2 * i]) + x[2 * i + 1];
    }
    return (learn_rows){ x, y, N, 2 };
}

/* Loss of the first rows, by double sums of the network's own outputs. */
static double loss(const mlp *m, mlp_room *r, const float *y, size_t n)
{
    const float *out = mlp_forward(m, r, n);
    double       sum = 0;

    for (size_t b = 0; b < n; b++)
        sum += (double)(out[b] - y[b]) * (double)(out[b] - y[b]);
    return sum / 2 / (double)n;
}

/* Differences (f(w + h) - f(w - h)) / 2h with h small beside the kinks, in single precision: 1 %.
 */
static void gradients_are_those_of_the_loss(void **state)
{
    enum { ROWS = 8 };
    const size_t width[] = { 8, 6 };
    uint64_t     seed    = 7;
    mlp         *m       = NULL;
    mlp_room     r;
    float        y[ROWS], gradient[128], mask[ROWS * 6];
    size_t       compared = 0;

    (void)state;
    assert_int_equal(mlp_new(3, width, 2, &m, NULL), LM_OK);
    assert_int_equal(m->n_weights, 3 * 8 + 8 + 8 * 6 + 6 + 6 + 1);
    assert_int_equal(mlp_room_new(m, ROWS, &r, NULL), LM_OK);
    for (size_t k = 0; k < m->n_weights; k++)
        m->weight[k] = (float)(2 * uniform(&seed) - 1);
    for (size_t k = 0; k < 3; k++)
        m->deviation[k] = 1;
    for (size_t b = 0; b < ROWS; b++) {
        const double x[] = { uniform(&seed), uniform(&seed), -uniform(&seed) };

        mlp_scale(m, x, b, &r);
        y[b] = (float)uniform(&seed);
    }
    for (size_t k = 0; k < ROWS * 6; k++)
        mask[k] = k % 3 ? 1.5f : 0;
    for (int masked = 0; masked < 2; masked++) {
        r.mask = masked ? mask : NULL;
        mlp_forward(m, &r, ROWS);
        mlp_backward(m, &r, y, ROWS, gradient);
        for (size_t k = 0; k < m->n_weights; k++) {
            const float h = 1e-2f, at = m->weight[k];
            double      up, down;

            m->weight[k] = at + h;
            up           = loss(m, &r, y, ROWS);
            m->weight[k] = at - h;
            down         = loss(m, &r, y, ROWS);
            m->weight[k] = at;
            if (fabs((double)gradient[k]) < 5e-3)
                continue;
            compared++;
            assert_close((up - down) / (2 * (double)h), (double)gradient[k], 0.02);
        }
    }
    assert_true(compared > 30);
    r.mask = NULL;
    mlp_room_free(&r);
    mlp_free(m);
}

static void what_relus_hold_is_learned(void **state)
{
    double x[2 * N], y[N], other_x[2 * N], other_y[N], found[N];
    mlp   *m = NULL;

    (void)state;
    const learn_rows rows = kinked(x, y, 1), other = kinked(other_x, other_y, 2);

    assert_int_equal(mlp_train(&rows, NULL, &usual, NULL, NULL, &m, NULL), LM_OK);
    assert_int_equal(mlp_predict(m, other.x, N, found, NULL), LM_OK);
    for (size_t i = 0; i < N; i++)
        assert_true(fabs(found[i] - other_y[i]) < 2); /* of 3 .. 107 */
    mlp_free(m);
}

/* l2 drives the weights of idle units towards zero: there they end, and none becomes a denormal number, which takes a hundred times as
 * long to multiply. */
static void idle_weights_end_at_zero(void **state)
{
    double      x[2 * N], y[N];
    mlp_options o    = usual;
    mlp        *m    = NULL;
    size_t      none = 0;

    (void)state;
    const learn_rows rows = kinked(x, y, 1);

    o.l2     = 1e-3;
    o.epochs = 600;
    assert_int_equal(mlp_train(&rows, NULL, &o, NULL, NULL, &m, NULL), LM_OK);
    for (size_t k = 0; k < m->n_weights; k++) {
        assert_true(m->weight[k] == 0 || fabsf(m->weight[k]) >= 1e-12F);
        none += m->weight[k] == 0;
    }
    assert_in_range(none, 1, m->n_weights / 2);
    mlp_free(m);
}

typedef struct heard {
    size_t epochs;
    double least, last;
} heard;

static void hear(void *context, size_t epoch, double rmse, double held)
{
    heard *h = context;

    h->epochs = epoch;
    h->least  = fmin(h->least, held);
    h->last   = rmse;
}

static void the_best_epoch_of_others_is_kept(void **state)
{
    double      x[2 * N], y[N], other_x[2 * N], other_y[N], found[N], squares = 0;
    mlp_options o = usual;
    heard       h = { .least = HUGE_VAL };
    mlp        *m = NULL;

    (void)state;
    const learn_rows rows = kinked(x, y, 1), other = kinked(other_x, other_y, 2);

    o.epochs = 20;
    assert_int_equal(mlp_train(&rows, &other, &o, hear, &h, &m, NULL), LM_OK);
    assert_int_equal(h.epochs, 20);
    assert_int_equal(mlp_predict(m, other.x, N, found, NULL), LM_OK);
    for (size_t i = 0; i < N; i++)
        squares += (found[i] - other_y[i]) * (found[i] - other_y[i]);
    assert_close(sqrt(squares / N), h.least, 1e-6);
    mlp_free(m);
}

PART(mlp);

/* Written, read and written again; and the same seed, the same text. */
static void text_holds_all_of_it(void **state)
{
    double      x[2 * N], y[N];
    mlp_options o     = usual;
    mlp        *first = NULL, *again = NULL, *read = NULL;
    char       *text, *other, *copy;

    (void)state;
    const learn_rows rows = kinked(x, y, 1);

    o.epochs  = 3;
    o.dropout = 0.2;
    o.l2      = 1e-3;
    assert_int_equal(mlp_train(&rows, NULL, &o, NULL, NULL, &first, NULL), LM_OK);
    assert_int_equal(mlp_train(&rows, NULL, &o, NULL, NULL, &again, NULL), LM_OK);
    text  = mlp_written(first);
    other = mlp_written(again);
    assert_string_equal(text, other);
    free(other);
    assert_non_null(read = mlp_read("m.txt", text, NULL));
    other = mlp_written(read);
    assert_string_equal(text, other);
    free(other);
    mlp_free(read);
    mlp_free(again);
    mlp_free(first);

    /* cut short anywhere, it is refused */
    for (size_t cut = 0; cut < strlen(text) - 1; cut += strlen(text) / 40) {
        lm_error err = { LM_OK, "" };

        copy      = strdup(text);
        copy[cut] = '\0';
        assert_null(mlp_read("m.txt", copy, &err));
        assert_true(!strncmp(err.text, "m.txt:", 6));
        free(copy);
    }
    free(text);
}

static void what_no_network_is_is_refused(void **state)
{
    static const struct {
        const char *text, *what;
    } cases[] = {
        { "", "m:1: the file ends here; expected 'mlp ...'" },
        { "tree 2\n", "m:1: expected 'mlp ...', found 'tree 2'" },
        { "mlp\n", "m:1: expected 'mlp FEATURES UNITS ...'" },
        { "mlp 0\n", "m:1: expected whole numbers from 1 to 4096, found '0'" },
        { "mlp 1 1 1 1 1 1 1 1 1 1\n", "m:1: more than 9 numbers" },
        { "mlp 1\nmean nan\n", "m:2: number 1 is nan" },
        { "mlp 1\nmean 1 2\n", "m:2: more than this line has: ' 2'" },
        { "mlp 1\nmean 1\ndeviation 0\ntarget 0 1\nunit 1 1\n",
          "m:3: number 1 is 0: expected more than 0" },
        { "mlp 1\nmean 1\ndeviation 1\ntarget 0 1\nunit 1 1e99\n",
          "m:5: number 2 is 1e+99: expected 3.40282e+38 or less" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lm_error err = { LM_OK, "" };

        assert_null(mlp_read("m", cases[i].text, &err));
        assert_string_equal(err.text, cases[i].what);
    }
}

static void bad_rows_are_refused(void **state)
{
    double   x[] = { 1, 2 }, y[] = { 1, NAN };
    mlp     *m   = NULL;
    lm_error err = { LM_OK, "" };

    (void)state;
    learn_rows rows = { x, y, 2, 1 };

    assert_int_equal(mlp_train(&rows, NULL, &usual, NULL, NULL, &m, &err), LM_E_ARG);
    assert_string_equal(err.text, "row 2: nan to be told");
    y[1] = 1;
    x[1] = INFINITY;
    assert_int_equal(mlp_train(&rows, NULL, &usual, NULL, NULL, &m, &err), LM_E_ARG);
    assert_string_equal(err.text, "row 2: feature 1 is inf");
    rows.n = 0;
    assert_int_equal(mlp_train(&rows, NULL, &usual, NULL, NULL, &m, &err), LM_E_ARG);
    assert_string_equal(err.text, "0 rows of 1 features to learn from");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_those_of_the_loss),
        cmocka_unit_test(what_relus_hold_is_learned),
        cmocka_unit_test(idle_weights_end_at_zero),
        cmocka_unit_test(the_best_epoch_of_others_is_kept),
        cmocka_unit_test(text_holds_all_of_it),
        cmocka_unit_test(what_no_network_is_is_refused),
        cmocka_unit_test(bad_rows_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
