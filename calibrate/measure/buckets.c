/* Gradient buckets: which tensors are all-reduced together. */
#include "measure/buckets.h"

static uint64_t limit_of(size_t bucket, uint64_t limit)
{
    return bucket == 0 && limit > BUCKETS_FIRST_BYTES ? BUCKETS_FIRST_BYTES : limit;
}

size_t buckets_make(const gradient_bucket *gradient, size_t n, uint64_t limit, gradient_bucket *out)
{
    size_t made = 0; /* those that are closed; out[made] is open if `open` */
    bool   open = false;

    for (size_t i = 0; i < n; i++) {
        const gradient_bucket *g = &gradient[i];

        if (open && g->dtype != out[made].dtype) {
            made++;
            open = false;
        }
        if (open) {
            out[made].bytes = lm_add(out[made].bytes, g->bytes);
            out[made].needs = g->needs;
        } else {
            out[made] = *g;
            open      = true;
        }
        if (out[made].bytes >= limit_of(made, limit)) {
            made++;
            open = false;
        }
    }
    return made + open;
}
