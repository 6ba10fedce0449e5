/* Provenance of measurements. */
#include "run/provenance.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "measure/machine_state.h"
#include "measure/power_meter.h"
#include "measure/topology.h"
#include "observe/observation.h"
#include "run/agreement.h"
#include "run/fingerprint.h"
#include "verify/verdicts.h"

#define BUS_ID 64

static void put(void *context, const char *key, const char *value)
{
    FILE *out = context;

    fprintf(out, "# %s: ", key);
    for (; *value; value++)
        putc((unsigned char)*value < ' ' ? ' ' : *value, out);
    putc('\n', out);
}

/* First "key : value" of /proc/cpuinfo and its kind. */
static void put_from(FILE *out, const char *path, const char *field, const char *key)
{
    FILE *in = fopen(path, "r");
    char  line[256];

    while (in && fgets(line, sizeof line, in)) {
        char *colon = strchr(line, ':');

        if (!colon || strncmp(line, field, strlen(field)))
            continue;
        line[strcspn(line, "\n")] = '\0';
        put(out, key, colon + 1 + strspn(colon + 1, " \t"));
        break;
    }
    if (in)
        fclose(in);
}

static void put_environment(FILE *out)
{
    static const char *const names[] = { "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                         "DNNL_MAX_CPU_ISA", "OMP_PROC_BIND" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]))
            put(out, names[i], getenv(names[i]));
}

static void hear_bus_id(void *context, const char *key, const char *value)
{
    if (!strcmp(key, "gpu_bus_id"))
        snprintf(context, BUS_ID, "%s", value);
}

/* Writes the topology of rank 0's host. */
static void put_topology(FILE *out, const bench *b)
{
    char bus_id[BUS_ID] = "", root[512];

    b->compute->type->describe(b->compute, hear_bus_id, bus_id);
    topology_describe(topology_system(root, sizeof root), *bus_id ? bus_id : NULL, put, out);
}

void provenance_print(FILE *out, const world *w, const bench *b, const char *command_line)
{
    const stopping *stop = &b->plan->stop;
    time_t          now  = time(NULL);
    struct tm       utc;
    struct utsname  system;
    char            text[256];

    fputs("# layermeter observations, format 1\n", out);
    gmtime_r(&now, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    put(out, "date", text);
    put(out, "program", "layermeter-calibrate " LAYERMETER_VERSION ", " LAYERMETER_COMPILER);
    put(out, "command", command_line);
    put_from(out, "/proc/cpuinfo", "model name", "cpu");
    snprintf(text, sizeof text, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    put(out, "cores", text);
    machine_describe_cpu(put, out);
    put_from(out, "/proc/meminfo", "MemTotal", "memory");
    if (!uname(&system)) {
        snprintf(text, sizeof text, "%.60s %.60s %.60s", system.sysname, system.release,
                 system.machine);
        put(out, "system", text);
    }
    snprintf(text, sizeof text, "%d on %d host%s", world_size(w), world_hosts(w),
             world_hosts(w) == 1 ? "" : "s");
    put(out, "ranks", text);
    put(out, "mpi", world_library(w));
    if (b->ranks)
        agreement_describe(b->ranks, put, out);
    put_environment(out);
    put(out, "compute_backend", b->compute->type->name);
    b->compute->type->describe(b->compute, put, out);
    if (b->collective && !b->compute->type->virtual)
        put_topology(out, b);
    power_meter_describe(b->power, put, out);
    if (b->collective) {
        put(out, "collective_backend", b->collective->type->name);
        b->collective->type->describe(b->collective, put, out);
    }
    if (b->collective || b->compute->type->virtual) /* simulated ranks wait for nobody */
        put(out, OBSERVATIONS_EXPOSED,
            "from the end of the last rank's backward pass to the last sum");
    if (b->verified && b->verified->n) {
        verdicts_print(b->verified, text, sizeof text);
        put(out, "verified", text);
    }
    put(out, "update", "SGD with momentum");
    snprintf(
        text, sizeof text,
        "%lld warm-up, %lld to %lld repetitions, until the standard error of the median is below "
        "%g %% or %g s",
        (long long)stop->warmup, (long long)stop->min_repeats, (long long)stop->max_repeats,
        100 * stop->precision, stop->max_seconds);
    put(out, "repetitions", text);
    fingerprint_sweep(b->plan, text);
    put(out, "sweep_fingerprint", text);
    fingerprint_machine(b, text);
    if (text[0])
        put(out, "machine_fingerprint", text);
    put(out, "statistics",
        "seconds: median wall time; of each repetition the slowest rank counts; "
        "forward, backward, sync, update one after the other; step: until the slowest rank has done them");
}
