/* layermeter devices: what public datasheets say of them. */
#include <math.h>

#include "cli/commands.h"
#include "devices/device.h"
#include "report/table.h"

enum { DEVICES, FORMAT };

static const option_spec specs[] = {
    [DEVICES] = OPTION_DEVICES,
    [FORMAT]  = { "format", "FORMAT", "table", "table, csv or json" },
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "Peaks are dense, at the clock that is listed. Names are found whatever their case and\n"
    "punctuation, as people write them or as drivers report them. A file of your own (--devices) is\n"
    "looked at first; its sections are devices, its keys those of the shipped file, values have units:\n"
    "  [my board]\n"
    "  f32       = 15.7 TFLOP/s\n"
    "  bandwidth = 900 GB/s\n"
    "Also: f64 tf32 f16 bf16 f8 memory l2 multiprocessors cores clock power class also architecture\n"
    "capability source note. What is not given is unknown.\n";

static const char examples[] = "  layermeter devices\n"
                               "  layermeter devices 'Tesla T4'\n"
                               "  layermeter devices --devices mine.ini --format csv\n";

/* The printed list has what tells devices apart; CSV and JSON have everything. */
static bool shown(device_figure f, format how)
{
    return how != FORMAT_TABLE || f == DEVICE_F32 || f == DEVICE_F16 || f == DEVICE_BANDWIDTH ||
           f == DEVICE_MEMORY || f == DEVICE_MULTIPROCESSORS || f == DEVICE_POWER;
}

static void add_columns(table *t, format how)
{
    table_column(t, "device", "device", 0);
    table_column(t, "architecture", "architecture", 0);
    table_column(t, "capability", "capability", 0);
    for (int f = 0; f < N_DEVICE_FIGURES; f++)
        if (shown((device_figure)f, how)) {
            const device_key *k = device_key_of((device_figure)f);
            char              title[60];

            snprintf(title, sizeof title, *k->shown ? "%s [%s]" : "%s", k->key, k->shown);
            table_column(t, k->column, title, f <= DEVICE_F8 ? 1 : 0);
        }
    table_column(t, "class", "class", 0);
    if (how == FORMAT_TABLE)
        return;
    table_column(t, "also", "also", 0);
    table_column(t, "note", "note", 0);
    table_column(t, "source", "source", 0);
    table_column(t, "file", "file", 0);
}

static void add_row(table *t, format how, const device *d)
{
    table_text(t, d->name);
    table_text(t, d->architecture ? d->architecture : "");
    table_text(t, d->capability ? d->capability : "");
    for (int f = 0; f < N_DEVICE_FIGURES; f++)
        if (shown((device_figure)f, how))
            table_real(t, how == FORMAT_TABLE
                              ? d->figure[f] / device_key_of((device_figure)f)->factor
                              : d->figure[f]);
    table_text(t, device_class_name(d->power_class));
    if (how == FORMAT_TABLE)
        return;
    table_text(t, d->also ? d->also : "");
    table_text(t, d->note ? d->note : "");
    table_text(t, d->source ? d->source : "");
    table_text(t, d->path);
}

static void print_line(const char *key, const char *text)
{
    if (text && *text)
        printf("  %-16s%s\n", key, text);
}

/* One device for people: all there is about it. */
static void print_device(const device *d)
{
    printf("%s\n", d->name);
    print_line("architecture", d->architecture);
    print_line("capability", d->capability);
    for (int f = 0; f < N_DEVICE_FIGURES; f++) {
        const device_key *k = device_key_of((device_figure)f);

        if (!isnan(d->figure[f]))
            printf("  %-16s%.7g%s%s\n", k->key, d->figure[f] / k->factor, *k->shown ? " " : "",
                   k->shown);
    }
    print_line("class", device_class_name(d->power_class));
    print_line("also", d->also);
    print_line("note", d->note);
    print_line("source", d->source);
    print_line("file", d->path);
}

static int run(const options *o)
{
    lm_error      err  = { 0 };
    device_list  *list = NULL;
    const device *one  = NULL;
    table        *t    = NULL;
    int           code = EXIT_DONE;
    format        f;

    if (format_parse(o->value[FORMAT], &f, &err))
        return report_misuse("", &err);
    if (devices_open(o->value[DEVICES], &list, &err) ||
        (o->n_arguments && devices_find(list, o->argument[0], &one, &err))) {
        code = report_failure(&err);
    } else if (one && f == FORMAT_TABLE) {
        print_device(one);
    } else {
        t = table_new();
        add_columns(t, f);
        for (size_t i = 0; i < (one ? 1 : list->n); i++)
            add_row(t, f, one ? one : &list->device[i]);
        if (table_print(t, f, stdout, &err))
            code = report_failure(&err);
    }
    table_free(t);
    devices_free(list);
    return code;
}

const command cmd_devices = {
    .name          = "devices",
    .arguments     = "[NAME]",
    .doc           = "List devices and what their datasheets say",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .max_arguments = 1,
    .run           = run,
};
