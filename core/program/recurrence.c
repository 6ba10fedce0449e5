/* Messages that overlap a backward pass. */
#include "program/recurrence.h"

#include <math.h>
#include <stdbool.h>

/* State at a moment: `now` is the clock; `done` is the finished part of the pass, in seconds
 * without messages. */
typedef struct moment {
    const overlap_rules *rules;
    overlap_bucket      *bucket;
    size_t               n, reached; /* reached: number of ready buckets */
    double               now, done;
    double               backward; /* end of the pass on the clock */
    double               beside;   /* seconds of `done` beside messages */
} moment;

/* Advances the clock by `seconds`. The pass advances by `rate` times as much. */
static void pass(moment *m, double seconds, double rate)
{
    const double end = m->rules->backward, before = m->done;

    m->done = fmin(end, m->done + seconds * rate);
    while (m->reached < m->n && m->bucket[m->reached].ready <= m->done) {
        overlap_bucket *b = &m->bucket[m->reached++];

        b->ready = m->now + fmax(0, b->ready - before) / rate;
    }
    if (before < end && m->done >= end)
        m->backward = m->now + (end - before) / rate;
    m->now += seconds;
}

/* Runs the pass without messages until `done` is reached. */
static void pass_until(moment *m, double done)
{
    if (done > m->done) {
        const double seconds = done - m->done;

        pass(m, seconds, 1);
        m->done = fmax(m->done, done); /* removes rounding errors */
    }
    pass(m, 0, 1);
}

/* Runs a message of so many seconds. */
static void send(moment *m, double seconds)
{
    const double slowed = 1 + m->rules->slowdown, progress = 1 / (1 + m->rules->stretch);
    const double left =
        (m->rules->backward - m->done) * slowed; /* rest of the pass, beside messages */

    if (left <= 0) {
        m->now += seconds;
    } else if (seconds <= left * progress) {
        m->beside += seconds / progress / slowed;
        pass(m, seconds / progress, 1 / slowed);
    } else {
        m->beside += left / slowed;
        pass(m, left, 1 / slowed);
        pass_until(m, m->rules->backward);
        m->now += seconds - left * progress;
    }
}

/* Fuses bucket `i` with the following ones that are ready and fit. Returns the next bucket. */
static size_t fuse(const moment *m, overlap_bucket *into, size_t i)
{
    for (; i < m->reached && into->bytes + m->bucket[i].bytes <= m->rules->fusion_bytes; i++) {
        into->bytes += m->bucket[i].bytes;
        into->ready       = fmax(into->ready, m->bucket[i].ready);
        into->first_layer = m->bucket[i].first_layer < into->first_layer ? m->bucket[i].first_layer
                                                                         : into->first_layer;
        into->last_layer =
            m->bucket[i].last_layer > into->last_layer ? m->bucket[i].last_layer : into->last_layer;
    }
    return i;
}

overlap_times overlap_run(overlap_bucket *bucket, size_t *n, const overlap_rules *rules,
                          overlap_price *price, void *context)
{
    moment        m     = { .rules = rules, .bucket = bucket, .n = *n };
    overlap_times times = { .backward = 0 };
    size_t        made  = 0;

    for (size_t i = 0; i < *n;) {
        overlap_bucket b;
        double         seconds;

        if (i >= m.reached)
            pass_until(&m, bucket[i].ready);
        b = bucket[i++];
        pass(&m, rules->wait, 1);
        if (rules->fusion_bytes > 0)
            i = fuse(&m, &b, i);
        seconds = price(context, b.bytes);
        b.start = m.now;
        send(&m, seconds);
        b.end          = m.now;
        bucket[made++] = b;
        times.sync += rules->wait + seconds;
    }
    *n = made;
    if (m.done < rules->backward) {
        const double last = m.now;

        pass_until(&m, rules->backward);
        m.now = last;
    }
    times.backward = m.backward;
    times.beside   = m.beside;
    times.exposed  = fmax(0, m.now - m.backward);
    if (isnan(times.sync)) /* fmax() ignores NAN */
        times.exposed = times.backward = NAN;
    return times;
}

overlap_times overlap_sums(const overlap_bucket *bucket, size_t n, const overlap_rules *rules,
                           overlap_price *price, void *context)
{
    overlap_times times = { .backward = rules->backward };
    double        end   = 0;

    for (size_t i = 0; i < n; i++) {
        const double seconds = rules->wait + price(context, bucket[i].bytes);

        end = (end > bucket[i].ready ? end : bucket[i].ready) + seconds;
        times.sync += seconds;
    }
    times.exposed = end > rules->backward ? end - rules->backward : 0;
    if (isnan(times.sync))
        times.exposed = times.backward = NAN;
    return times;
}
