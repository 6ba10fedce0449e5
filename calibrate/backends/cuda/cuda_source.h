/** loops.cu as text (CMake makes cuda_source.c from it), and compiled for a device. */
#ifndef CALIBRATE_BACKENDS_CUDA_SOURCE_H
#define CALIBRATE_BACKENDS_CUDA_SOURCE_H

#include <layermeter/error.h>

extern const char cuda_source_loops[], cuda_source_loops_body[], cuda_source_loop_args[];
extern const char cuda_source_loops_pool[], cuda_source_loops_depthwise[];

/** Compiles loops.cu; needs no device. *out is malloc'ed, for cuModuleLoadData(). */
lm_status cuda_source_compile(int major, int minor, char **out, lm_error *err);

#endif
