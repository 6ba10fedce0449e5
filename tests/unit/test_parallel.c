/* Independent parts: each once, whatever the number of threads, and the first failure. */
#include "check.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/blas.h"
#include "base/parallel.h"

enum { PARTS = 500 };

typedef struct work {
    int    done[PARTS];
    size_t fails_from, inner;
} work;

static lm_status do_part(void *context, size_t part, lm_error *err)
{
    work *w = context;

    w->done[part]++;
    return part < w->fails_from ? LM_OK
                                : lm_error_set(err, LM_E_ARG, "part %zu does not work", part);
}

static lm_status do_parts_of_it(void *context, size_t part, lm_error *err)
{
    work           *w   = context;
    work            own = { .fails_from = 3 + part };
    const lm_status is  = parallel_for(w->inner, do_part, &own, err);

    for (size_t i = 0; i < w->inner; i++)
        w->done[part] += own.done[i];
    return is;
}

/* Of 1, 2 and more threads than there are parts; nonsense is as if it was not said. */
static const char *const threads[] = { "1", "2", "16", "1000000", "none", "" };

static void every_part_is_done_once(void **state)
{
    static const size_t n[] = { 0, 1, 2, PARTS };

    (void)state;
    for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++)
        for (size_t k = 0; k < sizeof n / sizeof n[0]; k++) {
            work w = { .fails_from = PARTS };

            setenv("OMP_NUM_THREADS", threads[t], 1);
            assert_int_equal(parallel_for(n[k], do_part, &w, NULL), LM_OK);
            for (size_t i = 0; i < PARTS; i++)
                assert_int_equal(w.done[i], i < n[k]);
        }
}

/* Several fail: which of them is told does not depend on who came first. */
static void the_first_failure_is_told(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
        work     w   = { .fails_from = 7 };
        lm_error err = { LM_OK, "" };

        setenv("OMP_NUM_THREADS", threads[t], 1);
        assert_int_equal(parallel_for(PARTS, do_part, &w, &err), LM_E_ARG);
        assert_string_equal(err.text, "part 7 does not work");
        assert_int_equal(parallel_for(PARTS, do_part, &w, NULL), LM_E_ARG);
    }
}

/* Parts of parts: 20 each, of which the first's fails from part 3 on. */
static void parts_have_parts(void **state)
{
    work     w   = { .inner = 20 };
    lm_error err = { LM_OK, "" };

    (void)state;
    setenv("OMP_NUM_THREADS", "4", 1);
    assert_int_equal(parallel_for(PARTS, do_parts_of_it, &w, &err), LM_E_ARG);
    assert_string_equal(err.text, "part 3 does not work");
    for (size_t i = 0; i < PARTS; i++)
        assert_int_equal(w.done[i], 20);
}

/* Two that wait for each other. */
static lm_status meet(void *context, size_t part, lm_error *err)
{
    (void)part;
    (void)err;
    pthread_barrier_wait(context);
    return LM_OK;
}

static lm_status have_them_meet(void *context, size_t part, lm_error *err)
{
    (void)part;
    return parallel_for(2, meet, context, err);
}

/* Of one part that has two, the second is done by a thread that has nothing else to do. */
static void parts_of_parts_are_done_by_who_is_free(void **state)
{
    pthread_barrier_t both;

    (void)state;
    setenv("OMP_NUM_THREADS", "2", 1);
    assert_int_equal(pthread_barrier_init(&both, NULL, 2), 0);
    assert_int_equal(parallel_for(1, have_them_meet, &both, NULL), LM_OK);
    assert_int_equal(parallel_for(3, have_them_meet, &both, NULL), LM_OK);
    pthread_barrier_destroy(&both);
}

static size_t threads_now(void)
{
    DIR   *folder = opendir("/proc/self/task");
    size_t n      = 0;

    assert_non_null(folder);
    while (readdir(folder))
        n++;
    closedir(folder);
    return n - 2; /* . and .. */
}

/* Those of BLAS would look for work: loading it ends them, and calls of ours end theirs. */
static void no_thread_is_left_that_has_nothing_to_do(void **state)
{
    work w = { .fails_from = PARTS };

    (void)state;
    assert_int_equal(threads_now(), 1);
    assert_int_equal(blas_load(NULL), LM_OK);
    assert_int_equal(threads_now(), 1);
    setenv("OMP_NUM_THREADS", "4", 1);
    assert_int_equal(parallel_for(PARTS, do_part, &w, NULL), LM_OK);
    assert_int_equal(threads_now(), 1);
}

/* 0: as it is to be. */
static int refused_with(size_t mib)
{
    lm_error      err = { LM_OK, "" };
    unsigned long pages;
    struct rlimit limit = { 0 };
    FILE         *in    = fopen("/proc/self/statm", "r");

    if (!in || fscanf(in, "%lu", &pages) != 1)
        return 2;
    fclose(in);
    limit.rlim_cur = limit.rlim_max = pages * (size_t)sysconf(_SC_PAGESIZE) + (mib << 20);
    alarm(20); /* OpenBLAS asks for ever */
    return setrlimit(RLIMIT_AS, &limit)       ? 3
           : blas_load(&err) != LM_E_IO       ? 4
           : !strstr(err.text, "(ulimit -v)") ? 5
                                              : 0;
}

static void too_little_memory_for_blas_is_told(void **state)
{
    const pid_t child = fork();
    int         how   = -1;

    (void)state;
    if (!child)
        _exit(refused_with(100));
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_little_memory_for_blas_is_told),
        cmocka_unit_test(no_thread_is_left_that_has_nothing_to_do),
        cmocka_unit_test(every_part_is_done_once),
        cmocka_unit_test(the_first_failure_is_told),
        cmocka_unit_test(parts_have_parts),
        cmocka_unit_test(parts_of_parts_are_done_by_who_is_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
