/* Seconds of one training step. */
#include "predict/price.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predict/paleo_step.h"

step_setup step_setup_of(int64_t batch, int64_t nodes)
{
    return (step_setup){ .batch     = batch,
                         .nodes     = nodes,
                         .devices   = 1,
                         .sync      = { .rule = SYNC_ONCE, .accumulation = 1 },
                         .optimizer = OPTIMIZER_MOMENTUM };
}

int64_t step_setup_ranks(const step_setup *s)
{
    return s->devices > 1 && s->nodes > INT64_MAX / s->devices ? INT64_MAX : s->nodes * s->devices;
}

static bool has(const predictor *who, part which)
{
    const size_t at = form_find(who->model, which);

    return at < n_forms && who->cal->fitted[at].present;
}

size_t predict_parts(const predictor *who, bool many, part out[4])
{
    const char *model = who->model;
    size_t      n     = 0;

    if (!many && !has(who, PART_FORWARD) && has(who, PART_STEP)) {
        out[n++] = PART_STEP; /* nothing but whole steps was measured */
        return n;
    }
    out[n++] = PART_FORWARD;
    out[n++] = PART_BACKWARD;
    if (form_find(model, PART_UPDATE) == n_forms) {
        out[n++] = many ? PART_GRAD_MANY : PART_GRAD_ONE;
    } else {
        out[n++] = PART_UPDATE;
        if (many)
            out[n++] = PART_SYNC;
    }
    return n;
}

static bool other_dtype(const predictor *who)
{
    return who->cal->dtype && who->dtype != who->cal->dtype;
}

certainty predict_certainty(const predictor *who, const contribution *c)
{
    if (who->cal->transferred) /* of another machine */
        return CERTAINTY_ASSUMED;
    return certainty_of(c->c, c->count, other_dtype(who));
}

lm_status predict_load(const predictor *who, int64_t batch, optimizer o, full_workload *out,
                       lm_error *err)
{
    return workloads_full(who->loads, who->network, who->input, who->dtype, batch,
                          &who->cal->settings, o, out, err);
}

/* A sum of parts with the counts that leave their range. */
typedef struct sum {
    const predictor *who;
    const workload  *load;
    prediction      *out;
    lm_error        *err;
} sum;

/* Texts are printed when somebody asks: most of those who scan do not. */
static void note(prediction *out, const char *what, double factor)
{
    for (size_t i = 0; i < out->n_beyond; i++)
        if (!strcmp(out->beyond[i].what, what))
            return;
    if (out->n_beyond < PREDICTION_NOTES) {
        out->beyond[out->n_beyond].what   = what;
        out->beyond[out->n_beyond].layers = 0;
        out->beyond[out->n_beyond].factor = factor;
        out->n_beyond++;
    }
}

const char *prediction_beyond(const prediction *p, char *buffer, size_t size)
{
    size_t n = 0;

    *buffer = '\0';
    for (size_t i = 0; i < p->n_beyond && n < size; i++) {
        const size_t layers = p->beyond[i].layers;

        if (i)
            n += (size_t)snprintf(buffer + n, size - n, ", ");
        if (layers && n < size)
            n += (size_t)snprintf(buffer + n, size - n, "%zu layer%s ", layers,
                                  layers == 1 ? " costs" : "s cost");
        if (n < size)
            n += (size_t)snprintf(buffer + n, size - n, "%s", p->beyond[i].what);
        if (p->beyond[i].factor > 0 && n < size)
            n += (size_t)snprintf(buffer + n, size - n, " x%.3g", p->beyond[i].factor);
    }
    return buffer;
}

/* Of terms only those that hold a share of the time worth a mark. */
#define SHARE 0.1

/* A coefficient that nobody has fitted is no zero. */
static lm_status unknown_term(const sum *s, size_t at, const contribution *c)
{
    char name[64];

    return lm_error_set(s->err, LM_E_NOTFOUND,
                        "%s: %s.%s has no coefficient '%s', which the network needs: "
                        "calibrate networks with such layers, then fit again",
                        s->who->machine ? s->who->machine : "the machine file", s->who->model,
                        part_name(forms[at].part), term_name(c->regressor, name, sizeof name));
}

static void check_range(sum *s, size_t at, const contribution *c, double seconds)
{
    const bool   term   = !forms[at].n_features;
    const double factor = range_beyond(c->c, c->count);

    if (factor == 1 || (term && c->seconds < SHARE * seconds))
        return;
    note(s->out,
         term ? term_slot_name(term_slot(c->regressor)) : feature_name((feature)c->regressor),
         factor);
}

static lm_status missing(sum *s, part which)
{
    static const char *const remedy[N_PARTS] = {
        [PART_FORWARD]     = "calibrate whole networks",
        [PART_BACKWARD]    = "calibrate whole networks with their backward pass",
        [PART_GRAD_ONE]    = "calibrate whole networks with their update on 1 rank",
        [PART_GRAD_MANY]   = "calibrate whole networks on 2 ranks or more (mpirun)",
        [PART_JOINT]       = "calibrate whole networks on 2 ranks or more (mpirun)",
        [PART_UPDATE]      = "calibrate whole networks with their update",
        [PART_SYNC]        = "calibrate on 2 ranks or more (mpirun)",
        [PART_INFERENCE]   = "measure whole networks in evaluation mode",
        [PART_STEP]        = "measure steps of whole networks",
        [PART_GRAD_INPUT]  = "measure single layers",
        [PART_GRAD_WEIGHT] = "measure single layers",
    };

    return lm_error_set(s->err, LM_E_NOTFOUND, "%s has no %s.%s: %s, then fit again",
                        s->who->machine ? s->who->machine : "the machine file", s->who->model,
                        part_name(which), remedy[which]);
}

static lm_status add_part(sum *s, part which, double *seconds)
{
    const size_t at = form_find(s->who->model, which);
    contribution room[MAX_CONTRIBUTIONS];
    size_t       n;

    if (at == n_forms || !s->who->cal->fitted[at].present)
        return missing(s, which);
    n        = calibration_contributions(s->who->cal, at, s->load, room);
    *seconds = n ? 0 : NAN;
    for (size_t k = 0; k < n; k++)
        *seconds += room[k].seconds;
    for (size_t k = 0; k < n; k++) {
        if (!forms[at].n_features && isnan(room[k].c->value))
            return unknown_term(s, at, &room[k]);
        check_range(s, at, &room[k], *seconds);
        ledger_add(&s->out->ledger, predict_certainty(s->who, &room[k]), room[k].seconds);
    }
    return LM_OK;
}

/* Bounds of all that is predicted. An update that the model does not tell from the all-reduce has
 * none. */
static void state_intervals(const predictor *who, const double part_seconds[N_PARTS],
                            bool whole_step, prediction *out)
{
    const intervals *known = calibration_intervals(who->cal, who->model);
    double           s[N_QUANTITIES];

    for (quantity q = 0; q < N_QUANTITIES; q++)
        s[q] = NAN;
    s[QUANTITY_FORWARD]  = out->forward;
    s[QUANTITY_BACKWARD] = out->backward;
    if (form_find(who->model, PART_UPDATE) < n_forms)
        s[QUANTITY_UPDATE] = part_seconds[PART_UPDATE];
    s[QUANTITY_SYNC]          = out->sync;
    s[QUANTITY_GRAD]          = out->grad;
    s[QUANTITY_BACKWARD_GRAD] = out->backward + out->grad;
    s[QUANTITY_STEP]          = out->step;
    for (quantity q = 0; q < N_QUANTITIES; q++)
        if (whole_step && q != QUANTITY_STEP)
            out->low[q] = out->high[q] = NAN;
        else
            intervals_at(known, q, s, out->batch, out->nodes * out->devices, &out->low[q],
                         &out->high[q]);
}

static lm_status check_setup(const step_setup *s, lm_error *err)
{
    if (s->nodes < 1)
        return lm_error_set(err, LM_E_ARG, "%lld nodes: must be 1 or more", (long long)s->nodes);
    if (s->devices < 1)
        return lm_error_set(err, LM_E_ARG, "%lld devices of a node: must be 1 or more",
                            (long long)s->devices);
    if (s->sync.accumulation < 1)
        return lm_error_set(err, LM_E_ARG, "%lld micro-steps: must be 1 or more",
                            (long long)s->sync.accumulation);
    if (step_setup_ranks(s) == INT64_MAX)
        return lm_error_set(err, LM_E_OVERFLOW, "%lld nodes of %lld devices do not fit 64 bits",
                            (long long)s->nodes, (long long)s->devices);
    return LM_OK;
}

lm_status predict_step(const predictor *who, const step_setup *asked, prediction *out,
                       lm_error *err)
{
    const int64_t ranks            = step_setup_ranks(asked);
    const double  micro            = (double)asked->sync.accumulation;
    double        seconds[N_PARTS] = { 0 };
    part          parts[4];
    size_t        n;
    full_workload counted;
    prediction result = { .batch = asked->batch, .nodes = asked->nodes, .devices = asked->devices };
    sum        s      = { .who = who, .load = &counted.load, .out = &result, .err = err };
    lm_status  status = check_setup(asked, err);

    if (status)
        return status;
    if (who->paleo)
        return paleo_predict(who->paleo, asked, out, err);
    if ((status = predict_load(who, asked->batch, asked->optimizer, &counted, err)))
        return status;
    counted.load.nodes = (double)ranks;
    if (ranks > 1 && ranks > who->cal->max_ranks)
        note(&result, "nodes", (double)ranks / (double)who->cal->max_ranks);
    n = predict_parts(who, ranks > 1, parts);
    for (size_t i = 0; i < n; i++)
        if ((status = add_part(&s, parts[i], &seconds[parts[i]])))
            return status;
    if (counted.load.counts.layers_not_lowered)
        note(&result, "layers without kernels are not in it", 0);
    if (who->cal->transferred)
        note(&result, "transferred", 0);
    if (other_dtype(who))
        note(&result, "dtype", 0);
    for (size_t i = 0; i < n; i++)
        if (seconds[parts[i]] < 0) {
            note(&result, "negative time", 0);
            break;
        }
    if (n == 1) {
        result.forward = result.backward = result.grad = result.sync = result.exposed = NAN;
        result.step = micro * seconds[PART_STEP];
    } else {
        result.forward  = micro * seconds[PART_FORWARD];
        result.backward = micro * seconds[PART_BACKWARD];
        for (size_t i = 2; i < n; i++)
            result.grad += seconds[parts[i]];
        /* a model without an update of its own does not tell the all-reduce from it */
        result.sync    = ranks > 1 && parts[2] == PART_GRAD_MANY ? NAN : seconds[PART_SYNC];
        result.exposed = result.sync;
        result.step    = result.forward + result.backward + result.grad;
    }
    state_intervals(who, seconds, n == 1, &result);
    *out = result;
    return LM_OK;
}
