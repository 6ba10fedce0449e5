/**
 * The layer-type plugin ABI, major 1.
 *
 * A plugin is a shared object that exports one constant, `layermeter_plugin_v1`, and links to
 * nothing of Layermeter. A layer type is data and pure functions of (parameters, input shapes): no
 * state, no allocation, no output, no text parsing. Callbacks may be called from several threads.
 *
 * Evolution: records grow only at the end and carry `size`. A host accepts plugins up to its own
 * minor version. It reads members that an older plugin lacks as 0 or NULL.
 */
#ifndef LAYERMETER_PLUGIN_H
#define LAYERMETER_PLUGIN_H

#include <layermeter/kernel.h>
#include <layermeter/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LM_ABI_MAJOR 1 /* in the exported symbol's name */
#define LM_ABI_MINOR 3
#ifndef LM_ABI_TARGET /* define lower to promise that the plugin uses no later field */
#define LM_ABI_TARGET LM_ABI_MINOR
#endif

typedef struct lm_layer      lm_layer;
typedef struct lm_layer_type lm_layer_type;
typedef struct lm_sink       lm_sink;

/** Kind of a parameter. */
typedef int32_t lm_kind;
enum lm_kinds {
    LM_INT   = 1,
    LM_REAL  = 2,
    LM_BOOL  = 3, /**< yes|no, true|false, on|off, 1|0 */
    LM_ENUM  = 4, /**< one of `choices`; the value is its index */
    LM_TEXT  = 5,
    LM_SHAPE = 6, /**< 1 to LM_MAX_RANK integers joined by x: 3x224x224 */
    /** since 1.1: 1 to LM_MAX_RANK integers, also negative, separated by commas: 0,-1,768 */
    LM_LIST = 7
};

/** One line of a parameter schema. Record; tables carry their stride. */
typedef struct lm_param {
    const char *name;     /**< key in the model file: [a-z][a-z0-9_]* */
    const char *doc;      /**< one line */
    const char *fallback; /**< default as a user would write it; NULL: required */
    const char *choices;  /**< LM_ENUM: "same|valid"; else NULL */
    double      min, max; /**< inclusive, for each number; both 0: unbounded */
    lm_kind     kind;
    uint32_t count; /**< LM_INT, LM_REAL: how many values; a single one given is repeated; 0 is 1 */
    const char *unit; /**< since 1.1: "pixels", "elements"; NULL: a pure number or a name */
} lm_param;

/** A parsed parameter. Atom. LM_BOOL and LM_ENUM use i[0]. Text lives as long as the layer. */
typedef struct lm_value {
    lm_kind  kind;
    uint32_t count;
    union {
        int64_t     i[LM_MAX_RANK];
        double      f[LM_MAX_RANK];
        const char *text;
    } u;
} lm_value;

/** Services of the host. Record, written by the host. */
typedef struct lm_host {
    size_t   size;
    uint32_t abi_minor, reserved;
    /** Explains a failure and returns `code`. The host puts file, line and layer in front. */
    lm_status (*fail)(const lm_layer *layer, lm_status code, const char *fmt, ...) LM_PRINTF(3, 4);
} lm_host;

/** One layer of a network, as callbacks see it. Record, valid during the call. */
struct lm_layer {
    size_t               size;
    const lm_host       *host;
    const lm_layer_type *type; /**< the plugin's own descriptor: embed it in a struct to add data */
    const char          *name;
    const lm_value      *param; /**< in schema order, parsed and range-checked */
    /** one tensor of the batch size if the type is a source (LM_SOURCE) */
    const lm_tensor *input;
    const lm_tensor *output; /**< NULL during infer() */
    uint32_t         n_params, n_inputs, n_outputs, reserved;
    /* since 1.1 */
    lm_dtype       dtype; /**< of the network's weights and activations, whatever the inputs hold */
    uint32_t       reserved2;
    const uint8_t *wants_gradient; /**< of each input; NULL: all of them */
};

enum { LM_KEEPS_INPUT = 1u << 0, LM_KEEPS_OUTPUT = 1u << 1 };
/** Since 1.1: keeps input i alone, i < LM_KEEPS_MAX. LM_KEEPS_INPUT keeps all inputs. */
#define LM_KEEPS_ONE(i) (1u << (LM_KEEPS_MAX + (i)))
#define LM_KEEPS_MAX    16

/**
 * Work and memory of one layer. Record; zeroed and sized by the host.
 *
 * `keeps` (LM_KEEPS_INPUT ...) names the inputs and outputs that the backward pass reads again.
 * The host counts their bytes, because two layers may keep the same tensor.
 */
typedef struct lm_cost {
    size_t   size;
    lm_work  pass[LM_N_PASSES]; /**< leave a pass 0 if it does not exist */
    uint64_t saved_bytes;       /**< kept until backward, beyond own inputs and outputs */
    uint64_t workspace_bytes;   /**< scratch live during one pass */
    uint32_t keeps;
    uint32_t reserved;
    uint64_t cached_bytes; /**< since 1.1: kept between passes of inference (keys and values) */
} lm_cost;

enum {
    LM_FROZEN = 1u << 0,
    /**
     * since 1.3: a weight of an expert; each rank of LM_EXPERTS has the weights of its own experts
     */
    LM_EXPERT = 1u << 1
};

/** One parameter tensor. Record. */
typedef struct lm_weight {
    size_t      size;
    const char *role; /**< "weight", "bias"; unique within the layer */
    lm_tensor   tensor;
    uint32_t    flags; /**< LM_FROZEN: no gradient (running statistics); LM_EXPERT */
    uint32_t    reserved;
} lm_weight;

/** Since 1.2. The way in which the ranks of a group share one layer. */
typedef int32_t lm_way;
enum lm_ways {
    LM_WHOLE   = 0, /**< each rank has the whole layer */
    LM_COLUMNS = 1, /**< each rank has some output features, and the whole input */
    LM_ROWS    = 2, /**< each rank has some input features; the ranks' outputs are summed */
    LM_HEADS   = 3, /**< each rank has some heads */
    /** each rank has some rows of a table, or some classes; the last rank may have fewer */
    LM_VOCABULARY = 4,
    LM_TOKENS     = 5, /**< each rank has a part of dimension 1 */
    /* Since 1.3. The host asks every layer for these; model files do not name them: */
    /** each rank has a part of dimension 1; keys and values of the other ranks arrive in turn */
    LM_RING = 6,
    /** the same as LM_RING outside the layer; inside, each rank has some heads of all tokens */
    LM_ULYSSES = 7,
    LM_EXPERTS = 8, /**< each rank has some experts, and receives the tokens for them */
    /**
     * each rank has its own tokens (a part of dimension 1) and a part of every expert. An all-gather
     * brings the tokens to the experts; a reduce-scatter returns the sums of the results. The host
     * asks it of layers that the model file splits by LM_COLUMNS, before LM_EXPERTS
     */
    LM_ROUTED = 9
};

enum {
    LM_SUMS_OUTPUT = 1u << 0, /**< the layer's output is the sum of the ranks' outputs */
    LM_SUMS_INPUT  = 1u << 1  /**< the gradient of the inputs is the sum of the ranks' gradients */
};

#define LM_MAX_EXCHANGES 4

/**
 * Since 1.2. One rank's part of a layer. Record. The host sets `parts`, `way` and `param`; split()
 * sets the rest.
 */
typedef struct lm_split {
    size_t size;
    /** copy of layer->param; split() changes it to the parameters of the largest part */
    lm_value *param;
    int64_t   parts; /**< 2 or more */
    /**
     * bytes of each message of the forward pass inside the layer. LM_RING: a send-recv; LM_ULYSSES,
     * LM_EXPERTS: an all-to-all; LM_ROUTED: the all-gather of the experts' rows; else an
     * all-reduce. The backward pass of LM_ULYSSES and LM_EXPERTS has as many
     */
    uint64_t exchanged_bytes;
    lm_way   way;
    uint32_t sums;      /**< LM_SUMS_OUTPUT, LM_SUMS_INPUT */
    uint32_t exchanges; /**< number of these messages */
    uint32_t reserved;
    /**
     * since 1.3: bytes of message i; 0: exchanged_bytes. LM_ROUTED: message 1 is the all-gather of
     * all tokens, for shared experts
     */
    uint64_t sizes[LM_MAX_EXCHANGES];
    /**
     * since 1.3, LM_ROUTED: bytes of weights that see only the rank's own tokens (a router). The
     * host sums their gradients over the ranks
     */
    uint64_t own_bytes;
} lm_split;

/** Size of message i of a split, in bytes. */
static inline uint64_t lm_exchanged(const lm_split *s, uint32_t i)
{
    return i < LM_MAX_EXCHANGES && s->sizes[i] ? s->sizes[i] : s->exchanged_bytes;
}

/** Receives what a layer emits, in order, and copies it at once. The host handles failures. */
struct lm_sink {
    size_t size;
    void (*weight)(lm_sink *sink, const lm_weight *weight);
    void (*kernel)(lm_sink *sink, const lm_kernel *kernel);
};

/** Flags of a layer type. */
enum {
    /**
     * A function in frameworks, not a module: add, concat, flatten. Time and FLOPs include it; the
     * number of layers and the activation bytes do not.
     */
    LM_FUNCTIONAL = 1u << 0,
    /**
     * A source of the network, without input layers. Its one input is a tensor of rank 1 with the
     * batch as size and the element type. Its parameter 0 is the shape of one sample.
     */
    LM_SOURCE = 1u << 1,
    /** Since 1.1. With LM_SOURCE: the output belongs to the network (a learned table, a constant).
     * A user's input shape does not replace its shape. */
    LM_CONSTANT = 1u << 2,
    /** Since 1.1. The output shares the memory of the first input: no forward kernels, no memory.
     */
    LM_VIEW = 1u << 3,
    /**
     * Since 1.1. Part of the work does not depend on the batch, as in weight normalisation. Without
     * this flag, `layermeter check` expects FLOPs proportional to the batch.
     */
    LM_FIXED_PART = 1u << 4,
    /** Since 1.1. In evaluation mode the output is the input. */
    LM_TRAINING_ONLY = 1u << 5
};

/** A layer type. Record; constant. */
struct lm_layer_type {
    size_t          size;
    const char     *name; /**< `type =` in model files: [a-z][a-z0-9_]* */
    const char     *doc;  /**< one line */
    const lm_param *params;
    size_t          param_size; /**< stride of `params`; see LM_PARAMS() */
    uint32_t        n_params;
    uint32_t        min_inputs, max_inputs; /**< max 0: any number */
    uint32_t        n_outputs;              /**< 1 .. LM_MAX_RANK */
    uint32_t        flags, reserved;

    /** Output shapes from parameters and inputs; `output` has room for n_outputs. Required. */
    lm_status (*infer)(const lm_layer *layer, lm_tensor *output);
    /** Algorithmic work of every pass. Required. */
    lm_status (*cost)(const lm_layer *layer, lm_cost *cost);
    /** Emits the parameter tensors. NULL: none. */
    lm_status (*weights)(const lm_layer *layer, lm_sink *sink);
    /**
     * Emits the kernels that a framework would launch for `pass`. NULL: the price follows from
     * cost() alone, and reports say "not benchmarked". A kernel that computes both gradients at
     * once (norms) belongs to LM_GRAD_INPUT; LM_GRAD_WEIGHT then has no kernel for it.
     */
    lm_status (*lower)(const lm_layer *layer, lm_pass pass, lm_sink *sink);
    /** "name/revision" -> interface or NULL. May be NULL. */
    const void *(*extension)(const char *id);
    /**
     * Since 1.2. Describes one rank's part of the layer; layer->input are the rank's own inputs.
     * NULL, or LM_E_UNSUPPORTED: the layer cannot be split this way. LM_E_SHAPE: `parts` does not
     * divide a size; the text has both numbers.
     */
    lm_status (*split)(const lm_layer *layer, lm_split *split);
};

/** The exported root. Record. */
typedef struct lm_plugin {
    size_t                      size;
    uint32_t                    abi_minor, n_types;
    const lm_layer_type *const *types; /**< pointers: types may grow */
    /** for reports; license: an SPDX identifier */
    const char *name, *version, *license;
} lm_plugin;

/* Shorthands ----------------------------------------------------------------------------------- */

#if defined(__GNUC__)
#define LM_EXPORT __attribute__((visibility("default")))
#else
#define LM_EXPORT
#endif

#ifdef __cplusplus
#define LM_PLUGIN                                              \
    extern "C" LM_EXPORT const lm_plugin layermeter_plugin_v1; \
    const lm_plugin                      layermeter_plugin_v1
#else
#define LM_PLUGIN                                          \
    extern LM_EXPORT const lm_plugin layermeter_plugin_v1; \
    const lm_plugin                  layermeter_plugin_v1
#endif

#define LM_PLUGIN_HEAD  .size = sizeof(lm_plugin), .abi_minor = LM_ABI_TARGET
#define LM_TYPES(table) .n_types = sizeof(table) / sizeof((table)[0]), .types = (table)
#define LM_PARAMS(table)                                 \
    .params = (table), .param_size = sizeof((table)[0]), \
    .n_params = sizeof(table) / sizeof((table)[0])

#define lm_fail(layer, ...) ((layer)->host->fail((layer), __VA_ARGS__))

/** First value of an integer, boolean or enumerated parameter. */
static inline int64_t lm_int(const lm_layer *layer, uint32_t param)
{
    return layer->param[param].u.i[0];
}

/**
 * Does the backward pass compute the gradient of this input? No for data, constants and integers.
 */
static inline int lm_wants_gradient(const lm_layer *layer, uint32_t input)
{
    return !layer->wants_gradient || layer->wants_gradient[input];
}

/** Does the backward pass read input i again, according to `keeps` of lm_cost? */
static inline int lm_keeps_input(uint32_t keeps, uint32_t i)
{
    return (keeps & LM_KEEPS_INPUT) || (i < LM_KEEPS_MAX && (keeps & LM_KEEPS_ONE(i)));
}

/** First value of a real parameter. */
static inline double lm_real(const lm_layer *layer, uint32_t param)
{
    return layer->param[param].u.f[0];
}

#ifdef __cplusplus
}
#endif
#endif
