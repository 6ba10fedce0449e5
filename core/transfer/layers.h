/**
 * Prices of single layers and launches, carried over like the coefficients of networks
 * (transfer.h): each column names the figure of the device that its price scales with. Several
 * machines are averaged, near devices first, over those whose measurements tell the price.
 */
#ifndef TRANSFER_LAYERS_H
#define TRANSFER_LAYERS_H

#include "single/model.h"
#include "transfer/transfer.h"

/** Marks the resources that prices above 0 scale with; also RESOURCE_DEPTH if the model knows its
 * multiprocessors. */
void transfer_layers_want(const layer_model *m, bool wanted[N_RESOURCES]);

/**
 * Adds each class that *out lacks: the mean over the machines that have its prices. None of its
 * rows was measured on the new device: rows 0, errors NAN. Tiles of launches are those of the
 * nearest machine.
 *
 * @param launches prices of single launches; false: of single layers
 * @param out      made if it is NULL; stays NULL if no machine has any
 */
lm_status transfer_layers_pool(const transfer_source *from, size_t n, const device *to,
                               bool launches, layer_model **out, lm_error *err);

/** Index of the factor that corrects a column: a resource of forward passes, or of all other work
 * of training. */
size_t transfer_layers_factor(const column *c);

/**
 * Distance between two machines' prices: the 90 % quantile of |log| of their ratio of seconds, over
 * convolutions and products of common sizes, forward and in training. 0: no price is common to
 * both.
 */
double transfer_layers_deviation(const layer_model *own, const layer_model *other);

#endif
