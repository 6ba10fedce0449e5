/**
 * Prices of single layers and launches, carried over like the coefficients of networks (transfer.h): each column
 * says what of a device its price falls with. Of several machines the mean of those whose
 * measurements tell the price, near devices first.
 */
#ifndef TRANSFER_LAYERS_H
#define TRANSFER_LAYERS_H

#include "single/model.h"
#include "transfer/transfer.h"

/** Marks what prices above 0 fall with, and of those that know waves over multiprocessors those. */
void transfer_layers_want(const layer_model *m, bool wanted[N_RESOURCES]);

/**
 * The mean of those machines that have prices, of each class that *out lacks. None of its rows was
 * measured on the new device: rows 0, errors NAN. Tiles of launches are those of the nearest.
 *
 * @param launches of single launches; else of single layers
 * @param out      made where it is NULL; stays NULL if no machine has any
 */
lm_status transfer_layers_pool(const transfer_source *from, size_t n, const device *to,
                               bool launches, layer_model **out, lm_error *err);

/** Index of the factor that corrects a column: a resource of forward passes, or of all other work
 * of training. */
size_t transfer_layers_factor(const column *c);

/**
 * How far apart two machines' prices are: of a spread of convolutions and products of common sizes,
 * forward and in training, the 90 % quantile of |log| of one's seconds over the other's. 0: there
 * are none that both price.
 */
double transfer_layers_deviation(const layer_model *own, const layer_model *other);

#endif
