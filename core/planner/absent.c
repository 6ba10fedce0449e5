/* Stubs of functions that a browser lacks: BLAS and LAPACK, threads, other programs. Predictions
 * need none of them. */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>

#include "base/blas.h"
#include "base/parallel.h"

struct blas_functions blas;

lm_status blas_load(lm_error *err)
{
    return lm_error_set(err, LM_E_UNSUPPORTED,
                        "a page cannot fit, because it has no LAPACK: use the program layermeter");
}

lm_status parallel_for(size_t n, parallel_part part, void *context, lm_error *err)
{
    lm_status first = LM_OK;

    for (size_t i = 0; i < n; i++) {
        lm_error        here   = { LM_OK, "" };
        const lm_status status = part(context, i, &here);

        if (status && !first) {
            first = status;
            if (err)
                *err = here;
        }
    }
    return first;
}

/* Elsewhere it starts gnuplot. */
int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const *words, char *const *environment)
{
    (void)pid;
    (void)file;
    (void)actions;
    (void)attributes;
    (void)words;
    (void)environment;
    return ENOSYS;
}
