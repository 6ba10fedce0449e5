/* Functions that backends run for maps. */
#include "measure/map_function.h"

enum { LINEAR = 2, SWISH = 5, SWISH_BACK = 9 }; /* most FLOPs of each */

/* 0: linear, 1: swish, 2: gelu */
static int cost_of(const lm_kernel *k)
{
    const int64_t flops = k->u.map.flops_per_element;

    return flops <= LINEAR ? 0 : flops <= (k->u.map.operands == 2 ? SWISH_BACK : SWISH) ? 1 : 2;
}

map_function map_function_of(const lm_kernel *k)
{
    static const map_function one[] = { MAP_RELU, MAP_SWISH, MAP_GELU };
    static const map_function two[] = { MAP_RELU_BACK, MAP_SWISH_BACK, MAP_GELU_BACK };

    if (k->u.map.operands == 1)
        return one[cost_of(k)];
    if (k->u.map.operands == 2)
        return k->pass == LM_FORWARD ? MAP_SUM : two[cost_of(k)];
    return MAP_MANY;
}

int64_t map_function_flops(const lm_kernel *k)
{
    static const int64_t flops[] = { LINEAR, SWISH, SWISH_BACK + 1 };

    return map_function_of(k) >= MAP_SUM ? 1 : flops[cost_of(k)];
}
