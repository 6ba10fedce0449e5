/**
 * Justus' model: perceptrons on the keys of single layers.
 *
 * D. Justus, J. Brennan, S. Bonner, A. S. McGough, "Predicting the Computational Cost of Deep
 * Learning Models", IEEE Big Data 2018, arXiv:1811.11880. Features are the keys of a convolution or
 * a fully connected layer as they are (no count is derived of them), its activation and optimizer
 * one-hot (no optimizer: the forward pass alone), and of models of several GPUs bandwidth, cores
 * and clock. Four or six hidden layers of 32, 64, 128, 128 ... units, relu, dropout behind the
 * last, the loss the mean square of log(1 + milliseconds), Adam at a rate that is halved every so
 * many epochs, L2. What it says of a network is the sum over its layers of these two types.
 *
 * Where the paper says nothing: sizes that are no squares are square roots of their volumes, a
 * convolution is `same` where any pixel is padded, and grouped, dilated and transposed ones are
 * none of its layers; backward passes and updates by themselves are tasks of their own.
 */
#ifndef BASELINES_JUSTUS_H
#define BASELINES_JUSTUS_H

#include "baselines/layerwise.h"

extern const layerwise_kind layerwise_justus;

#endif
