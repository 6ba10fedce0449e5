/* Mixtures of experts: work, weights and kernels by hand, and what a token uses of published networks. */
#include "layers.h"

#include <string.h>

#include "network/metrics.h"

static void work_and_weights_are_those_by_hand(void **state)
{
    static const layer_case cases[] = {
        /* 12 tokens, each to 2 of 3 experts: 24 rows. Forward: router 2 x 12 x 4 x 3 = 288, softmax 5 x 36,
         * choice 36, sum and divide 2 x 24, three products of 2 x 24 x 4 x 5 = 960, silu 5 x 120, gate 120,
         * combined 2 x 96. Input: combined 3 x 96, products 3 x 960, factors 2 x 120, silu 9 x 120, sum of
         * two 96, scores 4 x 24 + 24 + 4 x 36, router 288, rows 96, sum 48. Weights: 3 x 960 + 288.
         * Kept: 4 x 24 x 5 between, 2 x 24 x 4 rows, 12 x (3 + 2) scores, and 24 numbers of 8 bytes. */
        { "6x4",
          "type = moe\nexperts = 3\ntop_k = 2\nhidden = 5",
          "2x6x4",
          "gate=3x4 gate_proj=3x5x4 up_proj=3x5x4 down_proj=3x4x5",
          { 4344, 5280, 3168 },
          4 * (480 + 192 + 60) + 8 * 24,
          LM_KEEPS_INPUT },
        /* 10 tokens to 1 of 4 experts, which take ceil(1.25 x 10 / 4) = 4 rows each: 16 rows. Forward:
         * router 320, sigmoid 4 x 40, bias 40, choice 40, products 2 x 384, relu 48, combined 2 x 64;
         * shared: products 2 x 480, relu 60, sum 40. Input: the same products, relu 48 and 60, combined
         * 3 x 64, scores 10 + 3 x 40, router 320, rows 64, two sums of 40. */
        { "5x4",
          "type = moe\nexperts = 4\ntop_k = 1\nhidden = 3\nshared = 6\ngated = no\nactivation = relu\n"
          "score = sigmoid\nscore_bias = yes\nnormalise = no\ncapacity = 1.25",
          "2x5x4",
          "gate=4x4 gate_bias=4 (frozen) up_proj=4x3x4 down_proj=4x4x3 shared_up_proj=6x4 "
          "shared_down_proj=4x6",
          { 2564, 2622, 2048 },
          4 * (2 * (48 + 60) + 2 * 64 + 50) + 8 * 10,
          LM_KEEPS_INPUT },
        /* The first, with the rows of two such ranks at its experts: 48. The router and the sums are
         * those of its own tokens. */
        { "6x4",
          "type = moe\nexperts = 3\ntop_k = 2\nhidden = 5\ngathered = 2",
          "2x6x4",
          "gate=3x4 gate_proj=3x5x4 up_proj=3x5x4 down_proj=3x4x5",
          { 7944, 9576, 6048 },
          4 * (960 + (48 + 24) * 4 + 60) + 8 * 24,
          LM_KEEPS_INPUT },
        /* The fullest of two ranks, which hold two experts each: 10 rows sent, 15 received. */
        { "5x4",
          "type = moe\nexperts = 4\ntop_k = 1\nhidden = 3\ngated = no\nactivation = relu\nranks = 2\n"
          "imbalance = 1.5",
          "2x5x4",
          "gate=4x4 up_proj=2x3x4 down_proj=2x4x3",
          { 1425, 1495, 1040 },
          4 * (2 * 45 + 100 + 50) + 8 * 10,
          LM_KEEPS_INPUT },
    };

    (void)state;
    LAYERS_CHECK(cases);
}

/* 15 rows of two experts: one has 8, the other 7. */
static void a_grouped_product_is_one_launch_of_equal_rows_and_one_of_a_row_less(void **state)
{
    bound_text m = layers_bind("5x4", "type = moe\nexperts = 4\ntop_k = 1\nhidden = 3\ngated = no\n"
                                      "activation = relu\nranks = 2\nimbalance = 1.5");
    char       text[2000];

    (void)state;
    assert_string_equal(
        layers_kernels(nets_layer(&m, "l"), LM_FORWARD, text, sizeof text),
        "gemm batch=1 m=10 n=4 k=4 bias=0; softmax rows=10 group=4; reduce rows=10 group=4 inner=1; "
        "map elements=10 operands=1 flops_per_element=2; gather rows=10 width=4 table_rows=10; "
        "gemm batch=1 m=8 n=3 k=4 bias=0; gemm batch=1 m=7 n=3 k=4 bias=0; "
        "map elements=45 operands=1 flops_per_element=1; "
        "gemm batch=1 m=8 n=4 k=3 bias=0; gemm batch=1 m=7 n=4 k=3 bias=0; "
        "map elements=40 operands=2 flops_per_element=2 reads=50 writes=40");
    nets_free(&m);
}

/* 6 tokens, 3 of each of two samples, choose 2 of 16 experts: 12 rows go to 16 (1 - (7/8)^6) = 8.8, so to
 * 9 experts: two rows to 3 of them, one to 6. */
static void few_tokens_reach_the_expected_number_of_experts(void **state)
{
    bound_text m =
        layers_bind("3x4", "type = moe\nexperts = 16\ntop_k = 2\nhidden = 3\ngated = no");
    const bound_layer *l    = nets_layer(&m, "l");
    int64_t            twos = 0, ones = 0;
    const int64_t      layers = 2; /* linear layers of an expert */

    (void)state;
    for (size_t i = 0; i < l->n_kernels[LM_FORWARD]; i++) {
        const lm_kernel *k = &l->kernels[LM_FORWARD][i];

        if (k->op != LM_OP_GEMM || k->u.gemm.n == 16) /* the router's */
            continue;
        twos += k->u.gemm.m == 2 ? k->u.gemm.batch : 0;
        ones += k->u.gemm.m == 1 ? k->u.gemm.batch : 0;
    }
    assert_int_equal(twos, 3 * layers);
    assert_int_equal(ones, 6 * layers);
    nets_free(&m);
}

/* Few tokens leave most experts without a row. */
static void experts_without_rows_run_nothing(void **state)
{
    bound_text m =
        layers_bind("1x4", "type = moe\nexperts = 64\ntop_k = 2\nhidden = 3\ngated = no");
    const bound_layer *l = nets_layer(&m, "l");
    size_t             n = 0;

    (void)state;
    for (size_t i = 0; i < l->n_kernels[LM_FORWARD]; i++)
        if (l->kernels[LM_FORWARD][i].op == LM_OP_GEMM &&
            l->kernels[LM_FORWARD][i].u.gemm.batch == 4 && l->kernels[LM_FORWARD][i].u.gemm.m == 1)
            n++;
    assert_int_equal(n, 2);
    nets_free(&m);
}

static void what_does_not_fit_is_refused(void **state)
{
    static const refused_case cases[] = {
        { "6x4", "type = moe\nexperts = 3\ntop_k = 4\nhidden = 5", "top_k 4 of 3 experts",
          LM_E_ARG },
        { "6x4", "type = moe\nexperts = 6\ntop_k = 2\nhidden = 5\nranks = 4",
          "6 experts are no multiple of 4 ranks", LM_E_ARG },
    };

    (void)state;
    LAYERS_REFUSE(cases);
}

/* Parameters that a token uses: each multiplies once, but those of embeddings and norms. */
static uint64_t used(const char *name)
{
    const bind_options with = { .batch = 1, .dtype = LM_F32 };
    network           *net  = NULL;
    bound_network     *b    = NULL;
    net_metrics        m;
    lm_error           err = { LM_OK, "" };
    uint64_t           n;

    network_open(name, nets_registry, NULL, &net, &err);
    assert_string_equal(err.text, "");
    bind_network(net, nets_registry, &with, &b, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(metrics_of_network(b, NULL, &m, &err), LM_OK);
    n = m.macs_linear;
    for (size_t i = 0; i < b->n_layers; i++) {
        const char *type = b->layer[i].entry->type.name;

        for (size_t w = 0; w < b->layer[i].n_weights; w++)
            if (!strcmp(type, "embedding") || !strcmp(type, "rms_norm"))
                n += lm_elements(&b->layer[i].weights[w].tensor);
    }
    bound_network_free(b);
    network_free(net);
    return n;
}

/* Mixtral: 13 billion (Jiang et al. 2024, section 1); Qwen3: 3.3 and 22; DeepSeek-V2: 21, V3: 37. */
static void a_token_uses_the_published_part_of_a_network(void **state)
{
    (void)state;
    assert_int_equal(used("mixtral_8x7b:sequence=1"), 12879925248);
    assert_int_equal(used("qwen3_30b_a3b:sequence=1"), 3353032704);
    assert_int_equal(used("qwen3_235b_a22b:sequence=1"), 22190763520);
    assert_int_equal(used("deepseek_v2:sequence=1"), 21375800320);
    assert_int_equal(used("deepseek_v3:sequence=1"), 37552282624);
}

/* Two ranks of tp with 4 of 8 tokens each, two of ep: 8 rows are sent, 16 gathered at the halves of two
 * experts. Shared experts gather the 8 tokens; backward once more, for the gradients of their weights.
 * Nothing hides either. The outputs of a rank's halves are a summand until they are scattered. */
static void shared_experts_gather_all_tokens(void **state)
{
    static const char text[] =
        "[network]\nname = n\n[x]\ntype = input\nshape = 8x4\n"
        "[a]\ntype = linear\nfeatures = 4\nsplit = tokens\n"
        "[m]\ntype = moe\nexperts = 4\ntop_k = 2\nhidden = 6\nshared = 2\nsplit = columns\n";
    static const struct {
        shard_kind kind;
        bool       backward;
        uint64_t   bytes;
        uint32_t   count;
    } sent[] = {
        { SHARD_ALLGATHER, false, 16 * 4 * 4, 1 }, { SHARD_REDUCESCATTER, false, 16 * 4 * 4, 1 },
        { SHARD_ALLGATHER, true, 16 * 4 * 4, 1 },  { SHARD_REDUCESCATTER, true, 16 * 4 * 4, 1 },
        { SHARD_ALLGATHER, false, 8 * 4 * 4, 1 },  { SHARD_REDUCESCATTER, false, 8 * 4 * 4, 1 },
        { SHARD_ALLGATHER, true, 8 * 4 * 4, 2 },   { SHARD_REDUCESCATTER, true, 8 * 4 * 4, 1 }
    };
    const bind_options b = { .batch = 1,
                             .dtype = LM_F32,
                             .shard = { .tp = 2, .ep = 2, .sp = true } };
    bound_text         t = nets_bind_with(text, &b);
    size_t             k = 0;

    (void)state;
    assert_string_equal(t.err.text, "");
    for (size_t i = 0; i < t.bound->sharing.n; i++) {
        const shard_message *m = &t.bound->sharing.message[i];

        if (m->group != SHARD_TP)
            continue;
        assert_true(k < sizeof sent / sizeof *sent);
        assert_int_equal(m->kind, sent[k].kind);
        assert_int_equal(m->backward, sent[k].backward);
        assert_int_equal(m->bytes, sent[k].bytes);
        assert_int_equal(m->count, sent[k].count);
        assert_true(m->waits && !m->again && !m->hidden);
        k++;
    }
    assert_int_equal(k, sizeof sent / sizeof *sent);
    assert_int_equal(nets_layer(&t, "m")->cost.workspace_bytes, 16 * 4 * 4);
    nets_free(&t);
}

/* A rank of four has a quarter of each expert, and the whole router. */
static void ranks_of_tp_share_every_expert(void **state)
{
    const bind_options with = { .batch = 1, .dtype = LM_F32, .shard = { .tp = 4 } };
    network           *net  = NULL;
    bound_network     *b    = NULL;
    lm_error           err  = { LM_OK, "" };
    char               text[600];
    bool               seen = false;

    (void)state;
    network_open("deepseek_v2:sequence=16:layers=2", nets_registry, NULL, &net, &err);
    assert_string_equal(err.text, "");
    bind_network(net, nets_registry, &with, &b, &err);
    assert_string_equal(err.text, "");
    for (size_t i = 0; i < b->n_layers; i++)
        if (!strcmp(b->layer[i].entry->type.name, "moe")) {
            assert_string_equal(layers_weights(&b->layer[i], text, sizeof text),
                                "gate=160x5120 gate_proj=160x384x5120 up_proj=160x384x5120 "
                                "down_proj=160x5120x384 shared_gate_proj=768x5120 "
                                "shared_up_proj=768x5120 shared_down_proj=5120x768");
            seen = true;
        }
    assert_true(seen);
    bound_network_free(b);
    /* 1536 elements of an expert, 3072 shared: three ranks take both, seven none */
    bind_network(net, nets_registry,
                 &(bind_options){ .batch = 1, .dtype = LM_F32, .shard = { .tp = 7 } }, &b, &err);
    assert_non_null(strstr(err.text, "no multiple of tp 7"));
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_and_weights_are_those_by_hand),
        cmocka_unit_test(a_grouped_product_is_one_launch_of_equal_rows_and_one_of_a_row_less),
        cmocka_unit_test(experts_without_rows_run_nothing),
        cmocka_unit_test(few_tokens_reach_the_expected_number_of_experts),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(ranks_of_tp_share_every_expert),
        cmocka_unit_test(shared_experts_gather_all_tokens),
        cmocka_unit_test(a_token_uses_the_published_part_of_a_network),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
