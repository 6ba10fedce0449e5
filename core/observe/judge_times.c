/* Compares times of single points with others of their phase. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/parallel.h"
#include "base/stats.h"
#include "observe/judge.h"

/* Shares of rows that are slower per count. A count that dominates few rows shows its price
 * there. */
static const double shares[] = { 0.5, 0.25, 0.1, 0.03 };

#define N_SHARES (sizeof shares / sizeof shares[0])
#define SAMPLE   100  /* rows to choose prices by */
#define ENOUGH   2000 /* for quantiles */
#define FAR      2.0  /* decades */

/* Seconds per count, by count and share. NAN: no row has the count. */
typedef struct prices {
    double of[USUAL_COUNTS][N_SHARES];
} prices;

static void find_prices(const usual_row *row, size_t n, double *room, prices *out)
{
    const size_t step = n / ENOUGH + 1;

    for (size_t k = 0; k < USUAL_COUNTS; k++) {
        size_t m = 0;

        for (size_t i = 0; i < n; i += step)
            if (row[i].count[k] > 0)
                room[m++] = log10(row[i].seconds / row[i].count[k]);
        for (size_t s = 0; s < N_SHARES; s++)
            out->of[k][s] = m ? pow(10, stats_quantile(room, m, shares[s])) : NAN;
    }
}

static double deviation_of(const usual_row *row, const double price[USUAL_COUNTS])
{
    double expected = 0;

    for (size_t k = 0; k < USUAL_COUNTS; k++)
        if (row->count[k] > 0)
            expected += price[k] * row->count[k];
    return log10(row->seconds / expected);
}

/* Sum of the distances from the middle; far ones are capped. */
static double misfit(const usual_row *row, size_t n, size_t step, const double *price, double *room)
{
    double middle, sum = 0;
    size_t m = 0;

    for (size_t i = 0; i < n; i += step)
        room[m++] = deviation_of(&row[i], price);
    middle = stats_quantile(room, m, 0.5);
    for (size_t i = 0; i < m; i++)
        sum += fmin(fabs(room[i] - middle), FAR);
    return sum;
}

/* Chooses the combination of prices with the least misfit. */
static void choose_prices(const usual_row *row, size_t n, const prices *all, double *room,
                          double best[USUAL_COUNTS])
{
    const size_t step  = n / SAMPLE + 1;
    double       least = INFINITY;

    for (size_t c = 0; c < N_SHARES * N_SHARES * N_SHARES; c++) {
        const size_t at[] = { c % N_SHARES, c / N_SHARES % N_SHARES, c / N_SHARES / N_SHARES };
        double       price[USUAL_COUNTS], left;
        bool         again = false; /* no row has this count: nothing to choose */

        for (size_t k = 0; k < USUAL_COUNTS; k++) {
            price[k] = all->of[k][at[k]];
            again    = again || (isnan(price[k]) && at[k]);
        }
        if (again)
            continue;
        left = misfit(row, n, step, price, room);
        if (left < least) {
            least = left;
            memcpy(best, price, sizeof price);
        }
    }
}

bool usual_deviations(usual_row *row, size_t n)
{
    double *room                = malloc((n + 1) * sizeof *room);
    double  price[USUAL_COUNTS] = { NAN, NAN, NAN };
    prices  all;
    double  middle;
    size_t  m = 0;

    for (size_t i = 0; i < n; i++)
        row[i].deviation = 0;
    if (!room || n < USUAL_LEAST) {
        free(room);
        return room != NULL;
    }
    find_prices(row, n, room, &all);
    choose_prices(row, n, &all, room, price);
    for (size_t i = 0; i < n; i++)
        row[i].deviation = deviation_of(&row[i], price);
    for (size_t i = 0; i < n; i += n / ENOUGH + 1)
        room[m++] = row[i].deviation;
    middle = stats_quantile(room, m, 0.5);
    for (size_t i = 0; i < n; i++)
        row[i].deviation -= middle;
    free(room);
    return true;
}

/* FLOP, bytes and number of launches; for updates and all-reduces their own counts. */
static usual_row row_of(const point *pt, phase f)
{
    const net_metrics *m   = &pt->load.counts;
    usual_row          row = { .seconds = pt->seconds[f] };

    if (f == PHASE_SYNC) {
        row.count[0] = pt->load.bytes;
        row.count[1] = 1;
        row.count[2] = (double)pt->row->ranks;
    } else if (f == PHASE_UPDATE) {
        row.count[0] = (double)m->param_bytes;
        row.count[1] = (double)m->param_tensors + 1;
    } else {
        row.count[0] = phase_flops(m, f);
        row.count[1] = phase_bytes(m);
        row.count[2] = (double)m->layers + 1;
    }
    return row;
}

/* Phases whose times can be compared; steps of several ranks contain an all-reduce. */
typedef struct kin {
    obs_kind kind;
    phase    phase;
    bool     many;
} kin;

#define MOST_KINS (OBS_N_KINDS * (N_PHASES + 1))

/* All kinds of phases, each with its doubts. */
typedef struct judging {
    const points *p;
    kin           kin[MOST_KINS];
    doubts        found[MOST_KINS];
    size_t        n;
} judging;

static bool belongs(const point *pt, const kin *k)
{
    return pt->row->kind == k->kind && !isnan(pt->seconds[k->phase]) &&
           (k->phase != PHASE_STEP || (pt->row->ranks > 1) == k->many);
}

static bool judge_kin(const points *p, const kin *k, usual_row *row, doubts *out)
{
    const bool   wide    = k->phase == PHASE_SYNC || k->kind == OBS_LAYER;
    const double decades = wide ? DOUBT_DECADES_WIDE : DOUBT_DECADES;
    size_t       n       = 0;
    bool         done;

    for (size_t i = 0; i < p->n_points; i++)
        if (belongs(&p->point[i], k))
            row[n++] = row_of(&p->point[i], k->phase);
    done = usual_deviations(row, n);
    for (size_t i = 0, at = 0; i < p->n_points && done; i++) {
        const point *pt = &p->point[i];

        if (!belongs(pt, k))
            continue;
        if (fabs(row[at].deviation) > decades)
            done = doubts_add(out, &(doubt){ .kind    = DOUBT_TIME,
                                             .row     = pt->row,
                                             .at      = i,
                                             .phase   = k->phase,
                                             .line    = pt->line[k->phase],
                                             .seconds = pt->seconds[k->phase],
                                             .factor  = pow(10, row[at].deviation) });
        at++;
    }
    return done;
}

static lm_status judge_part(void *context, size_t part, lm_error *err)
{
    judging   *j    = context;
    usual_row *row  = malloc((j->p->n_points + 1) * sizeof *row);
    const bool done = row && judge_kin(j->p, &j->kin[part], row, &j->found[part]);

    free(row);
    return done ? LM_OK : no_memory(err);
}

lm_status judge_times(const points *p, doubts *out, lm_error *err)
{
    judging   j = { .p = p };
    lm_status status;

    for (obs_kind kind = 0; kind < OBS_N_KINDS; kind++)
        for (phase f = 0; f < N_PHASES; f++)
            for (int many = 0; many < (f == PHASE_STEP ? 2 : 1); many++)
                j.kin[j.n++] = (kin){ kind, f, many > 0 };
    status = parallel_for(j.n, judge_part, &j, err);
    for (size_t k = 0; k < j.n; k++) {
        for (size_t i = 0; i < j.found[k].n && !status; i++)
            status = doubts_add(out, &j.found[k].doubt[i]) ? LM_OK : no_memory(err);
        doubts_free(&j.found[k]);
    }
    return status;
}
