/* Repeated measurements of a run. */
#include "observe/repeats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/names.h"
#include "base/no_memory.h"
#include "base/stats.h"
#include "observe/flags.h"

#define KEY_BYTES 1200

/* Times of one configuration, in the order of the file. */
typedef struct repeat_series {
    size_t *row;
    size_t  n, room;
    size_t  n_anchors; /* number of anchors among them */
} repeat_series;

typedef struct finding {
    const observations *obs;
    repeat_series      *all;
    arena              *keys; /* names of the series */
    size_t              n, room;
    names               by_key;
    double             *value; /* memory for all rows, or pairs of anchors */
    double             *scratch;
} finding;

static uint32_t flags_of(const observation *r)
{
    uint32_t flags = 0;

    flags_parse(r->flags, &flags); /* was checked when the row was read */
    return flags;
}

/* The row that holds the time of its point, if this time is reliable. */
static bool counts(const observation *r)
{
    return !r->skipped && !(flags_of(r) & (FLAG_CONTENDED | FLAG_THROTTLED)) &&
           (r->kind == OBS_KERNEL || r->kind == OBS_COLLECTIVE || r->phase == PHASE_STEP);
}

/* Key with hosts and threads, which observation_key() lacks. */
static void key_of(const observation *r, char *key, size_t size)
{
    size_t n;

    observation_key(r, key, size);
    n = strlen(key);
    snprintf(key + n, size - n, " %lld %lld", (long long)r->hosts, (long long)r->threads);
}

static repeat_series *repeats_in(finding *f, const observation *r)
{
    char   key[KEY_BYTES + 48], *kept;
    size_t at;

    key_of(r, key, sizeof key);
    at = names_find(&f->by_key, key);
    if (at != NAMES_NONE)
        return &f->all[at];
    if (!array_grow(&f->all, f->n, &f->room, sizeof *f->all) ||
        !(kept = arena_text(f->keys, key, strlen(key))) || !names_add(&f->by_key, kept, f->n))
        return NULL;
    f->all[f->n] = (repeat_series){ .n = 0 };
    return &f->all[f->n++];
}

static bool collect(finding *f)
{
    for (size_t i = 0; i < f->obs->n_rows; i++) {
        const observation *r = &f->obs->row[i];
        repeat_series     *s;

        if (!counts(r))
            continue;
        if (!(s = repeats_in(f, r)) || !array_grow(&s->row, s->n, &s->room, sizeof *s->row))
            return false;
        s->row[s->n++] = i;
        s->n_anchors += (flags_of(r) & FLAG_ANCHOR) != 0;
    }
    return true;
}

static double seconds_at(const finding *f, const repeat_series *s, size_t i)
{
    return f->obs->row[s->row[i]].seconds;
}

/* Noise from differences of consecutive times: slow changes hardly affect it. */
static void find_noise(finding *f, repeats *out)
{
    size_t n = 0;

    for (size_t k = 0; k < f->n; k++)
        for (size_t i = 0; i + 1 < f->all[k].n; i++) {
            const double a = seconds_at(f, &f->all[k], i), b = seconds_at(f, &f->all[k], i + 1);

            f->value[n++] = fabs(a - b) / ((a + b) / 2);
        }
    out->n_noise = n;
    if (n >= REPEATS_LEAST)
        out->noise_floor = stats_quantile(f->value, n, 0.5);
}

static double median_of(finding *f, const repeat_series *s)
{
    for (size_t i = 0; i < s->n; i++)
        f->value[i] = seconds_at(f, s, i);
    return stats_quantile(f->value, s->n, 0.5);
}

/* Limit of a series: longer ones are thinned, because slopes of all pairs are n^2. */
#define SLOPES_MAX 400

static void find_drift(finding *f, const repeat_series *s, double median, repeats *out)
{
    const size_t step = s->n / SLOPES_MAX + 1;
    double       slope;
    size_t       n = 0;

    for (size_t i = 0; i < s->n; i += step)
        for (size_t j = i + step; j < s->n; j += step)
            f->scratch[n++] = (seconds_at(f, s, j) - seconds_at(f, s, i)) / (double)(j - i);
    slope = stats_quantile(f->scratch, n, 0.5);
    for (size_t i = 0; i < s->n; i++)
        f->value[i] = seconds_at(f, s, i) - slope * (double)i;
    out->drift       = slope * (double)(s->n - 1) / median;
    out->drift_noise = 1.4826 * stats_mad(f->value, f->scratch, s->n) / median;
}

/* Flags rows `first` to `end`: the machine was not in its usual state. */
static void mark(bool *drifted, size_t first, size_t end, bool off)
{
    for (size_t i = first; off && i < end; i++)
        drifted[i] = true;
}

static void find_drifted(const finding *f, const repeat_series *s, double median, bool *drifted,
                         const repeats *out)
{
    const double limit =
        fmax(DRIFT_LEAST, isnan(out->noise_floor) ? 0 : DRIFT_FLOORS * out->noise_floor);
    bool   off = false;
    size_t end = 0;

    for (size_t i = 0; i < s->n; i++) {
        const bool now = fabs(seconds_at(f, s, i) - median) > limit * median;

        mark(drifted, end, s->row[i] + 1, i ? off || now : now);
        off = now;
        end = s->row[i] + 1;
    }
    mark(drifted, end, f->obs->n_rows, off);
}

static const repeat_series *anchor(const finding *f)
{
    const repeat_series *best = NULL;

    for (size_t k = 0; k < f->n; k++)
        if (f->all[k].n >= 2 && f->all[k].n_anchors &&
            (!best || f->all[k].n_anchors > best->n_anchors))
            best = &f->all[k];
    return best;
}

static void finding_free(finding *f)
{
    for (size_t k = 0; k < f->n; k++)
        free(f->all[k].row);
    free(f->all);
    arena_free(f->keys);
    free(f->value);
    free(f->scratch);
    names_free(&f->by_key);
}

lm_status repeats_find(const observations *obs, bool *drifted, repeats *out, lm_error *err)
{
    const size_t         pairs = (size_t)SLOPES_MAX * SLOPES_MAX;
    finding              f     = { .obs = obs, .keys = arena_new() };
    const repeat_series *a;
    lm_status            status = LM_OK;

    *out      = (repeats){ .noise_floor = NAN, .drift = NAN, .drift_noise = NAN };
    f.value   = malloc((obs->n_rows + 1) * sizeof *f.value);
    f.scratch = malloc((obs->n_rows + pairs) * sizeof *f.scratch);
    if (!f.keys || !f.value || !f.scratch || !collect(&f)) {
        status = no_memory(err);
        goto out;
    }
    if (drifted)
        memset(drifted, 0, obs->n_rows * sizeof *drifted);
    find_noise(&f, out);
    if ((a = anchor(&f))) {
        const double median = median_of(&f, a);

        out->n_anchors = a->n;
        if (a->n > REPEATS_LEAST)
            find_drift(&f, a, median, out);
        if (drifted)
            find_drifted(&f, a, median, drifted, out);
    }
    for (size_t i = 0; i < obs->n_rows; i++)
        out->n_drifted += drifted ? drifted[i] : (flags_of(&obs->row[i]) & FLAG_DRIFTED) != 0;
out:
    finding_free(&f);
    return status;
}
