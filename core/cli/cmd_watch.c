/* layermeter watch: metrics of this machine's devices, sampled; a run beside its plan. */
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/watch_plan.h"
#include "cli/watch_sampling.h"

enum { OUTPUT, INTERVAL, GPU, FOR, PLAN, ANSWER, TRACE, FOLLOW, METRIC, OBSERVATIONS, FORMAT };

static const option_spec specs[] = {
    [OUTPUT] = { "output", "FILE", NULL, "file to write (also -o), a new one; else it is printed" },
    [INTERVAL] = { "interval", "TIME", "100ms",
                   "between looks; of a trace without times between its samples" },
    [GPU]      = { "gpu", "LIST", NULL,
                   "0,2, all, cpu or both: 0,cpu; default: all GPUs, or the CPUs where there is none" },
    [FOR]    = { "for", "TIME", NULL, "end after so long: 10min; default: with Ctrl-C or SIGTERM" },
    [PLAN]   = { "plan", "FILE", NULL,
                 "compare with this plan, written by 'layermeter plan --format json'" },
    [ANSWER] = { "answer", "NAME", NULL,
                 "of the plan: fewest nodes, cheapest or fastest; default: its first" },
    [TRACE]  = { "trace", "FILE", NULL, "a trace instead of this machine's devices; - is stdin" },
    [FOLLOW] = { "follow", NULL, NULL, "at the trace's end wait for more" },
    [METRIC] = { "metric", "NAME", NULL,
                 "that epochs are found in; default: the one that shows load best" },
    [OBSERVATIONS] = { "observations", "FILE", NULL,
                       "append the run there, for the next fit (begun if it is not there)" },
    [FORMAT] = { "format", "FORMAT", "table", "of the comparison: table, csv or json (lines)" },
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "Looks at devices at equal times and writes a row of CSV for each: load, memory, power, energy, clocks,\n"
    "temperature, and what holds the clock down. Columns have nvidia-smi's names, so that 'layermeter epochs' reads\n"
    "them, while they are written as well. GPUs by NVML, which comes with NVIDIA's driver ($LAYERMETER_NVML names\n"
    "another file than libnvidia-ml.so.1); CPUs by /proc, their energy by RAPL or a sensor, where these may be read.\n"
    "What a device does not tell is empty. A file that is there already is not overwritten.\n"
    "\n"
    "With --plan the first device, or a trace of any format that 'layermeter epochs' reads, is followed, and each\n"
    "epoch compared with the plan when it is over: 'on plan' within the plan's interval, else faster or slower, and\n"
    "which part of the step explains what is too long: 'clock throttled' (heat or power hold the clock down for a\n"
    "quarter of the time, or it fell by 5 %), 'sync-bound' or 'input-bound' (nothing runs, for half of what is too\n"
    "long, beyond the all-reduces that were planned to be waited for), 'compute-bound' otherwise; nothing where load\n"
    "and clock are not in the trace. All-reduces on a GPU count as its work. Where steps are seen and epochs are not,\n"
    "steps are compared. --observations appends the mean of the steady epochs as a step of the network, in the\n"
    "settings of the networks that the file holds: 'layermeter fit OBSERVATIONS.csv --correct FILE' corrects a\n"
    "fit by such runs, 'validate' compares with them, and a file of whole steps alone can be fitted as it is.\n";

static const char examples[] =
    "  layermeter watch --interval 100ms --for 10min -o metrics.csv\n"
    "  layermeter watch --gpu 0 | layermeter epochs --follow -\n"
    "  layermeter plan resnet50 --machine a100.ini --deadline 24h --format json >plan.json\n"
    "  layermeter watch --plan plan.json --gpu 0 --observations runs.csv\n"
    "  layermeter watch --plan plan.json --trace smi.csv --format json\n";

#define SHORTEST 0.001

static bool seconds_of(const options *o, int at, double least, double *out, int *code)
{
    lm_error err = { LM_OK, "" };

    if (!text_seconds(o->value[at], out, &err) && !(*out >= least))
        lm_error_set(&err, LM_E_ARG, "expected %g s or more, found '%.40s'", least, o->value[at]);
    return !*err.text || option_misuse(o, at, &err, code);
}

/* Options that only go with another. */
static bool check(const options *o, int *code)
{
    static const struct {
        int         at, needs, without;
        const char *text;
    } rules[]    = { { ANSWER, PLAN, -1, "it chooses an answer of --plan" },
                     { TRACE, PLAN, -1,
                       "a trace is compared with --plan; 'layermeter epochs' finds its epochs" },
                     { FOLLOW, TRACE, -1, "it goes with --trace" },
                     { METRIC, PLAN, -1, "it goes with --plan" },
                     { OBSERVATIONS, PLAN, -1, "only a run of a --plan can be appended" },
                     { FORMAT, PLAN, -1, "samples are CSV: it goes with --plan" },
                     { OUTPUT, -1, TRACE, "with --trace nothing is sampled" },
                     { FOR, -1, TRACE, "with --trace nothing is sampled" } };
    lm_error err = { LM_OK, "" };

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const bool given = o->given[rules[i].at];

        if (!given ||
            (rules[i].needs >= 0 ? o->given[rules[i].needs] : !o->given[rules[i].without]))
            continue;
        lm_error_set(&err, LM_E_ARG, "%s", rules[i].text);
        return option_misuse(o, rules[i].at, &err, code);
    }
    return true;
}

static int run(const options *o)
{
    watch_sampling w = { .devices = o->value[GPU], .seconds = INFINITY, .path = o->value[OUTPUT] };
    watch_order    order = { .plan         = o->value[PLAN],
                             .question     = o->value[ANSWER],
                             .observations = o->value[OBSERVATIONS] };
    trace_question q     = { .metric   = o->value[METRIC],
                             .gpu      = o->value[GPU],
                             .interval = NAN,
                             .follow   = o->value[FOLLOW] != NULL };
    lm_error       err   = { LM_OK, "" };
    lm_status      status;
    int            code;

    if (!check(o, &code) || !seconds_of(o, INTERVAL, SHORTEST, &w.interval, &code) ||
        (o->value[FOR] && !seconds_of(o, FOR, 0, &w.seconds, &code)))
        return code;
    if (format_parse(o->value[FORMAT], &order.how, &err))
        return report_misuse("", &err);
    if (o->given[INTERVAL])
        q.interval = w.interval;
    w.out = w.path || order.plan ? NULL : stdout;
    if (o->value[TRACE])
        status = watch_trace(&order, o->value[TRACE], &q, &err);
    else
        status = order.plan ? watch_live(&order, &w, &q, &err) : watch_sample(&w, &err);
    return status ? report_failure(&err) : EXIT_DONE;
}

const command cmd_watch = {
    .name          = "watch",
    .arguments     = "",
    .doc           = "Sample this machine's devices; compare a run with its plan",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 0,
    .max_arguments = 0,
    .run           = run,
};
