/* Columns of single launches, by hand. */
#include "check.h"

#include <string.h>

#include "asking.h"
#include "counts/kernel_class.h"
#include "layers/kernel_text.h"
#include "single/launch.h"

static lm_kernel gemm(int64_t batch, int64_t m, int64_t n, int64_t k, int64_t activations)
{
    return (lm_kernel){ .size   = sizeof(lm_kernel),
                        .op     = LM_OP_GEMM,
                        .dtype  = LM_F32,
                        .repeat = 1,
                        .u.gemm = { batch, m, n, k, 0, activations, 0 } };
}

/* 200 x 300 over 100: four 128x128 tiles hold 2 x 3 = 6; sums count as 104. On 4 multiprocessors
 * two waves, 8 slots. Of 64x64: 4 x 5 = 20 tiles, 5 waves; of 32x32: 7 x 10 = 70, 18 waves. */
static void the_cheapest_tiles_by_whole_waves(void **state)
{
    const tiling    how   = { TILES_MIXED, false, 4 };
    const tile_plan p     = tile_plan_of(1, 200, 300, 100, &how);
    const double    large = 2 * 8 * 128. * 128 * 104, medium = 2 * 20 * 64. * 64 * 104 / 0.95,
                 small = 2 * 72 * 32. * 32 * 104 / 0.72;

    (void)state;
    assert_true(medium < large && medium < small);
    assert_close(p.wave_flops, medium, 1e-15);
    assert_close(p.tile_flops, medium, 1e-15); /* 20 tiles fill 5 waves of 4 */
    assert_close(p.elements, 20 * 64 * 64, 0);
    assert_close(p.steps, 13, 0);
}

static void without_multiprocessors_there_are_no_waves(void **state)
{
    const tiling    how = { TILES_128, false, 0 };
    const tile_plan p   = tile_plan_of(3, 129, 1, 8, &how);

    (void)state;
    assert_close(p.wave_flops, 2 * 6 * 128. * 128 * 8, 0);
    assert_close(p.tile_flops, p.wave_flops, 0);
    assert_close(p.elements, 6 * 128 * 128, 0);
    assert_close(p.steps, 1, 0);
}

/* 32x32 over 8000 on 64 multiprocessors: one tile would leave 63 idle for 8000 steps; cut in 64,
 * each sums 125 and 16 more. */
static void long_sums_are_split_over_idle_multiprocessors(void **state)
{
    const tiling    whole = { TILES_64, false, 64 }, cut = { TILES_64, true, 64 };
    const tile_plan a = tile_plan_of(1, 32, 32, 8000, &whole),
                    b = tile_plan_of(1, 32, 32, 8000, &cut);

    (void)state;
    assert_close(a.wave_flops, 2 * 64 * 64. * 64 * 8000, 0);
    assert_close(b.wave_flops, 2 * 64 * 64. * 64 * 141, 0);
    assert_close(b.tile_flops, 2 * 64 * 64. * 64 * 125, 0);
    assert_close(b.steps, 16, 0); /* 1000 / 64 = 15.6 */
}

/* The count in a column, made where it is not there; -1: none of it. */
static double count(const lm_kernel *k, const char *tag, const tiling *how, const char *name)
{
    columns c     = { 0 };
    rows    r     = { 0 };
    double  value = -1;

    rows_begin(&r, NAN, 1, 0);
    launch_add(&(launch_row){ &c, &c, &r, how, tag, false }, k);
    assert_int_equal(rows_check(&r, NULL), LM_OK);
    assert_in_range(r.n_items, 3, 10);
    assert_true(c.column[r.item[0].column].floor);
    assert_close(r.item[0].value, 1, 0);
    assert_memory_equal(c.column[r.item[r.n_items - 1].column].name, "launch", 6);
    if (columns_find(&c, name) != COLUMN_NONE)
        value = 0; /* counts of 0 are passed over */
    for (size_t i = 0; i < r.n_items; i++)
        if (!strcmp(c.column[r.item[i].column].name, name))
            value = r.item[i].value;
    columns_free(&c);
    rows_free(&r);
    return value;
}

static void a_product_with_weights_counts_long_rows(void **state)
{
    const tiling    how = { TILES_128, false, 0 };
    const lm_kernel k   = gemm(1, 128, 128, 16384, 0);
    const double    f   = 2 * 128. * 128 * 16384;

    (void)state;
    assert_int_equal(launch_class_of(&k), LAUNCH_GEMM);
    assert_close(count(&k, "", &how, "wave_flops"), f, 0);
    assert_close(count(&k, "", &how, "tile_elements"), 128 * 128, 0);
    assert_close(count(&k, "", &how, "steps"), 2048, 0);
    assert_close(count(&k, "", &how, "bytes"), 4 * (2 * 128. * 16384 + 128. * 128), 0);
    assert_close(count(&k, "", &how, "long_flops"), 2 * f, 0); /* log2(16384 / 4096) = 2 */
    assert_close(count(&k, "", &how, "tile_bytes"), -1, 0);
}

static void a_product_of_activations_counts_what_tiles_read(void **state)
{
    const tiling    how = { TILES_MIXED, false, 0 };
    const lm_kernel k   = gemm(2, 100, 200, 10, 1);

    (void)state;
    assert_int_equal(launch_class_of(&k), LAUNCH_BATCHED);
    assert_close(count(&k, "", &how, "bytes"), 4 * 2 * (1000. + 2000 + 20000), 0);
    /* 200 / 64: 4 tiles; 100 / 64: 2 */
    assert_close(count(&k, "", &how, "tile_bytes"), 4 * 2 * (1000. * 4 + 2000 * 2), 0);
}

static void rows_longer_than_a_block_are_read_again(void **state)
{
    const tiling how = { TILES_MIXED, false, 0 };
    lm_kernel    k   = { .size      = sizeof k,
                         .op        = LM_OP_SOFTMAX,
                         .dtype     = LM_F32,
                         .repeat    = 1,
                         .u.softmax = { 10, 1024 } };

    (void)state;
    assert_close(count(&k, "", &how, "bytes"), 8 * 10240, 0);
    assert_close(count(&k, "", &how, "row_count"), 10, 0);
    assert_close(count(&k, "", &how, "long_bytes"), 0, 0);
    k.u.softmax.group = 1025;
    k.pass            = LM_GRAD_INPUT;
    assert_close(count(&k, "", &how, "long_bytes"), 12 * 10250, 0);
}

/* Gradients of a norm: of its input x and dy are read and dx written, of its weights x and dy read.
 */
static void norms_read_twice_backward(void **state)
{
    const tiling how = { TILES_MIXED, false, 0 };
    lm_kernel    k   = { .size   = sizeof k,
                         .op     = LM_OP_NORM,
                         .pass   = LM_GRAD_INPUT,
                         .dtype  = LM_F32,
                         .repeat = 1,
                         .u.norm = { 7, 100, 100, 0, 0 } };

    (void)state;
    assert_close(count(&k, "", &how, "bytes"), 12 * 700, 0);
    k.pass = LM_GRAD_WEIGHT;
    assert_close(count(&k, "", &how, "bytes"), 8 * 700, 0);
}

static void maps_and_copies_count_bytes_of_their_own_kind(void **state)
{
    const tiling how = { TILES_MIXED, false, 0 };
    lm_kernel    k   = { .size   = sizeof k,
                         .op     = LM_OP_MAP,
                         .dtype  = LM_F32,
                         .repeat = 1,
                         .u.map  = { 1000, 2, 1, 0, 0, 0 } };

    (void)state;
    assert_close(count(&k, "add", &how, "bytes.add"), 12000, 0);
    assert_close(count(&k, "add", &how, "launch.add"), 1, 0);
    assert_close(count(&k, "", &how, "bytes"), 12000, 0);
    k.op           = LM_OP_COPY;
    k.u.copy.bytes = 4000;
    assert_close(count(&k, "", &how, "bytes"), 8000, 0);
    k.op = LM_OP_ALLREDUCE;
    assert_int_equal(launch_class_of(&k), N_LAYER_CLASSES);
}

static lm_kernel conv(lm_pass pass, int64_t groups, int64_t window, int64_t stride)
{
    const int64_t out = (16 - window) / stride + 1;

    return (lm_kernel){ .size   = sizeof(lm_kernel),
                        .op     = LM_OP_CONV,
                        .pass   = pass,
                        .dtype  = LM_F32,
                        .repeat = 1,
                        .u.conv = { .n        = 2,
                                    .c_in     = 64,
                                    .c_out    = 128,
                                    .groups   = groups,
                                    .in       = { 1, 16, 16 },
                                    .out      = { 1, out, out },
                                    .window   = { 1, window, window },
                                    .stride   = { 1, stride, stride },
                                    .dilation = { 1, 1, 1 } } };
}

/* 3x3 of 16x16 are 14x14: 2 x 196 = 392 pixels; of 128x128 tiles 4 x 1. */
static void a_convolution_is_an_implicit_product(void **state)
{
    const tiling    how = { TILES_128, false, 0 };
    const lm_kernel f = conv(LM_FORWARD, 1, 3, 1), i = conv(LM_GRAD_INPUT, 1, 4, 2),
                    w = conv(LM_GRAD_WEIGHT, 2, 1, 1), u = conv(LM_FORWARD, 1, 1, 2);

    (void)state;
    assert_close(count(&f, "", &how, "flops.3x3"), 2 * 392. * 128 * 64 * 9, 0);
    assert_close(count(&f, "", &how, "wave_flops.3x3"), 2 * 4 * 128. * 128 * 576, 0);
    assert_close(count(&f, "", &how, "input_bytes.3x3"), 4 * 2 * 64 * 256, 0);
    assert_close(count(&f, "", &how, "output_bytes.3x3"), 4 * 392 * 128, 0);
    assert_close(count(&f, "", &how, "weight_bytes"), 4 * 64 * 128 * 9, 0);
    assert_close(count(&f, "", &how, "steps"), 72, 0);
    /* 512 inputs in 4 tiles, 64 channels in 1; 4 of the 16 taps see each: 128 x 4 */
    assert_close(count(&i, "", &how, "wave_flops.strided"), 2 * 4 * 128. * 128 * 512, 0);
    /* two groups of 64 x 32 over 512 pixels */
    assert_close(count(&w, "", &how, "wave_flops.1x1"), 2 * 2 * 128. * 128 * 512, 0);
    assert_true(count(&u, "", &how, "flops.1x1_strided") > 0);
}

/* 100 us that nothing is faster than, 2 FLOP at 1 TFLOP/s, 500 GB/s: exact in, exact out. */
static double truth(const lm_kernel *k)
{
    const tiling    how = { TILES_MIXED, false, 0 };
    const tile_plan p   = tile_plan_of((double)k->u.gemm.batch, (double)k->u.gemm.m,
                                       (double)k->u.gemm.n, (double)k->u.gemm.k, &how);
    const lm_work   w   = lm_kernel_work(k);
    const double    work =
        1e-12 * p.wave_flops + 2e-12 * (double)(w.read_bytes + w.written_bytes) + 5e-6;

    return pow(pow(1e-4, 4) + pow(work, 4), 0.25);
}

#define LAUNCHES 300

static double seconds_of(layer_model *m, const lm_kernel *k, const char *tag)
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

static void prices_of_products_are_found_again(void **state)
{
    static timed_kernel row[LAUNCHES];
    layer_model         m;
    lm_kernel           k    = gemm(1, 1000, 3000, 700, 0);
    double              fit  = 0;
    stream_cost         both = { 0 };
    launch_cost         one;

    (void)state;
    for (int64_t i = 0; i < LAUNCHES; i++) {
        row[i].kernel  = gemm(1, 1 + i * 37 % 3001, 1 + i * 101 % 2003, 1 + i * 53 % 1999, 0);
        row[i].tag     = "";
        row[i].seconds = truth(&row[i].kernel);
    }
    assert_int_equal(launch_fit(row, NULL, LAUNCHES, 0, &m, NULL), LM_OK);
    for (size_t i = 0; i < LAUNCHES; i++)
        fit = fmax(fit, fabs(seconds_of(&m, &row[i].kernel, "") / row[i].seconds - 1));
    assert_true(fit < 0.01);
    assert_close(seconds_of(&m, &k, "") / truth(&k), 1, 0.01);

    /* a stream of it: neither floor nor start adds up where there is work to hide them */
    one      = cost_of(&m, &k);
    k.repeat = 1000;
    one      = cost_of(&m, &k);
    stream_add(&both, k.repeat, &one);
    assert_close(stream_seconds(&both),
                 pow(pow(1000 * one.floor, 4) + pow(1000 * one.work, 4), 0.25), 1e-12);

    /* what no row shows has no price */
    k.u.gemm.activations = 1;
    assert_true(isnan(seconds_of(&m, &k, "")));
    one = cost_of(&m, &k);
    stream_add(&both, k.repeat, &one);
    assert_true(isnan(stream_seconds(&both)));
    layer_model_free(&m);
}

static void too_few_rows_are_refused(void **state)
{
    timed_kernel row = { gemm(1, 8, 8, 8, 0), "", 1e-5, false };
    layer_model  m;
    lm_error     err = { 0 };

    (void)state;
    assert_int_equal(launch_fit(&row, NULL, 1, 0, &m, &err), LM_E_ARG);
    assert_string_equal(err.text,
                        "single kernels: no kind of operator has the 20 rows that a fit needs");
    layer_model_free(&m);
}

static void sets_of_tiles_have_names(void **state)
{
    tile_set s;

    (void)state;
    assert_true(tile_set_parse("128", &s));
    assert_int_equal(s, TILES_128);
    assert_string_equal(tile_set_name(TILES_MIXED), "mixed");
    assert_false(tile_set_parse("256", &s));
}

/* Pooling of 2 channels, 4x4 to 2x2 by windows of 4: 8 x 4 FLOP, 32 elements in and 8 out. Attention
 * of 2 heads, 3 queries, 4 keys, width 5: 24 pairs of 2 x 10 + 5 FLOP and 30 divisions; 30 elements
 * of queries, 80 of keys and values, 30 of output. */
static void pooling_and_attention_count_work(void **state)
{
    const tiling    how   = { TILES_MIXED, false, 0 };
    const lm_kernel pool  = { .size   = sizeof pool,
                              .op     = LM_OP_POOL,
                              .dtype  = LM_F32,
                              .repeat = 1,
                              .u.pool = { .n        = 1,
                                          .channels = 2,
                                          .in       = { 1, 4, 4 },
                                          .out      = { 1, 2, 2 },
                                          .window   = { 1, 2, 2 },
                                          .stride   = { 1, 2, 2 },
                                          .dilation = { 1, 1, 1 } } },
                    fused = { .size        = sizeof fused,
                              .op          = LM_OP_ATTENTION,
                              .dtype       = LM_F32,
                              .repeat      = 1,
                              .u.attention = { 1, 2, 2, 3, 4, 5, 5, 0, 0, 0 } };

    (void)state;
    assert_int_equal(launch_class_of(&pool), LAUNCH_POOL);
    assert_close(count(&pool, "", &how, "flops"), 32, 0);
    assert_close(count(&pool, "", &how, "bytes"), 160, 0);
    assert_int_equal(launch_class_of(&fused), LAUNCH_ATTENTION);
    assert_close(count(&fused, "", &how, "flops.forward"), 24 * 25 + 30, 0);
    assert_close(count(&fused, "", &how, "bytes"), 560, 0);
}

static lm_kernel attention(lm_pass pass, int64_t queries, int64_t causal)
{
    lm_kernel k = { .size = sizeof k, .op = LM_OP_ATTENTION, .dtype = LM_BF16, .repeat = 1 };

    k.pass              = pass;
    k.u.attention.batch = 1;
    k.u.attention.heads = k.u.attention.kv_heads = 8;
    k.u.attention.queries                        = queries;
    k.u.attention.keys                           = 4096;
    k.u.attention.width = k.u.attention.value_width = 64;
    k.u.attention.causal                            = causal;
    return k;
}

/* FLOPs of all multiprocessors until the end, per FLOP of the kernel. */
static double idle(const lm_kernel *k, double multiprocessors)
{
    const tiling how  = { TILES_MIXED, false, multiprocessors };
    const bool   back = k->pass != LM_FORWARD;

    return count(k, "", &how, back ? "wave_flops.grad_input" : "wave_flops.forward") /
           count(k, "", &how, back ? "flops.grad_input" : "flops.forward");
}

/* 8 heads of 4096 queries are 256 blocks of 128. A causal head has 4096 x 4097 / 2 pairs. */
static void attention_ends_with_its_last_block(void **state)
{
    const lm_kernel all = attention(LM_FORWARD, 4096, 0), one = attention(LM_FORWARD, 1, 0);
    const lm_kernel causal = attention(LM_FORWARD, 4096, 1);
    const lm_kernel back   = attention(LM_GRAD_INPUT, 4096, 1);
    const double    pairs = 8 * 4096. * 4097 / 2, longest = 128 * 4096. - 128 * 127. / 2;

    (void)state;
    assert_close(idle(&all, 148), 2 * 148. / 256, 1e-12); /* two waves */
    assert_close(idle(&causal, 148), 148 * longest / pairs, 1e-12);
    assert_close(idle(&back, 148), 148 * longest / pairs, 1e-12);
    assert_close(idle(&causal, 16), 1, 1e-12); /* the others fill the gaps */
    assert_close(idle(&causal, 0), 1, 1e-12);
    assert_close(idle(&one, 148), 1, 1e-12);
}

/* 30 us and 1 TB/s, measured alone or in a queue: a stream pays the 30 us of the queue. */
static void launches_of_a_queue_pay_their_constant(void **state)
{
    static timed_kernel row[LAUNCHES];

    (void)state;
    for (int queued = 0; queued < 2; queued++) {
        layer_model m;
        launch_cost one;

        for (int64_t i = 0; i < LAUNCHES; i++) {
            lm_kernel k = { .size = sizeof k, .op = LM_OP_COPY, .dtype = LM_F32, .repeat = 1 };

            k.u.copy.bytes = (1 + i) << 20;
            row[i]         = (timed_kernel){ k, "", 3e-5 + 2e-12 * (double)k.u.copy.bytes, queued };
        }
        assert_int_equal(launch_fit(row, NULL, LAUNCHES, 0, &m, NULL), LM_OK);
        one = cost_of(&m, &row[99].kernel);
        assert_close(one.work + one.start, row[99].seconds, 1e-3 * row[99].seconds);
        assert_close(one.start, queued ? 0 : 3e-5, 1e-3 * row[99].seconds);
        layer_model_free(&m);
    }
}

/* Whatever has a name is counted by a descriptor of that name. */
static void every_kernel_has_a_descriptor(void **state)
{
    (void)state;
    for (lm_op op = LM_OP_OPAQUE; op <= LM_OP_ATTENTION; op++)
        assert_string_equal(kernel_class_of(op)->name, kernel_op_name(op));
    assert_ptr_equal(kernel_class_of(LM_OP_ALLREDUCE), kernel_class_of(LM_OP_OPAQUE));
    assert_ptr_equal(kernel_class_of(-1), kernel_class_of(LM_OP_OPAQUE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_has_a_descriptor),
        cmocka_unit_test(pooling_and_attention_count_work),
        cmocka_unit_test(attention_ends_with_its_last_block),
        cmocka_unit_test(launches_of_a_queue_pay_their_constant),
        cmocka_unit_test(the_cheapest_tiles_by_whole_waves),
        cmocka_unit_test(without_multiprocessors_there_are_no_waves),
        cmocka_unit_test(long_sums_are_split_over_idle_multiprocessors),
        cmocka_unit_test(a_product_with_weights_counts_long_rows),
        cmocka_unit_test(a_product_of_activations_counts_what_tiles_read),
        cmocka_unit_test(rows_longer_than_a_block_are_read_again),
        cmocka_unit_test(norms_read_twice_backward),
        cmocka_unit_test(maps_and_copies_count_bytes_of_their_own_kind),
        cmocka_unit_test(a_convolution_is_an_implicit_product),
        cmocka_unit_test(prices_of_products_are_found_again),
        cmocka_unit_test(too_few_rows_are_refused),
        cmocka_unit_test(sets_of_tiles_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
