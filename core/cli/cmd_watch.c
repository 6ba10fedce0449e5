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
      .help    = "time between samples, also for a trace without times" },
    { "gpu", AT(sampling.devices), .argument = "LIST",
      .help =
          "devices to sample: GPUs 0,2, all GPUs, cpu, or both as 0,cpu (default: all GPUs; without "
          "a GPU cpu)" },
    { "for", AT(duration), &type_seconds, "TIME", .excludes = "trace",
      .refusal = "with --trace nothing is sampled", .outside = "must be 0 or more",
      .help = "stop after this time, such as 10min (default: until Ctrl-C or SIGTERM)" },
    { "plan", AT(order.plan), &type_text, "FILE", NULL, HELP_WHAT,
      "compare with this plan, written by 'layermeter plan --format json'" },
    { "answer", AT(order.question), &type_text, "NAME", NULL, HELP_WHAT,
      "answer of the plan: fewest nodes, cheapest or fastest (default: the first)", .needs = "plan",
      .refusal = "chooses an answer of a plan: give --plan, too" },
    { "trace", AT(file), &type_text, "FILE", NULL, HELP_WHERE,
      "read this trace instead of sampling devices (-: stdin)", .needs = "plan",
      .refusal = "needs --plan, to compare with; 'layermeter epochs' finds the epochs of a trace" },
    { "follow", AT(trace.follow), &type_flag, NULL, NULL, HELP_WHERE,
      "wait for new rows at the end of the trace", .needs = "trace", .refusal = "needs --trace" },
    { "metric", AT(trace.metric), .needs = "plan", .refusal = "needs --plan",
      .help = "metric in which to find epochs (default: the one that shows load best)" },
    { "observations", AT(order.observations), &type_text, "FILE", NULL, HELP_OUTPUT,
      "append the run to this file, for the next fit; a missing file is created", .needs = "plan",
      .refusal = "needs --plan: only a run with a plan is appended" },
    { "output", AT(sampling.path), .excludes = "trace",
      .refusal = "with --trace nothing is sampled",
      .help    = "new file to write (also -o; default: stdout)" },
    { "format", AT(order.how), .needs = "plan", .refusal = "needs --plan: samples are always CSV",
      .help = "format of the comparison" },
    { .name = NULL },
};

static const char details[] =
    "The command samples devices at equal intervals. It writes a CSV row for each sample: load, memory,\n"
    "power, energy, clocks, temperature, and the reason for a lower clock. The columns have the names\n"
    "that nvidia-smi uses. 'layermeter epochs' reads the file, even while it grows. Metrics of GPUs come\n"
    "from NVML of NVIDIA's driver ($LAYERMETER_NVML names another file than libnvidia-ml.so.1). Metrics\n"
    "of CPUs come from /proc; their energy comes from RAPL or a sensor, if readable. Unknown values are\n"
    "empty. An existing file is not overwritten.\n"
    "\n"
    "With --plan the command follows the first device, or a trace that 'layermeter epochs' reads. It\n"
    "compares each finished epoch with the plan. An epoch within the plan's interval is 'on plan'.\n"
    "Otherwise it is faster or slower, with a cause:\n"
    "  clock throttled: the clock fell by 5 %, or heat or power limited it for a quarter of the time\n"
    "  sync-bound, input-bound: for half of the excess time the device is idle, longer than the planned\n"
    "    wait for all-reduces\n"
    "  compute-bound: otherwise\n"
    "\n"
    "A trace without load and clock gives no cause. All-reduces on a GPU count as its work. If the trace\n"
    "shows steps but no epochs, the command compares steps.\n"
    "\n"
    "--observations appends one step of the network, with the mean time of the steady epochs and with the\n"
    "settings of the networks in the file. 'layermeter fit OBSERVATIONS.csv --correct FILE' corrects a\n"
    "fit by such runs. 'layermeter validate' compares predictions with them. 'layermeter fit' also\n"
    "accepts a file that has only whole steps.\n";

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
        note("a pattern repeats every %.4g s, which is neither an epoch nor a step of the plan",
             w->epoch.length);
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
            "%s: appended a step of %.4g s: 'layermeter fit OBSERVATIONS.csv --correct %s -o MACHINE.ini' learns from it",
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
    COMMAND("watch", "", "Sample this machine's devices, or compare a run with its plan",
            watch_options, 0, 0, NULL, run);
