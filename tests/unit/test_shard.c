/* One rank's part of a network: shapes, work, and what ranks exchange, by hand. */
#include "shard_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "network/memory.h"
#include "network/network.h"
#include "program/rank_memory.h"

#define GPT2  "gpt2:layers=2:sequence=64:vocabulary=1000"
#define LLAMA "llama3_8b:layers=2:sequence=64:vocabulary=1000"
#define BERT  "bert_base:layers=2:sequence=64:pretraining=1"
#define T5    "t5_small:layers=2:sequence=64:target=32"
#define VIT   "vit_b_16:layers=2"

/* Shoeybi et al. 2019, figure 4: two all-reduces of b s h e forward, two backward. */
static void a_block_has_two_all_reduces_each_way(void **state)
{
    static const struct {
        const char *net, *block;
        uint64_t    tokens, width;
    } of[] = { { GPT2, "transformer.h.1", 64, 768 },
               { LLAMA, "model.layers.1", 64, 4096 },
               { BERT, "encoder.layer.1", 64, 768 },
               { VIT, "encoder.layers.encoder_layer_1", 197, 768 },
               { T5, "encoder.block.1", 64, 512 } };

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        bound_text     t    = nets_part(of[i].net, 3, 2, false);
        const uint64_t each = 3 * of[i].tokens * of[i].width * 2;

        check_sum(messages(&t, of[i].block, SHARD_ALLREDUCE, false, false), 2, each);
        check_sum(messages(&t, of[i].block, SHARD_ALLREDUCE, true, false), 2, each);
        assert_int_equal(messages(&t, NULL, SHARD_ALLGATHER, false, false).n, 0);
        nets_free(&t);
    }
}

/* Korthikanti et al. 2022, section 4.2.2: an all-gather and a reduce-scatter in place of each. Inputs
 * that were gathered are gathered once more, for the weights' gradients. */
static void shared_tokens_are_gathered_and_scattered(void **state)
{
    static const struct {
        const char *net, *block;
        uint64_t    width;
    } of[] = { { GPT2, "transformer.h.1", 768 },
               { LLAMA, "model.layers.1", 4096 },
               { BERT, "encoder.layer.1", 768 },
               { T5, "encoder.block.1", 512 } };

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        bound_text     t    = nets_part(of[i].net, 3, 4, true);
        const uint64_t each = 3 * 64 * of[i].width * 2;

        check_sum(messages(&t, of[i].block, SHARD_ALLREDUCE, false, false), 0, 0);
        check_sum(messages(&t, of[i].block, SHARD_ALLREDUCE, true, false), 0, 0);
        check_sum(messages(&t, of[i].block, SHARD_ALLGATHER, false, false), 2, each);
        check_sum(messages(&t, of[i].block, SHARD_REDUCESCATTER, false, false), 2, each);
        check_sum(messages(&t, of[i].block, SHARD_ALLGATHER, true, false), 2, each);
        check_sum(messages(&t, of[i].block, SHARD_REDUCESCATTER, true, false), 2, each);
        check_sum(messages(&t, of[i].block, SHARD_ALLGATHER, true, true), 2, each);
        nets_free(&t);
    }
}

/* The table, the scores' layer, and three numbers a token of the loss in single precision. */
static void a_shared_vocabulary_is_added_up(void **state)
{
    bound_text t = nets_part(GPT2, 3, 2, false);

    (void)state;
    check_sum(messages(&t, "transformer.wte", SHARD_ALLREDUCE, false, false), 1, 3 * 64 * 768 * 2);
    check_sum(messages(&t, "transformer.wpe", SHARD_ALLREDUCE, false, false), 0, 0);
    check_sum(messages(&t, "lm_head", SHARD_ALLREDUCE, true, false), 1, 3 * 64 * 768 * 2);
    check_sum(messages(&t, "loss", SHARD_ALLREDUCE, false, false), 3, 3 * 64 * 4);
    assert_int_equal(nets_layer(&t, "tokens")->output[0].dim[1], 500);
    nets_free(&t);
    t = nets_part("gpt2:layers=1:sequence=64", 1, 4, false); /* 50257 = 4 * 12564 + 1 */
    assert_int_equal(nets_layer(&t, "transformer.wte")->weights[0].tensor.dim[0], 12565);
    assert_int_equal(nets_layer(&t, "lm_head")->output[0].dim[2], 12565);
    nets_free(&t);
}

/* Every product is divided: the parts' FLOPs are those of the whole. */
static void parts_do_the_whole_work(void **state)
{
    static const struct {
        const char *net;
        bool        sp;
        uint64_t
            alone; /* FLOPs that each rank computes: the pooler; patches, the head; convolutions */
    } of[] = { { GPT2, false, 0 },
               { GPT2, true, 0 },
               { LLAMA, true, 0 },
               { T5, true, 0 },
               { "bert_base:layers=2:sequence=64", true, 2 * 2 * 768 * 768 },
               { VIT, false, 2 * 196 * 2 * 768 * 768 + 2 * 2 * 768 * 1000 },
               { "distilbert_base:layers=2:sequence=64", true, 0 },
               { "clip_vit_b_32:layers=2:text_layers=2", false,
                 2 * 2 * (49 * 768 * 3 * 32 * 32 + 768 * 512 + 512 * 512) },
               { "whisper_base:layers=1:vocabulary=51864", true,
                 2ull * 2 * (3000ull * 512 * 80 * 3 + 1500ull * 512 * 512 * 3) } };

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        bound_text        whole = nets_part(of[i].net, 2, 1, false);
        bound_text        part  = nets_part(of[i].net, 2, 4, of[i].sp);
        const net_metrics a = counts_of(&whole, NULL), b = counts_of(&part, NULL);

        assert_int_equal(4 * (b.flops_forward - of[i].alone), a.flops_forward - of[i].alone);
        if (!of[i].alone)
            assert_int_equal(4 * b.flops_backward, a.flops_backward);
        nets_free(&whole);
        nets_free(&part);
    }
}

/* Weights of a block: 12 h^2 and the biases of columns are divided, norms and other biases are not. */
static void weights_are_divided(void **state)
{
    bound_text     whole = nets_part(GPT2, 1, 1, false), part = nets_part(GPT2, 1, 4, false);
    const uint64_t h = 768, kept = 4 * h + 2 * h; /* two norms; biases behind the sums */
    const uint64_t a = counts_of(&whole, "transformer.h.1").params;

    (void)state;
    assert_int_equal(a, 12 * h * h + 13 * h);
    assert_int_equal(counts_of(&part, "transformer.h.1").params, (a - kept) / 4 + kept);
    nets_free(&whole);
    nets_free(&part);
}

/* With shared tokens, norms see some of them: their gradients, and those of biases behind sums. */
static void gradients_of_shared_tokens_are_added_up(void **state)
{
    bound_text     t = nets_part(GPT2, 1, 4, true);
    const uint64_t h = 768;

    (void)state;
    assert_int_equal(nets_layer(&t, "transformer.h.1.ln_1")->output[0].dim[1], 16);
    assert_int_equal(nets_layer(&t, "transformer.h.1.mlp.act")->output[0].dim[1], 64);
    assert_int_equal(nets_layer(&t, "transformer.h.1.mlp.act")->output[0].dim[2], 768);
    /* two blocks, the last norm, and 1024 places */
    assert_int_equal(t.bound->sharing.step_bytes, 2 * (2 * 6 * h + 2 * h + 1024 * h));
    nets_free(&t);
    t = nets_part(GPT2, 1, 4, false);
    assert_int_equal(t.bound->sharing.step_bytes, 0);
    nets_free(&t);
}

/* Norms, dropout and sums alone are what each rank computes for itself; shared tokens divide them. */
static void what_stays_whole_is_told(void **state)
{
    bound_text   t     = nets_part(GPT2, 1, 4, false);
    const double share = (double)t.bound->sharing.flops_whole / (double)t.bound->sharing.flops;

    (void)state;
    assert_true(share > 0 && share < 0.01);
    nets_free(&t);
    t = nets_part(GPT2, 1, 4, true);
    assert_int_equal(t.bound->sharing.flops_whole, 0);
    nets_free(&t);
}

static memory_use memory_of(const char *name, const memory_options *o, int64_t tp, bool sp)
{
    const bind_options b   = { .batch = 2, .dtype = LM_BF16, .shard = { .tp = tp, .sp = sp } };
    network           *net = NULL;
    memory_use         use = { 0 };
    lm_error           err = { LM_OK, "" };

    if (network_open(name, nets_registry, NULL, &net, &err) ||
        memory_of_step(net, nets_registry, &b, o, &use, NULL, &err))
        fail_msg("%s", err.text);
    network_free(net);
    return use;
}

/* Kept by one block: s b h (34 + 5 a s / h) bytes (Korthikanti et al. 2022, equation 1), all of it
 * divided where tokens are shared (equation 4); and two numbers of four bytes a token in each of two
 * norms. */
static void a_block_keeps_what_its_paper_says(void **state)
{
    const memory_options o = { .optimizer = OPTIMIZER_SGD };
    const uint64_t       s = 128, b = 2, h = 768, a = 12;
    const uint64_t       plain = s * b * (34 * h + 5 * a * s), norms = s * b * 2 * 2 * 4;
    const uint64_t       part = s * b * 10 * h + s * b * (24 * h + 5 * a * s) / 4;

    (void)state;
#define BLOCKS(n) "gpt2:sequence=128:attention=plain:layers=" #n
    assert_int_equal(memory_of(BLOCKS(3), &o, 1, false).kept -
                         memory_of(BLOCKS(2), &o, 1, false).kept,
                     plain + norms);
    assert_int_equal(memory_of(BLOCKS(3), &o, 4, true).kept -
                         memory_of(BLOCKS(2), &o, 4, true).kept,
                     (plain + norms) / 4);
    /* equation 2: what lies outside the split layers, 10 s b h, is whole */
    assert_int_equal(memory_of(BLOCKS(3), &o, 4, false).kept -
                         memory_of(BLOCKS(2), &o, 4, false).kept,
                     part + norms);
}

/* Adam in single precision over weights of 16 bit: 2 + 2 bytes of a weight and its gradient, 4 of its
 * master, 8 of its states (Rajbhandari et al. 2020, section 3.1), by the shares of 8 ranks. */
static void ranks_share_what_zero_says(void **state)
{
    memory_options o   = { .optimizer = OPTIMIZER_ADAM, .masters = true, .keep_gradients = true };
    bound_text     t   = nets_part("bert_base:layers=2:sequence=8", 1, 1, false);
    const uint64_t psi = counts_of(&t, NULL).params;
    memory_use     use;

    (void)state;
    nets_free(&t);
    use = memory_of("bert_base:layers=2:sequence=8", &o, 1, false);
    assert_int_equal(use.part[MEMORY_WEIGHTS], 2 * psi);
    assert_int_equal(use.part[MEMORY_MASTERS], 4 * psi);
    assert_int_equal(use.part[MEMORY_OPTIMIZER], 8 * psi);
    assert_int_equal(use.part[MEMORY_GRADIENTS], 2 * psi);
    o.shares.states = 8;
    use             = memory_of("bert_base:layers=2:sequence=8", &o, 1, false);
    assert_int_equal(use.part[MEMORY_WEIGHTS], 2 * psi);
    assert_int_equal(use.part[MEMORY_MASTERS], 4 * psi / 8);
    assert_int_equal(use.part[MEMORY_OPTIMIZER], 8 * psi / 8);
    o.shares.weights = o.shares.gradients = 8;
    use = memory_of("bert_base:layers=2:sequence=8", &o, 1, false);
    assert_int_equal(use.part[MEMORY_WEIGHTS], 2 * psi / 8);
}

/* Each of three micro-batches in flight keeps as much as the one that runs. */
static void micro_batches_in_flight_keep_their_activations(void **state)
{
    memory_options   o   = { .optimizer = OPTIMIZER_SGD };
    const memory_use one = memory_of("gpt2:layers=2:sequence=64", &o, 1, false);
    memory_use       three;

    (void)state;
    o.shares.in_flight = 3;
    three              = memory_of("gpt2:layers=2:sequence=64", &o, 1, false);
    assert_int_equal(three.peak, one.peak + 2 * one.kept);
}

static void evaluation_exchanges_forward_alone(void **state)
{
    bound_text t = nets_open(
        GPT2,
        &(bind_options){ .batch = 1, .dtype = LM_BF16, .evaluation = true, .shard = { .tp = 2 } });

    (void)state;
    check_sum(messages(&t, "transformer.h", SHARD_ALLREDUCE, false, false), 4, 64 * 768 * 2);
    check_sum(messages(&t, NULL, SHARD_ALLREDUCE, true, false), 0, 0);
    check_sum(messages(&t, "loss", SHARD_ALLREDUCE, false, false), 0, 0);
    nets_free(&t);
}

/* ---- ranks that share tokens ---- */

/* Bytes of the largest message of a group. */
static uint64_t largest_of(const bound_text *t, shard_group group, bool backward)
{
    const net_sharing *s    = &t->bound->sharing;
    uint64_t           most = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->message[i].group == group && s->message[i].backward == backward &&
            s->message[i].bytes > most)
            most = s->message[i].bytes;
    return most;
}

/* Four ranks do a quarter of everything each, causal pairs among it: in a ring with a kernel for its own
 * chunk and one for each other; Ulysses with a quarter of the heads. */
static void ranks_of_a_context_do_the_whole_work(void **state)
{
    static const struct {
        const char *net;
        net_shard   shard;
    } of[] = { { LLAMA, { .cp = 4 } },
               { LLAMA, { .cp = 4, .ulysses = true } },
               { LLAMA, { .cp = 2, .tp = 2, .sp = true } },
               { GPT2, { .cp = 4 } },
               { "gpt2:layers=2:sequence=64:vocabulary=1000", { .cp = 4, .ulysses = true } },
               { "distilbert_base:layers=2:sequence=64:pretraining=1:vocabulary=1000",
                 { .cp = 4 } } };

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        bound_text        whole = nets_part(of[i].net, 2, 1, false);
        bound_text        part  = shared(of[i].net, 2, of[i].shard);
        const net_metrics a = counts_of(&whole, NULL), b = counts_of(&part, NULL);

        assert_int_equal(4 * b.flops_forward, a.flops_forward);
        assert_int_equal(4 * b.flops_backward, a.flops_backward);
        if (!of[i].shard.tp)
            assert_int_equal(b.params, a.params);
        nets_free(&whole);
        nets_free(&part);
    }
}

/* Of two layers, two samples, 16 of 64 tokens, 8 heads of 128 elements of keys and of values. Forward they
 * pass by three times; backward with their gradients, which then go home. */
static void keys_and_values_pass_by_in_a_ring(void **state)
{
    const uint64_t chunk = 2 * (2 * 16 * 8 * 128 * 2), q = 2 * 16 * 32 * 128 * 2;
    bound_text     t = shared(LLAMA, 2, (net_shard){ .cp = 4 });

    (void)state;
    check_sum(messages_of(&t, SHARD_CP, SHARD_SENDRECV, false, true), 2 * 3, chunk);
    check_sum(messages_of(&t, SHARD_CP, SHARD_SENDRECV, true, true), 2 * 3, 2 * chunk);
    check_sum(messages_of(&t, SHARD_CP, SHARD_SENDRECV, true, false), 2 * 1, chunk);
    nets_free(&t);
    /* queries, keys, values and output change hands either way */
    t = shared(LLAMA, 2, (net_shard){ .cp = 4, .ulysses = true });
    for (int back = 0; back < 2; back++) {
        check_sum(messages_of(&t, SHARD_CP, SHARD_ALLTOALL, back, false), 2 * 4,
                  (2 * q + chunk) / 4);
        assert_int_equal(largest_of(&t, SHARD_CP, back), q);
    }
    nets_free(&t);
}

#define MIXTRAL "mixtral_8x7b:layers=2:sequence=64:vocabulary=1000"

/* Of ZeRO's eight shares an expert's are two: its states lie on the ranks that have it. */
static void states_of_experts_are_shared_by_those_that_have_them(void **state)
{
    memory_options o    = { .optimizer = OPTIMIZER_ADAM };
    bind_options   b    = { .batch = 1, .dtype = LM_F32, .shard = { .ep = 4 } };
    const uint64_t own  = 4 * 2 * 2 * 3 * 4096 * 14336ull;
    bound_text     t    = nets_open(MIXTRAL, &b);
    const uint64_t rest = counts_of(&t, NULL).param_bytes - own;
    memory_use     use;

    (void)state;
    o.shares = (memory_shares){ .states = 8, .experts = 4 };
    assert_int_equal(memory_of_step(t.net, nets_registry, &b, &o, &use, NULL, &t.err), LM_OK);
    assert_int_equal(use.part[MEMORY_OPTIMIZER], 2 * (own / 2 + rest / 8));
    nets_free(&t);
}

static void check_not_shared(const char *name, net_shard shard, const char *why)
{
    bound_text t = shared(name, 1, shard);

    assert_null(t.bound);
    if (!strstr(t.err.text, why))
        fail_msg("'%s' does not say '%s'", t.err.text, why);
    nets_free(&t);
}

static void what_ranks_of_a_context_cannot_share_is_refused(void **state)
{
    (void)state;
    check_not_shared("resnet18", (net_shard){ .cp = 2 },
                     "cp 2: its samples are not rows of tokens");
    check_not_shared("lstm_lm:sequence=32", (net_shard){ .cp = 2 },
                     "cp 2: no layer of its is attention that ranks can share");
    check_not_shared(GPT2, (net_shard){ .cp = 3 }, "64 tokens are no multiple of cp 3");
    check_not_shared(GPT2, (net_shard){ .cp = 64 },
                     "ring = 64: 1 causal queries of 1 keys are no two halves of as many");
    check_not_shared(
        GPT2 ":attention=plain", (net_shard){ .cp = 2 },
        "a ring of 2 ranks takes fused attention (memory = flash): or --cp-kind ulysses");
    check_not_shared(GPT2, (net_shard){ .cp = 8, .ulysses = true },
                     "12 heads are no multiple of cp 8");
    check_not_shared(
        BERT, (net_shard){ .cp = 2 },
        "layer 'pooler.first' makes 768 elements of all tokens, but 768 of those of one "
        "of cp 2 ranks");
    check_not_shared(GPT2, (net_shard){ .ep = 2 }, "ep 2: it has no experts");
    check_not_shared(MIXTRAL, (net_shard){ .ep = 3 }, "8 experts are no multiple of ep 3");
    check_not_shared(MIXTRAL ":expert_ranks=2", (net_shard){ .ep = 2 },
                     "ranks = 2 share the experts already");
}

static void check_refused(const char *name, int64_t tp, bool sp, const char *why)
{
    bound_text t = nets_part(name, 1, tp, sp);

    assert_null(t.bound);
    if (!strstr(t.err.text, why))
        fail_msg("'%s' does not say '%s'", t.err.text, why);
    nets_free(&t);
}

static void what_does_not_divide_is_refused(void **state)
{
    (void)state;
    check_refused(GPT2, 5, false,
                  "layer 'transformer.h.0.attn.c_attn': split = columns: 2304 "
                  "features are no multiple of tp 5");
    check_refused(GPT2, 8, false,
                  "layer 'transformer.h.0.attn.scores': split = heads: 12 heads are no multiple of "
                  "tp 8");
    check_refused(VIT, 2, true, "197 tokens are no multiple of tp 2");
    check_refused("swin_t", 2, true,
                  "sp shares tokens: a tensor of 4 dimensions is not batch, tokens, features");
    check_refused("clip_vit_b_32", 2, true, "77 tokens are no multiple of tp 2");
    check_refused("resnet18", 2, false, "tp 2: none of its layers says how it splits (split =)");
}

static void marks_are_checked(void **state)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        { "[l]\ntype = linear\nfeatures = 8\nsplit = sideways\n",
          "n.ini:9: split: expected columns, rows, heads, vocabulary, tokens or whole, found "
          "'sideways'" },
        { "[l]\ntype = linear\nfeatures = 8\nsplit = heads\n",
          "n.ini:6: layer 'l': split = heads: 'linear' does not split this way" },
        { "[l]\ntype = linear\nfeatures = 8\nsplit = rows\n",
          "n.ini:6: layer 'l': split = rows: its input has all features; a layer before it takes "
          "columns or heads" },
        { "[l]\ntype = relu\nsplit = columns\n",
          "n.ini:6: layer 'l': split = columns: 'relu' does not split" },
        { "[l]\ntype = linear\nfeatures = 8\nsplit = columns\n[m]\ntype = linear\nfeatures = 8\n"
          "split = columns\n",
          "n.ini:10: layer 'm': split = columns: its input has some of its features already" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char       text[400];
        bound_text t;

        snprintf(text, sizeof text, "[network]\nname = n\n[x]\ntype = input\nshape = 4x16\n%s",
                 bad[i].text);
        t = nets_bind_with(text,
                           &(bind_options){ .batch = 1, .dtype = LM_F32, .shard = { .tp = 2 } });
        assert_null(t.bound);
        if (!strstr(t.err.text, bad[i].why))
            fail_msg("'%s' does not say '%s'", t.err.text, bad[i].why);
        nets_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_has_two_all_reduces_each_way),
        cmocka_unit_test(shared_tokens_are_gathered_and_scattered),
        cmocka_unit_test(a_shared_vocabulary_is_added_up),
        cmocka_unit_test(parts_do_the_whole_work),
        cmocka_unit_test(weights_are_divided),
        cmocka_unit_test(gradients_of_shared_tokens_are_added_up),
        cmocka_unit_test(what_stays_whole_is_told),
        cmocka_unit_test(a_block_keeps_what_its_paper_says),
        cmocka_unit_test(ranks_share_what_zero_says),
        cmocka_unit_test(micro_batches_in_flight_keep_their_activations),
        cmocka_unit_test(evaluation_exchanges_forward_alone),
        cmocka_unit_test(ranks_of_a_context_do_the_whole_work),
        cmocka_unit_test(keys_and_values_pass_by_in_a_ring),
        cmocka_unit_test(states_of_experts_are_shared_by_those_that_have_them),
        cmocka_unit_test(what_ranks_of_a_context_cannot_share_is_refused),
        cmocka_unit_test(what_does_not_divide_is_refused),
        cmocka_unit_test(marks_are_checked),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
