/** Arguments of our own kernels: one struct by value. Read by the compiler of the program and, with
 * loops.cu, by that of the device. */
#ifndef CALIBRATE_BACKENDS_CUDA_LOOP_ARGS_H
#define CALIBRATE_BACKENDS_CUDA_LOOP_ARGS_H

enum { LOOP_MAX_POINTERS = 10 };

/** A window that moves over images: numbers of height and width. */
typedef struct loop_window {
    int images, channels, multiplier; /* of the input; channels of the output for each of these */
    int in[2], out[2], size[2], stride[2], pad[2], dilation[2];
} loop_window;

typedef struct loop_args {
    void              *at[LOOP_MAX_POINTERS];
    long long          n;        /* elements; rows */
    long long          width;    /* operands; elements of a row */
    unsigned long long position; /* of at[0] in all that is filled, in bytes; or its own number */
    long long          head, inner, chunk, slices; /* of sums: see cuda_sum */
    float              scale, kept;
    int                from[3], to[3]; /* of pools: depth, height, width */
    loop_window        window;         /* of depthwise convolutions */
} loop_args;

#endif
