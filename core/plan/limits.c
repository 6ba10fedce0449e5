/* Limits of steps beside time: memory, and batches that are too large to help. */
#include "plan/limits.h"

#include <math.h>
#include <stdio.h>

#include "base/settings.h"
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

/* A step's memory: of the fullest rank, where ranks share the network. */
typedef struct asked_memory {
    const limits  *l;
    bind_options   bind;
    memory_options with;
    layout         layout; /* with all members set, if the setup has a layout */
} asked_memory;

static rank_memory ranks_of(const asked_memory *a)
{
    return (rank_memory){ .net  = a->l->net,
                          .reg  = a->l->reg,
                          .bind = &a->bind,
                          .how  = &a->with,
                          .l    = a->l->setup->laid_out ? &a->layout : NULL };
}

static lm_status use_of(const asked_memory *a, memory_use *out, lm_error *err)
{
    const rank_memory m = ranks_of(a);
    int64_t           rank;

    return rank_memory_of(&m, out, &rank, NULL, err);
}

static uint64_t allowed_of(const limits *l)
{
    return room_allowed(l->room.bytes, l->room.overhead > 0, ROOM_RESERVED);
}

static lm_status largest_of(const asked_memory *a, int64_t *out, lm_error *err)
{
    const rank_memory m = ranks_of(a);

    return rank_memory_largest(&m, allowed_of(a->l), out, err);
}

/* The message for a batch that exceeds the memory. */
static lm_status too_large(const asked_memory *a, uint64_t needed, char *text, lm_error *err)
{
    const limits   *l = a->l;
    int64_t         largest;
    char            fits[80], need[ROOM_TEXT], has[ROOM_SIZE];
    const char     *of     = l->told ? "--memory" : l->device;
    const lm_status status = largest_of(a, &largest, err);

    if (status)
        return status;
    if (largest)
        snprintf(fits, sizeof fits, "the largest that fits is %lld", (long long)largest);
    else
        snprintf(fits, sizeof fits, "not even 1 fits%s",
                 l->setup->laid_out                      ? ""
                 : l->setup->program != PROGRAM_TRAINING ? " (--tp shares it among devices)"
                 : l->room.recompute                     ? " (--tp, --zero need less)"
                                     : " (--recompute, --tp, --zero need less)");
    snprintf(text, LIMITS_TEXT, "batch %lld needs %s, and %.80s has %s: %s",
             (long long)a->bind.batch,
             room_needs((double)needed, l->room.overhead > 0, ROOM_RESERVED, need), of,
             room_size((double)l->room.bytes, has), fits);
    return LM_OK;
}

lm_dtype limits_mixed(const predictor *who)
{
    if (who->mixed)
        return who->mixed;
    if (!who->cal || who->dtype != LM_F32 || who->as_tf32 > 0)
        return 0;
    return setting_dtype(calibration_settings(who->cal), "amp");
}

memory_types limits_types(const predictor *who, bool laid_out)
{
    const bool halves = (laid_out || who->weights_told) && lm_dtype_bytes(who->weights) == 2;
    const bool narrow = halves || lm_dtype_bytes(who->dtype) == 2;

    return (memory_types){ .dtype = halves ? who->weights : who->dtype,
                           .mixed = halves ? 0 : limits_mixed(who),
                           .sums  = laid_out && narrow ? LM_F32 : 0 };
}

const char *memory_types_print(const memory_types *t, char text[MEMORY_TYPES_TEXT])
{
    if (t->sums)
        snprintf(text, MEMORY_TYPES_TEXT, "%s, gradients and masters in f32",
                 text_dtype_name(t->dtype));
    else
        types_print(t->dtype, t->mixed, text);
    return text;
}

bind_options limits_bind(const predictor *who, program_kind program)
{
    const workload_name of    = predictor_workload(who, program);
    const lm_dtype      dtype = who->weights_told ? who->weights : of.dtype;

    return (bind_options){ .dtype      = dtype,
                           .mixed      = dtype == who->dtype ? limits_mixed(who) : 0,
                           .on         = who->on,
                           .input      = who->input,
                           .evaluation = program == PROGRAM_INFERENCE };
}

memory_types limits_types_of(const predictor *who, const step_setup *s)
{
    const bind_options of = limits_bind(who, s->program);

    return s->program == PROGRAM_TRAINING ? limits_types(who, s->laid_out)
                                          : (memory_types){ .dtype = of.dtype, .mixed = of.mixed };
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

/* Says whether the step that needs most fits: of layouts always, of others if it is close. */
static void put_verdict(const limits *l, int64_t batch, double bytes, char *text)
{
    const bool         all     = l->room.overhead > 0;
    const room_verdict verdict = room_judge(bytes, (double)l->room.bytes, all, ROOM_RESERVED);
    const memory_types types   = limits_types_of(l->who, l->setup);
    char               needs[ROOM_TEXT], has[ROOM_SIZE], as[MEMORY_TYPES_TEXT], what[120];

    if (!(bytes > 0) || (verdict == ROOM_FITS && !l->setup->laid_out))
        return;
    if (l->setup->laid_out)
        snprintf(what, sizeof what, "memory of the fullest rank (%s)",
                 memory_types_print(&types, as));
    else
        snprintf(what, sizeof what, "memory of batch %lld", (long long)batch);
    snprintf(text, LIMITS_TEXT, "%s: %s; %.80s has %s: %s", what,
             room_needs(bytes, all, ROOM_RESERVED, needs), l->told ? "--memory" : l->device,
             room_size((double)l->room.bytes, has), room_verdict_words(verdict));
}

static lm_status check_memory(const limits *l, char *text, bool *too_much, lm_error *err)
{
    const program_kind program = l->setup->program;
    const memory_types types   = limits_types_of(l->who, l->setup);
    double             most    = 0;
    int64_t            batch   = 0;

    for (int many = 0; many < 2; many++)
        for (int keep = 0; keep < 2; keep++) {
            asked_memory a      = { .l    = l,
                                    .bind = limits_bind(l->who, program),
                                    .with = room_options(&l->setup->sync, l->setup->optimizer,
                                                         types.dtype, &l->room, many, keep) };
            lm_error     untold = { LM_OK, "" };
            memory_use   use;
            lm_status    status;

            if (l->setup->laid_out) {
                a.bind.dtype = types.dtype;
                a.bind.mixed = types.mixed;
                a.with.sums  = types.sums;
                a.with.keep_gradients &= !types.sums; /* the sums are kept */
            }
            a.bind.batch = l->batch[many][keep];
            if (!a.bind.batch || (l->setup->laid_out && settle(&a, &untold)))
                continue;
            status    = use_of(&a, &use, err);
            *too_much = !status && use.peak > allowed_of(l);
            if (*too_much)
                status = too_large(&a, use.peak, text, err);
            if (status || *too_much)
                return status;
            if ((double)use.peak > most) {
                most  = (double)use.peak;
                batch = a.bind.batch;
            }
        }
    put_verdict(l, batch, most, text);
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
    const bool trains   = l->setup->program == PROGRAM_TRAINING;
    bool       too_much = false;
    lm_status  status   = LM_OK;

    *memory = *batch = '\0';
    if (l->room.bytes)
        status = check_memory(l, memory, &too_much, err);
    if (!status && too_much && l->told)
        status = lm_error_set(err, LM_E_NOTFOUND, "%s", memory);
    if (!status && trains)
        limits_batch_words(l->global, l->critical, batch);
    return status;
}
