/* The basis of a predicted time: measured, interpolated, extrapolated or assumed. */
#include "models/ledger.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const names[N_CERTAINTIES] = {
    [CERTAINTY_MEASURED]     = "measured",
    [CERTAINTY_INTERPOLATED] = "interpolated",
    [CERTAINTY_EXTRAPOLATED] = "extrapolated",
    [CERTAINTY_ASSUMED]      = "assumed",
};

const char *certainty_name(certainty c)
{
    return names[c];
}

double ledger_seconds(const ledger *l)
{
    double all = 0;

    for (certainty k = 0; k < N_CERTAINTIES; k++)
        all += l->seconds[k];
    return all;
}

double ledger_share(const ledger *l, certainty c)
{
    const double all = ledger_seconds(l);

    return all > 0 ? l->seconds[c] / all : NAN;
}

void ledger_percents(const ledger *l, int out[N_CERTAINTIES])
{
    double rest[N_CERTAINTIES];
    int    missing = 100;

    if (!isfinite(ledger_seconds(l))) { /* sums beyond a double have no measured basis */
        memset(out, 0, N_CERTAINTIES * sizeof *out);
        out[CERTAINTY_ASSUMED] = 100;
        return;
    }
    for (certainty k = 0; k < N_CERTAINTIES; k++) {
        const double percent = 100 * ledger_share(l, k);

        out[k]  = (int)percent;
        rest[k] = percent - out[k];
        missing -= out[k];
    }
    for (; missing > 0; missing--) {
        certainty most = 0;

        for (certainty k = 1; k < N_CERTAINTIES; k++)
            if (rest[k] > rest[most])
                most = k;
        out[most]++;
        rest[most]--;
    }
}

const char *ledger_print(const ledger *l, char buffer[LEDGER_TEXT])
{
    int    percent[N_CERTAINTIES];
    size_t n = 0;

    snprintf(buffer, LEDGER_TEXT, "-");
    if (isnan(ledger_share(l, 0)))
        return buffer;
    ledger_percents(l, percent);
    for (certainty k = 0; k < N_CERTAINTIES; k++)
        n += (size_t)snprintf(buffer + n, LEDGER_TEXT - n, "%s%d", k ? "/" : "", percent[k]);
    return buffer;
}

const char *ledger_word(const ledger *l, char buffer[LEDGER_TEXT])
{
    int       percent[N_CERTAINTIES];
    certainty least = N_CERTAINTIES - 1;

    snprintf(buffer, LEDGER_TEXT, "-");
    if (isnan(ledger_share(l, 0)))
        return buffer;
    ledger_percents(l, percent);
    while (!percent[least]) /* the sum stays 100 */
        least--;
    snprintf(buffer, LEDGER_TEXT, "%s%s", percent[least] < 50 ? "partly " : "",
             certainty_name(least));
    return buffer;
}
