/** Messages of a rank's part of a network, added up. */
#ifndef SHARD_SUMS_H
#define SHARD_SUMS_H

#include "nets.h"

#include "network/metrics.h"

/* Messages of one kind under a name in one pass, and their bytes. */
typedef struct sum {
    uint64_t n, bytes;
} sum;

static inline sum messages(const bound_text *t, const char *block, shard_kind kind, bool backward,
                           bool again)
{
    const net_sharing *s   = &t->bound->sharing;
    sum                all = { 0, 0 };

    assert_string_equal(t->err.text, "");
    for (size_t i = 0; i < s->n; i++) {
        const shard_message *m = &s->message[i];

        if (m->kind == kind && m->backward == backward && m->again == again &&
            (!block || metrics_in_block(t->bound->layer[m->layer].decl->name, block))) {
            all.n += m->count;
            all.bytes += m->count * m->bytes;
        }
    }
    return all;
}

static inline void check_sum(sum s, uint64_t n, uint64_t each)
{
    assert_int_equal(s.n, n);
    assert_int_equal(s.bytes, n * each);
}

static inline net_metrics counts_of(const bound_text *t, const char *block)
{
    net_metrics m;
    lm_error    err = { LM_OK, "" };

    assert_string_equal(t->err.text, "");
    assert_int_equal(metrics_of_network(t->bound, block, &m, &err), LM_OK);
    return m;
}

static inline bound_text shared(const char *name, int64_t batch, net_shard shard)
{
    return nets_open(name, &(bind_options){ .batch = batch, .dtype = LM_BF16, .shard = shard });
}

static inline sum messages_of(const bound_text *t, shard_group group, shard_kind kind,
                              bool backward, bool hidden)
{
    const net_sharing *s   = &t->bound->sharing;
    sum                all = { 0, 0 };

    assert_string_equal(t->err.text, "");
    for (size_t i = 0; i < s->n; i++)
        if (s->message[i].group == group && s->message[i].kind == kind &&
            s->message[i].backward == backward && s->message[i].hidden == hidden) {
            all.n += s->message[i].count;
            all.bytes += s->message[i].count * s->message[i].bytes;
        }
    return all;
}

#endif
