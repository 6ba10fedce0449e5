/* What all uses of BLAS and LAPACK have in common. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "base/blas.h"

#include <dlfcn.h>
#include <string.h>
#include <threads.h>

static void set_one_thread(void)
{
    void (*set)(int);
    void *symbol = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");

    memcpy(&set, &symbol, sizeof set); /* ISO C has no cast from object to function pointer */
    if (symbol)
        set(1);
}

void blas_one_thread(void)
{
    static once_flag once = ONCE_FLAG_INIT;

    call_once(&once, set_one_thread);
}
