/* The GPU backend's own kernels: what they compute, beside the same in double precision. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_loops.h"
#include "gpu_case.h"
#include "verify/elements.h"
#include "verify/half.h"
#include "network/autocast.h"
#include "network/mixed/fp8.h"

static const lm_dtype types[] = { LM_F32, LM_F16, LM_BF16 };

enum { N_TYPES = sizeof types / sizeof types[0] };

/* Lengths around those of vectors and blocks. */
static const int64_t lengths[] = { 1, 3, 8, 9, 257, 4096, 100003 };

enum { N_LENGTHS = sizeof lengths / sizeof lengths[0] };

static lm_kernel map_kernel(lm_dtype type, lm_pass pass, int64_t n, int64_t operands, int64_t flops)
{
    lm_kernel k = { .size = sizeof k, .op = LM_OP_MAP, .pass = pass, .dtype = type, .repeat = 1 };

    k.u.map.elements          = n;
    k.u.map.operands          = operands;
    k.u.map.flops_per_element = flops;
    return k;
}

/* ---- maps ------------------------------------------------------------------------------------ */

static double relu(const double *x)
{
    return fmax(x[0], 0);
}

static double swish(const double *x)
{
    return x[0] / (1 + exp(-x[0]));
}

static double gelu(const double *x)
{
    return 0.5 * x[0] * (1 + erf(x[0] / sqrt(2)));
}

static double sum2(const double *x)
{
    return x[0] + x[1];
}

static double relu_back(const double *x)
{
    return x[1] > 0 ? x[0] : 0;
}

/* The derivative as a quotient of differences, so that no formula is written twice. */
static double slope(double (*f)(const double *), double x)
{
    const double h = 1e-5, behind = x + h, before = x - h;

    return (f(&behind) - f(&before)) / (2 * h);
}

static double swish_back(const double *x)
{
    return x[0] * slope(swish, x[1]);
}

static double gelu_back(const double *x)
{
    return x[0] * slope(gelu, x[1]);
}

static double zero(const double *x)
{
    (void)x;
    return 0;
}

static double mean3(const double *x)
{
    return (x[0] + x[1] + x[2]) / sqrt(3);
}

static double mean9(const double *x)
{
    double sum = 0;

    for (int i = 0; i < 9; i++)
        sum += x[i];
    return sum / 3;
}

static const struct map_case {
    const char *name;
    lm_pass     pass;
    int64_t     operands, flops;
    double (*expected)(const double *x);
} maps[] = {
    { "relu", LM_FORWARD, 1, 1, relu },
    { "swish", LM_FORWARD, 1, 5, swish },
    { "gelu", LM_FORWARD, 1, 8, gelu },
    { "sum", LM_FORWARD, 2, 1, sum2 },
    { "relu's gradient", LM_GRAD_INPUT, 2, 1, relu_back },
    { "swish's gradient", LM_GRAD_INPUT, 2, 9, swish_back },
    { "gelu's gradient", LM_GRAD_INPUT, 2, 14, gelu_back },
    { "zeros", LM_FORWARD, 0, 0, zero },
    { "three", LM_FORWARD, 3, 2, mean3 },
    { "nine", LM_FORWARD, 9, 8, mean9 },
};

static void check_map(const struct map_case *m, lm_dtype type, int64_t n)
{
    const lm_kernel k = map_kernel(type, m->pass, n, m->operands, m->flops);
    gpu_case        c;
    double         *in[9], *out;

    gpu_prepare(&c, NULL, &k, false);
    assert_int_equal(c.kernel.base.n_slots, m->operands + 1);
    gpu_run(&c);
    for (int64_t i = 0; i < m->operands; i++)
        in[i] = gpu_get(&c, (size_t)i);
    out = gpu_get(&c, (size_t)m->operands);
    for (int64_t i = 0; i < n; i++) {
        double x[9], expected;

        for (int64_t j = 0; j < m->operands; j++)
            x[j] = in[j][i];
        expected = m->expected(x);
        if (!(fabs(out[i] - expected) <= 8 * element_epsilon(type) * fmax(1, fabs(expected))))
            fail_msg("%s of type %d, %lld elements: [%lld] is %g, not %g", m->name, (int)type,
                     (long long)n, (long long)i, out[i], expected);
    }
    for (int64_t i = 0; i < m->operands; i++)
        free(in[i]);
    free(out);
    gpu_release(&c);
}

static void maps_compute_what_double_precision_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
        for (size_t t = 0; t < N_TYPES; t++)
            for (size_t n = 0; n < N_LENGTHS; n++)
                check_map(&maps[i], types[t], lengths[n]);
}

/* ---- casts ----------------------------------------------------------------------------------- */

static void check_cast(lm_dtype half, bool widens, lm_pass pass, int64_t n)
{
    const lm_kernel k    = autocast_kernel(half, widens, (uint64_t)n, pass);
    const lm_dtype  from = widens ? half : LM_F32, to = widens ? LM_F32 : half;
    gpu_case        c;
    double         *in, *out;

    gpu_prepare(&c, NULL, &k, false);
    assert_int_equal(c.kernel.base.n_slots, 2);
    for (int i = 0; i < 2; i++) {
        const slot *s = &c.kernel.base.slot[i];

        assert_int_equal(s->fill.type, i ? to : from);
        assert_int_equal(s->bytes, lm_dtype_bytes(i ? to : from) * (uint64_t)n);
    }
    gpu_run(&c);
    in  = gpu_get(&c, 0);
    out = gpu_get(&c, 1);
    for (int64_t i = 0; i < n; i++)
        assert_close(out[i], gpu_round(half, in[i]), 0);
    free(in);
    free(out);
    gpu_release(&c);
}

static void casts_round_to_the_nearest_and_widen_exactly(void **state)
{
    (void)state;
    for (size_t t = 1; t < N_TYPES; t++)
        for (size_t n = 0; n < N_LENGTHS; n++)
            for (int up = 0; up < 2; up++)
                check_cast(types[t], up, LM_FORWARD, lengths[n]);
}

/* Weights come from where the optimizer keeps them, their gradients go where it reads them. */
static void casts_of_weights_are_the_optimizers(void **state)
{
    const lm_kernel down = autocast_kernel(LM_BF16, false, 9, LM_GRAD_WEIGHT);
    const lm_kernel up   = autocast_kernel(LM_BF16, true, 9, LM_GRAD_WEIGHT);
    gpu_case        c;

    (void)state;
    gpu_prepare(&c, NULL, &down, false);
    assert_int_equal(c.kernel.base.slot[0].role, ROLE_WEIGHT);
    assert_int_equal(c.kernel.base.slot[1].role, ROLE_ASIDE);
    gpu_release(&c);
    gpu_prepare(&c, NULL, &up, false);
    assert_int_equal(c.kernel.base.slot[0].role, ROLE_ASIDE);
    assert_int_equal(c.kernel.base.slot[1].role, ROLE_GRADIENT);
    gpu_release(&c);
}

static void check_cast_f8(lm_dtype from, size_t rows, size_t width, int copies, lm_pass pass)
{
    const lm_kernel k        = fp8_cast(from, rows, width, copies, pass);
    const int       mantissa = pass == LM_GRAD_INPUT ? 2 : 3;
    const double    scale    = 0.75;
    const size_t    n        = rows * width;
    double         *x = malloc(n * sizeof *x), *largest, most = 0;
    uint8_t        *code;
    gpu_case        c;

    assert_non_null(x);
    gpu_prepare(&c, NULL, &k, false);
    assert_int_equal(c.kernel.base.slot[0].bytes, n * lm_dtype_bytes(from));
    assert_int_equal(c.kernel.base.slot[1].bytes, n * (size_t)copies);
    for (size_t i = 0; i < n; i++) { /* from 2^-20 to 2^21: denormal, and too large */
        x[i] = ldexp(1 + (double)(i * 37 % 64) / 64, (int)(i * 11 % 41) - 20) * (i % 3 ? 1 : -1);
        x[i] = i % 17 ? gpu_round(from, x[i]) : 0;
        most = fmax(most, fabs(x[i]));
    }
    gpu_put(&c, 0, x);
    gpu_put(&c, 2, &scale);
    gpu_run(&c);
    code    = gpu_bytes(&c, 1);
    largest = gpu_get(&c, 3);
    for (size_t i = 0; i < n; i++)
        if (code[i] != f8_bits(scale * x[i], mantissa))
            fail_msg("[%zu] of %zu x %zu, pass %d: %g is %#x, not %#x", i, rows, width, (int)pass,
                     scale * x[i], code[i], f8_bits(scale * x[i], mantissa));
    for (size_t i = 0; i < n && copies == 2; i++)
        assert_int_equal(code[n + i % width * rows + i / width], code[i]);
    assert_close(*largest, most, 0);
    free(x);
    free(code);
    free(largest);
    gpu_release(&c);
}

static void casts_to_f8_round_turn_and_keep_the_largest(void **state)
{
    static const lm_dtype from[] = { LM_F32, LM_BF16 };

    (void)state;
    for (size_t t = 0; t < 2; t++)
        for (int copies = 1; copies <= 2; copies++)
            for (lm_pass pass = 0; pass < LM_N_PASSES; pass++) {
                check_cast_f8(from[t], 16, 16, copies, pass);
                check_cast_f8(from[t], 48, 80, copies, pass);
                check_cast_f8(from[t], 96, 32, copies, pass);
            }
}

static void a_map_of_more_operands_than_there_is_room_for_is_refused(void **state)
{
    const lm_kernel k    = map_kernel(LM_F32, LM_FORWARD, 8, 10, 9);
    const lm_kernel wide = map_kernel(LM_F64, LM_FORWARD, 8, 1, 1);
    const settings  how  = { { 0 } };
    cuda_kernel     out;
    gpu_case        any;
    lm_error        err;
    const lm_kernel fine = map_kernel(LM_F32, LM_FORWARD, 8, 1, 1);

    (void)state;
    gpu_prepare(&any, NULL, &fine, false);
    assert_int_equal(cuda_kernel_prepare(any.device, &how, &k, USE_TRAINING, &out, &err),
                     LM_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "more than 9 operands"));
    assert_int_equal(cuda_kernel_prepare(any.device, &how, &wide, USE_TRAINING, &out, &err),
                     LM_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "f64 map forward: element type"));
    gpu_release(&any);
}

/* ---- optimizers ------------------------------------------------------------------------------ */

/* The rate of a benchmark leaves weights what they are; what is kept changes. */
static void check_update(optimizer o, lm_dtype type, int64_t n, const char *form)
{
    /* what is kept after two steps with the same gradient: of it, of its square */
    static const struct {
        double first, first_square, second_square;
    } after[] = {
        [OPTIMIZER_SGD]      = { 0 },
        [OPTIMIZER_MOMENTUM] = { 1.9, 0, 0 },
        [OPTIMIZER_ADAM]     = { 0.19, 0, 0.001999 },
        [OPTIMIZER_ADAGRAD]  = { 0, 2, 0 },
        [OPTIMIZER_RMSPROP]  = { 0, 0.0199, 0 },
        [OPTIMIZER_ADADELTA] = { 0, 0.19, 0 },
    };
    const lm_tensor weight = { .dtype = type, .rank = 1, .dim = { n } };
    settings        how    = { { 0 } };
    lm_kernel       k;
    int64_t         operands;
    gpu_case        c;
    double         *kept[4], *w, *g;

    assert_int_equal(optimizer_update(o, &weight, &k, NULL), LM_OK);
    operands = k.u.map.operands;
    assert_int_equal(setting_parse(SETTING_UPDATE, form, &how.value[SETTING_UPDATE], NULL), LM_OK);
    gpu_prepare(&c, &how, &k, USE_UPDATE);
    g = gpu_get(&c, 1);
    w = gpu_get(&c, 0);
    for (int times = 0; times < 2; times++)
        gpu_run(&c);
    for (int64_t i = 0; i < operands; i++)
        kept[i] = gpu_get(&c, (size_t)i);
    for (int64_t i = 0; i < n; i++) {
        const double tolerance = 8 * element_epsilon(type) * fmax(1, g[i] * g[i]);

        assert_true(fabs(kept[0][i] - w[i]) <= element_epsilon(type) * fmax(1, fabs(w[i])));
        if (operands > 2)
            assert_true(fabs(kept[2][i] - after[o].first * g[i] -
                             after[o].first_square * g[i] * g[i]) <= tolerance);
        if (o == OPTIMIZER_ADAM)
            assert_true(fabs(kept[3][i] - after[o].second_square * g[i] * g[i]) <= tolerance);
        if (o == OPTIMIZER_ADADELTA)
            assert_true(kept[3][i] >= 0);
    }
    for (int64_t i = 0; i < operands; i++)
        free(kept[i]);
    free(g);
    free(w);
    gpu_release(&c);
}

static const char *const forms[] = { "own", "single", "foreach", "fused" };

static void optimizers_keep_what_they_should(void **state)
{
    (void)state;
    for (optimizer o = 0; o < OPTIMIZER_ADAFACTOR; o++)
        for (size_t t = 0; t < N_TYPES; t++)
            for (size_t n = 0; n < N_LENGTHS; n++)
                for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++)
                    check_update(o, types[t], lengths[n], forms[f]);
}

/* The passes of torch.optim: as many, over so many buffers, with those that last from one to the next. */
static void updates_in_passes_have_those_of_torch(void **state)
{
    static const struct {
        size_t      slots[2]; /* of one pass, of several */
        const char *said;
        uint64_t    temporary;
    } right[] = {
        [OPTIMIZER_SGD]      = { { 2, 2 }, "own update in 1 passes", 0 },
        [OPTIMIZER_MOMENTUM] = { { 3, 3 }, "own update in 3 passes", 0 },
        [OPTIMIZER_ADAM]     = { { 4, 5 }, "own update in 7 passes", 1 },
        [OPTIMIZER_ADAGRAD]  = { { 3, 4 }, "own update in 5 passes", 2 },
        [OPTIMIZER_ADADELTA] = { { 4, 5 }, "own update in 11 passes", 2 },
        [OPTIMIZER_RMSPROP]  = { { 3, 4 }, "own update in 5 passes", 1 },
    };
    const lm_tensor weight = { .dtype = LM_F32, .rank = 1, .dim = { 33 } };

    (void)state;
    for (optimizer o = 0; o < OPTIMIZER_ADAFACTOR; o++)
        for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
            const bool one = f % 3 == 0; /* own, fused */
            settings   how = { { 0 } };
            lm_kernel  k;
            gpu_case   c;

            assert_int_equal(optimizer_update(o, &weight, &k, NULL), LM_OK);
            assert_int_equal(setting_parse(SETTING_UPDATE, forms[f], &how.value[SETTING_UPDATE], NULL), LM_OK);
            gpu_prepare(&c, &how, &k, USE_UPDATE);
            assert_int_equal(c.kernel.base.n_slots, right[o].slots[!one]);
            assert_string_equal(c.kernel.implementation, one ? "own update" : right[o].said);
            if (!one && right[o].temporary)
                assert_int_equal(c.kernel.base.slot[c.kernel.base.n_slots - 1].bytes, right[o].temporary * 144);
            gpu_release(&c);
        }
}

/* With a rate that matters, one step of each moves weights where it should. */
static void check_step(cuda_loop loop, const double *state, double expected)
{
    lm_kernel k = map_kernel(LM_F32, LM_GRAD_WEIGHT, 9, 4, 13);
    gpu_case  c;
    loop_args args = { .n = 9, .scale = 0.5f };
    lm_error  err;
    double   *w;

    gpu_prepare(&c, NULL, &k, USE_UPDATE);
    for (size_t i = 0; i < 4; i++) {
        double same[9];

        for (size_t j = 0; j < 9; j++)
            same[j] = state[i];
        gpu_put(&c, i, same);
        args.at[i] = c.memory[i];
    }
    assert_int_equal(cuda_loop_run(c.device, loop, LM_F32, &args, &err), LM_OK);
    assert_int_equal(cudaStreamSynchronize(c.device->stream), cudaSuccess);
    w = gpu_get(&c, 0);
    for (size_t j = 0; j < 9; j++)
        assert_close(w[j], expected, 1e-6);
    free(w);
    gpu_release(&c);
}

static void a_step_goes_against_the_gradient(void **state)
{
    const double from[] = { 1, 2, 4, 9 }; /* weight, gradient, what is kept */

    (void)state;
    check_step(LOOP_SGD, from, 1 - 0.5 * 2);
    check_step(LOOP_MOMENTUM, from, 1 - 0.5 * (0.9 * 4 + 2));
    check_step(LOOP_ADAM, from, 1 - 0.5 * (0.9 * 4 + 0.1 * 2) / sqrt(0.999 * 9 + 0.001 * 4));
    check_step(LOOP_ADAGRAD, from, 1 - 0.5 * 2 / sqrt(4 + 4));
    check_step(LOOP_RMSPROP, from, 1 - 0.5 * 2 / sqrt(0.99 * 4 + 0.01 * 4));
    check_step(LOOP_ADADELTA, from, 1 - 0.5 * 2 * sqrt(9.0 / (0.9 * 4 + 0.1 * 4)));
}

/* ---- rows of tables -------------------------------------------------------------------------- */

static lm_kernel gather_kernel(lm_dtype type, lm_pass pass, int64_t rows, int64_t width,
                               int64_t table)
{
    lm_kernel k = {
        .size = sizeof k, .op = LM_OP_GATHER, .pass = pass, .dtype = type, .repeat = 1
    };

    k.u.gather.rows       = rows;
    k.u.gather.width      = width;
    k.u.gather.table_rows = table;
    return k;
}

static void check_gather(lm_dtype type, int64_t rows, int64_t width, int64_t table)
{
    const lm_kernel k = gather_kernel(type, LM_FORWARD, rows, width, table);
    gpu_case        c;
    double         *from, *index, *to;

    gpu_prepare(&c, NULL, &k, false);
    gpu_run(&c);
    from  = gpu_get(&c, gpu_slot(&c, CUDA_SRC));
    index = gpu_get(&c, gpu_slot(&c, CUDA_INDEX));
    to    = gpu_get(&c, gpu_slot(&c, CUDA_DST));
    for (int64_t r = 0; r < rows; r++) {
        assert_true(index[r] >= 0 && index[r] < (double)table);
        for (int64_t i = 0; i < width; i++)
            assert_close(to[r * width + i], from[(int64_t)index[r] * width + i], 0);
    }
    free(from);
    free(index);
    free(to);
    gpu_release(&c);
}

/* Whole numbers, few enough to be exact in any order and in 16 bit. */
static void check_scatter(lm_dtype type, int64_t rows, int64_t width, int64_t table)
{
    const lm_kernel k        = gather_kernel(type, LM_GRAD_INPUT, rows, width, table);
    double         *expected = calloc((size_t)(table * width), sizeof *expected);
    double         *in       = malloc((size_t)(rows * width) * sizeof *in);
    gpu_case        c;
    double         *index, *to;

    gpu_prepare(&c, NULL, &k, false);
    for (int64_t i = 0; i < rows * width; i++)
        in[i] = (double)(i % 3 - 1);
    gpu_put(&c, gpu_slot(&c, CUDA_SRC), in);
    gpu_put(&c, gpu_slot(&c, CUDA_DST), expected);
    gpu_run(&c);
    index = gpu_get(&c, gpu_slot(&c, CUDA_INDEX));
    to    = gpu_get(&c, gpu_slot(&c, CUDA_DST));
    for (int64_t i = 0; i < rows * width; i++)
        expected[(int64_t)index[i / width] * width + i % width] += in[i];
    for (int64_t i = 0; i < table * width; i++)
        assert_close(to[i], expected[i], 0);
    free(expected);
    free(in);
    free(index);
    free(to);
    gpu_release(&c);
}

static void rows_are_fetched_and_added(void **state)
{
    (void)state;
    for (size_t t = 0; t < N_TYPES; t++) {
        check_gather(types[t], 1, 1, 1);
        check_gather(types[t], 77, 64, 1000);
        check_gather(types[t], 5, 1001, 3);
        check_scatter(types[t], 1, 1, 1);
        check_scatter(types[t], 77, 64, 10);
        check_scatter(types[t], 40, 33, 3);
    }
}

/* ---- copies, fill ---------------------------------------------------------------------------- */

static void a_copy_is_what_was_copied(void **state)
{
    lm_kernel k = { .size = sizeof k, .op = LM_OP_COPY, .dtype = LM_F32, .repeat = 1 };
    gpu_case  c;
    double   *from, *to;

    (void)state;
    k.u.copy.bytes = 4004;
    gpu_prepare(&c, NULL, &k, false);
    gpu_run(&c);
    from = gpu_get(&c, 0);
    to   = gpu_get(&c, 1);
    assert_memory_equal(from, to, 1001 * sizeof *to);
    free(from);
    free(to);
    gpu_release(&c);
}

static void random_numbers_are_normal_and_never_the_same(void **state)
{
    enum { N = 100000 };
    const lm_kernel k   = map_kernel(LM_F32, LM_FORWARD, N, 2, 1);
    double          sum = 0, squares = 0;
    gpu_case        c;
    double         *a, *b;

    (void)state;
    gpu_prepare(&c, NULL, &k, false);
    a = gpu_get(&c, 0);
    b = gpu_get(&c, 1);
    for (int i = 0; i < N; i++) {
        sum += a[i];
        squares += a[i] * a[i];
        assert_true(fabs(a[i]) >= 1e-3);
    }
    assert_true(fabs(sum / N) < 5 / sqrt(N));
    assert_close(squares / N, 1, 0.02);
    assert_memory_not_equal(a, b, N * sizeof *a);
    free(a);
    free(b);
    gpu_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_compute_what_double_precision_does),
        cmocka_unit_test(casts_round_to_the_nearest_and_widen_exactly),
        cmocka_unit_test(casts_of_weights_are_the_optimizers),
        cmocka_unit_test(casts_to_f8_round_turn_and_keep_the_largest),
        cmocka_unit_test(a_map_of_more_operands_than_there_is_room_for_is_refused),
        cmocka_unit_test(optimizers_keep_what_they_should),
        cmocka_unit_test(updates_in_passes_have_those_of_torch),
        cmocka_unit_test(a_step_goes_against_the_gradient),
        cmocka_unit_test(rows_are_fetched_and_added),
        cmocka_unit_test(a_copy_is_what_was_copied),
        cmocka_unit_test(random_numbers_are_normal_and_never_the_same),
    };

    return gpu_run_tests(tests);
}
