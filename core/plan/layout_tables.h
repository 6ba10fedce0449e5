/** Prices for a search of layouts (layouts.h), from a predictor with its network and machine. */
#ifndef PLAN_LAYOUT_TABLES_H
#define PLAN_LAYOUT_TABLES_H

#include "models/step_model.h"
#include "plan/layouts.h"

typedef struct layout_tables layout_tables;

/**
 * @param who   must outlive the result, as must `net` and `reg`
 * @param setup devices per node, optimizer
 * @return LM_E_UNSUPPORTED for models without a machine file, and for models that predict only
 *         whole steps; errors of binding the network
 */
lm_status layout_tables_new(const predictor *who, const network *net, const registry *reg,
                            const step_setup *setup, layout_tables **out, lm_error *err);
void      layout_tables_free(layout_tables *t);

/** Functions on `t`; `t` must outlive them. */
layout_prices layout_tables_prices(layout_tables *t);

/**
 * Fills in the members of a question that follow from network and machine: facts, splits,
 * gradients, states, bounds of messages.
 */
void layout_tables_ask(const layout_tables *t, int64_t ranks, layout_question *q);

/** The error that explains why messages between this number of nodes have no price. */
lm_status layout_tables_unknown(const layout_tables *t, int64_t nodes, lm_error *err);

#endif
