/* Terms: the regressors of single kernels. */
#include "counts/terms.h"

#include <stdio.h>
#include <string.h>

#include "counts/kernel_class.h"
#include "layers/kernel_text.h"

#define SLOT_ENTRY(slot, text, what, of) [slot] = { text, what, of },
#define HAT(i)                                                                                      \
    [SLOT_SIZE_FLOPS +                                                                              \
        (i)-1]                       = { "size" #i ".flops", "FLOP", FAMILY_COUNTED_FLOPS },        \
        [SLOT_SIZE_OUTPUTS + (i)-1]  = { "size" #i ".outputs", "element", FAMILY_COUNTED_OUTPUTS }, \
        [SLOT_REUSE_FLOPS + (i)-1]   = { "reuse" #i ".flops", "FLOP", FAMILY_COUNTED_FLOPS },       \
        [SLOT_REUSE_OUTPUTS + (i)-1] = { "reuse" #i ".outputs", "element",                          \
                                         FAMILY_COUNTED_OUTPUTS }

static const struct {
    const char *name, *unit;
    term_family family;
} slots[N_TERM_SLOTS] = {
    SLOT_TABLE(SLOT_ENTRY) HAT(1),
    HAT(2),
    HAT(3),
    HAT(4),
    HAT(5),
    [SLOT_COUNTED_WEIGHTS] = { "counted.weights", "element", FAMILY_COUNTED_WEIGHTS },
    [SLOT_COUNTED_STEPS]   = { "counted.steps", "step", FAMILY_COUNTED_STEPS },
};

static const term_bound families[N_TERM_FAMILIES] = {
    [FAMILY_DENSE] = BOUND_ARITHMETIC,        [FAMILY_GROUPED] = BOUND_ARITHMETIC,
    [FAMILY_DEPTHWISE] = BOUND_ARITHMETIC,    [FAMILY_WEIGHTS] = BOUND_TRAFFIC,
    [FAMILY_TRAFFIC] = BOUND_TRAFFIC,         [FAMILY_LAUNCHES] = BOUND_LAUNCH,
    [FAMILY_PLANES] = BOUND_LAUNCH,           [FAMILY_POOL] = BOUND_TRAFFIC,
    [FAMILY_COLUMNS] = BOUND_TRAFFIC,         [FAMILY_REORDERED] = BOUND_TRAFFIC,
    [FAMILY_ELEMENTS] = BOUND_ARITHMETIC,     [FAMILY_COUNTED_FLOPS] = BOUND_ARITHMETIC,
    [FAMILY_COUNTED_OUTPUTS] = BOUND_TRAFFIC, [FAMILY_COUNTED_WEIGHTS] = BOUND_TRAFFIC,
    [FAMILY_COUNTED_STEPS] = BOUND_LAUNCH,
};

#define LARGE_BYTES (32.0 * 1024 * 1024) /* size of a tensor that exceeds caches */
/* weights that the second-level cache of a core holds: it has 1 or 2 MiB in servers since 2017 */
#define RESIDENT_BYTES (2.0 * 1024 * 1024)

const term_settings term_settings_default = { .tile = 16, .group_tile = 8 };

const char *term_name(size_t term, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s.%s", slots[term / LM_N_PASSES].name,
             kernel_pass_name((lm_pass)(term % LM_N_PASSES)));
    return buffer;
}

size_t term_parse(const char *name)
{
    const char *dot = strrchr(name, '.');
    lm_pass     pass;

    if (!dot || kernel_pass_parse(dot + 1, &pass, NULL))
        return N_TERMS;
    for (size_t s = 0; s < N_TERM_SLOTS; s++)
        if (!strncmp(slots[s].name, name, (size_t)(dot - name)) && !slots[s].name[dot - name])
            return s * LM_N_PASSES + (size_t)pass;
    return N_TERMS;
}

const char *term_unit(size_t term)
{
    return slots[term / LM_N_PASSES].unit;
}

lm_pass term_pass(size_t term)
{
    return (lm_pass)(term % LM_N_PASSES);
}

size_t term_slot(size_t term)
{
    return term / LM_N_PASSES;
}

bool term_of_update(size_t term)
{
    const size_t slot = term_slot(term);

    return slot == SLOT_UPDATE_BYTES || slot == SLOT_UPDATE_HELD_BYTES ||
           slot == SLOT_UPDATE_LARGE_BYTES || slot == SLOT_UPDATE_LAUNCHES;
}

bool term_of_weights(size_t term)
{
    const term_family f = term_family_of(term);

    return f == FAMILY_REORDERED || f == FAMILY_WEIGHTS;
}

term_family term_family_of(size_t term)
{
    return slots[term / LM_N_PASSES].family;
}

term_bound term_family_bound(term_family f)
{
    return families[f];
}

const char *term_bound_name(term_bound b)
{
    static const char *const bounds[N_TERM_BOUNDS] = {
        [BOUND_ARITHMETIC] = "arithmetic",
        [BOUND_TRAFFIC]    = "traffic",
        [BOUND_LAUNCH]     = "launch",
    };

    return bounds[b];
}

const char *term_slot_name(size_t slot)
{
    return slots[slot].name;
}

const char *term_slot_class(size_t slot, char *buffer, size_t size)
{
    snprintf(buffer, size, "%.*s", (int)strcspn(slots[slot].name, "."), slots[slot].name);
    return buffer;
}

bool term_counted(size_t term)
{
    return slots[term / LM_N_PASSES].family >= FAMILY_COUNTED_FLOPS;
}

/* The sum for a kernel without its predecessor. */
static term_sum sum_of(const lm_kernel *k, double *sum)
{
    const lm_work work = lm_kernel_work(k);

    return (term_sum){ .k       = k,
                       .samples = 1,
                       .flops   = (double)work.flops,
                       .bytes   = (double)work.read_bytes + (double)work.written_bytes,
                       .sum     = sum };
}

size_t terms_add(const lm_kernel *k, const term_settings *s, term_chain *chain, double *sum)
{
    const kernel_class *class = kernel_class_of(k->op);
    const double elements     = class->elements ? class->elements(k) : 0;
    const bool   same         = elements > 0 && elements == chain->elements;
    term_sum     t            = sum_of(k, sum);

    t.settings = s;
    t.samples  = chain->samples > 0 ? chain->samples : 1;
    t.cpu      = chain->cpu;
    t.resident = chain->resident;
    t.after    = class->follows && same && (chain->product || chain->follows);
    t.cached   = t.after || (chain->backward && class->elementwise && chain->elementwise && same);
    chain->product     = class->product;
    chain->follows     = t.after;
    chain->elementwise = class->elementwise;
    chain->elements    = elements;
    return class->terms(&t);
}

size_t terms_add_update(const lm_kernel *k, double *sum)
{
    const term_sum t      = sum_of(k, sum);
    const double   tensor = (double)k->u.map.elements * (double)lm_dtype_bytes(k->dtype);

    term_put(&t, tensor > LARGE_BYTES ? SLOT_UPDATE_LARGE_BYTES : SLOT_UPDATE_BYTES, t.bytes);
    term_put(&t, SLOT_UPDATE_LAUNCHES, 1);
    return SLOT_UPDATE_BYTES;
}

static size_t in_slot(size_t term, size_t from, size_t to)
{
    return term_slot(term) == from ? to * LM_N_PASSES + term % LM_N_PASSES : term;
}

size_t term_update_held(size_t term)
{
    return in_slot(term, SLOT_UPDATE_BYTES, SLOT_UPDATE_HELD_BYTES);
}

size_t term_update_not_held(size_t term)
{
    return in_slot(term, SLOT_UPDATE_HELD_BYTES, SLOT_UPDATE_BYTES);
}

bool terms_hold(const net_metrics *m, optimizer o)
{
    const lm_tensor weights = { .dtype = LM_F32,
                                .rank  = 1,
                                .dim   = { (int64_t)(m->param_bytes / lm_dtype_bytes(LM_F32)) } };

    return 2.0 * (double)m->param_bytes + (double)optimizer_state_bytes(o, &weights) +
               (double)m->activation_bytes <=
           LARGE_BYTES;
}

void terms_add_counts(const term_counts *c, double *sum)
{
    for (size_t i = 0; i < TERM_KNOTS; i++) {
        sum[(SLOT_SIZE_FLOPS + i) * LM_N_PASSES + LM_FORWARD] += c->flops * c->size[i];
        sum[(SLOT_SIZE_OUTPUTS + i) * LM_N_PASSES + LM_FORWARD] += c->outputs * c->size[i];
        sum[(SLOT_REUSE_FLOPS + i) * LM_N_PASSES + LM_FORWARD] += c->flops * c->reuse[i];
        sum[(SLOT_REUSE_OUTPUTS + i) * LM_N_PASSES + LM_FORWARD] += c->outputs * c->reuse[i];
    }
    sum[SLOT_COUNTED_WEIGHTS * LM_N_PASSES + LM_FORWARD] += c->weights;
    sum[SLOT_COUNTED_STEPS * LM_N_PASSES + LM_FORWARD] += c->steps;
}

/* Visitor of kernels, with its context. */
typedef struct audience {
    terms_visitor *visit;
    void          *context;
} audience;

static void visit_pass(const audience *a, const bound_network *net, size_t layer, lm_pass pass,
                       term_chain *chain)
{
    const bound_layer *l     = &net->layer[layer];
    const term_phase   phase = pass == LM_FORWARD ? TERMS_FORWARD : TERMS_BACKWARD;

    for (size_t i = 0; i < l->n_kernels[pass]; i++)
        a->visit(a->context, layer, phase, &l->kernels[pass][i], chain);
}

static lm_status visit_update(const audience *a, const bound_network *net, size_t layer,
                              optimizer o, lm_error *err)
{
    const bound_layer *l = &net->layer[layer];

    for (size_t i = 0; i < l->n_weights; i++) {
        lm_kernel k;
        lm_status status;

        if (l->weights[i].flags & LM_FROZEN)
            continue;
        if ((status = optimizer_update(optimizer_of_layer(o, l), &l->weights[i].tensor, &k, err)))
            return status;
        a->visit(a->context, layer, TERMS_UPDATE, &k, NULL);
    }
    return LM_OK;
}

/* Passes over a few weights find them in the cache of the core: a block of a network that runs by
 * itself again and again. A cycle that is longer than its cache finds nothing there (Smith and
 * Goodman 1983, "A study of instruction cache organizations and replacement policies"). */
static bool is_resident(const bound_network *net)
{
    double bytes = 0;

    for (size_t i = 0; i < net->n_layers; i++)
        for (size_t k = 0; k < net->layer[i].n_weights; k++) {
            const lm_tensor *w = &net->layer[i].weights[k].tensor;

            bytes += (double)lm_elements(w) * (double)lm_dtype_bytes(w->dtype);
        }
    return bytes <= RESIDENT_BYTES;
}

lm_status terms_visit(const bound_network *net, optimizer o, terms_visitor *visit, void *context,
                      lm_error *err)
{
    const audience a        = { visit, context };
    const bool     resident = is_resident(net);
    const bool     cpu      = net->options.on == AUTOCAST_CPU;
    term_chain     forward  = { .samples = net->options.batch, .cpu = cpu, .resident = resident };
    term_chain     backward = {
            .backward = true, .samples = net->options.batch, .cpu = cpu, .resident = resident
    };
    lm_status status = LM_OK;

    for (size_t i = 0; i < net->n_layers && !status; i++) {
        visit_pass(&a, net, i, LM_FORWARD, &forward);
        if (!net->options.evaluation)
            status = visit_update(&a, net, i, o, err);
    }
    for (size_t i = net->n_layers; i-- > 0;) {
        visit_pass(&a, net, i, LM_GRAD_INPUT, &backward);
        visit_pass(&a, net, i, LM_GRAD_WEIGHT, &backward);
    }
    return status;
}

/* Sums of terms_of_network(). */
typedef struct total {
    const term_settings *settings;
    double              *sum[N_TERM_PHASES];
} total;

static void add_to_total(void *context, size_t layer, term_phase phase, const lm_kernel *k,
                         term_chain *chain)
{
    const total *t = context;

    (void)layer;
    if (chain)
        terms_add(k, t->settings, chain, t->sum[phase]);
    else
        terms_add_update(k, t->sum[phase]);
}

lm_status terms_of_network(const bound_network *net, const term_settings *s, optimizer o,
                           pass_terms *out, lm_error *err)
{
    total t = { s, { out->forward, out->backward, out->update } };

    memset(out, 0, sizeof *out);
    return terms_visit(net, o, add_to_total, &t, err);
}

term_vector terms_pack(const double *sum, term_item *room)
{
    term_vector v = { room, 0 };

    for (size_t t = 0; t < N_TERMS; t++)
        if (sum[t] != 0)
            room[v.n++] = (term_item){ (uint32_t)t, sum[t] };
    return v;
}
