/* Memory of weights, gradients, optimizers and mixed precision: small networks by hand. */
#include "memory_by_hand.h"

#include "network/autocast.h"
#include "plan/room.h"

static void mixed_precision_halves_what_autocast_halves(void **state)
{
    bound_text     m = nets_bind(chain, 2);
    memory_options o = { .mixed = LM_F16 };
    const measured r = succeed(&m, o, 2);
    const uint64_t s = 192 + 32;

    (void)state;
    /* fc1's copy of x, relu, the result */
    assert_int_equal(r.use.kept, 16 + 32 + 8);
    assert_int_equal(at(&m, &r, "fc1")->live_forward, s + 16 + 64 + 32);
    /* kept; copies of both weights and a gradient in 16 bit; its gradients; the weight's */
    assert_int_equal(at(&m, &r, "fc2")->live_backward, s + 56 + 64 + 32 + 32 + 8 + 32 + 64);
    nets_free(&m);
    m = nets_bind(X "4\n[fc]\ntype = linear\nfeatures = 4\nbias = no\n"
                    "[softmax]\ntype = softmax\n[fc2]\ntype = linear\nfeatures = 4\nbias = no\n",
                  1);
    /* copies of x and of softmax's result in 16 bit, that result in 32, fc2's */
    assert_int_equal(succeed(&m, o, 1).use.kept, 8 + 8 + 16 + 8);
    nets_free(&m);
}

/* At batch 16: weights 32x16 and 32x32. */
static void products_in_f8_keep_what_they_read(void **state)
{
    bound_text     m = nets_bind(X "16\n[fc1]\ntype = linear\nfeatures = 32\nbias = no\n"
                                       "[fc2]\ntype = linear\nfeatures = 32\nbias = no\n",
                                 16);
    memory_options o = { .mixed = LM_F8 };
    const measured r = succeed(&m, o, 16);
    /* weights, x; of two products five records of 1024, their scales and inverses */
    const uint64_t s = 4 * (512 + 1024) + 4 * 256 + 2 * 5 * 1026 * 4;

    (void)state;
    /* x and fc1's result transposed in FP8, a byte each; the result in bf16 */
    assert_int_equal(r.use.kept, 256 + 512 + 1024);
    /* x in bf16 and twice in FP8, a copy of the weights (nobody wants x's gradient), the result */
    assert_int_equal(at(&m, &r, "fc1")->live_forward, s + 512 + 512 + 256 + 256 + 1024);
    /* kept; fc1's copy of weights is alive until its pass, fc2's are two; their gradient in bf16 and f32;
     * the gradients of both sides in bf16, and that of the result twice in FP8 */
    assert_int_equal(at(&m, &r, "fc2")->live_backward,
                     s + r.use.kept + 512 + 2048 + 2048 + 4096 + 1024 + 1024 + 1024);
    nets_free(&m);
}

static void autocast_treats_layers_as_its_lists_say(void **state)
{
    static const struct {
        const char   *layer;
        autocast_rule gpu, cpu;
    } cases[] = {
        { "type = reduce\nop = sum", AUTOCAST_FULL, AUTOCAST_WIDEST },
        { "type = reduce\nop = prod", AUTOCAST_FULL, AUTOCAST_FULL },
        { "type = reduce\nop = l1", AUTOCAST_FULL, AUTOCAST_WIDEST },
        { "type = reduce\nop = l2", AUTOCAST_FULL, AUTOCAST_WIDEST },
        { "type = reduce\nop = sumsquare", AUTOCAST_FULL, AUTOCAST_WIDEST },
        { "type = reduce\nop = logsumexp", AUTOCAST_FULL, AUTOCAST_WIDEST },
        { "type = reduce\nop = mean", AUTOCAST_WIDEST, AUTOCAST_WIDEST },
        { "type = reduce\nop = max", AUTOCAST_WIDEST, AUTOCAST_WIDEST },
        { "type = bilinear\nfeatures = 3\ninputs = x, x", AUTOCAST_FULL, AUTOCAST_WIDEST },
        { "type = linear\nfeatures = 3", AUTOCAST_LOWER, AUTOCAST_LOWER },
        { "type = prelu", AUTOCAST_LOWER, AUTOCAST_LOWER },
        { "type = exp", AUTOCAST_FULL, AUTOCAST_WIDEST },
        { "type = layer_norm", AUTOCAST_FULL, AUTOCAST_WIDEST },
        { "type = softplus", AUTOCAST_FULL, AUTOCAST_WIDEST },
        { "type = relu", AUTOCAST_WIDEST, AUTOCAST_WIDEST },
    };
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bound_text m;

        snprintf(text, sizeof text, X "4\n[l]\n%s\n", cases[i].layer);
        m = nets_bind(text, 2);
        assert_int_equal(autocast_rule_of(nets_layer(&m, "l"), AUTOCAST_GPU), cases[i].gpu);
        assert_int_equal(autocast_rule_of(nets_layer(&m, "l"), AUTOCAST_CPU), cases[i].cpu);
        nets_free(&m);
    }
}

static void mixed_precision_starts_from_single(void **state)
{
    bound_text         m   = nets_bind(chain, 2);
    const bind_options b   = { .batch = 1, .dtype = LM_BF16 };
    memory_options     o   = { .mixed = LM_F16 };
    lm_error           err = { LM_OK, "" };
    memory_use         use;

    (void)state;
    memory_of_step(m.net, nets_registry, &b, &o, &use, NULL, &err);
    assert_error(err, LM_E_ARG, "mixed precision: the weights are f32, not bf16");
    nets_free(&m);
}

static void optimizers_keep_what_their_papers_say(void **state)
{
    const lm_tensor vector = { .dtype = LM_F32, .rank = 1, .dim = { 6 } };
    const lm_tensor matrix = { .dtype = LM_F32, .rank = 2, .dim = { 6, 5 } };
    const lm_tensor filter = { .dtype = LM_F16, .rank = 4, .dim = { 7, 2, 3, 5 } };

    (void)state;
    assert_int_equal(optimizer_state_bytes(OPTIMIZER_SGD, &matrix), 0);
    assert_int_equal(optimizer_state_bytes(OPTIMIZER_MOMENTUM, &matrix), 120);
    assert_int_equal(optimizer_state_bytes(OPTIMIZER_ADAM, &matrix), 240);
    assert_int_equal(optimizer_state_bytes(OPTIMIZER_ADAFACTOR, &matrix), 4 * (6 + 5));
    assert_int_equal(optimizer_state_bytes(OPTIMIZER_ADAFACTOR, &vector), 4 * 6);
    assert_int_equal(optimizer_state_bytes(OPTIMIZER_ADAFACTOR, &filter), 2 * 14 * (3 + 5));
    assert_int_equal(optimizer_state_bytes(OPTIMIZER_MUON, &matrix), 120);
    assert_int_equal(optimizer_state_bytes(OPTIMIZER_MUON, &vector), 2 * 24);
}

/* GPT-2: a momentum of the blocks' matrices, Adam's two of tables, biases and norms. */
static void muon_leaves_tables_to_adam(void **state)
{
    const uint64_t       e = 768, matrices = 2 * 12 * e * e;
    const bind_options   b   = { .batch = 1, .dtype = LM_F32 };
    const memory_options o   = { .optimizer = OPTIMIZER_MUON };
    network             *net = NULL;
    lm_error             err = { LM_OK, "" };
    memory_use           use;

    (void)state;
    assert_int_equal(network_open("gpt2:layers=2:sequence=8", nets_registry, NULL, &net, &err),
                     LM_OK);
    assert_int_equal(memory_of_step(net, nets_registry, &b, &o, &use, NULL, &err), LM_OK);
    assert_int_equal(use.part[MEMORY_OPTIMIZER],
                     4 * (matrices + 2 * ((50257 + 1024) * e + 2 * 13 * e + 2 * e)));
    network_free(net);
}

static void gradients_are_freed_kept_or_bucketed(void **state)
{
    bound_text     m = nets_bind(chain, 2);
    memory_options o = { .nodes = 2 };

    (void)state;
    assert_int_equal(succeed(&m, o, 2).use.part[MEMORY_BUCKETS], 192);
    o.buckets = BUCKETS_VIEW; /* all gradients all the time: relu and fc1 differ no more */
    assert_int_equal(succeed(&m, o, 2).use.part[MEMORY_BUCKETS], 0);
    assert_int_equal(succeed(&m, o, 2).use.part[MEMORY_GRADIENTS], 192);
    o.buckets      = BUCKETS_FIXED;
    o.bucket_bytes = 1000;
    assert_int_equal(succeed(&m, o, 2).use.part[MEMORY_BUCKETS], 1000);
    o.nodes = 1;
    assert_int_equal(succeed(&m, o, 2).use.part[MEMORY_BUCKETS], 0);
    o.keep_gradients = true;
    assert_int_equal(succeed(&m, o, 2).use.part[MEMORY_GRADIENTS], 192);
    nets_free(&m);
}

/* Weights of 128 and 64 bytes among 7 ranks: 19 and 10 of the fullest. Gradients in f32 are summed in f32
 * as they are. */
static void the_fullest_rank_holds_what_does_not_divide(void **state)
{
    bound_text     m     = nets_bind(chain, 2);
    memory_options o     = { .optimizer = OPTIMIZER_ADAM, .keep_gradients = true };
    const measured whole = succeed(&m, o, 2);

    (void)state;
    o.sums = LM_F32;
    assert_int_equal(succeed(&m, o, 2).use.peak, whole.use.peak);
    o.shares.weights = o.shares.states = 7;
    assert_int_equal(succeed(&m, o, 2).use.part[MEMORY_WEIGHTS], 19 + 10);
    assert_int_equal(succeed(&m, o, 2).use.part[MEMORY_OPTIMIZER], 37 + 19);
    nets_free(&m);
}

/* 16 bytes a tensor, 64 a weight. */
static void a_shared_weight_counts_once_and_sums_its_gradient(void **state)
{
    bound_text     m = nets_bind(X "4\n[a]\ntype = linear\nfeatures = 4\nbias = no\n"
                                       "[b]\ntype = linear\nfeatures = 4\nbias = no\nshares = a\n",
                                 1);
    memory_options o = { .optimizer = OPTIMIZER_ADAM, .nodes = 2, .mixed = LM_F16 };
    measured       r = succeed(&m, SGD, 1);

    (void)state;
    assert_int_equal(r.use.part[MEMORY_WEIGHTS], 64);
    /* b begins the gradient, a adds a second one to it */
    assert_int_equal(at(&m, &r, "b")->live_backward, 64 + 16 + 32 + 32 + 64);
    assert_int_equal(at(&m, &r, "a")->live_backward, 64 + 16 + 16 + 64 + 64);
    r = succeed(&m, o, 1);
    assert_int_equal(r.use.part[MEMORY_OPTIMIZER], 128);
    assert_int_equal(r.use.part[MEMORY_BUCKETS], 64);
    assert_int_equal(r.use.part[MEMORY_COPIES], 32 + 32); /* and one of the gradient */
    nets_free(&m);
}

/* 101 bytes of memory and 1 % to 8 %: 100 allocated reserve 101 to 108; 93 at most 100.44. */
static void a_step_fits_by_what_its_allocator_reserves(void **state)
{
    const room_reserve r = { 1.01, 1.08 };

    (void)state;
    assert_int_equal(room_allowed(101, false, r), 100);
    assert_int_equal(room_allowed(101, true, r), 101);
    assert_int_equal(room_judge(90, 101, false, r), ROOM_FITS);
    assert_int_equal(room_judge(93, 101, false, r), ROOM_CLOSE); /* a tenth is not left */
    assert_int_equal(room_judge(100, 101, false, r), ROOM_CLOSE);
    assert_int_equal(room_judge(101, 101, false, r), ROOM_SHORT);
    assert_int_equal(room_judge(101, 101, true, r), ROOM_FITS);
    assert_int_equal(room_short(100, 101, false, r), 0);
    assert_int_equal(room_short(200, 101, false, r), 101); /* 202 are reserved */
    assert_int_equal(room_short(200, 101, true, r), 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_fits_by_what_its_allocator_reserves),
        cmocka_unit_test(mixed_precision_halves_what_autocast_halves),
        cmocka_unit_test(products_in_f8_keep_what_they_read),
        cmocka_unit_test(autocast_treats_layers_as_its_lists_say),
        cmocka_unit_test(mixed_precision_starts_from_single),
        cmocka_unit_test(optimizers_keep_what_their_papers_say),
        cmocka_unit_test(muon_leaves_tables_to_adam),
        cmocka_unit_test(gradients_are_freed_kept_or_bucketed),
        cmocka_unit_test(the_fullest_rank_holds_what_does_not_divide),
        cmocka_unit_test(a_shared_weight_counts_once_and_sums_its_gradient),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
