/** The error for exhausted memory. */
#ifndef BASE_NO_MEMORY_H
#define BASE_NO_MEMORY_H

#include <layermeter/error.h>

/** LM_E_NOMEM, "out of memory". `err` may be NULL. */
static inline lm_status no_memory(lm_error *err)
{
    return lm_error_set(err, LM_E_NOMEM, "out of memory");
}

#endif
