/** Converts sections to layers: unfolds blocks, resolves inputs, refuses cycles. */
#ifndef NETWORK_EXPAND_H
#define NETWORK_EXPAND_H

#include "network/block.h"
#include "network/network.h"

/**
 * Fills net->layer from the sections of `doc`. The network's arena owns the result.
 *
 * `[block NAME]` holds a template's arguments, `[NAME/layer]` its layers; `$argument` and
 * `${expression}` are replaced. A section with `block = NAME` unfolds that template. A section name
 * that ends in A..B stands for a chain of B-A+1 sections; $index is the number of each. `when = no`
 * drops a section. Inputs default to the previous layer in the same scope.
 *
 * @param arguments of the file; every scope may use them
 * @param output the file's `[network] output`, at `output_line`; NULL: the last layer
 * @return LM_E_SYNTAX, LM_E_NOTFOUND, LM_E_NOMEM; the text begins with file:line
 */
lm_status expand_layers(const ini_document *doc, const environment *arguments, const char *output,
                        int output_line, network *net, lm_error *err);

#endif
