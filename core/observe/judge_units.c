/* Are times in seconds, and powers in watts? */
#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "device/device.h"
#include "observe/judge.h"

/* Lowest plausible rate, FLOP/s: one core of a small board has 1e9. */
#define FLOPS_BELOW 1e7
/* The same for the best of the large points, because slow machines do not train large networks.
 * Memory of small boards moves 2e9 bytes/s. */
#define LARGE_FLOPS      1e9
#define LARGE_FLOPS_BEST 3e8
#define LARGE_BYTES      4e6
#define LARGE_BYTES_BEST 8e8
/* The same for a known device. Fast algorithms of convolutions save up to four of five products. In
 * a file of several points the best exceed this share of the f32 peak. */
#define PEAKS_ABOVE 5.0
#define PEAKS_BELOW 1e-3
#define PEAKS_LEAST 8 /* number of times */

/* An update reads weights, gradients and its state, and writes the changes: a pass over the weights
 * is about this share of its traffic. */
#define UPDATE_SHARE 0.25

/* Rates of a phase: quantiles of FLOP/s. */
typedef struct speed {
    phase  phase;
    size_t n;
    double median, best; /* log10; NAN: not known */
} speed;

static bool whole_network(const point *pt, phase f)
{
    return observation_of_network(pt->row) && !isnan(pt->seconds[f]) &&
           !(f == PHASE_STEP && pt->row->ranks > 1);
}

static speed speed_of(const points *p, phase f, double *room)
{
    speed s = { .phase = f, .median = NAN, .best = NAN };

    for (size_t i = 0; i < p->n_points; i++) {
        const point       *pt   = &p->point[i];
        const net_metrics *m    = &pt->load.counts;
        double             work = 0;

        if (!whole_network(pt, f))
            continue;
        if (f != PHASE_UPDATE)
            work = phase_flops(m, f);
        else if (m->read_bytes) /* FLOPs of the passes while they move so many bytes */
            work = (double)m->param_bytes / UPDATE_SHARE * phase_flops(m, PHASE_FORWARD) /
                   (phase_bytes(m) / 3);
        if (work > 0)
            room[s.n++] = log10(work / pt->seconds[f]);
    }
    if (s.n) {
        s.median = stats_quantile(room, s.n, 0.5);
        s.best   = stats_quantile(room, s.n, 0.95);
    }
    return s;
}

/* Peaks of the device in its fastest element type and in f32, and its power limit; NAN: unknown. */
static lm_status device_peaks(const observations *obs, double *most, double *f32, double *watts,
                              lm_error *err)
{
    double          figure[N_DEVICE_FIGURES];
    const lm_status status = device_figures(observations_provenance(obs, "device"), figure, err);

    *most  = NAN;
    *f32   = figure[DEVICE_F32];
    *watts = figure[DEVICE_POWER];
    for (device_figure f = DEVICE_F64; f <= DEVICE_F8; f++)
        *most = fmax(*most, figure[f]);
    return status;
}

/* Highest rate of work among large points; NAN: no large points. */
static double best_of(const points *p, phase f)
{
    double best = NAN;

    for (size_t i = 0; i < p->n_points; i++) {
        const point       *pt   = &p->point[i];
        const net_metrics *m    = &pt->load.counts;
        const bool         copy = f == PHASE_UPDATE;
        const double       work = copy ? (double)m->param_bytes / UPDATE_SHARE : phase_flops(m, f);

        if (whole_network(pt, f) &&
            (copy ? (double)m->param_bytes : work) >= (copy ? LARGE_BYTES : LARGE_FLOPS))
            best = fmax(best, work / pt->seconds[f]);
    }
    return best;
}

static bool judge_file(const points *p, const speed *s, double most, double f32, doubts *out)
{
    const double median = pow(10, s->median);
    const double passes = best_of(p, s->phase), updates = best_of(p, PHASE_UPDATE);
    doubt        d = { .kind = DOUBT_FILE, .phase = s->phase, .factor = median, .peak = NAN };

    if (median > PEAKS_ABOVE * most)
        d.peak = most;
    else if (s->n >= PEAKS_LEAST && pow(10, s->best) < PEAKS_BELOW * f32)
        d.peak = f32;
    else if (updates < LARGE_BYTES_BEST && !(passes >= LARGE_FLOPS_BEST))
        d = (doubt){ .kind = DOUBT_FILE, .phase = PHASE_UPDATE, .factor = updates, .peak = NAN };
    else if (!(median > DOUBT_FLOPS || median < FLOPS_BELOW || passes < LARGE_FLOPS_BEST))
        return true;
    return doubts_add(out, &d);
}

/* Compares each phase with the others. At least three phases, because of two either may be
 * wrong. */
static bool judge_phases(const speed *all, size_t n, doubts *out)
{
    double median[N_PHASES], middle;
    bool   done = true;

    for (size_t i = 0; i < n; i++)
        median[i] = all[i].median;
    middle = n > 2 ? stats_quantile(median, n, 0.5) : n ? all[0].median : NAN;
    for (size_t i = n > 2 ? 0 : 1; i < n && done; i++) {
        const bool update =
            all[i].phase == PHASE_UPDATE || (n == 2 && all[0].phase == PHASE_UPDATE);
        const double off = middle - all[i].median;

        if (fabs(off) > (update ? DOUBT_DECADES_UPDATE : DOUBT_DECADES))
            done = doubts_add(out, &(doubt){ .kind   = DOUBT_PHASE,
                                             .phase  = all[i].phase,
                                             .beside = n > 2 ? N_PHASES : all[0].phase,
                                             .factor = pow(10, off) });
    }
    return done;
}

/* Limits of plausible watts: a wafer draws 23,000, one core of a small board a few tenths. For a
 * known device: shares of its limit that means over several repetitions do not exceed. */
#define WATTS_ABOVE       30000.0
#define WATTS_BELOW       0.1
#define WATTS_SHARE_ABOVE 2.0
#define WATTS_SHARE_BELOW 0.02

static bool judge_power(const observations *obs, double limit, doubts *out)
{
    double *room = malloc((obs->n_rows + 1) * sizeof *room);
    size_t  n    = 0;
    double  watts;
    bool    done = room != NULL;

    for (size_t i = 0; i < obs->n_rows && done; i++)
        if (obs->row[i].power_w > 0)
            room[n++] = obs->row[i].power_w;
    watts = n ? stats_quantile(room, n, 0.5) : NAN;
    if (watts > WATTS_ABOVE || watts < WATTS_BELOW || watts > WATTS_SHARE_ABOVE * limit ||
        watts < WATTS_SHARE_BELOW * limit)
        done = done &&
               doubts_add(out, &(doubt){ .kind = DOUBT_POWER, .factor = watts, .peak = limit });
    free(room);
    return done;
}

lm_status judge_units(const observations *obs, const points *p, doubts *out, lm_error *err)
{
    static const phase order[] = { PHASE_FORWARD, PHASE_INFERENCE, PHASE_BACKWARD, PHASE_STEP,
                                   PHASE_UPDATE };
    double            *room    = malloc((p->n_points + 1) * sizeof *room);
    speed              all[N_PHASES];
    size_t             n    = 0;
    double             most = NAN, f32 = NAN, watts = NAN;
    lm_status          status = room ? device_peaks(obs, &most, &f32, &watts, err) : no_memory(err);

    for (size_t i = 0; i < sizeof order / sizeof order[0] && room; i++) {
        all[n] = speed_of(p, order[i], room);
        n += all[n].n > 0;
    }
    free(room);
    if (!status && n && all[0].phase != PHASE_UPDATE && !judge_file(p, &all[0], most, f32, out))
        status = no_memory(err);
    if (!status && (!judge_phases(all, n, out) || !judge_power(obs, watts, out)))
        status = no_memory(err);
    return status;
}
