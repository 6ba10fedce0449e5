/** How a backend runs things, where that is a choice: part of what a point is. */
#ifndef CALIBRATE_SETTINGS_H
#define CALIBRATE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

typedef enum {
    SETTING_ALGORITHMS, /**< heuristic (default) | autotuned: how a kernel's implementation is
                           chosen */
    SETTING_CACHE,  /**< warm (default) | cold: single kernels find the last-level cache emptied */
    SETTING_LAUNCH, /**< stream (default) | graph: kernels launched one by one, or replayed */
    SETTING_LAYOUT, /**< nchw (default) | nhwc: of images */
    SETTING_MATH,   /**< ieee (default) | tf32: products of f32 */
    SETTING_MIXED, /**< none (default) | bf16 | f16 | f8: what is f32 under autocast (autocast.h) */
    SETTING_PROGRESS, /**< poll (default) | thread: who moves all-reduces on while a backward pass
                         runs: the computing thread between kernels, or one beside it */
    N_SETTINGS
} setting;

enum { SETTING_WORDS = 4 };

/** 0 is the default of each, others as setting_parse() finds them. */
typedef struct settings {
    uint8_t value[N_SETTINGS];
} settings;

const char *setting_name(setting s);
/** LM_E_ARG for a word it does not have. */
lm_status setting_parse(setting s, const char *word, uint8_t *out, lm_error *err);

/** "algorithms=heuristic layout=nchw": those in `mask` (bit 1 << setting), as the
 * column `settings` has them; `mixed` only where it is not the default. */
void settings_print(const settings *s, uint32_t mask, char *buffer, size_t size);

#endif
