/* The same targets for libFuzzer: FUZZ_TARGET=network ./fuzz_libfuzzer CORPUS_FOLDER */
#include <stdio.h>
#include <stdlib.h>

#include "targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const fuzz_target *target;

    if (!target) {
        const char *name = getenv("FUZZ_TARGET");

        target = fuzz_find(name ? name : "network");
        if (!target) {
            fprintf(stderr, "FUZZ_TARGET: there is no '%s'\n", name);
            exit(2);
        }
        fuzz_open();
        atexit(fuzz_close);
    }
    target->run(data, size);
    return 0;
}
