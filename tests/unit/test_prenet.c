/* PreNeT's features against its published formulas, worked out by hand. */
#include "nets.h"

#include "layerwise/prenet.h"

#define HEAD "[network]\nname = n\n[x]\ntype = input\n"

typedef struct expected {
    prenet_feature feature;
    double         value;
} expected;

/* Features of the layer 'l' of a network. */
static prenet_features features_of(const char *text, int64_t batch, bool training)
{
    bound_text            made = nets_bind(text, batch);
    const prenet_features f    = prenet_of_layer(nets_layer(&made, "l"), training);

    nets_free(&made);
    return f;
}

/* All of `want`, and nothing else but the precision. */
static void check_features(const prenet_features *f, prenet_kind kind, const expected *want,
                           size_t n)
{
    bool seen[N_PRENET_FEATURES] = { false };

    assert_int_equal(f->kind, kind);
    assert_true(f->value[PRENET_PRECISION] == 32);
    seen[PRENET_PRECISION] = true;
    for (size_t i = 0; i < n; i++) {
        if (!(f->value[want[i].feature] == want[i].value))
            fail_msg("%s is %g, not %g", prenet_feature_name(want[i].feature),
                     f->value[want[i].feature], want[i].value);
        seen[want[i].feature] = true;
    }
    for (int i = 0; i < N_PRENET_FEATURES; i++)
        if (!seen[i] && !isnan(f->value[i]))
            fail_msg("%s is %g, not left out", prenet_feature_name((prenet_feature)i), f->value[i]);
}

#define CHECK(f, kind, ...)                                         \
    check_features(&(f), (kind), (const expected[]){ __VA_ARGS__ }, \
                   sizeof((const expected[]){ __VA_ARGS__ }) / sizeof(expected))

static void dense_layers(void **state)
{
    const char     *text = HEAD "shape = 100\n[l]\ntype = linear\nfeatures = 10\n";
    prenet_features f    = features_of(text, 32, false);

    (void)state;
    CHECK(f, PRENET_DENSE, { PRENET_BATCHSIZE, 32 }, { PRENET_DIM_INPUT, 100 },
          { PRENET_DIM_OUTPUT, 10 }, { PRENET_FLOPS, 2 * 32 * 100 * 10 },
          { PRENET_MEMORY_WEIGHTS, 1000 }, { PRENET_MEMORY_IN, 3200 }, { PRENET_MEMORY_OUT, 320 },
          { PRENET_MEMORY_TOTAL, 4520 });
    f = features_of(text, 32, true);
    assert_true(f.value[PRENET_FLOPS] == 64000);
    assert_true(f.value[PRENET_MEMORY_WEIGHTS] == 1000);
    assert_true(f.value[PRENET_MEMORY_TOTAL] == 9040);
    assert_close(prenet_time(&f, 8141), 64000.0 / 8141, 1e-15); /* GFLOP/s of its table for a T4 */
    /* dimensions before the last are rows */
    f = features_of(HEAD "shape = 7x100\n[l]\ntype = linear\nfeatures = 10\n", 32, true);
    assert_true(f.value[PRENET_BATCHSIZE] == 224);
}

static void convolutions_with_padding_same(void **state)
{
    const char *text =
        HEAD "shape = 4x8x8\n[l]\ntype = conv2d\nfilters = 16\nkernel = 3\npadding = 1\n";
    prenet_features f = features_of(text, 2, false);

    (void)state;
    CHECK(f, PRENET_CONV, { PRENET_BATCHSIZE, 2 }, { PRENET_MATSIZE, 8 }, { PRENET_KERNELSIZE, 3 },
          { PRENET_CHANNELS_IN, 4 }, { PRENET_CHANNELS_OUT, 16 }, { PRENET_STRIDES, 1 },
          { PRENET_PADDING_SAME, 1 }, { PRENET_USE_BIAS, 1 }, { PRENET_FLOPS, 2 * 64 * 9 * 4 * 16 },
          { PRENET_MEMORY_WEIGHTS, 9 * 4 * 16 + 16 }, { PRENET_MEMORY_IN, 2 * 64 * 4 },
          { PRENET_MEMORY_OUT, 2 * 64 * 16 }, { PRENET_MEMORY_TOTAL, 592 + 512 + 2048 });
    f = features_of(text, 2, true);
    assert_true(f.value[PRENET_FLOPS] == 73728);
    assert_true(f.value[PRENET_MEMORY_TOTAL] == 2 * 3152);
}

/* (8 - (2 - 1)) / 2 = 3.5 where 4 pixels come out; / 3 with a window of 3: 2 of 2. */
static void convolutions_without_padding_have_broken_pixels(void **state)
{
    prenet_features f = features_of(HEAD "shape = 1x8x8\n[l]\ntype = conv2d\nfilters = 1\n"
                                         "kernel = 2\nstride = 2\nbias = no\n",
                                    1, false);

    (void)state;
    assert_true(f.value[PRENET_PADDING_SAME] == 0);
    assert_true(f.value[PRENET_USE_BIAS] == 0);
    assert_true(f.value[PRENET_FLOPS] == 3.5 * 3.5 * 4);
    assert_true(f.value[PRENET_MEMORY_OUT] == 3.5 * 3.5);
    f = features_of(HEAD "shape = 1x8x8\n[l]\ntype = conv2d\nfilters = 1\nkernel = 3\nstride = 3\n",
                    1, false);
    assert_true(f.value[PRENET_MEMORY_OUT] == 4);
}

/* What the published formulas do not know: padding between the two (8 + 2 - 4), a window that is
 * not square, dilation (10 - 2 * 2), groups. */
static void convolutions_beyond_the_published_formulas(void **state)
{
    prenet_features f =
        features_of(HEAD "shape = 6x8x10\n[l]\ntype = conv2d\nfilters = 9\n"
                         "kernel = 5x3\npadding = 1,0\ndilation = 1,2\ngroups = 3\n",
                    1, false);

    (void)state;
    assert_true(isnan(f.value[PRENET_PADDING_SAME]));
    assert_close(f.value[PRENET_KERNELSIZE], sqrt(15), 1e-15);
    assert_close(f.value[PRENET_MATSIZE], sqrt(80), 1e-15);
    assert_true(f.value[PRENET_FLOPS] == 6 * 6 * 15 * 2 * 9);
    assert_true(f.value[PRENET_MEMORY_WEIGHTS] == 15 * 2 * 9 + 9);
    assert_true(f.value[PRENET_MEMORY_IN] == 480);
}

/* 7 pixels, a window of 3, a stride of 2: 'same' takes 4 outputs, so 1 pixel on each side, which a
 * layer of its own adds; 8 pixels take one, behind. m / s is not rounded. */
static void padding_may_be_a_layer_of_its_own(void **state)
{
    static const struct {
        const char *text;
        double      m;
    } cases[] = {
        { HEAD "shape = 1x7x7\n[p]\ntype = pad\nbefore = 1,1\nafter = 1,1\n[l]\ntype = conv2d\n"
               "filters = 2\nkernel = 3\nstride = 2\n",
          7 },
        { HEAD "shape = 1x8x8\n[p]\ntype = pad\nbefore = 0,0\nafter = 1,1\n[l]\ntype = conv2d\n"
               "filters = 2\nkernel = 3\nstride = 2\n",
          8 },
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        bound_text            made = nets_bind(cases[i].text, 1);
        const double          m = cases[i].m, out = m / 2 * m / 2;
        const prenet_features f =
            prenet_of_padded(nets_layer(&made, "p"), nets_layer(&made, "l"), false);

        CHECK(f, PRENET_CONV, { PRENET_BATCHSIZE, 1 }, { PRENET_MATSIZE, m },
              { PRENET_KERNELSIZE, 3 }, { PRENET_CHANNELS_IN, 1 }, { PRENET_CHANNELS_OUT, 2 },
              { PRENET_STRIDES, 2 }, { PRENET_PADDING_SAME, 1 }, { PRENET_USE_BIAS, 1 },
              { PRENET_FLOPS, out * 9 * 2 }, { PRENET_MEMORY_WEIGHTS, 20 },
              { PRENET_MEMORY_IN, m * m }, { PRENET_MEMORY_OUT, out * 2 },
              { PRENET_MEMORY_TOTAL, 20 + m * m + out * 2 });
        nets_free(&made);
    }
}

/* b 2, L 5, I 3, H 4: one product of a gate is 2 (12 + 16) = 56, with its sum 60. */
static void recurrent_layers(void **state)
{
    static const struct {
        const char *type;
        double      gates, operations; /* of one step and sample */
    } cases[] = { { "rnn", 1, 60 }, { "gru", 3, 3 * 60 + 8 }, { "lstm", 4, 4 * 60 + 8 } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char            text[200];
        prenet_features f;

        snprintf(text, sizeof text, HEAD "shape = 5x3\n[l]\ntype = %s\nhidden = 4\n",
                 cases[i].type);
        f = features_of(text, 2, false);
        CHECK(f, PRENET_RNN, { PRENET_BATCHSIZE, 2 }, { PRENET_SEQ_LEN, 5 },
              { PRENET_DIM_INPUT, 3 }, { PRENET_DIM_HIDDEN, 4 }, { PRENET_NUM_LAYERS, 1 },
              { PRENET_IS_BIDIRECTIONAL, 0 }, { PRENET_GATES, cases[i].gates },
              { PRENET_FLOPS, 10 * cases[i].operations },
              { PRENET_MEMORY_WEIGHTS, 28 * cases[i].gates }, { PRENET_MEMORY_IN, 30 },
              { PRENET_MEMORY_OUT, 40 }, { PRENET_MEMORY_TOTAL, 70 + 28 * cases[i].gates });
        f = features_of(text, 2, true);
        assert_true(f.value[PRENET_FLOPS] == 30 * cases[i].operations);
        assert_true(f.value[PRENET_MEMORY_WEIGHTS] == 56 * cases[i].gates);
        assert_true(f.value[PRENET_MEMORY_TOTAL] == 70 + 56 * cases[i].gates);
        /* both ways double operations and weights, a second layer changes nothing */
        strcat(text, "bidirectional = yes\nlayers = 2\n");
        f = features_of(text, 2, true);
        assert_true(f.value[PRENET_NUM_LAYERS] == 2);
        assert_true(f.value[PRENET_IS_BIDIRECTIONAL] == 1);
        assert_true(f.value[PRENET_FLOPS] == 60 * cases[i].operations);
        assert_true(f.value[PRENET_MEMORY_TOTAL] == 70 + 112 * cases[i].gates);
    }
}

/* b 2, L 3, E 4, 2 heads: 2 (96 + 2 * 72 + 18 + 72 + 96). */
static void attention(void **state)
{
    const char     *text = HEAD "shape = 3x4\n[l]\ntype = multi_head_attention\nheads = 2\n";
    prenet_features f    = features_of(text, 2, false);

    (void)state;
    CHECK(f, PRENET_ATTENTION, { PRENET_BATCHSIZE, 2 }, { PRENET_SEQ_LEN, 3 },
          { PRENET_EMBED_DIM, 4 }, { PRENET_NUM_HEADS, 2 }, { PRENET_FLOPS, 2 * 426 },
          { PRENET_MEMORY_PROJECTION, 72 }, { PRENET_MEMORY_ATTENTION, 18 },
          { PRENET_MEMORY_OUT, 24 }, { PRENET_MEMORY_TOTAL, 114 });
    f = features_of(text, 2, true);
    assert_true(f.value[PRENET_FLOPS] == 852);
    assert_true(f.value[PRENET_MEMORY_TOTAL] == 342);
    /* 5 keys: pairs 15 instead of 9 */
    f = features_of(HEAD "shape = 3x4\n[memory]\ntype = input\nshape = 5x4\n"
                         "[l]\ntype = multi_head_attention\nheads = 2\ninputs = x, memory\n",
                    2, false);
    assert_true(f.value[PRENET_FLOPS] == 2 * (96 + 240 + 30 + 120 + 96));
    assert_true(f.value[PRENET_MEMORY_ATTENTION] == 30);
}

static void embeddings(void **state)
{
    const char *text =
        HEAD "shape = 5\ndtype = i64\n[l]\ntype = embedding\nvocabulary = 100\nwidth = 8\n";
    prenet_features f = features_of(text, 2, false);

    (void)state;
    CHECK(f, PRENET_EMBEDDING, { PRENET_BATCHSIZE, 2 }, { PRENET_SEQ_LEN, 5 },
          { PRENET_VOCAB_SIZE, 100 }, { PRENET_EMBED_DIM, 8 }, { PRENET_FLOPS, 80 },
          { PRENET_MEMORY_EMBEDDINGS, 800 }, { PRENET_MEMORY_IN, 80 },
          { PRENET_MEMORY_TOTAL, 880 });
    f = features_of(text, 2, true);
    assert_true(f.value[PRENET_MEMORY_TOTAL] == 1760);
}

static void layer_norms_have_shapes_alone(void **state)
{
    const char           *text = HEAD "shape = 5x8\n[l]\ntype = layer_norm\n";
    const prenet_features f    = features_of(text, 2, true);

    (void)state;
    CHECK(f, PRENET_LAYERNORM, { PRENET_BATCHSIZE, 2 }, { PRENET_SEQ_LEN, 5 },
          { PRENET_EMBED_DIM, 8 });
    assert_true(isnan(prenet_time(&f, 1000)));
}

static void other_layers_have_none(void **state)
{
    const prenet_features f = features_of(HEAD "shape = 5x8\n[l]\ntype = relu\n", 2, true);

    (void)state;
    assert_int_equal(f.kind, PRENET_NONE);
    for (int i = 0; i < N_PRENET_FEATURES; i++)
        assert_true(isnan(f.value[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_layers),
        cmocka_unit_test(convolutions_with_padding_same),
        cmocka_unit_test(convolutions_without_padding_have_broken_pixels),
        cmocka_unit_test(convolutions_beyond_the_published_formulas),
        cmocka_unit_test(padding_may_be_a_layer_of_its_own),
        cmocka_unit_test(recurrent_layers),
        cmocka_unit_test(attention),
        cmocka_unit_test(embeddings),
        cmocka_unit_test(layer_norms_have_shapes_alone),
        cmocka_unit_test(other_layers_have_none),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
