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

#define INPUTS_MAX  256  /* of a node; as of a layer */
#define CONTENT_MAX 1024 /* elements of a constant that are computed: more are no shape */

/** A key of a layer to be. */
typedef struct recipe_key {
    const char *key;
    char        text[160];
} recipe_key;

/** A layer to be: its type and keys. */
typedef struct recipe {
    const char *type;
    recipe_key  key[8];
    size_t      n;
} recipe;

/** A tensor of the graph. */
typedef struct value value;
struct value {
    const char *name;
    size_t      number; /**< in importer.value */
    role        role;
    lm_tensor   shape[N_LANES]; /**< of lanes given up: as of the file's; constants may be empty */
    const double *content[N_LANES]; /**< elements, where they are few and known; else NULL */
    bool          placed;           /**< a layer yields it: */
    net_edge      edge;
    int           batch_axis;  /**< -1: it does not depend on the batch */
    int64_t       batch_outer; /**< elements of that dimension before the batch: [L x N, E] has L */

    const recipe    *lazy; /**< not placed yet: this layer after `source`, named after `node` */
    value           *source;
    const onnx_node *node;  /**< of a parameter: what turns it around; NULL: a tensor of the file */
    int              depth; /**< of `source`s and nodes behind each other */

    value  **origin; /**< of a parameter: the file's tensors in it, each once */
    size_t   n_origins;
    value   *of_weight; /**< data computed of weights alone: the largest tensor in it, else NULL */
    bool     owned;     /**< such a tensor: some layer has it ... */
    size_t   owner;     /**< ... this one */
    value  **group; /**< all weights of that layer, in their order: what a second call has too */
    size_t   n_group;
    bool     in_parts; /**< layers have parts of it */
    unsigned visit;    /**< scratch, to list each origin once */
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
    size_t *uses; /**< of each tensor by number in `tensors`, by nodes that count and as output */
    names   tensors;
    size_t  n_tensors;

    struct node_plan *plan; /**< one for each node */
    const onnx_node  *node; /**< being converted */
    bool virtual;           /**< only shapes are wanted: no layers are made */
    uint64_t params;        /**< elements of the parameters that layers have */
    size_t   n_samples;     /**< inputs that are no weights */
    int64_t  batch;         /**< of the file, or assumed; 0: it has no such inputs */
    size_t   parts;         /**< parameters of which layers have parts */
    size_t   again;         /**< weights that a second call of a module has its own copy of */
    size_t   origins;       /**< of all values together */
    size_t   folded;        /**< elements of constants computed so far */
    unsigned visits;
    struct loop {
        bool
            known; /**< of the loop at `node`: its steps are to take its place, and all begins anew */
        bool    sized; /**< of it, or of one before: as many steps as the file's input has rows */
        int64_t steps;
    } loop;
    lm_status status; /**< of what cannot report it: memory; sticky */
};

/* ---- values (values.c) ----------------------------------------------------------------------- */

/** A new value without a name; NULL after the importer's status was set. */
value *value_new(importer *im, role r);
/** A new parameter, the only tensor in itself; NULL as value_new(). */
value *value_parameter(importer *im);
/** What the file calls `name`; NULL if nothing is called so, or so far. */
value *value_find(const importer *im, const char *name);
/** Gives a value the name. What was known under it before becomes the same. */
void value_define(importer *im, const char *name, value *v);
/** Input i of the node being converted; NULL if it is left out. */
value *node_input(const importer *im, size_t i);
/** Is output i of the node used by anything? */
bool node_output_used(const importer *im, size_t i);
/** Another name for the value. */
lm_status define_alias(importer *im, size_t output, value *v);

/** Dimensions, the same in all lanes. */
void value_shape(value *v, lm_dtype dtype, const int64_t *dim, uint32_t rank);
/** The element type a network has for one of ONNX's; 0: none. All real
 * ones are the network's own. */
lm_dtype value_dtype(int32_t onnx_type);

/** "uint16": in messages. */
const char *onnx_type_name(int32_t onnx_type);

/** Elements in a lane; 0 for an empty constant. */
uint64_t value_elements(const value *v, int lane);
/** Do all lanes that are alive have these contents, and are they whole
 * numbers? Fills out[0..*n). */
bool value_ints(const importer *im, const value *v, int64_t *out, size_t max, size_t *n);
/** The contents in one lane. */
bool value_ints_at(const value *v, int lane, int64_t *out, size_t max, size_t *n);
/** A constant of one element, whose value is known or not. */
bool value_is_scalar(const value *v);
/** Its number; false if it is not known, or not the same in all lanes. */
bool value_number(const importer *im, const value *v, double *out);

/** The value stays as it is at other sizes of this lane's kind: gives the lane up. */
void lane_drop(importer *im, int lane);
/** Same dimensions in all lanes that are alive? */
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
 * @param weight  parameters that the layer's own stand for: as many elements, or it is refused
 * @param out     room for the type's outputs
 */
lm_status emit(importer *im, const recipe *r, value *const *in, size_t n_in, value *const *weight,
               size_t n_weights, value **out);
/** The same for one input, one output, no weights. */
lm_status emit_one(importer *im, const recipe *r, value *in, value **out);
/** The same, but the layer is added when somebody takes its output; two that
 * undo each other never are. */
lm_status emit_lazy(importer *im, const recipe *r, value *in, value **out);

/** What messages call a node: by its name, or by what it yields. */
const char *node_label(const onnx_node *node);
/** Failure of the node being converted. */
lm_status node_fail(importer *im, lm_status status, const char *fmt, ...) LM_PRINTF(3, 4);

/* ---- shapes (reshape.c) ---------------------------------------------------------------------- */

/** The value under another shape; `target` as Reshape's second input. */
lm_status emit_reshape(importer *im, value *in, const value *target, value **out);
/** The same with dimensions that follow from nothing but the file's. */
lm_status emit_reshape_to(importer *im, value *in, const int64_t *dim, uint32_t rank, value **out);

/* ---- operators (operators.c) ----------------------------------------------------------------- */

#define INPUTS_NEEDED 3

/** What a converter starts from. */
typedef struct conversion {
    value *in[INPUTS_NEEDED]; /**< the inputs that the operator must have */
    recipe r;                 /**< a layer of the row's type, without keys */
    value *out[LM_MAX_RANK];  /**< room for what emit() yields */
} conversion;

/** Converts im->node and defines its outputs. */
typedef lm_status converter(importer *im, conversion *c);

/** One row of the operator table. */
typedef struct operation {
    const char *name; /**< ONNX's, and others of which the same becomes, after blanks */
    converter  *convert;
    const char *type;  /**< layer type, where one is enough */
    unsigned    flags; /**< OP_* */
} operation;
enum {
    OP_TURNS    = 1u << 0, /**< cuts, joins, turns around: of weights it makes weights */
    OP_CONSTANT = 1u << 1, /**< known for constants only */
    OP_FRESH    = 1u << 2, /**< its output is a constant whatever its input is */
    OP_ANY = 1u << 3, /**< the converter checks the inputs; without OP_* the first must be there */
    OP_TWO = 1u << 4, /**< the first two inputs must be there */
    OP_THREE = 1u << 5, /**< the first three */
};

/** For bsearch() in a table whose rows begin with their name. */
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
    bool          fused;     /**< another node's fusion takes care of it */
    const char   *treat;     /**< layer type the user chose; NULL: none */
    bool          ignore;    /**< so the user chose */
    bool          assumed;   /**< nobody knows it: traffic of its tensors, whose shapes are known */
    const fusion *fusion;    /**< it stands for several nodes */
} node_plan;

lm_status plan_nodes(importer *im);
/** The layer type that the user chose for an operator (NULL: none), and whether to ignore it. */
const char *choice_treats(const network_choices *c, const char *type);
bool        choice_ignores(const network_choices *c, const char *type);
/** The shape that the file tells of a tensor; NULL: none, or none of numbers and of symbols of the
 * inputs. */
const onnx_shape *told_shape(const importer *im, const char *name);
/** Converts a node that nobody knows: it reads its inputs and writes its outputs. */
lm_status convert_assumed(importer *im);
/** Finds what several nodes stand for together. */
lm_status fusions_find(importer *im);
/** Converts a node with those fused into it. */
lm_status fusion_convert(importer *im, const fusion *f);
/** Uses of a tensor. */
size_t tensor_uses(const importer *im, const char *name);

/** Values of the graph's inputs and initializers; layers of the data among them. */
lm_status inputs_define(importer *im);
/** A constant with the tensor's shape and, where they were read, contents. */
lm_status constant_define(importer *im, const char *name, const onnx_tensor *t);

/** After a node: are all outputs there that somebody takes? */
lm_status check_outputs(importer *im);

/** Converts one node, fusions and choices included. */
lm_status convert_node(importer *im, const onnx_node *node);

/** Layer behind a value, made if there is none yet. */
lm_status materialise(importer *im, value *v, net_edge *out);

/** Is it a module's path, as of a weight? torch names those it made itself onnx::Conv_123. */
bool names_a_module(const char *name);
#endif
