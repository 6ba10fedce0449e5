/* Seconds of a step over batches and nodes. */
#include "predict/surface.h"

#include <math.h>
#include <stdlib.h>

/* Adds a contribution: of the nodes, or of what grows with the batch. */
static void add(surface_side *side, const contribution *c, bool in_features, double times)
{
    if (!in_features || !feature_of_nodes((feature)c->regressor)) {
        side->first += times * c->seconds;
        return;
    }
    for (size_t i = 0; i < side->n; i++)
        if (side->node[i].of == (feature)c->regressor) {
            side->node[i].coefficient += c->c->value;
            return;
        }
    side->node[side->n].of            = (feature)c->regressor;
    side->node[side->n++].coefficient = c->c->value;
}

static surface_side side_at(const predictor *who, const workload *load, bool many, double micro)
{
    surface_side side = { .first = 0 };
    part         parts[4];
    const size_t n = predict_parts(who, many, parts);

    for (size_t i = 0; i < n; i++) {
        const size_t at = form_find(who->model, parts[i]);
        const double times =
            parts[i] == PART_FORWARD || parts[i] == PART_BACKWARD || parts[i] == PART_STEP ? micro
                                                                                           : 1;
        contribution room[MAX_CONTRIBUTIONS];
        size_t       found = 0;

        if (parts[i] == PART_SYNC && calibration_asks(who->cal, who->model))
            continue;
        if (at < n_forms && who->cal->fitted[at].present)
            found = calibration_contributions(who->cal, at, load, room);
        if (!found)
            side.first = NAN;
        for (size_t k = 0; k < found; k++)
            add(&side, &room[k], forms[at].n_features > 0, times);
    }
    return side;
}

lm_status step_surface_of(const predictor *who, const step_setup *s, step_surface *out,
                          lm_error *err)
{
    const int64_t  batch   = s->batch;
    const double   micro   = (double)s->sync.accumulation;
    full_workload *load    = malloc(2 * sizeof *load);
    step_surface   surface = { .batch = 0 };
    bool           even    = false;
    lm_status      status =
        load ? workloads_even(who->loads, who->network, who->input, who->dtype, &even, err)
                  : lm_error_set(err, LM_E_NOMEM, "out of memory");

    if (!status)
        status = predict_load(who, even ? 1 : batch, s->optimizer, &load[0], err);
    if (!status)
        status = predict_load(who, even ? 2 : batch, s->optimizer, &load[1], err);
    for (int many = 0; many < 2 && !status; many++) {
        surface.side[many] = side_at(who, &load[0].load, many, micro);
        surface.side[many].more =
            side_at(who, &load[1].load, many, micro).first - surface.side[many].first;
    }
    if (!status) {
        surface.bytes   = step_setup_bytes(s, &load[0].load);
        surface.batch   = even ? 0 : batch;
        surface.micro   = micro;
        surface.devices = s->devices;
        surface.model   = who->model;
        if (calibration_asks(who->cal, who->model))
            surface.cal = who->cal;
        *out = surface;
    }
    free(load);
    return status;
}

bool step_surface_holds(const step_surface *s, const step_setup *of)
{
    return (!s->batch || s->batch == of->batch) && s->devices == of->devices &&
           s->micro == (double)of->sync.accumulation;
}

double step_surface_at(const step_surface *s, int64_t batch, int64_t ranks)
{
    const surface_side *side    = &s->side[ranks > 1];
    double              seconds = side->first;

    if (!s->batch)
        seconds += (double)(batch - 1) * side->more;
    if (s->cal && ranks > 1)
        seconds += calibration_allreduce(s->cal, s->model,
                                         &(allreduce){ s->bytes,
                                                       ranks >= s->devices ? ranks / s->devices : 1,
                                                       ranks >= s->devices ? s->devices : ranks });
    for (size_t i = 0; i < side->n; i++)
        seconds +=
            side->node[i].coefficient * feature_at_nodes(side->node[i].of, (double)ranks, s->bytes);
    return seconds;
}
