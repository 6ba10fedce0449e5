/* Which of several clocks is best for a step. */
#include "energy/clocks.h"

/* Below this, differences are those of a search for the clock that a limit allows. */
#define SAME 1e-9

const char *best_for_name(best_for b)
{
    static const char *const name[N_BEST_FOR] = { "time", "energy", "edp" };

    return name[b];
}

void clocks_try(const power_model *m, const power_load *load, double cap_w, const double *mhz,
                size_t n, power_state *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = power_held(m, load, mhz[i], cap_w);
}

static double cost(const power_state *s, best_for what)
{
    switch (what) {
    case BEST_ENERGY: return s->watts * s->stretch;
    case BEST_EDP: return s->watts * s->stretch * s->stretch;
    case BEST_TIME:
    case N_BEST_FOR: break;
    }
    return s->stretch;
}

size_t clocks_best(const power_state *at, size_t n, best_for what)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++)
        if (cost(&at[i], what) < cost(&at[best], what) * (1 - SAME))
            best = i;
    return best;
}

void clocks_usual(const power_model *m, double out[CLOCKS_USUAL])
{
    for (int i = 0; i < CLOCKS_USUAL; i++)
        out[i] = m->top_mhz * (i + 1) / CLOCKS_USUAL;
}
