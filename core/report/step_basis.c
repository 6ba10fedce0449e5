/* The basis of a prediction, in words. */
#include <math.h>
#include <string.h>

#include "base/settings.h"
#include "base/text.h"
#include "device/device.h"
#include "models/paleo_step.h"
#include "predict/predict.h"
#include "report/step_fields.h"
#include "transfer/of_device.h"

/* More entries than these are only counted. */
#define TOLD_MOST 2

/* The next entry of a key or its numbered ones, from the i-th on, with a value not seen before. */
static const char *next_told(const calibration *cal, const char *key, size_t *i)
{
    const size_t n = strlen(key);

    for (; *i < cal->n_provenance; ++*i) {
        const provenance_entry *e     = &cal->provenance[*i];
        bool                    again = false;

        if (strncmp(e->key, key, n) != 0 || (e->key[n] && e->key[n] != '_'))
            continue;
        for (size_t k = 0; k < *i && !again; k++) /* several source machines */
            again = !strncmp(cal->provenance[k].key, key, n) &&
                    !strcmp(cal->provenance[k].value, e->value);
        if (!again)
            return cal->provenance[(*i)++].value;
    }
    return NULL;
}

/* Values of a key, "LABELA; B"; many: "LABELA and 6 others, named in this file". */
static void print_told(const calibration *cal, const char *label, const char *key, FILE *out)
{
    const char *value, *first = NULL;
    size_t      all = 0, i = 0;

    while ((value = next_told(cal, key, &i))) {
        first = first ? first : value;
        all++;
    }
    if (all > TOLD_MOST) {
        fprintf(out, "%s%s and %zu others, named in this file", label, first, all - 1);
        return;
    }
    for (i = 0; (value = next_told(cal, key, &i)); label = "; ")
        fprintf(out, "%s%s", label, value);
}

/* "1 of GeForce RTX 3090: f16 71 -> ..." as the device alone. */
static void print_sources(const calibration *cal, FILE *out)
{
    const char *between = ", scaled by datasheets from ";

    for (size_t i = 0; i < cal->n_provenance; i++) {
        const provenance_entry *e = &cal->provenance[i];
        const char *of = strncmp(e->key, "transferred_from", 16) ? NULL : strstr(e->value, " of ");

        if (!of)
            continue;
        fprintf(out, "%s%.*s", between, (int)strcspn(of + 4, ":"), of + 4);
        between = ", ";
    }
    if (calibration_told(cal, "corrected_by"))
        fprintf(out, ", corrected by measured steps");
}

/* Name of the machine file without its folder. */
static const char *file_of(const predictor *who)
{
    const char *slash = who->machine ? strrchr(who->machine, '/') : NULL;

    return slash ? slash + 1 : who->machine ? who->machine : "the machine file";
}

static void begin_note(const char *label, FILE *out)
{
    fputs("note: ", out);
    if (label)
        fprintf(out, "%s: ", label);
}

/* "f32 with autocast to f16, NHWC": types and memory format of the measurements. */
static void print_measured_types(const calibration *cal, FILE *out)
{
    const char    *settings = calibration_settings(cal);
    const lm_dtype dtype    = cal->dtype ? cal->dtype : LM_F32;
    const lm_dtype product  = calibration_product_dtype(cal);
    char           types[TYPES_TEXT];
    size_t         n;

    fputs(types_print(dtype, product == dtype ? 0 : product, types), out);
    if (calibration_rate_dtype(cal) == DTYPE_TF32)
        fputs(" with products in tf32", out);
    if (setting_value(settings, "layout", &n))
        fputs(setting_is(settings, "layout", "nhwc") ? ", NHWC" : ", NCHW", out);
}

/* Source of the measurements, if the machine file names it. */
static void print_origin(const predictor *who, const char *label, FILE *out)
{
    const calibration *cal  = who->cal;
    const char        *name = calibration_device(cal);
    const char        *file = calibration_told(cal, SHIPPED_AS);

    if (!calibration_told(cal, "source") || !name)
        return;
    begin_note(label && device_same_name(label, name) ? NULL : label, out);
    fprintf(out, "%s by %s: ", name, file ? file : file_of(who));
    print_measured_types(cal, out);
    print_sources(cal, out);
    print_told(cal, "; measured by others: ", "source", out);
    fprintf(out, "; your own calibration (--machine) is more certain\n");
}

/* In inference all but the forward pass takes no time; in training it takes time or is not known. */
static program_kind program_of(const prediction *p)
{
    return p->forward > 0 && !(p->backward > 0) && !isnan(p->backward) ? PROGRAM_INFERENCE
                                                                       : PROGRAM_TRAINING;
}

static void print_dtype(const predictor *who, const prediction *p, const char *label, FILE *out)
{
    char asked[TYPES_TEXT], has[TYPES_TEXT];

    if (!predictor_other_types(who))
        return;
    begin_note(label, out);
    if (predictor_infers_fp8(who, program_of(p))) {
        fprintf(
            out,
            "%s: f8 was not measured: half the bytes of 16 bits, and FLOPs at twice the rate, are "
            "assumed; at worst it takes as long as 16 bits\n",
            file_of(who));
        return;
    }
    fprintf(
        out,
        "%s: %s was not measured: times are assumed from those in %s, with bounds wider by x %.2g",
        file_of(who), types_print(who->dtype, who->mixed, asked),
        types_print(who->cal->dtype, who->cal->mixed, has), DTYPE_DOUBT);
    if (who->measured_so)
        fprintf(out, "; --machine %s has it measured", who->measured_so);
    fputc('\n', out);
}

/* In training 16 bits are said if they were asked for. */
static void print_weights(const predictor *who, const prediction *p, const char *label, FILE *out)
{
    if (!who->weights || who->weights == LM_F8 ||
        (!who->weights_told && program_of(p) == PROGRAM_TRAINING))
        return;
    begin_note(label, out);
    fprintf(
        out,
        "weights are in %s; kernels take their times under autocast (--mixed %s: weights in f32)\n",
        text_dtype_name(who->weights), text_dtype_name(who->weights));
}

static void print_tf32(const predictor *who, const char *label, FILE *out)
{
    if (!(who->as_tf32 > 0))
        return;
    begin_note(label, out);
    fprintf(out,
            "%s has no tf32: assumed as %.3g times its 16 bits, by the peaks, with bounds x "
            "%.2g to x %.3g, the errors of published steps on an A100\n",
            file_of(who), who->as_tf32, TF32_LEAST, TF32_MOST);
}

static void print_host(const predictor *who, const char *label, FILE *out)
{
    if (who->framework != FRAMEWORK_EAGER)
        return;
    begin_note(label, out);
    host_print(&who->cal->host, out);
}

/* Factor from which on the host of an eager framework is worth a note. */
#define HOST_SAID 1.2

bool step_waits_for_host(const predictor *who, const step_setup *s, const prediction *p,
                         double *alone)
{
    predictor  bare = *who;
    prediction kernels;
    lm_error   unsaid;

    if (who->framework != FRAMEWORK_FILE || predictor_framework(who) != FRAMEWORK_EAGER)
        return false;
    bare.framework = FRAMEWORK_NONE;
    bare.scan      = NULL;
    if (predict_seconds(&bare, s, &kernels, &unsaid))
        return false;
    *alone = kernels.step;
    return p->step > HOST_SAID * kernels.step;
}

void step_host_hint(const predictor *who, const step_setup *s, const prediction *p,
                    const char *label, FILE *out)
{
    const bool       trains = s->program == PROGRAM_TRAINING;
    const host_time *h      = who->cal ? &who->cal->host : NULL;
    double           alone;

    if (!step_waits_for_host(who, s, p, &alone))
        return;
    begin_note(label, out);
    fprintf(
        out,
        "%s launches operations one by one, %.3g us each%s, and the device waits for it; kernels "
        "alone, as in a CUDA graph, take %.3g ms with batch %lld: --framework none\n",
        h->framework, 1e6 * host_seconds(h, trains ? HOST_FORWARD : HOST_INFERENCE),
        h->elsewhere ? " on another machine" : "", 1e3 * alone, (long long)s->batch);
}

/* Notes the assumed share of the datasheet's peaks. */
static void print_bound(const predictor *who, const char *label, FILE *out)
{
    const double reached = paleo_share(who);

    begin_note(label, out);
    if (reached < 1)
        fprintf(out, "at %.3g %% of the datasheet's peaks, as given (--ppp-comp)\n", 100 * reached);
    else
        fprintf(out, "at 100 %% of the datasheet's peaks: a lower bound that no device reaches; "
                     "'layermeter devices' lists the devices with measurements\n");
}

void links_explain(const calibration *cal, const interconnect *link, bool between_nodes,
                   const char *label, FILE *out)
{
    if (calibration_told(cal, "interconnect")) {
        begin_note(label, out);
        print_told(cal, "all-reduces by published measurements: ", "interconnect", out);
        fputc('\n', out);
    }
    if (between_nodes && link->bytes_per_second > 0 && link->assumed) {
        begin_note(label, out);
        fprintf(out, "the network between nodes was not given (--interconnect): %s is assumed\n",
                link->name);
    }
}

/* All-reduces by published measurements, or by a rate that the user gave. */
static void print_links(const predictor *who, const prediction *p, const char *label, FILE *out)
{
    if (p->nodes * p->devices > 1)
        links_explain(who->cal, &who->link, p->nodes > 1, label, out);
    if (p->nodes > 1 && who->link.bytes_per_second > 0 && !isnan(p->low[PHASE_SYNC])) {
        begin_note(label, out);
        fprintf(
            out,
            "all-reduces between nodes follow from a nominal rate: bounds x %.2g to x %.2g, the errors of %d published clusters\n",
            LINK_LEAST, LINK_MOST, LINK_CLUSTERS);
    }
}

/* Share of a step from which on waiting stages are said. */
#define BUBBLE_SAID 0.5

static void print_bubble(const prediction *p, const char *label, FILE *out)
{
    const bool trains = p->alone.value > 0; /* it has a backward pass */

    if (!(p->bubble > BUBBLE_SAID * p->step))
        return;
    begin_note(label, out);
    fprintf(out, "stages of the pipeline wait for each other in more than half of the step: %s\n",
            trains ? "more micro-steps (--accumulate) fill it"
                   : "they are uneven: --stages says which blocks each has");
}

/* Factor from which on a question is called far from published measurements. */
#define FAR 16.0

/* Warns of a question for which the machine file, of a named source, was not made. */
static void print_far(const predictor *who, const prediction *p, const char *label, FILE *out)
{
    const grounds *g    = &p->grounds;
    size_t         most = 0;

    for (size_t i = 1; i < g->n_beyond; i++)
        if (g->beyond[i].factor > g->beyond[most].factor)
            most = i;
    if (!calibration_told(who->cal, "source") || !g->n_beyond || g->beyond[most].factor < FAR)
        return;
    begin_note(label, out);
    fprintf(
        out,
        "far outside the measured range (%s x%.3g): errors there are unknown, and may exceed the "
        "interval\n",
        g->beyond[most].what, g->beyond[most].factor);
}

void step_basis_explain(const predictor *who, const prediction *p, const char *label, FILE *out)
{
    if (p->stands_in)
        fprintf(out,
                "note: %s: nothing was measured in evaluation mode: the forward pass of training "
                "stands in, and the low end is x %.2g, the high end x %.3g for it\n",
                who->machine ? who->machine : "the machine file", EVALUATION_LEAST,
                EVALUATION_MOST);
    if (!who->cal) {
        print_bound(who, label, out);
        return;
    }
    print_origin(who, label, out);
    print_links(who, p, label, out);
    print_dtype(who, p, label, out);
    print_weights(who, p, label, out);
    print_tf32(who, label, out);
    print_far(who, p, label, out);
    print_bubble(p, label, out);
    print_host(who, label, out);
}
