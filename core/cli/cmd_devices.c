/* layermeter devices: lists devices and figures of their public datasheets. */
#include "base/text.h"
#include "cli/commands.h"
#include "device/device.h"
#include "machine/shipped.h"
#include "report/fields.h"

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
    "Peaks are those of dense matrices, at the listed clock. Names match in any case and with any\n"
    "punctuation, both as people write them and as drivers report them. --devices names your own file,\n"
    "which is read first. Its sections are devices. Its keys are those of the shipped file, and its\n"
    "values have units:\n"
    "  [my board]\n"
    "  f32       = 15.7 TFLOP/s\n"
    "  bandwidth = 900 GB/s\n"
    "Further keys: f64 f32_matrix tf32 f16 bf16 f8 memory l2 multiprocessors cores tensor_cores rt_cores\n"
    "bus l1 shared threads clock base_clock power class also architecture capability link source note. A\n"
    "missing key means unknown. f32_matrix is the peak of matrix cores that multiply in f32.\n";

static const char examples[] = "  layermeter devices\n"
                               "  layermeter devices 'Tesla T4'\n"
                               "  layermeter devices --devices mine.ini --format csv\n";

/* A device, and the machine files that ship. */
typedef struct device_row {
    device              of;
    const shipped_list *shipped;
} device_row;

TEXT_OF(architecture_words, device_row, r->of.architecture ? r->of.architecture : "")
TEXT_OF(capability_words, device_row, r->of.capability ? r->of.capability : "")
TEXT_OF(class_name, device_row, device_class_names[r->of.power_class])
TEXT_OF(link_words, device_row, r->of.link ? r->of.link : "")
TEXT_OF(bridge_words, device_row, r->of.bridge ? r->of.bridge : "")
TEXT_OF(also_words, device_row, r->of.also ? r->of.also : "")
TEXT_OF(note_words, device_row, r->of.note ? r->of.note : "")
TEXT_OF(source_words, device_row, r->of.source ? r->of.source : "")

/* The element types of products for which a machine file ships. */
static const char *shipped_words(const void *record, size_t i, char *room)
{
    const device_row *r = record;

    *room = '\0';
    for (i = 0; i < r->shipped->n; i++) {
        const shipped_machine *m = &r->shipped->machine[i];

        if (device_same_name(m->device, r->of.name))
            text_add(room, FIELD_TEXT_MAX, "%s%s%s", *room ? ", " : "", text_dtype_name(m->product),
                     m->transferred ? " (transferred)" : "");
    }
    return room;
}

/* A row for each of the files that ship; those of other devices have no text. */
static const char *each_shipped(const void *whole, size_t i)
{
    return i < ((const shipped_list *)whole)->n ? "" : NULL;
}

static const char *shipped_path(const void *record, size_t i, char *room)
{
    const device_row *r = record;

    (void)room;
    return device_same_name(r->shipped->machine[i].device, r->of.name) ? r->shipped->machine[i].path
                                                                       : NULL;
}

#define FIGURE(which, unit_, scale, digits_)                                             \
    FIELD_AT(device_row, of.figure[DEVICE_##which]), .unit = unit_, .for_people = scale, \
                                                     .digits = digits_
#define PEAK(which) FIGURE(which, "TFLOP/s", 1e12, 1)
#define KIB         1024.0

/* The printed list has the figures that tell devices apart; one device, CSV and JSON have all. */
static const field fields[] = {
    { "device", "device", FIELD_AT(device_row, of.name) },
    { "architecture", "architecture", "architecture", .text = architecture_words, .yields = -6 },
    { "capability", "capability", "capability", .text = capability_words, .yields = -8 },
    { "f64_flop_per_s", NULL, "f64", PEAK(F64) },
    { "f32_flop_per_s", "f32 [TFLOP/s]", "f32", PEAK(F32), .yields = -4 },
    { "f32_matrix_flop_per_s", NULL, "f32_matrix", PEAK(F32_MATRIX) },
    { "tf32_flop_per_s", NULL, "tf32", PEAK(TF32) },
    { "f16_flop_per_s", "f16 [TFLOP/s]", "f16", PEAK(F16), .yields = -3 },
    { "bf16_flop_per_s", NULL, "bf16", PEAK(BF16) },
    { "f8_flop_per_s", NULL, "f8", PEAK(F8) },
    { "bandwidth_bytes_per_s", "bandwidth [GB/s]", "bandwidth", FIGURE(BANDWIDTH, "GB/s", 1e9, 0),
      .yields = -2 },
    { "memory_bytes", "memory [GiB]", "memory", FIGURE(MEMORY, "GiB", KIB *KIB *KIB, 0),
      .yields = -1 },
    { "l2_bytes", NULL, "l2", FIGURE(L2, "MiB", KIB *KIB, 0) },
    { "multiprocessors", "multiprocessors", "multiprocessors", FIGURE(MULTIPROCESSORS, NULL, 1, 0),
      .yields = -9 },
    { "cores", NULL, "cores", FIGURE(CORES, NULL, 1, 0) },
    { "tensor_cores", NULL, "tensor_cores", FIGURE(TENSOR_CORES, NULL, 1, 0) },
    { "rt_cores", NULL, "rt_cores", FIGURE(RT_CORES, NULL, 1, 0) },
    { "bus_bits", NULL, "bus", FIGURE(BUS, "bit", 1, 0) },
    { "l1_bytes", NULL, "l1", FIGURE(L1, "KiB", KIB, 0) },
    { "shared_bytes", NULL, "shared", FIGURE(SHARED, "KiB", KIB, 0) },
    { "threads", NULL, "threads", FIGURE(THREADS, NULL, 1, 0) },
    { "clock_hz", NULL, "clock", FIGURE(CLOCK, "MHz", 1e6, 0) },
    { "base_clock_hz", NULL, "base_clock", FIGURE(BASE_CLOCK, "MHz", 1e6, 0) },
    { "power_w", "power [W]", "power", FIGURE(POWER, "W", 1, 0), .yields = -5 },
    { "class", "class", "class", .text = class_name, .yields = -7 },
    { "machine_files", "machine files", .text = shipped_words, .yields = -4 },
    { "link", NULL, "link", .text = link_words },
    { "bridge", NULL, "bridge", .text = bridge_words },
    { "machine_file", NULL, "machine file", .text = shipped_path, .each = each_shipped,
      .not_in = IN_FILES },
    { "also", NULL, "also", .text = also_words },
    { "note", NULL, "note", .text = note_words },
    { "source", NULL, "source", .text = source_words },
    { "file", NULL, "file", FIELD_AT(device_row, of.path) },
    { 0 },
};

static lm_status run(const options *o, lm_error *err)
{
    const devices_options *a       = o->filled;
    device_list           *list    = NULL;
    shipped_list          *shipped = NULL;
    const device          *one     = NULL;
    field_view             v       = { .fields = fields, .in = field_place_of(a->format) };
    lm_status              status;

    if (!(status = devices_open(a->devices, &list, err)) &&
        !(status = shipped_open(&shipped, err)) && o->n_arguments)
        status = devices_find(list, o->argument[0], &one, err);
    if (!status && one && a->format == FORMAT_TABLE) {
        v.in    = IN_PAGE;
        v.whole = shipped;
        puts(one->name);
        fields_lines(&v, &(device_row){ *one, shipped }, stdout);
    } else if (!status) {
        field_rows rows = field_rows_of(&v);

        for (size_t i = 0; i < (one ? 1 : list->n); i++)
            field_row(&rows, &(device_row){ one ? *one : list->device[i], shipped });
        status = field_rows_print(&rows, a->format, stdout, status, err);
    }
    shipped_free(shipped);
    devices_free(list);
    return status;
}

const command cmd_devices =
    COMMAND("devices", "[DEVICE]", "List devices and what their datasheets say", devices_options, 0,
            1, NULL, run);
