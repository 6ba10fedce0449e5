/* Memory of a step: small networks by hand. What must hold for any network: test_models.c. */
#include "memory_by_hand.h"

/* Of inference. */
static measured evaluate(const bound_text *m, memory_options o, int64_t batch)
{
    const measured made =
        measure_with(m, o, &(bind_options){ .batch = batch, .dtype = LM_F32, .evaluation = true });

    assert_string_equal(made.err.text, "");
    return made;
}

static void a_chain_matches_hand_counts(void **state)
{
    bound_text     m = nets_bind(chain, 2);
    const measured r = succeed(&m, SGD, 2);
    const uint64_t s = 192 + 32; /* weights and input: there all the time */

    (void)state;
    assert_int_equal(at(&m, &r, "fc1")->live_forward, s + 64);
    assert_int_equal(at(&m, &r, "relu")->live_forward, s + 64 + 64);
    assert_int_equal(at(&m, &r, "fc2")->live_forward, s + 64 + 16);
    /* its output, relu's, both gradients, the weight's gradient */
    assert_int_equal(at(&m, &r, "fc2")->live_backward, s + 16 + 64 + 16 + 64 + 64);
    assert_int_equal(at(&m, &r, "relu")->live_backward, s + 64 + 64 + 64 + 64);
    /* no gradient of x; both weights' */
    assert_int_equal(at(&m, &r, "fc1")->live_backward, s + 64 + 64 + 128);
    assert_int_equal(at(&m, &r, "x")->live_backward, 0);
    assert_int_equal(r.use.kept, 64 + 16);
    assert_int_equal(at(&m, &r, "relu")->kept, 64);
    assert_int_equal(at(&m, &r, "fc1")->kept, 0);
    nets_free(&m);
}

/* Moment by moment it is the same: the layers' sums, and a fullest moment that is the peak. */
static void a_step_is_told_moment_by_moment(void **state)
{
    bound_text         m      = nets_bind(chain, 2);
    const bind_options b      = { .batch = 2, .dtype = LM_F32 };
    const measured     r      = succeed(&m, SGD, 2);
    memory_moment     *moment = NULL;
    memory_use         use;
    uint64_t           most = 0;
    size_t             n;

    (void)state;
    assert_int_equal(memory_over_step(m.net, nets_registry, &b, &SGD, &use, &moment, &n, NULL),
                     LM_OK);
    assert_int_equal(n, 4 + 1 + 3 + 1); /* x has no backward pass */
    for (size_t i = 0; i < n; i++) {
        uint64_t sum = 0;

        for (int k = 0; k < MEMORY_N_PARTS; k++)
            sum += moment[i].part[k];
        most = sum > most ? sum : most;
        if (moment[i].pass == TIMELINE_FORWARD)
            assert_int_equal(sum, r.layer[moment[i].layer].live_forward);
        if (moment[i].pass == TIMELINE_BACKWARD)
            assert_int_equal(sum, r.layer[moment[i].layer].live_backward);
    }
    assert_int_equal(most, r.use.peak);
    assert_int_equal(use.peak, r.use.peak);
    assert_int_equal(moment[4].pass, TIMELINE_TURN);
    assert_int_equal(moment[4].layer, TIMELINE_NEVER);
    assert_int_equal(moment[4].part[MEMORY_ACTIVATIONS], r.use.kept);
    assert_int_equal(moment[8].pass, TIMELINE_UPDATE);
    free(moment);
    nets_free(&m);
}

static void the_peak_is_told_with_its_parts(void **state)
{
    bound_text     m = nets_bind(chain, 2);
    const measured r = succeed(&m, SGD, 2);

    (void)state;
    /* relu and fc1 backward need the same: the first is told */
    assert_int_equal(r.use.peak, 480);
    assert_string_equal(r.use.layer, "relu");
    assert_int_equal(r.use.pass, TIMELINE_BACKWARD);
    assert_int_equal(r.use.part[MEMORY_WEIGHTS], 192);
    assert_int_equal(r.use.part[MEMORY_GRADIENTS], 64);
    assert_int_equal(r.use.part[MEMORY_INPUTS], 32);
    assert_int_equal(r.use.part[MEMORY_ACTIVATIONS], 64);
    assert_int_equal(r.use.part[MEMORY_BACKWARD], 128);
    assert_int_equal(r.use.part[MEMORY_OPTIMIZER], 0);
    nets_free(&m);
}

static void what_is_added_by_options_adds_to_the_peak(void **state)
{
    bound_text     m = nets_bind(X "4\n[r]\ntype = relu\n"
                                       "[fc]\ntype = linear\nfeatures = 100\nbias = no\n",
                                 1);
    memory_options o = { .optimizer = OPTIMIZER_ADAM, .nodes = 2, .overhead = 5 };
    const measured r = succeed(&m, o, 1);

    (void)state;
    /* fc backward: weights, state, bucket, gradient; x, relu (16 each), result and gradient 400 */
    assert_int_equal(r.use.peak, 1600 * 5 + 32 + 800 + 5);
    assert_string_equal(r.use.layer, "fc");
    assert_int_equal(r.use.part[MEMORY_BUCKETS], 1600);
    assert_int_equal(r.use.part[MEMORY_OPTIMIZER], 3200);
    assert_int_equal(r.use.part[MEMORY_OVERHEAD], 5);
    nets_free(&m);
}

/* 16 bytes a tensor, 64 a weight. */
static const char residual[] = X "4\n"
                                 "[fc0]\ntype = linear\nfeatures = 4\nbias = no\n"
                                 "[fc1]\ntype = linear\nfeatures = 4\nbias = no\n"
                                 "[add]\ntype = add\ninputs = fc1, fc0\n"
                                 "[relu]\ntype = relu\n";

static void a_sum_hands_its_gradient_on_and_keeps_nothing(void **state)
{
    bound_text     m = nets_bind(residual, 1);
    const measured r = succeed(&m, SGD, 1);
    const uint64_t s = 128 + 16;

    (void)state;
    assert_int_equal(r.use.kept, 16 + 16); /* fc0 for fc1, relu */
    assert_int_equal(at(&m, &r, "relu")->live_backward, s + 16 + 16 + 16 + 16);
    assert_int_equal(at(&m, &r, "add")->live_backward, s + 16 + 16); /* fc0, one gradient */
    /* fc0, the sum's gradient twice used, a fresh one to be added, the weight's */
    assert_int_equal(at(&m, &r, "fc1")->live_backward, s + 16 + 16 + 16 + 64);
    assert_int_equal(at(&m, &r, "fc0")->live_backward, s + 16 + 128);
    nets_free(&m);
}

static void a_view_is_its_input_and_is_kept_once(void **state)
{
    bound_text     m = nets_bind(X "2x3x3\n"
                                       "[conv]\ntype = conv2d\nfilters = 4\nkernel = 1\nbias = no\n"
                                       "[relu]\ntype = relu\n[flat]\ntype = flatten\n"
                                       "[fc]\ntype = linear\nfeatures = 1\nbias = no\n",
                                 1);
    const measured r = succeed(&m, SGD, 1);
    const uint64_t s = 72 + 32 + 144; /* x; weights 4x2 and 1x36 */

    (void)state;
    assert_int_equal(r.use.kept, 144 + 4); /* relu for itself and for fc; the result */
    assert_int_equal(at(&m, &r, "flat")->live_forward, s + 144);
    assert_int_equal(at(&m, &r, "flat")->live_backward, s + 144 + 144 + 144); /* one gradient */
    nets_free(&m);
}

static void a_concatenation_copies(void **state)
{
    bound_text     m = nets_bind(X "2x1x1\n"
                                       "[a]\ntype = conv2d\nfilters = 4\nkernel = 1\nbias = no\n"
                                       "[b]\ntype = conv2d\nfilters = 4\nkernel = 1\nbias = no\n"
                                       "[cat]\ntype = concat\ninputs = a, b\n"
                                       "[c]\ntype = conv2d\nfilters = 1\nkernel = 1\nbias = no\n",
                                 1);
    const measured r = succeed(&m, SGD, 1);

    (void)state;
    assert_int_equal(at(&m, &r, "a")->kept, 16); /* for b */
    assert_int_equal(at(&m, &r, "b")->kept, 0);
    assert_int_equal(at(&m, &r, "cat")->kept, 32); /* for c */
    assert_int_equal(r.use.kept, 16 + 32 + 4);
    nets_free(&m);
}

static void what_is_not_trained_keeps_nothing(void **state)
{
    bound_text     m = nets_bind(X "4\n[a]\ntype = relu\n[b]\ntype = relu\n", 1);
    const measured r = succeed(&m, SGD, 1);

    (void)state;
    assert_int_equal(r.use.kept, 16); /* the result */
    assert_int_equal(r.use.peak, 16 + 16 + 16);
    assert_int_equal(r.use.pass, TIMELINE_FORWARD);
    nets_free(&m);
}

static void inference_lets_go_of_everything_behind_it(void **state)
{
    bound_text     m = nets_bind(chain, 2);
    memory_options o = { .optimizer = OPTIMIZER_ADAM };
    const measured r = evaluate(&m, o, 2), in_place = evaluate(&m, (o.inplace = true, o), 2);

    (void)state;
    assert_int_equal(r.use.peak, 192 + 32 + 64 + 64);
    assert_string_equal(r.use.layer, "relu");
    assert_int_equal(in_place.use.peak, 192 + 32 + 64 + 16);
    assert_string_equal(in_place.use.layer, "fc2");
    nets_free(&m);
}

/* The chain with dropout, which passes its input on, and a loss with its target, which do not run. */
static void inference_leaves_out_what_only_training_needs(void **state)
{
    bound_text     m = nets_bind(X "4\n[y]\ntype = input\nshape = 2\n"
                                       "[fc1]\ntype = linear\nfeatures = 8\nbias = no\ninputs = x\n"
                                       "[drop]\ntype = dropout\n"
                                       "[fc2]\ntype = linear\nfeatures = 2\nbias = no\n"
                                       "[loss]\ntype = mse_loss\ninputs = fc2, y\n",
                                 2);
    const measured r = evaluate(&m, SGD, 2), t = succeed(&m, SGD, 2);

    (void)state;
    assert_int_equal(at(&m, &r, "drop")->live_forward, 192 + 32 + 64);
    assert_int_equal(at(&m, &t, "drop")->live_forward, 192 + 32 + 16 + 64 + 64 + 16); /* mask */
    assert_int_equal(r.use.peak, 192 + 32 + 64 + 16);
    assert_string_equal(r.use.layer, "fc2");
    assert_int_equal(r.use.part[MEMORY_INPUTS], 32);
    assert_int_equal(r.use.part[MEMORY_SAVED], 0);
    nets_free(&m);
}

/* Keys and values of 4 cached tokens and the new one, of 2 samples: there all the pass, and in evaluation
 * alone. Beside them a query, a key and a value of 8 elements a sample, and what attention makes. */
static void decoding_holds_its_cache_all_the_pass(void **state)
{
    bound_text m = nets_bind(X "1x8\n[l]\ntype = scaled_dot_product_attention\ninputs = x, x, x\n"
                               "heads = 2\ncausal = yes\npast = 4\n"
                               "[end]\ntype = relu\n",
                             2);
    measured   r = evaluate(&m, SGD, 2);

    (void)state;
    assert_int_equal(r.use.part[MEMORY_CACHE], 2 * 5 * (8 + 8) * 4);
    assert_int_equal(r.use.peak, 640 + 64 + 64 + 64); /* input, attention, relu */
    r = succeed(&m, SGD, 2);
    assert_int_equal(r.use.part[MEMORY_CACHE], 0);
    nets_free(&m);
}

static void in_place_saves_where_nobody_reads_the_input_again(void **state)
{
    bound_text     c = nets_bind(chain, 2), f = nets_bind(residual, 1);
    memory_options o = { .inplace = true };
    measured       r = succeed(&c, o, 2);

    (void)state;
    assert_int_equal(at(&c, &r, "relu")->live_forward, 192 + 32 + 64);
    assert_int_equal(r.use.kept, 64 + 16);
    /* the sum overwrites fc1, relu the sum; fc0 is kept */
    r = succeed(&f, o, 1);
    assert_int_equal(at(&f, &r, "relu")->live_forward, 128 + 16 + 16 + 16);
    assert_int_equal(r.use.kept, 16 + 16);
    nets_free(&c);
    nets_free(&f);
    /* sigmoid keeps its own output, tanh must not write over it */
    c = nets_bind(X "4\n[fc]\ntype = linear\nfeatures = 4\nbias = no\n"
                    "[s]\ntype = sigmoid\n[t]\ntype = tanh\n",
                  1);
    r = succeed(&c, o, 1);
    assert_int_equal(at(&c, &r, "t")->live_forward, 16 + 64 + 16 + 16);
    nets_free(&c);
}

/* At batch 2: x 32 bytes, 5 scores of each 40, weights 80, a loss of 4. A fused loss keeps the scores,
 * and its backward pass finds the gradient there; the other keeps logarithms, and writes one. */
static void a_fused_loss_has_its_gradient_in_place_of_the_scores(void **state)
{
    static const char *const fused[] = { "no", "yes" };
    const uint64_t           s = 80 + 32, more[] = { 40 + 40, 40 };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char text[256];

        snprintf(text, sizeof text,
                 X "4\n[fc]\ntype = linear\nfeatures = 5\nbias = no\n"
                   "[loss]\ntype = cross_entropy\nfused = %s\n",
                 fused[i]);
        bound_text     m = nets_bind(text, 2);
        const measured r = succeed(&m, SGD, 2);

        assert_int_equal(at(&m, &r, "loss")->live_backward, s + 4 + 4 + more[i]);
        assert_int_equal(at(&m, &r, "fc")->live_backward, s + 40 + 80);
        nets_free(&m);
    }
}

/* 32 bytes a tensor, 256 a weight. */
static const char blocks[] = X "8\n"
                               "[block b]\n"
                               "[b/fc1]\ntype = linear\nfeatures = 8\nbias = no\n"
                               "[b/r1]\ntype = relu\n"
                               "[b/fc2]\ntype = linear\nfeatures = 8\nbias = no\n"
                               "[b/r2]\ntype = relu\n"
                               "[m.0..1]\nblock = b\n";

static void recomputation_keeps_the_inputs_of_segments(void **state)
{
    bound_text     m     = nets_bind(blocks, 1);
    memory_options o     = { .recompute = "blocks" };
    const measured plain = succeed(&m, SGD, 1), r = succeed(&m, o, 1);
    const uint64_t s = 4 * 256 + 32;

    (void)state;
    assert_int_equal(plain.use.kept, 4 * 32);
    assert_int_equal(plain.use.recompute_flops, 0);
    assert_int_equal(r.use.kept, 32 + 32); /* m.0's output, the result */
    /* both blocks again: two products of 2*8*8, two times 8 comparisons */
    assert_int_equal(r.use.recompute_flops, 2 * (2 * 128 + 2 * 8));
    assert_int_equal(at(&m, &r, "m.0.r1")->kept, 0);
    assert_int_equal(at(&m, &r, "m.0.r2")->kept, 32);
    /* m.0.r2 kept, fc1's two gradients, two weights' */
    assert_int_equal(at(&m, &r, "m.1.fc1")->live_backward, s + 32 + 64 + 512);
    assert_int_equal(at(&m, &plain, "m.1.fc1")->live_backward, s + 64 + 64 + 512);
    nets_free(&m);
}

static void segments_are_named_by_what_they_hold(void **state)
{
    bound_text     m = nets_bind(blocks, 1);
    memory_options o = { .recompute = "m.1" };
    measured       r = succeed(&m, o, 1);

    (void)state;
    assert_int_equal(r.use.kept, 32 + 32 + 32); /* m.0's two and the result */
    assert_int_equal(r.use.recompute_flops, 272);
    o.recompute = "m.0, m.1";
    r           = succeed(&m, o, 1);
    assert_int_equal(r.use.recompute_flops, 544);
    o.recompute = "m.0,m";
    r           = measure(&m, o, 1);
    assert_error(r.err, LM_E_ARG, "recompute: layer 'm.0.fc1' lies in both 'm.0' and 'm'");
    o.recompute = "m.2";
    r           = measure(&m, o, 1);
    assert_error(r.err, LM_E_NOTFOUND, "%s: recompute: no layer 'm.2' and none under it",
                 m.net->path);
    nets_free(&m);
    m           = nets_bind(X "4\n[a.0]\ntype = linear\nfeatures = 4\n"
                                        "[b]\ntype = relu\n[a.1]\ntype = linear\nfeatures = 4\n",
                            1);
    o.recompute = "a";
    r           = measure(&m, o, 1);
    assert_error(r.err, LM_E_ARG,
                 "recompute: the layers of 'a' do not run one after the other: 'b' runs between "
                 "them");
    nets_free(&m);
}

static int64_t largest(const bound_text *m, uint64_t room)
{
    const bind_options b     = { .dtype = LM_F32 };
    lm_error           err   = { LM_OK, "" };
    int64_t            batch = -1;

    memory_largest_batch(m->net, nets_registry, &b, &SGD, room, &batch, &err);
    assert_string_equal(err.text, "");
    return batch;
}

static void the_largest_batch_is_exact(void **state)
{
    bound_text m = nets_bind(chain, 1);

    (void)state;
    /* at batch b relu backward needs 256 + 112 b, from b = 2 on the most; 1: fc1's 384 + 48 b */
    assert_int_equal(succeed(&m, SGD, 6).use.peak, 928);
    assert_int_equal(largest(&m, 928), 6);
    assert_int_equal(largest(&m, 927), 5);
    assert_int_equal(largest(&m, 1039), 6);
    assert_int_equal(largest(&m, 432), 1);
    assert_int_equal(largest(&m, 431), 0);
    assert_int_equal(largest(&m, 256 + 112 * 1000000007ull), 1000000007);
    assert_int_equal(largest(&m, INT64_MAX), MEMORY_BATCH_MAX);
    nets_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_matches_hand_counts),
        cmocka_unit_test(a_step_is_told_moment_by_moment),
        cmocka_unit_test(the_peak_is_told_with_its_parts),
        cmocka_unit_test(what_is_added_by_options_adds_to_the_peak),
        cmocka_unit_test(a_sum_hands_its_gradient_on_and_keeps_nothing),
        cmocka_unit_test(a_view_is_its_input_and_is_kept_once),
        cmocka_unit_test(a_concatenation_copies),
        cmocka_unit_test(what_is_not_trained_keeps_nothing),
        cmocka_unit_test(inference_lets_go_of_everything_behind_it),
        cmocka_unit_test(inference_leaves_out_what_only_training_needs),
        cmocka_unit_test(decoding_holds_its_cache_all_the_pass),
        cmocka_unit_test(in_place_saves_where_nobody_reads_the_input_again),
        cmocka_unit_test(a_fused_loss_has_its_gradient_in_place_of_the_scores),
        cmocka_unit_test(recomputation_keeps_the_inputs_of_segments),
        cmocka_unit_test(segments_are_named_by_what_they_hold),
        cmocka_unit_test(the_largest_batch_is_exact),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
