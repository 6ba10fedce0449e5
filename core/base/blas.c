/* What all uses of BLAS and LAPACK have in common. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "base/blas.h"

#include <dlfcn.h>
#include <threads.h>

#include "base/symbol.h"

void blas_rest(void)
{
    int (*end)(void);

    if (symbol_find(RTLD_DEFAULT, "blas_thread_shutdown_", &end)) /* as OpenBLAS does at a fork */
        end();
}

static void set_one_thread(void)
{
    void (*set)(int);

    if (symbol_find(RTLD_DEFAULT, "openblas_set_num_threads", &set)) {
        set(1);
        blas_rest(); /* they had been called for */
    }
}

void blas_one_thread(void)
{
    static once_flag once = ONCE_FLAG_INIT;

    call_once(&once, set_one_thread);
}
