/** Pairs of linear layers that ranks can share, found in imported networks. */
#ifndef ONNX_PAIRS_H
#define ONNX_PAIRS_H

#include "network/network.h"

/**
 * Marks two linear layers with only elementwise functions between them: `split = columns` and
 * `split = rows` (Shoeybi et al. 2019, arXiv:1909.08053, section 3). Both factors of a gate are
 * columns. The outputs between them must have no other reader. Layers with a mark, or with shared
 * parameters, stay unchanged. LM_E_NOMEM.
 */
lm_status pairs_mark(network *net, lm_error *err);

#endif
