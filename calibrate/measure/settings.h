/** Choices of how a backend runs a case: part of the identity of a point. */
#ifndef CALIBRATE_SETTINGS_H
#define CALIBRATE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>
#include <layermeter/kernel.h>

typedef enum {
    /** heuristic (default) | autotuned: how a kernel's implementation is chosen */
    SETTING_ALGORITHMS,
    /** warm (default) | cold. cudnn: the last-level cache is emptied before each single kernel.
     * onednn: of a single layer or kernel each run uses other memory than the runs before, and
     * caches hold only its input: their state in a network */
    SETTING_CACHE,
    SETTING_LAUNCH, /**< stream (default) | graph: kernels launched one by one, or replayed */
    SETTING_LAYOUT, /**< nchw (default) | nhwc: memory layout of images */
    SETTING_MATH, /**< ieee (default) | tf32 | torch: products of f32. torch: PyTorch's default, tf32
                       * in convolutions alone (torch.backends, allow_tf32) */
    SETTING_MIXED,    /**< none (default) | bf16 | f16 | f8: f32 under autocast (autocast.h) */
    SETTING_PROGRESS, /**< poll (default) | thread: progress of all-reduces during a backward pass:
                       * by the computing thread between kernels, or by another one */
    SETTING_UPDATE,   /**< own (default): an optimizer goes once over each tensor | single: in the
                     * passes of torch.optim | foreach: in these over all tensors at once | fused:
                     * once over all tensors */
    N_SETTINGS
} setting;

enum { SETTING_WORDS = 4 };

/** 0 is the default of each; other values as setting_parse() returns them. */
typedef struct settings {
    uint8_t value[N_SETTINGS];
} settings;

/** Are products of f32 in kernels of this operation computed as tf32? */
bool settings_tf32(const settings *how, lm_op op);

const char *setting_name(setting s);
/** LM_E_ARG for an unknown word. */
lm_status setting_parse(setting s, const char *word, uint8_t *out, lm_error *err);

/**
 * Prints those in `mask` (bits 1 << setting) in the form of the column `settings`:
 * "algorithms=heuristic layout=nchw"; `mixed` and `update` only if they are not the default.
 */
void settings_print(const settings *s, uint32_t mask, char *buffer, size_t size);

#endif
