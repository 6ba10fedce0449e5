/** layermeter fit --residual. */
#ifndef CLI_FIT_RESIDUAL_H
#define CLI_FIT_RESIDUAL_H

#include "fit/calibration.h"
#include "observe/points.h"
#include "report/table.h"

typedef enum residual_choice { RESIDUAL_OFF, RESIDUAL_ON, RESIDUAL_AUTO } residual_choice;

/** on, off or auto. */
lm_status residual_choice_parse(const char *text, residual_choice *out, lm_error *err);

/**
 * Learns what prices of single layers and of single kernels leave over, and says on stderr what
 * came of it. AUTO learns where there are such and the build can.
 *
 * @return LM_E_ARG where ON has neither, LM_E_UNSUPPORTED where the build grows no trees
 */
lm_status fit_residual(const observations *obs, const points *p, residual_choice choice,
                       calibration *cal, lm_error *err);

struct layer_model;    /* single/model.h */
struct residual_trees; /* single/lesson.h */

/** A line on stderr for each class of layers: what was found of its residual. */
void print_residuals(const char *path, const struct layer_model *m,
                     const struct residual_trees *judged);

/** A row for each residual, in the table of fit. */
void add_residuals(table *t, const calibration *cal);

#endif
