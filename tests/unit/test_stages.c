/* Pipeline stages of a network, and what the fullest rank holds. */
#include "nets.h"

#include <stdlib.h>
#include <string.h>

#include "network/stages.h"
#include "program/rank_memory.h"

static int64_t stage_named(const bound_text *t, const int64_t *stage, const char *name)
{
    return stage[nets_layer(t, name) - t->bound->layer];
}

/* Blocks in equal numbers, the table in front of the first and the scores behind the last; from stage
 * to stage go b s h elements, of shared tokens a rank's. */
static void stages_hand_on_one_tensor(void **state)
{
    for (int sp = 0; sp < 2; sp++) {
        bound_text t     = nets_part("gpt2:layers=4:sequence=64", 3, sp ? 4 : 1, sp);
        int64_t   *stage = calloc(t.bound->n_layers, sizeof *stage);
        lm_error   err   = { LM_OK, "" };

        (void)state;
        assert_int_equal(stages_of_layers(t.bound, 2, NULL, stage, &err), LM_OK);
        assert_int_equal(stage_named(&t, stage, "transformer.wte"), 0);
        assert_int_equal(stage_named(&t, stage, "transformer.h.1.add2"), 0);
        assert_int_equal(stage_named(&t, stage, "transformer.h.2.ln_1"), 1);
        assert_int_equal(stage_named(&t, stage, "loss"), 1);
        assert_int_equal(stages_boundary(t.bound, stage, 0), 3 * 64 * 768 * 2 / (sp ? 4 : 1));
        assert_int_equal(stages_boundary(t.bound, stage, 1), 0);
        assert_int_equal(stages_of_layers(t.bound, 5, NULL, stage, &err), LM_E_ARG);
        assert_error(err, LM_E_ARG, "4 layers are fewer than 5 stages");
        free(stage);
        nets_free(&t);
    }
}

/* 28 blocks on 8 stages: 3 3 3 4 4 4 4 3. */
static void a_rest_of_blocks_goes_to_late_stages_but_the_last(void **state)
{
    static const int64_t begin[] = { 0, 3, 6, 9, 13, 17, 21, 25, 28 };

    (void)state;
    for (int64_t v = 0; v <= 8; v++)
        assert_int_equal(stages_begin(28, 8, v), begin[v]);
    for (int64_t n = 1; n <= 40; n++)
        for (int64_t s = 1; s <= n; s++) {
            int64_t before = n / s;

            assert_int_equal(stages_begin(n, s, 0), 0);
            assert_int_equal(stages_begin(n, s, s), n);
            for (int64_t v = 0; v < s; v++) {
                const int64_t each = stages_begin(n, s, v + 1) - stages_begin(n, s, v);

                assert_true(each == n / s || each == n / s + 1);
                assert_true(v + 1 == s ? each == n / s : each >= before);
                before = each;
            }
        }
}

static double largest_stage(const double *flops, const int64_t *end, int n, double *squares)
{
    double largest = 0;

    *squares = 0;
    for (int v = 0, at = 0; v < n; v++) {
        double all = 0;

        for (; at < end[v]; at++)
            all += flops[at];
        largest = fmax(largest, all);
        *squares += all * all;
    }
    return largest;
}

/* Against all ways to cut seven blocks in three, the scores as much as several blocks. */
static void balanced_stages_have_the_least_largest_flops(void **state)
{
    static const char *const nets[] = { "gpt2:layers=7:sequence=64",
                                        "gpt2:layers=7:sequence=64:vocabulary=8000",
                                        "gpt2:layers=7:sequence=64:vocabulary=100" };

    (void)state;
    for (size_t k = 0; k < sizeof nets / sizeof *nets; k++) {
        bound_text t        = nets_part(nets[k], 1, 1, false);
        int64_t   *stage    = calloc(t.bound->n_layers, sizeof *stage);
        double     flops[7] = { 0 }, best = INFINITY, least = INFINITY, squares, got[3] = { 0 };
        lm_error   err = { LM_OK, "" };

        assert_int_equal(stages_of_layers(t.bound, 3, STAGES_BALANCED, stage, &err), LM_OK);
        for (size_t i = 0; i < t.bound->n_layers; i++) {
            const char  *name = t.bound->layer[i].decl->name;
            const char  *h    = strstr(name, ".h.");
            const size_t at   = h ? (size_t)(h[3] - '0') : stage[i] == 2 ? 6 : 0;

            for (lm_pass p = 0; p < LM_N_PASSES; p++) {
                flops[at] += (double)t.bound->layer[i].cost.pass[p].flops;
                got[stage[i]] += (double)t.bound->layer[i].cost.pass[p].flops;
            }
        }
        for (int64_t a = 1; a < 6; a++)
            for (int64_t b = a + 1; b < 7; b++)
                best = fmin(best, largest_stage(flops, (int64_t[]){ a, b, 7 }, 3, &squares));
        for (int64_t a = 1; a < 6; a++)
            for (int64_t b = a + 1; b < 7; b++)
                if (largest_stage(flops, (int64_t[]){ a, b, 7 }, 3, &squares) <= best)
                    least = fmin(least, squares);
        assert_close(fmax(got[0], fmax(got[1], got[2])), best, 1e-12);
        assert_close(got[0] * got[0] + got[1] * got[1] + got[2] * got[2], least, 1e-12);
        free(stage);
        nets_free(&t);
    }
}

static void listed_stages_are_as_listed(void **state)
{
    static const struct {
        const char *list, *why;
    } bad[]          = { { "1,2", "stages=1,2: 2 numbers for 3 stages" },
                         { "1,2,2", "stages=1,2,2: 5 layers, and the network has 4" },
                         { "0,2,2", "stages=0,2,2: a stage has 1 to 4 of 4 layers" },
                         { "1,,3", "stages=1,,3: a stage has 1 to 4 of 4 layers" },
                         { "99999999999999999999,1,1",
                           "stages=99999999999999999999,1,1: a stage has 1 to 4 of 4 layers" } };
    bound_text t     = nets_part("gpt2:layers=4:sequence=64", 1, 1, false);
    int64_t   *stage = calloc(t.bound->n_layers, sizeof *stage);
    lm_error   err   = { LM_OK, "" };

    (void)state;
    assert_int_equal(stages_of_layers(t.bound, 3, "2,1,1", stage, &err), LM_OK);
    assert_int_equal(stage_named(&t, stage, "transformer.h.1.add2"), 0);
    assert_int_equal(stage_named(&t, stage, "transformer.h.2.add2"), 1);
    assert_int_equal(stage_named(&t, stage, "transformer.h.3.ln_1"), 2);
    assert_int_equal(stages_of_layers(t.bound, 3, "", stage, &err), LM_OK);
    assert_int_equal(stage_named(&t, stage, "transformer.h.1.add2"), 1);
    assert_int_equal(stage_named(&t, stage, "transformer.h.2.add2"), 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(stages_of_layers(t.bound, 3, bad[i].list, stage, &err), LM_E_ARG);
        assert_string_equal(err.text, bad[i].why);
    }
    free(stage);
    nets_free(&t);
}

/* The last of four ranks holds most, with the scores: a block, the last norm, and a table of its own. Of
 * its micro-batches one is in flight, however many there are. */
static void the_fullest_rank_is_found(void **state)
{
    const bind_options   b   = { .batch = 2, .dtype = LM_BF16 };
    const memory_options o   = { .optimizer = OPTIMIZER_SGD };
    layout               l   = layout_plain();
    network             *net = NULL;
    memory_use           use[3];
    int64_t              rank = -1;
    lm_error             err  = { LM_OK, "" };
    rank_memory          m    = { .reg = nets_registry, .bind = &b, .how = &o, .l = &l };

    (void)state;
    assert_int_equal(network_open("gpt2:layers=4:sequence=512", nets_registry, NULL, &net, &err),
                     LM_OK);
    m.net         = net;
    l.micro_batch = 2;
    l.pp          = 4;
    for (int64_t micro = 1; micro <= 4; micro *= 2) {
        l.accumulation = 0;
        assert_int_equal(layout_settle(&l, NULL, 4, &err), LM_OK);
        l.accumulation = micro;
        l.global_batch = 0;
        assert_int_equal(rank_memory_of(&m, &use[micro / 2], &rank, NULL, &err), LM_OK);
    }
    assert_int_equal(rank, 3); /* the scores' 50257 numbers a token */
    assert_int_equal(use[2].part[MEMORY_WEIGHTS],
                     2 * (12 * 768 * 768 + 13 * 768 + 2 * 768 + 50257 * 768));
    assert_int_equal(use[1].kept, use[0].kept); /* one at a time */
    network_free(net);
}

/* Two stages of two blocks, whose weights four ranks share. The first one has two tables, the last one a
 * table and a norm: these are whole at the peak, and so are one block or two. */
static void a_stage_gathers_its_own_blocks(void **state)
{
    const bind_options   b     = { .batch = 1, .dtype = LM_BF16 };
    const memory_options o     = { .optimizer = OPTIMIZER_SGD };
    const uint64_t       block = 2 * (12 * 768 * 768 + 13 * 768);
    uint64_t             root;
    layout               l    = layout_plain();
    network             *net  = NULL;
    int64_t              rank = -1;
    memory_use           use;
    lm_error             err = { LM_OK, "" };
    rank_memory          m   = { .reg = nets_registry, .bind = &b, .how = &o, .l = &l };

    (void)state;
    assert_int_equal(network_open("gpt2:layers=4:sequence=8", nets_registry, NULL, &net, &err),
                     LM_OK);
    m.net          = net;
    l.micro_batch  = 1;
    l.pp           = 2;
    l.fsdp         = 4;
    l.accumulation = 2;
    assert_int_equal(layout_settle(&l, NULL, 8, &err), LM_OK);
    assert_int_equal(rank_memory_check(&l, &err), LM_OK);
    assert_int_equal(rank_memory_of(&m, &use, &rank, NULL, &err), LM_OK);
    root = 2 * (rank ? 50257 + 2 : 50257 + 1024) * 768;
    assert_int_equal(use.part[MEMORY_WEIGHTS], (2 * block + root) / 4);
    assert_true(use.part[MEMORY_GATHERED] == (root + block) / 4 * 3 ||
                use.part[MEMORY_GATHERED] == (root + 2 * block) / 4 * 3);
    network_free(net);
}

/* With recomputation only the scores save something. They belong to the last chunk, whose backward pass
 * follows at once: one micro-batch of them, however many of other chunks are in flight. */
static void the_last_chunk_saves_one_micro_batch(void **state)
{
    const bind_options   b    = { .batch = 1, .dtype = LM_BF16 };
    const memory_options o    = { .optimizer = OPTIMIZER_SGD, .recompute = "full" };
    layout               l    = layout_plain();
    network             *net  = NULL;
    int64_t              rank = -1;
    memory_use           use[2];
    lm_error             err = { LM_OK, "" };
    rank_memory          m   = { .reg = nets_registry, .bind = &b, .how = &o, .l = &l, .stage = 2 };

    (void)state;
    assert_int_equal(network_open("gpt2:layers=4:sequence=8", nets_registry, NULL, &net, &err),
                     LM_OK);
    m.net      = net;
    l.pp       = 2;
    l.vp       = 2;
    l.schedule = PIPELINE_INTERLEAVED;
    l.dp       = 1;
    for (int many = 0; many < 2; many++) {
        l.accumulation = many ? 8 : 1; /* one chunk more in flight */
        assert_int_equal(rank_memory_of(&m, &use[many], &rank, NULL, &err), LM_OK);
    }
    assert_true(use[0].part[MEMORY_SAVED] > 0);
    assert_int_equal(use[1].part[MEMORY_SAVED], use[0].part[MEMORY_SAVED]);
    assert_true(use[1].kept > use[0].kept);
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_hand_on_one_tensor),
        cmocka_unit_test(a_rest_of_blocks_goes_to_late_stages_but_the_last),
        cmocka_unit_test(balanced_stages_have_the_least_largest_flops),
        cmocka_unit_test(listed_stages_are_as_listed),
        cmocka_unit_test(the_fullest_rank_is_found),
        cmocka_unit_test(a_stage_gathers_its_own_blocks),
        cmocka_unit_test(the_last_chunk_saves_one_micro_batch),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
