/* Tensors of libraries that are not there. */
#include "fake_tensor.h"

#include <string.h>

#include "verify/half.h"

size_t fake_descriptors, fake_plans, fake_choices;

size_t fake_element_bytes(cudnnDataType_t type)
{
    switch (type) {
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16: return 2;
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64: return 8;
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_UINT8: return 1;
    default: return 4;
    }
}

double fake_read(cudnnDataType_t type, const void *at, int64_t place)
{
    const char *p = (const char *)at + place * (int64_t)fake_element_bytes(type);
    float       f;
    double      d;
    uint16_t    b;
    int32_t     i;
    int64_t     l;

    switch (type) {
    case CUDNN_DATA_FLOAT: memcpy(&f, p, sizeof f); return (double)f;
    case CUDNN_DATA_DOUBLE: memcpy(&d, p, sizeof d); return d;
    case CUDNN_DATA_HALF: memcpy(&b, p, sizeof b); return half_value(b);
    case CUDNN_DATA_BFLOAT16: memcpy(&b, p, sizeof b); return bf16_value(b);
    case CUDNN_DATA_INT32: memcpy(&i, p, sizeof i); return i;
    case CUDNN_DATA_INT64: memcpy(&l, p, sizeof l); return (double)l;
    default: return *p;
    }
}

void fake_write(cudnnDataType_t type, void *at, int64_t place, double value)
{
    char       *p = (char *)at + place * (int64_t)fake_element_bytes(type);
    const float f = (float)value;
    uint16_t    h;
    int32_t     i;
    int64_t     l;

    switch (type) {
    case CUDNN_DATA_FLOAT: memcpy(p, &f, sizeof f); break;
    case CUDNN_DATA_DOUBLE: memcpy(p, &value, sizeof value); break;
    case CUDNN_DATA_HALF:
        h = half_bits(value);
        memcpy(p, &h, sizeof h);
        break;
    case CUDNN_DATA_BFLOAT16:
        h = bf16_bits(value);
        memcpy(p, &h, sizeof h);
        break;
    case CUDNN_DATA_INT32:
        i = (int32_t)value;
        memcpy(p, &i, sizeof i);
        break;
    case CUDNN_DATA_INT64:
        l = (int64_t)value;
        memcpy(p, &l, sizeof l);
        break;
    default: *p = (char)value;
    }
}

size_t fake_tensor_bytes(const fake_tensor *t)
{
    int64_t last = 0;

    for (int i = 0; i < t->rank; i++)
        last += (t->dim[i] - 1) * t->stride[i];
    return (size_t)(last + 1) * fake_element_bytes(t->type);
}

static int64_t place_of(const fake_tensor *t, const int64_t *index)
{
    int64_t place = 0;

    for (int i = 0; i < t->rank; i++)
        place += t->dim[i] == 1 ? 0 : index[i] * t->stride[i];
    return place;
}

double fake_get(const fake_tensor *t, const int64_t *index)
{
    return fake_read(t->type, t->at, place_of(t, index));
}

void fake_set(const fake_tensor *t, const int64_t *index, double value)
{
    fake_write(t->type, t->at, place_of(t, index), value);
}

bool fake_next(int rank, const int64_t *dim, int64_t *index)
{
    for (int i = rank; i-- > 0;) {
        if (++index[i] < dim[i])
            return true;
        index[i] = 0;
    }
    return false;
}

void fake_clear(const fake_tensor *t)
{
    int64_t i[FAKE_RANK] = { 0 };

    do
        fake_set(t, i, 0);
    while (fake_next(t->rank, t->dim, i));
}

bool fake_same_shape(const fake_tensor *a, const fake_tensor *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]);
}

bool fake_stretches(const fake_tensor *a, const fake_tensor *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != 1 && a->dim[i] != b->dim[i])
            return false;
    return true;
}

double fake_factor(const void *factor)
{
    float f;

    memcpy(&f, factor, sizeof f);
    return (double)f;
}
