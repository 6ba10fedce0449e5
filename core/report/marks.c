/* Measured steps beside predicted curves. */
#include "report/marks.h"

#include <string.h>

#include "observe/workloads.h"

/* Input in use of the network that was asked for, or of a row. */
static lm_status input_of(const predictor *who, const char *input, const char **out, lm_error *err)
{
    const workload_name of = { .name = who->network, .input = input, .dtype = who->dtype };

    return workloads_input(who->loads, &of, out, err);
}

static lm_status is_asked_for(const observation *row, const predictor *who, bool inference,
                              bool *out, lm_error *err)
{
    const char *asked = NULL, *measured = NULL;
    lm_status   status;

    *out = row->kind == OBS_NETWORK && !row->skipped && row->dtype == who->dtype &&
           row->phase == (inference ? PHASE_INFERENCE : PHASE_STEP) &&
           !strcmp(row->name, who->network);
    if (!*out)
        return LM_OK;
    if (!(status = input_of(who, who->input, &asked, err)) &&
        !(status = input_of(who, row->input, &measured, err)))
        *out = !strcmp(asked, measured);
    return status;
}

/* The point of the row's nodes, devices and batch; NULL: there is none. */
static const scale_point *point_of(const observation *row, const scale_point *point, size_t n)
{
    const int64_t ranks = row->ranks ? row->ranks : 1, hosts = row->hosts ? row->hosts : 1;

    for (size_t i = 0; i < n; i++) {
        const prediction *s = &point[i].step;

        if (s->nodes == hosts && s->nodes * s->devices == ranks && s->batch == row->batch &&
            point[i].accumulation <= 1)
            return &point[i];
    }
    return NULL;
}

lm_status measured_marks(const observations *obs, const predictor *who, bool inference,
                         const scale_point *point, size_t n, measured_mark *out, size_t *n_out,
                         lm_error *err)
{
    *n_out = 0;
    for (size_t i = 0; i < obs->n_rows; i++) {
        const observation *row = &obs->row[i];
        const scale_point *at  = point_of(row, point, n);
        bool               asked;
        const lm_status    status = is_asked_for(row, who, inference, &asked, err);

        if (status)
            return lm_error_prefix(err, "%s:%d", obs->path, row->line), status;
        if (asked && at)
            out[(*n_out)++] =
                (measured_mark){ .nodes              = at->step.nodes,
                                 .batch              = at->step.batch,
                                 .samples_per_second = (double)at->global_batch / row->seconds };
    }
    return LM_OK;
}
