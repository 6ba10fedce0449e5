/* Found layouts in words, and beside each other. */
#include <stdio.h>

#include "plan/layouts.h"

const char *layout_share_name(layout_share s)
{
    static const char *const names[N_LAYOUT_SHARES] = {
        [SHARE_COMPUTE]  = "compute",
        [SHARE_TENSOR]   = "tensor messages",
        [SHARE_PIPELINE] = "pipeline bubble",
        [SHARE_DATA]     = "data messages",
        [SHARE_UPDATE]   = "update",
    };

    return names[s];
}

double layouts_at(const layout_found *f, double pass, double message)
{
    const double messages = f->share[SHARE_TENSOR] + f->share[SHARE_DATA];

    return pass * (f->step - messages) + (messages > 0 ? message * messages : 0);
}

bool layouts_tie(const layout_found *a, const layout_found *b)
{
    for (int i = 0; i < 4; i++)
        if (layouts_at(b, a->pass[i / 2], a->message[i % 2]) <=
            layouts_at(a, a->pass[i / 2], a->message[i % 2]))
            return true;
    return false;
}

/* The share with the largest value, except `but`. */
static layout_share largest(const double *share, int but)
{
    int at = but == 0;

    for (int s = 0; s < N_LAYOUT_SHARES; s++)
        if (s != but && share[s] > share[at])
            at = s;
    return (layout_share)at;
}

const char *layouts_limit(const layout_found *f, char buffer[LAYOUT_SENTENCE])
{
    const layout_share a = largest(f->share, -1), b = largest(f->share, (int)a);

    snprintf(buffer, LAYOUT_SENTENCE, "of its time %s %.0f %%, %s %.0f %%", layout_share_name(a),
             100 * f->share[a] / f->step, layout_share_name(b), 100 * f->share[b] / f->step);
    return buffer;
}

const char *layouts_worse(const layout_found *a, const layout_found *b,
                          char buffer[LAYOUT_SENTENCE])
{
    double       more[N_LAYOUT_SHARES];
    layout_share first, second;
    size_t       n;

    for (int s = 0; s < N_LAYOUT_SHARES; s++)
        more[s] = b->share[s] - a->share[s];
    first  = largest(more, -1);
    second = largest(more, (int)first);
    n      = (size_t)snprintf(buffer, LAYOUT_SENTENCE, "%.1f %% slower: %s +%.1f %%",
                              100 * (b->step / a->step - 1), layout_share_name(first),
                              100 * more[first] / a->step);
    if (more[second] > 0.001 * a->step && n < LAYOUT_SENTENCE)
        snprintf(buffer + n, LAYOUT_SENTENCE - n, ", %s +%.1f %%", layout_share_name(second),
                 100 * more[second] / a->step);
    return buffer;
}
