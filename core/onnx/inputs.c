/* Inputs of the graph: samples, weights and constants. */
#include <stdio.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "onnx/import.h"

/* ---- weights among the inputs ---------------------------------------------------------------- */

/* In a file without weights all weights are inputs. The use of an input shows whether it is a
 * weight; torch lists the samples first. */

enum {
    AS_WEIGHT = 1,
    AS_SAMPLE = 2,
    AS_NUMBER = 4,  /* an option of the operator, such as a bound or a factor: never trained */
    AS_TEST   = 8,  /* compared or used to choose elements: has no gradient */
    AS_BIAS   = 16, /* added to a product of matrices: a bias, if the file has it as a tensor */
    AS_OTHER  = 32,
    AS_TABLE  = 64 /* computed by code, such as a mask: the exporter says that it is no parameter */
};

/* Inputs that are always weights of the operator, as a bit set. The first input is never a weight. */
static const struct {
    const char *type;
    unsigned    weights;
} takers[] = {
    { "BatchNormalization", 0x1E },
    { "Conv", 0x6 },
    { "ConvTranspose", 0x6 },
    { "GRU", 0xE },
    { "GroupNormalization", 0x6 },
    { "InstanceNormalization", 0x6 },
    { "LayerNormalization", 0x6 },
    { "LSTM", 0x8E },
    { "PRelu", 0x2 },
    { "RNN", 0xE },
    { "Gemm", 0x6 },
};

/* Inputs that are always options of the operator. In opset 10 the second input of Resize held the
 * factors; later it is the region. */
static const struct {
    const char *type;
    unsigned    options;
} choosers[] = {
    { "Clip", 0x6 }, { "Dropout", 0x2 }, { "Pad", 0x4 }, { "Resize", 0x6 }, { "Upsample", 0x2 },
};

static const char *const tests[] = { "And",  "Equal",       "Greater", "GreaterOrEqual",
                                     "Less", "LessOrEqual", "Or",      "Xor" };

/* Operators that pass a tensor on unchanged. */
static bool passes_on(const onnx_node *node)
{
    const operation *op = operation_find(node);

    return op && ((op->flags & OP_TURNS) || !strcmp(node->type, "Expand") ||
                  !strcmp(node->type, "Dropout"));
}

static bool adds_to_product(const importer *im, const onnx_node *node, size_t at)
{
    const size_t from = node->n_inputs == 2 && at < 2 && !strcmp(node->type, "Add")
                            ? names_find(&im->producer, node->input[1 - at])
                            : NAMES_NONE;

    return from != NAMES_NONE && !strcmp(im->model->node[from].type, "MatMul");
}

/* Operators whose inputs exporters may have computed from code. Elsewhere such a tensor may be a
 * transposed weight. */
static const char *const elementwise[] = {
    "Add", "Div", "Max", "Min", "Mul", "Pow", "Sub", "Where"
};

static bool is_elementwise(const onnx_node *node)
{
    return text_place(node->type, elementwise, sizeof elementwise / sizeof *elementwise) <
           sizeof elementwise / sizeof *elementwise;
}

/* Purpose of input `at` of the node. */
static unsigned use_of(const importer *im, const onnx_node *node, size_t at)
{
    for (size_t i = 0; i < sizeof choosers / sizeof choosers[0]; i++)
        if (!strcmp(node->type, choosers[i].type) && at < 32 && (choosers[i].options >> at & 1))
            return AS_NUMBER;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        if (!strcmp(node->type, tests[i]))
            return AS_TEST;
    if (!strcmp(node->type, "Where") && at == 0)
        return AS_TEST;
    if (node->of_code && is_elementwise(node))
        return AS_TABLE | (adds_to_product(im, node, at) ? AS_BIAS : 0);
    if (adds_to_product(im, node, at))
        return AS_BIAS;
    for (size_t i = 0; i < sizeof takers / sizeof takers[0]; i++)
        if (!strcmp(node->type, takers[i].type))
            return at == 0                                    ? AS_SAMPLE
                   : at < 32 && (takers[i].weights >> at & 1) ? AS_WEIGHT
                                                              : AS_OTHER;
    if (!strcmp(node->type, "Gather"))
        return at == 1 ? AS_SAMPLE : AS_OTHER;
    if (!strcmp(node->type, "MatMul") || !strcmp(node->type, "Softmax") ||
        !strcmp(node->type, "ReduceMean") || !strcmp(node->type, "Sqrt"))
        return at == 0 ? AS_SAMPLE : AS_OTHER;
    return node->n_inputs == 1 && strcmp(node->type, "Shape") != 0 ? AS_SAMPLE : AS_OTHER;
}

/* Purpose of each tensor, by number; operators that pass a tensor on do not count. */
static unsigned char *find_uses(importer *im)
{
    const onnx_model *m   = im->model;
    unsigned char    *use = arena_alloc(im->arena, im->n_tensors + 1);

    for (size_t i = 0; use && i < m->n_outputs; i++) {
        const size_t at = names_find(&im->tensors, m->output[i].name);

        if (at != NAMES_NONE)
            use[at] = AS_OTHER;
    }
    for (size_t i = m->n_nodes; use && i-- > 0;) {
        const onnx_node *node   = &m->node[i];
        unsigned         behind = 0;

        if (!im->plan[i].reachable)
            continue;
        if (passes_on(node) && node->n_outputs && *node->output[0]) {
            const size_t at = names_find(&im->tensors, node->output[0]);

            behind = at == NAMES_NONE ? 0 : use[at];
        }
        for (size_t k = 0; k < node->n_inputs; k++) {
            const size_t at = names_find(&im->tensors, node->input[k]);

            if (at != NAMES_NONE)
                use[at] |= (unsigned char)(passes_on(node) ? behind : use_of(im, node, k));
        }
    }
    return use;
}

static bool has_symbol(const onnx_shape *s)
{
    for (uint32_t d = 0; d < s->rank && d < LM_MAX_RANK; d++)
        if (!s->dim[d])
            return true;
    return false;
}

/* Does the name belong to a module, as "stem.conv.weight"? Torch names samples "input.1". */
static bool belongs_to_module(const char *name)
{
    const char *dot = strrchr(name, '.');

    return names_a_module(name) && dot[1] && strspn(dot + 1, "0123456789") != strlen(dot + 1);
}

static role classify(const onnx_value_info *v, unsigned use, bool first, bool weights_began)
{
    const bool real = value_dtype(v->shape.type) == LM_F32;

    if (!first && real && !has_symbol(&v->shape) && belongs_to_module(v->name))
        return ROLE_PARAMETER;
    if (has_symbol(&v->shape) || (use & AS_SAMPLE))
        return ROLE_DATA;
    if (use & AS_WEIGHT)
        return ROLE_PARAMETER;
    if (first)
        return ROLE_DATA;
    if (use == AS_TEST || use == AS_NUMBER)
        return ROLE_CONSTANT;
    return real ? ROLE_PARAMETER : weights_began ? ROLE_CONSTANT : ROLE_DATA;
}

/* ---- sizes ---- */

static const char *const batch_names[] = { "batch", "batch_size", "batchsize", "n", "b", "bs" };

static bool same_word(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if ((*a | 32) != (*b | 32))
            return false;
    return *a == *b;
}

/* The batch dimension of a sample: by its name, else the first. */
static uint32_t batch_axis(const onnx_shape *s)
{
    for (uint32_t d = 0; d < s->rank; d++)
        for (size_t i = 0; i < sizeof batch_names / sizeof batch_names[0]; i++)
            if (s->symbol[d] && same_word(s->symbol[d], batch_names[i]))
                return d;
    return 0;
}

/* Recurrent layers of ONNX take L,N,E: the batch is the second dimension of a sample that reaches
 * one unchanged. */
static bool feeds_recurrence(const importer *im, const char *name)
{
    for (int depth = 0; depth < 8; depth++) {
        const onnx_model *m     = im->model;
        const onnx_node  *taker = NULL;

        for (size_t i = 0; i < m->n_nodes && !taker; i++)
            for (size_t k = 0; k < m->node[i].n_inputs && im->plan[i].reachable; k++)
                if (!strcmp(m->node[i].input[k], name) && strcmp(m->node[i].type, "Shape"))
                    taker = &m->node[i];
        if (!taker || !taker->n_outputs)
            return false;
        if (!strcmp(taker->type, "LSTM") || !strcmp(taker->type, "GRU") ||
            !strcmp(taker->type, "RNN")) {
            const onnx_attribute *layout = onnx_attribute_of(taker, "layout");

            return !layout || !layout->i; /* else N,L,E */
        }
        if (strcmp(taker->type, "Gather") && strcmp(taker->type, "Dropout") &&
            strcmp(taker->type, "Identity") && strcmp(taker->type, "Cast"))
            return false;
        name = taker->output[0];
    }
    return false;
}

static bool has_conv_of_rank(const importer *im, uint32_t rank)
{
    const onnx_model *m = im->model;

    for (size_t i = 0; i < m->n_nodes; i++) {
        const value *w = m->node[i].n_inputs > 1 && !strcmp(m->node[i].type, "Conv")
                             ? value_find(im, m->node[i].input[1])
                             : NULL;

        if (w && w->shape[LANE_FILE].rank == rank)
            return true;
    }
    return false;
}

/* Dimensions that hold the size of a sample: height and width, or the length of a sequence. */
static bool is_size(const importer *im, const onnx_shape *s, uint32_t d)
{
    const bool ints = value_dtype(s->type) != LM_F32;

    if (!s->dim[d])
        return true;
    if (s->rank >= 4)
        return d >= s->rank - 2;
    if (s->rank == 3)
        return d == (has_conv_of_rank(im, 3) ? 2 : 1);
    return s->rank == 2 && ints && d == 1;
}

static int64_t assumed_size(const onnx_shape *s)
{
    return s->rank == 4 ? 224 : s->rank == 5 ? 64 : 128;
}

static void size_lanes(importer *im, const onnx_value_info *info, uint32_t batch, value *v)
{
    const onnx_shape *s      = &info->shape;
    bool              widens = false;

    for (uint32_t d = 0; d < s->rank; d++) {
        const int64_t file  = s->dim[d] ? s->dim[d] : d == batch ? 2 : assumed_size(s);
        const bool    grows = d != batch && is_size(im, s, d);

        v->shape[LANE_FILE].dim[d]  = file;
        v->shape[LANE_BATCH].dim[d] = d == batch ? 3 * file : file;
        v->shape[LANE_IMAGE].dim[d] = grows ? file + (d == s->rank - 1 ? 64 : 32) : file;
        widens |= grows;
        if (!s->dim[d] && d != batch)
            build_note(im->build, "dimension %u of '%.60s' is %s: %lld assumed", d, info->name,
                       s->symbol[d] && *s->symbol[d] ? s->symbol[d] : "open", (long long)file);
    }
    if (!widens)
        lane_drop(im, LANE_IMAGE);
}

#define SAMPLES_MAX 64 /* limit of inputs */

/* ---- definitions ---- */

static lm_status refuse_input(importer *im, const char *name, const char *why)
{
    return lm_error_set(im->err, LM_E_UNSUPPORTED, "%s: '%.80s' %s", im->model->path, name, why);
}

static lm_status check_shape(importer *im, const char *name, const onnx_shape *s)
{
    lm_tensor t = { .dtype = value_dtype(s->type), .rank = s->rank };

    if (!t.dtype)
        return lm_error_set(im->err, LM_E_UNSUPPORTED,
                            "%s: '%.80s' has elements of type %s, which is not supported",
                            im->model->path, name, onnx_type_name(s->type));
    if (!s->known)
        return refuse_input(im, name, "has no shape: export it with one");
    if (s->rank > LM_MAX_RANK)
        return refuse_input(im, name, "has more dimensions than are supported");
    for (uint32_t d = 0; d < s->rank; d++)
        t.dim[d] = s->dim[d] ? s->dim[d] : 1;
    if (lm_bytes(&t) > INT64_MAX / 1000) /* room for the other lanes */
        return lm_error_set(im->err, LM_E_OVERFLOW, "%s: '%.80s' has more than 2^53 bytes",
                            im->model->path, name);
    return LM_OK;
}

static lm_status define_weight(importer *im, const char *name, const onnx_shape *s)
{
    value    *v      = value_parameter(im);
    lm_status status = check_shape(im, name, s);

    if (!v || status)
        return v ? status : im->status;
    value_shape(v, value_dtype(s->type), s->dim, s->rank);
    value_define(im, name, v);
    return im->status;
}

lm_status constant_define(importer *im, const char *name, const onnx_tensor *t)
{
    value    *v       = value_new(im, ROLE_CONSTANT);
    lm_status status  = check_shape(im, name, &t->shape);
    double   *content = v && t->n ? arena_array(im->arena, t->n, sizeof *content) : NULL;

    if (!v || status)
        return v ? status : im->status;
    value_shape(v, value_dtype(t->shape.type), t->shape.dim, t->shape.rank);
    for (size_t i = 0; content && i < t->n; i++)
        content[i] = t->ints ? (double)t->ints[i] : (double)t->floats[i];
    for (int lane = 0; lane < N_LANES; lane++)
        v->content[lane] = content;
    value_define(im, name, v);
    return im->status;
}

/* A constant that comes from outside the graph, such as a mask: its contents are unknown. */
static lm_status define_constant_input(importer *im, const onnx_value_info *info)
{
    onnx_tensor t = { .name = info->name, .shape = info->shape };

    for (uint32_t d = 0; d < t.shape.rank && d < LM_MAX_RANK; d++)
        if (!t.shape.dim[d])
            t.shape.dim[d] = assumed_size(&t.shape);
    return constant_define(im, info->name, &t);
}

/* The layer that yields a sample, with the batch first and at least one dimension after it. */
static lm_status place_sample(importer *im, const onnx_value_info *info, uint32_t batch,
                              const value *v, value *base)
{
    const uint32_t rank      = info->shape.rank;
    const size_t   layer     = build_layer(im->build, info->name, "input");
    char           text[160] = "1";
    size_t         used      = 0;

    memcpy(base->shape, v->shape, sizeof base->shape);
    base->batch_axis  = 0;
    base->batch_outer = 1;
    base->placed      = true;
    base->edge        = (net_edge){ layer, 0 };
    for (int lane = 0; lane < N_LANES; lane++) {
        lm_tensor *t = &base->shape[lane];

        t->rank   = 1;
        t->dim[0] = v->shape[lane].dim[batch];
        for (uint32_t d = 0; d < rank; d++)
            if (d != batch)
                t->dim[t->rank++] = v->shape[lane].dim[d];
        if (rank == 1)
            t->dim[t->rank++] = 1;
    }
    for (uint32_t d = 1; d < rank; d++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", used ? "x" : "",
                                 (long long)base->shape[LANE_FILE].dim[d]);
    build_key(im->build, layer, "shape", "%s", text);
    if (base->shape[LANE_FILE].dtype != LM_F32)
        build_key(im->build, layer, "dtype", "%s", text_dtype_name(base->shape[LANE_FILE].dtype));
    return im->status;
}

/* The sample as the graph expects it: the batch may be elsewhere, or the only dimension. */
static lm_status arrange_sample(importer *im, uint32_t rank, uint32_t batch, value *base,
                                value **out)
{
    recipe  r = recipe_of(rank == 1 ? "squeeze" : "permute");
    int64_t order[LM_MAX_RANK];

    *out = base;
    if (rank > 1 && !batch)
        return LM_OK;
    for (uint32_t d = 0; d < rank; d++)
        order[d] = d == batch ? 0 : d < batch ? d + 1 : d;
    if (rank == 1)
        recipe_set(&r, "axis", "1");
    else
        recipe_list(&r, "order", order, rank, false);
    return emit_lazy(im, &r, base, out);
}

static lm_status define_sample(importer *im, const onnx_value_info *info, int64_t *samples)
{
    const onnx_shape *s      = &info->shape;
    uint32_t          batch  = batch_axis(s);
    lm_status         status = check_shape(im, info->name, s);
    value             v      = { .role = ROLE_DATA, .name = info->name };
    value            *base   = value_new(im, ROLE_DATA), *arranged;

    if (!base || status)
        return base ? status : im->status;
    if (!s->rank)
        return refuse_input(im, info->name, "is a sample without dimensions");
    if (im->n_samples++ == SAMPLES_MAX)
        return refuse_input(im, info->name, "is one sample too many");
    if (!batch && s->rank > 1 && feeds_recurrence(im, info->name))
        batch = 1;
    if (*samples && s->dim[batch] && s->dim[batch] != *samples) /* the same for all samples */
        return define_constant_input(im, info);
    if (*samples)
        lane_drop(im, LANE_IMAGE);
    value_shape(&v, value_dtype(s->type), s->dim, s->rank);
    size_lanes(im, info, batch, &v);
    *samples = v.shape[LANE_FILE].dim[batch];
    if ((status = place_sample(im, info, batch, &v, base)) ||
        (status = arrange_sample(im, s->rank, batch, base, &arranged)))
        return status;
    value_define(im, info->name, arranged);
    return im->status;
}

/* Has the tensor a name that torch invented for a number in the code? Such numbers are not
 * weights. */
static bool named_as_number(const onnx_tensor *t)
{
    return t->shape.rank == 0 && (strchr(t->name, ':') || strstr(t->name, "onst") ||
                                  (*t->name >= '0' && *t->name <= '9'));
}

/* Frameworks store numbers of a formula as tensors of one element. Such a tensor is a weight if
 * its name is a module's path, or if it is used where a weight is expected. */
static bool is_number(const onnx_tensor *t, unsigned use)
{
    return t->shape.rank <= 1 && (t->shape.rank == 0 || t->shape.dim[0] == 1) &&
           !names_a_module(t->name) && !(use & (AS_WEIGHT | AS_BIAS));
}

/* Is it a table computed by code? A tensor added to a product may also be part of a bias. */
static bool is_table(const onnx_tensor *t, unsigned use)
{
    return use == AS_TABLE || (use == (AS_TABLE | AS_BIAS) && t->shape.rank > 1);
}

static lm_status define_initializers(importer *im, const unsigned char *use, bool *weights)
{
    const onnx_model *m       = im->model;
    lm_status         status  = LM_OK;
    size_t            numbers = 0, tables = 0;

    *weights = false;
    for (size_t i = 0; i < m->n_initializers && !status; i++) {
        const onnx_tensor *t  = &m->initializer[i];
        const size_t       at = names_find(&im->tensors, t->name);

        if (at == NAMES_NONE || !value_dtype(t->shape.type))
            continue; /* unused, or of a type that no operator takes */
        if (value_find(im, t->name))
            return lm_error_set(im->err, LM_E_SYNTAX, "%s: two initializers '%.80s'", m->path,
                                t->name);
        if (value_dtype(t->shape.type) != LM_F32 || named_as_number(t) || use[at] == AS_NUMBER ||
            use[at] == AS_TEST) {
            status = constant_define(im, t->name, t);
        } else if (is_number(t, use[at])) {
            numbers++;
            status = constant_define(im, t->name, t);
        } else if (is_table(t, use[at])) {
            tables++;
            status = constant_define(im, t->name, t);
        } else {
            *weights |= t->shape.rank > 0;
            status = define_weight(im, t->name, &t->shape);
        }
    }
    if (numbers)
        build_note(im->build,
                   "numbers stored as tensors, taken as constants and not as parameters: "
                   "%zu",
                   numbers);
    if (tables)
        build_note(im->build,
                   "tables that the exporter computed of code, such as masks, taken as constants "
                   "and not as parameters: %zu",
                   tables);
    return status;
}

lm_status inputs_define(importer *im)
{
    const onnx_model    *m       = im->model;
    const unsigned char *use     = find_uses(im);
    int64_t              samples = 0;
    bool                 inside, began = false;
    lm_status            status;

    if (!use)
        return no_memory(im->err);
    if ((status = define_initializers(im, use, &inside)))
        return status;
    for (size_t i = 0; i < m->n_inputs && !status; i++) {
        const onnx_value_info *v  = &m->input[i];
        const size_t           at = names_find(&im->tensors, v->name);
        role                   r;

        if (at == NAMES_NONE || value_find(im, v->name))
            continue; /* unused, or an initializer */
        if (names_find(&im->producer, v->name) != NAMES_NONE)
            return lm_error_set(im->err, LM_E_SYNTAX,
                                "%s: '%.80s' is an input, and a node yields it", m->path, v->name);
        r = inside ? ROLE_DATA : classify(v, use[at], !samples, began);
        began |= r == ROLE_PARAMETER && (use[at] & AS_WEIGHT);
        status = r == ROLE_DATA        ? define_sample(im, v, &samples)
                 : r == ROLE_PARAMETER ? define_weight(im, v->name, &v->shape)
                                       : define_constant_input(im, v);
    }
    im->batch = samples;
    if (!status && !samples)
        status =
            lm_error_set(im->err, LM_E_UNSUPPORTED, "%s: no input that samples come by", m->path);
    return status;
}
