/* Seconds of one training step. */
#include "predict/price.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/bounds.h"
#include "predict/by_layers.h"
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

double step_setup_bytes(const step_setup *s, const workload *load)
{
    return s->sync.dtype ? (double)load->counts.params * (double)lm_dtype_bytes(s->sync.dtype)
                         : load->bytes;
}

/* What the seconds of a device by itself are of. */
typedef struct own_key {
    int64_t   batch, accumulation; /* batch 0: of nothing */
    optimizer optimizer;
    unsigned  measured; /* parts, see predict_measured() */
    bool      many;     /* of several ranks: models may update by another formula */
} own_key;

typedef struct own_parts {
    own_key    key;
    prediction sum; /* its ledger and what leaves the range */
    double     seconds[N_PARTS];
    workload   load; /* without terms */
} own_parts;

/* Searches go between two setups, on one rank and on several. */
#define SCAN_OWN 4

struct step_scan {
    own_parts     own[SCAN_OWN];
    size_t        next;
    overlap_plan *plan; /* NULL: none yet */
};

lm_status step_scan_new(step_scan **out, lm_error *err)
{
    step_scan *s = calloc(1, sizeof *s);

    if (!s)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    *out = s;
    return LM_OK;
}

void step_scan_free(step_scan *s)
{
    if (s)
        overlap_plan_free(s->plan);
    free(s);
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

unsigned predict_measured(const predictor *who, const step_setup *s)
{
    const int64_t ranks = step_setup_ranks(s);
    measured_at   at    = { .network = who->network, .batch = s->batch, .ranks = ranks };
    unsigned      parts = 0;
    bool          together, alone;

    if (other_dtype(who) || !who->cal->measured.n ||
        workloads_input(who->loads, who->network, who->input, who->dtype, &at.input, NULL))
        return 0;
    together = measured_has(&who->cal->measured, &at);
    at.ranks = 1;
    alone    = measured_has(&who->cal->measured, &at);
    if (together || alone)
        parts = 1u << PART_FORWARD | 1u << PART_BACKWARD;
    if (parts && s->optimizer == OPTIMIZER_MOMENTUM) /* what fits take updates of */
        parts |= 1u << PART_UPDATE | 1u << PART_GRAD_ONE | 1u << PART_STEP;
    if (together && s->sync.rule == SYNC_ONCE && !s->sync.dtype)
        parts |= 1u << PART_SYNC | 1u << PART_GRAD_MANY;
    return parts;
}

certainty predict_certainty(const predictor *who, unsigned measured, part which,
                            const contribution *c)
{
    if (measured & 1u << which)
        return CERTAINTY_MEASURED;
    if (who->cal->transferred) /* of another machine */
        return CERTAINTY_ASSUMED;
    return certainty_of(c->c, c->count, other_dtype(who));
}

certainty predict_sync_certainty(const predictor *who, unsigned measured, const allreduce_share *s)
{
    if (measured & 1u << PART_SYNC)
        return CERTAINTY_MEASURED;
    if (s->assumed || who->cal->transferred)
        return CERTAINTY_ASSUMED;
    return s->beyond ? CERTAINTY_EXTRAPOLATED : CERTAINTY_INTERPOLATED;
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
    unsigned         measured;  /**< parts, see predict_measured() */
    bool             sync_only; /**< see overlap_question */
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
        note(s->out, answer.beyond[i].what, answer.beyond[i].factor);
    for (size_t k = 0; k < answer.n; k++)
        ledger_add(&s->out->ledger, predict_sync_certainty(s->who, s->measured, &answer.share[k]),
                   times * answer.share[k].seconds);
    *seconds = times * answer.seconds;
    return LM_OK;
}

/* Done so many times. */
static lm_status add_part(sum *s, part which, double times, double *seconds)
{
    const size_t at = form_find(s->who->model, which);
    contribution room[MAX_CONTRIBUTIONS];
    size_t       n;

    if (which == PART_SYNC && calibration_asks(s->who->cal, s->who->model))
        return add_sync(s, times, seconds);
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
        ledger_add(&s->out->ledger, predict_certainty(s->who, s->measured, which, &room[k]),
                   times * room[k].seconds);
    }
    *seconds *= times;
    return LM_OK;
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

/* One message behind the backward pass, or none: nothing is hidden. */
static bool in_turn(const step_setup *s)
{
    return step_setup_ranks(s) == 1 || s->sync.rule == SYNC_ONCE;
}

/* The all-reduce with its ledger, of which the exposed share becomes the step's. */
static lm_status add_exposed(sum *s, const prediction *p)
{
    ledger   *to     = &s->out->ledger;
    ledger    before = *to;
    double    whole;
    lm_status status = add_part(s, PART_SYNC, 1, &whole);

    if (status)
        return status;
    if (!s->who->cal->overlapping.rows) {
        *to = before;
        ledger_add(to, CERTAINTY_ASSUMED, p->exposed);
        return LM_OK;
    }
    for (certainty c = 0; c < N_CERTAINTIES; c++)
        to->seconds[c] = before.seconds[c] + (to->seconds[c] - before.seconds[c]) / whole *
                                                 (p->exposed + p->copy + p->straggler);
    return LM_OK;
}

/* Buckets of the policy: those of the step before where they are the same. */
static lm_status plan_for(const sum *s, const gradient_schedule *schedule,
                          const sync_policy *policy, overlap_plan **out)
{
    step_scan *scan   = s->who->scan;
    lm_status  status = LM_OK;

    *out = NULL;
    if (scan && scan->plan && overlap_plan_holds(scan->plan, schedule, policy))
        *out = scan->plan;
    if (!*out)
        status = overlap_plan_of(s->who->cal, s->who->model, schedule, policy, out, s->err);
    if (!status && scan && scan->plan != *out) {
        overlap_plan_free(scan->plan);
        scan->plan = *out;
    }
    return status;
}

/* A plan's buckets are its own. */
static lm_status copy_buckets(const overlap *from, overlap *to, lm_error *err)
{
    overlap_bucket *bucket = malloc((from->n + 1) * sizeof *bucket);

    if (!bucket)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    memcpy(bucket, from->bucket, from->n * sizeof *bucket);
    *to        = *from;
    to->bucket = bucket;
    return LM_OK;
}

/* All-reduces behind the backward pass, and the bounds of all. */
static lm_status hide(sum *s, const overlap_question *q, const overlap *o, double update)
{
    prediction *p = s->out;
    lm_status   status;

    p->backward += o->backward - q->backward;
    p->sync      = o->sync;
    p->exposed   = o->exposed;
    p->copy      = o->copy;
    p->straggler = o->straggler;
    p->grad      = p->exposed + p->copy + p->straggler + update;
    p->step      = p->forward + p->backward + p->grad;
    if (isnan(p->sync))
        return missing(s, PART_SYNC);
    if ((status = add_exposed(s, p)))
        return status;
    bounds_overlapped(s->who, q, update, p);
    return LM_OK;
}

/* Synchronisation by a policy; `buckets`: NULL where nobody wants them. */
static lm_status synchronise(sum *s, const step_setup *asked, double backward, double update,
                             overlap *buckets)
{
    const predictor         *who      = s->who;
    const sync_setting       how      = { &asked->sync, asked->nodes, asked->devices, 1, 1 };
    const gradient_schedule *schedule = NULL;
    overlap_question         q        = { .setup     = asked,
                                          .backward  = backward,
                                          .compute   = s->out->forward + s->out->backward,
                                          .sync_only = s->sync_only };
    overlap                  o;
    lm_status                status;

    if ((status = workloads_gradients(who->loads, who->network, who->input, who->dtype,
                                      asked->batch, &who->cal->settings, &schedule, s->err)) ||
        (status = plan_for(s, schedule, &asked->sync, &q.plan)))
        return status;
    if (buckets) {
        overlap_plan_run(q.plan, asked->batch, &how, backward, q.compute, &o);
        status = copy_buckets(&o, buckets, s->err);
    } else {
        overlap_plan_sums(q.plan, asked->batch, &how, backward, q.compute, &o);
    }
    if (!status && !in_turn(asked)) /* else the buckets are all that is wanted */
        status = hide(s, &q, &o, update);
    if (status && buckets)
        overlap_clear(buckets);
    if (!who->scan)
        overlap_plan_free(q.plan);
    return status;
}

/* Parts of a step that are done in each micro-step. */
static double times_done(part which, const step_setup *s)
{
    return which == PART_FORWARD || which == PART_BACKWARD || which == PART_STEP
               ? (double)s->sync.accumulation
               : 1;
}

static void note_counts(const predictor *who, const workload *load, prediction *out)
{
    if (load->counts.layers_not_lowered)
        note(out, "layers without kernels are not in it", 0);
    if (who->cal->transferred)
        note(out, "transferred", 0);
    if (other_dtype(who))
        note(out, "dtype", 0);
}

/* One part after the other: nothing is hidden. */
static void add_up(const part *which, size_t n, const double seconds[N_PARTS], prediction *out)
{
    const bool many = out->nodes * out->devices > 1;

    if (n == 1) {
        out->forward = out->backward = out->grad = out->sync = out->exposed = NAN;
        out->step                                                           = seconds[PART_STEP];
        return;
    }
    out->forward  = seconds[PART_FORWARD];
    out->backward = seconds[PART_BACKWARD];
    for (size_t i = 2; i < n; i++)
        out->grad += seconds[which[i]];
    /* a model without an update of its own does not tell the all-reduce from it */
    out->sync    = many && which[2] == PART_GRAD_MANY ? NAN : seconds[PART_SYNC];
    out->exposed = out->sync;
    out->step    = out->forward + out->backward + out->grad;
}

/* Parts that only the number of ranks tells. */
static bool of_ranks(part which)
{
    return which == PART_SYNC || which == PART_GRAD_MANY;
}

/* What a device does by itself, by its layers: that they take in a network what they take alone is
 * assumed. */
static lm_status sum_layers(sum *s, const step_setup *asked, double seconds[N_PARTS])
{
    static const part done[] = { PART_FORWARD, PART_BACKWARD, PART_UPDATE };
    whole_seconds     found;
    const lm_status   status =
        by_layers_seconds(s->who, asked->batch, asked->optimizer, &found, s->err);

    if (status)
        return status;
    seconds[PART_FORWARD]  = found.forward;
    seconds[PART_BACKWARD] = found.backward;
    seconds[PART_UPDATE]   = found.update;
    for (size_t i = 0; i < sizeof done / sizeof done[0]; i++) {
        seconds[done[i]] *= times_done(done[i], asked);
        ledger_add(&s->out->ledger, CERTAINTY_ASSUMED, seconds[done[i]]);
    }
    note(s->out, "layers by themselves", 0);
    return LM_OK;
}

/* What a device does by itself. */
static lm_status find_own(const predictor *who, const own_key *key, const step_setup *asked,
                          own_parts *out, lm_error *err)
{
    full_workload counted;
    sum           s = {
                  .who = who, .load = &counted.load, .measured = key->measured, .out = &out->sum, .err = err
    };
    part      parts[4];
    lm_status status = predict_load(who, asked->batch, asked->optimizer, &counted, err);
    size_t    n;

    out->key = (own_key){ 0 }; /* of nothing, until it is done */
    out->sum = (prediction){ 0 };
    memset(out->seconds, 0, sizeof out->seconds);
    if (status)
        return status;
    if (predict_by_layers(who) && (status = sum_layers(&s, asked, out->seconds)))
        return status;
    n = predict_by_layers(who) ? 0 : predict_parts(who, key->many, parts);
    for (size_t i = 0; i < n; i++) {
        double *seconds = &out->seconds[parts[i]];

        if (of_ranks(parts[i]))
            continue;
        if ((status = add_part(&s, parts[i], times_done(parts[i], asked), seconds)))
            return status;
        if (*seconds < 0)
            note(&out->sum, "negative time", 0);
    }
    out->load         = counted.load;
    out->load.forward = out->load.backward = out->load.update = (term_vector){ NULL, 0 };
    out->key                                                  = *key;
    return LM_OK;
}

/* The same from the scan, where a step before did it, too. */
static lm_status own_of(const predictor *who, const step_setup *asked, own_parts *room,
                        const own_parts **out, lm_error *err)
{
    const own_key key  = { .batch        = asked->batch,
                           .accumulation = asked->sync.accumulation,
                           .optimizer    = asked->optimizer,
                           .measured     = predict_measured(who, asked),
                           .many         = step_setup_ranks(asked) > 1 };
    step_scan    *scan = who->scan;

    for (size_t i = 0; scan && i < SCAN_OWN; i++) {
        const own_key *k = &scan->own[i].key;

        if (k->batch == key.batch && k->accumulation == key.accumulation &&
            k->optimizer == key.optimizer && k->measured == key.measured && k->many == key.many) {
            *out = &scan->own[i];
            return LM_OK;
        }
    }
    if (scan) {
        room       = &scan->own[scan->next];
        scan->next = (scan->next + 1) % SCAN_OWN;
    }
    *out = room;
    return find_own(who, &key, asked, room, err);
}

/* `buckets`: NULL where nobody wants them. */
static lm_status predict(const predictor *who, const step_setup *asked, bool sync_only,
                         prediction *out, overlap *buckets, lm_error *err)
{
    const int64_t    ranks    = step_setup_ranks(asked);
    const bool       overlaps = !in_turn(asked);
    const own_parts *own      = NULL;
    own_parts        room;
    double           seconds[N_PARTS];
    part             parts[4];
    size_t           n;
    workload         load;
    prediction result = { .batch = asked->batch, .nodes = asked->nodes, .devices = asked->devices };
    sum        s      = { .who = who, .load = &load, .out = &result, .err = err };
    lm_status  status = own_of(who, asked, &room, &own, err);

    if (status)
        return status;
    load        = own->load;
    load.nodes  = (double)ranks;
    load.bytes  = step_setup_bytes(asked, &load);
    s.measured  = own->key.measured;
    s.sync_only = sync_only;
    memcpy(seconds, own->seconds, sizeof seconds);
    result.ledger = own->sum.ledger;
    if (ranks > 1 && ranks > who->cal->max_ranks && !calibration_asks(who->cal, who->model))
        note(&result, "nodes", (double)ranks / (double)who->cal->max_ranks);
    for (size_t i = 0; i < own->sum.n_beyond; i++)
        note(&result, own->sum.beyond[i].what, own->sum.beyond[i].factor);
    n = predict_parts(who, ranks > 1, parts);
    for (size_t i = 0; i < n; i++) {
        if (!of_ranks(parts[i]) || (overlaps && parts[i] == PART_SYNC))
            continue;
        if ((status = add_part(&s, parts[i], 1, &seconds[parts[i]])))
            return status;
        if (seconds[parts[i]] < 0)
            note(&result, "negative time", 0);
    }
    note_counts(who, &load, &result);
    add_up(parts, n, seconds, &result);
    if (!overlaps)
        bounds_in_turn(who, seconds[PART_UPDATE], n == 1, &result);
    if (overlaps || buckets)
        status = synchronise(&s, asked, seconds[PART_BACKWARD] / times_done(PART_BACKWARD, asked),
                             seconds[PART_UPDATE], buckets);
    if (predict_by_layers(who)) /* those of layers are not of networks */
        bounds_unknown(&result);
    if (!status)
        *out = result;
    return status;
}

static lm_status step(const predictor *who, const step_setup *s, bool sync_only, prediction *out,
                      lm_error *err)
{
    const lm_status status = check_setup(s, err);

    if (status)
        return status;
    if (who->paleo && (!in_turn(s) || s->sync.dtype))
        return lm_error_set(
            err, LM_E_UNSUPPORTED,
            "PALEO hides no all-reduce behind the backward pass, and sends gradients "
            "as they are: take --sync once without --grad-dtype");
    return who->paleo ? paleo_predict(who->paleo, s, out, err)
                      : predict(who, s, sync_only, out, NULL, err);
}

lm_status predict_step(const predictor *who, const step_setup *s, prediction *out, lm_error *err)
{
    return step(who, s, false, out, err);
}

lm_status predict_seconds(const predictor *who, const step_setup *s, prediction *out, lm_error *err)
{
    return step(who, s, true, out, err);
}

lm_status predict_timeline(const predictor *who, const step_setup *s, prediction *out,
                           overlap *buckets, lm_error *err)
{
    const lm_status status = check_setup(s, err);

    if (status)
        return status;
    if (who->paleo)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "PALEO does not say when gradients are ready: no all-reduce is hidden");
    return predict(who, s, false, out, buckets, err);
}
