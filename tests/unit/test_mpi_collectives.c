/* Collectives over MPI, on one rank: right results pass, and wrong ones are found, before and while
 * messages are timed. Functions of this program's own stand before the library's (the MPI standard's
 * profiling interface). */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "measure/backend.h"
#include "ranks/world_mpi.h"

/* What Open MPI keeps until the process ends is not ours. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static int calls, wrong; /* the wrong one, from 1 on, spoils its last element; 0: none */

static int spoilt(void *data, int n, int status)
{
    if (++calls == wrong)
        ((float *)data)[n - 1] += 1;
    return status;
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    const int status = PMPI_Allreduce(from, to, n, type, op, comm);

    return from == MPI_IN_PLACE && type == MPI_FLOAT ? spoilt(to, n, status) : status;
}

int MPI_Allgather(const void *from, int n_from, MPI_Datatype from_type, void *to, int n,
                  MPI_Datatype type, MPI_Comm comm)
{
    return spoilt(to, n, PMPI_Allgather(from, n_from, from_type, to, n, type, comm));
}

int MPI_Reduce_scatter_block(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm)
{
    return spoilt(to, n, PMPI_Reduce_scatter_block(from, to, n, type, op, comm));
}

int MPI_Alltoall(const void *from, int n_from, MPI_Datatype from_type, void *to, int n,
                 MPI_Datatype type, MPI_Comm comm)
{
    return spoilt(to, n, PMPI_Alltoall(from, n_from, from_type, to, n, type, comm));
}

int MPI_Sendrecv(const void *from, int n_from, MPI_Datatype from_type, int to_rank, int to_tag,
                 void *to, int n, MPI_Datatype type, int from_rank, int from_tag, MPI_Comm comm,
                 MPI_Status *status)
{
    return spoilt(to, n,
                  PMPI_Sendrecv(from, n_from, from_type, to_rank, to_tag, to, n, type, from_rank,
                                from_tag, comm, status));
}

int MPI_Bcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    const int status = PMPI_Bcast(data, n, type, root, comm);

    return type == MPI_FLOAT ? spoilt(data, n, status) : status;
}

static world *alone;

/* Prepares a message of 1000 floats and times it twice. */
static lm_status measure(collective_kind kind, int spoils, lm_error *err)
{
    const observation row  = { .kind = OBS_COLLECTIVE, .algorithm = "default", .dtype = LM_F32 };
    const bench_case  what = { .point = &row, .group = alone, .collective = kind, .bytes = 4000 };
    const backend_config with  = { .world = alone };
    backend             *b     = NULL;
    void                *work  = NULL;
    backend_time         taken = { 0 };
    lm_status            status;

    calls = 0;
    wrong = spoils;
    assert_int_equal(backend_mpi.open(&with, &b, err), LM_OK);
    status = backend_mpi.prepare(b, &what, &work, err);
    for (int i = 0; i < 2 && !status; i++) {
        status = backend_mpi.run(b, work, PHASE_SYNC, &taken, err);
        assert_true(taken.wall > 0);
    }
    backend_mpi.release(b, work);
    backend_mpi.close(b);
    return status;
}

static void right_results_pass_and_wrong_ones_do_not(void **state)
{
    (void)state;
    for (collective_kind k = 0; k < N_COLLECTIVE_KINDS; k++)
        for (int spoils = 0; spoils <= 3; spoils++) {
            lm_error        err    = { LM_OK, "" };
            const lm_status status = measure(k, spoils, &err);
            char            says[60];

            snprintf(says, sizeof says, "the %s gave ", collective_types[k].title);
            assert_int_equal(status, spoils ? LM_E_IO : LM_OK);
            assert_int_equal(!strncmp(err.text, says, strlen(says)), spoils > 0);
            /* what is timed is zeros */
            assert_int_equal(strstr(err.text, " gave 1 instead of 0 at element 999 of 1000") !=
                                 NULL,
                             spoils > 1);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_results_pass_and_wrong_ones_do_not),
    };
    lm_error err;

    if (world_open(&argc, &argv, &alone, &err)) {
        print_error("%s\n", err.text);
        return 1;
    }
    world_close(alone, cmocka_run_group_tests(tests, NULL, NULL));
}
