/**
 * An interface to oneDNN for 2.x and 3.x. Only onednn_api.c knows the version.
 *
 * Functions that return dnnl_status_t pass on the library's code; nothing is printed.
 */
#ifndef CALIBRATE_BACKENDS_ONEDNN_API_H
#define CALIBRATE_BACKENDS_ONEDNN_API_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/kernel.h>
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>

/** Engine, stream and attributes (scratchpads are the caller's). Zeroed: nothing is open. */
typedef struct api_device {
    dnnl_engine_t         engine;
    dnnl_stream_t         stream;
    dnnl_primitive_attr_t attr;
} api_device;

/** Shape, type and layout; rank 0: this tensor does not exist. */
typedef struct api_tensor {
    int               rank;
    dnnl_dims_t       dim;
    dnnl_data_type_t  type;
    dnnl_format_tag_t layout; /**< dnnl_format_tag_any: the library chooses */
} api_tensor;

/** Per spatial axis. Dilation counts the gaps: 0 is a dense window. */
typedef struct api_window {
    dnnl_dims_t size, stride, dilation, front, behind;
} api_window;

typedef enum {
    API_CONV,
    API_POOL,
    API_ELTWISE,
    API_BINARY, /**< dst = src + weights */
    API_MATMUL,
    API_BATCHNORM,
    API_LAYERNORM, /**< `weights` is the shape of mean and variance */
    API_SOFTMAX,   /**< over the last axis */
    API_COPY
} api_kind;

/** Description of a primitive. Backward passes get the tensors of the forward pass. */
typedef struct api_op {
    api_kind        kind;
    lm_pass         pass;
    bool            evaluation; /**< forward: keeps nothing for a backward pass; a batch norm uses
                                 * given statistics */
    dnnl_alg_kind_t algorithm;  /**< API_POOL, API_ELTWISE */
    float           alpha;      /**< API_ELTWISE */
    api_tensor      src, weights, bias, dst; /**< dst: only if its shape differs from that of src */
    api_window      window;                  /**< API_CONV, API_POOL */
} api_op;

/** Zeroed: none. */
typedef struct api_primitive {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t      run;
} api_primitive;

dnnl_status_t api_open(api_device *device);
void          api_close(api_device *device);

dnnl_status_t api_create(const api_device *device, const api_op *op, api_primitive *out);
void          api_destroy(api_primitive *primitive);

/** Bytes of one argument (DNNL_ARG_*) in the layout chosen; 0: the
 * primitive has no such argument. */
size_t api_bytes(const api_primitive *primitive, int argument);
/** Number of arguments that the primitive reads. */
int              api_inputs(const api_primitive *primitive);
dnnl_data_type_t api_type(const api_primitive *primitive, int argument);

/** A memory object for one argument, at `at`, which stays the caller's. */
dnnl_status_t api_memory(const api_device *device, const api_primitive *primitive, int argument,
                         void *at, dnnl_memory_t *out);

/** Number of elements of an argument's tensor, without the padding of its layout; 0: none. */
size_t api_elements(const api_primitive *primitive, int argument);
/** Copies an argument between `plain`, row-major, and `at`, in the layout chosen. */
dnnl_status_t api_reorder(const api_device *device, const api_primitive *primitive, int argument,
                          void *plain, void *at, bool to_plain);

/** Widest instruction set in use, "avx2". Static storage or `buffer`. */
const char *api_isa(char *buffer, size_t size);
/** Number of channels in a block of this CPU's preferred layout. */
int api_channel_block(void);

#endif
