/* Limits of steps beside time: memory, and batches that are too large to help. */
#include "plan/limits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "device/device.h"
#include "program/rank_memory.h"

lm_status limits_begin(limits *l, lm_error *err)
{
    device_list  *list = NULL;
    const device *found;
    lm_error      unknown = { 0 }; /* no datasheet: no limit */
    lm_status     status;

    l->told = l->room.bytes > 0;
    if (!l->device && l->who->cal)
        l->device = calibration_device(l->who->cal);
    if (l->told || !l->device)
        return LM_OK;
    if ((status = devices_open(l->devices, &list, err)))
        return status;
    if (!devices_find(list, l->device, &found, &unknown) && !isnan(found->figure[DEVICE_MEMORY]))
        l->room.bytes = (uint64_t)found->figure[DEVICE_MEMORY];
    devices_free(list);
    return LM_OK;
}

void limits_meet(limits *l, const scale_point *p)
{
    const bool    many = p->step.nodes > 1 || p->step.devices > 1, keep = p->accumulation > 1;
    const int64_t ranks = p->step.nodes * p->step.devices;
    int64_t      *most  = &l->batch[many][keep];

    l->ranks  = !l->ranks || ranks < l->ranks ? ranks : l->ranks;
    l->micro  = p->accumulation > l->micro ? p->accumulation : l->micro;
    *most     = p->step.batch > *most ? p->step.batch : *most;
    l->global = p->global_batch > l->global ? p->global_batch : l->global;
}

/* "44.6 GB", "254 kB" */
static const char *size_of(uint64_t bytes, char *buffer, size_t size)
{
    static const struct {
        double      each;
        const char *unit;
    } units[] = { { 1e12, "TB" }, { 1e9, "GB" }, { 1e6, "MB" }, { 1e3, "kB" } };
    size_t i  = 0;

    while (i + 1 < sizeof units / sizeof units[0] && (double)bytes < units[i].each)
        i++;
    snprintf(buffer, size, "%.3g %s", (double)bytes / units[i].each, units[i].unit);
    return buffer;
}

/* A step's memory: of the fullest rank, where ranks share the network. */
typedef struct asked_memory {
    const limits  *l;
    bind_options   bind;
    memory_options with;
    layout         layout; /* with all members set, if the setup has a layout */
} asked_memory;

static rank_memory ranks_of(const asked_memory *a)
{
    return (rank_memory){ a->l->net, a->l->reg, &a->bind, &a->with, &a->layout, 0 };
}

static lm_status use_of(const asked_memory *a, memory_use *out, lm_error *err)
{
    const rank_memory m = ranks_of(a);
    int64_t           rank;

    if (a->l->setup->laid_out)
        return rank_memory_of(&m, out, &rank, NULL, err);
    return memory_of_step(a->l->net, a->l->reg, &a->bind, &a->with, out, NULL, err);
}

static lm_status largest_of(const asked_memory *a, int64_t *out, lm_error *err)
{
    const rank_memory m = ranks_of(a);

    if (a->l->setup->laid_out)
        return rank_memory_largest(&m, a->l->room.bytes, out, err);
    return memory_largest_batch(a->l->net, a->l->reg, &a->bind, &a->with, a->l->room.bytes, out,
                                err);
}

/* The message for a batch that exceeds the memory. */
static lm_status too_large(const asked_memory *a, uint64_t needed, char *text, lm_error *err)
{
    const limits   *l = a->l;
    int64_t         largest;
    char            fits[80], need[24], has[24];
    const char     *of     = l->told ? "--memory" : l->device;
    const lm_status status = largest_of(a, &largest, err);

    if (status)
        return status;
    if (largest)
        snprintf(fits, sizeof fits, "the largest that fits is %lld", (long long)largest);
    else
        snprintf(fits, sizeof fits, "not even 1 fits%s",
                 l->room.recompute || l->setup->laid_out || l->setup->program != PROGRAM_TRAINING
                     ? ""
                     : " (--recompute, --tp, --zero need less)");
    snprintf(text, LIMITS_TEXT, "batch %lld needs %s, and %.80s has %s: %s",
             (long long)a->bind.batch, size_of(needed, need, sizeof need), of,
             size_of(l->room.bytes, has, sizeof has), fits);
    return LM_OK;
}

lm_dtype limits_mixed(const predictor *who)
{
    const char *settings = who->cal ? calibration_told(who->cal, "settings") : NULL;
    const char *amp      = settings ? strstr(settings, "amp=") : NULL;

    if (who->mixed)
        return who->mixed;
    if (!amp || who->dtype != LM_F32 || who->as_tf32 > 0)
        return 0;
    return !strncmp(amp + 4, "bf16", 4) ? LM_BF16 : LM_F16;
}

bind_options limits_bind(const predictor *who, program_kind program)
{
    const workload_name of = predictor_workload(who, program);

    return (bind_options){ .dtype      = of.dtype,
                           .mixed      = of.dtype == who->dtype ? limits_mixed(who) : 0,
                           .on         = who->on,
                           .input      = who->input,
                           .evaluation = program == PROGRAM_INFERENCE };
}

/* Settles the layout of a predicted step, which divides. A rank's memory that is unknown is not
 * checked. */
static lm_status settle(asked_memory *a, lm_error *err)
{
    lm_status status;

    a->layout              = a->l->setup->layout;
    a->layout.dp           = 0;
    a->layout.micro_batch  = a->bind.batch;
    a->layout.accumulation = a->l->micro;
    a->layout.global_batch = 0;
    status                 = layout_settle(&a->layout, NULL, a->l->ranks, err);
    return status ? status : rank_memory_check(&a->layout, err);
}

static lm_status check_memory(const limits *l, char *text, lm_error *err)
{
    const program_kind program = l->setup->program;

    for (int many = 0; many < 2; many++)
        for (int keep = 0; keep < 2; keep++) {
            asked_memory a      = { .l    = l,
                                    .bind = limits_bind(l->who, program),
                                    .with = room_options(&l->setup->sync, l->setup->optimizer,
                                                         l->who->dtype, &l->room, many, keep) };
            lm_error     untold = { LM_OK, "" };
            memory_use   use;
            lm_status    status;

            a.bind.batch = l->batch[many][keep];
            if (!a.bind.batch || (l->setup->laid_out && settle(&a, &untold)))
                continue;
            status = use_of(&a, &use, err);
            if (!status && use.peak > l->room.bytes)
                status = too_large(&a, use.peak, text, err);
            if (status || *text)
                return status;
        }
    return LM_OK;
}

void limits_batch_words(int64_t global, int64_t critical, char text[LIMITS_TEXT])
{
    const double factor = critical ? 1 + (double)global / (double)critical : NAN;
    char         samples[32], most[32];

    *text = '\0';
    text_grouped((uint64_t)global, samples, sizeof samples);
    text_grouped((uint64_t)critical, most, sizeof most);
    if (critical && global > critical)
        snprintf(
            text, LIMITS_TEXT,
            "steps of %s samples, beyond the critical batch of %s: training takes about %.2g times "
            "the fewest epochs (1 + batch / critical; McCandlish et al. 2018), which are not counted",
            samples, most, factor);
    else if (!critical && global > LIMITS_USUAL_BATCH)
        snprintf(
            text, LIMITS_TEXT,
            "steps of %s samples: such a large batch may need more epochs, which are not counted (see --critical-batch)",
            samples);
}

lm_status limits_check(const limits *l, char memory[LIMITS_TEXT], char batch[LIMITS_TEXT],
                       lm_error *err)
{
    const bool trains = l->setup->program == PROGRAM_TRAINING;
    lm_status  status = LM_OK;

    *memory = *batch = '\0';
    if (l->room.bytes)
        status = check_memory(l, memory, err);
    if (!status && *memory && l->told)
        status = lm_error_set(err, LM_E_NOTFOUND, "%s", memory);
    if (!status && trains)
        limits_batch_words(l->global, l->critical, batch);
    return status;
}
