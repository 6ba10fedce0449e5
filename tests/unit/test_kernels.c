/* Kernels: their work by hand, and geometry as text and back. */
#include "nets.h"

#include "network/kernels.h"

/* Every op with a geometry that has no two numbers alike where they could be confused. */
static const struct {
    lm_kernel   kernel;
    const char *text;
} geometries[] = {
    { { .op = LM_OP_OPAQUE, .repeat = 1, .u.opaque = { 10, 20, 30 } },
      "flops=10 read_bytes=20 written_bytes=30" },
    { { .op = LM_OP_GEMM, .repeat = 1, .u.gemm = { 2, 3, 4, 5, 1, 0, 0 } },
      "batch=2 m=3 n=4 k=5 bias=1" },
    { { .op     = LM_OP_CONV,
        .repeat = 3,
        .u.conv = { 8,
                    6,
                    4,
                    2,
                    0,
                    { 1, 56, 57 },
                    { 1, 28, 29 },
                    { 1, 3, 5 },
                    { 1, 2, 7 },
                    { 0, 1, 9 },
                    { 1, 10, 11 } } },
      "n=8 c_in=6 c_out=4 groups=2 bias=0 in=1x56x57 out=1x28x29 window=1x3x5 stride=1x2x7 "
      "pad=0x1x9 "
      "dilation=1x10x11 repeat=3" },
    { { .op     = LM_OP_POOL,
        .repeat = 1,
        .u.pool = { 8,
                    6,
                    LM_POOL_AVG,
                    { 1, 56, 57 },
                    { 1, 28, 29 },
                    { 1, 3, 5 },
                    { 1, 2, 7 },
                    { 0, 1, 9 },
                    { 1, 10, 11 },
                    0 } },
      "n=8 channels=6 mode=1 in=1x56x57 out=1x28x29 window=1x3x5 stride=1x2x7 pad=0x1x9 "
      "dilation=1x10x11" },
    { { .op     = LM_OP_MAP,
        .repeat = 1,
        .u.map  = { .elements = 100, .operands = 2, .flops_per_element = 0 } },
      "elements=100 operands=2 flops_per_element=0" },
    { { .op = LM_OP_NORM, .repeat = 1, .u.norm = { 64, 392, 49, 0, 0 } },
      "rows=64 group=392 inner=49" },
    { { .op = LM_OP_SOFTMAX, .repeat = 1, .u.softmax = { 8, 1000 } }, "rows=8 group=1000" },
    { { .op = LM_OP_GATHER, .repeat = 1, .u.gather = { 8, 16, 30000 } },
      "rows=8 width=16 table_rows=30000" },
    { { .op = LM_OP_COPY, .repeat = 1, .u.copy = { 4096 } }, "bytes=4096" },
    { { .op = LM_OP_ALLREDUCE, .repeat = 1, .u.collective = { 4096, 8, 2 } },
      "bytes=4096 ranks=8 nodes=2" },
    { { .op = LM_OP_NORM, .repeat = 1, .u.norm = { 24, 8, 8, 1, 0 } },
      "rows=24 group=8 inner=8 rms=1" },
    { { .op = LM_OP_REDUCE, .repeat = 1, .u.reduce = { 98, 64, 49 } },
      "rows=98 group=64 inner=49" },
    { { .op = LM_OP_ATTENTION, .repeat = 1, .u.attention = { 2, 6, 3, 5, 7, 8, 9, 1, 1, 0 } },
      "batch=2 heads=6 kv_heads=3 queries=5 keys=7 width=8 value_width=9 causal=1 dropout=1" },
    { { .op     = LM_OP_POOL,
        .repeat = 1,
        .u.pool = { 2,
                    4,
                    LM_POOL_AVG,
                    { 1, 1, 10 },
                    { 1, 1, 7 },
                    { 1, 1, 3 },
                    { 1, 1, 1 },
                    { 0, 0, 0 },
                    { 1, 1, 1 },
                    16 } },
      "n=2 channels=4 mode=1 in=1x1x10 out=1x1x7 window=1x1x3 stride=1x1x1 pad=0x0x0 "
      "dilation=1x1x1 taps=16" },
    { { .op     = LM_OP_MAP,
        .repeat = 1,
        .u.map  = { .elements          = 100,
                    .operands          = 2,
                    .flops_per_element = 3,
                    .reads             = 125,
                    .writes            = 25 } },
      "elements=100 operands=2 flops_per_element=3 reads=125 writes=25" },
    { { .op = LM_OP_ATTENTION, .repeat = 1, .u.attention = { 2, 6, 1, 1, 7, 8, 6, 0, 0, 1 } },
      "batch=2 heads=6 kv_heads=1 queries=1 keys=7 width=8 value_width=6 causal=0 latent=1" },
};

#define N_GEOMETRIES (sizeof geometries / sizeof geometries[0])

static void geometries_print_and_parse_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_GEOMETRIES; i++) {
        const lm_kernel *k = &geometries[i].kernel;
        lm_kernel        back;
        char             text[512];

        assert_string_equal(kernel_print_geometry(k, text, sizeof text), geometries[i].text);
        memset(&back, 0xA5, sizeof back);
        back.size  = sizeof back;
        back.op    = k->op;
        back.pass  = LM_GRAD_INPUT;
        back.dtype = LM_F16;
        assert_int_equal(kernel_parse_geometry(text, &back, NULL), LM_OK);
        assert_int_equal(back.repeat, k->repeat);
        assert_int_equal(back.pass, LM_GRAD_INPUT);
        assert_int_equal(back.dtype, LM_F16);
        assert_memory_equal(&back.u, &k->u, sizeof k->u);
    }
}

/* Without any one of its words, a geometry is refused by the name of that word. */
static void every_field_must_be_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_GEOMETRIES; i++) {
        const char *text = geometries[i].text;

        for (const char *word = text; word;
             word             = strchr(word, ' ') ? strchr(word, ' ') + 1 : NULL) {
            const size_t n = strcspn(word, " ");
            char         rest[512];
            lm_kernel    k = geometries[i].kernel;
            lm_error     err;

            if (!strncmp(word, "repeat", 6) || !strncmp(word, "rms", 3) ||
                !strncmp(word, "dropout", 7) || !strncmp(word, "latent", 6) ||
                !strncmp(word, "taps", 4) || !strncmp(word, "reads", 5) ||
                !strncmp(word, "writes", 6)) /* have a default */
                continue;
            snprintf(rest, sizeof rest, "%.*s%s", (int)(word - text), text, word + n);
            assert_int_equal(kernel_parse_geometry(rest, &k, &err), LM_E_SYNTAX);
            assert_error(err, LM_E_SYNTAX, "%s: '%.*s=' is missing", kernel_op_name(k.op),
                         (int)strcspn(word, "="), word);
            assert_memory_equal(&k, &geometries[i].kernel, sizeof k); /* untouched */
        }
    }
}

static void bad_geometries_are_refused_by_their_exact_reason(void **state)
{
    static const struct {
        lm_op       op;
        const char *text, *message;
        lm_status   code;
    } cases[] = {
        { LM_OP_GEMM, "batch", "expected name=value, found 'batch'", LM_E_SYNTAX },
        { LM_OP_GEMM, "rows=3", "gemm has no 'rows'", LM_E_NOTFOUND },
        { LM_OP_GEMM, "batch=0", "batch: 0 is outside 1 .. 2^40", LM_E_ARG },
        { LM_OP_GEMM, "batch=-1", "batch: -1 is outside 1 .. 2^40", LM_E_ARG },
        { LM_OP_GEMM, "batch=1099511627777", "batch: 1099511627777 is outside 1 .. 2^40",
          LM_E_ARG },
        { LM_OP_GEMM, "batch=1x2", "batch: expected 1 number", LM_E_SYNTAX },
        { LM_OP_GEMM, "batch=many", "batch: expected a whole number, found 'many'", LM_E_ARG },
        { LM_OP_GEMM, "batch=", "batch: expected a whole number, found ''", LM_E_ARG },
        { LM_OP_GEMM, "batch=1 m=1 n=1 k=1 bias=0 repeat=0", "repeat: 0 is outside 1 .. 2^40",
          LM_E_ARG },
        { LM_OP_GEMM, "batch=1 m=1 n=1 k=1 bias=0 repeat=4294967296", "repeat: too large",
          LM_E_ARG },
        { LM_OP_CONV, "in=56x56", "in: expected 3 numbers joined by x", LM_E_SYNTAX },
        { LM_OP_CONV, "in=1x2x3x4", "in: expected 3 numbers joined by x", LM_E_SYNTAX },
        { LM_OP_CONV, "stride=1x0x1", "stride: 0 is outside 1 .. 2^40", LM_E_ARG },
        { LM_OP_CONV, "pad=0x-1x0", "pad: -1 is outside 0 .. 2^40", LM_E_ARG },
        { LM_OP_CONV,
          "n=8 c_in=6 c_out=4 groups=4 bias=0 in=1x56x56 out=1x28x28 window=1x3x3 stride=1x2x2 "
          "pad=0x1x1 dilation=1x1x1",
          "groups must divide c_in and c_out", LM_E_ARG },
        { LM_OP_COPY, "", "copy: 'bytes=' is missing", LM_E_SYNTAX },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lm_kernel k = { .size = sizeof k, .op = cases[i].op };
        lm_error  err;

        assert_int_equal(kernel_parse_geometry(cases[i].text, &k, &err), cases[i].code);
        assert_error(err, cases[i].code, "%s", cases[i].message);
    }
}

static void a_buffer_that_is_too_small_is_not_overrun(void **state)
{
    char text[24];

    (void)state;
    for (size_t size = 1; size <= sizeof text; size++) {
        memset(text, '#', sizeof text);
        kernel_print_geometry(&geometries[2].kernel, text, size);
        assert_true(strlen(text) < size);
        for (size_t i = size; i < sizeof text; i++)
            assert_int_equal(text[i], '#');
    }
}

static void names_of_ops_and_passes_read_back(void **state)
{
    lm_error err;
    lm_op    op;
    lm_pass  pass;

    (void)state;
    for (size_t i = 0; i < N_GEOMETRIES; i++) {
        assert_int_equal(kernel_op_parse(kernel_op_name(geometries[i].kernel.op), &op, NULL),
                         LM_OK);
        assert_int_equal(op, geometries[i].kernel.op);
    }
    for (lm_pass p = 0; p < LM_N_PASSES; p++) {
        assert_int_equal(kernel_pass_parse(kernel_pass_name(p), &pass, NULL), LM_OK);
        assert_int_equal(pass, p);
    }
    assert_string_equal(kernel_op_name(77), "unknown");
    assert_int_equal(kernel_op_parse("fft", &op, &err), LM_E_NOTFOUND);
    assert_error(err, LM_E_NOTFOUND, "unknown kernel 'fft'");
    assert_int_equal(kernel_pass_parse("backward", &pass, &err), LM_E_NOTFOUND);
    assert_error(err, LM_E_NOTFOUND, "unknown pass 'backward' (forward grad_input grad_weight)");
}

/* The geometries above, in f32; backward where it differs. */
static void work_matches_hand_counts(void **state)
{
    static const struct {
        size_t   geometry;
        lm_pass  pass;
        uint64_t flops, read_bytes, written_bytes;
    } cases[] = {
        { 0, LM_FORWARD, 10, 20, 30 },
        { 1, LM_FORWARD, 2 * 2 * 60 + 2 * 12, 4 * 2 * (15 + 20), 4 * 2 * 12 },
        /* outputs 8*4*28*29 = 25984, 3*15 products each; inputs 8*6*56*57, weights 4*3*15 */
        { 2, LM_FORWARD, 2 * 25984ull * 45, 4 * (153216 + 180), 4 * 25984 },
        { 2, LM_GRAD_INPUT, 2 * 25984ull * 45, 4 * (25984 + 180), 4 * 153216 },
        { 2, LM_GRAD_WEIGHT, 2 * 25984ull * 45, 4 * (25984 + 153216), 4 * 180 },
        { 3, LM_FORWARD, 48 * 812 * 15, 4 * 48 * 3192, 4 * 48 * 812 },
        { 3, LM_GRAD_INPUT, 48 * 812 * 15, 4 * 48 * 812, 4 * 48 * 3192 },
        { 4, LM_FORWARD, 0, 4 * 200, 4 * 100 },
        { 5, LM_FORWARD, 8 * 25088, 4 * 25088, 4 * 25088 },
        { 5, LM_GRAD_INPUT, 9 * 25088, 8 * 25088, 4 * 25088 },
        { 6, LM_FORWARD, 5 * 8000, 4 * 8000, 4 * 8000 },
        { 6, LM_GRAD_INPUT, 4 * 8000, 8 * 8000, 4 * 8000 },
        { 7, LM_FORWARD, 0, 4 * 128, 4 * 128 },
        { 7, LM_GRAD_WEIGHT, 128, 4 * 128, 4 * 128 },
        { 8, LM_FORWARD, 0, 4096, 4096 },
        { 9, LM_FORWARD, 0, 4096, 4096 },
        { 10, LM_FORWARD, 4 * 192, 4 * 192, 4 * 192 },
        { 10, LM_GRAD_INPUT, 6 * 192, 8 * 192, 4 * 192 },
        { 11, LM_FORWARD, 98 * 64, 4 * 98 * 64, 4 * 98 },
        /* 12 heads of 1 + 2 + 3 + 4 + 5 = 180 pairs; Q, K, V 480 + 714 elements, outputs 540 */
        { 12, LM_FORWARD, 2 * 180 * (8 + 9) + 7 * 180 + 540, 4 * 1194, 4 * 540 },
        { 12, LM_GRAD_INPUT, 2 * 180 * (3 * 8 + 2 * 9) + 9 * 180 + 2 * 540, 4 * (1194 + 2 * 540),
          4 * 1194 },
        { 13, LM_FORWARD, 8 * 16, 4 * 8 * 10, 4 * 8 * 7 },
        { 13, LM_GRAD_INPUT, 8 * 16, 4 * 8 * 7, 4 * 8 * 10 },
        { 14, LM_FORWARD, 300, 4 * 125, 4 * 25 },
        /* 84 pairs; Q and K 96 + 112 elements, which hold the values */
        { 15, LM_FORWARD, 2 * 84 * (8 + 6) + 5 * 84 + 72, 4 * 208, 4 * 72 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lm_kernel k = geometries[cases[i].geometry].kernel;
        lm_work   w;

        k.pass  = cases[i].pass;
        k.dtype = LM_F32;
        w       = lm_kernel_work(&k);
        assert_int_equal(w.flops, cases[i].flops);
        assert_int_equal(w.read_bytes, cases[i].read_bytes);
        assert_int_equal(w.written_bytes, cases[i].written_bytes);
    }
}

static void work_beyond_64_bits_saturates(void **state)
{
    const int64_t   big = INT64_C(1) << 40;
    const lm_kernel k   = { .op     = LM_OP_GEMM,
                            .dtype  = LM_F32,
                            .u.gemm = { 1, big, big, big, 0, 0, 0 } };

    (void)state;
    assert_true(lm_kernel_work(&k).flops == UINT64_MAX);
    assert_true(lm_mul(0, UINT64_MAX) == 0);
    assert_true(lm_mul(UINT64_MAX, 1) == UINT64_MAX);
    assert_true(lm_mul(UINT64_C(1) << 32, UINT64_C(1) << 32) == UINT64_MAX);
    assert_true(lm_add(UINT64_MAX, 1) == UINT64_MAX);
}

static void a_step_lists_its_kernels_in_running_order(void **state)
{
    static const struct {
        lm_op   op;
        lm_pass pass;
    } forward[]      = { { LM_OP_CONV, LM_FORWARD },
                         { LM_OP_MAP, LM_FORWARD },
                         { LM_OP_CONV, LM_FORWARD } },
      backward[]     = { { LM_OP_CONV, LM_GRAD_INPUT },
                         { LM_OP_CONV, LM_GRAD_WEIGHT },
                         { LM_OP_MAP, LM_GRAD_INPUT },
                         { LM_OP_CONV, LM_GRAD_WEIGHT } };
    bound_text  m    = nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 3x8x8\n"
                                     "[a]\ntype = conv2d\nfilters = 4\nkernel = 1\n[r]\ntype = relu\n"
                                     "[b]\ntype = conv2d\nfilters = 5\nkernel = 1\nbias = no\n",
                                 2);
    kernel_list list = { NULL, 0, 0 };

    (void)state;
    assert_string_equal(m.err.text, "");
    assert_int_equal(kernels_forward(m.bound, &list, NULL), LM_OK);
    assert_int_equal(list.n, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(list.kernel[i].op == forward[i].op && list.kernel[i].pass == forward[i].pass);
    assert_int_equal(kernels_backward(m.bound, &list, NULL), LM_OK);
    assert_int_equal(list.n, 3 + 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(list.kernel[3 + i].op == backward[i].op &&
                    list.kernel[3 + i].pass == backward[i].pass);
    assert_int_equal(list.kernel[3].u.conv.c_out, 5); /* the last layer comes first */
    /* one map for each trained tensor: a's 12 weights, 4 biases, b's 20 weights */
    assert_int_equal(kernels_update(m.bound, OPTIMIZER_MOMENTUM, &list, NULL), LM_OK);
    assert_int_equal(list.n, 7 + 3);
    assert_int_equal(list.kernel[7].u.map.elements, 12);
    assert_int_equal(list.kernel[8].u.map.elements, 4);
    assert_int_equal(list.kernel[9].u.map.elements, 20);
    assert_int_equal(list.kernel[9].u.map.operands, 3);
    assert_int_equal(list.kernel[9].u.map.flops_per_element, 4);
    kernel_list_free(&list);
    nets_free(&m);
}

/* 12 weights in single precision; FLOPs are counted in optimizer.h. The state is what is read and
 * written beside weight (both) and gradient (read): as many bytes as optimizer_state_bytes(). */
static void updates_read_and_write_the_optimizers_state(void **state)
{
    static const struct {
        optimizer o;
        uint64_t  flops, read, written;
    } cases[]              = { { OPTIMIZER_SGD, 2 * 12, 2 * 48, 48 },
                               { OPTIMIZER_MOMENTUM, 4 * 12, 3 * 48, 2 * 48 },
                               { OPTIMIZER_ADAM, 13 * 12, 4 * 48, 3 * 48 },
                               { OPTIMIZER_ADAGRAD, 7 * 12, 3 * 48, 2 * 48 },
                               { OPTIMIZER_ADADELTA, 16 * 12, 4 * 48, 3 * 48 },
                               { OPTIMIZER_RMSPROP, 9 * 12, 3 * 48, 2 * 48 } };
    const lm_tensor weight = { .dtype = LM_F32, .rank = 2, .dim = { 4, 3 } };
    lm_kernel       k;
    lm_error        err = { LM_OK, "" };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lm_work   w;
        optimizer o;

        assert_int_equal(optimizer_update(cases[i].o, &weight, &k, NULL), LM_OK);
        assert_true(optimizer_of_update(&k, &o) && o == cases[i].o);
        w = lm_kernel_work(&k);
        assert_int_equal(w.flops, cases[i].flops);
        assert_int_equal(w.read_bytes, cases[i].read);
        assert_int_equal(w.written_bytes, cases[i].written);
        assert_int_equal(w.read_bytes - 2 * 48, optimizer_state_bytes(cases[i].o, &weight));
        assert_int_equal(w.written_bytes - 48, optimizer_state_bytes(cases[i].o, &weight));
    }
    assert_int_equal(optimizer_check_measured(OPTIMIZER_ADAFACTOR, &err), LM_E_UNSUPPORTED);
    assert_string_equal(err.text, "the update of adafactor cannot be measured: choose sgd, "
                                  "momentum, adam, adagrad, adadelta or rmsprop");
}

/* A 4 x 3 matrix of f32: 12 elements, 4 + 3 sums. Adafactor reads the gradient three times and the weight
 * once, and writes the weight; muon's map reads and writes weight, momentum and what is made
 * orthogonal, and reads the gradient. */
static void updates_of_matrices_are_their_traffic(void **state)
{
    static const struct {
        optimizer o;
        int64_t   rank;
        uint64_t  flops, read, written;
    } cases[] = {
        { OPTIMIZER_ADAFACTOR, 2, 12 * 11, 4 * (4 * 12 + 7), 4 * (12 + 7) },
        { OPTIMIZER_ADAFACTOR, 1, 12 * 10, 4 * 4 * 12, 4 * 2 * 12 },
        { OPTIMIZER_MUON, 2, 12 * 8, 4 * 4 * 12, 4 * 3 * 12 },
        { OPTIMIZER_MUON, 1, 12 * 13, 4 * 4 * 12, 4 * 3 * 12 }, /* Adam's */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const lm_tensor matrix = { .dtype = LM_F32, .rank = 2, .dim = { 4, 3 } };
        const lm_tensor vector = { .dtype = LM_F32, .rank = 1, .dim = { 12 } };
        lm_kernel       k;
        lm_work         w;
        optimizer       o;

        assert_int_equal(
            optimizer_update(cases[i].o, cases[i].rank == 2 ? &matrix : &vector, &k, NULL), LM_OK);
        w = lm_kernel_work(&k);
        assert_int_equal(w.flops, cases[i].flops);
        assert_int_equal(w.read_bytes, cases[i].read);
        assert_int_equal(w.written_bytes, cases[i].written);
        assert_true(!optimizer_of_update(&k, &o) || o == OPTIMIZER_ADAM); /* no backend runs it */
    }
}

static uint64_t flops_of_products(optimizer o, const lm_tensor *w)
{
    lm_kernel    k[OPTIMIZER_PRODUCTS];
    const size_t n   = optimizer_products(o, w, k);
    uint64_t     sum = 0;

    for (size_t i = 0; i < n; i++)
        if (k[i].op == LM_OP_GEMM)
            sum += k[i].repeat * lm_kernel_work(&k[i]).flops;
    return sum;
}

/* Five steps of 4 n^2 m + 2 n^3 FLOP with n the smaller side: square matrices take the 6 n m^2 of the
 * source, 5 times. */
static void muon_takes_the_published_products(void **state)
{
    const lm_tensor square = { .dtype = LM_F32, .rank = 2, .dim = { 8, 8 } };
    const lm_tensor wide   = { .dtype = LM_F32, .rank = 2, .dim = { 4, 10 } };
    const lm_tensor tall   = { .dtype = LM_F32, .rank = 2, .dim = { 10, 4 } };
    const lm_tensor expert = { .dtype = LM_F32, .rank = 3, .dim = { 7, 10, 4 } };
    const lm_tensor conv   = { .dtype = LM_F32, .rank = 4, .dim = { 4, 5, 1, 2 } };
    const lm_tensor vector = { .dtype = LM_F32, .rank = 1, .dim = { 10 } };

    (void)state;
    assert_int_equal(flops_of_products(OPTIMIZER_MUON, &square), 5 * 6 * 8 * 8 * 8);
    assert_int_equal(flops_of_products(OPTIMIZER_MUON, &wide), 5 * (4 * 16 * 10 + 2 * 64));
    assert_int_equal(flops_of_products(OPTIMIZER_MUON, &tall), 5 * (4 * 16 * 10 + 2 * 64));
    assert_int_equal(flops_of_products(OPTIMIZER_MUON, &expert), 7 * 5 * (4 * 16 * 10 + 2 * 64));
    assert_int_equal(flops_of_products(OPTIMIZER_MUON, &conv), 5 * (4 * 16 * 10 + 2 * 64));
    assert_int_equal(flops_of_products(OPTIMIZER_MUON, &vector), 0);
    assert_int_equal(flops_of_products(OPTIMIZER_ADAM, &square), 0);
}

static void check_gradient(const weight_gradient *g, uint64_t bytes, size_t begin, size_t end)
{
    assert_int_equal(g->bytes, bytes);
    assert_int_equal(g->dtype, LM_F32);
    assert_int_equal(g->begin, begin);
    assert_int_equal(g->end, end);
}

/* Backward: b's two products are kernels 0 and 1, the rectifier is 2, a's weights are 3. */
static void gradients_come_in_the_order_in_which_they_are_complete(void **state)
{
    bound_text    m = nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 3x8x8\n"
                                   "[a]\ntype = conv2d\nfilters = 4\nkernel = 1\n[r]\ntype = relu\n"
                                   "[b]\ntype = conv2d\nfilters = 5\nkernel = 1\nbias = no\n",
                                2);
    gradient_list list;

    (void)state;
    assert_int_equal(kernels_gradients(m.bound, &list, NULL), LM_OK);
    assert_int_equal(list.n, 3);
    check_gradient(&list.gradient[0], 80, 0, 2);
    check_gradient(&list.gradient[1], 16, 3, 4); /* a's bias, then its weights */
    check_gradient(&list.gradient[2], 48, 3, 4);
    gradient_list_free(&list);
    nets_free(&m);
}

/* The matrix of a serves b, too, which runs behind it: only a's backward pass completes it. Linear
 * layers without bias: c has kernels 0 and 1; b has 2, 3, and adds its gradient in 4; a has 5. */
static void a_shared_gradient_is_complete_where_the_last_of_its_layers_has_run(void **state)
{
    bound_text    m = nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 6\n"
                                   "[a]\ntype = linear\nfeatures = 6\nbias = no\n"
                                   "[b]\ntype = linear\nfeatures = 6\nbias = no\nshares = a\n"
                                   "[c]\ntype = linear\nfeatures = 2\nbias = no\n",
                                5);
    gradient_list list;

    (void)state;
    assert_string_equal(m.err.text, "");
    assert_int_equal(kernels_gradients(m.bound, &list, NULL), LM_OK);
    assert_int_equal(list.n, 2);
    check_gradient(&list.gradient[0], 48, 0, 2);
    check_gradient(&list.gradient[1], 144, 5, 6);
    gradient_list_free(&list);
    nets_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(geometries_print_and_parse_back),
        cmocka_unit_test(every_field_must_be_there),
        cmocka_unit_test(bad_geometries_are_refused_by_their_exact_reason),
        cmocka_unit_test(a_buffer_that_is_too_small_is_not_overrun),
        cmocka_unit_test(names_of_ops_and_passes_read_back),
        cmocka_unit_test(work_matches_hand_counts),
        cmocka_unit_test(work_beyond_64_bits_saturates),
        cmocka_unit_test(a_step_lists_its_kernels_in_running_order),
        cmocka_unit_test(updates_read_and_write_the_optimizers_state),
        cmocka_unit_test(updates_of_matrices_are_their_traffic),
        cmocka_unit_test(muon_takes_the_published_products),
        cmocka_unit_test(gradients_come_in_the_order_in_which_they_are_complete),
        cmocka_unit_test(a_shared_gradient_is_complete_where_the_last_of_its_layers_has_run),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
