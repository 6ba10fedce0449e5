/* A list of points to measure. */
#include "suggest/suggest.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/stats.h"

typedef struct choosing {
    design              *d; /* a copy */
    const suggest_asked *asked;
    double              *each; /* width of each target */
    double              *of;   /* widths of one network's targets */
    bool                *taken;
} choosing;

/* One row of suggestion.width. */
static void take_widths(const choosing *c, double *out)
{
    design_widths(c->d, c->each);
    for (size_t k = 0; k < c->asked->n_networks; k++) {
        size_t n = 0;

        for (size_t j = 0; j < c->asked->n_targets; j++)
            if (c->asked->network[j] == k)
                c->of[n++] = c->each[j];
        out[k] = n ? stats_quantile(c->of, n, 0.5) : NAN;
    }
}

/* Memory for one more point and the widths after it. */
static lm_status grow(suggestion *s, const suggest_asked *asked, lm_error *err)
{
    size_t *at    = realloc(s->at, (s->n + 1) * sizeof *at);
    double *width = realloc(s->width, (s->n + 2) * asked->n_networks * sizeof *width);

    s->at    = at ? at : s->at;
    s->width = width ? width : s->width;
    return at && width ? LM_OK : no_memory(err);
}

static lm_status choose(choosing *c, const design_case *candidate, const double *cost, size_t n,
                        const suggest_limits *limits, suggestion *out, lm_error *err)
{
    double    left   = limits->seconds;
    lm_status status = grow(out, c->asked, err);

    if (!status)
        take_widths(c, out->width);
    while (!status && out->n < limits->points) {
        const size_t at   = design_next(c->d, candidate, cost, c->taken, n, left);
        bool         fits = true;

        if (at == DESIGN_NONE)
            break;
        c->taken[at] = true;
        if (limits->ask && (status = limits->ask(limits->context, at, &fits, err)))
            break;
        if (!fits) {
            out->n_refused++;
            continue;
        }
        design_suppose(c->d, &candidate[at]);
        left -= cost[at];
        out->at[out->n++] = at;
        take_widths(c, out->width + out->n * c->asked->n_networks);
        status = grow(out, c->asked, err);
    }
    return status;
}

lm_status suggest_points(const design *d, const design_case *candidate, const double *cost,
                         size_t n, const suggest_asked *asked, const suggest_limits *limits,
                         suggestion *out, lm_error *err)
{
    choosing  c      = { .asked = asked };
    lm_status status = design_copy(d, &c.d, err);

    *out = (suggestion){ .at = NULL };
    if (!status) {
        c.each  = malloc((asked->n_targets + 1) * sizeof *c.each);
        c.of    = malloc((asked->n_targets + 1) * sizeof *c.of);
        c.taken = calloc(n + 1, sizeof *c.taken);
        status  = c.each && c.of && c.taken ? LM_OK : no_memory(err);
    }
    if (!status)
        status = choose(&c, candidate, cost, n, limits, out, err);
    design_free(c.d);
    free_all(c.each, c.of, c.taken);
    if (status)
        suggestion_free(out);
    return status;
}

void suggestion_free(suggestion *s)
{
    free(s->at);
    free(s->width);
    *s = (suggestion){ .at = NULL };
}
