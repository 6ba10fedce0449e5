/* Predictions of networks by their single layers with a residual: processor time of loading a
 * machine file and what lies beside it, and of predicting networks that are bound. Lines "NAME
 * MILLISECONDS", least of ROUNDS. usage: single MACHINE BATCH ROUNDS NETWORK... */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fit/calibration.h"
#include "layers/loader.h"
#include "machine/machine.h"
#include "observe/workloads.h"
#include "single/whole.h"

#define MOST 64

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * ((double)t.tv_sec + 1e-9 * (double)t.tv_nsec);
}

typedef struct bench {
    bound_network *net[MOST];
    size_t         n, operations;
    double         load, first, predict, prices, sum;
} bench;

static double least(double a, double b)
{
    return a > 0 && a < b ? a : b; /* 0: nothing yet */
}

static lm_status predict_all(const bench *b, layer_asker *by, whole_learned how, double *sum,
                             lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < b->n && !status; i++) {
        whole_seconds s;

        status = whole_predict(by, b->net[i], "sgd", how, &s, err);
        *sum += status ? 0 : s.forward + s.backward;
    }
    return status;
}

/* The file and what lies beside it; all networks, then all again, and by prices alone. */
static lm_status round_of(bench *b, const char *machine, lm_error *err)
{
    calibration *cal    = NULL;
    layer_asker  by     = { .m = NULL };
    double       begin  = now(), loaded, asked;
    lm_status    status = machine_load(machine, &cal, err);

    loaded = now();
    if (!status)
        by = layer_asker_of(cal->layers);
    if (!status)
        status = predict_all(b, &by, WHOLE_LEARNED, &b->sum, err);
    asked    = now();
    b->load  = least(b->load, loaded - begin);
    b->first = least(b->first, asked - loaded);
    begin    = asked;
    if (!status)
        status = predict_all(b, &by, WHOLE_LEARNED, &b->sum, err);
    b->predict = least(b->predict, now() - begin);
    begin      = now();
    if (!status)
        status = predict_all(b, &by, WHOLE_PRICES, &b->sum, err);
    b->prices = least(b->prices, now() - begin);
    layer_asker_free(&by);
    calibration_free(cal);
    return status;
}

int main(int argc, char **argv)
{
    lm_error   err   = { LM_OK, "" };
    registry  *reg   = NULL;
    workloads *loads = NULL;
    bench      b     = { .n = 0 };
    long       batch = argc > 4 ? atol(argv[2]) : 0, rounds = argc > 4 ? atol(argv[3]) : 0;
    lm_status  status = LM_OK;

    if (batch < 1 || rounds < 1 || argc - 4 > MOST)
        return 2;
    if ((status = registry_new(&reg, &err)) || (status = loader_open_all(reg, NULL, 0, &err)) ||
        (status = workloads_new(reg, &loads, &err)))
        goto out;
    for (int i = 4; i < argc && !status; i++)
        if (!(status =
                  workloads_bind_at(loads, &(workload_name){ .name = argv[i], .dtype = LM_F32 },
                                    batch, &b.net[b.n], &err)))
            b.operations += b.net[b.n++]->n_layers;
    for (long k = 0; k < rounds && !status; k++)
        status = round_of(&b, argv[1], &err);
    if (!status)
        printf(
            "networks %zu\noperations %zu\nload_ms %.3g\nfirst_ms %.3g\npredict_ms %.3g\nprices_ms %.3g\n",
            b.n, b.operations, b.load, b.first, b.predict, b.prices);
out:
    if (status)
        fprintf(stderr, "single: %s\n", err.text);
    else
        fprintf(stderr, "single: %g s in all\n", b.sum); /* so that nothing is left out */
    while (b.n)
        bound_network_free(b.net[--b.n]);
    workloads_free(loads);
    registry_free(reg);
    return status ? 1 : 0;
}
