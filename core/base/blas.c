/* What all uses of BLAS and LAPACK have in common. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "base/blas.h"

#include <dlfcn.h>
#include <string.h>

void blas_one_thread(void)
{
    void (*set)(int);
    void *symbol = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");

    memcpy(&set, &symbol, sizeof set); /* ISO C has no cast from object to function pointer */
    if (symbol)
        set(1);
}
