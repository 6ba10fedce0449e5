/* Buckets over MPI, on one rank: what is refused, and that wrong sums are found. An all-reduce of
 * this program's own stands before the library's (the MPI standard's profiling interface). */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "backends/mpi_buckets.h"
#include "ranks/world_mpi.h"

/* What Open MPI keeps until the process ends is not ours. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static int  calls;
static bool wrong; /* the second one spoils its last element */

static void spoil(void *data, int n, MPI_Datatype type)
{
    if (!wrong || ++calls != 2)
        return;
    if (type == MPI_FLOAT)
        ((float *)data)[n - 1] += 1;
    else
        ((double *)data)[n - 1] += 1;
}

int MPI_Iallreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request)
{
    if (type == MPI_FLOAT || type == MPI_DOUBLE)
        spoil(to, n, type);
    return PMPI_Iallreduce(from, to, n, type, op, comm, request);
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    if (from == MPI_IN_PLACE && op == MPI_SUM && (type == MPI_FLOAT || type == MPI_DOUBLE))
        spoil(to, n, type);
    return PMPI_Allreduce(from, to, n, type, op, comm);
}

static world *alone;

static lm_status prepare(lm_dtype dtype, uint8_t thread, void **work, lm_error *err)
{
    static double          memory[300];
    static gradient_bucket bucket[3];
    bench_case             what = { .group = alone };

    *work = NULL;
    for (size_t i = 0; i < 3; i++)
        bucket[i] = (gradient_bucket){ .data = memory + 100 * i, .bytes = 800, .dtype = dtype };
    what.how.value[SETTING_PROGRESS] = thread;
    calls                            = 0;
    return mpi_prepare_buckets(NULL, &what, bucket, 3, work, err);
}

static void right_sums_pass_and_wrong_ones_do_not(void **state)
{
    static const lm_dtype dtypes[] = { LM_F32, LM_F64 };
    void                 *work;

    (void)state;
    for (int i = 0; i < 4; i++) {
        lm_error err = { LM_OK, "" };

        wrong = false;
        prepare(dtypes[i % 2], (uint8_t)(i / 2), &work, &err);
        assert_string_equal(err.text, "");
        mpi_release_buckets(NULL, work);
        wrong = true;
        prepare(dtypes[i % 2], (uint8_t)(i / 2), &work, &err);
        /* the last of 200 or 100 elements: 1 + 199 % 7 = 4, 1 + 99 % 7 = 2 */
        assert_error(err, LM_E_IO, "the all-reduce of bucket 2 gave %d instead of %d",
                     i % 2 ? 3 : 5, i % 2 ? 2 : 4);
        assert_null(work);
    }
    wrong = false;
}

static void types_that_mpi_cannot_add_are_refused(void **state)
{
    void    *work;
    lm_error err;

    (void)state;
    prepare(LM_BF16, 0, &work, &err);
    assert_error(err, LM_E_UNSUPPORTED,
                 "MPI sums no gradients of bf16: f32 and f64 can be measured");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_sums_pass_and_wrong_ones_do_not),
        cmocka_unit_test(types_that_mpi_cannot_add_are_refused),
    };
    lm_error err;

    if (world_open(&argc, &argv, &alone, &err)) {
        print_error("%s\n", err.text);
        return 1;
    }
    world_close(alone, cmocka_run_group_tests(tests, NULL, NULL));
}
