/** What was learned from runs on several GPUs, as text. */
#ifndef CROSSGPU_CROSSGPU_FILE_H
#define CROSSGPU_CROSSGPU_FILE_H

#include "crossgpu/crossgpu.h"
#include "learn/kept.h"

#define CROSSGPU_FILE "crossgpu"

extern const kept_kind crossgpu_kept;

/** kept_save(), and kept_load(). */
lm_status crossgpu_save(const crossgpu *c, const char *path, lm_error *err);
lm_status crossgpu_load(const char *path, crossgpu **out, lm_error *err);

#endif
