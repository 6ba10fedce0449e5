/* Models that are linear in counts or terms of a network. */
#include "models/linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "fit/comparison.h"
#include "fit/shared.h"

/* ---- what was measured ----------------------------------------------------------------------- */

bool step_measured_as_sent(const step_setup *s)
{
    return s->sync.rule == SYNC_ONCE && !s->sync.dtype;
}

bool step_measurable(const predictor *who, const char **input)
{
    const workload_name of = predictor_workload(who, PROGRAM_TRAINING);
    return who->cal && shard_is_whole(&who->shard) && !predictor_other_types(who) &&
           (who->cal->measured.n || who->cal->curves.n) &&
           !workloads_input(who->loads, &of, input, NULL);
}

unsigned step_measured(const predictor *who, const step_setup *s)
{
    measured_at at    = { .network = who->network, .batch = s->batch };
    unsigned    parts = 0;
    bool        together, alone;

    if (!step_measurable(who, &at.input))
        return 0;
    at.ranks = step_setup_ranks(s);
    together = measured_has(&who->cal->measured, &at);
    at.ranks = 1;
    alone    = measured_has(&who->cal->measured, &at);
    if (together || alone)
        parts = 1u << PHASE_FORWARD | 1u << PHASE_BACKWARD;
    if (parts && s->optimizer == OPTIMIZER_MOMENTUM) /* fits use updates of this optimizer */
        parts |= 1u << PHASE_UPDATE | 1u << PHASE_GRAD_ONE | 1u << PHASE_STEP;
    if (together && step_measured_as_sent(s))
        parts |= 1u << PHASE_SYNC | 1u << PHASE_GRAD;
    return parts;
}

certainty linear_certainty(const predictor *who, unsigned measured, phase which,
                           const contribution *c)
{
    if (measured & 1u << which)
        return CERTAINTY_MEASURED;
    if (who->cal->transferred || (who->weights && which == PHASE_INFERENCE) || who->as_tf32 > 0)
        return CERTAINTY_ASSUMED;
    return certainty_of(c->c, c->count, predictor_other_types(who));
}

/* ---- one formula ---- */

static bool fitted_of(const predictor *who, phase which, size_t *at)
{
    *at = form_find(who->model, which);
    return *at < n_forms && who->cal->fitted[*at].present;
}

/* Can a step be divided into passes and update by its terms? */
static bool divisible(const predictor *who, size_t form_at)
{
    return !forms[form_at].n_features && form_find(who->model, PHASE_SYNC) < n_forms;
}

size_t linear_parts(const predictor *who, program_kind program, bool many, phase out[4])
{
    const bool tells = form_find(who->model, PHASE_UPDATE) < n_forms;
    size_t     n     = 0, at;

    if (program == PROGRAM_INFERENCE) {
        const bool stands_in =
            !fitted_of(who, PHASE_INFERENCE, &at) && fitted_of(who, PHASE_FORWARD, &at);

        out[n++] = stands_in ? PHASE_FORWARD : PHASE_INFERENCE;
        return n;
    }
    if (!fitted_of(who, PHASE_FORWARD, &at) && fitted_of(who, PHASE_STEP, &at) &&
        (!many || divisible(who, at))) {
        out[n++] = PHASE_STEP; /* only whole steps were measured */
        if (many)
            out[n++] = PHASE_SYNC;
        return n;
    }
    out[n++] = PHASE_FORWARD;
    out[n++] = PHASE_BACKWARD;
    out[n++] = tells ? PHASE_UPDATE : many ? PHASE_GRAD : PHASE_GRAD_ONE;
    if (tells && many)
        out[n++] = PHASE_SYNC;
    return n;
}

lm_status linear_missing(const predictor *who, phase which, lm_error *err)
{
    static const char *const remedy[N_TIMES] = {
        [PHASE_FORWARD]       = "calibrate whole networks",
        [PHASE_BACKWARD]      = "calibrate whole networks with their backward pass",
        [PHASE_GRAD_ONE]      = "calibrate whole networks with their update on 1 rank",
        [PHASE_GRAD]          = "calibrate whole networks on 2 ranks or more (mpirun)",
        [PHASE_BACKWARD_GRAD] = "calibrate whole networks on 2 ranks or more (mpirun)",
        [PHASE_UPDATE]        = "calibrate whole networks with their update",
        [PHASE_SYNC]          = "calibrate on 2 ranks or more (mpirun)",
        [PHASE_INFERENCE]     = "measure whole networks in evaluation mode",
        [PHASE_STEP]          = "measure steps of whole networks",
        [PHASE_GRAD_INPUT]    = "measure single layers",
        [PHASE_GRAD_WEIGHT]   = "measure single layers",
    };
    size_t      at;
    const char *other =
        which != PHASE_INFERENCE && which != PHASE_SYNC && fitted_of(who, PHASE_INFERENCE, &at)
            ? "; it tells inference (--phase inference)"
            : "";
    const char *const kept = who->cal && strcmp(who->model, DEFAULT_MODEL) != 0
                                 ? calibration_told(who->cal, "fitted_features")
                                 : NULL;

    if (which == PHASE_INFERENCE && who->cal && calibration_told(who->cal, "source"))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s: no inference in %s was measured: take another --dtype "
                            "('layermeter devices' lists them), or calibrate the device",
                            who->machine ? who->machine : "the machine file",
                            text_dtype_name(who->dtype));
    if (kept)
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "%s has no %s.%s: it was fitted with --features %.60s: fit again without, or with "
            "features of that formula%s",
            who->machine ? who->machine : "the machine file", who->model, phase_formula(which),
            kept, other);
    return lm_error_set(err, LM_E_NOTFOUND, "%s has no %s.%s: %s, then fit again%s",
                        who->machine ? who->machine : "the machine file", who->model,
                        phase_formula(which), remedy[which], other);
}

/* Only terms with at least this share of the time are marked. */
#define SHARE 0.1

/* Factors from coefficients of autocast to 16-bit networks. Autocast is counted in f32, but its
 * activations move half as many bytes: a byte in 16 bits costs twice the coefficient. For a weight,
 * counted as 4 bytes, autocast moves 8: it reads 4, writes 2 and reads 2. A 16-bit weight is read
 * once, 2 bytes: half the coefficient per byte. Check: 1,323 image networks on an RTX PRO 6000,
 * with few bytes of weights. Their time in bf16 is 0.99 of that under autocast at the median; nine
 * of ten lie between 0.93 and 1.09 (timm's results, commit aa4b5850). */
#define HALF_TRAFFIC 2.0
#define HALF_WEIGHTS 0.5

/* Factor on a coefficient of autocast for kernels of 16-bit networks. */
static double of_halves(size_t term)
{
    const term_family f = term_family_of(term);

    return term_of_weights(term) ? HALF_WEIGHTS : f == FAMILY_TRAFFIC ? HALF_TRAFFIC : 1;
}

bool linear_tells_halves(const predictor *who)
{
    size_t at;

    return who->by == &linear_model && fitted_of(who, PHASE_INFERENCE, &at) &&
           !forms[at].n_features;
}

/* Factor on passes if products use another type than in the measurements (TF32). Optimizers and
 * messages have none. */
static double of_products(const predictor *who, phase which)
{
    const bool pass = which == PHASE_FORWARD || which == PHASE_BACKWARD ||
                      which == PHASE_INFERENCE || which == PHASE_STEP;

    return who->as_tf32 > 0 && pass ? who->as_tf32 : 1;
}

double linear_coefficient(const predictor *who, phase which, const contribution *c)
{
    const double halves = who->weights && which == PHASE_INFERENCE ? of_halves(c->regressor) : 1;

    return c->price * halves * of_products(who, which);
}

size_t linear_contributions(const predictor *who, phase which, size_t form_at, const workload *load,
                            contribution *room)
{
    const size_t n = calibration_contributions(who->cal, form_at, load, room);

    if (!forms[form_at].n_features)
        for (size_t k = 0; k < n; k++)
            room[k].seconds = linear_coefficient(who, which, &room[k]) * room[k].count;
    return n;
}

/* A coefficient that was not fitted is unknown, not zero. */
static lm_status unknown_term(const predictor *who, phase which, const contribution *c,
                              lm_error *err)
{
    char name[64];

    return lm_error_set(err, LM_E_NOTFOUND,
                        "%s: %s.%s has no coefficient '%s', which the network needs: "
                        "calibrate networks with such layers, then fit again",
                        who->machine ? who->machine : "the machine file", who->model,
                        phase_formula(which), term_name(c->regressor, name, sizeof name));
}

static void check_range(bool term, const contribution *c, double seconds, grounds *g)
{
    const double factor = range_beyond(c->c, c->count);

    if (factor == 1 || (term && c->seconds < SHARE * seconds))
        return;
    grounds_note(
        g, term ? term_slot_name(term_slot(c->regressor)) : feature_name((feature)c->regressor),
        factor);
}

/* Seconds of a formula, and their ledger. */
static lm_status ask(const predictor *who, phase which, const workload *load, unsigned measured,
                     double *seconds, grounds *g, lm_error *err)
{
    contribution room[MAX_CONTRIBUTIONS];
    size_t       at, n;
    bool         term;

    if (!fitted_of(who, which, &at))
        return linear_missing(who, which, err);
    term     = !forms[at].n_features;
    n        = linear_contributions(who, which, at, load, room);
    *seconds = n ? 0 : NAN;
    for (size_t k = 0; k < n; k++)
        *seconds += room[k].seconds;
    for (size_t k = 0; k < n; k++) {
        if (term && isnan(room[k].c->value))
            return unknown_term(who, which, &room[k], err);
        check_range(term, &room[k], *seconds, g);
        ledger_add(&g->ledger, linear_certainty(who, measured, which, &room[k]), room[k].seconds);
    }
    if (*seconds < 0)
        grounds_note(g, "negative time", 0);
    return LM_OK;
}

/* A device's own work takes longer while others of its host work, too. */
void linear_share_host(const predictor *who, const step_setup *s, phase which, unsigned measured,
                       double *seconds, grounds *g)
{
    const double more = *seconds * (shared_times(who->cal, who->model, which, s->devices) - 1);

    if (!(more > 0))
        return;
    *seconds += more;
    ledger_add(&g->ledger,
               which == PHASE_INFERENCE                        ? CERTAINTY_ASSUMED
               : !sharing_known(&who->cal->shared, s->devices) ? CERTAINTY_EXTRAPOLATED
               : measured >> which & 1                         ? CERTAINTY_MEASURED
                                                               : CERTAINTY_INTERPOLATED,
               more);
}

lm_status linear_trains(const predictor *who, const net_metrics *counts, lm_error *err)
{
    return counts->params
               ? LM_OK
               : lm_error_set(err, LM_E_UNSUPPORTED,
                              "%s has no parameters: there is nothing to train", who->network);
}

static const bounded unknown = { NAN, NAN, NAN };

static lm_status price_inference(const predictor *who, const step_setup *s, step_price *out,
                                 lm_error *err)
{
    const workload_name of = predictor_workload(who, s->program);
    full_workload       counted;
    phase               part[4];
    lm_status           status =
        workloads_full(who->loads, &of, s->batch, &who->cal->settings, s->optimizer, &counted, err);

    if (status)
        return status;
    *out        = inference_price();
    out->known  = calibration_intervals(who->cal, who->model);
    out->counts = counted.load.counts;
    linear_parts(who, s->program, false, part);
    out->stands_in = part[0] == PHASE_FORWARD;
    if (!(status = ask(who, part[0], &counted.load, 0, &out->forward.value, &out->passes, err)))
        linear_share_host(who, s, part[0], 0, &out->forward.value, &out->passes);
    return status;
}

/* Passes do not depend on the optimizer: they are those of the step with this one. */
#define DIVIDED OPTIMIZER_ADAM

/* The step with the optimizer DIVIDED, and its parts by the coefficients of families. */
static lm_status usual_step(const predictor *who, const step_setup *s, unsigned measured,
                            double *seconds, step_passes *parts, lm_error *err)
{
    const workload_name of    = predictor_workload(who, s->program);
    grounds             other = { .n_beyond = 0 };
    full_workload       counted;
    lm_status           status =
        workloads_full(who->loads, &of, s->batch, &who->cal->settings, DIVIDED, &counted, err);

    if (!status)
        status = ask(who, PHASE_STEP, &counted.load, measured, seconds, &other, err);
    if (status)
        return status;
    linear_share_host(who, s, PHASE_STEP, measured, seconds, &other);
    *parts = step_passes_of(who->cal, who->model, &counted.load);
    return LM_OK;
}

/* Divides whole steps of one device into passes, because several ranks hide messages behind passes, and
 * the host's time differs by pass.
 * The division uses terms, with coefficients of families: an assumption. The rest of a step behind
 * the passes is the update. */
static lm_status divide_step(const predictor *who, const step_setup *s, const workload *load,
                             unsigned measured, step_price *out, lm_error *err)
{
    step_passes p     = step_passes_of(who->cal, who->model, load);
    double      usual = out->step.value, longer, update;

    if (s->optimizer != DIVIDED) {
        const step_passes own    = p;
        lm_error          why    = { LM_OK, "" };
        const lm_status   status = usual_step(who, s, measured, &usual, &p, &why);

        if (status && status != LM_E_NOTFOUND) {
            *err = why;
            return status;
        }
        if (status ||
            !(out->step.value > usual * (1 - p.update / (p.forward + p.backward + p.update)))) {
            p     = own; /* steps that do not tell optimizers apart */
            usual = out->step.value;
        }
    }
    longer = usual / (p.forward + p.backward + p.update);
    update = longer * p.update + (out->step.value - usual);

    out->forward.value  = longer * p.forward;
    out->backward.value = longer * p.backward;
    out->update.value   = update;
    out->step           = unknown;
    out->passes.ledger  = (ledger){ .seconds = { 0 } };
    ledger_add(&out->passes.ledger, CERTAINTY_ASSUMED, longer * (p.forward + p.backward));
    ledger_add(&out->rest.ledger, CERTAINTY_ASSUMED, update);
    grounds_note(&out->passes, "parts of whole steps", 0);
    return LM_OK;
}

/* ---- products of an update ---- */

static void add_products(const bound_network *bound, const term_settings *how, optimizer o,
                         double *sum)
{
    term_chain chain = { .samples = 1 };

    for (size_t i = 0; i < bound->n_layers; i++) {
        const bound_layer *l = &bound->layer[i];

        for (size_t k = 0; k < l->n_weights; k++) {
            lm_kernel    kernel[OPTIMIZER_PRODUCTS];
            const size_t n =
                l->weights[k].flags & LM_FROZEN
                    ? 0
                    : optimizer_products(optimizer_of_layer(o, l), &l->weights[k].tensor, kernel);

            for (size_t j = 0; j < n; j++)
                terms_add(&kernel[j], how, &chain, sum);
        }
    }
}

lm_status linear_products(const predictor *who, const step_setup *s, double *seconds, grounds *g,
                          lm_error *err)
{
    const workload_name of    = predictor_workload(who, s->program);
    workload            load  = { .nodes = 1 };
    double             *sum   = NULL;
    term_item          *room  = NULL;
    bound_network      *bound = NULL;
    grounds             mine  = { .n_beyond = 0 };
    lm_status           status;
    size_t              at;

    *seconds = 0;
    if (s->optimizer != OPTIMIZER_MUON)
        return LM_OK;
    at = form_find(who->model, PHASE_STEP);
    if (at == n_forms || forms[at].n_features)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "model '%s' has no products of matrices, which an update of %s takes",
                            who->model, optimizer_name(s->optimizer));
    sum  = calloc(N_TERMS, sizeof *sum);
    room = malloc(N_TERMS * sizeof *room);
    if (!sum || !room)
        status = no_memory(err);
    else
        status = workloads_bind_at(who->loads, &of, s->batch, &bound, err);
    if (!status) {
        add_products(bound, &who->cal->settings, s->optimizer, sum);
        load.forward = terms_pack(sum, room);
    }
    if (!status && load.forward.n)
        status = ask(who, fitted_of(who, PHASE_FORWARD, &at) ? PHASE_FORWARD : PHASE_STEP, &load, 0,
                     seconds, &mine, err);
    if (!status && *seconds > 0) {
        ledger_add(&g->ledger, CERTAINTY_ASSUMED, *seconds);
        grounds_note(g, "products of the update", 0);
    }
    bound_network_free(bound);
    free(room);
    free(sum);
    return status;
}

static lm_status linear_price(const predictor *who, const step_setup *s, step_price *out,
                              lm_error *err)
{
    const workload_name of   = predictor_workload(who, s->program);
    const bool          many = step_setup_ranks(s) > 1;
    full_workload       counted;
    unsigned            measured;
    phase               part[4];
    double              products;
    size_t              n;
    lm_status           status;

    if (s->program == PROGRAM_INFERENCE)
        return price_inference(who, s, out, err);
    status =
        workloads_full(who->loads, &of, s->batch, &who->cal->settings, s->optimizer, &counted, err);
    if (status)
        return status;
    *out     = (step_price){ .forward       = unknown,
                             .backward      = unknown,
                             .update        = unknown,
                             .step          = unknown,
                             .known         = calibration_intervals(who->cal, who->model),
                             .tells_update  = form_find(who->model, PHASE_UPDATE) < n_forms,
                             .joules_passes = unknown,
                             .joules_step   = unknown,
                             .counts        = counted.load.counts };
    measured = step_measured(who, s);
    n        = linear_parts(who, s->program, many, part);
    for (size_t i = 0; i < n && !status; i++) {
        const phase f   = part[i];
        const bool  own = f == PHASE_UPDATE || f == PHASE_GRAD_ONE;
        bounded    *to  = own                   ? &out->update
                          : f == PHASE_FORWARD  ? &out->forward
                          : f == PHASE_BACKWARD ? &out->backward
                                                : &out->step;
        grounds    *g   = own ? &out->rest : &out->passes;

        if (f == PHASE_SYNC || f == PHASE_GRAD) /* a message between ranks */
            continue;
        if (!(status = ask(who, f, &counted.load, measured, &to->value, g, err)))
            linear_share_host(who, s, f, measured, &to->value, g);
    }
    if (!status && part[0] == PHASE_STEP &&
        (many || s->laid_out || s->again > 0 || predictor_framework(who) == FRAMEWORK_EAGER))
        status = divide_step(who, s, &counted.load, measured, out, err);
    if (!status && !(status = linear_products(who, s, &products, &out->rest, err)))
        *(isnan(out->update.value) ? &out->step.value : &out->update.value) += products;
    return status ? status : linear_trains(who, &out->counts, err);
}

/* ---- gradients ---- */

certainty fabric_certainty(const predictor *who, const collective_share *s)
{
    if (s->assumed || who->cal->transferred || who->cal->of_another)
        return CERTAINTY_ASSUMED;
    return s->beyond ? CERTAINTY_EXTRAPOLATED : CERTAINTY_INTERPOLATED;
}

/* Price of all gradients in one message on the machine file's fabric. As step_model.exchange. */
static lm_status fabric_exchange(const predictor *who, const step_setup *s,
                                 const net_metrics *counts, exchange_price *out, lm_error *err)
{
    const collective_call a = { COLLECTIVE_ALLREDUCE, step_setup_bytes(s, counts), s->nodes,
                                s->devices, 1 };
    collective_answer     answer;
    const lm_status       status = calibration_ask(who->cal, &who->link, &a, &answer, err);

    if (status) {
        lm_error_prefix(err, "%s", who->machine ? who->machine : "the machine file");
        return status;
    }
    *out = (exchange_price){ .seconds = answer.seconds,
                             .told_link =
                                 calibration_assumes(who->cal, who->model, &who->link, s->nodes),
                             .known = calibration_intervals(who->cal, who->model) };
    for (size_t i = 0; i < answer.n_beyond; i++)
        grounds_note(&out->grounds, answer.beyond[i].what, answer.beyond[i].factor);
    for (size_t k = 0; k < answer.n; k++)
        ledger_add(&out->grounds.ledger, fabric_certainty(who, &answer.share[k]),
                   answer.share[k].seconds);
    if (out->seconds < 0)
        grounds_note(&out->grounds, "negative time", 0);
    return LM_OK;
}

/* Price by the fabric, or by the model's own formula, which treats all ranks alike. */
lm_status linear_exchange(const predictor *who, const step_setup *s, const net_metrics *counts,
                          exchange_price *out, lm_error *err)
{
    const bool     joint = form_find(who->model, PHASE_SYNC) == n_forms;
    const int64_t  ranks = step_setup_ranks(s);
    const workload load  = { .counts = *counts,
                             .nodes  = (double)ranks,
                             .bytes  = step_setup_bytes(s, counts) };

    if (calibration_asks(who->cal, who->model))
        return fabric_exchange(who, s, counts, out, err);
    *out = (exchange_price){ .joint = joint, .known = calibration_intervals(who->cal, who->model) };
    if (ranks > who->cal->max_ranks)
        out->beyond = (double)ranks / (double)who->cal->max_ranks;
    return ask(who, joint ? PHASE_GRAD : PHASE_SYNC, &load, 0, &out->seconds, &out->grounds, err);
}

lm_status linear_buckets(const predictor *who, const step_setup *s,
                         const gradient_schedule *gradients, priced_program **out, lm_error *err)
{
    return priced_program_of(who->cal, who->model, &who->link, gradients, &s->sync, out, err);
}

/* ---- what bounds it ---- */

/* Adds all contributions of a formula by bound, except those of the number of nodes alone. */
static void add_bounds(const predictor *who, phase which, const workload *load, double *sum)
{
    contribution room[MAX_CONTRIBUTIONS];
    size_t       at, n = 0;

    if (fitted_of(who, which, &at))
        n = linear_contributions(who, which, at, load, room);
    for (size_t k = 0; k < n; k++) {
        const uint32_t r = room[k].regressor;

        if (!forms[at].n_features)
            sum[term_family_bound(term_family_of(r))] += room[k].seconds;
        else if (!feature_of_nodes((feature)r))
            sum[feature_bound((feature)r)] += room[k].seconds;
    }
}

static lm_status linear_bounds(const predictor *who, const step_setup *s, bound_price *out,
                               lm_error *err)
{
    const workload_name of = predictor_workload(who, s->program);
    full_workload       counted;
    lm_status           status =
        workloads_full(who->loads, &of, s->batch, &who->cal->settings, s->optimizer, &counted, err);

    *out = (bound_price){ .passes = { 0 } };
    for (int many = 0; many < 2 && !status; many++) {
        phase        part[4];
        const size_t n = linear_parts(who, s->program, many, part);

        for (size_t i = 0; i < n; i++) {
            const bool pass = part[i] == PHASE_FORWARD || part[i] == PHASE_BACKWARD ||
                              part[i] == PHASE_STEP || part[i] == PHASE_INFERENCE;

            if (part[i] != PHASE_SYNC && !(pass && many))
                add_bounds(who, part[i], &counted.load, pass ? out->passes : out->update[many]);
        }
    }
    return status;
}

static lm_status linear_compare(const char *model, const compared *with, comparison *out,
                                lm_error *err)
{
    const lm_status status = compare_points(with->p, model, with->by, with->cal, out, err);

    return status || with->cal ? status : compare_left_out(with->p, model, with->by, out, err);
}

const step_model linear_model = {
    .grows_evenly = true,
    .price        = linear_price,
    .exchange     = linear_exchange,
    .buckets      = linear_buckets,
    .bounds       = linear_bounds,
    .explain      = linear_explain,
    .compare      = linear_compare,
};
