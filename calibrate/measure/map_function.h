/** Functions that backends run for maps. */
#ifndef CALIBRATE_MAP_FUNCTION_H
#define CALIBRATE_MAP_FUNCTION_H

#include <layermeter/kernel.h>

typedef enum map_function {
    MAP_RELU,      /**< of one operand */
    MAP_SWISH,     /**< x / (1 + exp(-x)) */
    MAP_GELU,      /**< of the error function */
    MAP_RELU_BACK, /**< a gradient and the function's input */
    MAP_SWISH_BACK,
    MAP_GELU_BACK,
    MAP_SUM, /**< of two operands, forward */
    MAP_MANY /**< of none, or three and more: their sum over the root of their number */
} map_function;

/** The function of a map. A kernel states the amount of its arithmetic only: it is the nearest of
 * three by cost. */
map_function map_function_of(const lm_kernel *k);

/** A number of FLOPs per element that stands for all that have the same function. */
int64_t map_function_flops(const lm_kernel *k);

#endif
