/**
 * BLAS and LAPACK, loaded when they are first needed.
 *
 * Loading them takes longer than most commands. Their functions are called by name through `blas`,
 * as blas.cblas_dgemv(...), after blas_load().
 */
#ifndef BASE_BLAS_H
#define BASE_BLAS_H

#include <cblas.h>
#include <lapacke.h>

#include <layermeter/error.h>

#define BLAS_FUNCTIONS(DO)  \
    DO(cblas_dgemv)         \
    DO(cblas_dsyrk)         \
    DO(cblas_sgemm)         \
    DO(LAPACKE_dgelsd)      \
    DO(LAPACKE_dgelss_work) \
    DO(LAPACKE_dgeqrf)      \
    DO(LAPACKE_dposv_work)  \
    DO(LAPACKE_dpotrf)      \
    DO(LAPACKE_dpotri)      \
    DO(LAPACKE_dpotrf_work) \
    DO(LAPACKE_dpotri_work)

#define BLAS_POINTER(name) __typeof__(&name) name;

/** Pointers to the functions in use; NULL before blas_load(). */
extern struct blas_functions {
    BLAS_FUNCTIONS(BLAS_POINTER)
} blas;

/**
 * Loads the libraries, once. Safe for threads.
 *
 * OpenBLAS then runs in the calling thread only. Our problems are small: starting a thread on each
 * core costs more than it saves. The order of sums, and so their last digits, would depend on the
 * number of threads.
 *
 * @return LM_E_IO if a library cannot be loaded, with the loader's message
 */
lm_status blas_load(lm_error *err);

#endif
