/* Messages whose result is known: what ranks give adds up to what they get. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "backends/trial.h"

#define RANKS 4
#define MOST  40

/* What each rank gives, element by element. */
static double given[RANKS][MOST];

static void give(collective_kind kind, int size, int64_t n)
{
    for (int r = 0; r < size; r++) {
        const trial t  = { kind, r, size, n };
        trial_at    at = trial_seek(&t, 0);

        for (int64_t i = 0; i < n; i++, trial_next(&t, &at))
            given[r][i] = trial_gives(&t, &at);
    }
}

/* What a rank gets by the meaning of its kind (kind.h). */
static double right(const trial *t, int64_t i)
{
    const int64_t part = t->n / t->size;
    double        sum  = 0;

    switch (t->kind) {
    case COLLECTIVE_ALLREDUCE:
        for (int r = 0; r < t->size; r++)
            sum += given[r][i];
        return sum;
    case COLLECTIVE_REDUCESCATTER:
        for (int r = 0; r < t->size; r++)
            sum += given[r][t->rank * part + i];
        return sum;
    case COLLECTIVE_ALLGATHER: return given[i / part][i];
    case COLLECTIVE_ALLTOALL: return given[i / part][t->rank * part + i % part];
    case COLLECTIVE_SENDRECV: return given[(t->rank + t->size - 1) % t->size][i];
    case COLLECTIVE_BROADCAST: return given[0][i];
    case N_COLLECTIVE_KINDS: break;
    }
    return -1;
}

static void what_ranks_get_is_what_they_give(void **state)
{
    (void)state;
    for (collective_kind k = 0; k < N_COLLECTIVE_KINDS; k++)
        for (int size = 1; size <= RANKS; size++)
            for (int64_t asked = 1; asked <= 30; asked += 7) {
                const int64_t n = trial_elements(k, size, asked);

                assert_in_range(n, asked, asked + size - 1);
                give(k, size, n);
                for (int r = 0; r < size; r++) {
                    const trial t  = { k, r, size, n };
                    trial_at    at = trial_seek_got(&t, 0);

                    for (int64_t i = 0; i < trial_n_got(&t); i++, trial_next(&t, &at)) {
                        const trial_at again = trial_seek_got(&t, i);

                        assert_close(trial_gets(&t, &at), right(&t, i), 0);
                        assert_close(trial_gets(&t, &again), trial_gets(&t, &at), 0);
                        assert_in_range((int)trial_gets(&t, &at), 1, 255);
                    }
                }
            }
}

/* A library that takes the largest value, the last one, or what a rank had before, is seen. */
static void sums_are_no_rank_s_own_values(void **state)
{
    (void)state;
    for (int size = 2; size <= RANKS; size++) {
        const trial t = { COLLECTIVE_ALLREDUCE, 0, size, 24 };

        give(COLLECTIVE_ALLREDUCE, size, 24);
        for (int64_t i = 0; i < 24; i++) {
            const trial_at at = trial_seek(&t, i);

            for (int r = 0; r < size; r++)
                assert_true(given[r][i] < trial_gets(&t, &at));
        }
    }
}

/* 3 elements for 2 ranks are 4, a part each of 2; only all-to-alls and send-recvs need two messages. */
static void parts_are_alike(void **state)
{
    (void)state;
    assert_int_equal(trial_elements(COLLECTIVE_ALLTOALL, 2, 3), 4);
    assert_int_equal(trial_elements(COLLECTIVE_ALLREDUCE, 2, 3), 3);
    assert_int_equal(trial_n_got(&(trial){ COLLECTIVE_REDUCESCATTER, 0, 2, 4 }), 2);
    assert_int_equal(trial_messages(COLLECTIVE_ALLTOALL) + trial_messages(COLLECTIVE_SENDRECV), 4);
    assert_int_equal(trial_messages(COLLECTIVE_ALLGATHER), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ranks_get_is_what_they_give),
        cmocka_unit_test(sums_are_no_rank_s_own_values),
        cmocka_unit_test(parts_are_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
