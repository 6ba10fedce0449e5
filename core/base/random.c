/* Random numbers. */
#include "base/random.h"

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

uint64_t random_below(uint64_t *state, uint64_t n)
{
    return random_next(state) % n;
}

void random_shuffle(size_t *of, size_t n, uint64_t *state)
{
    for (size_t i = n; i > 1; i--) {
        const size_t with = (size_t)random_below(state, i), last = of[i - 1];

        of[i - 1] = of[with];
        of[with]  = last;
    }
}

void random_deal(size_t *part, size_t n, size_t parts, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        part[i] = i % parts;
    random_shuffle(part, n, &seed);
}
