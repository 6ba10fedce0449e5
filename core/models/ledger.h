/** The ledger of a predicted time: the share of each kind of coefficient. */
#ifndef MODELS_LEDGER_H
#define MODELS_LEDGER_H

#include <math.h>
#include <stdbool.h>

#include "fit/calibration.h"

typedef enum certainty {
    CERTAINTY_MEASURED,     /**< the network was measured with this input and batch */
    CERTAINTY_INTERPOLATED, /**< a fitted coefficient, within the measured range */
    CERTAINTY_EXTRAPOLATED, /**< a fitted coefficient, outside the measured range */
    CERTAINTY_ASSUMED, /**< a coefficient from other kernels, or one without known measurements */
    N_CERTAINTIES
} certainty;

/** "interpolated", ... */
const char *certainty_name(certainty c);

/**
 * A count outside its range by less than this factor is not marked: rounding of batches causes that
 * much.
 */
#define RANGE_TOLERANCE 1.05
/**
 * A shrunk coefficient counts as fitted if the measurements determine more than this share of it.
 */
#define KNOWN_LEAST 0.5

/**
 * The factor by which a count is outside its coefficient's range; below 1: below the range. 1:
 * inside, or the range is unknown.
 */
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

/**
 * Certainty of coefficient times count. `elsewhere`: the coefficient was calibrated under other
 * conditions, such as another element type.
 */
static inline certainty certainty_of(const coefficient *c, double count, bool elsewhere)
{
    /*
     * `known` is set only for terms. If no row has a term, a fit leaves its range empty, and a file
     * omits it.
     */
    if (!isfinite(c->low) || !c->determined || c->known <= KNOWN_LEAST)
        return CERTAINTY_ASSUMED;
    return elsewhere || range_beyond(c, count) != 1 ? CERTAINTY_EXTRAPOLATED
                                                    : CERTAINTY_INTERPOLATED;
}

/**
 * Seconds by certainty. Negative contributions, which least squares may give, count by absolute
 * value.
 */
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
/**
 * Shares in whole percents that add up to 100: percents missing after rounding down go to the
 * largest remainders (Hamilton's method). The ledger must not be empty.
 */
void ledger_percents(const ledger *l, int out[N_CERTAINTIES]);
/** "0/83/12/5": the shares in the order of `certainty`; "-" for an empty ledger. */
#define LEDGER_TEXT  32
#define LEDGER_TITLE "me/in/ex/as [%]" /**< heading of such a column */
const char *ledger_print(const ledger *l, char buffer[LEDGER_TEXT]);
/**
 * One word: the least certain part of 1 % or more, "assumed", or "partly assumed" if it is less
 * than half; "-" for an empty ledger.
 */
const char *ledger_word(const ledger *l, char buffer[LEDGER_TEXT]);

#endif
