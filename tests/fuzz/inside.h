/** What targets have in common, and the targets. */
#ifndef FUZZ_INSIDE_H
#define FUZZ_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fit/calibration.h"
#include "layers/registry.h"

/** Layer types, all of them: fuzz_open(). */
extern registry *fuzz_types;

#define check(condition)                            \
    do {                                            \
        if (!(condition))                           \
            broken(#condition, __FILE__, __LINE__); \
    } while (0)

/** Says what does not hold, and aborts. */
void broken(const char *condition, const char *file, int line);

/** A refusal has a code and says why, in one line. */
void check_refusal(lm_status status, const lm_error *err);

/** To be freed. */
char *as_text(const uint8_t *data, size_t size);

/** A file in memory, under a path that can be opened as often as needed; `fd` is to be closed. */
typedef struct memory_file {
    int  fd;
    char path[40];
} memory_file;

memory_file file_of(const uint8_t *data, size_t size);

/** What is written of a calibration is read back. */
void check_saved(const calibration *cal);

typedef bool fuzz_run(const uint8_t *data, size_t size);

/* texts.c */
fuzz_run fuzz_text, fuzz_geometry, fuzz_ini, fuzz_csv, fuzz_layout;
/* options.c */
fuzz_run fuzz_options;
/* networks.c */
fuzz_run fuzz_network, fuzz_paleo, fuzz_config, fuzz_onnx;
/* logs.c */
fuzz_run fuzz_logs, fuzz_extrap, fuzz_kineto, fuzz_nsys, fuzz_tensorboard, fuzz_wandb, fuzz_trace,
    fuzz_power_log, fuzz_watch_plan;
/* machines.c */
fuzz_run fuzz_machine, fuzz_devices, fuzz_prices;
/* observations.c */
fuzz_run fuzz_observations, fuzz_stream;
/* learned.c */
fuzz_run fuzz_layer_watts, fuzz_residual, fuzz_kernels, fuzz_learner, fuzz_layerwise, fuzz_runs,
    fuzz_crossgpu;
/* sweep.c */
#ifdef FUZZ_SWEEP
fuzz_run fuzz_sweep, fuzz_resume;
#endif

#endif
