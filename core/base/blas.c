/* Loads BLAS and LAPACK. */
#include "base/blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <threads.h>

#include "base/symbol.h"

struct blas_functions blas;

static char lacks[240]; /* why they are not there; "": both were found */

static bool find(void *lapacke, void *cblas, const char *name, void *function)
{
    return symbol_find(lapacke, name, function) || symbol_find(cblas, name, function);
}

/* OpenBLAS threads spin for their first 26 ms and keep other threads off a core. They end here, in
 * the way that OpenBLAS ends them before a fork. Other libraries lack these functions, and the
 * spinning. */
static void take_one_thread(void *lapacke, void *cblas)
{
    void (*set)(int);
    int (*end)(void);

    if (find(lapacke, cblas, "openblas_set_num_threads", &set))
        set(1);
    if (find(lapacke, cblas, "blas_thread_shutdown_", &end))
        end();
}

/* OpenBLAS asks without end for 128 MiB as soon as it is loaded. The libraries take another 50, and
 * a thread that starts meanwhile up to 128 (glibc's arenas). */
#define ROOM_MIB 320

static bool has_room(void)
{
    const size_t bytes = (size_t)ROOM_MIB << 20;
    void        *room  = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return room != MAP_FAILED && !munmap(room, bytes);
}

static void load(void)
{
    if (!has_room()) {
        snprintf(lacks, sizeof lacks, "the process may not have %d MiB more (ulimit -v)", ROOM_MIB);
        return;
    }

    void *lapacke = dlopen(LAYERMETER_LAPACKE, RTLD_LAZY | RTLD_LOCAL);
    void *cblas   = lapacke ? dlopen(LAYERMETER_BLAS, RTLD_LAZY | RTLD_LOCAL) : NULL;

#define FIND(name) &&find(lapacke, cblas, #name, &blas.name)
    if (!(cblas BLAS_FUNCTIONS(FIND)))
        snprintf(lacks, sizeof lacks, "%.150s (Debian: libopenblas0-pthread liblapacke)",
                 dlerror());
    else
        take_one_thread(lapacke, cblas);
}

lm_status blas_load(lm_error *err)
{
    static once_flag once = ONCE_FLAG_INIT;

    call_once(&once, load);
    return *lacks ? lm_error_set(err, LM_E_IO, "BLAS and LAPACK cannot be loaded: %s", lacks)
                  : LM_OK;
}
