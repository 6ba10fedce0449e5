/* Pairs of runs of one workload. */
#include "crossgpu/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/no_memory.h"

void pairs_free(pairs *p)
{
    if (!p)
        return;
    space_free(&p->s);
    free_all(p->gpu, p->of, p->x, p->device, p->row, p->group, p);
}

size_t pairs_n_features(const pairs *p)
{
    return space_n_run(&p->s) + space_n_pair(&p->s);
}

void pairs_features(const pairs *p, const pair_row *row, double *out)
{
    const size_t n = space_n_run(&p->s), m = space_n_pair(&p->s);

    memcpy(out, p->x + row->from * n, n * sizeof *out);
    memcpy(out + n, p->device + row->pair * m, m * sizeof *out);
}

/* ---- who ------------------------------------------------------------------------------------- */

/* Two spellings of a device are one. */
static size_t gpu_number(const pairs *p, const char *name)
{
    size_t i = 0;

    while (i < p->n_gpus && !device_same_name(p->gpu[i].name, name))
        i++;
    return i;
}

static lm_status find_gpus(pairs *p, const device_list *devices, lm_error *err)
{
    lm_status status;

    for (size_t i = 0; i < p->r->n; i++) {
        const gpu_run *of = &p->r->run[i];

        p->of[i] = gpu_number(p, of->gpu);
        if (p->of[i] < p->n_gpus)
            continue;
        if (p->n_gpus == GPUS_MAX)
            return lm_error_set(err, LM_E_UNSUPPORTED, "%s:%d: more than %d GPUs", p->r->path,
                                of->line, GPUS_MAX);
        if ((status = gpu_find(devices, of->gpu, &p->gpu[p->n_gpus], err))) {
            lm_error_prefix(err, "%s:%d: gpu", p->r->path, of->line);
            return status;
        }
        p->n_gpus++;
    }
    if (p->n_gpus < 2)
        return lm_error_set(err, LM_E_ARG,
                            "%s: all runs are on one GPU, '%s': what another does is learned from "
                            "the same workloads on both",
                            p->r->path, p->gpu[0].name);
    return LM_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Runs of the workload that begins at `at`. */
static size_t same_workload(const pairs *p, const gpu_run *const *order, size_t at)
{
    size_t n = 1;

    while (at + n < p->r->n && !strcmp(order[at]->workload, order[at + n]->workload))
        n++;
    return n;
}

static size_t count_pairs(const pairs *p, const gpu_run *const *order)
{
    size_t n = 0, same;

    for (size_t i = 0; i < p->r->n; i += same) {
        same = same_workload(p, order, i);
        if (*order[i]->workload)
            n += same * (same - 1);
    }
    return n;
}

static void add_row(pairs *p, size_t from, size_t to, size_t group)
{
    const gpu_run *r = p->r->run;

    if (p->of[from] != p->of[to])
        p->row[p->n++] = (pair_row){ .from      = from,
                                     .to        = to,
                                     .pair      = p->of[from] * p->n_gpus + p->of[to],
                                     .group     = group,
                                     .log_ratio = log(r[to].seconds / r[from].seconds) };
}

/* Runs of a workload stand together in `order`. */
static lm_status make_rows(pairs *p, const gpu_run *const *order, lm_error *err)
{
    names     groups = { .n = 0 };
    lm_status status = LM_OK;
    size_t    same;

    for (size_t i = 0; i < p->r->n && !status; i += same) {
        size_t group = names_find(&groups, order[i]->group);

        same = same_workload(p, order, i);
        if (!*order[i]->workload || same < 2)
            continue;
        if (group == NAMES_NONE) {
            group           = p->n_groups++;
            p->group[group] = order[i]->group;
            if (!names_add(&groups, order[i]->group, group))
                status = no_memory(err);
        }
        for (size_t a = 0; a < same; a++)
            for (size_t b = 0; b < same; b++)
                add_row(p, (size_t)(order[i + a] - p->r->run), (size_t)(order[i + b] - p->r->run),
                        group);
    }
    names_free(&groups);
    return status;
}

static int by_workload(const void *a, const void *b)
{
    const gpu_run *x = *(const gpu_run *const *)a, *y = *(const gpu_run *const *)b;
    const int      c = strcmp(x->workload, y->workload);

    return c ? c : (x > y) - (x < y);
}

static lm_status find_rows(pairs *p, lm_error *err)
{
    const gpu_run **order  = malloc(p->r->n * sizeof *order);
    lm_status       status = order ? LM_OK : no_memory(err);

    for (size_t i = 0; i < p->r->n && order; i++)
        order[i] = &p->r->run[i];
    if (order) {
        qsort(order, p->r->n, sizeof *order, by_workload);
        p->row   = calloc(count_pairs(p, order) + 1, sizeof *p->row);
        p->group = calloc(p->r->n, sizeof *p->group);
        status   = p->row && p->group ? make_rows(p, order, err) : no_memory(err);
    }
    free(order);
    if (!status && !p->n)
        status = lm_error_set(
            err, LM_E_ARG,
            "%s: no workload ran on two GPUs: give the same work the same text in the column 'workload'",
            p->r->path);
    return status;
}

/* ---- features -------------------------------------------------------------------------------- */

static lm_status features_of_runs(pairs *p, lm_error *err)
{
    size_t   *place  = malloc((p->s.n_metrics + 1) * sizeof *place);
    lm_status status = place ? space_place(&p->s, p->r, place, err) : no_memory(err);

    for (size_t i = 0; i < p->r->n && !status; i++)
        status = space_run(&p->s, p->r, &p->r->run[i], place, &p->gpu[p->of[i]],
                           p->x + i * space_n_run(&p->s), err);
    free(place);
    return status;
}

static lm_status features_of_devices(pairs *p, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t a = 0; a < p->n_gpus && !status; a++)
        for (size_t b = 0; b < p->n_gpus && !status; b++)
            status = space_pair(&p->s, &p->gpu[a], &p->gpu[b],
                                p->device + (a * p->n_gpus + b) * space_n_pair(&p->s), err);
    return status;
}

static lm_status make_features(pairs *p, unsigned groups, lm_error *err)
{
    lm_status status = space_of(p->r, p->gpu, p->of, p->n_gpus, groups, &p->s, p->left_out,
                                sizeof p->left_out, err);

    if (status)
        return status;
    p->x      = calloc(p->r->n * space_n_run(&p->s), sizeof *p->x);
    p->device = calloc(p->n_gpus * p->n_gpus * space_n_pair(&p->s) + 1, sizeof *p->device);
    if (!p->x || !p->device)
        return no_memory(err);
    status = features_of_runs(p, err);
    return status ? status : features_of_devices(p, err);
}

lm_status pairs_of(const runs *r, const device_list *devices, unsigned features, pairs **out,
                   lm_error *err)
{
    pairs    *p      = calloc(1, sizeof *p);
    lm_status status = p ? LM_OK : no_memory(err);

    if (!status) {
        p->r   = r;
        p->gpu = calloc(GPUS_MAX, sizeof *p->gpu);
        p->of  = calloc(r->n, sizeof *p->of);
        status = p->gpu && p->of ? find_gpus(p, devices, err) : no_memory(err);
    }
    if (!status && !(status = find_rows(p, err)))
        status = make_features(p, features, err);
    if (status)
        pairs_free(p);
    else
        *out = p;
    return status;
}
