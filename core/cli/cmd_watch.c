/* layermeter watch: metrics of this machine's devices, sampled. */
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/watch_sampling.h"

enum { OUTPUT, INTERVAL, GPU, FOR };

static const option_spec specs[] = {
    [OUTPUT]   = { "output", "FILE", NULL, "file to write (also -o), a new one; else it is printed" },
    [INTERVAL] = { "interval", "TIME", "100ms", "between looks" },
    [GPU]      = { "gpu", "LIST", NULL,
                   "0,2, all, cpu or both: 0,cpu; default: all GPUs, or the CPUs where there is none" },
    [FOR] = { "for", "TIME", NULL, "end after so long: 10min; default: with Ctrl-C or SIGTERM" },
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "Looks at devices at equal times and writes a row of CSV for each: load, memory, power, energy, clocks,\n"
    "temperature, and what holds the clock down. Columns have nvidia-smi's names, so that 'layermeter epochs' reads\n"
    "them, while they are written as well. GPUs by NVML, which comes with NVIDIA's driver ($LAYERMETER_NVML names\n"
    "another file than libnvidia-ml.so.1); CPUs by /proc, their energy by RAPL or a sensor, where these may be read.\n"
    "What a device does not tell is empty. A file that is there already is not overwritten.\n";

static const char examples[] = "  layermeter watch --interval 100ms --for 10min -o metrics.csv\n"
                               "  layermeter watch --gpu 0 | layermeter epochs --follow -\n"
                               "  layermeter watch --gpu cpu --interval 1s\n";

#define SHORTEST 0.001

static bool seconds_of(const options *o, int at, double least, double *out, int *code)
{
    lm_error err = { LM_OK, "" };

    if (!text_seconds(o->value[at], out, &err) && !(*out >= least))
        lm_error_set(&err, LM_E_ARG, "expected %g s or more, found '%.40s'", least, o->value[at]);
    return !*err.text || option_misuse(o, at, &err, code);
}

static int run(const options *o)
{
    watch_sampling w = { .devices = o->value[GPU], .seconds = INFINITY, .path = o->value[OUTPUT] };
    lm_error       err = { LM_OK, "" };
    int            code;

    if (!seconds_of(o, INTERVAL, SHORTEST, &w.interval, &code) ||
        (o->value[FOR] && !seconds_of(o, FOR, 0, &w.seconds, &code)))
        return code;
    w.out = w.path ? NULL : stdout;
    return watch_sample(&w, &err) ? report_failure(&err) : EXIT_DONE;
}

const command cmd_watch = {
    .name          = "watch",
    .arguments     = "",
    .doc           = "Sample metrics of this machine's devices",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 0,
    .max_arguments = 0,
    .run           = run,
};
