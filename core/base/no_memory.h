/** The error for exhausted memory, and blocks that are freed together. */
#ifndef BASE_NO_MEMORY_H
#define BASE_NO_MEMORY_H

#include <stddef.h>
#include <stdlib.h>

#include <layermeter/error.h>

/** LM_E_NOMEM, "out of memory". `err` may be NULL. */
static inline lm_status no_memory(lm_error *err)
{
    return lm_error_set(err, LM_E_NOMEM, "out of memory");
}

static inline void free_blocks(void *const *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(all[i]);
}

/** free() of each. */
#define free_all(...) \
    free_blocks((void *[]){ __VA_ARGS__ }, sizeof(void *[]){ __VA_ARGS__ } / sizeof(void *))

#endif
