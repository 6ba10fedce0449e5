/* Layouts: seconds and bytes by hand, and a search that finds what trying all of them finds. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "network/stages.h"
#include "plan/layouts.h"

#define BLOCKS 8
#define KNOWN  1024

/* Made-up layers: seconds and bytes for each sample, divided among ranks of tp. */
typedef struct world {
    layer_cost   block, first, last; /* one sample, one rank */
    double       latency, rate[2];   /* s, bytes/s of messages within and between nodes */
    double       tied;               /* bytes */
    double       tensor;  /* s that a block's passes wait for in each sample, if tp > 1 */
    double       context; /* the same if cp > 1, whatever the part */
    double       experts; /* bytes of a block's weights that ranks of ep share */
    size_t       n;
    layout_parts parts[KNOWN];
    double       flops[BLOCKS];
    bool         uneven[BLOCKS + 1]; /* balanced stages begin elsewhere */
    layer_cost   before[KNOWN][BLOCKS + 1];
} world;

static layer_cost divided(const layer_cost *a, double times, const net_shard *s, double waited)
{
    const double tp = (double)s->tp, n = tp * (double)s->cp;

    return (layer_cost){ .forward = a->forward * times / n,
                         .input   = a->input * times / n,
                         .weight  = a->weight * times / n,
                         .waited  = { waited, waited },
                         .weights = a->weights / tp,
                         .kept    = a->kept * times / n,
                         .again   = { a->again[0] * times / n, 0 },
                         .freed   = a->freed * times / n };
}

static lm_status parts(void *by, const net_shard *s, int64_t micro_batch, const layout_parts **out,
                       lm_error *err)
{
    world       *w     = by;
    layer_cost  *sum   = w->before[w->n];
    const double times = (double)micro_batch, n = (double)s->tp, ep = (double)s->ep;
    layer_cost   one = divided(&w->block, times, s,
                               (s->tp > 1 ? w->tensor * times / (double)s->cp : 0) +
                                   (s->cp > 1 ? w->context * times : 0));

    (void)err;
    assert_true(w->n < KNOWN);
    one.kept *= s->tp > 1 && !s->sp ? 2 : 1;
    one.again[1] = one.waited[0] / 4;
    one.experts  = s->ep > 1 ? w->experts / n / ep : 0;
    one.weights -= w->experts / n * (1 - 1 / ep);
    memcpy(w->flops, (const double[]){ 4, 3, 3, 3, 3, 3, 3, 6 }, sizeof w->flops);
    for (int i = 0; i < BLOCKS; i++)
        sum[i + 1] =
            (layer_cost){ sum[i].forward + one.forward,
                          sum[i].input + one.input,
                          sum[i].weight + one.weight,
                          { sum[i].waited[0] + one.waited[0], sum[i].waited[1] + one.waited[1] },
                          sum[i].weights + one.weights,
                          sum[i].experts + one.experts,
                          sum[i].kept + one.kept,
                          { sum[i].again[0] + one.again[0], sum[i].again[1] + one.again[1] },
                          sum[i].freed + one.freed };
    w->parts[w->n] = (layout_parts){ .before    = sum,
                                     .flops     = w->flops,
                                     .first     = divided(&w->first, times, s, 0),
                                     .last      = divided(&w->last, times, s, 0),
                                     .boundary  = 10 * times / (s->sp ? n : 1) / (double)s->cp,
                                     .tied      = w->tied,
                                     .transient = 5 * times,
                                     .regained  = w->block.freed > 0 ? 6 * times : 0,
                                     .update    = 0.5 / n,
                                     .low       = 0.9,
                                     .high      = 1.1 };
    *out           = &w->parts[w->n++];
    return LM_OK;
}

static double message(void *by, collective_kind kind, double bytes, const rank_span *group)
{
    const world *w = by;
    const double n = (double)(group->nodes * group->devices);

    return w->latency +
           (kind == COLLECTIVE_ALLREDUCE ? 2 : 1) * (n - 1) / n * bytes / w->rate[group->nodes > 1];
}

static world plain(void)
{
    return (world){ .block = { .forward = 1, .input = 1, .weight = 1, .weights = 100, .kept = 40 },
                    .first = { .forward = 0.5, .weight = 0.5, .weights = 200, .kept = 10 },
                    .last  = { .forward = 1, .input = 1, .weight = 1, .weights = 200, .kept = 30 },
                    .rate  = { 1000, 100 },
                    .latency = 0 };
}

static layout_question question(int64_t ranks, int64_t devices, int64_t global_batch)
{
    return (layout_question){ .ranks            = ranks,
                              .devices          = devices,
                              .global_batch     = global_batch,
                              .facts            = { .heads = 8, .kv_heads = 4, .blocks = BLOCKS },
                              .most_micro_batch = 8,
                              .splits           = true,
                              .room             = INFINITY,
                              .gradients        = 1,
                              .held             = 1,
                              .summed           = 1,
                              .states           = 3,
                              .low              = 0.8,
                              .high             = 1.2,
                              .best             = 5 };
}

static layout_found price(world *w, const layout_question *q, const char *words)
{
    const layout_prices prices = { w, parts, message, NULL };
    layout              l      = layout_plain();
    layout_found        f      = { .step = NAN };
    lm_error            err    = { LM_OK, "" };

    l.global_batch = q->global_batch;
    layout_parse(words, &l, &err);
    assert_string_equal(err.text, "");
    layout_settle(&l, &q->facts, q->ranks, &err);
    assert_string_equal(err.text, "");
    layouts_price(q, &prices, &l, &f, &err);
    assert_string_equal(err.text, "");
    return f;
}

/* 8 blocks of 3 s, 1 s in front, 3 s behind: 28 s a sample; 1200 bytes of weights. */
static void seconds_of_data_parallel_steps_are_those_by_hand(void **state)
{
    world           w = plain();
    layout_question q = question(4, 4, 16);
    layout_found    f = price(&w, &q, "dp4 mb2");

    (void)state;
    /* two micro-batches of 56 s. 2 x 3/4 x 1200 / 1000 = 1.8 s of all-reduces in 8 buckets, which the last
     * backward pass of 2 x (8 x 2 + 0.5 + 2) = 37 s hides but for the last. */
    assert_close(f.share[SHARE_COMPUTE], 112, 1e-12);
    assert_close(f.share[SHARE_DATA], 1.8 / 8, 1e-12);
    assert_close(f.share[SHARE_UPDATE], 0.5, 1e-12);
    assert_close(f.step, 112 + 0.225 + 0.5, 1e-12);
    assert_close(f.low, 112.5 * 0.9 + 0.225 * 0.8, 1e-12);
    assert_close(f.high, 112.5 * 1.1 + 0.225 * 1.2, 1e-12);
    /* weights, gradients, states: 5 x 1200; kept 2 x (8 x 40 + 10 + 30), and 10 of the pass */
    assert_close(f.bytes, 6000 + 720 + 10, 1e-12);
    /* ZeRO-1: a quarter of states and update; scattered half as long, weights gathered behind it */
    f = price(&w, &q, "dp4 mb2 zero1");
    assert_close(f.step, 112 + 0.9 / 8 + 0.9 + 0.125, 1e-12);
    assert_close(f.bytes, 1200 * (2 + 0.75) + 720 + 10, 1e-12);
    /* what is recomputed takes the forward pass again, 2 x 2 x 9.5 s, and keeps 7 boundaries of 20 bytes, a
     * block's 80, and what lies around the blocks, which is the first one's input */
    f = price(&w, &q, "dp4 mb2 recompute=full");
    assert_close(f.share[SHARE_COMPUTE], 112 + 38, 1e-12);
    assert_close(f.bytes, 6000 + 7 * 20 + 80 + 2 * 40 + 10, 1e-12);
    /* a quarter second of each block and sample again, 15 of 40 bytes freed, and 12 of the pass */
    w.n              = 0;
    w.block.again[0] = 0.25;
    w.block.freed    = 15;
    f                = price(&w, &q, "dp4 mb2 recompute=selective");
    assert_close(f.share[SHARE_COMPUTE], 112 + 2 * 2 * 8 * 0.25, 1e-12);
    assert_close(f.bytes, 6000 + 2 * (8 * 25 + 10 + 30) + 12, 1e-12);
}

/* Messages slower than the pass that hides them: the first bucket leaves after an eighth of it. */
static void messages_that_take_longer_than_a_pass_stay_exposed(void **state)
{
    world           w = plain();
    layout_question q = question(4, 1, 4);
    layout_found    f;

    (void)state;
    w.rate[1] = 10; /* 2 x 3/4 x 1200 / 10 = 180 s, behind a pass of 18.5 s */
    f         = price(&w, &q, "dp4 mb1");
    assert_close(f.share[SHARE_DATA], 18.5 / 8 + 180 - 18.5, 1e-12);
}

/* Two ranks share each layer: half of everything, and 0.25 s a block and pass to wait for. */
static void tensor_parallel_steps_wait_for_their_messages(void **state)
{
    world           w = plain();
    layout_question q = question(2, 2, 4);
    layout_found    f;

    (void)state;
    w.tensor = 0.25;
    f        = price(&w, &q, "tp2 dp1 mb1");
    assert_close(f.share[SHARE_COMPUTE], 4 * 14, 1e-12);
    assert_close(f.share[SHARE_TENSOR], 4 * 8 * 0.5, 1e-12);
    assert_close(f.step, 56 + 16 + 0.25, 1e-12);
    /* kept twice what is divided, unless ranks share tokens */
    assert_close(f.bytes, 5 * 600 + 8 * 40 + 20 + 5, 1e-12);
    f = price(&w, &q, "tp2 sp dp1 mb1");
    assert_close(f.bytes, 5 * 600 + 8 * 20 + 20 + 5, 1e-12);
}

/* Stages of four blocks: 12 s and 1 or 3 s more. */
static void stages_hold_their_blocks_and_what_is_in_flight(void **state)
{
    world           w = plain();
    layout_question q = question(2, 2, 4);
    layout_found    f;

    (void)state;
    w.rate[0] = INFINITY;
    w.first = w.last = (layer_cost){ 0 };
    /* (m + p - 1) (f + b) = 5 x 12; each rank has half of the update */
    f = price(&w, &q, "pp2 mb1");
    assert_close(f.step, 60 + 0.25, 1e-12);
    assert_close(f.share[SHARE_PIPELINE], 12, 1e-12);
    /* the first holds two micro-batches: 5 x 400 + 2 x 4 x 40, two boundaries, 5 of the pass */
    assert_close(f.bytes, 2000 + 320 + 20 + 5, 1e-12);
    w.tied    = 300; /* all-reduced by both of them: 2 x 1/2 x 300 / 1000 */
    w.rate[0] = 1000;
    w.latency = 0;
    assert_close(price(&w, &q, "pp2 mb1").share[SHARE_DATA], 0.3, 1e-12);
    w.tied    = 0;
    w.rate[0] = INFINITY;
    f         = price(&w, &q, "pp2 vp2 interleaved mb1"); /* half the bubble */
    assert_close(f.step, 54 + 0.25, 1e-12);
    f = price(&w, &q, "pp2 zb mb1"); /* (p - 1) (f + b - 2 w) = 12 - 2 x 4 */
    assert_close(f.step, 48 + 4 + 0.25, 1e-12);
}

/* 8 blocks on 3 stages: 3, 3 and 2 of 3 s. One micro-batch goes through all of them; each more takes the
 * 9 s of the slower two. */
static void a_rest_of_blocks_makes_stages_uneven(void **state)
{
    world           w = plain();
    layout_question q = question(3, 3, 1);
    layout_found    one, few, f;

    (void)state;
    w.rate[0] = INFINITY;
    w.first = w.last = (layer_cost){ 0 };
    one              = price(&w, &q, "pp3 mb1");
    assert_close(one.share[SHARE_COMPUTE] + one.share[SHARE_PIPELINE], 24, 1e-12);
    assert_close(one.share[SHARE_COMPUTE], 9, 1e-12);
    q.global_batch = 12;
    few            = price(&w, &q, "pp3 mb1");
    assert_true(few.step < 24 + 9 * 11 + 0.5 && few.step > 9 * 12);
    q.global_batch = 48;
    f              = price(&w, &q, "pp3 mb1");
    assert_close(f.step - few.step, 9 * (48 - 12), 1e-12);
    assert_close(f.share[SHARE_UPDATE], 0.5 * 3 / 8, 1e-12);
    /* three of 8 x 100 bytes of weights, and three micro-batches of 3 x 40 in flight */
    assert_close(f.bytes, 5 * 300 + 3 * 120 + 20 + 5, 1e-12);
}

static void a_step_is_as_long_as_its_slowest_stage(void **state)
{
    world           w = plain();
    layout_question q = question(2, 2, 8);
    layout_found    f;

    (void)state;
    w.rate[0] = INFINITY;
    /* the last stage has 12 + 3 s: it waits for the first forward pass of 4.5 s */
    f = price(&w, &q, "pp2 mb1");
    assert_true(f.step >= 4.5 + 8 * 15);
    assert_close(f.share[SHARE_COMPUTE] + f.share[SHARE_PIPELINE] + f.share[SHARE_UPDATE], f.step,
                 1e-12);
}

/* ---- the search ---- */

typedef struct tried {
    layout_found best;
    size_t       n, fit;
} tried;

static void try_layout(world *w, const layout_question *q, const layout *l, tried *t)
{
    const layout_prices prices = { w, parts, message, NULL };
    layout_found        f;
    lm_error            err = { LM_OK, "" };

    w->n = 0;
    memset(w->before, 0, sizeof w->before);
    layouts_price(q, &prices, l, &f, &err);
    assert_string_equal(err.text, "");
    t->n++;
    if (f.bytes > q->room)
        return;
    t->fit++;
    if (t->fit == 1 || f.step < t->best.step)
        t->best = f;
}

/* Sharing of weights: ZeRO's stages, then shards on each node. */
static bool share(layout *l, int sharing, int64_t devices)
{
    const int64_t near = devices / l->tp, data = l->dp * l->cp;

    l->zero = sharing < 4 ? sharing : 0;
    l->fsdp = sharing < 4 ? 0 : near < data ? near : data;
    return sharing < 4 ? !l->zero || data > 1
                       : l->fsdp > 1 && l->fsdp < data && l->fsdp % l->ep == 0;
}

static void try_schedules(world *w, const layout_question *q, layout *l, tried *t)
{
    static const pipeline_rule order[] = { PIPELINE_1F1B, PIPELINE_ZB_H1, PIPELINE_GPIPE };
    static const char *const   again[] = { "none", "selective", "full" };

    for (l->vp = 1; l->vp <= BLOCKS; l->vp++)
        for (int i = 0; i < 2 * 3 * 3 * 5; i++) {
            /* balanced stages of 2 and 4 differ from equal ones: 7 FLOPs in front and 9 behind */
            const bool balanced = i / 45 % 2;

            l->schedule = l->vp > 1 ? PIPELINE_INTERLEAVED : order[i / 15 % 3];
            strcpy(l->stages, balanced ? "balanced" : "");
            strcpy(l->recompute, again[i / 5 % 3]);
            if ((l->vp > 1 && (l->pp == 1 || BLOCKS % (l->vp * l->pp) || l->accumulation % l->pp ||
                               i / 15 % 3)) ||
                (l->pp == 1 && i / 15) || !share(l, i % 5, q->devices) ||
                (i / 5 % 3 == 1 && !(w->block.freed > 0)) ||
                (balanced && !w->uneven[l->pp * l->vp]))
                continue;
            try_layout(w, q, l, t);
        }
}

/* All that the search may look at, by loops of its own. */
static tried try_all(world *w, const layout_question *q)
{
    tried t = { .n = 0 };

    for (int c = 0; c < 9; c++)
        for (int64_t tp = 1; tp <= 4; tp *= 2)
            for (int sp = 0; sp <= (tp > 1); sp++)
                for (int64_t ep = 1; ep <= 4; ep *= 2)
                    for (int64_t m = 1; m <= 8; m *= 2)
                        for (int64_t pp = 1; pp <= 8; pp *= 2) {
                            layout l = layout_plain();

                            l.tp          = tp;
                            l.sp          = sp;
                            l.ep          = ep;
                            l.pp          = pp;
                            l.cp          = 1 << (c + 1) / 2;
                            l.ulysses     = c && c % 2 == 0;
                            l.micro_batch = m;
                            if (q->ranks % (tp * l.cp * pp) || tp > q->devices ||
                                (c && !q->facts.tokens) || (ep > 1 && !q->facts.experts) ||
                                (l.ulysses && 4 % (tp * l.cp)))
                                continue;
                            l.dp           = q->ranks / (tp * l.cp * pp);
                            l.global_batch = q->global_batch;
                            l.accumulation = q->global_batch / l.dp / m;
                            if (l.accumulation && l.dp * l.cp % ep == 0)
                                try_schedules(w, q, &l, &t);
                        }
    return t;
}

/* Which numbers of stages balance() spreads otherwise: the last block has twice the FLOPs of others. */
static void spread(world *w)
{
    double flops[BLOCKS] = { 4, 3, 3, 3, 3, 3, 3, 6 };

    for (int64_t n = 1; n <= BLOCKS; n++) {
        int64_t  begin[BLOCKS];
        lm_error err = { LM_OK, "" };

        assert_int_equal(stages_balance(flops, BLOCKS, n, begin, &err), LM_OK);
        w->uneven[n] = false;
        for (int64_t v = 0; v < n; v++)
            w->uneven[n] |= begin[v] != stages_begin(BLOCKS, n, v);
    }
}

static void the_search_finds_what_trying_all_of_them_finds(void **state)
{
    static const double rooms[] = { INFINITY, 4000, 1500, 900, 1200 };
    size_t              bounded = 0;

    (void)state;
    for (size_t i = 0; i < 15; i++) {
        world               w = plain(), again = plain();
        layout_question     q      = question(i % 2 ? 16 : 8, i % 4 < 2 ? 4 : 8, 32);
        const layout_prices prices = { &w, parts, message, NULL };
        layout_search       s;
        lm_error            err = { LM_OK, "" };
        tried               t;

        w.tensor         = 0.02 * (double)(i % 5);
        w.latency        = 0.01 * (double)(i % 3);
        w.rate[1]        = i % 3 ? 20 : 300;
        w.context        = i % 4 ? 0.01 * (double)(i % 7) : 0;
        w.experts        = i % 3 == 1 ? 60 : 0;
        q.facts.tokens   = i % 2 ? 1024 : 0;
        q.facts.experts  = i % 3 == 1 ? 4 : 0;
        q.room           = rooms[i % 5];
        q.best           = i % 2 ? 5 : 1;
        w.block.again[0] = 0.1 * (double)(i % 5);
        w.block.freed    = i % 5 ? 15 : 0;
        spread(&w);
        memcpy(&again, &w, sizeof w);
        t = try_all(&again, &q);
        assert_int_equal(layouts_find(&q, &prices, &s, &err), LM_OK);
        bounded += s.bounded;
        assert_true(s.bounded ? s.looked_at < t.n : s.looked_at == t.n);
        if (!s.bounded)
            assert_int_equal(s.looked_at - s.too_large, t.fit);
        if (t.fit) {
            char a[LAYOUT_TEXT], b[LAYOUT_TEXT];

            assert_close(s.found[0].step, t.best.step, 1e-12);
            assert_string_equal(layout_print(&s.found[0].layout, a),
                                layout_print(&t.best.layout, b));
        } else {
            assert_int_equal(s.n, 0);
            assert_true(s.least_bytes > q.room);
        }
        for (size_t k = 1; k < s.n; k++) {
            assert_true(s.found[k].step >= s.found[k - 1].step);
            assert_true(s.found[k].layout.tp != s.found[0].layout.tp ||
                        s.found[k].layout.pp != s.found[0].layout.pp);
        }
        layouts_free(&s);
    }
    assert_true(bounded > 0); /* some parts were left out, and the best is the best all the same */
}

/* What is told cuts the search: of each tp and pp that is left, the same layout is the best. */
static void what_is_told_is_so_in_all_layouts_and_the_rest_is_searched(void **state)
{
    static const char *const told[] = { "tp2",     "pp4",  "dp4",        "zero1",          "sp",
                                        "gpipe",   "mb2",  "tp2 dp4",    "recompute=none", "vp2",
                                        "tp4 ga2", "ring", "stages=even" };

    size_t met = 0;

    (void)state;
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        world               w = plain(), again = plain();
        layout_question     q       = question(8, 4, 32);
        const layout_prices prices  = { &w, parts, message, NULL };
        const layout_prices prices2 = { &again, parts, message, NULL };
        layout              l       = layout_plain();
        layout_search       all, s;
        lm_error            err = { LM_OK, "" };

        q.best = 100;
        assert_int_equal(layouts_find(&q, &prices, &all, &err), LM_OK);
        assert_int_equal(layout_parse(told[i], &l, &err), LM_OK);
        q.told = &l;
        assert_int_equal(layouts_find(&q, &prices2, &s, &err), LM_OK);
        assert_true(s.n > 0 && s.looked_at < all.looked_at + (i == 11 || i == 12));
        for (size_t k = 0; k < s.n; k++)
            assert_true(layout_agrees(&s.found[k].layout, &l, ~0u));
        for (size_t k = 0; k < all.n; k++) {
            size_t same = 0;

            if (!layout_agrees(&all.found[k].layout, &l, ~0u))
                continue;
            while (same < s.n && (s.found[same].layout.tp != all.found[k].layout.tp ||
                                  s.found[same].layout.pp != all.found[k].layout.pp))
                same++;
            assert_true(same < s.n);
            assert_close(s.found[same].step, all.found[k].step, 1e-12);
            met++;
        }
        layouts_free(&all);
        layouts_free(&s);
    }
    assert_true(met > 20);
}

static void unknown_messages_leave_a_layout_without_a_price(void **state)
{
    world               w      = plain();
    layout_question     q      = question(8, 4, 32);
    const layout_prices prices = { &w, parts, message, NULL };
    layout_search       s;
    lm_error            err = { LM_OK, "" };

    (void)state;
    w.rate[1] = NAN;
    assert_int_equal(layouts_find(&q, &prices, &s, &err), LM_OK);
    assert_true(s.no_time > 0);
    for (size_t i = 0; i < s.n; i++)
        assert_true(s.found[i].step > 0);
    layouts_free(&s);
}

static void what_cannot_be_is_refused(void **state)
{
    world               w      = plain();
    layout_question     q      = question(11, 1, 4);
    const layout_prices prices = { &w, parts, message, NULL };
    layout              l      = layout_plain();
    layout_found        f;
    layout_search       s;
    lm_error            err = { LM_OK, "" };

    (void)state;
    assert_int_equal(layouts_find(&q, &prices, &s, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG,
                 "a global batch of 4 does not divide among 11 ranks in any layout: give a "
                 "--global-batch that is a multiple of them, or fewer devices");
    q.best = 0;
    assert_int_equal(layouts_find(&q, &prices, &s, &err), LM_E_ARG);
    strcpy(l.stages, "3,5");
    assert_int_equal(layouts_price(&q, &prices, &l, &f, &err), LM_E_UNSUPPORTED);
    assert_error(err, LM_E_UNSUPPORTED, "stages=3,5 are not searched");
    l = layout_plain();
    strcpy(l.recompute, "mlp");
    assert_int_equal(layouts_price(&q, &prices, &l, &f, &err), LM_E_UNSUPPORTED);
    assert_error(err, LM_E_UNSUPPORTED, "recompute=mlp is not searched");
}

static void sentences_say_what_limits_and_why_another_is_worse(void **state)
{
    const layout_found a = { .step    = 100,
                             .low     = 90,
                             .high    = 110,
                             .pass    = { 0.9, 1.1 },
                             .message = { 0.5, 2 },
                             .share   = { [SHARE_COMPUTE]  = 70,
                                          [SHARE_TENSOR]   = 20,
                                          [SHARE_PIPELINE] = 5,
                                          [SHARE_DATA]     = 4,
                                          [SHARE_UPDATE]   = 1 } };
    layout_found       b = a, c = a;
    char               text[LAYOUT_SENTENCE];

    (void)state;
    b.step                  = 105;
    b.share[SHARE_TENSOR]   = 14;
    b.share[SHARE_PIPELINE] = 16;
    assert_string_equal(layouts_limit(&a, text), "of its time compute 70 %, tensor messages 20 %");
    assert_string_equal(layouts_worse(&a, &b, text), "5.0 % slower: pipeline bubble +11.0 %");
    /* of own seconds 76 and 87, of messages 24 and 18: equal where messages take 11 / 6 times as long as
     * what ranks do, 1.65 times where that takes 0.9 */
    assert_true(layouts_tie(&a, &b));
    c            = a;
    c.message[1] = 1.6;
    assert_false(layouts_tie(&c, &b));
    /* all is slower alike */
    c.step                 = 101;
    c.share[SHARE_COMPUTE] = 71;
    assert_false(layouts_tie(&a, &c));
    assert_close(layouts_at(&a, 2, 3), 2 * 76 + 3 * 24, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds_of_data_parallel_steps_are_those_by_hand),
        cmocka_unit_test(messages_that_take_longer_than_a_pass_stay_exposed),
        cmocka_unit_test(tensor_parallel_steps_wait_for_their_messages),
        cmocka_unit_test(stages_hold_their_blocks_and_what_is_in_flight),
        cmocka_unit_test(a_rest_of_blocks_makes_stages_uneven),
        cmocka_unit_test(a_step_is_as_long_as_its_slowest_stage),
        cmocka_unit_test(the_search_finds_what_trying_all_of_them_finds),
        cmocka_unit_test(what_is_told_is_so_in_all_layouts_and_the_rest_is_searched),
        cmocka_unit_test(unknown_messages_leave_a_layout_without_a_price),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(sentences_say_what_limits_and_why_another_is_worse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
