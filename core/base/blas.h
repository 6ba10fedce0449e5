/** What all uses of BLAS and LAPACK have in common. */
#ifndef BASE_BLAS_H
#define BASE_BLAS_H

/**
 * To be called before LAPACK. OpenBLAS wakes a thread a core for problems as small as ours and then
 * waits for them, and the order of its sums, so the last digits, depend on how many there are;
 * other libraries lack the call and the fault.
 */
void blas_one_thread(void);

/** Ends OpenBLAS' threads until they are called for: they start with the process and look for work
 * for the first 26 ms, in which they keep other threads from a core. */
void blas_rest(void);

#endif
