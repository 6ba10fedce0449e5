/* layermeter devices: lists devices and figures of their public datasheets. */
#include <math.h>

#include "base/text.h"
#include "cli/commands.h"
#include "device/device.h"
#include "machine/shipped.h"
#include "report/table.h"

typedef struct devices_options {
    const char *devices;
    format      format;
} devices_options;

#define AT(member) OPTION_AT(devices_options, member)

static const option_row option_rows[] = {
    { "devices", AT(devices) },
    { "format", AT(format) },
    { .name = NULL },
};

static const char details[] =
    "Peaks are dense, at the listed clock. Names are found whatever their case and punctuation, as people\n"
    "write them or as drivers report them. A file of your own (--devices) is read first; its sections are\n"
    "devices, its keys those of the shipped file, values have units:\n"
    "  [my board]\n"
    "  f32       = 15.7 TFLOP/s\n"
    "  bandwidth = 900 GB/s\n"
    "Also: f64 tf32 f16 bf16 f8 memory l2 multiprocessors cores tensor_cores bus l1 shared threads clock\n"
    "power class also architecture capability link source note. What is not given is unknown.\n";

static const char examples[] = "  layermeter devices\n"
                               "  layermeter devices 'Tesla T4'\n"
                               "  layermeter devices --devices mine.ini --format csv\n";

/* The printed list has the figures that tell devices apart; CSV and JSON have all. */
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
            const device_key *k = &device_keys[f];
            char              title[60];

            snprintf(title, sizeof title, *k->shown ? "%s [%s]" : "%s", k->key, k->shown);
            table_column(t, k->column, title, f <= DEVICE_F8 ? 1 : 0);
        }
    table_column(t, "class", "class", 0);
    table_column(t, "machine_files", "machine files", 0);
    if (how == FORMAT_TABLE)
        return;
    table_column(t, "link", "link", 0);
    table_column(t, "bridge", "bridge", 0);
    table_column(t, "also", "also", 0);
    table_column(t, "note", "note", 0);
    table_column(t, "source", "source", 0);
    table_column(t, "file", "file", 0);
}

/* The element types of products for which a machine file ships, and its file where that is asked. */
static const char *shipped_words(const shipped_list *shipped, const device *d, char *text,
                                 size_t size)
{
    *text = '\0';
    for (size_t i = 0; i < shipped->n; i++) {
        const shipped_machine *m = &shipped->machine[i];

        if (device_same_name(m->device, d->name))
            text_add(text, size, "%s%s%s", *text ? ", " : "", text_dtype_name(m->product),
                     m->transferred ? " (transferred)" : "");
    }
    return text;
}

static void add_row(table *t, format how, const shipped_list *shipped, const device *d)
{
    char words[200];

    table_text(t, d->name);
    table_text(t, d->architecture ? d->architecture : "");
    table_text(t, d->capability ? d->capability : "");
    for (int f = 0; f < N_DEVICE_FIGURES; f++)
        if (shown((device_figure)f, how))
            table_real(t,
                       how == FORMAT_TABLE ? d->figure[f] / device_keys[f].factor : d->figure[f]);
    table_text(t, device_class_names[d->power_class]);
    table_text(t, shipped_words(shipped, d, words, sizeof words));
    if (how == FORMAT_TABLE)
        return;
    table_text(t, d->link ? d->link : "");
    table_text(t, d->bridge ? d->bridge : "");
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

/* One device for people: all its figures. */
static void print_device(const shipped_list *shipped, const device *d)
{
    printf("%s\n", d->name);
    print_line("architecture", d->architecture);
    print_line("capability", d->capability);
    for (int f = 0; f < N_DEVICE_FIGURES; f++) {
        const device_key *k = &device_keys[f];

        if (!isnan(d->figure[f]))
            printf("  %-16s%.7g%s%s\n", k->key, d->figure[f] / k->factor, *k->shown ? " " : "",
                   k->shown);
    }
    print_line("class", device_class_names[d->power_class]);
    print_line("link", d->link);
    print_line("bridge", d->bridge);
    for (size_t i = 0; i < shipped->n; i++)
        if (device_same_name(shipped->machine[i].device, d->name))
            print_line("machine file", shipped->machine[i].path);
    print_line("also", d->also);
    print_line("note", d->note);
    print_line("source", d->source);
    print_line("file", d->path);
}

static lm_status run(const options *o, lm_error *err)
{
    const devices_options *a       = o->filled;
    device_list           *list    = NULL;
    shipped_list          *shipped = NULL;
    const device          *one     = NULL;
    table                 *t       = table_new();
    lm_status              status;

    if (!(status = devices_open(a->devices, &list, err)) &&
        !(status = shipped_open(&shipped, err)) && o->n_arguments)
        status = devices_find(list, o->argument[0], &one, err);
    if (!status && one && a->format == FORMAT_TABLE) {
        print_device(shipped, one);
    } else if (!status) {
        add_columns(t, a->format);
        for (size_t i = 0; i < (one ? 1 : list->n); i++)
            add_row(t, a->format, shipped, one ? one : &list->device[i]);
        status = table_print(t, a->format, stdout, err);
    }
    table_free(t);
    shipped_free(shipped);
    devices_free(list);
    return status;
}

const command cmd_devices =
    COMMAND("devices", "[DEVICE]", "List devices and what their datasheets say", devices_options, 0,
            1, NULL, run);
