/* Elements of a type as numbers. */
#include "verify/elements.h"

#include <float.h>
#include <string.h>

#include "verify/half.h"

void element_write(lm_dtype type, void *at, double value)
{
    const float    f = (float)value;
    const uint16_t h = half_bits(value), b = bf16_bits(value);
    const int32_t  i = (int32_t)value;

    if (type == LM_F32)
        memcpy(at, &f, sizeof f);
    else if (type == LM_F16)
        memcpy(at, &h, sizeof h);
    else if (type == LM_BF16)
        memcpy(at, &b, sizeof b);
    else if (type == LM_I32)
        memcpy(at, &i, sizeof i);
    else
        *(char *)at = (char)i;
}

double element_read(lm_dtype type, const void *at)
{
    float    f;
    uint16_t b;
    int32_t  i;

    if (type == LM_F32) {
        memcpy(&f, at, sizeof f);
        return (double)f;
    }
    if (type == LM_F16 || type == LM_BF16) {
        memcpy(&b, at, sizeof b);
        return type == LM_F16 ? half_value(b) : bf16_value(b);
    }
    if (type == LM_I32) {
        memcpy(&i, at, sizeof i);
        return i;
    }
    return type == LM_F8 ? f8_value(*(const uint8_t *)at, 3) : *(const char *)at;
}

double element_epsilon(lm_dtype type)
{
    return type == LM_F32    ? (double)FLT_EPSILON
           : type == LM_F16  ? 0x1p-10
           : type == LM_BF16 ? 0x1p-7
                             : 0;
}
