/** loops.cu as text (CMake makes cuda_source.c of it), and as a program for a device. */
#ifndef CALIBRATE_BACKENDS_CUDA_SOURCE_H
#define CALIBRATE_BACKENDS_CUDA_SOURCE_H

#include <layermeter/error.h>

extern const char cuda_source_loops[], cuda_source_loops_body[], cuda_source_loop_args[];

/** Needs no device. *out is malloc'ed: what cuModuleLoadData() takes. */
lm_status cuda_source_compile(int major, int minor, char **out, lm_error *err);

#endif
