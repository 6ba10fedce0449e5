/* The regressors of each model for each part of a step, and the kind of fit. */
#include "fit/forms.h"

#include <string.h>

#define CONVMETER "ConvMeter"
#define KERNELS   "terms of the kernels, shrunk to families"
#define COUNTS    "ConvMeter's regressors with weights and layers"
#define OPTIMIZER "launches and traffic of the optimizer"
#define RING_SYNC "ring all-reduce, latency and bandwidth (Hockney 1994; Patarasuk & Yuan 2009)"
#define STEP_ONE  ", T_fwd + T_bwd + T_grad, N = 1"
#define NNLS      ", relative NNLS"

#define F   FEATURE_FLOPS
#define I   FEATURE_INPUTS
#define O   FEATURE_OUTPUTS
#define W   FEATURE_WEIGHTS
#define L   FEATURE_LAYERS
#define N   FEATURE_NODES
#define ONE FEATURE_ONE

#define FIOC   { F, I, O, ONE }, 4, 0
#define FIOWL  { F, I, O, W, L }, 5, 0
#define LWN    { L, W, N }, 3, 0
#define LW     { L, W }, 2, 0
#define ONLY_L { L }, 1, 0
#define FIOCLW { F, I, O, ONE, L, W }, 6, 0
#define JOINT  { F, I, O, ONE, L, W, N }, 7, 0
#define RING   { FEATURE_RING_STEPS, FEATURE_RING_BYTES }, 2, 0

#define TERMS(passes) { F }, 0, (passes)

/* relative, non-negative */
#define OURS true, true
#define OLS  false, false

/* F, I, O scale with the batch; the features hold them at the batch, which is the same. */
const form forms[] = {
    /* Layermeter's own model: terms of kernels by class and pass, or of counts if only these are
     * known (counted.h). In PHASE_SYNC bytes and nodes multiply. */
    { "layermeter", PHASE_FORWARD, TERMS(FORM_FORWARD), OURS, KERNELS },
    { "layermeter", PHASE_BACKWARD, TERMS(FORM_BACKWARD), OURS, KERNELS },
    { "layermeter", PHASE_UPDATE, TERMS(FORM_UPDATE), OURS, OPTIMIZER },
    { "layermeter", PHASE_SYNC, RING, OURS, RING_SYNC },
    { "layermeter", PHASE_INFERENCE, TERMS(FORM_FORWARD), OURS, KERNELS },
    { "layermeter", PHASE_STEP, TERMS(FORM_FORWARD | FORM_BACKWARD | FORM_UPDATE), OURS, KERNELS },
    { "layermeter", PHASE_GRAD_INPUT, TERMS(FORM_GRAD_INPUT), OURS, KERNELS },
    { "layermeter", PHASE_GRAD_WEIGHT, TERMS(FORM_GRAD_WEIGHT), OURS, KERNELS },

    /* A model of counts of the whole network: relative errors, non-negative. It adds to ConvMeter
     * what matters in small batches: weights, which every layer reads, and a launch for every
     * layer. */
    { "counts", PHASE_FORWARD, FIOWL, OURS, COUNTS },
    { "counts", PHASE_BACKWARD, FIOWL, OURS, COUNTS },
    { "counts", PHASE_UPDATE, LW, OURS, OPTIMIZER },
    { "counts", PHASE_SYNC, RING, OURS, RING_SYNC },
    { "counts", PHASE_INFERENCE, FIOWL, OURS, COUNTS },
    { "counts", PHASE_STEP, FIOCLW, OURS, "the regressors of the step's parts" },
    { "counts", PHASE_GRAD_INPUT, FIOWL, OURS, COUNTS },
    { "counts", PHASE_GRAD_WEIGHT, FIOWL, OURS, COUNTS },

    { "convmeter", PHASE_FORWARD, FIOC, OLS, CONVMETER ", eq. 2" },
    { "convmeter", PHASE_BACKWARD, FIOC, OLS, CONVMETER ", eq. 3" },
    { "convmeter", PHASE_GRAD_ONE, ONLY_L, OLS, CONVMETER ", T_grad, N = 1" },
    { "convmeter", PHASE_GRAD, LWN, OLS, CONVMETER ", T_grad, N > 1" },
    { "convmeter", PHASE_BACKWARD_GRAD, JOINT, OLS, CONVMETER ", T_bwd + T_grad" },
    { "convmeter", PHASE_INFERENCE, FIOC, OLS, CONVMETER ", eq. 2" },
    { "convmeter", PHASE_STEP, FIOCLW, OLS, CONVMETER STEP_ONE },
    { "convmeter", PHASE_GRAD_INPUT, FIOC, OLS, CONVMETER ", eq. 3, of single layers" },
    { "convmeter", PHASE_GRAD_WEIGHT, FIOC, OLS, CONVMETER ", eq. 3, of single layers" },

    { "nnls", PHASE_FORWARD, FIOC, OURS, CONVMETER ", eq. 2" NNLS },
    { "nnls", PHASE_BACKWARD, FIOC, OURS, CONVMETER ", eq. 3" NNLS },
    { "nnls", PHASE_GRAD_ONE, ONLY_L, OURS, CONVMETER ", T_grad" NNLS },
    { "nnls", PHASE_GRAD, LWN, OURS, CONVMETER ", T_grad" NNLS },
    { "nnls", PHASE_BACKWARD_GRAD, JOINT, OURS, CONVMETER ", T_bwd + T_grad" NNLS },
    { "nnls", PHASE_INFERENCE, FIOC, OURS, CONVMETER ", eq. 2" NNLS },
    { "nnls", PHASE_STEP, FIOCLW, OURS, CONVMETER STEP_ONE NNLS },
    { "nnls", PHASE_GRAD_INPUT, FIOC, OURS, CONVMETER ", eq. 3, of single layers" NNLS },
    { "nnls", PHASE_GRAD_WEIGHT, FIOC, OURS, CONVMETER ", eq. 3, of single layers" NNLS },
};

const size_t n_forms = sizeof forms / sizeof forms[0];

const formula_model formula_models[] = {
    { "layermeter", .prices = true, .launches = LAUNCHES_BY_PRICES, .usual = true },
    { .name = "counts" },
    { "convmeter", .launches = LAUNCHES_BY_COUNTS, .usual = true },
    { "nnls", .launches = LAUNCHES_BY_RELATIVE_COUNTS, .usual = true },
    { "residual", .prices = true, .residual = true, .launches = LAUNCHES_BY_PRICES },
};

const size_t n_formula_models = sizeof formula_models / sizeof formula_models[0];

bool part_calibrated(phase p)
{
    return p != PHASE_INFERENCE && p != PHASE_STEP && p != PHASE_GRAD_INPUT &&
           p != PHASE_GRAD_WEIGHT;
}

/* Called often: the first letter usually decides. */
static bool same(const char *a, const char *b)
{
    return a == b || (*a == *b && !strcmp(a, b));
}

static const formula_model none = { .name = "" };

const formula_model *formula_model_of(const char *name)
{
    for (size_t i = 0; i < n_formula_models; i++)
        if (same(formula_models[i].name, name))
            return &formula_models[i];
    return &none;
}

bool form_carried(size_t form_at)
{
    return formula_model_of(forms[form_at].model)->prices;
}

const char *model_at(size_t i)
{
    for (size_t f = 0; f < n_forms; f++)
        if ((f == 0 || !same(forms[f].model, forms[f - 1].model)) && i-- == 0)
            return forms[f].model;
    return NULL;
}

size_t model_index(const char *name)
{
    size_t m = 0;

    for (size_t f = 0; f < n_forms && !same(forms[f].model, name); f++)
        m += f + 1 == n_forms || !same(forms[f].model, forms[f + 1].model);
    return m;
}

bool model_known(const char *name)
{
    return form_find(name, PHASE_FORWARD) < n_forms;
}

size_t form_find(const char *model, phase p)
{
    size_t f = 0;

    while (f < n_forms && (forms[f].part != p || !same(forms[f].model, model)))
        f++;
    return f;
}

size_t form_find_named(const char *model, const char *part_text)
{
    size_t f = 0;

    while (f < n_forms &&
           (strcmp(phase_formula(forms[f].part), part_text) || strcmp(forms[f].model, model)))
        f++;
    return f;
}

size_t form_rows(const form *f)
{
    return f->n_features ? f->n_features : 4;
}

static void add_terms(const term_vector *v, double *sum)
{
    for (size_t i = 0; i < v->n; i++)
        sum[v->item[i].term] += v->item[i].value;
}

term_vector form_terms(const form *f, const workload *load, const count_knots *knots,
                       term_item *room)
{
    double sum[N_TERMS] = { 0 };

    if (counted_only(load))
        return counted_terms(load, knots, f->passes == FORM_UPDATE, room);
    switch (f->passes) { /* one pass: unchanged */
    case FORM_FORWARD: return load->forward;
    case FORM_BACKWARD: return load->backward;
    case FORM_UPDATE: return load->update;
    }
    if (f->passes & FORM_FORWARD)
        add_terms(&load->forward, sum);
    if (f->passes & FORM_BACKWARD)
        add_terms(&load->backward, sum);
    if (f->passes & FORM_UPDATE)
        add_terms(&load->update, sum);
    for (size_t i = 0; i < load->backward.n; i++) {
        const term_item *item = &load->backward.item[i];

        if (f->passes & FORM_GRAD_INPUT && term_pass(item->term) == LM_GRAD_INPUT)
            sum[item->term] += item->value;
        if (f->passes & FORM_GRAD_WEIGHT && term_pass(item->term) == LM_GRAD_WEIGHT)
            sum[item->term] += item->value;
    }
    return terms_pack(sum, room);
}

resource form_resource(size_t term)
{
    switch (term_family_of(term)) {
    case FAMILY_DENSE:
    case FAMILY_GROUPED:
    case FAMILY_DEPTHWISE:
    case FAMILY_POOL:
    case FAMILY_ELEMENTS: return RESOURCE_FLOPS;
    case FAMILY_PLANES: return RESOURCE_DEPTH;
    case FAMILY_LAUNCHES: return RESOURCE_HOST;
    case FAMILY_TRAFFIC:
    case FAMILY_WEIGHTS:
    case FAMILY_REORDERED:
    case FAMILY_COLUMNS:
    case FAMILY_COUNTED_FLOPS:
    case FAMILY_COUNTED_OUTPUTS:
    case FAMILY_COUNTED_WEIGHTS:
    case FAMILY_COUNTED_STEPS:
    case N_TERM_FAMILIES: break;
    }
    return RESOURCE_BANDWIDTH;
}
