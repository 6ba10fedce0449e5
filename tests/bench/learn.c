/* Learns a model of single layers of a file of observations, and prints what that takes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/no_memory.h"
#include "layers/loader.h"
#include "layerwise/layerwise_points.h"

static double now(clockid_t of)
{
    struct timespec t;

    clock_gettime(of, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double mebibytes(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_maxrss / 1024;
}

/* What was learned, as text and back again: how often a second. */
static lm_status reread(const layerwise_model *m, double *seconds, size_t *size, lm_error *err)
{
    enum { TIMES = 20 };
    const char *name   = m->kind->name;
    char       *text   = NULL;
    lm_status   status = kept_text(&layerwise_kept, name, m, &text, err);

    *size    = status ? 0 : strlen(text);
    *seconds = 0;
    for (int i = 0; i < TIMES && !status; i++) {
        void *back = NULL;
        char *copy = strdup(text);

        if (!copy)
            return no_memory(err);
        *seconds -= now(CLOCK_MONOTONIC);
        status = kept_read(&layerwise_kept, name, "model", copy, &back, err);
        *seconds += now(CLOCK_MONOTONIC);
        layerwise_free(back);
        free(copy);
    }
    *seconds /= TIMES;
    free(text);
    return status;
}

static lm_status learn(const layerwise_kind *kind, const layerwise_data *d, const char *settings,
                       lm_error *err)
{
    double           setting[LAYERWISE_SETTINGS], reading = 0;
    layerwise_model *m      = NULL;
    size_t           size   = 0;
    lm_status        status = layerwise_settings(kind, settings, setting, err);
    const double     began  = now(CLOCK_MONOTONIC);
    const double     spent  = now(CLOCK_PROCESS_CPUTIME_ID);

    if (status || (status = layerwise_learn(d, setting, 1, NULL, NULL, &m, err)))
        return status;
    printf("%s: %.1f s, %.1f s of processors, %.0f MiB at most\n", kind->name,
           now(CLOCK_MONOTONIC) - began, now(CLOCK_PROCESS_CPUTIME_ID) - spent, mebibytes());
    if (!(status = reread(m, &reading, &size, err)))
        printf("%s: %zu bytes of text, read in %.1f ms\n", kind->name, size, 1e3 * reading);
    layerwise_free(m);
    return status;
}

static lm_status run(const char *path, const char *model, const char *settings, lm_error *err)
{
    const layerwise_kind *kind  = layerwise_find(model);
    registry             *reg   = NULL;
    workloads            *loads = NULL;
    observations         *obs   = NULL;
    points                p     = { 0 };
    layerwise_data        d     = { .kind = kind };
    lm_status             status;

    if (!kind)
        return lm_error_set(err, LM_E_NOTFOUND, "no model '%.40s'", model);
    if (!(status = registry_new(&reg, err)) && !(status = loader_open_all(reg, NULL, 0, err)) &&
        !(status = workloads_new(reg, &loads, err)) &&
        !(status = observations_load(path, &obs, err)) &&
        !(status = points_from(obs, loads, &p, err))) {
        const layerwise_source from = { .obs = obs, .p = &p };

        if (!(status = layerwise_gather(kind, &from, 1, &d, err)))
            status = learn(kind, &d, settings, err);
    }
    layerwise_data_free(&d);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
    registry_free(reg);
    return status;
}

int main(int n, char **argument)
{
    lm_error err = { 0 };

    if (n < 3 || n > 4) {
        fprintf(stderr, "usage: bench_learn OBSERVATIONS.csv MODEL [SETTINGS]\n");
        return 2;
    }
    if (run(argument[1], argument[2], n > 3 ? argument[3] : NULL, &err)) {
        fprintf(stderr, "bench_learn: %s\n", err.text);
        return 1;
    }
    return 0;
}
