/* Points that a sweep would measure. */
#include "run/listing.h"

#include <stdlib.h>

#include "base/no_memory.h"
#include "run/progress.h"

static const char *const kinds[OBS_N_KINDS] = {
    [OBS_NETWORK] = "network", [OBS_KERNEL] = "kernel", [OBS_COLLECTIVE] = "all-reduce",
    [OBS_LAYER] = "layer",     [OBS_COUNTS] = "counts", [OBS_STREAM] = "stream"
};

typedef struct sums {
    size_t n, of[OBS_N_KINDS];
    double seconds;
} sums;

static void add_columns(table *t)
{
    table_column(t, "point", "point", 0);
    table_column(t, "kind", "kind", 0);
    table_column(t, "what", "what", 0);
    table_column(t, "flops_forward", "FLOPs forward", 0);
    table_column(t, "seconds", "expected [s]", -1);
}

static void add_row(const sweep *plan, const chooser *pick, size_t at, table *t, sums *s)
{
    const sweep_point *p = &plan->point[at];
    char               what[160];

    print_point(&p->row, what, sizeof what);
    table_count(t, at + 1);
    table_text(t, kinds[p->row.kind]);
    table_text(t, what);
    table_count(t, p->row.kind == OBS_KERNEL ? lm_kernel_work(&p->kernel).flops
                                             : p->counts.flops_forward);
    table_real(t, chooser_cost(pick, at));
    s->n++;
    s->of[p->row.kind]++;
    s->seconds += chooser_cost(pick, at);
}

static void print_sums(const sweep *plan, double budget, const sums *s, double width, FILE *out)
{
    bool any = false;

    fprintf(out, "%zu point%s", s->n, s->n == 1 ? "" : "s");
    if (budget > 0)
        fprintf(out, " of %zu within %.3g s", plan->n_points, budget);
    for (obs_kind k = 0; k < OBS_N_KINDS; k++) {
        if (!s->of[k])
            continue;
        fprintf(out, "%s%zu %s%s", any ? ", " : " (", s->of[k], kinds[k], s->of[k] == 1 ? "" : "s");
        any = true;
    }
    fprintf(out,
            "%s, about %.3g s; %zu left out (too few ranks, a filter, or no sample of a batch)\n",
            any ? ")" : "", s->seconds, plan->n_filtered);
    if (budget > 0)
        fprintf(out, "then the 90 %% interval of a step is expected to be %.0f %% wide\n",
                100 * width);
}

lm_status listing_print(const sweep *plan, const chooser *pick, double budget, format f,
                        lm_error *err)
{
    table    *t      = table_new();
    size_t   *order  = malloc((plan->n_points + 1) * sizeof *order);
    size_t    n      = plan->n_points;
    sums      s      = { .n = 0 };
    double    width  = 0;
    lm_status status = t && order ? LM_OK : no_memory(err);

    for (size_t i = 0; i < n && !status; i++)
        order[i] = i;
    if (!status && budget > 0)
        status = chooser_forecast(pick, budget, &width, &n, order, err);
    if (!status) {
        add_columns(t);
        for (size_t i = 0; i < n; i++)
            add_row(plan, pick, order[i], t, &s);
        status = table_print(t, f, stdout, err);
    }
    if (!status)
        print_sums(plan, budget, &s, width, f == FORMAT_TABLE ? stdout : stderr);
    free(order);
    table_free(t);
    return status;
}
