/* Terms of networks with known counts but unknown layers. */
#include "counts/counted.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "base/text.h"

static const double quantiles[TERM_KNOTS] = { 0.02, 0.26, 0.5, 0.74, 0.98 };

const count_knots count_knots_none = { .macs = { 0 } };

bool counted_only(const workload *load)
{
    const uint32_t needed = 1u << FEATURE_FLOPS | 1u << FEATURE_OUTPUTS | 1u << FEATURE_WEIGHTS;

    return load->samples > 0 && !(load->unknown & needed);
}

/* At least 1, because logarithms grow without bound towards 0. */
static double macs_of(const workload *load)
{
    return fmax(1, (double)load->counts.flops_forward / 2 / load->samples);
}

static double reuse_of(const workload *load)
{
    return macs_of(load) / fmax(1, (double)load->counts.params);
}

static double four_digits(double x)
{
    char text[32];

    snprintf(text, sizeof text, "%.3e", x);
    return strtod(text, NULL);
}

/* Knots at quantiles of the logarithms, on whose scale the hat functions are linear. */
static void place_knots(double *log_value, size_t n, double knot[TERM_KNOTS])
{
    for (size_t i = 0; i < TERM_KNOTS; i++)
        knot[i] = four_digits(exp(stats_quantile(log_value, n, quantiles[i])));
}

lm_status counted_knots(const workload *const *load, size_t n, count_knots *out, lm_error *err)
{
    double *value = malloc((n + 1) * sizeof *value);

    *out = count_knots_none;
    if (!value)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        value[i] = log(macs_of(load[i]));
    if (n)
        place_knots(value, n, out->macs);
    for (size_t i = 0; i < n; i++)
        value[i] = log(reuse_of(load[i]));
    if (n)
        place_knots(value, n, out->reuse);
    free(value);
    return LM_OK;
}

static void hats(double x, const double knot[TERM_KNOTS], double out[TERM_KNOTS])
{
    size_t i = 0;

    for (size_t k = 0; k < TERM_KNOTS; k++)
        out[k] = 0;
    x = fmin(fmax(x, knot[0]), knot[TERM_KNOTS - 1]);
    while (i + 2 < TERM_KNOTS && x > knot[i + 1])
        i++;
    out[i + 1] = knot[i + 1] > knot[i] ? log(x / knot[i]) / log(knot[i + 1] / knot[i]) : 0;
    out[i]     = 1 - out[i + 1];
}

term_vector counted_terms(const workload *load, const count_knots *k, bool update, term_item *room)
{
    double      sum[N_TERMS] = { 0 };
    term_counts c            = { .weights = (double)load->counts.params, .steps = 1 };

    if (k->macs[0] == 0 || k->reuse[0] == 0 || !counted_only(load))
        return (term_vector){ room, 0 };
    if (!update) {
        c.flops   = (double)load->counts.flops_forward;
        c.outputs = (double)load->counts.conv_outputs;
        hats(macs_of(load), k->macs, c.size);
        hats(reuse_of(load), k->reuse, c.reuse);
    }
    terms_add_counts(&c, sum);
    return terms_pack(sum, room);
}
