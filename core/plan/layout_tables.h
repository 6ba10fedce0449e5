/** What a search for layouts asks (layouts.h), told by a predictor: its network, its machine. */
#ifndef PLAN_LAYOUT_TABLES_H
#define PLAN_LAYOUT_TABLES_H

#include "models/step_model.h"
#include "plan/layouts.h"

typedef struct layout_tables layout_tables;

/**
 * @param who   and `net`, `reg` must outlive it
 * @param setup devices of a node, optimizer
 * @return LM_E_UNSUPPORTED for models that take no machine file, or tell whole steps alone; what
 *         binding the network returns
 */
lm_status layout_tables_new(const predictor *who, const network *net, const registry *reg,
                            const step_setup *setup, layout_tables **out, lm_error *err);
void      layout_tables_free(layout_tables *t);

/** Functions on `t`, which must outlive what they are given to. */
layout_prices layout_tables_prices(layout_tables *t);

/** Fills what follows from network and machine: facts, splits, gradients, states, bounds of
 * messages. */
void layout_tables_ask(const layout_tables *t, int64_t ranks, layout_question *q);

/** Why messages between so many nodes have no price. */
lm_status layout_tables_unknown(const layout_tables *t, int64_t nodes, lm_error *err);

#endif
