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
 * Learns what prices of single layers leave over, and says on stderr what came of it. AUTO learns
 * where there are single layers and the build can.
 *
 * @param path of the observations, for messages
 * @return LM_E_ARG where ON has no single layers, LM_E_UNSUPPORTED where the build grows no trees
 */
lm_status fit_residual(const points *p, residual_choice choice, calibration *cal, const char *path,
                       lm_error *err);

struct layer_model; /* single/model.h */

/** A row for each residual, in the table of fit. */
void add_residuals(table *t, const struct layer_model *m);

#endif
