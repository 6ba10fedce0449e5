/** An ONNX file as plain structs: names, shapes and small constants, without weights. */
#ifndef ONNX_MODEL_H
#define ONNX_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

/** TensorProto.DataType: the values that the importer uses. */
enum {
    ONNX_FLOAT    = 1,
    ONNX_UINT8    = 2,
    ONNX_INT8     = 3,
    ONNX_INT32    = 6,
    ONNX_INT64    = 7,
    ONNX_BOOL     = 9,
    ONNX_FLOAT16  = 10,
    ONNX_DOUBLE   = 11,
    ONNX_UINT32   = 12,
    ONNX_UINT64   = 13,
    ONNX_BFLOAT16 = 16
};

/** Type and shape. */
typedef struct onnx_shape {
    int32_t     type;
    uint32_t    rank; /**< above LM_MAX_RANK it is unusable; `dim` holds the first dimensions */
    int64_t     dim[LM_MAX_RANK];    /**< 0: not given, or symbolic */
    const char *symbol[LM_MAX_RANK]; /**< name of a symbolic dimension; NULL: none */
    bool        known;               /**< the file has a shape */
} onnx_shape;

/** A tensor of the file. */
typedef struct onnx_tensor {
    const char    *name; /**< "": none */
    onnx_shape     shape;
    const int64_t *ints;   /**< elements of a small integer or boolean tensor; NULL: not read */
    const float   *floats; /**< elements of a very small real tensor; NULL: not read */
    size_t         n;      /**< number of elements that were read */
} onnx_tensor;

/** A branch of an If. The model has its nodes in front of the If. */
typedef struct onnx_branch {
    const struct onnx_branch *outer;     /**< NULL: in the graph itself */
    const char               *condition; /**< name of a tensor; "" while the If is read */
    bool                      then;      /**< taken if the condition holds */
    const char              **output;
    size_t                    n_outputs;
} onnx_branch;

struct onnx_body;

typedef struct onnx_attribute {
    const char        *name;
    const char        *from; /**< in a function: attribute of the call with the value; "" */
    int64_t            i;
    float              f;
    const char        *text; /**< "" unless it is text */
    const int64_t     *ints;
    size_t             n_ints;
    const float       *floats;
    size_t             n_floats;
    const onnx_tensor *tensor; /**< NULL: not a tensor */
    onnx_branch       *branch; /**< graph of an If, else NULL */
    struct onnx_body  *body;   /**< graph of a loop, else NULL */
} onnx_attribute;

typedef struct onnx_node {
    const char  *name; /**< "" if absent */
    const char  *type; /**< operator; with its domain if that is not ONNX's: com.example.Relu */
    const char **input, **output; /**< "": left out */
    size_t       n_inputs, n_outputs;
    const onnx_attribute *attribute;
    size_t                n_attributes;
    const onnx_branch    *branch; /**< branch of the node; NULL: none */
    /** By its exporter: of_code: it has no parameter among its inputs; of_norm: it was a batch
     * norm. */
    bool of_code, of_norm;
} onnx_node;

/** Nodes that replace one node: those of a function, or of a step of a loop. */
typedef struct onnx_body {
    const char          **input, **output;
    size_t                n_inputs, n_outputs;
    onnx_node            *node;
    size_t                n_nodes;
    const onnx_attribute *attribute; /**< defaults of a function's attributes */
    size_t                n_attributes;
} onnx_body;

/** An operator that the file defines. */
typedef struct onnx_function {
    const char *type; /**< local.Twice */
    onnx_body   body;
} onnx_function;

typedef struct onnx_value_info {
    const char *name;
    onnx_shape  shape;
} onnx_value_info;

typedef struct onnx_model {
    const char      *path;
    int64_t          opset; /**< version of the standard operators */
    onnx_node       *node;
    size_t           n_nodes;
    onnx_tensor     *initializer;
    size_t           n_initializers;
    onnx_value_info *input, *output, *inner; /**< inner: tensors whose shapes the file tells */
    size_t           n_inputs, n_outputs, n_inner;
    onnx_function   *function;
    size_t           n_functions;
    size_t           n_instances; /**< number of expanded functions and steps of loops */
    struct arena    *arena;       /**< owns all of the above */
} onnx_model;

/**
 * Reads a file. The reader maps the file and skips unneeded parts without access. It never opens
 * external data. Limits on the contents bound the memory that any file can take.
 *
 * @return LM_E_IO, LM_E_SYNTAX (no ONNX file, or a truncated or inconsistent one), LM_E_NOMEM
 */
lm_status onnx_read(const char *path, onnx_model **out, lm_error *err);
void      onnx_model_free(onnx_model *model);

/** NULL if the node has no such attribute. */
const onnx_attribute *onnx_attribute_of(const onnx_node *node, const char *name);

#endif
