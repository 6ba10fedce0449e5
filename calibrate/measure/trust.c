/* Whether the numbers of a run can be trusted. */
#include "measure/trust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/order.h"
#include "measure/harness.h"

/* State of a point of the sweep. */
typedef struct history {
    int64_t tries;   /* measured so often, earlier runs included */
    double  cost;    /* timed seconds of the last try; 0: not in this run */
    double  once;    /* seconds of one repetition, if it is one that could be the anchor; else 0 */
    double  stretch; /* of the best try; NAN: unknown */
    bool    flagged; /* all tries so far */
    bool    first_flagged;
} history;

struct trust {
    trust_limits limits;
    history     *point;
    size_t       n_points;
    double       spent, on_retries, since_anchor; /* timed seconds */
    size_t       anchor;                          /* TRUST_NONE: not repeated yet */
    size_t       n_judged, n_flagged, n_retries;
    bool         waits_unknown;
    double       clock_best; /* of this rank; NAN: unknown */
    double      *ratio;      /* this rank's time over the median rank's, point by point */
    size_t       n_ratios, ratio_room;
};

trust *trust_new(const trust_limits *limits, size_t n_points)
{
    trust *t = calloc(1, sizeof *t);

    if (!t || !(t->point = calloc(n_points + 1, sizeof *t->point))) {
        free(t);
        return NULL;
    }
    t->limits     = *limits;
    t->n_points   = n_points;
    t->anchor     = TRUST_NONE;
    t->clock_best = NAN;
    return t;
}

void trust_free(trust *t)
{
    if (!t)
        return;
    free_all(t->point, t->ratio, t);
}

/* ---- every rank ---- */

ORDER_BY_VALUE(compare, double)

/* The lower median, so that of two ranks the slower one stands out against the other. */
static double median_rank(double *seconds, size_t n)
{
    qsort(seconds, n, sizeof *seconds, compare);
    return seconds[(n - 1) / 2];
}

/* This rank's time over the median rank's; NAN: there is nothing to compare. */
static double compare_ranks(const world *group, double own)
{
    const size_t n     = (size_t)world_size(group);
    double      *all   = n > 1 ? malloc(n * sizeof *all) : NULL;
    double       ratio = NAN, ready = all || n == 1, told = -ready;

    world_max(group, &told, 1); /* a rank without memory must not be waited for */
    if (told < 0 && n > 1) {
        world_gather(group, &own, sizeof own, all);
        ratio = own / median_rank(all, n);
    }
    free(all);
    return ratio;
}

static void keep_ratio(trust *t, double ratio)
{
    if (!isfinite(ratio))
        return;
    if (t->n_ratios == t->ratio_room) {
        const size_t room = t->ratio_room ? 2 * t->ratio_room : 64;
        double      *more = realloc(t->ratio, room * sizeof *more);

        if (!more)
            return; /* the comparison goes on with the points it has */
        t->ratio      = more;
        t->ratio_room = room;
    }
    t->ratio[t->n_ratios++] = ratio;
}

void trust_judge(trust *t, const world *group, const condition_report *mine, point_result *r)
{
    const bool computes  = isfinite(mine->own_seconds);
    bool       throttled = mine->throttled;
    double     worst[4];

    if (computes && mine->seconds >= TRUST_CLOCK_SECONDS && !isnan(mine->clock_mhz)) {
        t->clock_best = fmax(t->clock_best, mine->clock_mhz);
        throttled |= !mine->heat_told && mine->clock_mhz < TRUST_CLOCK * t->clock_best;
    }
    worst[0] = isnan(mine->stretch) ? 0 : mine->stretch;
    worst[1] = throttled;
    worst[2] = isnan(mine->clock_mhz) ? -HUGE_VAL : -mine->clock_mhz;
    worst[3] = computes && mine->waits_untold;
    world_max(group, worst, 4);
    r->stretch   = worst[0] > 0 ? worst[0] : (double)NAN;
    r->clock_mhz = isfinite(worst[2]) ? -worst[2] : (double)NAN;
    r->flags |=
        (worst[0] > TRUST_CONTENDED ? FLAG_CONTENDED : 0u) | (worst[1] > 0 ? FLAG_THROTTLED : 0u);
    t->waits_unknown |= worst[3] > 0;
    if (computes)
        keep_ratio(t, compare_ranks(group, mine->own_seconds));
}

/* ---- rank 0 ---- */

void trust_recall(trust *t, size_t point, int64_t tries, bool is_anchor)
{
    t->point[point].tries   = tries;
    t->point[point].stretch = NAN;
    t->point[point].flagged = tries > 0;
    if (is_anchor) {
        t->anchor       = point;
        t->since_anchor = HUGE_VAL; /* what changed since that run? */
    }
}

void trust_note(trust *t, size_t at, const sweep_point *p, const point_result *r)
{
    history   *h       = &t->point[at];
    const bool flagged = (r->flags & FLAGS_PASSING) != 0;
    const bool again   = h->tries > 0;

    if (r->flags & FLAG_ANCHOR) {
        t->anchor       = at;
        t->since_anchor = 0;
        t->spent += r->spent;
        h->cost = r->spent;
        return;
    }
    t->spent += r->spent;
    t->since_anchor += r->spent;
    t->n_judged += !again;
    t->n_flagged += flagged && !again;
    t->n_retries += again;
    t->on_retries += again ? r->spent : 0;
    h->flagged = flagged && (h->flagged || !again);
    h->stretch = again ? fmin(h->stretch, r->stretch) : r->stretch;
    h->cost    = r->spent;
    h->tries++;
    if (p->row.kind != OBS_COLLECTIVE && r->repeats > 0 && !flagged)
        h->once = r->spent / (double)r->repeats;
}

/* Share of the run's time that the closing repetition may take. */
#define CLOSING_SHARE 0.1

/* How far a time is from that of a good anchor, as a factor's logarithm. */
static double distance(const trust *t, double seconds)
{
    return fabs(log(seconds / t->limits.anchor_seconds));
}

/* The best anchor so far that costs no more than this. */
static size_t propose_anchor(const trust *t, double most)
{
    size_t best = TRUST_NONE;

    for (size_t i = 0; i < t->n_points; i++) {
        const history *h = &t->point[i];

        if (h->once > 0 && h->cost <= most &&
            (best == TRUST_NONE || distance(t, h->once) < distance(t, t->point[best].once)))
            best = i;
    }
    return best;
}

#define GOOD_FACTOR 2.0
#define PATIENCE    100 /* anchor_seconds without a good one */

size_t trust_anchor_due(const trust *t, bool closing)
{
    const double share = closing ? fmax(CLOSING_SHARE, t->limits.anchor_share) : 0;
    const double most  = closing ? share * t->spent : t->limits.anchor_share * t->since_anchor;
    size_t       at    = t->anchor;
    bool         good;

    if (t->limits.anchor_share <= 0 || t->since_anchor <= 0 ||
        (closing && !isfinite(t->since_anchor)))
        return TRUST_NONE;
    if (at != TRUST_NONE)
        return t->point[at].cost <= most ? at : TRUST_NONE;
    at = propose_anchor(t, most);
    if (at == TRUST_NONE)
        return TRUST_NONE;
    good = distance(t, t->point[at].once) <= log(GOOD_FACTOR);
    return good || closing || t->spent >= PATIENCE * t->limits.anchor_seconds ? at : TRUST_NONE;
}

size_t trust_retry(const trust *t, double seconds_left)
{
    const double room = fmin(t->limits.retry_share * t->spent - t->on_retries, seconds_left);
    size_t       best = TRUST_NONE;

    for (size_t i = 0; i < t->n_points; i++) {
        const history *h = &t->point[i];

        if (!h->flagged || h->tries > t->limits.retries || h->cost > room || h->cost <= 0)
            continue;
        /* the points with the fewest tries first; of these the most disturbed */
        if (best == TRUST_NONE || h->tries < t->point[best].tries ||
            (h->tries == t->point[best].tries && h->stretch > t->point[best].stretch))
            best = i;
    }
    return best;
}

/* ---- what came out ---- */

/* Fewer points say nothing of a rank. */
#define RATIOS_LEAST 3

/* Names the ranks that are slow by their ratio. */
static void name_slow(const double *ratio, char (*host)[WORLD_HOST], size_t n, trust_summary *out)
{
    for (size_t i = 0; i < n; i++) {
        slow_rank *s = &out->slow[out->n_slow];

        if (ratio[i] <= TRUST_SLOW_RANK)
            continue;
        s->rank  = (int)i;
        s->ratio = ratio[i];
        memcpy(s->host, host[i], sizeof s->host);
        out->n_slow++;
    }
}

/* This rank's ratio over all compared points; 0: too few points. */
static double own_ratio(const trust *t, double *scratch)
{
    if (t->n_ratios < RATIOS_LEAST)
        return 0;
    memcpy(scratch, t->ratio, t->n_ratios * sizeof *scratch);
    return median_rank(scratch, t->n_ratios);
}

lm_status trust_summarise(const trust *t, const world *everyone, trust_summary *out, lm_error *err)
{
    const size_t n          = (size_t)world_size(everyone);
    double      *ratio      = malloc(n * sizeof *ratio);
    double      *scratch    = malloc((t->n_ratios + 1) * sizeof *scratch);
    char(*host)[WORLD_HOST] = calloc(n, sizeof *host);
    double best             = isnan(t->clock_best) ? 0 : t->clock_best, ready;

    *out = (trust_summary){
        .found              = { .noise_floor = NAN, .drift = NAN, .drift_noise = NAN },
        .n_points           = t->n_judged,
        .n_flagged          = t->n_flagged,
        .n_retries          = t->n_retries,
        .contention_unknown = t->waits_unknown,
        .clock_best_mhz     = NAN,
        .slow               = calloc(n, sizeof *out->slow),
    };
    for (size_t i = 0; i < t->n_points; i++)
        out->n_left += t->point[i].flagged;
    ready = ratio && scratch && host && out->slow ? -1 : 0;
    world_max(everyone, &ready, 1); /* a rank without memory must not be waited for */
    if (ready < 0) {
        const double mine = own_ratio(t, scratch);

        world_gather(everyone, &mine, sizeof mine, ratio);
        world_hosts_of(everyone, host);
        name_slow(ratio, host, n > 1 ? n : 0, out);
        world_max(everyone, &best, 1);
        out->clock_best_mhz = best > 0 ? best : (double)NAN;
    }
    free_all(ratio, scratch, host);
    return ready < 0 ? LM_OK : no_memory(err);
}

void trust_summary_free(trust_summary *s)
{
    free(s->slow);
    s->slow   = NULL;
    s->n_slow = 0;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void print_repeats(const repeats *r, FILE *out)
{
    if (isnan(r->noise_floor))
        fprintf(out, "noise floor: unknown, too few points were measured more than once\n");
    else
        fprintf(out,
                "noise floor: the same thing measured again differs by %.1f %% (median of %zu)\n",
                100 * r->noise_floor, r->n_noise);
    if (isnan(r->drift))
        fprintf(out, "drift: unknown, the anchor was measured %zu time%s\n", r->n_anchors,
                plural(r->n_anchors));
    else
        fprintf(out, "drift: %+.1f %% over the run, +- %.1f %% (anchor measured %zu times)\n",
                100 * r->drift, 100 * r->drift_noise, r->n_anchors);
    if (r->n_drifted)
        fprintf(out, "drift: %zu row%s flagged drifted, between anchors that are off\n",
                r->n_drifted, r->n_drifted == 1 ? " is" : "s are");
}

static void print_slow(const trust_summary *s, FILE *out)
{
    for (size_t i = 0; i < s->n_slow; i++)
        fprintf(out, "slow rank: rank %d on %s needs %.2f times as long as the median rank\n",
                s->slow[i].rank, s->slow[i].host, s->slow[i].ratio);
}

void trust_print(const trust_summary *s, bool only_wrong, FILE *out)
{
    print_slow(s, out);
    if (only_wrong)
        return;
    fprintf(out, "disturbed: %zu of %zu point%s, %zu measured again, %zu still so\n", s->n_flagged,
            s->n_points, plural(s->n_points), s->n_retries, s->n_left);
    if (s->contention_unknown)
        fprintf(out, "disturbed: unknown where the system does not tell who waits for a core "
                     "(/proc/self/schedstat)\n");
    print_repeats(&s->found, out);
    if (!isnan(s->clock_best_mhz))
        fprintf(out, "clock: up to %.0f MHz\n", s->clock_best_mhz);
}
