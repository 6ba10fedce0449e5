/**
 * Shared parts of the ONNX importer.
 *
 * The importer computes all shapes at three sizes, the lanes: the file's size, another batch,
 * another image. A value that is equal in all lanes is a constant. A value that differs must follow
 * from the input's shape. The importer drops a lane whose shapes do not fit; the network then keeps
 * the file's batch or image.
 */
#ifndef ONNX_IMPORT_H
#define ONNX_IMPORT_H

#include "base/arena.h"
#include "base/names.h"
#include "layers/registry.h"
#include "network/build.h"
#include "onnx/model.h"

enum { LANE_FILE, LANE_BATCH, LANE_IMAGE, N_LANES };

typedef enum role {
    ROLE_DATA,      /**< depends on a sample */
    ROLE_PARAMETER, /**< a weight, or a slice, join or transpose of weights */
    ROLE_CONSTANT   /**< neither */
} role;

#define INPUTS_MAX  256  /* limit of a node's inputs, equal to that of a layer */
#define CONTENT_MAX 1024 /* limit of computed elements of a constant: a shape has fewer */

/** A key of a planned layer. */
typedef struct recipe_key {
    const char *key;
    char        text[160];
} recipe_key;

/** A planned layer: type and keys. */
typedef struct recipe {
    const char *type;
    recipe_key  key[8];
    size_t      n;
} recipe;

/** A tensor of the graph. */
typedef struct value value;
struct value {
    const char   *name;
    size_t        number; /**< in importer.value */
    role          role;
    lm_tensor     shape[N_LANES];   /**< lanes given up have the file's; constants may be empty */
    const double *content[N_LANES]; /**< elements, if they are few and known; else NULL */
    bool          placed;           /**< a layer outputs it: `edge` */
    net_edge      edge;
    int           batch_axis; /**< -1: it does not depend on the batch */
    int64_t batch_outer; /**< factor in front of the batch in that dimension: L of [L x N, E] */

    const recipe    *lazy; /**< not placed yet: this layer on `source`, named after `node` */
    value           *source;
    const onnx_node *node;  /**< parameter: node that transposes it; NULL: of the file */
    int              depth; /**< length of the chain of `source`s and nodes */

    value  **origin; /**< parameter: tensors of the file in it, each once */
    size_t   n_origins;
    value   *of_weight; /**< data computed from weights only: the largest of these; else NULL */
    bool     owned;     /**< a layer has this tensor of the file ... */
    size_t   owner;     /**< ... the layer */
    value  **group;     /**< all weights of that layer in order; a second call has the same */
    size_t   n_group;
    bool     in_parts; /**< layers use parts of it */
    unsigned visit;    /**< scratch, to list each origin once */
    value  **item;     /**< of a sequence: its tensors; NULL: a tensor */
    size_t   n_items;
};

typedef struct importer importer;
struct importer {
    const onnx_model      *model;
    const registry        *reg;
    const network_choices *choices;
    net_builder           *build;
    arena                 *arena;
    lm_error              *err;
    bool                   alive[N_LANES];

    value **value; /**< by number */
    size_t  n_values, value_room;
    names   by_name;  /**< tensor -> value */
    names   producer; /**< tensor -> node */
    names   told;     /**< tensor -> its place in the model's `inner` */
    size_t *uses;     /**< by number in `tensors`: uses by reachable nodes and as an output */
    names   tensors;
    size_t  n_tensors;

    struct node_plan *plan; /**< one for each node */
    const onnx_node  *node; /**< being converted */
    bool virtual;           /**< only shapes are wanted: no layers are made */
    uint64_t params;        /**< number of elements in parameters of layers */
    size_t   n_samples;     /**< number of inputs that are not weights */
    int64_t  batch;         /**< the file's, or assumed; 0: no such input */
    size_t   parts;         /**< number of parameters used in parts */
    size_t   again;         /**< number of weights copied for a second call of a module */
    size_t   origins;       /**< number of all values' origins */
    size_t   folded;        /**< number of computed elements of constants */
    unsigned visits;
    struct loop {
        bool
            known; /**< of the loop at `node`: its steps are to take its place, and all begins anew */
        bool sized; /**< steps of it or of one before, or a branch, follow from the file's image */
        int64_t steps;
    } loop;
    lm_status status; /**< memory failure in functions without a status; sticky */
};

/* ---- values (values.c) ----------------------------------------------------------------------- */

/** A new value without a name; NULL after the importer's status was set. */
value *value_new(importer *im, role r);
/** A new parameter with itself as origin; NULL as value_new(). */
value *value_parameter(importer *im);
/** The value with a name of the file; NULL if there is none yet. */
value *value_find(const importer *im, const char *name);
/** Names a value. An earlier value of that name becomes a copy of it. */
void value_define(importer *im, const char *name, value *v);
/** Input i of the node being converted; NULL if it is left out. */
value *node_input(const importer *im, size_t i);
/** Has output i of the node a reader? */
bool node_output_used(const importer *im, size_t i);
/** Makes output `output` of the node another name of the value. */
lm_status define_alias(importer *im, size_t output, value *v);

/** Sets type and dimensions, the same in all lanes. */
void value_shape(value *v, lm_dtype dtype, const int64_t *dim, uint32_t rank);
/** The network's element type for an ONNX type; 0: none. All real types become the network's
 * type. */
lm_dtype value_dtype(int32_t onnx_type);

/** Name of a type for messages: "uint16". */
const char *onnx_type_name(int32_t onnx_type);

/** Number of elements in a lane; 0 for an empty constant. */
uint64_t value_elements(const value *v, int lane);
/** Reads contents that are whole numbers and equal in all live lanes into out[0..*n); false: they
 * are not. */
bool value_ints(const importer *im, const value *v, int64_t *out, size_t max, size_t *n);
/** The contents in one lane. */
bool value_ints_at(const value *v, int lane, int64_t *out, size_t max, size_t *n);
/** Is it a constant of one element, of known value or not? */
bool value_is_scalar(const value *v);
/** Its number; false if it is unknown or differs between lanes. */
bool value_number(const importer *im, const value *v, double *out);
/** The same of what decides how the network goes on: where it is another number at other images,
 * these are given up. */
bool value_choice(importer *im, const value *v, double *out);

/** Gives a lane up: the network keeps the file's size of that kind. */
void lane_drop(importer *im, int lane);
/** Is dimension `axis` the same in all live lanes? */
bool value_same_in_lanes(const importer *im, const value *v, uint32_t axis);

/* ---- layers (emit.c) ------------------------------------------------------------------------- */

recipe recipe_of(const char *type);
void   recipe_set(recipe *r, const char *key, const char *fmt, ...) LM_PRINTF(3, 4);
/** "1,2,3", or one number if all are the same and `fold` is set. */
void recipe_list(recipe *r, const char *key, const int64_t *item, size_t n, bool fold);

/**
 * Adds a layer and infers its outputs in all lanes.
 *
 * @param in      data or constants; parameters become layers of their own
 * @param weight  parameters for the layer's own; refused if the numbers of elements differ
 * @param out     room for the type's outputs
 */
lm_status emit(importer *im, const recipe *r, value *const *in, size_t n_in, value *const *weight,
               size_t n_weights, value **out);
/** The same for one input, one output, no weights. */
lm_status emit_one(importer *im, const recipe *r, value *in, value **out);
/** The same, but the layer is added only when its output is used. Two layers that undo each other
 * are never added. */
lm_status emit_lazy(importer *im, const recipe *r, value *in, value **out);

/** A node in messages: its name, or that of its output. */
const char *node_label(const onnx_node *node);
/** Sets the error of the node being converted and returns `status`. */
lm_status node_fail(importer *im, lm_status status, const char *fmt, ...) LM_PRINTF(3, 4);

/* ---- shapes (reshape.c) ---------------------------------------------------------------------- */

/** Reshapes a value; `target` as Reshape's second input. */
lm_status emit_reshape(importer *im, value *in, const value *target, value **out);
/** The same with dimensions of the file. */
lm_status emit_reshape_to(importer *im, value *in, const int64_t *dim, uint32_t rank, value **out);

/* ---- operators (operators.c) ----------------------------------------------------------------- */

#define INPUTS_NEEDED 3

/** Arguments of a converter. */
typedef struct conversion {
    value *in[INPUTS_NEEDED]; /**< required inputs */
    recipe r;                 /**< a layer of the row's type, without keys */
    value *out[LM_MAX_RANK];  /**< room for what emit() yields */
} conversion;

/** Converts im->node and defines its outputs. */
typedef lm_status converter(importer *im, conversion *c);

/** One row of the operator table. */
typedef struct operation {
    const char *name; /**< ONNX's names of operators with this conversion, separated by blanks */
    converter  *convert;
    const char *type;  /**< layer type, if one suffices */
    unsigned    flags; /**< OP_* */
} operation;
enum {
    OP_TURNS    = 1u << 0, /**< cuts, joins, turns around: of weights it makes weights */
    OP_CONSTANT = 1u << 1, /**< known for constants only */
    OP_FRESH    = 1u << 2, /**< its output is a constant whatever its input is */
    OP_ANY = 1u << 3, /**< the converter checks the inputs; without OP_* the first must be there */
    OP_TWO = 1u << 4, /**< the first two inputs must be there */
    OP_THREE = 1u << 5, /**< the first three */
    OP_LIST  = 1u << 6, /**< takes sequences */
};

/** Comparison for bsearch() in a table whose rows begin with a name. */
int compare_name(const void *name, const void *row);
/** NULL if there is none. */
const operation *operation_find(const onnx_node *node);
/** Checks the inputs and converts im->node. LM_E_SYNTAX for an input that is missing. */
lm_status operation_convert(importer *im, const operation *op);

/* ---- what to do with each node (plan.c, fusions.c) ------------------------------------------- */

typedef struct fusion fusion;

typedef struct node_plan {
    bool          reachable; /**< an output of the graph depends on it */
    bool          constant;  /**< it depends on neither samples nor weights */
    bool          fused;     /**< part of another node's fusion */
    const char   *treat;     /**< layer type the user chose; NULL: none */
    bool          ignore;    /**< the user chose to ignore it */
    bool          assumed;   /**< unknown operator: counts as traffic of its tensors */
    const fusion *fusion;    /**< the node stands for several */
} node_plan;

lm_status plan_nodes(importer *im);
/** The layer type that the user chose for an operator (NULL: none), and whether to ignore it. */
const char *choice_treats(const network_choices *c, const char *type);
bool        choice_ignores(const network_choices *c, const char *type);
/** The file's shape of a tensor; NULL if it has none, or one with symbols that no input has. */
const onnx_shape *told_shape(const importer *im, const char *name);
/** Converts a node of an unknown operator: it reads its inputs and writes its outputs. */
lm_status convert_assumed(importer *im);
/** Finds groups of nodes that stand for one layer. */
lm_status fusions_find(importer *im);
/** Converts a node with those fused into it. */
lm_status fusion_convert(importer *im, const fusion *f);
/** Number of uses of a tensor. */
size_t tensor_uses(const importer *im, const char *name);

/** Defines values for the graph's inputs and initializers, and adds layers for data. */
lm_status inputs_define(importer *im);
/** Defines a constant with the tensor's shape and, if they were read, contents. */
lm_status constant_define(importer *im, const char *name, const onnx_tensor *t);

/** Checks after a conversion that all used outputs are defined. */
lm_status check_outputs(importer *im);

/** Converts one node, fusions and choices included. */
lm_status convert_node(importer *im, const onnx_node *node);

/** The layer that yields a value; added if there is none yet. */
lm_status materialise(importer *im, value *v, net_edge *out);

/** Is it the path of a module, as names of weights are? torch gives its own tensors names as
 * onnx::Conv_123. */
bool names_a_module(const char *name);
#endif
