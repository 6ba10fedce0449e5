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

void plan_power_columns(const plan_job *job, table *t)
{
    char title[40];

    if (!any_known(job))
        return;
    table_column(t, "power_w", "power [W]", 1);
    table_column(t, "energy_kwh", "energy [kWh]", -1);
    if (isfinite(job->side[0].power.grams_per_kwh))
        table_column(t, "co2_kg", "CO2 [kg]", -1);
    if (isfinite(job->kwh.amount)) {
        snprintf(title, sizeof title, "electricity [%s]", job->kwh.currency);
        table_column(t, "electricity", title, -1);
    }
    table_column(t, "power_by", "power by", 0);
}

lm_status plan_power_cells(const plan_job *job, const plan *p, const prediction *step, table *t,
                           const plan_side **unknown, lm_error *err)
{
    const plan_side   *side  = &job->side[p->machine];
    const power_model *m     = &side->power.model;
    step_power         power = { .watts = { NAN, NAN, NAN } };
    double             kwh;

    if (!any_known(job))
        return LM_OK;
    if (power_shown(&side->power)) {
        bottleneck_profile bounds;
        bottleneck_of      found;
        const lm_status status = bottleneck_profile_of(side->session.who, &p->setup, &bounds, err);

        if (status)
            return status;
        found = bottleneck_find(side->session.who, &bounds, &p->setup, step);
        power = step_power_of(m, &found, step);
        if (isnan(power.watts.value))
            *unknown = side;
    }
    kwh = power.watts.value * (double)step_setup_ranks(&p->setup) *
          (p->run.seconds[TIME_EXPECTED] - job->question.training.startup) / JOULES_PER_KWH;
    table_real(t, power.watts.value);
    table_real(t, kwh);
    if (isfinite(side->power.grams_per_kwh))
        table_real(t, kwh * side->power.grams_per_kwh / 1000);
    if (isfinite(job->kwh.amount))
        table_real(t, kwh * job->kwh.amount);
    table_text(t, power_by(&side->power, &power));
    return LM_OK;
}
