/* A build without jansson reads no JSON files. */
#include "formats/paleo/paleo.h"

lm_status paleo_load(const char *path, const registry *reg, const network_choices *choices,
                     network **out, lm_error *err)
{
    (void)reg;
    (void)choices;
    (void)out;
    return lm_error_set(err, LM_E_UNSUPPORTED,
                        "%s: this build reads no JSON files: build it with jansson (Debian: "
                        "libjansson-dev)",
                        path);
}
