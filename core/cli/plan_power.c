/* Energy of planned runs. */
#include "cli/cmd_plan.h"

#include <math.h>
#include <stdio.h>

static bool any_known(const plan_job *job)
{
    for (size_t i = 0; i < job->n; i++)
        if (power_shown(&job->side[i].power))
            return true;
    return false;
}

lm_status plan_power_open(plan_job *job, lm_error *err)
{
    const power_choice *told = &job->a->power;

    job->kwh = job->a->energy_price;
    if (!(job->kwh.amount > 0))
        job->kwh.amount = NAN;
    for (size_t i = 0; i < job->n; i++) {
        plan_side *side = &job->side[i];
        lm_status  status;

        side->power         = *told;
        side->power.learned = predictor_tells_power(side->session.who);
        if ((status = power_choice_complete(&side->power, side->session.cal, side->device,
                                            job->a->fleet.session.source.devices, err)))
            return status;
    }
    if ((isfinite(job->kwh.amount) || isfinite(told->grams_per_kwh)) && !any_known(job))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s: no power was measured: tell --idle-power, or leave out "
                            "--energy-price and --grid",
                            job->side[0].name);
    return LM_OK;
}

unsigned plan_power_facts(const plan_job *job)
{
    if (!any_known(job))
        return 0;
    return PLAN_POWER | (isfinite(job->side[0].power.grams_per_kwh) ? PLAN_CO2 : 0) |
           (isfinite(job->kwh.amount) ? PLAN_ELECTRICITY : 0);
}

lm_status plan_row_power(const plan_job *job, const plan *p, plan_row *out,
                         const plan_side **unknown, lm_error *err)
{
    const plan_side   *side  = &job->side[p->machine];
    step_power         power = { .watts = { NAN, NAN, NAN } };
    bottleneck_profile bounds;

    if (!any_known(job))
        return LM_OK;
    if (power_shown(&side->power)) {
        bottleneck_of   found;
        const lm_status status = bottleneck_profile_of(side->session.who, &p->setup, &bounds, err);

        if (status)
            return status;
        found = bottleneck_find(side->session.who, &bounds, &p->setup, &out->step);
        power = step_power_of(&side->power.model, &found, &out->step);
        if (isnan(power.watts.value))
            *unknown = side;
    }
    out->watts = power.watts.value;
    out->kwh   = power.watts.value * (double)step_setup_ranks(&p->setup) *
               (p->run.seconds[TIME_EXPECTED] - job->question.training.startup) / JOULES_PER_KWH;
    out->kg_co2      = out->kwh * side->power.grams_per_kwh / 1000;
    out->electricity = out->kwh * job->kwh.amount;
    out->power_by    = step_power_by(&side->power.model, &power);
    return LM_OK;
}
