/** The layout of an observation. */
#ifndef PROGRAM_ROW_LAYOUT_H
#define PROGRAM_ROW_LAYOUT_H

#include "observe/observation.h"
#include "program/layout.h"

/**
 * Reads the layout of a row. The column `batch` is its micro-batch, which the words may repeat.
 *
 * @return LM_E_SYNTAX for wrong words; LM_E_ARG, with the two numbers, if words and columns differ
 */
lm_status row_layout(const observation *r, layout *out, lm_error *err);

/** Has each rank a replica of the network? True also for words that row_layout() refuses. */
bool row_of_replicas(const observation *r);

/**
 * Sets `accumulation` of the rows with a layout of replicas.
 *
 * @return LM_E_SYNTAX, LM_E_ARG for the first row that contradicts itself; the text has file and line
 */
lm_status rows_settle_replicas(observations *obs, lm_error *err);

#endif
