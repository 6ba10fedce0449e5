/* Terms: the regressors of single kernels. */
#include "counts/terms.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "layers/kernel_text.h"

/* Slots: what is counted of which class. */
enum {
    CONV1_FLOPS,
    CONV3_FLOPS,
    CONVL_FLOPS,
    STEM_FLOPS,
    GEMM_FLOPS,
    ATTENTION_FLOPS,
    GROUPED_FLOPS,
    DEPTHWISE_FLOPS,
    CONV_WEIGHTS,
    GEMM_WEIGHTS,
    GEMV_WEIGHTS,
    CONV_BYTES,
    GROUPED_BYTES,
    DEPTHWISE_BYTES,
    GEMM_BYTES,
    ATTENTION_BYTES,
    MAX_POOL_BYTES,
    AVG_POOL_BYTES,
    NORM_BYTES,
    NORM_AFTER_BYTES,
    MAP_BYTES,
    MAP_AFTER_BYTES,
    UPDATE_BYTES,
    UPDATE_LARGE_BYTES,
    GROUPED_PLANES,
    DEPTHWISE_PLANES,
    NORM_PLANES,
    POOL_PLANES,
    MAX_POOL_FLOPS,
    AVG_POOL_FLOPS,
    MAP_ELEMENTS,
    CONV_LAUNCHES,
    GEMM_LAUNCHES,
    NORM_LAUNCHES,
    AFTER_LAUNCHES,
    OTHER_LAUNCHES,
    UPDATE_LAUNCHES,
    SIZE_FLOPS, /* and the following three: one for each hat */
    SIZE_OUTPUTS    = SIZE_FLOPS + TERM_KNOTS,
    REUSE_FLOPS     = SIZE_OUTPUTS + TERM_KNOTS,
    REUSE_OUTPUTS   = REUSE_FLOPS + TERM_KNOTS,
    COUNTED_WEIGHTS = REUSE_OUTPUTS + TERM_KNOTS,
    COUNTED_STEPS,
    N_SLOTS
};

static_assert(N_SLOTS == N_TERM_SLOTS, "fit/terms.h counts the slots");

static const struct {
    const char *name, *unit;
    term_family family;
} slots[N_SLOTS] = {
    [CONV1_FLOPS]        = { "conv1x1.flops", "FLOP", FAMILY_DENSE },
    [CONV3_FLOPS]        = { "conv3x3.flops", "FLOP", FAMILY_DENSE },
    [CONVL_FLOPS]        = { "conv_large.flops", "FLOP", FAMILY_DENSE },
    [STEM_FLOPS]         = { "conv_stem.flops", "FLOP", FAMILY_DENSE },
    [GEMM_FLOPS]         = { "gemm.flops", "FLOP", FAMILY_DENSE },
    [ATTENTION_FLOPS]    = { "attention.flops", "FLOP", FAMILY_DENSE },
    [GROUPED_FLOPS]      = { "conv_grouped.flops", "FLOP", FAMILY_GROUPED },
    [DEPTHWISE_FLOPS]    = { "conv_depthwise.flops", "FLOP", FAMILY_DEPTHWISE },
    [CONV_WEIGHTS]       = { "conv.weights", "byte", FAMILY_WEIGHTS },
    [GEMM_WEIGHTS]       = { "gemm.weights", "byte", FAMILY_WEIGHTS },
    [GEMV_WEIGHTS]       = { "gemv.weights", "byte", FAMILY_WEIGHTS },
    [CONV_BYTES]         = { "conv.bytes", "byte", FAMILY_TRAFFIC },
    [GROUPED_BYTES]      = { "conv_grouped.bytes", "byte", FAMILY_TRAFFIC },
    [DEPTHWISE_BYTES]    = { "conv_depthwise.bytes", "byte", FAMILY_TRAFFIC },
    [GEMM_BYTES]         = { "gemm.bytes", "byte", FAMILY_TRAFFIC },
    [ATTENTION_BYTES]    = { "attention.bytes", "byte", FAMILY_TRAFFIC },
    [MAX_POOL_BYTES]     = { "max_pool.bytes", "byte", FAMILY_TRAFFIC },
    [AVG_POOL_BYTES]     = { "avg_pool.bytes", "byte", FAMILY_TRAFFIC },
    [NORM_BYTES]         = { "norm.bytes", "byte", FAMILY_TRAFFIC },
    [NORM_AFTER_BYTES]   = { "norm_after.bytes", "byte", FAMILY_TRAFFIC },
    [MAP_BYTES]          = { "map.bytes", "byte", FAMILY_TRAFFIC },
    [MAP_AFTER_BYTES]    = { "map_after.bytes", "byte", FAMILY_TRAFFIC },
    [UPDATE_BYTES]       = { "update.bytes", "byte", FAMILY_TRAFFIC },
    [UPDATE_LARGE_BYTES] = { "update_large.bytes", "byte", FAMILY_TRAFFIC },
    [GROUPED_PLANES]     = { "conv_grouped.planes", "plane", FAMILY_PLANES },
    [DEPTHWISE_PLANES]   = { "conv_depthwise.planes", "plane", FAMILY_PLANES },
    [NORM_PLANES]        = { "norm.planes", "plane", FAMILY_PLANES },
    [POOL_PLANES]        = { "pool.planes", "plane", FAMILY_PLANES },
    [MAX_POOL_FLOPS]     = { "max_pool.flops", "FLOP", FAMILY_POOL },
    [AVG_POOL_FLOPS]     = { "avg_pool.flops", "FLOP", FAMILY_POOL },
    [MAP_ELEMENTS]       = { "map.elements", "element", FAMILY_ELEMENTS },
    [CONV_LAUNCHES]      = { "conv.launches", "launch", FAMILY_LAUNCHES },
    [GEMM_LAUNCHES]      = { "gemm.launches", "launch", FAMILY_LAUNCHES },
    [NORM_LAUNCHES]      = { "norm.launches", "launch", FAMILY_LAUNCHES },
    [AFTER_LAUNCHES]     = { "after.launches", "launch", FAMILY_LAUNCHES },
    [OTHER_LAUNCHES]     = { "other.launches", "launch", FAMILY_LAUNCHES },
    [UPDATE_LAUNCHES]    = { "update.launches", "launch", FAMILY_LAUNCHES },
    [SIZE_FLOPS]         = { "size1.flops", "FLOP", FAMILY_COUNTED_FLOPS },
    [SIZE_FLOPS + 1]     = { "size2.flops", "FLOP", FAMILY_COUNTED_FLOPS },
    [SIZE_FLOPS + 2]     = { "size3.flops", "FLOP", FAMILY_COUNTED_FLOPS },
    [SIZE_FLOPS + 3]     = { "size4.flops", "FLOP", FAMILY_COUNTED_FLOPS },
    [SIZE_FLOPS + 4]     = { "size5.flops", "FLOP", FAMILY_COUNTED_FLOPS },
    [SIZE_OUTPUTS]       = { "size1.outputs", "element", FAMILY_COUNTED_OUTPUTS },
    [SIZE_OUTPUTS + 1]   = { "size2.outputs", "element", FAMILY_COUNTED_OUTPUTS },
    [SIZE_OUTPUTS + 2]   = { "size3.outputs", "element", FAMILY_COUNTED_OUTPUTS },
    [SIZE_OUTPUTS + 3]   = { "size4.outputs", "element", FAMILY_COUNTED_OUTPUTS },
    [SIZE_OUTPUTS + 4]   = { "size5.outputs", "element", FAMILY_COUNTED_OUTPUTS },
    [REUSE_FLOPS]        = { "reuse1.flops", "FLOP", FAMILY_COUNTED_FLOPS },
    [REUSE_FLOPS + 1]    = { "reuse2.flops", "FLOP", FAMILY_COUNTED_FLOPS },
    [REUSE_FLOPS + 2]    = { "reuse3.flops", "FLOP", FAMILY_COUNTED_FLOPS },
    [REUSE_FLOPS + 3]    = { "reuse4.flops", "FLOP", FAMILY_COUNTED_FLOPS },
    [REUSE_FLOPS + 4]    = { "reuse5.flops", "FLOP", FAMILY_COUNTED_FLOPS },
    [REUSE_OUTPUTS]      = { "reuse1.outputs", "element", FAMILY_COUNTED_OUTPUTS },
    [REUSE_OUTPUTS + 1]  = { "reuse2.outputs", "element", FAMILY_COUNTED_OUTPUTS },
    [REUSE_OUTPUTS + 2]  = { "reuse3.outputs", "element", FAMILY_COUNTED_OUTPUTS },
    [REUSE_OUTPUTS + 3]  = { "reuse4.outputs", "element", FAMILY_COUNTED_OUTPUTS },
    [REUSE_OUTPUTS + 4]  = { "reuse5.outputs", "element", FAMILY_COUNTED_OUTPUTS },
    [COUNTED_WEIGHTS]    = { "counted.weights", "element", FAMILY_COUNTED_WEIGHTS },
    [COUNTED_STEPS]      = { "counted.steps", "step", FAMILY_COUNTED_STEPS },
};

static const struct {
    const char *name;
    term_bound  bound;
} families[N_TERM_FAMILIES] = {
    [FAMILY_DENSE]           = { "arithmetic", BOUND_ARITHMETIC },
    [FAMILY_GROUPED]         = { "grouped arithmetic", BOUND_ARITHMETIC },
    [FAMILY_DEPTHWISE]       = { "depthwise arithmetic", BOUND_ARITHMETIC },
    [FAMILY_WEIGHTS]         = { "weights", BOUND_TRAFFIC },
    [FAMILY_TRAFFIC]         = { "traffic", BOUND_TRAFFIC },
    [FAMILY_LAUNCHES]        = { "launches", BOUND_LAUNCH },
    [FAMILY_PLANES]          = { "planes", BOUND_LAUNCH },
    [FAMILY_POOL]            = { "pooling", BOUND_ARITHMETIC },
    [FAMILY_ELEMENTS]        = { "elementwise functions", BOUND_ARITHMETIC },
    [FAMILY_COUNTED_FLOPS]   = { "counted arithmetic", BOUND_ARITHMETIC },
    [FAMILY_COUNTED_OUTPUTS] = { "counted traffic", BOUND_TRAFFIC },
    [FAMILY_COUNTED_WEIGHTS] = { "counted weights", BOUND_TRAFFIC },
    [FAMILY_COUNTED_STEPS]   = { "counted steps", BOUND_LAUNCH },
};

#define STEM_CHANNELS 4 /* an image's */
#define GEMV_ROWS     8 /* of a sample; so few: a product with a vector, as far as weights matter */
#define LARGE_BYTES   (32.0 * 1024 * 1024) /* of a tensor: more than caches hold */

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
    for (size_t s = 0; s < N_SLOTS; s++)
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

term_family term_family_of(size_t term)
{
    return slots[term / LM_N_PASSES].family;
}

term_bound term_family_bound(term_family f)
{
    return families[f].bound;
}

const char *term_family_name(term_family f)
{
    return families[f].name;
}

const char *term_bound_name(term_bound b)
{
    static const char *const names[N_TERM_BOUNDS] = {
        [BOUND_ARITHMETIC] = "arithmetic",
        [BOUND_TRAFFIC]    = "traffic",
        [BOUND_LAUNCH]     = "launch",
    };

    return names[b];
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

static double round_up(int64_t n, int64_t tile)
{
    return (double)((n + tile - 1) / tile * tile);
}

/* FLOPs with channels rounded up to what a library's inner loop takes at once. Few input channels,
 * as an image's, have loops of their own; depthwise channels are not multiplied at all. */
static double conv_flops(const lm_kernel *k, const term_settings *s)
{
    const int64_t in = k->u.conv.c_in / k->u.conv.groups, out = k->u.conv.c_out / k->u.conv.groups;
    const int64_t tile  = k->u.conv.groups > 1 ? s->group_tile : s->tile;
    double        flops = 2 * (double)lm_kernel_macs(k);

    if (k->u.conv.groups > 1 && in == 1)
        return flops;
    if (k->u.conv.groups > 1 || in > STEM_CHANNELS)
        flops *= round_up(in, tile) / (double)in;
    return flops * round_up(out, tile) / (double)out;
}

typedef struct adding {
    const lm_kernel *k;
    double           repeat, bytes;
    double          *sum;
} adding;

static void add(const adding *a, int slot, double value)
{
    a->sum[(size_t)slot * LM_N_PASSES + (size_t)a->k->pass] += a->repeat * value;
}

static size_t add_conv(const adding *a, const term_settings *s)
{
    const lm_kernel *k       = a->k;
    const bool       grouped = k->u.conv.groups > 1;
    const bool       apart   = grouped && k->u.conv.groups == k->u.conv.c_in;
    const double     planes  = (double)k->u.conv.n * (double)k->u.conv.c_out;
    const double     window  = (double)lm_volume(k->u.conv.window);
    const double     weights = (double)lm_dtype_bytes(k->dtype) * (double)k->u.conv.c_out *
                           (double)(k->u.conv.c_in / k->u.conv.groups) * window;
    const double flops = conv_flops(k, s), bytes = a->bytes - weights;
    const int class = k->u.conv.c_in <= STEM_CHANNELS ? STEM_FLOPS
                      : window <= 1                   ? CONV1_FLOPS
                      : window <= 9                   ? CONV3_FLOPS
                                                      : CONVL_FLOPS;

    add(a, CONV_WEIGHTS, weights);
    add(a, CONV_LAUNCHES, 1);
    if (apart) {
        add(a, DEPTHWISE_FLOPS, flops);
        add(a, DEPTHWISE_BYTES, bytes);
        add(a, DEPTHWISE_PLANES, planes);
        return DEPTHWISE_FLOPS;
    }
    if (grouped) {
        add(a, GROUPED_FLOPS, flops);
        add(a, GROUPED_BYTES, bytes);
        add(a, GROUPED_PLANES, planes);
        return GROUPED_FLOPS;
    }
    add(a, class, flops);
    add(a, CONV_BYTES, bytes);
    return (size_t) class;
}

/* Of the three products of a layer, the one that makes the weights' gradient writes them. */
static double gemm_weights(const lm_kernel *k)
{
    if (k->u.gemm.batch != 1 || k->u.gemm.activations)
        return 0;
    return (double)lm_dtype_bytes(k->dtype) * (double)k->u.gemm.n *
           (double)(k->pass == LM_GRAD_WEIGHT ? k->u.gemm.m : k->u.gemm.k);
}

static size_t add_gemm(const adding *a, int64_t samples)
{
    const double weights = gemm_weights(a->k);

    add(a, GEMM_FLOPS, (double)lm_kernel_work(a->k).flops);
    add(a, a->k->u.gemm.m <= GEMV_ROWS * samples ? GEMV_WEIGHTS : GEMM_WEIGHTS, weights);
    add(a, GEMM_BYTES, a->bytes - weights);
    add(a, GEMM_LAUNCHES, 1);
    return GEMM_FLOPS;
}

static size_t add_pool(const adding *a)
{
    const bool average = a->k->u.pool.mode == LM_POOL_AVG;

    add(a, average ? AVG_POOL_FLOPS : MAX_POOL_FLOPS, (double)lm_kernel_work(a->k).flops);
    add(a, average ? AVG_POOL_BYTES : MAX_POOL_BYTES, a->bytes);
    add(a, POOL_PLANES, (double)a->k->u.pool.n * (double)a->k->u.pool.channels);
    add(a, OTHER_LAUNCHES, 1);
    return average ? AVG_POOL_BYTES : MAX_POOL_BYTES;
}

static size_t add_norm(const adding *a, bool after)
{
    const lm_kernel *k = a->k;

    add(a, after ? NORM_AFTER_BYTES : NORM_BYTES, a->bytes);
    if (k->u.norm.inner > 0 && k->u.norm.inner < k->u.norm.group)
        add(a, NORM_PLANES,
            (double)k->u.norm.rows * (double)k->u.norm.group / (double)k->u.norm.inner);
    add(a, after ? AFTER_LAUNCHES : NORM_LAUNCHES, 1);
    return after ? NORM_AFTER_BYTES : NORM_BYTES;
}

/* Everything else moves data, more or less. */
static size_t add_map(const adding *a, bool after, bool cached)
{
    const lm_kernel *k = a->k;

    add(a, cached ? MAP_AFTER_BYTES : MAP_BYTES, a->bytes);
    if (k->op == LM_OP_MAP && k->u.map.flops_per_element > 2)
        add(a, MAP_ELEMENTS, (double)k->u.map.elements);
    add(a, after ? AFTER_LAUNCHES : OTHER_LAUNCHES, 1);
    return cached ? MAP_AFTER_BYTES : MAP_BYTES;
}

/* Elements that a kernel works through one by one; of products those of the forward output. */
static double elements_of(const lm_kernel *k, double bytes)
{
    switch ((enum lm_ops)k->op) {
    case LM_OP_CONV:
        return (double)k->u.conv.n * (double)k->u.conv.c_out * (double)lm_volume(k->u.conv.out);
    case LM_OP_GEMM: return (double)k->u.gemm.batch * (double)k->u.gemm.m * (double)k->u.gemm.n;
    case LM_OP_MAP: return (double)k->u.map.elements;
    case LM_OP_NORM: return (double)k->u.norm.rows * (double)k->u.norm.group;
    case LM_OP_COPY: return bytes / 2 / (double)lm_dtype_bytes(k->dtype);
    case LM_OP_OPAQUE:
    case LM_OP_POOL:
    case LM_OP_SOFTMAX:
    case LM_OP_GATHER:
    case LM_OP_REDUCE:
    case LM_OP_ATTENTION:
    case LM_OP_ALLREDUCE: break;
    }
    return 0;
}

size_t terms_add(const lm_kernel *k, const term_settings *s, term_chain *chain, double *sum)
{
    const lm_work work = lm_kernel_work(k);
    const adding  a = { k, (double)k->repeat, (double)work.read_bytes + (double)work.written_bytes,
                        sum };
    const double  elements   = elements_of(k, a.bytes);
    const bool    product    = k->op == LM_OP_CONV || k->op == LM_OP_GEMM;
    const bool    one_by_one = k->op == LM_OP_MAP || k->op == LM_OP_NORM || k->op == LM_OP_COPY;
    const bool    same       = elements > 0 && elements == chain->elements;
    const bool    after =
        (k->op == LM_OP_MAP || k->op == LM_OP_NORM) && same && (chain->product || chain->follows);
    const bool cached = after || (chain->backward && one_by_one && chain->elementwise && same);

    *chain = (term_chain){ chain->backward, chain->samples, product, after, one_by_one, elements };
    switch ((enum lm_ops)k->op) {
    case LM_OP_CONV: return add_conv(&a, s);
    case LM_OP_GEMM: return add_gemm(&a, chain->samples > 0 ? chain->samples : 1);
    case LM_OP_POOL: return add_pool(&a);
    case LM_OP_NORM: return add_norm(&a, after);
    case LM_OP_ATTENTION:
        add(&a, ATTENTION_FLOPS, (double)work.flops);
        add(&a, ATTENTION_BYTES, a.bytes);
        add(&a, GEMM_LAUNCHES, 1);
        return ATTENTION_FLOPS;
    case LM_OP_OPAQUE:
    case LM_OP_MAP:
    case LM_OP_SOFTMAX:
    case LM_OP_GATHER:
    case LM_OP_COPY:
    case LM_OP_REDUCE:
    case LM_OP_ALLREDUCE: break;
    }
    return add_map(&a, after, cached);
}

size_t terms_add_update(const lm_kernel *k, double *sum)
{
    const lm_work work = lm_kernel_work(k);
    const adding  a = { k, (double)k->repeat, (double)work.read_bytes + (double)work.written_bytes,
                        sum };

    add(&a,
        (double)k->u.map.elements * (double)lm_dtype_bytes(k->dtype) > LARGE_BYTES
            ? UPDATE_LARGE_BYTES
            : UPDATE_BYTES,
        a.bytes);
    add(&a, UPDATE_LAUNCHES, 1);
    return UPDATE_BYTES;
}

void terms_add_counts(const term_counts *c, double *sum)
{
    for (size_t i = 0; i < TERM_KNOTS; i++) {
        sum[(SIZE_FLOPS + i) * LM_N_PASSES + LM_FORWARD] += c->flops * c->size[i];
        sum[(SIZE_OUTPUTS + i) * LM_N_PASSES + LM_FORWARD] += c->outputs * c->size[i];
        sum[(REUSE_FLOPS + i) * LM_N_PASSES + LM_FORWARD] += c->flops * c->reuse[i];
        sum[(REUSE_OUTPUTS + i) * LM_N_PASSES + LM_FORWARD] += c->outputs * c->reuse[i];
    }
    sum[COUNTED_WEIGHTS * LM_N_PASSES + LM_FORWARD] += c->weights;
    sum[COUNTED_STEPS * LM_N_PASSES + LM_FORWARD] += c->steps;
}

/* Who is told of the kernels. */
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
        if ((status = optimizer_update(o, &l->weights[i].tensor, &k, err)))
            return status;
        a->visit(a->context, layer, TERMS_UPDATE, &k, NULL);
    }
    return LM_OK;
}

lm_status terms_visit(const bound_network *net, optimizer o, terms_visitor *visit, void *context,
                      lm_error *err)
{
    const audience a        = { visit, context };
    term_chain     forward  = { .samples = net->options.batch };
    term_chain     backward = { .backward = true, .samples = net->options.batch };
    lm_status      status   = LM_OK;

    for (size_t i = 0; i < net->n_layers && !status; i++) {
        visit_pass(&a, net, i, LM_FORWARD, &forward);
        status = visit_update(&a, net, i, o, err);
    }
    for (size_t i = net->n_layers; i-- > 0;) {
        visit_pass(&a, net, i, LM_GRAD_INPUT, &backward);
        visit_pass(&a, net, i, LM_GRAD_WEIGHT, &backward);
    }
    return status;
}

/* Where terms_of_network() adds. */
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
