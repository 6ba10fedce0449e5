/* Attention, fused and plain, alone and between projections: work, memory and weights by hand. */
#include "cases.h"

#include "network/metrics.h"

#define X LM_KEEPS_INPUT
#define Y LM_KEEPS_OUTPUT

#define SDPA(q, k, v, keys)                    \
    CASES_HEAD LEARNED("q", q) LEARNED("k", k) \
        LEARNED("v", v) "[l]\ntype = scaled_dot_product_attention\ninputs = q, k, v\n" keys
#define SMALL(keys) SDPA("2x2x3x4", "2x2x5x4", "2x2x5x6", keys)

/* 2 samples of 2 heads, 3 queries and 5 keys of 4 elements, 5 values of 6: 60 pairs of 240 bytes,
 * outputs of 72 elements. */
static const work_case products[] = {
    /* Q K^T 3x4 times 4x5; scale; softmax; P V 3x5 times 5x6 */
    { SMALL("memory = plain\n"),
      "2x2x3x6 f32",
      { { 480 + 60 + 300 + 720, 512 + 240 + 240 + 720, 240 + 240 + 240 + 288 },
        /* dV 5x3 times 3x6, dP 3x6 times 6x5, softmax, scale, dQ 3x5 times 5x4, dK 5x3 times 3x4 */
        { 720 + 720 + 240 + 60 + 480 + 480, 528 + 768 + 480 + 240 + 560 + 432,
          480 + 240 + 240 + 240 + 192 + 320 } },
      240,
      X },
    /* the mask is one more for each pair, all of them computed */
    { SMALL("memory = plain\ncausal = yes\n"),
      "2x2x3x6 f32",
      { { 480 + 120 + 300 + 720, 1712, 1008 }, { 2700, 3008, 1712 } },
      240,
      X },
    /* dropout: 2 and 1 for each pair; its mask and what it leaves are kept */
    { SMALL("memory = plain\ndropout = 0.1\n"),
      "2x2x3x6 f32",
      { { 1560 + 120, 1712 + 240, 1008 + 240 }, { 2700 + 60, 3008 + 480, 1712 + 240 } },
      240 + 240 + 60,
      X },
    /* fused: 60 (4 + 6) products, 5 for each pair and 1 for each output; Q, K, V are 248 elements.
     * Backward 60 (3 4 + 2 6) products, 6 for each pair and 2 for each output. A number a row. */
    { SMALL(""),
      "2x2x3x6 f32",
      { { 1200 + 300 + 72, 992, 288 }, { 2880 + 360 + 144, 992 + 2 * 288, 992 } },
      48,
      X | Y },
    /* 1 + 2 + 3 of the 15 pairs of a head */
    { SMALL("causal = yes\n"),
      "2x2x3x6 f32",
      { { 480 + 120 + 72, 992, 288 }, { 1152 + 144 + 144, 1568, 992 } },
      48,
      X | Y },
    { SMALL("dropout = 0.1\n"),
      "2x2x3x6 f32",
      { { 1572 + 120, 992, 288 }, { 3384 + 180, 1568, 992 } },
      48,
      X | Y },
    /* the same with heads side by side */
    { SDPA("2x3x8", "2x5x8", "2x5x12", "heads = 2\n"),
      "2x3x12 f32",
      { { 1572, 992, 288 }, { 3384, 1568, 992 } },
      48,
      X | Y },
    /* 2 query heads share a head of keys: fused, K and V are 2 5 (4 + 6) = 100 elements, Q 48 */
    { SDPA("2x3x8", "2x5x4", "2x5x6", "heads = 2\nkv_heads = 1\n"),
      "2x3x12 f32",
      { { 1572, 592, 288 }, { 3384, 592 + 2 * 288, 592 } },
      48,
      X | Y },
    /* plain, copies of K (320 bytes) and V (480) are made and kept; their gradients are added up */
    { SDPA("2x3x8", "2x5x4", "2x5x6", "heads = 2\nkv_heads = 1\nmemory = plain\n"),
      "2x3x12 f32",
      { { 1560, 1712 + 800, 1008 + 800 }, { 2700 + 80 + 120, 3008 + 800, 1712 + 400 } },
      240 + 800,
      LM_KEEPS_ONE(0) },
    /* one query beside 4 cached keys: 20 pairs of 5 keys, none masked. Q 16 elements, K and V 100; its
     * own key (8 elements) and value (12) are copied into the cache */
    { SDPA("2x1x8", "2x1x4", "2x1x6", "heads = 2\nkv_heads = 1\ncausal = yes\npast = 4\n"),
      "2x1x12 f32",
      { { 400 + 100 + 24, 464 + 80, 96 + 80 }, { 960 + 120 + 48, 464 + 2 * 96, 464 } },
      16,
      X | Y },
    /* values are the first 3 of the 4 elements of each key: K is 40 elements, Q 16, the output 12; 20 pairs of
     * 4 + 3 products; only the key (8 elements) goes into the cache */
    { SDPA("2x1x8", "2x1x4", "2x1x3",
           "heads = 2\nkv_heads = 1\ncausal = yes\npast = 4\nvalues = in_keys\n"),
      "2x1x6 f32",
      { { 280 + 100 + 12, 224 + 32, 48 + 32 }, { 720 + 120 + 24, 224 + 2 * 48, 224 } },
      16,
      X | Y },
    /* plain: Q K^T 1x4 times 4x5, P V 1x5 times 5x6, the whole cache copied for the second head */
    { SDPA("2x1x8", "2x1x4", "2x1x6",
           "heads = 2\nkv_heads = 1\ncausal = yes\npast = 4\nmemory = plain\n"),
      "2x1x12 f32",
      { { 160 + 20 + 100 + 240, 80 + 800 + 384 + 80 + 80 + 560, 80 + 800 + 80 + 80 + 80 + 96 },
        { 240 + 120 + 240 + 80 + 20 + 160 + 160 + 80, 176 + 480 + 576 + 160 + 80 + 400 + 144 + 320,
          480 + 240 + 80 + 80 + 80 + 64 + 320 + 160 } },
      80 + 800,
      LM_KEEPS_ONE(0) },
};

static void attention_matches_hand_counts(void **state)
{
    (void)state;
    check_cases(products);
}

/* More queries than keys: 1 + 2 + 3 + 3 + 3 pairs. */
static void queries_beyond_the_last_key_see_all_keys(void **state)
{
    const lm_kernel k = { .op          = LM_OP_ATTENTION,
                          .dtype       = LM_F32,
                          .u.attention = { 1, 1, 1, 5, 3, 1, 1, 1, 0, 0 } };

    (void)state;
    assert_int_equal(lm_attention_pairs(&k), 12);
}

static void only_wanted_gradients_are_computed(void **state)
{
    bound_text m =
        nets_bind(CASES_HEAD LEARNED(
                      "q", "2x2x3x4") "[c]\ntype = constant\ninputs = none\nshape = 2x2x5x4\n"
                                      "[l]\ntype = scaled_dot_product_attention\nmemory = plain\n"
                                      "inputs = q, c, c\n",
                  2);
    char text[900];

    (void)state;
    assert_string_equal(layers_kernels(nets_layer(&m, "l"), LM_GRAD_INPUT, text, sizeof text),
                        "gemm batch=4 m=3 n=5 k=4 bias=0 activations=1; softmax rows=12 group=5; "
                        "map elements=60 operands=1 flops_per_element=1; "
                        "gemm batch=4 m=3 n=4 k=5 bias=0 activations=1");
    nets_free(&m);
}

#define MHA(inputs, keys) "[l]\ntype = multi_head_attention\ninputs = " inputs "\n" keys
#define SELF(shape, keys) CASES_HEAD LEARNED("a", shape) MHA("a", keys)

/* ViT-B/16: 197 tokens of 768, 12 heads; 4 projections and 2 products. */
static void the_attention_of_vit_b_16_has_its_published_size(void **state)
{
    static const struct {
        const char *keys;
        uint64_t    backward_products; /* of tokens x tokens x width: fused computes scores again */
    } cases[]                  = { { "heads = 12\n", 5 },
                                   { "heads = 12\nmemory = plain\n", 4 },
                                   { "heads = 12\npacked = no\n", 5 } };
    const uint64_t projections = UINT64_C(4) * 197 * 768 * 768, pairs = UINT64_C(197) * 197 * 768;
    char           text[300];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bound_text  m;
        net_metrics counts;

        snprintf(text, sizeof text, SELF("1x197x768", "%s"), cases[i].keys);
        m = nets_bind(text, 1);
        assert_cost_is_kernels(nets_layer(&m, "l"));
        assert_int_equal(metrics_of_layer(nets_layer(&m, "l"), &counts, NULL), LM_OK);
        assert_int_equal(counts.macs_linear, projections);
        assert_int_equal(counts.macs_matmul, 2 * pairs);
        assert_int_equal(counts.params, 4 * (768 * 768 + 768));
        assert_int_equal(counts.flops_backward,
                         2 * (2 * projections + cases[i].backward_products * pairs));
        nets_free(&m);
    }
}

static void weights_are_named_as_in_torch(void **state)
{
    static const struct {
        const char *text, *weights;
    } cases[] = {
        { SELF("2x5x8", "heads = 2\n"),
          "in_proj_weight=24x8 in_proj_bias=24 out_proj.weight=8x8 out_proj.bias=8" },
        { SELF("2x5x8", "heads = 2\nbias = no\n"), "in_proj_weight=24x8 out_proj.weight=8x8" },
        { CASES_HEAD LEARNED("a", "2x5x8") LEARNED("b", "2x7x6") MHA("a, b", "heads = 2\n"),
          "q_proj_weight=8x8 k_proj_weight=8x6 v_proj_weight=8x6 in_proj_bias=24 "
          "out_proj.weight=8x8 out_proj.bias=8" },
        { SELF("2x5x8", "heads = 2\npacked = no\n"),
          "q.weight=8x8 q.bias=8 k.weight=8x8 k.bias=8 v.weight=8x8 v.bias=8 o.weight=8x8 "
          "o.bias=8" },
        { SELF("2x5x8", "heads = 4\nkv_heads = 2\nhead_width = 6\npacked = no\nbias = no\n"
                        "output_bias = yes\n"),
          "q.weight=24x8 k.weight=12x8 v.weight=12x8 o.weight=8x24 o.bias=8" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bound_text m = nets_bind(cases[i].text, 2);
        char       text[600];

        assert_string_equal(layers_weights(nets_layer(&m, "l"), text, sizeof text),
                            cases[i].weights);
        nets_free(&m);
    }
}

/* 2 samples of 5 rows of 8 elements, 80 elements; 2 heads of 4. */
static void projections_of_one_input_are_one_product_where_weights_are_packed(void **state)
{
    static const struct {
        const char *text, *forward, *grad_input, *grad_weight;
    } cases[] = {
        { SELF("2x5x8", "heads = 2\n"),
          "gemm batch=1 m=10 n=24 k=8 bias=1; "
          "attention batch=2 heads=2 kv_heads=2 queries=5 keys=5 width=4 value_width=4 causal=0; "
          "gemm batch=1 m=10 n=8 k=8 bias=1",
          "gemm batch=1 m=10 n=8 k=8 bias=0; "
          "attention batch=2 heads=2 kv_heads=2 queries=5 keys=5 width=4 value_width=4 causal=0; "
          "gemm batch=1 m=10 n=8 k=24 bias=0",
          "gemm batch=1 m=24 n=8 k=10 bias=0; reduce rows=24 group=10 inner=24; "
          "gemm batch=1 m=8 n=8 k=10 bias=0; reduce rows=8 group=10 inner=8" },
        /* apart, their gradients of the input are added up; rotation on queries and keys */
        { SELF("2x5x8", "heads = 2\nkv_heads = 1\npacked = no\nbias = no\nrotary = yes\n"),
          "gemm batch=1 m=10 n=8 k=8 bias=0; gemm batch=1 m=10 n=4 k=8 bias=0; "
          "gemm batch=1 m=10 n=4 k=8 bias=0; map elements=80 operands=1 flops_per_element=3; "
          "map elements=40 operands=1 flops_per_element=3; "
          "attention batch=2 heads=2 kv_heads=1 queries=5 keys=5 width=4 value_width=4 causal=0; "
          "gemm batch=1 m=10 n=8 k=8 bias=0",
          "gemm batch=1 m=10 n=8 k=8 bias=0; "
          "attention batch=2 heads=2 kv_heads=1 queries=5 keys=5 width=4 value_width=4 causal=0; "
          "map elements=80 operands=1 flops_per_element=3; "
          "map elements=40 operands=1 flops_per_element=3; "
          "gemm batch=1 m=10 n=8 k=8 bias=0; gemm batch=1 m=10 n=8 k=4 bias=0; "
          "gemm batch=1 m=10 n=8 k=4 bias=0; "
          "map elements=80 operands=2 flops_per_element=1 repeat=2",
          "gemm batch=1 m=8 n=8 k=10 bias=0; gemm batch=1 m=4 n=8 k=10 bias=0; "
          "gemm batch=1 m=4 n=8 k=10 bias=0; gemm batch=1 m=8 n=8 k=10 bias=0" },
        /* to a memory of 7 rows that is data: keys and values together, without its gradient */
        { CASES_HEAD
              LEARNED("a", "2x5x8") "[b]\ntype = constant\ninputs = none\nshape = 2x7x8\n" MHA(
                  "a, b", "heads = 2\nbias = no\n"),
          "gemm batch=1 m=10 n=8 k=8 bias=0; gemm batch=1 m=14 n=16 k=8 bias=0; "
          "attention batch=2 heads=2 kv_heads=2 queries=5 keys=7 width=4 value_width=4 causal=0; "
          "gemm batch=1 m=10 n=8 k=8 bias=0",
          "gemm batch=1 m=10 n=8 k=8 bias=0; "
          "attention batch=2 heads=2 kv_heads=2 queries=5 keys=7 width=4 value_width=4 causal=0; "
          "gemm batch=1 m=10 n=8 k=8 bias=0",
          "gemm batch=1 m=8 n=8 k=10 bias=0; gemm batch=1 m=16 n=8 k=14 bias=0; "
          "gemm batch=1 m=8 n=8 k=10 bias=0" },
        /* data alone: what goes back through the attention is for the weights */
        { CASES_HEAD
          "[b]\ntype = constant\ninputs = none\nshape = 2x5x8\n" MHA("b", "heads = 2\nbias = no\n"),
          "gemm batch=1 m=10 n=24 k=8 bias=0; "
          "attention batch=2 heads=2 kv_heads=2 queries=5 keys=5 width=4 value_width=4 causal=0; "
          "gemm batch=1 m=10 n=8 k=8 bias=0",
          "",
          "gemm batch=1 m=10 n=8 k=8 bias=0; "
          "attention batch=2 heads=2 kv_heads=2 queries=5 keys=5 width=4 value_width=4 causal=0; "
          "gemm batch=1 m=24 n=8 k=10 bias=0; gemm batch=1 m=8 n=8 k=10 bias=0" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bound_text         m = nets_bind(cases[i].text, 2);
        const bound_layer *l = nets_layer(&m, "l");
        char               text[1200];

        assert_string_equal(layers_kernels(l, LM_FORWARD, text, sizeof text), cases[i].forward);
        assert_string_equal(layers_kernels(l, LM_GRAD_INPUT, text, sizeof text),
                            cases[i].grad_input);
        assert_string_equal(layers_kernels(l, LM_GRAD_WEIGHT, text, sizeof text),
                            cases[i].grad_weight);
        assert_cost_is_kernels(l);
        nets_free(&m);
    }
}

/* Queries, keys, values and what the output is projected from, each 2 x 5 x 8 elements. */
static void the_projected_tensors_are_kept(void **state)
{
    static const struct {
        const char *text;
        uint64_t    saved_bytes;
    } cases[] = {
        /* and a number for each of 20 rows */
        { SELF("2x5x8", "heads = 2\n"), 4 * 4 * 80 + 4 * 20 },
        /* and 100 probabilities */
        { SELF("2x5x8", "heads = 2\nmemory = plain\n"), 4 * 4 * 80 + 4 * 100 },
        /* keys and values of one head: 40 elements each; plain, their copies in place of them */
        { SELF("2x5x8", "heads = 2\nkv_heads = 1\npacked = no\n"), 4 * (160 + 80) + 4 * 20 },
        { SELF("2x5x8", "heads = 2\nkv_heads = 1\npacked = no\nmemory = plain\n"),
          4 * (160 + 160) + 4 * 100 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bound_text m = nets_bind(cases[i].text, 2);

        assert_int_equal(nets_layer(&m, "l")->cost.saved_bytes, cases[i].saved_bytes);
        assert_int_equal(nets_layer(&m, "l")->cost.keeps, X);
        nets_free(&m);
    }
}

/* Of 2 samples 5 keys of 4 and 5 values of 6 elements, for one head of keys; of no other case any. */
static void the_cache_holds_keys_and_values_of_all_tokens(void **state)
{
#define ONE(keys) SDPA("2x1x8", "2x1x4", "2x1x6", "heads = 2\nkv_heads = 1\ncausal = yes\n" keys)
    bound_text with = nets_bind(ONE("past = 4\n"), 2), without = nets_bind(ONE(""), 2);
    bound_text latent = nets_bind(SDPA("2x1x8", "2x1x4", "2x1x3",
                                       "heads = 2\nkv_heads = 1\ncausal = yes\npast = 4\n"
                                       "values = in_keys\n"),
                                  2);

    (void)state;
    assert_int_equal(nets_layer(&with, "l")->cost.cached_bytes, 2 * 5 * (4 + 6) * 4);
    assert_int_equal(nets_layer(&without, "l")->cost.cached_bytes, 0);
    assert_int_equal(nets_layer(&latent, "l")->cost.cached_bytes, 2 * 5 * 4 * 4);
    nets_free(&latent);
    nets_free(&with);
    nets_free(&without);
}

static const refusal_case refusals[] = {
    { SDPA("2x1x8", "2x1x4", "2x1x6",
           "heads = 2\nkv_heads = 1\ncausal = yes\npast = 4\nvalues = in_keys\n"),
      "n.ini:16: layer 'l': values = in_keys: goes with past, and values of at most 4 elements, not 6",
      LM_E_SHAPE },
    { SDPA("2x1x8", "2x1x4", "2x1x3", "heads = 2\nkv_heads = 1\nvalues = in_keys\n"),
      "n.ini:16: layer 'l': values = in_keys: goes with past, and values of at most 4 elements, not 3",
      LM_E_SHAPE },
    { SDPA("2x3x8", "2x3x8", "2x3x8", "heads = 2\ncausal = yes\npast = 4\n"),
      "n.ini:16: layer 'l': past = 4: goes with one query and one key, not 3 and 3", LM_E_SHAPE },
    { SDPA("2x1x8", "2x1x8", "2x1x8", "heads = 2\npast = 4\n"),
      "n.ini:16: layer 'l': past = 4: goes with causal = yes", LM_E_SHAPE },
    { SDPA("2x3x8", "2x5x8", "2x5x8", ""),
      "n.ini:16: layer 'l': input of rank 3, expected 4: batch, heads, rows, width (or set `heads`)",
      LM_E_SHAPE },
    { SDPA("2x2x3x4", "2x2x5x4", "2x2x5x4", "heads = 2\n"),
      "n.ini:16: layer 'l': input of rank 4, expected 3: batch, rows, heads times width (or leave "
      "out `heads`)",
      LM_E_SHAPE },
    { SDPA("2x3x8", "2x5x8", "2x5x8", "heads = 3\n"),
      "n.ini:16: layer 'l': 8 elements do not divide into 3 heads", LM_E_SHAPE },
    { SDPA("2x2x3x4", "2x2x5x3", "2x2x5x4", ""),
      "n.ini:16: layer 'l': queries of 4 elements, keys of 3", LM_E_SHAPE },
    { SDPA("2x2x3x4", "2x2x5x4", "2x2x6x4", ""),
      "n.ini:16: layer 'l': 2 heads of 5 keys, but 2 heads of 6 values", LM_E_SHAPE },
    { SDPA("2x3x3x4", "2x2x5x4", "2x2x5x4", ""),
      "n.ini:16: layer 'l': 3 heads do not share 2 heads of keys evenly", LM_E_SHAPE },
    { SDPA("2x2x3x4", "1x2x5x4", "2x2x5x4", ""), "n.ini:16: layer 'l': 2, 1 and 2 samples",
      LM_E_SHAPE },
    { SELF("2x5x8", "heads = 3\n"), "n.ini:10: layer 'l': 8 elements do not divide into 3 heads",
      LM_E_SHAPE },
    { SELF("2x5x8", "heads = 2\nkv_heads = 1\n"),
      "n.ini:10: layer 'l': packed weights have as many heads of keys as of queries, which together "
      "are as wide as the input, or a whole part of it: set packed = no",
      LM_E_ARG },
    { SELF("2x5x8", "heads = 8\nrotary = yes\n"),
      "n.ini:10: layer 'l': pairs of elements are turned: a head of 1 has no pairs", LM_E_ARG },
    { SELF("2x8", "heads = 2\n"),
      "n.ini:10: layer 'l': input of rank 2, expected 3: batch, rows, width", LM_E_SHAPE },
    { CASES_HEAD "dtype = i64\n[l]\ntype = multi_head_attention\nheads = 1\n",
      "n.ini:8: layer 'l': input of integers: 'multi_head_attention' computes with real numbers; "
      "put a layer of type embedding or cast before it",
      LM_E_SHAPE },
};

static void bad_attention_is_refused(void **state)
{
    (void)state;
    check_refusals(refusals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_matches_hand_counts),
        cmocka_unit_test(queries_beyond_the_last_key_see_all_keys),
        cmocka_unit_test(only_wanted_gradients_are_computed),
        cmocka_unit_test(the_attention_of_vit_b_16_has_its_published_size),
        cmocka_unit_test(weights_are_named_as_in_torch),
        cmocka_unit_test(projections_of_one_input_are_one_product_where_weights_are_packed),
        cmocka_unit_test(the_projected_tensors_are_kept),
        cmocka_unit_test(the_cache_holds_keys_and_values_of_all_tokens),
        cmocka_unit_test(bad_attention_is_refused),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
