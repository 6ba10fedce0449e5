/** Nodes that stand for others, replaced by them: calls of the file's functions, and loops. */
#ifndef ONNX_EXPAND_H
#define ONNX_EXPAND_H

#include "network/network.h"
#include "onnx/model.h"

/**
 * Replaces calls of functions by their nodes, and these again. Functions that a choice treats as a
 * layer type, or ignores, stay.
 *
 * @return LM_E_SYNTAX: a function that calls itself; LM_E_UNSUPPORTED: too many nodes
 */
lm_status onnx_expand_calls(onnx_model *model, const network_choices *choices, lm_error *err);

/**
 * Replaces a Loop by so many steps. Whether it goes on must not depend on data.
 *
 * @return LM_E_UNSUPPORTED: it may, or there are too many nodes
 */
lm_status onnx_expand_loop(onnx_model *model, size_t node, int64_t steps, lm_error *err);

#endif
