/* What each parser must hold to, whatever it is given. */
#define _GNU_SOURCE /* memfd_create() */
#include "targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inside.h"
#include "layers/loader.h"

registry *fuzz_types;

void broken(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

void check_refusal(lm_status status, const lm_error *err)
{
    check(status < 0);
    check(err->code == status);
    check(err->text[0]);
    check(!strpbrk(err->text, "\r\n"));
}

void fuzz_open(void)
{
    lm_error err = { 0 };

    if (registry_new(&fuzz_types, &err) || loader_open_all(fuzz_types, NULL, 0, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(2);
    }
}

void fuzz_close(void)
{
    registry_free(fuzz_types);
}

char *as_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    check(text);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

memory_file file_of(const uint8_t *data, size_t size)
{
    memory_file f = { .fd = memfd_create("fuzz", MFD_CLOEXEC) };

    check(f.fd >= 0);
    while (size > 0) {
        const ssize_t n = write(f.fd, data, size);

        check(n > 0);
        data += n;
        size -= (size_t)n;
    }
    snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", f.fd);
    return f;
}

const fuzz_target fuzz_targets[] = {
    { "text", fuzz_text },
    { "options", fuzz_options },
    { "geometry", fuzz_geometry },
    { "ini", fuzz_ini },
    { "csv", fuzz_csv },
    { "layout", fuzz_layout },
    { "network", fuzz_network },
    { "paleo", fuzz_paleo },
    { "config", fuzz_config },
    { "onnx", fuzz_onnx },
    { "kineto", fuzz_kineto },
    { "nsys", fuzz_nsys },
    { "tensorboard", fuzz_tensorboard },
    { "wandb", fuzz_wandb },
    { "logs", fuzz_logs },
    { "extrap", fuzz_extrap },
    { "trace", fuzz_trace },
    { "power_log", fuzz_power_log },
    { "watch_plan", fuzz_watch_plan },
    { "machine", fuzz_machine },
    { "layer_watts", fuzz_layer_watts },
    { "observations", fuzz_observations },
    { "stream", fuzz_stream },
    { "devices", fuzz_devices },
    { "prices", fuzz_prices },
    { "residual", fuzz_residual },
    { "kernels", fuzz_kernels },
    { "learner", fuzz_learner },
    { "layerwise", fuzz_layerwise },
    { "runs", fuzz_runs },
    { "crossgpu", fuzz_crossgpu },
#ifdef FUZZ_SWEEP
    { "sweep", fuzz_sweep },
    { "resume", fuzz_resume },
#endif
    { NULL, NULL },
};

const fuzz_target *fuzz_find(const char *name)
{
    for (const fuzz_target *t = fuzz_targets; t->name; t++)
        if (!strcmp(t->name, name))
            return t;
    return NULL;
}
