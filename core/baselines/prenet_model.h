/**
 * PreNeT's model: for each type of layer the best of several learners, on the keys of the layer and
 * the operations, memory and time that prenet.h derives of them.
 *
 * Pourali, Boukani, Khazaei, "PreNeT: Leveraging Computational Features to Predict Deep Neural
 * Network Training Time", ICPE 2025, arXiv:2412.15519. Six types: conv, dense, rnn (RNN, GRU and
 * LSTM, by a flag), attention, embedding, layernorm. As published, a forward pass by itself and a
 * whole step by an optimizer are one task, told apart by the flags of optimizers; backward passes
 * and updates by themselves, which it has not, are tasks of their own. Features of devices, in use
 * where several are learned from: clock, memory, bandwidth, cores, peak in 32 bits, and CT, the
 * operations over that peak. Its code has the base clock, the memory's type, clock and bus, and
 * cores of other kinds besides, which are in no datasheet here. Learners: layerwise_best.h. It
 * chooses by the root mean square of milliseconds on rows at random; here it is the mean relative
 * error on shapes that were left out, and logarithms may be learned.
 */
#ifndef BASELINES_PRENET_MODEL_H
#define BASELINES_PRENET_MODEL_H

#include "baselines/layerwise.h"

extern const layerwise_kind layerwise_prenet;

#endif
