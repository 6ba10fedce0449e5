/* Connections between ranks: who is let in, and how an end is noticed. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "ranks/wire.h"

enum { N = 3 };

/* Rank 0 takes guests while the test plays them. */
typedef struct host {
    wire_place place;
    int        listener, fd[N];
    pthread_t  thread;
} host;

static void *take(void *context)
{
    host *h = context;

    wire_accept(h->listener, &h->place, N, 20, h->fd);
    return NULL;
}

static void open_host(host *h)
{
    assert_int_equal(wire_listen(&h->place, &h->listener, NULL), LM_OK);
    assert_true(h->place.n > 0);
    assert_int_equal(pthread_create(&h->thread, NULL, take, h), 0);
}

static void strangers_are_sent_away_and_ranks_let_in(void **state)
{
    host         h;
    wire_place   guessed;
    wire_message m = { .kind = WIRE_BEAT, .activity = 2, .quiet = 1.5 }, got;
    int          rank1, rank2;

    (void)state;
    open_host(&h);
    guessed = h.place;
    guessed.ask[0] ^= 1; /* not this run's */
    assert_int_equal(wire_connect(&guessed, 1, 5), -1);
    assert_int_equal(wire_connect(&h.place, N, 5), -1); /* no such rank */
    rank2 = wire_connect(&h.place, 2, 5);
    assert_true(rank2 >= 0);
    assert_int_equal(wire_connect(&h.place, 2, 5), -1); /* it is there already */
    rank1 = wire_connect(&h.place, 1, 5);
    assert_true(rank1 >= 0);
    pthread_join(h.thread, NULL);

    assert_int_equal(wire_receive(h.fd[2], &got), 0);
    assert_true(wire_send(rank2, &m));
    for (int i = 0; i < 2000 && !wire_receive(h.fd[2], &got); i++)
        usleep(1000);
    assert_memory_equal(&got, &m, sizeof m);
    close(rank2);
    for (int i = 0; i < 2000 && wire_receive(h.fd[2], &got) == 0; i++)
        usleep(1000);
    assert_int_equal(wire_receive(h.fd[2], &got), -1);
    assert_int_equal(wire_receive(h.fd[1], &got), 0); /* another's end is not its own */
    close(rank1);
    for (int r = 1; r < N; r++)
        close(h.fd[r]);
    close(h.listener);
}

static void a_place_that_is_not_there_is_given_up(void **state)
{
    wire_place place;
    int        listener;

    (void)state;
    assert_int_equal(wire_listen(&place, &listener, NULL), LM_OK);
    close(listener);
    assert_int_equal(wire_connect(&place, 1, 1), -1);
    place.n = 0;
    assert_int_equal(wire_connect(&place, 1, 1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strangers_are_sent_away_and_ranks_let_in),
        cmocka_unit_test(a_place_that_is_not_there_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
