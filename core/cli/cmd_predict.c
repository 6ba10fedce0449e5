/* layermeter predict: the time of a training step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "cli/commands.h"
#include "predict/scaling.h"
#include "report/table.h"

enum {
    MACHINE,
    MODEL,
    BATCH,
    NODES,
    DATASET,
    IMAGE,
    INPUT,
    DTYPE,
    DEVICE,
    DEVICES,
    PPP_COMP,
    PPP_COMM,
    BANDWIDTH,
    SCHEME,
    FORMAT,
    TREAT,
    IGNORE,
    SET
};

static const option_spec specs[] = {
    [MACHINE] = { "machine", "FILE", NULL,
                  "machine file, written by 'layermeter fit' (needed but for paleo)" },
    [MODEL]   = { "model", "NAME", "layermeter",
                  "formulas: layermeter, convmeter or nnls; or paleo" },
    [BATCH]   = { "batch", "LIST", "32", "samples per device: 8 or 1,2,4 or 1..64*2" },
    [NODES]   = { "nodes", "LIST", "1", "nodes, one device each" },
    [DATASET] = { "dataset", "SAMPLES", "1281167", "samples of an epoch; ImageNet's training set" },
    [IMAGE]   = { "image", "PIXELS", NULL, "height and width of the input, instead of the file's" },
    [INPUT]   = { "input", "CxHxW", NULL, "shape of one sample, instead of the file's" },
    [DTYPE]   = { "dtype", "TYPE", "f32", "element type" },
    [DEVICE]  = OPTION_DEVICE,
    [DEVICES] = OPTION_DEVICES,
    [PPP_COMP]  = OPTION_PPP_COMP,
    [PPP_COMM]  = OPTION_PPP_COMM,
    [BANDWIDTH] = OPTION_BANDWIDTH,
    [SCHEME]    = OPTION_SCHEME,
    [FORMAT]    = { "format", "FORMAT", "table", "table, csv or json" },
    [TREAT]     = OPTION_TREAT,
    [IGNORE]    = OPTION_IGNORE,
    [SET]       = OPTION_SET,
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "A step is forward, backward and gradient (all-reduce and update), one after the other: the\n"
    "calibrated steps do not hide the all-reduce behind the backward pass, frameworks may. low and high\n"
    "are by the central 90 % of measured / predicted on networks left out, wider for each octave beyond\n"
    "what was measured; CSV and JSON have them for each part, too. An epoch takes\n"
    "ceil(dataset / (batch x nodes)) steps. 'beyond' names what leaves the calibrated range.\n"
    "--model paleo is PALEO (ICLR 2017), which knows a datasheet and a percent of peak instead of\n"
    "measurements: arithmetic over peak plus traffic over bandwidth, nothing overlapped, no interval.\n";

static const char examples[] =
    "  layermeter predict resnet50 --machine machine.ini --batch 1..64*2\n"
    "  layermeter predict vgg16 --machine machine.ini --image 128 --nodes 1,2,4 --format csv\n"
    "  layermeter predict vgg16 --model paleo --device 'Tesla T4' --ppp-comp 0.5 --bandwidth 10Gbit/s "
    "--nodes 1..8*2\n";

/* Whose bounds only CSV and JSON hold. */
static const quantity parts[] = { QUANTITY_FORWARD, QUANTITY_BACKWARD, QUANTITY_SYNC,
                                  QUANTITY_GRAD };

static void add_columns(table *t, const char *set)
{
    table_column(t, "nodes", "nodes", 0);
    table_column(t, "batch", "batch", 0);
    table_column(t, "forward_ms", "forward [ms]", 2);
    table_column(t, "backward_ms", "backward [ms]", 2);
    table_column(t, "sync_ms", "sync [ms]", 2);
    table_column(t, "grad_ms", "sync+update [ms]", 2);
    table_column(t, "step_ms", "step [ms]", 2);
    table_column(t, "step_low_ms", "low", 2);
    table_column(t, "step_high_ms", "high", 2);
    table_column(t, "samples_per_s", "samples/s", 1);
    table_column(t, "epoch_s", "epoch [s]", 0);
    table_column(t, "beyond", "beyond", 0);
    if (set)
        table_column(t, "set", "set", 0);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char key[40];

        snprintf(key, sizeof key, "%s_low_ms", quantity_name(parts[i]));
        table_column(t, key, NULL, 2);
        snprintf(key, sizeof key, "%s_high_ms", quantity_name(parts[i]));
        table_column(t, key, NULL, 2);
    }
}

static void add_row(table *t, const scale_point *p, const char *set)
{
    const prediction *s = &p->step;

    table_count(t, (uint64_t)s->nodes);
    table_count(t, (uint64_t)s->batch);
    table_real(t, 1e3 * s->forward);
    table_real(t, 1e3 * s->backward);
    table_real(t, 1e3 * s->sync);
    table_real(t, 1e3 * s->grad);
    table_real(t, 1e3 * s->step);
    table_real(t, 1e3 * s->low[QUANTITY_STEP]);
    table_real(t, 1e3 * s->high[QUANTITY_STEP]);
    table_real(t, p->samples_per_second);
    table_real(t, p->epoch_seconds);
    table_text(t, s->beyond_what);
    if (set)
        table_text(t, set);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        table_real(t, 1e3 * s->low[parts[i]]);
        table_real(t, 1e3 * s->high[parts[i]]);
    }
}

static int run(const options *o)
{
    static const session_options at = {
        MACHINE,
        MODEL,
        IMAGE,
        INPUT,
        DTYPE,
        { TREAT, IGNORE, SET },
        { DEVICE, DEVICES, PPP_COMP, PPP_COMM, BANDWIDTH, SCHEME },
    };
    lm_error err   = { 0 };
    session  s     = { 0 };
    int64_t *batch = NULL, *nodes = NULL, dataset;
    size_t   n_batch, n_nodes;
    table   *t    = table_new();
    int      code = EXIT_DONE;
    format   f;

    if (format_parse(o->value[FORMAT], &f, &err)) {
        code = report_misuse("", &err);
        goto out;
    }
    if (!option_list(o, BATCH, &batch, &n_batch, &code) ||
        !option_list(o, NODES, &nodes, &n_nodes, &code) ||
        !option_count(o, DATASET, &dataset, &code) || !session_open(o, &at, &s, &code))
        goto out;
    add_columns(t, s.net->set);
    for (size_t i = 0; i < n_nodes; i++)
        for (size_t k = 0; k < n_batch; k++) {
            scale_point p;

            if (scale_at(&s.who, SCALING_WEAK, batch[k], nodes[i], dataset, &p, &err)) {
                code = report_failure(&err);
                goto out;
            }
            add_row(t, &p, s.net->set);
        }
    if (table_print(t, f, stdout, &err))
        code = report_failure(&err);
    else
        print_note(s.net, f == FORMAT_TABLE ? stdout : stderr);
out:
    session_close(&s);
    table_free(t);
    free(batch);
    free(nodes);
    return code;
}

const command cmd_predict = {
    .name          = "predict",
    .arguments     = "NETWORK",
    .doc           = "Predict the time of a training step",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = 1,
    .run           = run,
};
