/* A build without nanopb reads no ONNX files. */
#include "onnx/onnx.h"

lm_status onnx_load(const char *path, const registry *reg, const network_choices *choices,
                    network **out, lm_error *err)
{
    (void)reg;
    (void)choices;
    (void)out;
    return lm_error_set(err, LM_E_UNSUPPORTED,
                        "%s: this build reads no ONNX files: build it with nanopb and protoc "
                        "(Debian: nanopb libnanopb-dev protobuf-compiler)",
                        path);
}
