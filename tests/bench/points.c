/* Predictions per second of one core: (batch, node) points of a network, as every command computes
 * them, with intervals and ledger; by themselves, and in a scan. Lines "NAME POINTS_PER_SECOND".
 * usage: points NETWORK MACHINE MODEL POINTS */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "layers/loader.h"
#include "machine/machine.h"
#include "predict/predict.h"

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Batches 1 to 256, each on 1 to 64 nodes, over and over. */
static int64_t batch_at(int64_t i)
{
    return i / 64 % 256 + 1;
}

static int64_t nodes_at(int64_t i)
{
    return i % 64 + 1;
}

static lm_status predict(const predictor *who, int64_t n, double *sum, lm_error *err)
{
    step_setup s = step_setup_of(1, 1); /* one question, as `scale` has it */

    for (int64_t i = 0; i < n; i++) {
        prediction step;
        lm_status  status;

        s.batch = batch_at(i);
        s.nodes = nodes_at(i);
        if ((status = predict_step(who, &s, &step, err)))
            return status;
        *sum += step.step;
    }
    return LM_OK;
}

int main(int argc, char **argv)
{
    lm_error     err   = { LM_OK, "" };
    registry    *reg   = NULL;
    workloads   *loads = NULL;
    calibration *cal   = NULL;
    double       sum   = 0, begin;
    int64_t      n;

    if (argc != 5 || (n = atoll(argv[4])) < 1)
        return 2;
    if (!registry_new(&reg, &err) && !loader_open_all(reg, NULL, 0, &err) &&
        !workloads_new(reg, &loads, &err) && !machine_load(argv[2], &cal, &err)) {
        predictor who = {
            .cal = cal, .loads = loads, .model = argv[3], .network = argv[1], .dtype = LM_F32
        };

        if (!predictor_open(&who, &(model_source){ .device = NULL }, &err) &&
            !predict(&who, 1, &sum, &err)) { /* the network is read and bound */
            begin = now();
            if (!predict(&who, n, &sum, &err))
                printf("answers %.4g\n", (double)n / (now() - begin));
            begin = now();
            if (!err.code && !step_scan_new(&who.scan, &err) && !predict(&who, n, &sum, &err))
                printf("scans %.4g\n", (double)n / (now() - begin));
            step_scan_free(who.scan);
        }
        predictor_close(&who);
    }
    if (err.code)
        fprintf(stderr, "points: %s\n", err.text);
    else
        fprintf(stderr, "points: %g s in all\n", sum); /* so that nothing is left out */
    calibration_free(cal);
    workloads_free(loads);
    registry_free(reg);
    return err.code ? 1 : 0;
}
