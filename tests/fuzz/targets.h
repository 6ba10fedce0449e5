/** Parsers as fuzz targets: bytes in; anything but a clean refusal or a sound result aborts. */
#ifndef FUZZ_TARGETS_H
#define FUZZ_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_target {
    const char *name;
    bool (*run)(const uint8_t *data, size_t size); /**< accepted? */
} fuzz_target;

/** Ends with a NULL name. */
extern const fuzz_target fuzz_targets[];

/** NULL if there is none of that name. */
const fuzz_target *fuzz_find(const char *name);

/** Loads the layer types; exits with 2 and a message if it cannot. */
void fuzz_open(void);
void fuzz_close(void);

#endif
