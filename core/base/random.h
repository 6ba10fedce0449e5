/** Pseudo-random numbers: the seed determines them, the same on all machines. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/** The next output of splitmix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number
 * generators"), whose state begins as the seed. */
uint64_t random_next(uint64_t *state);

/** A number below n >= 1: the next output modulo n. */
uint64_t random_below(uint64_t *state, uint64_t n);

/** Shuffles n numbers (Fisher & Yates; Durstenfeld 1964). */
void random_shuffle(size_t *of, size_t n, uint64_t *state);

/** Deals n things at random into parts of equal size: the numbers 0 to n - 1 modulo `parts`,
 * shuffled. */
void random_deal(size_t *part, size_t n, size_t parts, uint64_t seed);

#endif
