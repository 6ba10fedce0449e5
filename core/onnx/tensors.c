/* Tensors of a file: their shapes, and the elements of small ones. */
#include "onnx/wire.h"

#define INTS_MAX   65536   /* limit for integers: a table of indices */
#define FLOATS_MAX 8       /* limit for reals: a scalar, or factors of a resize */
#define DATA_MAX   1000000 /* limit for all tensors together */

static bool is_integer(int32_t type)
{
    return type == ONNX_INT64 || type == ONNX_INT32 || type == ONNX_BOOL || type == ONNX_UINT8 ||
           type == ONNX_INT8;
}

/* Number of elements, 0 if they are too many to read. Type and shape precede the data. */
static size_t elements_to_read(const tensor_reading *t, int32_t type)
{
    const uint64_t most = is_integer(type) ? INTS_MAX : FLOATS_MAX;
    uint64_t       n    = 1;

    for (size_t i = 0; i < t->dims.n; i++) {
        if (t->dims.item[i] < 0 || (uint64_t)t->dims.item[i] > most)
            return 0;
        n *= (uint64_t)t->dims.item[i];
        if (n > most)
            return 0;
    }
    return (size_t)n;
}

/* One element of raw_data: little-endian bytes. */
static bool raw_element(pb_istream_t *stream, int32_t type, int64_t *i, float *f)
{
    uint8_t byte;
    int32_t word;
    double  real;

    switch (type) {
    case ONNX_BOOL:
    case ONNX_UINT8:
    case ONNX_INT8:
        if (!pb_read(stream, &byte, 1))
            return false;
        *i = type == ONNX_INT8 ? (int8_t)byte : byte;
        return true;
    case ONNX_INT32:
        if (!pb_decode_fixed32(stream, &word))
            return false;
        *i = word;
        return true;
    case ONNX_INT64: return pb_decode_fixed64(stream, i);
    case ONNX_FLOAT: return pb_decode_fixed32(stream, f);
    case ONNX_DOUBLE:
        if (!pb_decode_fixed64(stream, &real))
            return false;
        *f = (float)real;
        return true;
    default: /* open: numbers of a file */ return false;
    }
}

/* Allocates the n elements of the tensor; false: memory ran out. */
static bool make_room(reading *r, tensor_reading *own, bool real, size_t n)
{
    own->to->ints   = real ? NULL : arena_array(r->arena, n, sizeof *own->to->ints);
    own->to->floats = real ? arena_array(r->arena, n, sizeof *own->to->floats) : NULL;
    own->to->n      = 0;
    own->room       = n;
    return own->to->ints || own->to->floats || wire_no_memory(r);
}

/* Place of the next element; a tensor has ints or floats. */
static int64_t *next_int(const tensor_reading *own)
{
    return (int64_t *)(uintptr_t)own->to->ints + own->to->n;
}

static float *next_float(const tensor_reading *own)
{
    return (float *)(uintptr_t)own->to->floats + own->to->n;
}

static bool take_raw(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const wire_target *t    = *arg;
    tensor_reading    *own  = t->to;
    const int32_t      type = own->message->data_type;
    const bool         real = type == ONNX_FLOAT || type == ONNX_DOUBLE;
    const size_t       n    = elements_to_read(own, type);

    (void)field;
    if (!n || (!real && !is_integer(type)) || (t->r->n_data += n) > DATA_MAX)
        return wire_skip(t->r, stream);
    if (!make_room(t->r, own, real, n))
        return false;
    for (; own->to->n < n; own->to->n++)
        if (!raw_element(stream, type, real ? NULL : next_int(own), real ? next_float(own) : NULL))
            return false;
    return wire_skip(t->r, stream);
}

/* Takes some elements from a number field; there may be several parts. */
static bool take_data(pb_istream_t *stream, const wire_target *t, bool real, bool fits)
{
    tensor_reading *own = t->to;
    const size_t    n   = elements_to_read(own, own->message->data_type);
    uint64_t        value;

    if (!fits || !n)
        return wire_skip(t->r, stream);
    if (real ? !own->to->floats : !own->to->ints) {
        if ((t->r->n_data += n) > DATA_MAX)
            return wire_skip(t->r, stream);
        if (!make_room(t->r, own, real, n))
            return false;
    }
    for (; stream->bytes_left; own->to->n++) {
        if (own->to->n == own->room ||
            !(real ? pb_decode_fixed32(stream, next_float(own)) : pb_decode_varint(stream, &value)))
            return false;
        if (!real)
            *next_int(own) = (int64_t)value;
    }
    return true;
}

/* int64_data and int32_data. */
static bool take_varints(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const wire_target    *t   = *arg;
    const tensor_reading *own = t->to;

    (void)field;
    return take_data(stream, t, false, is_integer(own->message->data_type));
}

static bool take_float_data(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const wire_target    *t   = *arg;
    const tensor_reading *own = t->to;

    (void)field;
    return take_data(stream, t, true, own->message->data_type == ONNX_FLOAT);
}

static bool copy_dims(const int_list *dims, onnx_shape *shape)
{
    shape->known = true;
    shape->rank  = dims->n > UINT32_MAX ? UINT32_MAX : (uint32_t)dims->n;
    for (size_t i = 0; i < dims->n; i++) {
        if (dims->item[i] < 0)
            return false;
        if (i < LM_MAX_RANK)
            shape->dim[i] = dims->item[i];
    }
    return true;
}

void tensor_prepare(reading *r, tensor_reading *own, onnx_TensorProto *message, onnx_tensor *to)
{
    *to  = (onnx_tensor){ .name = "" };
    *own = (tensor_reading){ .message = message, .to = to };

    own->name_target = (wire_target){ r, &to->name };
    own->dims_target = (wire_target){ r, &own->dims };
    own->data_target = (wire_target){ r, own };

    message->name       = wire_into(wire_text, &own->name_target);
    message->dims       = wire_into(wire_ints, &own->dims_target);
    message->raw_data   = wire_into(take_raw, &own->data_target);
    message->int64_data = wire_into(take_varints, &own->data_target);
    message->int32_data = wire_into(take_varints, &own->data_target);
    message->float_data = wire_into(take_float_data, &own->data_target);
}

bool tensor_finish(tensor_reading *own)
{
    onnx_tensor *t = own->to;

    t->shape.type = own->message->data_type;
    if (!copy_dims(&own->dims, &t->shape))
        return false;
    if (t->n != elements_to_read(own, t->shape.type) || t->shape.rank > LM_MAX_RANK) {
        t->ints   = NULL;
        t->floats = NULL;
        t->n      = 0;
    }
    return true;
}
