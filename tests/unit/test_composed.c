/* Networks composed of single layers: factors that made the times come back, parts that nobody
 * shows are left as they are; gradients of what several layers read, products within layers. */
#include "check.h"

#include <math.h>

#include "asking.h"
#include "base/random.h"
#include "nets.h"
#include "single/whole.h"

#define ROWS 40

static double random_of(uint64_t *seed)
{
    return 1e-3 * (1 + (double)random_below(seed, 1000) / 100);
}

/* Hosts hide, backward calls cost 0.4 of what they do alone, backward products 1.3. */
static void factors_that_made_the_times_come_back(void **state)
{
    const composed_factors made = { .of = { 1, 0.4, 1, 0.9, 1.3, 0.7, 1 } };
    composed_row           row[ROWS];
    composed_factors       found;
    uint64_t               seed = 3;

    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        for (whole_part p = 0; p < N_WHOLE_PARTS; p++)
            row[i].part[p] = random_of(&seed) * (p == WHOLE_UPDATE ? 0.1 : 1);
        row[i].seconds = composed_seconds(&made, row[i].part);
    }
    assert_int_equal(composed_fit(row, NULL, ROWS, &found, NULL), LM_OK);
    assert_int_equal(found.rows, ROWS);
    for (size_t i = 0; i < ROWS; i++)
        assert_close(composed_seconds(&found, row[i].part) / row[i].seconds, 1, 0.05);
}

/* (3^4 + 4^4)^(1/4) of a host of 3 s beside 4 s of products. */
static void without_networks_it_is_the_sum(void **state)
{
    const double     part[N_WHOLE_PARTS] = { [WHOLE_HOST] = 3, [WHOLE_PRODUCTS] = 4 };
    composed_factors found;

    (void)state;
    assert_int_equal(composed_fit(NULL, NULL, 0, &found, NULL), LM_OK);
    assert_int_equal(found.rows, 0);
    assert_close(composed_seconds(&found, part), pow(81 + 256, 0.25), 1e-12);
}

static void parts_that_no_network_shows_stay(void **state)
{
    composed_row     row[5] = { { .seconds = 0 } };
    composed_factors found;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        row[i].part[WHOLE_PRODUCTS] = 1e-3 * (double)(i + 1);
        row[i].seconds              = 2e-3 * (double)(i + 1);
    }
    assert_int_equal(composed_fit(row, NULL, 5, &found, NULL), LM_OK);
    assert_close(found.of[WHOLE_PRODUCTS], 2, 0.05);
    assert_close(found.of[WHOLE_OTHERS_BACK], 1, 1e-5);
    assert_close(found.of[WHOLE_UPDATE], 1, 1e-5);
}

static void times_that_are_none_are_refused(void **state)
{
    const composed_row row = { .part = { 1 }, .seconds = NAN };
    composed_factors   found;
    lm_error           err = { 0 };

    (void)state;
    assert_int_equal(composed_fit(&row, NULL, 1, &found, &err), LM_E_ARG);
    assert_string_equal(err.text, "a network took nan s");
}

static void set(layer_model *m, size_t class, const char *name, double price, size_t measured)
{
    columns *c = &m->of[class].columns;

    if (!c->n)
        assert_true(layer_class_make(layer_classes[class], c));
    m->of[class].present = true;
    assert_true(columns_find(c, name) != COLUMN_NONE);
    c->column[columns_find(c, name)].price = price;
    c->column[columns_find(c, name)].rows  = measured;
}

/* Two functions read what the first yields, 2 x 3 elements of 4 bytes: their gradients are read,
 * and their sum is written. */
static void gradients_of_what_several_read_are_added_up(void **state)
{
    bound_text    n = nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 5\n"
                                   "[l]\ntype = linear\nfeatures = 3\n[a]\ntype = relu\ninputs = l\n"
                                   "[b]\ntype = tanh\ninputs = l\n[s]\ntype = add\ninputs = a, b\n",
                                2);
    layer_model   m = { .multiprocessors = NAN };
    whole_seconds s;

    (void)state;
    assert_true(n.bound != NULL);
    set(&m, LAYER_PRODUCT, "forward.result", 1, 9);
    set(&m, LAYER_OTHER, "forward.map.bytes", 1, 9);
    set(&m, LAYER_OTHER, "backward.call", 1, 9);
    assert_true(columns_need_update(&m.of[LAYER_PRODUCT].columns, "update.sgd") != COLUMN_NONE);
    assert_int_equal(whole_by(&m, n.bound, "sgd", WHOLE_PRICES, &s, NULL), LM_OK);
    assert_close(s.part[WHOLE_OTHERS_BACK], 3 * 24, 1e-12);
    assert_close(s.part[WHOLE_PRODUCTS], 6, 1e-12);
    assert_close(s.part[WHOLE_HOST_BACK], 3, 1e-12); /* relu, tanh and the sum */
    layer_model_free(&m);
    nets_free(&n);
}

/* 2 x (4 x 3) times (3 x 5): 40 elements, at the price of products, as no such one was measured. */
static void products_within_layers_are_products(void **state)
{
    bound_text    n = nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 4x3\n"
                                   "[y]\ntype = input\nshape = 3x5\n[m]\ntype = matmul\ninputs = x, y\n",
                                2);
    layer_model   m = { .multiprocessors = NAN };
    whole_seconds s;

    (void)state;
    assert_true(n.bound != NULL);
    set(&m, LAYER_PRODUCT, "forward.result", 1, 9);
    set(&m, LAYER_OTHER, "forward.product.flops", 1e6, 0);
    assert_int_equal(whole_by(&m, n.bound, "sgd", WHOLE_PRICES, &s, NULL), LM_OK);
    assert_close(s.part[WHOLE_PRODUCTS], 40, 1e-12);
    assert_close(s.part[WHOLE_OTHERS], 0, 1e-12);
    layer_model_free(&m);
    nets_free(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_that_made_the_times_come_back),
        cmocka_unit_test(without_networks_it_is_the_sum),
        cmocka_unit_test(parts_that_no_network_shows_stay),
        cmocka_unit_test(times_that_are_none_are_refused),
        cmocka_unit_test(gradients_of_what_several_read_are_added_up),
        cmocka_unit_test(products_within_layers_are_products),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
