/** Power, energy and time at each clock: predictions of a power model and measurements. */
#ifndef JUDGE_CLOCKS_H
#define JUDGE_CLOCKS_H

#include "fit/power_rows.h"

typedef enum clock_figure { CLOCK_POWER, CLOCK_ENERGY, CLOCK_TIME, N_CLOCK_FIGURES } clock_figure;

/** Basis of a prediction: the model alone, or a measurement at another clock, converted by the
 * model. */
typedef enum clock_basis { CLOCK_BY_MODEL, CLOCK_CARRIED, N_CLOCK_BASES } clock_basis;

/** Measured and predicted values: W, J, s. NAN: no measurement to convert. */
typedef struct clock_answer {
    double measured[N_CLOCK_FIGURES], predicted[N_CLOCK_BASES][N_CLOCK_FIGURES];
} clock_answer;

typedef struct clock_answers {
    power_rows    rows;
    clock_answer *answer; /**< one for each row */
} clock_answers;

/**
 * Predicts each measured power at the row's clock by the power model of a machine file. Rows with a
 * held clock (settings `clock=`) get a second prediction: power and time at the usual clock,
 * converted to theirs, if the file has them.
 *
 * @param path path of the observations, for messages
 * @param out  to be freed in either case
 * @return LM_E_NOTFOUND if the machine file has no power model, or no row has power
 */
lm_status clock_answers_of(const points *p, const calibration *cal, const char *path,
                           clock_answers *out, lm_error *err);
void      clock_answers_free(clock_answers *a);

#endif
