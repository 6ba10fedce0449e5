/** Linear layers that ranks can share, found in imported networks. */
#ifndef ONNX_PAIRS_H
#define ONNX_PAIRS_H

#include "network/network.h"

/**
 * Marks pairs of linear layers with nothing but elementwise functions between: `split = columns` and
 * `split = rows` (Shoeybi et al. 2019, arXiv:1909.08053, section 3), with a gate too, whose two factors are
 * columns. Only what nothing else reads is marked; a layer that has a mark, or shares parameters, stays as
 * it is. LM_E_NOMEM.
 */
lm_status pairs_mark(network *net, lm_error *err);

#endif
