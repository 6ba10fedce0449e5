/** Power, energy and time at each clock, as a power model says them beside what was measured. */
#ifndef JUDGE_CLOCKS_H
#define JUDGE_CLOCKS_H

#include "fit/power_rows.h"

typedef enum clock_figure { CLOCK_POWER, CLOCK_ENERGY, CLOCK_TIME, N_CLOCK_FIGURES } clock_figure;

/** By the model alone, and carried over from the same at another clock, where it was measured so. */
typedef enum clock_basis { CLOCK_BY_MODEL, CLOCK_CARRIED, N_CLOCK_BASES } clock_basis;

/** Measured and predicted: W, J, s. NAN: nothing to carry over. */
typedef struct clock_answer {
    double measured[N_CLOCK_FIGURES], predicted[N_CLOCK_BASES][N_CLOCK_FIGURES];
} clock_answer;

typedef struct clock_answers {
    power_rows    rows;
    clock_answer *answer; /**< of each row */
} clock_answers;

/**
 * As a machine file's power model says them of every measured power, at the row's clock. Rows whose
 * clock was held (settings `clock=`) are beside that carried over from the same at the usual clock,
 * power and time, where the file has it.
 *
 * @param path of the observations, for messages
 * @param out  to be freed in either case
 * @return LM_E_NOTFOUND where the machine file knows no power, or no row has one
 */
lm_status clock_answers_of(const points *p, const calibration *cal, const char *path,
                           clock_answers *out, lm_error *err);
void      clock_answers_free(clock_answers *a);

#endif
