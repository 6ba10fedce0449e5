/* The parts of a prediction, added up. */
#include "predict/sum.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void sum_note(prediction *out, const char *what, double factor)
{
    for (size_t i = 0; i < out->n_beyond; i++)
        if (*out->beyond[i].what == *what && !strcmp(out->beyond[i].what, what))
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
    sum_note(s->out,
             term ? term_slot_name(term_slot(c->regressor)) : feature_name((feature)c->regressor),
             factor);
}

lm_status sum_missing(sum *s, part which)
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

/* All gradients in one message. */
static lm_status add_sync(sum *s, double times, double *seconds)
{
    const allreduce  a = { s->load->bytes, s->out->nodes, s->out->devices };
    allreduce_answer answer;
    const lm_status  status = calibration_ask(s->who->cal, &a, &answer, s->err);

    if (status) {
        lm_error_prefix(s->err, "%s", s->who->machine ? s->who->machine : "the machine file");
        return status;
    }
    for (size_t i = 0; i < answer.n_beyond; i++)
        sum_note(s->out, answer.beyond[i].what, answer.beyond[i].factor);
    for (size_t k = 0; k < answer.n; k++)
        ledger_add(&s->out->ledger, predict_sync_certainty(s->who, s->measured, &answer.share[k]),
                   times * answer.share[k].seconds);
    *seconds = times * answer.seconds;
    return LM_OK;
}

lm_status sum_add(sum *s, part which, double times, double *seconds)
{
    const size_t at = form_find(s->who->model, which);
    contribution room[MAX_CONTRIBUTIONS];
    size_t       n;

    if (which == PART_SYNC && calibration_asks(s->who->cal, s->who->model))
        return add_sync(s, times, seconds);
    if (at == n_forms || !s->who->cal->fitted[at].present)
        return sum_missing(s, which);
    n        = calibration_contributions(s->who->cal, at, s->load, room);
    *seconds = n ? 0 : NAN;
    for (size_t k = 0; k < n; k++)
        *seconds += room[k].seconds;
    for (size_t k = 0; k < n; k++) {
        if (!forms[at].n_features && isnan(room[k].c->value))
            return unknown_term(s, at, &room[k]);
        check_range(s, at, &room[k], *seconds);
        ledger_add(&s->out->ledger, predict_certainty(s->who, s->measured, which, &room[k]),
                   times * room[k].seconds);
    }
    *seconds *= times;
    return LM_OK;
}

void sum_overlap(const overlap *o, double backward, double update, prediction *out)
{
    out->backward += o->backward - backward;
    out->sync      = o->sync;
    out->messages  = (int64_t)o->n;
    out->exposed   = o->exposed;
    out->copy      = o->copy;
    out->straggler = o->straggler;
    out->grad      = out->exposed + out->copy + out->straggler + update;
    out->step      = out->forward + out->backward + out->grad;
}

void sum_exposed(const calibration *cal, const ledger *once, double seconds, prediction *out)
{
    const double exposed = out->exposed + out->copy + out->straggler;

    if (cal->overlapping.rows)
        ledger_add_all(&out->ledger, once, exposed / seconds);
    else
        ledger_add(&out->ledger, CERTAINTY_ASSUMED, out->exposed);
}
