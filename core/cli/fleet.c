/* Several machines on one command line. */
#include "cli/fleet.h"

OPTION_TYPE(type_hour, money, money_parse_per_hour);

#define AT(member) OPTION_AT(fleet_options, member)

const option_row fleet_option_rows[] = {
    { "machine", AT(machines), .repeats = true,
      .help = "machine file of 'layermeter fit' or 'layermeter calibrate'; several to compare" },
    { "device", AT(devices), .repeats = true,
      .help = "device, by its datasheet, instead of the one that the machine file names" },
    OPTION_GROUP(fleet_options, session, session_machine_option_rows),
    { "price", AT(hour), &type_hour, "PRICE", NULL, HELP_WHERE,
      "of a device, 2.50USD/h, instead of the price file's", .repeats = true },
    { "prices", AT(prices) },
    { "instance", AT(instances), &type_text, "NAME", NULL, HELP_WHERE,
      "section of the price file, instead of the device's", .repeats = true },
    { "spot", AT(spot) },
    { .name = NULL },
};

size_t fleet_size(const fleet_options *f)
{
    const step_model *by = session_model(&f->session);
    const size_t      n  = by && by->from_datasheet ? f->devices.n : f->machines.n;

    return n ? n : 1;
}

lm_status fleet_check(const options *o, fleet_options *f, lm_error *err)
{
    const void *const lists[] = { &f->devices, &f->hour, &f->instances };
    lm_status         status;

    f->session.machine       = fleet_text(&f->machines, 0);
    f->session.source.device = fleet_text(&f->devices, 0);
    status                   = session_check(o, &f->session, true, err);
    if (!status && fleet_size(f) > FLEET_MAX)
        status = misused(o, &f->machines, err, "more than %d", FLEET_MAX);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0] && !status; i++)
        status = once_or_each(o, lists[i], fleet_size(f), err);
    return status;
}

session_options fleet_session(const fleet_options *f, size_t i)
{
    session_options one = f->session;

    one.machine       = fleet_text(&f->machines, i);
    one.source.device = fleet_text(&f->devices, i);
    return one;
}

price_tier fleet_tier(const fleet_options *f)
{
    return f->spot ? PRICE_SPOT : PRICE_LIST;
}

lm_status fleet_price(const fleet_options *f, size_t i, const calibration *cal,
                      const price_list *prices, const device_list *devices, const char *so,
                      const price **out, lm_error *err)
{
    const char *instance = fleet_text(&f->instances, i), *of = fleet_text(&f->devices, i);

    if (instance)
        return prices_find(prices, instance, out, err);
    if (!of && cal) /* or what its backend ran on */
        of = calibration_device(cal);
    if (of)
        return prices_of_device(prices, devices, of, out, err);
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "%s does not say what device it is of%s: give --device, --instance or --price 2.50USD/h",
        fleet_text(&f->machines, i), so);
}
