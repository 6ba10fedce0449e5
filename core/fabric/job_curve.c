/* Steps of one job on few devices, continued to more. */
#include "fabric/job_curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/stats.h"
#include "solve/robust.h"

/* Parts of a step, in the order of the unknowns. */
enum { WITHIN, BETWEEN, SAMPLE, STEP, N_PARTS };

/* Prior shares, in medians of the steps, of STEP in medians of the micro-steps: a tenth does not
 * grow with the batch, as in jobs in general. */
#define NEAR_STEP  0.1
#define RIDGE_STEP 0.1
#define RIDGE_SENT 0.03 /* ridge of WITHIN and BETWEEN towards 0 */
#define FREE       1e-9 /* ridge of the others: keeps the equations regular */

#define HUBER  0.1
#define ROUNDS 4

/* Bounds, as logarithms: of what a device does, and what each octave of batches beyond the measured
 * adds; of what all-reduces leave, for each octave of ranks or hosts, one at least. They have the
 * least mean interval score of 58 questions about jobs that the exam does not score: the mean of what 500
 * bootstrap samples of these choose (bagging: Breiman 1996), as one sample alone leaves several
 * equally good. They hold 88 % of these steps, each question with the same weight. */
#define SPREAD_OWN     0.033
#define SPREAD_BATCH   0.19
#define SPREAD_EXPOSED 0.14

/* ---- fit ---- */

/* Share of a ring's bytes that leaves each of n ranks. */
static double ring(double n)
{
    return (n - 1) / n;
}

/* Measured ranges. */
static void take_ranges(const job_row *row, size_t n, job_curve *out)
{
    *out = (job_curve){ .least_batch = HUGE_VAL, .least_micro = HUGE_VAL, .rows = n };
    for (size_t i = 0; i < n; i++) {
        const double batch = (double)row[i].batch, hosts = (double)row[i].hosts;
        const double devices = (double)row[i].devices;

        out->least_batch = fmin(out->least_batch, batch);
        out->most_batch  = fmax(out->most_batch, batch);
        out->least_micro = fmin(out->least_micro, (double)row[i].micro);
        out->most_micro  = fmax(out->most_micro, (double)row[i].micro);
        out->hosts       = fmax(out->hosts, hosts);
        out->devices     = fmax(out->devices, devices);
        out->ranks       = fmax(out->ranks, hosts * devices);
    }
}

static bool several_ranks(const job_row *row, size_t n, double most)
{
    for (size_t i = 0; i < n; i++)
        if ((double)row[i].hosts * (double)row[i].devices < most)
            return true;
    return false;
}

/* Median of the steps, or of their micro-steps. */
static double median(const job_row *row, size_t n, bool micro, double *room)
{
    for (size_t i = 0; i < n; i++)
        room[i] = row[i].seconds / (micro ? (double)row[i].micro : 1);
    return stats_quantile(room, n, 0.5);
}

/* Were two batches measured on the same devices? Else the constant part of a step cannot be
 * separated from all-reduces. */
static bool tells_step(const job_row *row, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (row[i].hosts == row[k].hosts && row[i].devices == row[k].devices &&
                row[i].batch != row[k].batch)
                return true;
    return false;
}

lm_status job_curve_fit(const job_row *row, size_t n, job_curve *out, lm_error *err)
{
    const double   mu[N_PARTS]   = { RIDGE_SENT, RIDGE_SENT, FREE,
                                 tells_step(row, n) ? FREE : RIDGE_STEP };
    double         held[N_PARTS] = { 0 }, x[N_PARTS] = { 0 };
    double        *a     = malloc((n * N_PARTS + 1) * sizeof *a);
    double        *share = malloc((n + 1) * sizeof *share);
    robust_work    work  = { 0 };
    robust_problem problem;
    double         middle, pass;
    lm_status      status = LM_OK;

    if (!a || !share) {
        status = no_memory(err);
        goto out;
    }
    take_ranges(row, n, out);
    if (!several_ranks(row, n, out->ranks)) {
        status = lm_error_set(err, LM_E_ARG, "a curve needs steps on %d numbers of ranks",
                              JOB_CURVE_LEAST);
        goto out;
    }
    middle     = median(row, n, false, share);
    pass       = median(row, n, true, share);
    held[STEP] = out->most_batch > out->least_batch ? NEAR_STEP : 0;
    for (size_t i = 0; i < n; i++) {
        const double micro = (double)row[i].micro;
        double      *of = a + i * N_PARTS, unit = middle / row[i].seconds;

        of[WITHIN]  = unit * ring((double)row[i].devices);
        of[BETWEEN] = unit * ring((double)row[i].hosts);
        of[SAMPLE]  = micro * unit * (double)row[i].batch / out->most_batch;
        of[STEP]    = out->most_batch > out->least_batch ? micro * pass / row[i].seconds
                                                         : 0; /* it is unknown */
        share[i]    = (double)row[i].hosts * (double)row[i].devices / out->ranks;
    }
    problem = (robust_problem){ .a      = a,
                                .rows   = n,
                                .places = N_PARTS,
                                .n      = N_PARTS,
                                .share  = share,
                                .mu     = mu,
                                .held   = held,
                                .huber  = n > N_PARTS ? HUBER : INFINITY, /* none is one too many */
                                .rounds = ROUNDS };
    if ((status = robust_solve(&problem, x, &work, err)))
        goto out;
    out->within  = middle * x[WITHIN];
    out->between = middle * x[BETWEEN];
    out->sample  = middle * x[SAMPLE] / out->most_batch;
    out->step    = pass * x[STEP];
    for (size_t i = 0; i < n; i++)
        out->mape += fabs(work.fit[i] - 1) / (double)n;
out:
    robust_work_free(&work);
    free(share);
    free(a);
    return status;
}

/* ---- answers ---- */

double job_curve_own(const job_curve *c, double batch)
{
    return c->step + c->sample * batch;
}

double job_curve_own_once(const job_curve *c, double batch, double micro)
{
    const double measured = fmin(fmax(micro, c->least_micro), c->most_micro);

    return c->step * measured / micro + c->sample * batch;
}

double job_curve_exposed(const job_curve *c, double hosts, double devices)
{
    return c->within * ring(devices) + c->between * ring(hosts);
}

bool job_curve_knows(const job_curve *c, bool hosts, bool devices)
{
    return (!hosts || c->hosts > 1) && (!devices || c->devices > 1);
}

/* Octaves above a range; 0: within. */
static double octaves(double value, double most)
{
    return fmax(0, log2(value / most));
}

/* Half width of the central 90 % of normal errors, in units of their mean absolute value: 1.645 /
 * sqrt(2 / pi). */
#define OF_MEAN 2.06

/* Joins the usual error of jobs and the error of this one on its own rows; both are independent.
 * With as many unknowns as rows the second is 0. */
static double beside_rows(const job_curve *c, double usual)
{
    return exp(stats_quadrature(usual, OF_MEAN * c->mape, 0));
}

double job_curve_own_spread(const job_curve *c, double batch)
{
    const double beyond = octaves(batch, c->most_batch) + octaves(c->least_batch, batch);

    return beside_rows(c, SPREAD_OWN + SPREAD_BATCH * beyond);
}

double job_curve_exposed_spread(const job_curve *c, double hosts, double devices)
{
    const double ranks = octaves(hosts * devices, c->ranks), apart = octaves(hosts, c->hosts);

    return beside_rows(c, SPREAD_EXPOSED * fmax(1, fmax(ranks, apart)));
}

/* ---- curves of a machine ---- */

lm_status job_curves_add(job_curves *all, const char *network, const char *input,
                         const job_curve *c, lm_error *err)
{
    job_curve copy = *c;

    if (!array_grow(&all->of, all->n, &all->room, sizeof *all->of))
        return no_memory(err);
    copy.network = strdup(network);
    copy.input   = strdup(input);
    if (!copy.network || !copy.input) {
        free(copy.network);
        free(copy.input);
        return no_memory(err);
    }
    all->of[all->n++] = copy;
    return LM_OK;
}

const job_curve *job_curves_find(const job_curves *all, const char *network, const char *input)
{
    for (size_t i = 0; i < all->n; i++)
        if (!strcmp(all->of[i].network, network) && !strcmp(all->of[i].input, input))
            return &all->of[i];
    return NULL;
}

void job_curves_free(job_curves *all)
{
    for (size_t i = 0; i < all->n; i++) {
        free(all->of[i].network);
        free(all->of[i].input);
    }
    free(all->of);
    *all = (job_curves){ .n = 0 };
}
