/* Gradient buckets: which tensors are all-reduced together. */
#include "program/buckets.h"

#include <stdbool.h>

#include "program/policy.h"

uint64_t buckets_first_limit(uint64_t limit)
{
    return limit < SYNC_DDP_FIRST_BYTES ? limit : SYNC_DDP_FIRST_BYTES;
}

size_t buckets_make(const bucket_tensor *tensor, size_t n, uint64_t first_limit, uint64_t limit,
                    bucket_span *out)
{
    size_t   made = 0; /* closed buckets; out[made] is open if `open` */
    bool     open = false;
    lm_dtype type = 0;

    for (size_t i = 0; i < n; i++) {
        if (open && tensor[i].dtype != type) {
            made++;
            open = false;
        }
        if (!open)
            out[made] = (bucket_span){ .first = i };
        out[made].last  = i;
        out[made].bytes = lm_add(out[made].bytes, tensor[i].bytes);
        type            = tensor[i].dtype;
        open            = out[made].bytes < (made ? limit : first_limit);
        made += !open;
    }
    return made + open;
}
