/* Sweeps, of builds that calibrate. */
#include "inside.h"

#include <unistd.h>

#include "sweep/sweep.h"

/* Numbers of four digits may stand for a hundred thousand points: a slow sweep, no wrong one. */
static bool too_long(const uint8_t *data, size_t size)
{
    int digits = 0;

    for (size_t i = 0; i < size && digits < 4; i++)
        digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
    return digits == 4;
}

static lm_status three_ranks(void *context, const char *compute, sweep_limits *out, lm_error *err)
{
    static const int       host[] = { 0, 0, 1 }, seat[] = { 0, 1, 0 };
    static const placement job = { 3, host, seat };

    (void)context;
    (void)compute;
    (void)err;
    *out = (sweep_limits){ .job = &job, .settings = UINT32_MAX };
    return LM_OK;
}

bool fuzz_sweep(const uint8_t *data, size_t size)
{
    memory_file f;
    workloads  *loads = NULL;
    sweep      *plan  = NULL;
    lm_error    err   = { 0 };
    lm_status   status;

    if (too_long(data, size))
        return false;
    f      = file_of(data, size);
    status = workloads_new(fuzz_types, &loads, &err);
    if (!status)
        status = sweep_load(f.path, fuzz_types, loads, three_ranks, NULL, &plan, &err);
    close(f.fd);
    if (status)
        check_refusal(status, &err);
    else
        check(plan->compute && plan->n_points && plan->stop.min_repeats <= plan->stop.max_repeats);
    sweep_free(plan);
    workloads_free(loads);
    return !status;
}
