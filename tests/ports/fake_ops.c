/* The families that need no library: as long as the library that is not there makes no kernels. */
#include "ops.h"

ops_prepare *ops_find(lm_op op, bool update)
{
    if (update)
        return op == LM_OP_MAP ? ops_update : NULL;
    switch (op) {
    case LM_OP_MAP: return ops_map;
    case LM_OP_GATHER: return ops_gather;
    case LM_OP_COPY: return ops_copy;
    default: return NULL;
    }
}
