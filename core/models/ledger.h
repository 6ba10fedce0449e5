/** How well a predicted time is founded: which share of it stands on what kind of coefficient. */
#ifndef PREDICT_LEDGER_H
#define PREDICT_LEDGER_H

#include <stdbool.h>

#include "fit/calibration.h"

typedef enum certainty {
    CERTAINTY_MEASURED,     /**< this very network, input and batch were measured */
    CERTAINTY_INTERPOLATED, /**< within what was measured, by a coefficient the data tell */
    CERTAINTY_EXTRAPOLATED, /**< by such a coefficient, outside what was measured */
    CERTAINTY_ASSUMED, /**< by a coefficient of other kernels, or one of which no measurement is
                          known */
    N_CERTAINTIES
} certainty;

/** "interpolated", ... */
const char *certainty_name(certainty c);

/** A count this far outside its range is not worth a mark: rounding of batches, not another regime.
 */
#define RANGE_TOLERANCE 1.05
/** Of a coefficient that is shrunk to its family's, more than this much is the measurements'. */
#define KNOWN_LEAST 0.5

/** By what factor a count leaves the range of its coefficient, below 1 downwards; 1: it does not,
 * or the range is unknown. */
double range_beyond(const coefficient *c, double count);

/** Of what a coefficient makes of a count; `elsewhere`: on what it was not calibrated with, such as
 * another element type. */
certainty certainty_of(const coefficient *c, double count, bool elsewhere);

/** Seconds by certainty; of contributions below 0, which least squares may have, their size. */
typedef struct ledger {
    double seconds[N_CERTAINTIES];
} ledger;

void ledger_add(ledger *l, certainty c, double seconds);
/** Adds another, so many times. */
void ledger_add_all(ledger *l, const ledger *other, double times);
/** All in it. */
double ledger_seconds(const ledger *l);
/** Share of all in it; NAN where nothing is. */
double ledger_share(const ledger *l, certainty c);
/** Shares in whole percents that add up to 100: what is missing after rounding down goes to the
 * largest remainders (Hamilton's method). Something must be in it. */
void ledger_percents(const ledger *l, int out[N_CERTAINTIES]);
/** "0/83/12/5": these by the order of `certainty`, "-" where nothing is in it. */
#define LEDGER_TEXT  32
#define LEDGER_TITLE "me/in/ex/as [%]" /**< what a column of it is called */
const char *ledger_print(const ledger *l, char buffer[LEDGER_TEXT]);

#endif
