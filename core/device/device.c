/* Public datasheets of devices. */
#include "device/device.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/ini_keys.h"
#include "base/no_memory.h"
#include "base/order.h"
#include "base/place.h"
#include "base/text.h"

#define NAME_MAX_BYTES 192
#define NEAR_MAX       4 /* number of names in a message */

const device_key device_keys[N_DEVICE_FIGURES] = {
    [DEVICE_F64]             = { "f64", "FLOP/s", false },
    [DEVICE_F32]             = { "f32", "FLOP/s", false },
    [DEVICE_F32_MATRIX]      = { "f32_matrix", "FLOP/s", false },
    [DEVICE_TF32]            = { "tf32", "FLOP/s", false },
    [DEVICE_F16]             = { "f16", "FLOP/s", false },
    [DEVICE_BF16]            = { "bf16", "FLOP/s", false },
    [DEVICE_F8]              = { "f8", "FLOP/s", false },
    [DEVICE_BANDWIDTH]       = { "bandwidth", "B/s", false },
    [DEVICE_MEMORY]          = { "memory", "B", false },
    [DEVICE_L2]              = { "l2", "B", false },
    [DEVICE_MULTIPROCESSORS] = { "multiprocessors", "", false },
    [DEVICE_CORES]           = { "cores", "", false },
    [DEVICE_TENSOR_CORES]    = { "tensor_cores", "", true },
    [DEVICE_RT_CORES]        = { "rt_cores", "", true },
    [DEVICE_BUS]             = { "bus", "", false },
    [DEVICE_L1]              = { "l1", "B", false },
    [DEVICE_SHARED]          = { "shared", "B", false },
    [DEVICE_THREADS]         = { "threads", "", false },
    [DEVICE_CLOCK]           = { "clock", "Hz", false },
    [DEVICE_BASE_CLOCK]      = { "base_clock", "Hz", false },
    [DEVICE_POWER]           = { "power", "W", false },
};

const char *const device_class_names[N_DEVICE_CLASSES] = { "", "slot", "card", "module" };

double device_memory_clock(const double figure[N_DEVICE_FIGURES])
{
    return figure[DEVICE_BANDWIDTH] / (2 * figure[DEVICE_BUS] / 8);
}

double device_peak(const device *d, lm_dtype dtype)
{
    if (dtype == DTYPE_TF32)
        return d->figure[DEVICE_TF32];
    switch ((enum lm_dtypes)dtype) {
    case LM_F64: return d->figure[DEVICE_F64];
    case LM_F32: return fmax(d->figure[DEVICE_F32], d->figure[DEVICE_F32_MATRIX]);
    case LM_F16: return d->figure[DEVICE_F16];
    case LM_BF16: return d->figure[DEVICE_BF16];
    case LM_F8: return d->figure[DEVICE_F8];
    case LM_I8:
    case LM_I32:
    case LM_I64:
    case LM_U8: break;
    }
    return NAN;
}

#define ISSUED_LANES 128 /* four warp schedulers, each with an instruction of 32 lanes */

double device_issued(const device *d)
{
    const double lanes = d->figure[DEVICE_CORES] / d->figure[DEVICE_MULTIPROCESSORS];

    return lanes > ISSUED_LANES ? ISSUED_LANES / lanes : 1;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* "NVIDIA H100 80GB HBM3" -> "h10080gbhbm3". Drivers before 2021 left the vendor out. */
static void normal_name(const char *name, size_t n, char out[NAME_MAX_BYTES])
{
    static const char vendor[] = "nvidia";
    size_t            k        = 0;

    for (size_t i = 0; i < n && k + 1 < NAME_MAX_BYTES; i++)
        if (isalnum((unsigned char)name[i]))
            out[k++] = (char)tolower((unsigned char)name[i]);
    out[k] = '\0';
    k      = strlen(vendor);
    if (!strncmp(out, vendor, k) && out[k])
        memmove(out, out + k, strlen(out + k) + 1);
}

bool device_same_name(const char *a, const char *b)
{
    char x[NAME_MAX_BYTES], y[NAME_MAX_BYTES];

    normal_name(a, strlen(a), x);
    normal_name(b, strlen(b), y);
    return *x && !strcmp(x, y);
}

typedef enum nearness { NOT_NEAR, NEAR, EQUAL } nearness;

/* Is the wanted name a part of `name` that begins with one of its words? "m3" is no part of "HBM3". */
static nearness compare(const char *wanted, const char *name, size_t n)
{
    char normal[NAME_MAX_BYTES];

    normal_name(name, n, normal);
    if (!strcmp(normal, wanted))
        return EQUAL;
    for (size_t i = 0; i < n && *wanted; i++) {
        if (i && (!isalnum((unsigned char)name[i]) || isalnum((unsigned char)name[i - 1])))
            continue;
        normal_name(name + i, n - i, normal);
        if (!strncmp(normal, wanted, strlen(wanted)))
            return NEAR;
    }
    return NOT_NEAR;
}

/* Name i of a device (0: its own), with *n bytes; NULL: no more names. */
static const char *name_at(const device *d, size_t i, size_t *n)
{
    const char *p = i ? d->also : d->name;

    for (; p && i > 1; i--)
        p = (p = strchr(p, ',')) ? p + 1 : NULL;
    if (p)
        p += strspn(p, " ");
    *n = !p ? 0 : i ? strcspn(p, ",") : strlen(p);
    return p;
}

/* The best match over all names of a device. */
static nearness compare_all(const device *d, const char *wanted)
{
    nearness    best = NOT_NEAR;
    const char *name;
    size_t      n;

    for (size_t i = 0; best != EQUAL && (name = name_at(d, i, &n)); i++) {
        const nearness this = compare(wanted, name, n);

        best = this > best ? this : best;
    }
    return best;
}

/* Letters by which the nearest of a device's names differs from the wanted one; TEXT_NEAR: none is near. */
static size_t misspelt_by(const device *d, const char *wanted)
{
    size_t      distance = TEXT_NEAR, n;
    const char *name;

    for (size_t k = 0; (name = name_at(d, k, &n)); k++) {
        char normal[NAME_MAX_BYTES];

        normal_name(name, n, normal);
        (void)text_nearer(wanted, normal, &distance);
    }
    return distance;
}

/* Adds a device to those that a message offers, *n so far. */
static void offer_device(char *offer, size_t size, size_t *n, const device *d)
{
    if ((*n)++ < NEAR_MAX)
        text_add(offer, size, "%s'%.60s'", *n > 1 ? ", " : "", d->name);
}

/* Devices that "gtx4090" likely means: those whose names contain the wanted one, else the least misspelt. */
static size_t offer_near(const device_list *list, const char *wanted, char *offer, size_t size)
{
    size_t near = 0, least = TEXT_NEAR;

    for (size_t i = 0; i < list->n; i++)
        if (compare_all(&list->device[i], wanted) == NEAR)
            offer_device(offer, size, &near, &list->device[i]);
    for (size_t i = 0; i < list->n && !near; i++)
        least = misspelt_by(&list->device[i], wanted) < least
                    ? misspelt_by(&list->device[i], wanted)
                    : least;
    for (size_t i = 0; i < list->n && least < TEXT_NEAR; i++)
        if (misspelt_by(&list->device[i], wanted) == least)
            offer_device(offer, size, &near, &list->device[i]);
    return near;
}

lm_status devices_find(const device_list *list, const char *name, const device **out, lm_error *err)
{
    char   wanted[NAME_MAX_BYTES], offer[300] = "";
    size_t near;

    normal_name(name, strlen(name), wanted);
    for (size_t i = 0; i < list->n; i++)
        if (compare_all(&list->device[i], wanted) == EQUAL) {
            *out = &list->device[i];
            return LM_OK;
        }
    near = offer_near(list, wanted, offer, sizeof offer);
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "no device '%.80s'%s%s%s; 'layermeter devices' lists the known ones, and its "
        "--help explains how to add one",
        name, near ? ": is it " : "", offer,
        near > NEAR_MAX ? " ..."
        : near          ? "?"
                        : "");
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A figure's text, by the unit of its row. */
static lm_status parse_figure(const char *text, const char *unit, double *out, lm_error *err)
{
    int64_t   whole;
    lm_status status;

    if (!strcmp(unit, "B/s"))
        return text_rate(text, out, err);
    if (*unit && strcmp(unit, "B") != 0)
        return text_quantity(text, unit, out, err);
    status = *unit ? text_bytes(text, &whole, err) : text_int(text, &whole, err);
    if (!status)
        *out = (double)whole;
    return status;
}

static lm_status read_figure(const value_form *how, const char *text, struct arena *room, void *out,
                             lm_error *err)
{
    double    value;
    lm_status status = parse_figure(text, how->argument, &value, err);

    (void)room;
    if (!status && !(value > 0))
        status = lm_error_set(err, LM_E_ARG, "must be above 0; what is unknown is left out");
    if (!status)
        *(double *)out = value;
    return status;
}

/* Units that a device may lack. */
static lm_status read_units(const value_form *how, const char *text, struct arena *room, void *out,
                            lm_error *err)
{
    if (strcmp(text, "0") != 0)
        return read_figure(how, text, room, out, err);
    *(double *)out = 0;
    return LM_OK;
}

static lm_status parse_class(const char *text, device_class *out, lm_error *err)
{
    const size_t at = text_place(text, device_class_names, N_DEVICE_CLASSES);

    if (!at || at == N_DEVICE_CLASSES)
        return lm_error_set(err, LM_E_ARG, "expected slot, card or module, found '%.40s'", text);
    *out = (device_class)at;
    return LM_OK;
}

static const value_type type_figure = { .size = sizeof(double), .read = read_figure },
                        type_units  = { .size = sizeof(double), .read = read_units };
VALUE_TYPE(type_class, device_class, parse_class);

/* Figures come first. */
typedef struct device_file_keys {
    ini_key of[N_DEVICE_FIGURES + 9];
} device_file_keys;

static device_file_keys keys_of_devices(void)
{
    static const ini_key texts[] = {
        INI_KEY("class", device, power_class, &type_class),
        INI_KEY("also", device, also, &type_text),
        INI_KEY("architecture", device, architecture, &type_text),
        INI_KEY("capability", device, capability, &type_text),
        INI_KEY("link", device, link, &type_text),
        INI_KEY("bridge", device, bridge, &type_text),
        INI_KEY("source", device, source, &type_text),
        INI_KEY("note", device, note, &type_text),
        { .name = NULL },
    };
    device_file_keys all;

    for (size_t f = 0; f < N_DEVICE_FIGURES; f++)
        all.of[f] = (ini_key){ device_keys[f].key,
                               offsetof(device, figure) + f * sizeof(double),
                               { .type     = device_keys[f].may_lack ? &type_units : &type_figure,
                                 .argument = device_keys[f].unit } };
    memcpy(all.of + N_DEVICE_FIGURES, texts, sizeof texts);
    return all;
}

/* Position in the file. */
typedef struct reading {
    const ini_document *doc;
    arena              *arena;
    lm_error           *err;
} reading;

static lm_status read_section(const reading *r, const ini_section *s, device *d)
{
    const device_file_keys keys = keys_of_devices();

    *d = (device){ .name = arena_text(r->arena, s->name, strlen(s->name)),
                   .path = arena_text(r->arena, r->doc->path, strlen(r->doc->path)),
                   .line = s->line };
    if (!d->name || !d->path)
        return no_memory(r->err);
    for (int f = 0; f < N_DEVICE_FIGURES; f++)
        d->figure[f] = NAN;
    return ini_keys_read(r->doc->path, s, keys.of, "a device", r->arena, d, r->err);
}

/* A name that a device of the file answers to. */
typedef struct called {
    const char   *normal, *text;
    size_t        n; /* bytes of the text */
    const device *of;
} called;

/* By name; of one name in the order of the file. */
static int by_name(const void *a, const void *b)
{
    const called *x = a, *y = b;
    const int     names = strcmp(x->normal, y->normal);

    return names ? names : ORDER_OF(x->of, y->of);
}

/* Names of the devices into `all`, if not NULL; returns how many there are. */
static size_t list_names(const reading *r, const device *d, size_t n, called *all)
{
    size_t      count = 0, size;
    const char *text;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; (text = name_at(&d[i], k, &size)); k++, count++) {
            char normal[NAME_MAX_BYTES];

            if (!all)
                continue;
            normal_name(text, size, normal);
            all[count] =
                (called){ arena_text(r->arena, normal, strlen(normal)), text, size, &d[i] };
        }
    return count;
}

/* Two devices of one file do not answer to one name. */
static lm_status check_names(const reading *r, const device *d, size_t n)
{
    const size_t count  = list_names(r, d, n, NULL);
    called      *all    = arena_array(r->arena, count + 1, sizeof *all);
    lm_status    status = LM_OK;

    if (!all)
        return no_memory(r->err);
    list_names(r, d, n, all);
    for (size_t i = 0; i < count && !status; i++)
        status = !all[i].normal   ? no_memory(r->err)
                 : *all[i].normal ? LM_OK
                                  : ini_fail(r->doc, r->err, all[i].of->line, LM_E_SYNTAX,
                                             "a name without letters and digits");
    if (status)
        return status;
    qsort(all, count, sizeof *all, by_name);
    for (size_t i = 1; i < count; i++)
        if (all[i].of != all[i - 1].of && !strcmp(all[i].normal, all[i - 1].normal))
            return ini_fail(r->doc, r->err, all[i].of->line, LM_E_SYNTAX,
                            "'%.*s' is a name of the device in line %d too",
                            (int)(all[i].n < 80 ? all[i].n : 80), all[i].text, all[i - 1].of->line);
    return LM_OK;
}

/* Appends a file's devices. */
static lm_status append(device_list *list, const char *path, lm_error *err)
{
    ini_document *doc    = NULL;
    lm_status     status = ini_load(path, &doc, err);
    const size_t  first  = list->n;
    reading       r      = { .doc = doc, .arena = list->arena, .err = err };
    device       *all    = NULL;

    if (!status) {
        all = arena_array(list->arena, first + doc->n_sections + 1, sizeof *all);
        if (!all)
            status = no_memory(err);
    }
    if (!status && first)
        memcpy(all, list->device, first * sizeof *all);
    for (size_t i = 0; !status && i < doc->n_sections; i++)
        status = read_section(&r, &doc->section[i], &all[first + i]);
    if (!status)
        status = check_names(&r, &all[first], doc->n_sections);
    if (!status) {
        list->device = all;
        list->n      = first + doc->n_sections;
    }
    ini_free(doc);
    return status;
}

static lm_status read_files(const char *const *path, size_t n, device_list **out, lm_error *err)
{
    device_list *list = calloc(1, sizeof *list);
    lm_status    status;

    status = list && (list->arena = arena_new()) ? LM_OK : no_memory(err);
    for (size_t i = 0; i < n && !status; i++)
        status = append(list, path[i], err);
    if (status) {
        devices_free(list);
        return status;
    }
    *out = list;
    return LM_OK;
}

lm_status devices_load(const char *path, device_list **out, lm_error *err)
{
    return read_files(&path, 1, out, err);
}

lm_status devices_open(const char *own, device_list **out, lm_error *err)
{
    char        shipped[PATH_MAX];
    const char *path[] = { own, shipped };
    lm_status   status =
        place_installed(LAYERMETER_CONFIG_DIR "/devices.ini", shipped, sizeof shipped, err);

    return status ? status : read_files(own ? path : path + 1, own ? 2 : 1, out, err);
}

void devices_free(device_list *list)
{
    if (!list)
        return;
    arena_free(list->arena);
    free(list);
}

lm_status device_figures(const char *name, double figure[N_DEVICE_FIGURES], lm_error *err)
{
    device_list  *list = NULL;
    const device *d;
    lm_status     status = name ? devices_open(NULL, &list, err) : LM_OK;

    for (device_figure f = 0; f < N_DEVICE_FIGURES; f++)
        figure[f] = NAN;
    if (list && !devices_find(list, name, &d, NULL))
        memcpy(figure, d->figure, sizeof d->figure);
    devices_free(list);
    return status;
}
