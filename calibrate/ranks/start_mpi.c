/* A common start for ranks that are about to be timed. */
#include "ranks/start_mpi.h"

#include <time.h>

#include "measure/clock.h"
#include "ranks/pulse.h"
#include "ranks/world_mpi.h"

#define EXCHANGES 8
#define TAG       77
#define SPIN      100000 /* ns before the start from which on a rank does not sleep */

static int64_t now(void)
{
    return clock_nanoseconds(CLOCK_MONOTONIC);
}

/* Rank 0's side, for one rank. */
static void answer(MPI_Comm comm, int rank)
{
    for (int i = 0; i < EXCHANGES; i++) {
        int64_t shown;

        MPI_Recv(NULL, 0, MPI_BYTE, rank, TAG, comm, MPI_STATUS_IGNORE);
        shown = now();
        MPI_Send(&shown, 1, MPI_INT64_T, rank, TAG, comm);
    }
}

static int64_t ask(MPI_Comm comm)
{
    int64_t best = INT64_MAX, ahead = 0;

    for (int i = 0; i < EXCHANGES; i++) {
        const int64_t sent = now();
        int64_t       shown, trip;

        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, comm);
        MPI_Recv(&shown, 1, MPI_INT64_T, 0, TAG, comm, MPI_STATUS_IGNORE);
        trip = now() - sent;
        if (trip < best) {
            best  = trip;
            ahead = shown - (sent + trip / 2);
        }
    }
    return ahead;
}

static start_line start_line_draw(const world *group)
{
    MPI_Comm             comm   = world_communicator(group);
    const pulse_activity before = pulse_enter(PULSE_WAIT);
    start_line           line   = { 0, 0 };
    double               longest;
    int64_t              began;

    for (int r = 1; r < world_size(group); r++) { /* one after the other: they must not disturb */
        if (world_rank(group) == 0)
            answer(comm, r);
        else if (world_rank(group) == r)
            line.ahead = ask(comm);
    }
    pulse_enter(before);
    world_barrier(group);
    began = now();
    world_barrier(group);
    world_barrier(group);
    longest = (double)(now() - began);
    world_max(group, &longest, 1);
    line.slack = (int64_t)longest + 20000;
    return line;
}

lm_status start_line_agree(const world *group, lm_status mine, start_line *out, lm_error *err)
{
    const lm_status status = world_agree(group, mine, err);

    if (!status)
        *out = start_line_draw(group);
    return status;
}

void start_line_wait(const world *group, const start_line *line)
{
    int64_t start = now() + line->slack, left;

    if (world_size(group) == 1)
        return;
    world_broadcast(group, &start, sizeof start);
    start -= world_rank(group) ? line->ahead : 0;
    left = start - now() - SPIN;
    if (left > 0) {
        const struct timespec nap = { left / 1000000000, left % 1000000000 };

        nanosleep(&nap, NULL);
    }
    while (now() < start) {
    }
}
