/* Several machines on one command line. */
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "cli/session.h"
#include "machine/shipped.h"

VALUE_TYPE(type_hour, money, money_parse_per_hour);

#define AT(member) OPTION_AT(fleet_options, member)

const option_row fleet_option_rows[] = {
    { "machine", AT(machines), .repeats = true,
      .help = "machine file of 'layermeter fit' or 'layermeter calibrate'; several are compared" },
    { "device", AT(devices), .repeats = true, .listed = true, .argument = "NAMES",
      .help =
          "use the shipped machine file of this device; T4,A100 compares two, 'all' compares all "
          "that have a machine file; with --machine: the device of that file" },
    OPTION_GROUP(fleet_options, session, session_machine_option_rows),
    { "price", AT(hour), &type_hour, "PRICE", NULL, HELP_WHERE,
      "price of a device, 2.50USD/h, instead of the price file's", .repeats = true },
    { "prices", AT(prices) },
    { "instance", AT(instances), &type_text, "NAME", NULL, HELP_WHERE,
      "section of the price file, such as a cloud instance; it also sets the device and the number "
      "of devices per node",
      .repeats = true, .listed = true },
    { "spot", AT(spot) },
    { .name = NULL },
};

const option_row compare_option_rows[] = {
    { "machine", AT(machines), .repeats = true,
      .help = "machine file of 'layermeter fit' or 'layermeter calibrate' (default: the one that "
              "ships for --device); several are compared" },
    { "device", AT(devices), .repeats = true, .listed = true, .argument = "NAMES",
      .help =
          "use the shipped machine file of this device; T4,A100 compares two, also with --machine; "
          "'all' compares all that have a machine file. paleo, learned models and --idle-power use "
          "its datasheet" },
    OPTION_GROUP(fleet_options, session, session_option_rows),
    { .name = NULL },
};

size_t fleet_size(const fleet_options *f)
{
    const step_model *by = session_model(&f->session);
    const size_t      n  = by && by->from_datasheet ? f->devices.n : f->machines.n;

    return n ? n : 1;
}

/* The text of the i-th machine; NULL: not given. */
static const char *text_at(const option_texts *list, size_t i)
{
    return list->n ? list->at[list->n > 1 ? i : 0] : NULL;
}

static const char *keep(const options *o, const char *text)
{
    return text ? arena_text(o->room, text, strlen(text)) : NULL;
}

/* `all` stands for each device that has a machine file. */
static lm_status settle_all(const options *o, fleet_options *f, lm_error *err)
{
    shipped_list *list   = NULL;
    size_t        n      = 0;
    const char  **names  = NULL;
    lm_status     status = LM_OK;

    if (f->devices.n != 1 || strcmp(f->devices.at[0], "all") != 0 ||
        (status = shipped_open(&list, err)))
        return status;
    if (!(names = arena_array(o->room, list->n + 1, sizeof *names)))
        status = no_memory(err);
    for (size_t i = 0; i < list->n && !status; i++) {
        size_t same = 0;

        while (same < n && strcmp(names[same], list->machine[i].device) != 0)
            same++;
        if (same == n && !(names[n++] = keep(o, list->machine[i].device)))
            status = no_memory(err);
    }
    f->devices = (option_texts){ names, n };
    shipped_free(list);
    return status;
}

/* Devices stand for the machine files that ship for them: alone, and `beside` files as more machines. */
static lm_status fleet_ship(const options *o, fleet_options *f, bool beside, lm_error *err)
{
    const step_model *by    = session_model(&f->session);
    const size_t      files = f->machines.n, n = files + f->devices.n;
    const char      **paths  = arena_array(o->room, n, sizeof *paths);
    const char      **names  = arena_array(o->room, n, sizeof *names);
    lm_status         status = LM_OK;

    if (!f->devices.n || (files && !beside) || (by && by->from_datasheet))
        return LM_OK;
    f->shipped = arena_array(o->room, n, sizeof *f->shipped);
    if (!paths || !names || !f->shipped)
        return no_memory(err);
    for (size_t i = 0; i < files; i++) {
        paths[i]      = f->machines.at[i];
        names[i]      = NULL;
        f->shipped[i] = NULL;
    }
    for (size_t i = files; i < n && !status; i++)
        if (!(status =
                  session_shipped(o, &f->session, f->devices.at[i - files], &f->shipped[i], err)))
            paths[i] = names[i] = f->shipped[i]->device;
    f->machines = (option_texts){ paths, n };
    f->devices  = (option_texts){ names, n };
    return status;
}

/* Instances stand for their devices and networks, beside no machine file and where these are not
 * given. */
static lm_status settle_instances(const options *o, fleet_options *f, lm_error *err)
{
    const size_t n        = f->instances.n;
    const char **named    = arena_array(o->room, n + 1, sizeof *named);
    const char **networks = arena_array(o->room, n + 1, sizeof *networks);
    price_list  *list     = NULL;
    lm_status    status   = named && networks ? LM_OK : no_memory(err);

    if (f->machines.n || !n)
        return status;
    if (!status)
        status = prices_open(f->prices, &list, err);
    for (size_t i = 0; i < n && !status; i++) {
        const price *p = NULL;

        if ((status = prices_find(list, f->instances.at[i], &p, err)))
            break;
        networks[i] = keep(o, p->network);
        if (!(named[i] = keep(o, p->device ? p->device : p->name)) || (p->network && !networks[i]))
            status = no_memory(err);
    }
    if (!status && !f->devices.n)
        f->devices = (option_texts){ named, n };
    if (!status)
        f->networks = (option_texts){ networks, n };
    prices_free(list);
    return status;
}

static lm_status check_fleet(const options *o, fleet_options *f, bool device_counts, bool beside,
                             lm_error *err)
{
    const void *const lists[] = { &f->devices, &f->hour, &f->instances };
    const bool        mixed   = beside && f->machines.n && f->devices.n;
    lm_status         status;

    if ((status = settle_all(o, f, err)) || (status = settle_instances(o, f, err)) ||
        (status = fleet_ship(o, f, beside, err)))
        return status;
    f->session.machine       = text_at(&f->machines, 0);
    f->session.source.device = text_at(&f->devices, 0);
    status                   = session_check(o, &f->session, device_counts || f->shipped, err);
    if (!status && fleet_size(f) > FLEET_MAX)
        status = misused(o, &f->machines, err, "more than %d", FLEET_MAX);
    for (size_t i = mixed; i < sizeof lists / sizeof lists[0] && !status; i++)
        status = once_or_each(o, lists[i], fleet_size(f), err);
    return status;
}

lm_status fleet_check(const options *o, fleet_options *f, lm_error *err)
{
    return check_fleet(o, f, true, false, err);
}

lm_status compare_check(const options *o, fleet_options *f, bool device_counts, lm_error *err)
{
    const step_model *by = session_model(&f->session);

    return check_fleet(o, f, device_counts, !device_counts && !(by && by->from_layers), err);
}

session_options fleet_session(const fleet_options *f, size_t i)
{
    session_options one = f->session;

    one.machine       = text_at(&f->machines, i);
    one.shipped       = f->shipped ? f->shipped[i] : NULL;
    one.source.device = text_at(&f->devices, i);
    if (one.shipped && !one.link.name && !(one.link.bytes_per_second > 0))
        one.link.name = text_at(&f->networks, i);
    return one;
}

lm_status fleet_open(const options *o, const fleet_options *f, session *s, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < fleet_size(f) && !status; i++) {
        const session_options q = fleet_session(f, i);

        status = session_open_beside(o, &q, i ? &s[0] : NULL, &s[i], err);
    }
    return status;
}

void fleet_close(session *s, size_t n)
{
    while (s && n--) /* the first one owns what the others share */
        session_close(&s[n]);
}

bool fleet_in_buckets(const session *s, size_t n)
{
    bool all = true;

    for (size_t i = 0; i < n; i++)
        all &= predict_in_buckets(s[i].who);
    return all;
}

paid_asked fleet_paid(const fleet_options *f, const session *s, size_t i)
{
    const char  *machine = text_at(&f->machines, i), *named = text_at(&f->devices, i);
    const money *hour = f->hour.n ? &f->hour.at[f->hour.n > 1 ? i : 0] : NULL;

    return (paid_asked){ machine ? machine : named, hour, text_at(&f->instances, i), named,
                         s[i].cal };
}

bool fleet_priced(const fleet_options *f)
{
    return f->hour.n || f->instances.n || f->prices || f->spot;
}

price_tier fleet_tier(const fleet_options *f)
{
    return f->spot ? PRICE_SPOT : PRICE_LIST;
}
