/** Expansion of nodes: calls of the file's functions, and loops, are replaced by the nodes
 * inside. */
#ifndef ONNX_EXPAND_H
#define ONNX_EXPAND_H

#include "network/network.h"
#include "onnx/model.h"

/**
 * Replaces calls of functions by the functions' nodes, recursively. Functions that a choice treats
 * as a layer type, or ignores, stay.
 *
 * @return LM_E_SYNTAX: a function that calls itself; LM_E_UNSUPPORTED: too many nodes
 */
lm_status onnx_expand_calls(onnx_model *model, const network_choices *choices, lm_error *err);

/**
 * Replaces a Loop by `steps` copies of its body. Its condition must not depend on data.
 *
 * @return LM_E_UNSUPPORTED: the condition may depend on data, or there are too many nodes
 */
lm_status onnx_expand_loop(onnx_model *model, size_t node, int64_t steps, lm_error *err);

#endif
