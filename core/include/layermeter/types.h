/** Atoms shared by the host and every plugin: status codes, element types, tensors, work. */
#ifndef LAYERMETER_TYPES_H
#define LAYERMETER_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Units everywhere: seconds, bytes, FLOP. One multiply-add is 2 FLOP. 1 GB = 1e9 B, in reports
 * only.
 *
 * Atoms (lm_tensor, lm_work, lm_value) are frozen for a major version of the ABI, so they may be
 * embedded and put in arrays. Records begin with `size` and grow only at the end. Neither has
 * padding: old binaries would seem to have a field that was appended in tail padding.
 */

/* LM_API marks a function of liblayermeter; the library exports nothing else. */
#if defined(__GNUC__)
#define LM_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#define LM_API                 __attribute__((__visibility__("default")))
#else
#define LM_PRINTF(text, first)
#define LM_API
#endif

/** Result of a function: LM_OK or one of the negative codes. */
typedef int32_t lm_status;
enum {
    LM_OK            = 0,
    LM_E_ARG         = -1, /**< a value outside its documented range */
    LM_E_SHAPE       = -2, /**< tensors that do not fit each other or the layer */
    LM_E_UNSUPPORTED = -3, /**< understood, but not available in this build or on this device */
    LM_E_OVERFLOW    = -4, /**< a count beyond 64 bits */
    LM_E_NOMEM       = -5,
    LM_E_IO          = -6,
    LM_E_SYNTAX      = -7, /**< a file with wrong syntax */
    LM_E_ABI         = -8, /**< a plugin that this host cannot use */
    LM_E_NOTFOUND    = -9  /**< an unknown name */
};

/** Element type. Part of the ABI; append only. */
typedef int32_t lm_dtype;
enum lm_dtypes {
    LM_F32  = 1,
    LM_F16  = 2,
    LM_BF16 = 3,
    LM_F64  = 4,
    LM_I32  = 5,
    LM_I8   = 6,
    LM_F8   = 7,
    LM_I64  = 8, /**< since 1.1: token and class numbers */
    LM_U8   = 9  /**< since 1.1: bytes and masks */
};

#define LM_MAX_RANK 8

/**
 * Shape and element type. Atom. Outermost dimension first; dim[0] is the per-device batch wherever
 * a batch exists; images are N,C,[D,]H,W.
 */
typedef struct lm_tensor {
    lm_dtype dtype;
    uint32_t rank;             /**< 0 (scalar) .. LM_MAX_RANK */
    int64_t  dim[LM_MAX_RANK]; /**< each >= 1; unused entries 0 */
    int64_t  reserved;         /**< 0 */
} lm_tensor;

/**
 * Work of one pass. Atom. Bytes are compulsory traffic: each operand moves once. Models account for
 * savings by caches and fusion.
 */
typedef struct lm_work {
    uint64_t flops, read_bytes, written_bytes;
} lm_work;

/** a * b, or UINT64_MAX if it does not fit. The host turns a saturated count into LM_E_OVERFLOW. */
static inline uint64_t lm_mul(uint64_t a, uint64_t b)
{
    return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

/** a + b, or UINT64_MAX if it does not fit. */
static inline uint64_t lm_add(uint64_t a, uint64_t b)
{
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

/** Bytes of one element; 0 for an unknown type. */
static inline uint64_t lm_dtype_bytes(lm_dtype dtype)
{
    switch ((enum lm_dtypes)dtype) {
    case LM_F64:
    case LM_I64: return 8;
    case LM_F32:
    case LM_I32: return 4;
    case LM_F16:
    case LM_BF16: return 2;
    case LM_I8:
    case LM_F8:
    case LM_U8: return 1;
    }
    return 0;
}

/** Does a tensor of this type carry a gradient? Integers do not. */
static inline int lm_dtype_is_real(lm_dtype dtype)
{
    switch ((enum lm_dtypes)dtype) {
    case LM_F64:
    case LM_F32:
    case LM_F16:
    case LM_BF16:
    case LM_F8: return 1;
    case LM_I8:
    case LM_I32:
    case LM_I64:
    case LM_U8: break;
    }
    return 0;
}

/** Number of elements; 1 for a scalar. Saturates. */
static inline uint64_t lm_elements(const lm_tensor *tensor)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i < tensor->rank; i++)
        n = lm_mul(n, (uint64_t)tensor->dim[i]);
    return n;
}

/** Size in bytes. Saturates. */
static inline uint64_t lm_bytes(const lm_tensor *tensor)
{
    return lm_mul(lm_elements(tensor), lm_dtype_bytes(tensor->dtype));
}

#ifdef __cplusplus
}
#endif
#endif
