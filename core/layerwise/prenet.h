/** PreNeT's features of a layer: what its models take in place of exact counts. */
#ifndef LAYERWISE_PRENET_H
#define LAYERWISE_PRENET_H

#include <stdbool.h>

#include "network/bind.h"

/*
 * Pourali, Boukani, Khazaei, "PreNeT: Leveraging Computational Features to Predict Deep Neural
 * Network Training Time", ICPE 2025, arXiv:2412.15519: operations (CO, equations 2 to 8), time
 * CT = CO / speed (9), memory (10 to 12). The formulas are those of its published code,
 * github.com/pacslab/PreNeT, predict/features.py, commit 09531b369f2941441bf5406fe6822b0114d63456,
 * which knows six kinds of layers. They are regressors, not counts; `layermeter show` has those.
 *
 * Operations, and how they differ from the true number (b batch, L length of the sequence):
 *
 *  - conv       b e^2 k^2 C D, with e = m / s for padding 'same', (m - (k - 1)) / s for 'valid':
 *               multiply-accumulates, half as many as FLOPs; e is not rounded; no bias
 *  - dense      2 b I O: no bias
 *  - rnn        b L (2 (I H + H^2) + H): no activation
 *  - gru        b L (3 (2 (I H + H^2) + H) + 2 H): 2 H instead of the arithmetic of the gates
 *  - lstm       b L (4 (2 (I H + H^2) + H) + 2 H): the same
 *  - the three  twice that in both directions, three times in training; the number of layers on top
 *               of each other does not enter
 *  - attention  h (b L E^2 + 2 b L^2 E + b L^2 + b L^2 E + b L E^2): one of the three projections
 *               going in; multiply-accumulates, but those of Q K^T twice; all of it times the
 * number of heads, though the heads share E
 *  - embedding  b L E: elements that move, there is no arithmetic forward
 *  - layernorm  none: the code takes shapes alone
 *
 * All but the recurrent ones are of the forward pass, in training as well. Memory is in elements,
 * not bytes: inputs, outputs and weights; of attention three projections, one matrix of scores
 * whatever the number of heads, and the output, but no weights. In training all of it is doubled;
 * of recurrent layers only the weights are; of attention it is tripled.
 *
 * Where the published formulas say nothing, these go on with them:
 *
 *  - images that are not square, or of one or three dimensions, by their volumes; matsize,
 *    kernelsize and strides are the square roots of these
 *  - padding p and dilation d by (m + 2 p - d (k - 1)) / s
 *  - groups by the channels that one filter sees
 *  - keys of another number than the queries by L_q L_k in place of L^2
 *  - leading dimensions of dense layers as batch; those of embeddings and layer norms behind the
 *    batch as sequence
 */
typedef enum prenet_kind {
    PRENET_NONE, /**< PreNeT has no model for it */
    PRENET_CONV,
    PRENET_DENSE,
    PRENET_RNN,
    PRENET_ATTENTION,
    PRENET_EMBEDDING,
    PRENET_LAYERNORM
} prenet_kind;

/** Named as in the published code; what it has as words (type of cell, padding) are numbers here.
 */
typedef enum prenet_feature {
    PRENET_BATCHSIZE,
    PRENET_MATSIZE,
    PRENET_KERNELSIZE,
    PRENET_CHANNELS_IN,
    PRENET_CHANNELS_OUT,
    PRENET_STRIDES,
    PRENET_PADDING_SAME, /**< 1 same, 0 valid, NAN neither */
    PRENET_USE_BIAS,
    PRENET_DIM_INPUT,
    PRENET_DIM_OUTPUT,
    PRENET_SEQ_LEN,
    PRENET_DIM_HIDDEN,
    PRENET_NUM_LAYERS,
    PRENET_IS_BIDIRECTIONAL,
    PRENET_GATES, /**< of `rnn_type`: 1 RNN, 3 GRU, 4 LSTM */
    PRENET_EMBED_DIM,
    PRENET_NUM_HEADS,
    PRENET_VOCAB_SIZE,
    PRENET_PRECISION, /**< bits of an element */
    PRENET_FLOPS,     /**< CO */
    PRENET_MEMORY_WEIGHTS,
    PRENET_MEMORY_IN,
    PRENET_MEMORY_OUT,
    PRENET_MEMORY_PROJECTION,
    PRENET_MEMORY_ATTENTION,
    PRENET_MEMORY_EMBEDDINGS,
    PRENET_MEMORY_TOTAL,
    N_PRENET_FEATURES
} prenet_feature;

typedef struct prenet_features {
    prenet_kind kind;
    double      value[N_PRENET_FEATURES]; /**< NAN: not a feature of this kind */
} prenet_features;

const char *prenet_kind_name(prenet_kind kind);
const char *prenet_feature_name(prenet_feature f);

/** Pure. `training`: with an optimiser, in the terms of the published code. */
prenet_features prenet_of_layer(const bound_layer *layer, bool training);

/** The same of a convolution whose input was padded by a layer of its own: padding 'same' where
 * there are ceil(m / s) outputs on each axis, be it the same on both sides or not. */
prenet_features prenet_of_padded(const bound_layer *pad, const bound_layer *layer, bool training);

/** The same of attention that stands in a network as several layers: the product of queries, keys and
 * values, and the first linear layer that makes them, whose input is as wide as E. */
prenet_features prenet_of_attention(const bound_layer *product, const bound_layer *in,
                                    bool training);

/** CT: operations over the speed of a device in GFLOP/s, as the published code has it (so not in
 * seconds, but 1e-9 of them). */
double prenet_time(const prenet_features *f, double gflop_per_second);

#endif
