/** The ledger of a predicted time: the share of each kind of coefficient in it. */
#ifndef PREDICT_LEDGER_H
#define PREDICT_LEDGER_H

#include <math.h>
#include <stdbool.h>

#include "fit/calibration.h"

typedef enum certainty {
    CERTAINTY_MEASURED,     /**< the network was measured with this input and batch */
    CERTAINTY_INTERPOLATED, /**< by a fitted coefficient, within the measured range */
    CERTAINTY_EXTRAPOLATED, /**< by a fitted coefficient, outside the measured range */
    CERTAINTY_ASSUMED, /**< by a coefficient of other kernels, or one of which no measurement is
                          known */
    N_CERTAINTIES
} certainty;

/** "interpolated", ... */
const char *certainty_name(certainty c);

/** A count within this factor of its range is not marked: rounding of batches causes that much. */
#define RANGE_TOLERANCE 1.05
/** A shrunk coefficient counts as fitted if the measurements' share of it is above this. */
#define KNOWN_LEAST 0.5

/** The factor by which a count leaves its coefficient's range; below 1: downwards. 1: it does not, or
 * the range is unknown. */
static inline double range_beyond(const coefficient *c, double count)
{
    if (!isfinite(c->low))
        return 1;
    if (count > c->high * RANGE_TOLERANCE)
        return count / c->high;
    if (count * RANGE_TOLERANCE < c->low)
        return count / c->low;
    return 1;
}

/** Of what a coefficient makes of a count; `elsewhere`: on what it was not calibrated with, such as
 * another element type. */
static inline certainty certainty_of(const coefficient *c, double count, bool elsewhere)
{
    /* `known` is of terms only; a fit leaves the range of what no row has empty, a file leaves it
     * out
     */
    if (!isfinite(c->low) || !c->determined || c->known <= KNOWN_LEAST)
        return CERTAINTY_ASSUMED;
    return elsewhere || range_beyond(c, count) != 1 ? CERTAINTY_EXTRAPOLATED
                                                    : CERTAINTY_INTERPOLATED;
}

/** Seconds by certainty. A negative contribution, which least squares may give, counts by size. */
typedef struct ledger {
    double seconds[N_CERTAINTIES];
} ledger;

static inline void ledger_add(ledger *l, certainty c, double seconds)
{
    l->seconds[c] += fabs(seconds);
}
/** Adds another ledger, multiplied by a factor. */
static inline void ledger_add_all(ledger *l, const ledger *other, double times)
{
    for (certainty k = 0; k < N_CERTAINTIES; k++)
        l->seconds[k] += times * other->seconds[k];
}
/** The sum of all seconds. */
double ledger_seconds(const ledger *l);
/** The share of one certainty; NAN for an empty ledger. */
double ledger_share(const ledger *l, certainty c);
/** Shares in whole percents that add up to 100: what is missing after rounding down goes to the
 * largest remainders (Hamilton's method). Something must be in it. */
void ledger_percents(const ledger *l, int out[N_CERTAINTIES]);
/** "0/83/12/5": these by the order of `certainty`, "-" where nothing is in it. */
#define LEDGER_TEXT  32
#define LEDGER_TITLE "me/in/ex/as [%]" /**< what a column of it is called */
const char *ledger_print(const ledger *l, char buffer[LEDGER_TEXT]);
/** In a word: the least certain part that is 1 % or more, "assumed", or "partly assumed" where it is
 * less than half; "-" where nothing is in it. */
const char *ledger_word(const ledger *l, char buffer[LEDGER_TEXT]);

#endif
