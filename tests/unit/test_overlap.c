/* Gradients in buckets, and what a backward pass hides of their all-reduce. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "program/buckets.h"
#include "program/policy.h"
#include "program/recurrence.h"

enum { KIB = 1024, MIB = 1024 * KIB };

/* ---- buckets --------------------------------------------------------------------------------- */

static bucket_tensor of(uint64_t bytes)
{
    return (bucket_tensor){ bytes, LM_F32 };
}

static size_t make(const bucket_tensor *t, size_t n, uint64_t limit, bucket_span *out)
{
    return buckets_make(t, n, buckets_first_limit(limit), limit, out);
}

static void check_span(const bucket_span *b, uint64_t bytes, size_t last)
{
    assert_int_equal(b->bytes, bytes);
    assert_int_equal(b->last, last);
}

/* Sizes, and what torch 1.13 makes of them: torch.distributed._compute_bucket_assignment_by_size(
 * tensors, [1 MiB, limit]) gives 0 1 2 | 3 | 4 5 | 6 7 at 25 MiB and 0 1 2 | 3 | 4 5 | 6 | 7 at 4.
 */
static void buckets_are_those_of_torch(void **state)
{
    const bucket_tensor t[] = { of(300 * KIB), of(700 * KIB), of(100 * KIB), of(30 * MIB),
                                of(1 * MIB),   of(25 * MIB),  of(24 * MIB),  of(2 * MIB) };
    bucket_span         b[8];

    (void)state;
    assert_int_equal(make(t, 8, 25 * MIB, b), 4);
    check_span(&b[0], 1100 * KIB, 2);
    check_span(&b[1], 30 * MIB, 3);
    check_span(&b[2], 26 * MIB, 5);
    check_span(&b[3], 26 * MIB, 7);
    assert_int_equal(b[3].first, 6);
    assert_int_equal(make(t, 8, 4 * MIB, b), 5);
    check_span(&b[2], 26 * MIB, 5);
    check_span(&b[3], 24 * MIB, 6);
    check_span(&b[4], 2 * MIB, 7); /* the last one is as full as it gets */
}

static void a_small_limit_holds_for_the_first_bucket_too(void **state)
{
    const bucket_tensor t[] = { of(40), of(40), of(40), of(200), of(4) };
    bucket_span         b[5];

    (void)state;
    assert_int_equal(make(t, 5, 80, b), 3);
    check_span(&b[0], 80, 1);
    check_span(&b[1], 240, 3);
    check_span(&b[2], 4, 4);
    assert_int_equal(make(t, 5, 1, b), 5); /* each tensor alone */
    assert_int_equal(make(t, 0, 80, b), 0);
}

static void types_are_not_mixed(void **state)
{
    bucket_tensor t[] = { of(40), of(40), of(40) };
    bucket_span   b[3];

    (void)state;
    t[1].dtype = LM_F64;
    assert_int_equal(make(t, 3, MIB, b), 3);
    check_span(&b[1], 40, 1);
}

/* ---- the recurrence -------------------------------------------------------------------------- */

/* Latency and seconds a byte. */
typedef struct link {
    double latency, per_byte;
} link;

static double price(void *context, double bytes)
{
    const link *l = context;

    return l->latency + l->per_byte * bytes;
}

static overlap_times run(overlap_bucket *b, size_t *n, overlap_rules rules, link l)
{
    return overlap_run(b, n, &rules, price, &l);
}

/* A pass of 10 s; buckets of 1, 2 and 1 bytes at 2, 3 and 10 s; 2 s a byte:
 * e = 2 + 2 = 4; max(4, 3) + 4 = 8; max(8, 10) + 2 = 12. */
static void messages_wait_for_their_gradients_and_for_each_other(void **state)
{
    overlap_bucket      b[] = { { .bytes = 1, .ready = 2 },
                                { .bytes = 2, .ready = 3 },
                                { .bytes = 1, .ready = 10 } };
    size_t              n   = 3;
    const overlap_times t   = run(b, &n, (overlap_rules){ .backward = 10 }, (link){ 0, 2 });

    (void)state;
    assert_int_equal(n, 3);
    assert_close(b[0].start, 2, 1e-12);
    assert_close(b[0].end, 4, 1e-12);
    assert_close(b[1].ready, 3, 1e-12);
    assert_close(b[1].start, 4, 1e-12);
    assert_close(b[1].end, 8, 1e-12);
    assert_close(b[2].start, 10, 1e-12);
    assert_close(b[2].end, 12, 1e-12);
    assert_close(t.backward, 10, 1e-12);
    assert_close(t.sync, 8, 1e-12);
    assert_close(t.exposed, 2, 1e-12);
}

/* J equal buckets at a constant rate: exposed = max(C/J, C - T_bwd (1 - 1/J)). */
static void equal_buckets_follow_the_closed_form(void **state)
{
    (void)state;
    for (int J = 1; J <= 64; J *= 2)
        for (double C = 0.25; C <= 4; C *= 2) {
            overlap_bucket b[64];
            size_t         n = (size_t)J;
            overlap_times  t;

            for (int j = 0; j < J; j++)
                b[j] = (overlap_bucket){ .bytes = 1.0 / J, .ready = (j + 1.0) / J };
            t = run(b, &n, (overlap_rules){ .backward = 1 }, (link){ 0, C });
            assert_close(t.exposed, fmax(C / J, C - (1 - 1.0 / J)), 1e-12);
            assert_close(t.sync, C, 1e-12);
        }
}

static void one_bucket_hides_nothing(void **state)
{
    overlap_bucket b = { .bytes = 7, .ready = 3 };
    size_t         n = 1;

    (void)state;
    assert_close(run(&b, &n, (overlap_rules){ .backward = 3 }, (link){ 1, 2 }).exposed, 15, 1e-12);
}

static void without_cost_nothing_is_exposed(void **state)
{
    overlap_bucket b[] = { { .bytes = 7, .ready = 1 }, { .bytes = 7, .ready = 3 } };
    size_t         n   = 2;

    (void)state;
    assert_close(run(b, &n, (overlap_rules){ .backward = 3 }, (link){ 0, 0 }).exposed, 0, 0);
}

/* The last gradient is there before the pass ends (a first layer without weights). */
static void what_has_ended_before_the_pass_is_hidden(void **state)
{
    overlap_bucket b = { .bytes = 1, .ready = 1 };
    size_t         n = 1;
    overlap_times  t = run(&b, &n, (overlap_rules){ .backward = 5 }, (link){ 0, 3 });

    (void)state;
    assert_close(t.exposed, 0, 0);
    assert_close(t.backward, 5, 1e-12);
    assert_close(b.end, 4, 1e-12);
}

/* exposed grows with bytes, and is never above the whole nor below what it would be if everything
 * were ready at once. */
static void more_bytes_are_never_less_exposed(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int round = 0; round < 200; round++) {
        double before = 0;
        double ready[16], bytes[16];

        for (int j = 0; j < 16; j++) {
            seed     = seed * 6364136223846793005u + 1442695040888963407u;
            ready[j] = (j ? ready[j - 1] : 0) + (double)(seed >> 40) / (1 << 24) / 16;
            seed     = seed * 6364136223846793005u + 1442695040888963407u;
            bytes[j] = (double)(seed >> 40) / (1 << 24);
        }
        for (double times = 0.25; times <= 4; times *= 2) {
            const overlap_rules rules = { .backward = ready[15] + 0.1,
                                          .slowdown = round % 3 * 0.2,
                                          .stretch  = round % 2 };
            overlap_bucket      b[16];
            size_t              n = 16;
            overlap_times       t;

            for (int j = 0; j < 16; j++)
                b[j] = (overlap_bucket){ .bytes = times * bytes[j], .ready = ready[j] };
            t = run(b, &n, rules, (link){ 0.01, 0.2 });
            assert_true(t.exposed >= before - 1e-12);
            assert_true(t.exposed <= t.sync + 1e-12);
            assert_true(t.backward >= rules.backward - 1e-12);
            assert_true(t.exposed >= t.sync - t.backward - 1e-12);
            for (size_t j = 1; j < n; j++)
                assert_true(b[j].start >= b[j - 1].end && b[j].start >= b[j].ready);
            before = t.exposed;
        }
    }
}

/* Without buckets' own times: the same sums, whatever bucket is ready when. */
static void sums_alone_are_those_of_the_whole_recurrence(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed < 200; seed++) {
        overlap_bucket      b[20];
        const overlap_rules rules = { .backward = 5, .wait = seed % 3 ? 0 : 0.01 };
        const link          l     = { 0.01, 0.001 * (seed % 7) };
        size_t              n     = seed % 20 + 1;
        double              ready = 0;
        link                again = l;
        overlap_times       whole, sums;

        for (size_t i = 0; i < n; i++) {
            ready = fmin(5, ready + (double)((seed * 7919 + i * 104729) % 100) / 120);
            b[i]  = (overlap_bucket){ .bytes = (double)((seed + i * i) % 17 * 10), .ready = ready };
        }
        sums  = overlap_sums(b, n, &rules, price, &again);
        whole = run(b, &n, rules, l);
        assert_close(sums.sync, whole.sync, 1e-13);
        assert_close(sums.exposed, whole.exposed, 1e-12);
        assert_close(sums.backward, whole.backward, 1e-13);
    }
}

/* A pass of 4 s, one message of 2 s from 1 s on, both at half their speed beside each other: the
 * pass has done 1 s, then 1 / (1 + 1); the message needs 4 s; at 5 s the pass has done 3, and ends
 * at 6. */
static void both_slow_each_other_down(void **state)
{
    overlap_bucket      b     = { .bytes = 1, .ready = 1 };
    size_t              n     = 1;
    const overlap_rules rules = { .backward = 4, .slowdown = 1, .stretch = 1 };
    overlap_times       t     = run(&b, &n, rules, (link){ 0, 2 });

    (void)state;
    assert_close(b.end, 5, 1e-12);
    assert_close(t.backward, 6, 1e-12);
    assert_close(t.exposed, 0, 0);
    assert_close(t.beside, 2, 1e-12);
    /* 6 s of message: the pass ends at 1 + 2 * 3 = 7, when 3 s of it are left */
    b = (overlap_bucket){ .bytes = 1, .ready = 1 };
    t = run(&b, &n, rules, (link){ 0, 6 });
    assert_close(t.backward, 7, 1e-12);
    assert_close(t.exposed, 3, 1e-12);
}

/* Horovod: tensors at 1, 1.2, 1.4 and 5 s of a pass of 6, cycles of 1 s, 2 s a message. The first
 * leaves at 1.5 and takes two along; the last at 5.5, until 7.5. */
static void fusion_takes_what_is_there_when_a_message_leaves(void **state)
{
    const overlap_bucket tensor[] = { { .bytes = 3, .ready = 1, .first_layer = 4, .last_layer = 4 },
                                      { .bytes = 3, .ready = 1.2 },
                                      { .bytes = 3, .ready = 1.4, .first_layer = 2 },
                                      { .bytes = 3, .ready = 5 } };
    overlap_rules        rules    = { .backward = 6, .wait = 0.5, .fusion_bytes = 100 };
    overlap_bucket       b[4];
    size_t               n = 4;
    overlap_times        t;

    (void)state;
    memcpy(b, tensor, sizeof b);
    t = run(b, &n, rules, (link){ 2, 0 });
    assert_int_equal(n, 2);
    assert_close(b[0].bytes, 9, 0);
    assert_close(b[0].ready, 1.4, 1e-12);
    assert_close(b[0].start, 1.5, 1e-12);
    assert_int_equal(b[0].first_layer, 0);
    assert_int_equal(b[0].last_layer, 4);
    assert_close(b[1].start, 5.5, 1e-12);
    assert_close(t.exposed, 1.5, 1e-12);
    assert_close(t.sync, 5, 1e-12); /* with both waits */
    /* two fit, and one that is larger than the buffer goes by itself */
    memcpy(b, tensor, sizeof b);
    n                  = 4;
    rules.fusion_bytes = 6;
    run(b, &n, rules, (link){ 2, 0 });
    assert_int_equal(n, 3);
    assert_close(b[0].bytes, 6, 0);
    memcpy(b, tensor, sizeof b);
    n                  = 4;
    rules.fusion_bytes = 1;
    run(b, &n, rules, (link){ 2, 0 });
    assert_int_equal(n, 4);
}

static double unknown(void *context, double bytes)
{
    (void)context;
    (void)bytes;
    return NAN;
}

static void what_no_price_is_known_of_is_unknown(void **state)
{
    overlap_bucket b[] = { { .bytes = 1, .ready = 1 }, { .bytes = 1, .ready = 2 } };
    size_t         n   = 2;
    overlap_times  t   = overlap_run(b, &n, &(overlap_rules){ .backward = 2 }, unknown, NULL);

    (void)state;
    assert_true(isnan(t.sync) && isnan(t.exposed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_are_those_of_torch),
        cmocka_unit_test(a_small_limit_holds_for_the_first_bucket_too),
        cmocka_unit_test(types_are_not_mixed),
        cmocka_unit_test(messages_wait_for_their_gradients_and_for_each_other),
        cmocka_unit_test(equal_buckets_follow_the_closed_form),
        cmocka_unit_test(one_bucket_hides_nothing),
        cmocka_unit_test(without_cost_nothing_is_exposed),
        cmocka_unit_test(what_has_ended_before_the_pass_is_hidden),
        cmocka_unit_test(more_bytes_are_never_less_exposed),
        cmocka_unit_test(sums_alone_are_those_of_the_whole_recurrence),
        cmocka_unit_test(both_slow_each_other_down),
        cmocka_unit_test(fusion_takes_what_is_there_when_a_message_leaves),
        cmocka_unit_test(what_no_price_is_known_of_is_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
