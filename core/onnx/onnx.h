/** Import of ONNX files. */
#ifndef ONNX_ONNX_H
#define ONNX_ONNX_H

#include "layers/registry.h"
#include "network/network.h"

/**
 * Imports an ONNX file. It never reads weights, inside or outside the file.
 *
 * @param choices NULL: none
 * @return LM_E_IO, LM_E_SYNTAX (no ONNX file, or a broken one), LM_E_UNSUPPORTED (operators without
 * a layer type: the text names all; or a build without ONNX), LM_E_SHAPE, LM_E_NOMEM
 */
lm_status onnx_load(const char *path, const registry *reg, const network_choices *choices,
                    network **out, lm_error *err);

#endif
