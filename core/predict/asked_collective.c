/* Prediction of single collectives. */
#include "predict/asked_collective.h"

#include <math.h>

bool asked_model_known(const char *name)
{
    return formula_model_of(name)->prices || sync_baseline_parse(name) < N_SYNC_BASELINES;
}

/* Asks the model, or a baseline's formula. Both have the same measured ranges. */
static lm_status ask(const calibration *cal, const asked_by *by, const collective_call *a,
                     collective_answer *out, lm_error *err)
{
    const sync_baseline b = sync_baseline_parse(by->model);
    lm_status status      = collective_ask(cal->collectives, by->algorithm, &by->link, a, out, err);

    if (status || b == N_SYNC_BASELINES)
        return status;
    out->seconds = collective_baseline(cal->collectives, by->algorithm, b, a);
    if (isnan(out->seconds))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "no coefficients of '%s' for %lld nodes of %lld devices: fit the "
                            "observations again",
                            sync_baseline_name(b), (long long)a->nodes, (long long)a->devices);
    return LM_OK;
}

/* Bounds of all-reduces in steps, from left-out networks; NAN: unknown. */
static void step_bounds(const calibration *cal, const asked_by *by, asked_collective *found)
{
    const collective_call *a = &found->call;
    double                 seconds[N_TIMES];

    if (a->kind != COLLECTIVE_ALLREDUCE ||
        (by->algorithm && collective_algorithm(cal->collectives, a->kind, by->algorithm) !=
                              collective_algorithm(cal->collectives, a->kind, NULL)))
        return;
    for (phase t = 0; t < N_TIMES; t++)
        seconds[t] = NAN;
    seconds[PHASE_SYNC] = found->of.seconds;
    intervals_at(calibration_intervals(cal, DEFAULT_MODEL), PHASE_SYNC, seconds,
                 &(interval_place){ .ranks = a->nodes * a->devices }, &found->low, &found->high);
}

static void find_bounds(const calibration *cal, const asked_by *by, asked_collective *found)
{
    if (sync_baseline_parse(by->model) != N_SYNC_BASELINES)
        return;
    if (found->of.assumed && found->call.kind != COLLECTIVE_ALLREDUCE)
        return;
    if (found->of.assumed) {
        found->low  = LINK_LEAST * found->of.seconds;
        found->high = LINK_MOST * found->of.seconds;
        return;
    }
    step_bounds(cal, by, found);
    if (isnan(found->low)) {
        found->low  = found->of.low;
        found->high = found->of.high;
    }
}

lm_status asked_collective_of(const calibration *cal, const asked_by *by, const collective_call *a,
                              asked_collective *out, lm_error *err)
{
    asked_collective found  = { .call = *a, .low = NAN, .high = NAN, .rate = NAN };
    const double     ranks  = (double)a->nodes * (double)a->devices;
    const lm_status  status = ask(cal, by, a, &found.of, err);

    if (status)
        return status;
    find_bounds(cal, by, &found);
    if (found.of.seconds > 0)
        found.rate = a->bytes / found.of.seconds;
    found.bus_rate = found.rate * collective_volume(a->kind, ranks);
    *out           = found;
    return LM_OK;
}
