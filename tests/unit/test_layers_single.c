/* Prices of single layers that made the times come back, and are kept in a file. */
#include "single_shape.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "asking.h"
#include "base/random.h"
#include "machine_text.h"
#include "single/model.h"
#include "single/updates.h"
#include "single/whole.h"

/* Times that prices made: a direct product, or Winograd's where it is cheaper. */
static size_t invent(layer_shape *s, layer_time *time, size_t most)
{
    uint64_t seed = 5;
    size_t   n    = 0;

    for (size_t i = 0; i < most; i++) {
        char      keys[60], input[40];
        counted   k;
        double   *price;
        layer_run run = i % 2 ? step : forward;

        snprintf(keys, sizeof keys, "filters=%d kernel=%d", 16 + (int)random_below(&seed, 200),
                 2 + (int)random_below(&seed, 2));
        snprintf(input, sizeof input, "%dx%dx%d", 16 + (int)random_below(&seed, 200),
                 8 + (int)random_below(&seed, 40), 8 + (int)random_below(&seed, 40));
        s[i]  = shape("conv2d", keys, input, 1 + (int64_t)random_below(&seed, 16), NULL);
        k     = count(&layer_class_conv, &s[i], &run);
        price = calloc(k.c.n, sizeof *price);
        price[columns_find(&k.c, "call")]          = 1e-4;
        price[columns_find(&k.c, "forward.input")] = 1e-10;
        for (size_t j = 0; j < k.c.n; j++)
            if (strstr(k.c.column[j].name, "direct.flops"))
                price[j] = 1e-13;
            else if (strstr(k.c.column[j].name, "winograd2.flops"))
                price[j] = 1.5e-13;
            else if (strstr(k.c.column[j].name, ".tiles") || strstr(k.c.column[j].name, ".plane") ||
                     strstr(k.c.column[j].name, ".winograd4") ||
                     strstr(k.c.column[j].name, ".short"))
                price[j] = 1;
            else if (strstr(k.c.column[j].name, "update.adam"))
                price[j] = 2e-11;
        time[n++] = (layer_time){ &s[i], run,
                                  rows_seconds(rows_cost(&k.r, 0, &k.c, price, NULL, NULL), 1) };
        free(price);
        discard(&k);
    }
    return n;
}

static void assert_predicts(layer_model *m, const layer_time *time, size_t n, double tolerance)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += fabs(seconds_by(m, time[i].shape, &time[i].run) / time[i].seconds - 1);
    if (!(sum / (double)n < tolerance))
        fail_msg("mean error %g", sum / (double)n);
}

static void invented_times_are_predicted_and_kept_in_a_file(void **state)
{
    enum { N = 400 };
    static layer_shape s[N];
    static layer_time  time[N];
    layer_model        m, *back;
    calibration        cal = { .layers = &m }, *again;
    lm_error           err = { 0 };
    layer_run          other;

    (void)state;
    assert_int_equal(invent(s, time, N), N);
    assert_int_equal(layer_model_fit(time, N, &m, &err), LM_OK);
    assert_true(layer_model_any(&m) && m.of[0].present && !m.of[1].present);
    assert_int_equal(m.of[0].rows, N);
    assert_predicts(&m, time, N, 0.02);
    assert_true(m.of[0].errors.mape < 0.02);
    /* an optimizer nobody measured */
    other           = step;
    other.optimizer = "rmsprop";
    assert_true(isnan(seconds_by(&m, &s[0], &other)));

    again = machine_text_again(&cal);
    back  = again->layers;
    for (size_t i = 0; i < N; i++)
        assert_true(seconds_by(back, &s[i], &time[i].run) == seconds_by(&m, &s[i], &time[i].run));
    assert_int_equal(back->of[0].rows, N);
    calibration_free(again);
    layer_model_free(&m);
}

/* A network of one convolution, one more on what it yields, and a product of the flattened image:
 * by hand from the prices. */
static void networks_are_sums_of_their_layers(void **state)
{
    static const char text[] =
        "[network]\nname = n\n[x]\ntype = input\nshape = 16x6x6\n"
        "[c]\ntype = conv2d\nfilters = 32\nkernel = 3\nstride = 2\nbias = no\n"
        "[r]\ntype = relu\n[p]\ntype = max_pool2d\nkernel = 2\n[f]\ntype = flatten\n"
        "[l]\ntype = linear\nfeatures = 10\nbias = no\n";
    bound_text    n = nets_bind(text, 2);
    layer_model   m = { .multiprocessors = NAN };
    whole_seconds s;
    lm_error      err = { 0 };
    columns      *c   = &m.of[0].columns;
    /* c: 2 outputs a side, 16 channels of 9 weights to 32; l: 32 channels of one pixel to 10 */
    const double y = 2 * 32 * 4, w = 32 * 16 * 9, wl = 320;

    (void)state;
    assert_true(n.bound != NULL);
    assert_int_equal(whole_by(&m, n.bound, "sgd", false, &s, &err), LM_E_NOTFOUND);
    assert_true(layer_class_make(&layer_class_conv, c));
    m.of[0].present                                               = true;
    c->column[columns_find(c, "call")].price                      = 1000;
    c->column[columns_find(c, "backward.call")].price             = 500;
    c->column[columns_find(c, "forward.activation")].price        = 2;
    c->column[columns_find(c, "backward.activation")].price       = 3;
    c->column[columns_find(c, "forward.weights")].price           = 1;
    c->column[columns_find(c, "forward.pointwise.weights")].price = 7;
    c->column[columns_find(c, "backward.weights")].price          = 5;
    c->column[columns_find(c, "grad_input.direct.scatter")].price =
        1e9; /* the first layer has none */
    assert_int_equal(whole_by(&m, n.bound, "sgd", false, &s, &err), LM_E_NOTFOUND);
    assert_string_equal(err.text,
                        "updates by 'sgd' have no price: measure steps of single layers with "
                        "it, then fit again");
    c->column[columns_need_update(c, "update.sgd")].price = 11;
    assert_int_equal(whole_by(&m, n.bound, "sgd", false, &s, &err), LM_OK);
    /* relu: 2 an element; the pool reads y and writes y / 4, each at half of that */
    assert_close(s.forward, 1000 + w + 2 * y + (y + y / 4) + 7 * wl, 1e-12);
    /* relu: 3 an element; the pool's gradient reads y / 4 and writes y; l has no column here */
    assert_close(s.backward, 500 + 5 * w + 3 * y + (y + y / 4), 1e-12);
    assert_close(s.update, 11 * (w + wl), 1e-12);
    layer_model_free(&m);
    nets_free(&n);
}

/* 80 small convolutions, off by up to 60 %, say nothing of what it takes to reorder many weights: that
 * costs what any element does, not what the noise leaves over. */
static void few_rows_do_not_tell_each_price(void **state)
{
    enum { N = 80 };
    layer_shape s[N], large;
    layer_time  time[N];
    layer_model m;
    lm_error    err  = { 0 };
    uint64_t    seed = 3;
    double      took;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        char   keys[60], input[40];
        double noise;

        snprintf(keys, sizeof keys, "filters=%d kernel=3 stride=2",
                 8 + (int)random_below(&seed, 60));
        snprintf(input, sizeof input, "%dx%dx32", 8 + (int)random_below(&seed, 60),
                 16 + (int)random_below(&seed, 60));
        s[i]  = shape("conv2d", keys, input, 1 + (int64_t)random_below(&seed, 16), NULL);
        noise = 0.4 + 0.01 * (double)random_below(&seed, 121);
        time[i] =
            (layer_time){ &s[i], forward,
                          noise * (1e-5 + 1e-10 * (s[i].inputs + s[i].outputs + s[i].weights) +
                                   1e-11 * shape_flops(&s[i])) };
    }
    assert_int_equal(layer_model_fit(time, N, &m, &err), LM_OK);
    large = shape("conv2d", "filters=2000 kernel=4 stride=4", "2000x4x4", 2, NULL);
    took  = 1e-10 * large.weights + 1e-11 * shape_flops(&large);
    assert_true(fabs(log(seconds_by(&m, &large, &forward) / took)) < log(3));
    layer_model_free(&m);
}

/* 30 updates of 1e6, 2e6 ... elements; from 21e6 on each takes `dearer` times as long. */
static size_t invent_updates(layer_shape *s, layer_time *time, double dearer)
{
    for (int i = 0; i < 30; i++) {
        const double elements = 1e6 * (i + 1);

        s[i]    = (layer_shape){ .kind = SHAPE_DENSE, .n = 1, .c_in = 1, .c_out = 1, .groups = 1 };
        time[i] = (layer_time){ &s[i],
                                { .update = true, .alone = true, .optimizer = "sgd" },
                                (1 + 0.01 * (i % 3)) * 1e-10 * elements * (i < 20 ? 1 : dearer) };
        s[i].weights = elements;
    }
    return 30;
}

/* Beyond caches each element takes longer, also where a network's updates together are as many. A class
 * that measured none gets the price; by itself it has the border of its own. */
static void updates_that_leave_caches_have_a_price(void **state)
{
    layer_shape s[30];
    layer_time  time[30];
    layer_rows  r;
    layer_model m   = { .multiprocessors = 0 };
    columns    *c   = &m.of[LAYER_CONV].columns;
    lm_error    err = { 0 };
    layer_run   one = { .update = true, .optimizer = "sgd" };
    size_t      n;

    (void)state;
    invent_updates(s, time, 1);
    assert_int_equal(layer_rows_new(&layer_class_product, time, 30, &r, &err), LM_OK);
    assert_int_equal(columns_find(&r.columns, "update.sgd.from21000000"), COLUMN_NONE);
    layer_rows_free(&r);
    invent_updates(s, time, 5);
    assert_int_equal(layer_rows_new(&layer_class_product, time, 30, &r, &err), LM_OK);
    assert_int_equal(layer_rows_fit(&r, NULL, &n, &err), LM_OK);
    m.of[LAYER_PRODUCT] = (layer_prices){ .present = true, .columns = r.columns };
    r.columns           = (columns){ 0 };
    layer_rows_free(&r);
    assert_close(seconds_by(&m, &s[19], &one), 1.01e-10 * 20e6, 2e-2 * 20e-4);
    assert_close(seconds_by(&m, &s[20], &one), 5.05e-10 * 21e6, 2e-2 * 105e-4);
    one.together = 20e6;
    assert_close(seconds_by(&m, &s[0], &one), 1.01e-10 * 1e6, 2e-2 * 1e-4);
    one.together = 21e6;
    assert_close(seconds_by(&m, &s[0], &one), 5.05e-10 * 1e6, 2e-2 * 5e-4);

    m.of[LAYER_CONV].present = layer_class_make(&layer_class_conv, c);
    assert_int_equal(updates_share(&m, &err), LM_OK);
    assert_int_equal(columns_find(c, "update.sgd.from21000000"), COLUMN_NONE); /* nor any update */
    assert_true(columns_need_update(c, "update.sgd") != COLUMN_NONE);
    assert_true(columns_need_update(c, "update.sgd.from5000000") != COLUMN_NONE);
    assert_int_equal(updates_share(&m, &err), LM_OK);
    n = columns_find(c, "update.sgd.from21000000");
    assert_true(n != COLUMN_NONE);
    assert_close(c->column[n].price, 5.05e-10, 1e-11);
    layer_model_free(&m);
}

static void few_times_are_no_fit(void **state)
{
    layer_shape s[10];
    layer_time  time[10];
    layer_rows  r;
    layer_model m;
    size_t      n;
    lm_error    err = { 0 };

    (void)state;
    invent(s, time, 10);
    assert_int_equal(layer_rows_new(&layer_class_conv, time, 10, &r, &err), LM_OK);
    assert_int_equal(layer_rows_fit(&r, NULL, &n, &err), LM_E_ARG);
    assert_string_equal(err.text, "10 times of single layers ('conv'): 60 are needed");
    layer_rows_free(&r);
    assert_int_equal(layer_model_fit(time, 10, &m, &err), LM_OK);
    assert_true(!layer_model_any(&m) && m.of[0].rows == 10);
    layer_model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invented_times_are_predicted_and_kept_in_a_file),
        cmocka_unit_test(networks_are_sums_of_their_layers),
        cmocka_unit_test(few_rows_do_not_tell_each_price),
        cmocka_unit_test(updates_that_leave_caches_have_a_price),
        cmocka_unit_test(few_times_are_no_fit),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
