/* Tensors of the graph: names, shapes in all lanes, contents. */
#include <math.h>
#include <string.h>

#include "base/no_memory.h"
#include "onnx/import.h"

value *value_new(importer *im, role r)
{
    value  *v = arena_alloc(im->arena, sizeof *v);
    value **more =
        arena_grow(im->arena, im->value, im->n_values, &im->value_room, sizeof *im->value);

    if (!v || !more) {
        im->status = no_memory(im->err);
        return NULL;
    }
    v->role                   = r;
    v->name                   = "";
    v->batch_axis             = -1;
    v->batch_outer            = 1;
    v->number                 = im->n_values;
    im->value                 = more;
    im->value[im->n_values++] = v;
    return v;
}

value *value_parameter(importer *im)
{
    value *v = value_new(im, ROLE_PARAMETER);

    if (v && !(v->origin = arena_copy(im->arena, &v, 1, sizeof *v->origin))) {
        im->status = no_memory(im->err);
        return NULL;
    }
    if (v)
        v->n_origins = 1;
    return v;
}

value *value_find(const importer *im, const char *name)
{
    const size_t at = names_find(&im->by_name, name);

    return at == NAMES_NONE ? NULL : im->value[at];
}

void value_define(importer *im, const char *name, value *v)
{
    value *known = value_find(im, name);

    if (known) { /* an earlier parameter of that name: its readers now see the layer */
        const value old = *known;

        *known        = *v;
        known->name   = old.name;
        known->number = old.number;
        return;
    }
    if (!*v->name)
        v->name = name;
    if (!names_add(&im->by_name, name, v->number))
        im->status = no_memory(im->err);
}

value *node_input(const importer *im, size_t i)
{
    return i < im->node->n_inputs && *im->node->input[i] ? value_find(im, im->node->input[i])
                                                         : NULL;
}

bool node_output_used(const importer *im, size_t i)
{
    return i < im->node->n_outputs && *im->node->output[i] &&
           tensor_uses(im, im->node->output[i]) > 0;
}

lm_status define_alias(importer *im, size_t output, value *v)
{
    if (output < im->node->n_outputs && *im->node->output[output])
        value_define(im, im->node->output[output], v);
    return im->status;
}

void value_shape(value *v, lm_dtype dtype, const int64_t *dim, uint32_t rank)
{
    lm_tensor t = { .dtype = dtype, .rank = rank };

    for (uint32_t i = 0; i < rank; i++)
        t.dim[i] = dim[i];
    for (int lane = 0; lane < N_LANES; lane++)
        v->shape[lane] = t;
}

lm_dtype value_dtype(int32_t onnx_type)
{
    switch (onnx_type) {
    case ONNX_FLOAT:
    case ONNX_FLOAT16:
    case ONNX_BFLOAT16:
    case ONNX_DOUBLE: return LM_F32;
    case ONNX_UINT64:
    case ONNX_INT64: return LM_I64;
    case ONNX_UINT32:
    case ONNX_INT32: return LM_I32;
    case ONNX_INT8:
    case ONNX_UINT8:
    case ONNX_BOOL: return LM_U8;
    default: /* open: numbers of a file */ return 0;
    }
}

const char *onnx_type_name(int32_t onnx_type)
{
    /* TensorProto.DataType in its order */
    static const char *const name[] = { "undefined",  "float",   "uint8",  "int8",   "uint16",
                                        "int16",      "int32",   "int64",  "string", "bool",
                                        "float16",    "double",  "uint32", "uint64", "complex64",
                                        "complex128", "bfloat16" };

    return onnx_type >= 0 && (size_t)onnx_type < sizeof name / sizeof name[0] ? name[onnx_type]
                                                                              : "not known here";
}

uint64_t value_elements(const value *v, int lane)
{
    return lm_elements(&v->shape[lane]);
}

bool value_ints_at(const value *v, int lane, int64_t *out, size_t max, size_t *n)
{
    const uint64_t elements = value_elements(v, lane);

    if ((elements && !v->content[lane]) || elements > max)
        return false;
    for (size_t i = 0; i < elements; i++) {
        const double d = v->content[lane][i];

        if (d != floor(d))
            return false;
        /* a slice "to the last element" ends at 2^63 */
        out[i] = d >= 9223372036854775807.0    ? INT64_MAX
                 : d <= -9223372036854775808.0 ? INT64_MIN
                                               : (int64_t)d;
    }
    *n = (size_t)elements;
    return true;
}

bool value_ints(const importer *im, const value *v, int64_t *out, size_t max, size_t *n)
{
    if (!value_ints_at(v, LANE_FILE, out, max, n))
        return false;
    for (int lane = 1; lane < N_LANES; lane++) {
        if (!im->alive[lane] || v->content[lane] == v->content[LANE_FILE])
            continue;
        if (value_elements(v, lane) != *n || !v->content[lane])
            return false;
        for (size_t i = 0; i < *n; i++)
            if (v->content[lane][i] != v->content[LANE_FILE][i])
                return false;
    }
    return true;
}

bool value_is_scalar(const value *v)
{
    return v->role == ROLE_CONSTANT && value_elements(v, LANE_FILE) == 1;
}

bool value_number(const importer *im, const value *v, double *out)
{
    if (!v || value_elements(v, LANE_FILE) != 1 || !v->content[LANE_FILE])
        return false;
    for (int lane = 1; lane < N_LANES; lane++)
        if (im->alive[lane] && (!v->content[lane] || value_elements(v, lane) != 1 ||
                                v->content[lane][0] != v->content[LANE_FILE][0]))
            return false;
    *out = v->content[LANE_FILE][0];
    return true;
}

bool value_choice(importer *im, const value *v, double *out)
{
    const bool image = im->alive[LANE_IMAGE];

    if (value_number(im, v, out))
        return true;
    lane_drop(im, LANE_IMAGE);
    im->loop.sized |= image;
    return value_number(im, v, out);
}

void lane_drop(importer *im, int lane)
{
    im->alive[lane] = false;
}

bool value_same_in_lanes(const importer *im, const value *v, uint32_t axis)
{
    for (int lane = 1; lane < N_LANES; lane++)
        if (im->alive[lane] && v->shape[lane].dim[axis] != v->shape[LANE_FILE].dim[axis])
            return false;
    return true;
}
