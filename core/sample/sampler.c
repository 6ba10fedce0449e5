/* Repeated samples of the devices of this machine. */
#include "sample/sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/no_memory.h"
#include "base/text.h"

void sample_csv_head(FILE *out)
{
    fputs("timestamp,index,utilization.gpu [%],utilization.memory [%],memory.used [MiB],"
          "power.draw [W],enforced.power.limit [W],energy [J],clocks.current.sm [MHz],"
          "clocks.current.memory [MHz],temperature.gpu [C],clocks_event_reasons.active\n",
          out);
}

static void put(FILE *out, const char *format, double value)
{
    putc(',', out);
    if (!isnan(value))
        fprintf(out, format, value);
}

void sample_csv_row(FILE *out, const char *index, const device_sample *s)
{
    fprintf(out, "%.3f,%s", s->time, index);
    put(out, "%.4g", s->busy);
    put(out, "%.4g", s->memory_busy);
    put(out, "%.0f", s->memory_bytes / 0x1p20);
    put(out, "%.2f", s->watts);
    put(out, "%.2f", s->limit_watts);
    put(out, "%.3f", s->joules);
    put(out, "%.0f", s->clock_mhz);
    put(out, "%.0f", s->memory_clock_mhz);
    put(out, "%.0f", s->celsius);
    putc(',', out);
    if (s->held_known)
        fprintf(out, "0x%016llx", (unsigned long long)s->held);
    putc('\n', out);
}

/* Seconds between readings of the throttle counters, one or more for each core. */
#define THROTTLES_EVERY 1.0

static double seconds_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- open ------------------------------------------------------------------------------------ */

static lm_status add_gpu(sampler *s, size_t index, lm_error *err)
{
    sampler_device *d = &s->device[s->n];
    lm_status       status;

    if (s->n == SAMPLER_DEVICES_MAX)
        return lm_error_set(err, LM_E_ARG, "more than %d devices", SAMPLER_DEVICES_MAX);
    status = nvml_open_at(index, &d->gpu, err);
    if (status) {
        lm_error_prefix(err, "GPU %zu", index);
        return status;
    }
    snprintf(d->index, sizeof d->index, "%zu", index);
    snprintf(d->name, sizeof d->name, "%s", nvml_name(d->gpu));
    s->n++;
    return LM_OK;
}

static lm_status add_cpu(sampler *s, lm_error *err)
{
    sampler_device *d = &s->device[s->n];
    lm_error        why;

    if (s->n == SAMPLER_DEVICES_MAX)
        return lm_error_set(err, LM_E_ARG, "more than %d devices", SAMPLER_DEVICES_MAX);
    strcpy(d->index, "cpu");
    if (cpu_power_open(&d->power, &why))
        snprintf(d->name, sizeof d->name, "CPU (%.480s)", why.text);
    else
        snprintf(d->name, sizeof d->name, "CPU (%.480s)", cpu_power_source(d->power));
    if (d->power)
        cpu_power_watts(d->power); /* the first look has a beginning */
    d->last         = cpu_time_now();
    d->throttles    = cpu_throttle_count();
    d->throttles_at = seconds_of(CLOCK_MONOTONIC);
    s->n++;
    return LM_OK;
}

static lm_status add_all(sampler *s, size_t n_gpus, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < n_gpus && !status; i++)
        status = add_gpu(s, i, err);
    return status;
}

static bool is_there(const sampler *s, const char *index)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->device[i].index, index))
            return true;
    return false;
}

static lm_status add_named(sampler *s, const char *name, size_t n_gpus, lm_error *err)
{
    uint64_t index;

    if (is_there(s, name))
        return LM_OK;
    if (!strcmp(name, "cpu"))
        return add_cpu(s, err);
    if (!strcmp(name, "all"))
        return add_all(s, n_gpus, err);
    if (text_uint(name, &index, NULL))
        return lm_error_set(err, LM_E_ARG,
                            "expected numbers of GPUs, all or cpu (0,2,cpu), found '%.40s'", name);
    if (index >= n_gpus)
        return lm_error_set(err, LM_E_NOTFOUND, "no GPU %.20s: there %s %zu, from 0", name,
                            n_gpus == 1 ? "is" : "are", n_gpus);
    return add_gpu(s, (size_t)index, err);
}

static lm_status add_listed(sampler *s, const char *which, lm_error *err)
{
    char      text[512], *part[SAMPLER_DEVICES_MAX];
    size_t    n, n_gpus = 0;
    bool      counted = false;
    lm_status status  = LM_OK;

    if (strlen(which) >= sizeof text)
        return lm_error_set(err, LM_E_ARG, "a list of devices of more than %zu bytes",
                            sizeof text - 1);
    strcpy(text, which);
    n = text_split(text, ',', part, SAMPLER_DEVICES_MAX);
    for (size_t i = 0; i < n && !status; i++) {
        if (!counted && (!strcmp(part[i], "all") || !text_uint(part[i], &(uint64_t){ 0 }, NULL))) {
            counted = true;
            status  = nvml_count(&n_gpus, err);
        }
        if (!status)
            status = add_named(s, part[i], n_gpus, err);
    }
    return status;
}

lm_status sampler_open(const char *which, sampler **out, lm_error *err)
{
    sampler  *s      = calloc(1, sizeof *s);
    size_t    n_gpus = 0;
    lm_status status;

    if (!s)
        return no_memory(err);
    if (which)
        status = add_listed(s, which, err);
    else if (!nvml_count(&n_gpus, NULL) && n_gpus > 0)
        status = add_all(s, n_gpus, err);
    else
        status = add_cpu(s, err);
    if (!status && !s->n)
        status = lm_error_set(err, LM_E_NOTFOUND, "no GPU is there");
    if (status)
        sampler_close(s);
    else
        *out = s;
    return status;
}

void sampler_close(sampler *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++) {
        nvml_close(s->device[i].gpu);
        cpu_power_close(s->device[i].power);
    }
    free(s);
}

/* ---- look ------------------------------------------------------------------------------------ */

static void look_for_heat(sampler_device *c, device_sample *out)
{
    const double now = seconds_of(CLOCK_MONOTONIC);

    if (now - c->throttles_at >= THROTTLES_EVERY) {
        const double count = cpu_throttle_count();

        c->held         = count > c->throttles;
        c->throttles    = count;
        c->throttles_at = now;
    }
    out->held_known = !isnan(c->throttles);
    out->held       = c->held ? HELD_HARD_THERMAL : 0;
}

static device_sample look_at_cpu(sampler_device *c)
{
    device_sample  s   = device_sample_unknown();
    const cpu_time now = cpu_time_now();

    if (now.all > c->last.all) {
        s.busy  = 100 * (now.busy - c->last.busy) / (now.all - c->last.all);
        c->last = now;
    }
    s.memory_bytes = cpu_memory_bytes();
    s.clock_mhz    = cpu_mean_clock_mhz();
    if (c->power) {
        s.watts  = cpu_power_watts(c->power);
        s.joules = cpu_power_joules(c->power);
    }
    look_for_heat(c, &s);
    return s;
}

device_sample sampler_look(sampler *s, size_t i)
{
    sampler_device *d   = &s->device[i];
    device_sample   out = d->gpu ? nvml_sample(d->gpu) : look_at_cpu(d);

    out.time = seconds_of(CLOCK_REALTIME);
    return out;
}
