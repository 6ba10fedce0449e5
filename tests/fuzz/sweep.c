/* Sweeps, and files that a calibration goes on with; of builds that calibrate. */
#include "inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/output.h"
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

static void describes_nothing(const backend *b,
                              void (*put)(void *context, const char *key, const char *value),
                              void *context)
{
    (void)b;
    (void)put;
    (void)context;
}

/* Is the first text a beginning of the second? */
static bool begins(const char *text, size_t size, const uint8_t *data, size_t n)
{
    return size <= n && !memcmp(text, data, size);
}

/* What a run goes on with is a beginning of the file, or a head of its own; what it holds, it has. */
bool fuzz_resume(const uint8_t *data, size_t size)
{
    static const backend_type type    = { .name     = "sim",
                                          .virtual  = true,
                                          .describe = describes_nothing };
    static backend            compute = { .type = &type };
    static const sweep        plan    = { .compute = "sim", .threads = 1 };
    const bench               b       = { .compute = &compute, .plan = &plan };
    memory_file               f       = file_of(data, size);
    world                    *alone   = NULL;
    observations             *obs     = NULL;
    output                    o;
    struct stat               about;
    lm_error                  err    = { 0 };
    lm_status                 status = world_open(NULL, NULL, &alone, &err);
    char                     *text;

    check(!status);
    status = output_open(&o, f.path, OUTPUT_RESUME, alone, &b, "fuzz", &err);
    if (status) {
        check_refusal(status, &err);
    } else {
        check(!fstat(f.fd, &about) && about.st_size == o.end);
        check(text = malloc((size_t)o.end + 1));
        check(pread(f.fd, text, (size_t)o.end, 0) == o.end);
        check(begins(text, (size_t)o.end, data, size) || !o.n_held);
        free(text);
        for (size_t i = 0; i < o.n_held; i++)
            check(o.held[i].key);
        if (o.n_held) {
            check(!observations_load(f.path, &obs, &err));
            check(!obs->cut_short && output_held(&o, &obs->row[obs->n_rows - 1]));
            observations_free(obs);
        }
    }
    output_close(&o);
    world_free(alone);
    close(f.fd);
    return !status;
}
