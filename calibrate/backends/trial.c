/* Messages with known results. */
#include "backends/trial.h"

#define PERIOD 199 /* a prime: parts of any length begin with different elements */

static bool in_parts(collective_kind kind)
{
    return kind == COLLECTIVE_ALLGATHER || kind == COLLECTIVE_REDUCESCATTER ||
           kind == COLLECTIVE_ALLTOALL;
}

int64_t trial_elements(collective_kind kind, int size, int64_t n)
{
    return in_parts(kind) ? (n + size - 1) / size * size : n;
}

int trial_messages(collective_kind kind)
{
    return kind == COLLECTIVE_ALLTOALL || kind == COLLECTIVE_SENDRECV ? 2 : 1;
}

int64_t trial_n_got(const trial *t)
{
    return t->kind == COLLECTIVE_REDUCESCATTER ? t->n / t->size : t->n;
}

/* Length of a part; a message without parts is one part. */
static int64_t part_length(const trial *t)
{
    return in_parts(t->kind) ? t->n / t->size : t->n;
}

trial_at trial_seek(const trial *t, int64_t i)
{
    const int64_t length = part_length(t);

    return (trial_at){ i, i % length, length, (int)(i / length), (int)(i % t->size) };
}

trial_at trial_seek_got(const trial *t, int64_t i)
{
    return trial_seek(t, t->kind == COLLECTIVE_REDUCESCATTER ? t->rank * part_length(t) + i : i);
}

void trial_next(const trial *t, trial_at *at)
{
    at->i++;
    if (++at->turn == t->size)
        at->turn = 0;
    if (++at->within == at->length) {
        at->within = 0;
        at->part++;
    }
}

/* Element i of the part that `from` sends to `to`. */
static double piece(int64_t from, int64_t to, int64_t i)
{
    return (double)(1 + (uint64_t)(i + 7 * from + 13 * to) % PERIOD);
}

/* A rank's contribution to a sum. Two ranks contribute to each sum, in turn, so that a maximum or a
 * last value would be wrong. */
static double addend(const trial *t, const trial_at *at)
{
    const bool next = (at->turn + 1 == t->size ? 0 : at->turn + 1) == t->rank;

    return (at->turn == t->rank ? (double)(1 + (uint64_t)at->i % 3) : 0) + (next ? 1 : 0);
}

double trial_gives(const trial *t, const trial_at *at)
{
    switch (t->kind) {
    case COLLECTIVE_ALLREDUCE:
    case COLLECTIVE_REDUCESCATTER: return addend(t, at);
    case COLLECTIVE_ALLGATHER: return at->part == t->rank ? piece(t->rank, 0, at->within) : 0;
    case COLLECTIVE_ALLTOALL: return piece(t->rank, at->part, at->within);
    case COLLECTIVE_SENDRECV: return piece(t->rank, 0, at->i);
    case COLLECTIVE_BROADCAST: return t->rank ? 0 : piece(0, 0, at->i);
    case N_COLLECTIVE_KINDS: break;
    }
    return 0;
}

double trial_gets(const trial *t, const trial_at *at)
{
    switch (t->kind) {
    case COLLECTIVE_ALLREDUCE:
    case COLLECTIVE_REDUCESCATTER: return (double)(2 + (uint64_t)at->i % 3);
    case COLLECTIVE_ALLGATHER: return piece(at->part, 0, at->within);
    case COLLECTIVE_ALLTOALL: return piece(at->part, t->rank, at->within);
    case COLLECTIVE_SENDRECV: return piece((t->rank + t->size - 1) % t->size, 0, at->i);
    case COLLECTIVE_BROADCAST: return piece(0, 0, at->i);
    case N_COLLECTIVE_KINDS: break;
    }
    return 0;
}
