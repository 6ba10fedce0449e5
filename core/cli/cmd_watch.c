/* layermeter watch: samples the devices of this machine; compares a run with its plan. */
#include <math.h>
#include <stdio.h>

#include "cli/commands.h"
#include "watch/feed.h"
#include "watch/print.h"

/* Options of a run and its plan. */
typedef struct watch_order {
    const char *plan, *question; /**< file, and which of its answers; NULL: the first */
    const char *observations;    /**< file that the run is appended to; NULL: none */
    format      how;
} watch_order;

typedef struct watch_options {
    struct sampling sampling;
    watch_order     order;
    trace_question  trace; /* its interval is that of sampling, if given */
    double          duration;
    const char     *file; /* of the trace */
} watch_options;

#define AT(member) OPTION_AT(watch_options, member)

static const option_row option_rows[] = {
    { "interval", AT(sampling.interval), .argument = "TIME", .fallback = "100ms", .least = 0.001,
      .outside = "expected 0.001 s or more, found",
      .help    = "time between samples, also of a trace that states none" },
    { "gpu", AT(sampling.devices), .argument = "LIST",
      .help = "0,2, all, cpu or both, 0,cpu (default: all GPUs, or the CPUs where there is none)" },
    { "for", AT(duration), &type_seconds, "TIME", .excludes = "trace",
      .refusal = "with --trace nothing is sampled", .outside = "must be 0 or more",
      .help = "end after so long: 10min (default: with Ctrl-C or SIGTERM)" },
    { "plan", AT(order.plan), &type_text, "FILE", NULL, HELP_WHAT,
      "compare with this plan, written by 'layermeter plan --format json'" },
    { "answer", AT(order.question), &type_text, "NAME", NULL, HELP_WHAT,
      "answer of the plan: fewest nodes, cheapest or fastest (default: its first)", .needs = "plan",
      .refusal = "it chooses an answer of --plan" },
    { "trace", AT(file), &type_text, "FILE", NULL, HELP_WHERE,
      "a trace instead of this machine's devices; - is stdin", .needs = "plan",
      .refusal = "a trace is compared with --plan; 'layermeter epochs' finds its epochs" },
    { "follow", AT(trace.follow), &type_flag, NULL, NULL, HELP_WHERE,
      "wait for more at the end of the trace", .needs = "trace",
      .refusal = "it goes with --trace" },
    { "metric", AT(trace.metric), .needs = "plan", .refusal = "it goes with --plan",
      .help = "metric to find epochs in (default: the one that shows load best)" },
    { "observations", AT(order.observations), &type_text, "FILE", NULL, HELP_OUTPUT,
      "append the run, for the next fit; a file that is not there is begun", .needs = "plan",
      .refusal = "only a run of a --plan can be appended" },
    { "output", AT(sampling.path), .excludes = "trace",
      .refusal = "with --trace nothing is sampled",
      .help    = "new file to write (also -o); else it is printed" },
    { "format", AT(order.how), .needs = "plan", .refusal = "samples are CSV: it goes with --plan",
      .help = "of the comparison" },
    { .name = NULL },
};

static const char details[] =
    "Samples devices at equal intervals and writes a row of CSV for each: load, memory, power, energy,\n"
    "clocks, temperature, and the reason for a lower clock. Columns have nvidia-smi's names: 'layermeter\n"
    "epochs' reads them, even while they are written. NVML of NVIDIA's driver reads the GPUs\n"
    "($LAYERMETER_NVML names another file than libnvidia-ml.so.1). /proc reads the CPUs, and RAPL or a\n"
    "sensor their energy, if readable. Unknown values are empty. An existing file is not overwritten.\n"
    "\n"
    "With --plan it follows the first device, or a trace that 'layermeter epochs' reads, and compares\n"
    "each finished epoch with the plan. An epoch within the plan's interval is 'on plan', else it is\n"
    "faster or slower, with a cause:\n"
    "  clock throttled: heat or power hold the clock down for a quarter of the time, or it fell by 5 %\n"
    "  sync-bound, input-bound: for half of the excess nothing runs, beyond the planned wait for\n"
    "    all-reduces\n"
    "  compute-bound: otherwise\n"
    "\n"
    "Without load and clock in the trace there is no cause. All-reduces on a GPU count as its work. If\n"
    "the trace shows steps but no epochs, steps are compared.\n"
    "\n"
    "--observations appends the mean of the steady epochs as a step of the network, with the settings of\n"
    "the networks in the file. 'layermeter fit OBSERVATIONS.csv --correct FILE' corrects a fit by such\n"
    "runs, 'validate' compares with them, and a file of whole steps alone can be fitted.\n";

static const char examples[] =
    "  layermeter watch --interval 100ms --for 10min -o metrics.csv\n"
    "  layermeter watch --gpu 0 | layermeter epochs --follow -\n"
    "  layermeter plan resnet50 --machine a100.ini --deadline 24h --format json >plan.json\n"
    "  layermeter watch --plan plan.json --gpu 0 --observations runs.csv\n"
    "  layermeter watch --plan plan.json --trace smi.csv --format json\n";

/* ---- a run beside its plan ---- */

typedef struct watching {
    const watch_order *order;
    watch_plan         plan;
    watch_printer      printer;
    bool               live, said_neither;
} watching;

static lm_status print_one(void *context, const watched *w, lm_error *err)
{
    watching *me = context;

    (void)err;
    if (w->scale != WATCH_NEITHER)
        watch_print_row(&me->printer, w);
    else if (me->live && !me->said_neither)
        note("what repeats takes %.4g s, no epoch of the plan nor a step", w->epoch.length);
    me->said_neither |= w->scale == WATCH_NEITHER;
    return LM_OK;
}

static lm_status append(const watching *w, const watch_summary *s, lm_error *err)
{
    observation row;
    lm_status   status = watch_observation(&w->plan, s, &row, err);

    if (status == LM_E_UNSUPPORTED) {
        note("%s", err->text);
        return LM_OK;
    }
    if (!status)
        status = observation_append(w->order->observations, &row, w->plan.machine, err);
    if (!status)
        note(
            "%s: a step of %.4g s, appended: 'layermeter fit OBSERVATIONS.csv --correct %s -o MACHINE.ini' learns from it",
            w->order->observations, row.seconds, w->order->observations);
    return status;
}

static lm_status end(watching *w, const watch_summary *s, lm_error *err)
{
    watch_print_summary(&w->printer, s);
    return w->order->observations ? append(w, s, err) : LM_OK;
}

/* `file` NULL: this machine. */
static lm_status compare(const watch_order *o, const char *file, const sampling *how,
                         const trace_question *q, lm_error *err)
{
    watching      w   = { .order = o, .live = !file };
    watch_run    *run = NULL;
    watch_summary s   = { .n = 0 };
    lm_status     status;

    if ((status = watch_plan_load(o->plan, o->question, &w.plan, err)))
        return status;
    w.printer = (watch_printer){ .plan = &w.plan, .how = o->how };
    status    = watch_run_new(&w.plan, print_one, &w, &run, err);
    if (!status)
        status = file ? watch_trace(run, file, q, say_line, &s, err)
                      : watch_live(run, how, q->metric, &s, err);
    if (s.n) {
        lm_error        why;
        const lm_status ended = end(&w, &s, &why);

        if (!status && ended)
            *err = why;
        status = status ? status : ended;
    }
    watch_run_free(run);
    return status;
}

static lm_status run(const options *o, lm_error *err)
{
    const watch_options *a = o->filled;
    struct sampling      w = a->sampling;
    trace_question       q = a->trace;

    w.say      = say_line;
    w.seconds  = isnan(a->duration) ? INFINITY : a->duration;
    w.out      = w.path || a->order.plan ? NULL : stdout;
    q.gpu      = w.devices;
    q.interval = option_given(o, &a->sampling.interval) ? w.interval : NAN;
    return a->order.plan ? compare(&a->order, a->file, &w, &q, err) : sampling_run(&w, err);
}

const command cmd_watch =
    COMMAND("watch", "", "Sample this machine's devices; compare a run with its plan",
            watch_options, 0, 0, NULL, run);
