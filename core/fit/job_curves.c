/* Curves of jobs, from whole steps alone. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/names.h"
#include "base/no_memory.h"
#include "fit/exposed/exposed.h"
#include "fit/shared.h"

/* Has the point only the time of the whole step? */
static bool is_whole(const point *pt)
{
    return pt->row->kind == OBS_NETWORK && isnan(pt->seconds[PHASE_FORWARD]) &&
           isnan(pt->beside[PHASE_BACKWARD]) && isnan(pt->together[PHASE_BACKWARD]);
}

static double step_of(const point *pt)
{
    return *pt->row->layout       ? pt->accumulated
           : point_in_buckets(pt) ? pt->beside[PHASE_STEP]
                                  : pt->seconds[PHASE_STEP];
}

static int64_t micro_of(const point *pt)
{
    return pt->row->accumulation ? pt->row->accumulation : 1;
}

static bool same_job(const point *a, const point *b)
{
    return a->row->kind == b->row->kind && !strcmp(a->row->name, b->row->name) &&
           !strcmp(a->input, b->input);
}

/* Collects the steps of a point's job and returns their number; 0 if a step has times of parts, or
 * if the job has an earlier point. */
static size_t rows_of(const points *p, size_t first, job_row *row)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_points; i++) {
        const point  *pt      = &p->point[i];
        const int64_t devices = shared_devices(pt->row);

        if (!same_job(pt, &p->point[first]))
            continue;
        if (i < first || !is_whole(pt))
            return 0;
        if (pt->row->batch > 0 && pt->row->ranks % devices == 0 && step_of(pt) > 0)
            row[n++] = (job_row){ .batch   = pt->row->batch,
                                  .micro   = micro_of(pt),
                                  .hosts   = pt->row->ranks / devices,
                                  .devices = devices,
                                  .seconds = step_of(pt) };
    }
    return n;
}

static bool several_ranks(const job_row *row, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (row[i].hosts * row[i].devices != row[0].hosts * row[0].devices)
            return true;
    return false;
}

/* Notes the job's steps of one micro-step, also those on several ranks, as measured. */
static lm_status note_measured(const points *p, size_t first, const char *name, calibration *cal,
                               lm_error *err)
{
    for (size_t i = first; i < p->n_points; i++) {
        const point      *pt = &p->point[i];
        const measured_at at = { name, pt->input, pt->row->batch, pt->row->ranks };

        if (same_job(pt, &p->point[first]) && micro_of(pt) == 1 && at.batch > 0 &&
            step_of(pt) > 0 && !measured_add(&cal->measured, &at))
            return no_memory(err);
    }
    return LM_OK;
}

/* Jobs seen so far. */
typedef struct jobs {
    names  seen;
    arena *keys;
} jobs;

/* Is it the first whole step of its job? */
static lm_status begins_job(jobs *j, const point *pt, bool *first, lm_error *err)
{
    char        key[PATH_MAX + 80];
    const char *kept;

    *first = false;
    if (!is_whole(pt))
        return LM_OK;
    snprintf(key, sizeof key, "%s %s", pt->input, pt->row->name);
    if (names_find(&j->seen, key) != NAMES_NONE)
        return LM_OK;
    kept = arena_text(j->keys, key, strlen(key));
    if (!kept || !names_add(&j->seen, kept, 0))
        return no_memory(err);
    *first = true;
    return LM_OK;
}

static lm_status add_curve(const points *p, size_t first, job_row *row, calibration *cal,
                           lm_error *err)
{
    const point *pt = &p->point[first];
    const size_t n  = rows_of(p, first, row);
    char         name[PATH_MAX];
    job_curve    found;
    lm_status    status;

    if (!several_ranks(row, n) || !network_name_key(pt->row->name, name, sizeof name))
        return LM_OK;
    if ((status = job_curve_fit(row, n, &found, err)) ||
        (status = job_curves_add(&cal->curves, name, pt->input, &found, err)))
        return status;
    return note_measured(p, first, name, cal, err);
}

lm_status job_curves_fit(const points *p, calibration *cal, lm_error *err)
{
    jobs      met    = { .keys = arena_new() };
    job_row  *row    = malloc((p->n_points + 1) * sizeof *row);
    lm_status status = row && met.keys ? LM_OK : no_memory(err);

    for (size_t i = 0; i < p->n_points && !status; i++) {
        bool first;

        status = begins_job(&met, &p->point[i], &first, err);
        if (!status && first)
            status = add_curve(p, i, row, cal, err);
    }
    names_free(&met.seen);
    arena_free(met.keys);
    free(row);
    return status;
}
