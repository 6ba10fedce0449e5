/** A network as written in its file: named layers, with types and parameters as text. */
#ifndef NETWORK_NETWORK_H
#define NETWORK_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include <layermeter/error.h>
#include <layermeter/plugin.h>

#include "layers/registry.h"

typedef struct net_pair {
    const char *key, *value;
    int         line;
} net_pair;

/** An input of a layer: an output of another layer. */
typedef struct net_edge {
    size_t   layer; /**< index into network.layer */
    uint32_t output;
} net_edge;

/**
 * Does the layer count in the number of layers? `functional =` overrides the type's LM_FUNCTIONAL.
 */
typedef enum net_counted { NET_COUNTED_AS_TYPE, NET_COUNTED_YES, NET_COUNTED_NO } net_counted;

/** One layer. Owned by its network. */
typedef struct net_layer net_layer;
struct net_layer {
    const char      *name; /**< hierarchical: layer1.0.conv2 */
    const char      *type; /**< name of its layer type */
    const net_pair  *pair; /**< parameters, in the file's order */
    size_t           n_pairs;
    const net_edge  *input;
    size_t           n_inputs;
    const net_layer *shares; /**< owner of parameters that this layer uses, too; NULL: none */
    int              line;   /**< line of its section */
    /** name of the outermost use of a block that contains it; NULL: none */
    const char *block;
    int         used_line; /**< line of that `block =`; 0: the layer is not in a block */
    net_counted counted;
    lm_way      way;    /**< `split =`: how ranks share the layer (shard.h) */
    bool        frozen; /**< `frozen = yes`: the parameters have no gradient */
};

/** One entry of [arguments]. */
typedef struct net_argument {
    const char *name, *value;
    bool        set; /**< set by the caller that opened the network */
} net_argument;

/** Text in a network's note: height and width of the input cannot change. */
#define NETWORK_IMAGE_FIXED "the image size cannot be changed"
/** The same for the batch; the number follows the text. */
#define NETWORK_BATCH_FIXED "the batch cannot be changed from "

#define NETWORK_BASES_MAX 8 /**< limit of a chain of `base =` */

typedef struct network {
    const char   *path; /**< path that the caller gave */
    const char   *base; /**< file with the layers if `path` names a base; else NULL */
    const char   *name;
    const char   *source; /**< publication that the counts are compared with; NULL: none */
    const char   *note;   /**< remarks about the counts; NULL: none */
    net_layer    *layer;  /**< inputs precede their uses */
    size_t        n_layers;
    net_argument *argument; /**< arguments that a caller may set */
    size_t        n_arguments;
    const char   *set;  /**< arguments that were set, "width=128 depth=2"; NULL: none */
    const char   *lora; /**< adapters that network_adapt() added; NULL: none */
    uint64_t      published_params,
        /** for the file's own input, batch 1; 0: not given, or an argument was set */
        published_macs;
    bool          part;  /**< a block cut out of a network (part.h): its data wants a gradient */
    struct arena *arena; /**< owns all of the above */
    /** the text of its file, then of its bases */
    struct ini_document *document[NETWORK_BASES_MAX + 1];
} network;

/** Choices of a caller that opens a network. */
typedef struct network_choices {
    const char *const *treat; /**< "OPERATOR=TYPE": the layer type for an unknown operator */
    size_t             n_treat;
    const char *const *ignore; /**< operators to skip: the output is the first input */
    size_t             n_ignore;
    const char *const *set; /**< "NAME=VALUE" for [arguments]; the last one for a name wins */
    size_t             n_set;
    bool               strict;    /**< refuse an unknown operator even if its shapes are known */
    bool               head_only; /**< .ini files: read the arguments but no layers */
} network_choices;

/** A file format other than .ini. A table of formats ends with a suffix of NULL. */
typedef struct network_format {
    const char *suffix; /**< ".onnx" */
    lm_status (*read)(const char *path, const registry *reg, const network_choices *choices,
                      network **out, lm_error *err);
    bool settable; /**< its networks can have arguments; `read` refuses unknown ones */
} network_format;

/**
 * The arguments in a name: ":sequence=128:layers=6" in "gpt2:sequence=128:layers=6". Without
 * arguments: points to the end of the name.
 */
const char *network_name_arguments(const char *name);

/**
 * Writes a key that is the same for all spellings of one configuration. It omits `sequence`, which
 * the input's shape determines. False: the key is too long.
 */
bool network_name_key(const char *name, char *key, size_t size);

/**
 * Finds the file of `name`. A name with a slash, or that ends in .ini, is a path. Else NAME.ini is
 * looked up in $LAYERMETER_MODEL_PATH (colon-separated), then among the shipped models.
 * LM_E_NOTFOUND lists these places.
 */
lm_status network_find(const char *name, char *path, size_t size, lm_error *err);

/** Names of networks in the search folders: sorted, without duplicates. */
typedef struct network_names {
    char **name;
    size_t n;
} network_names;

/** Folders that cannot be read are skipped. */
lm_status network_list(network_names *out, lm_error *err);
void      network_names_free(network_names *names);

/**
 * Reads an INI file: follows `base =`, expands blocks, resolves inputs, orders the layers.
 *
 * @param choices NULL: none
 * @return LM_E_NOTFOUND also for a setting that is no argument of the file. The text begins with
 *         file:line
 */
lm_status network_load(const char *path, const network_choices *choices, network **out,
                       lm_error *err);
/**
 * Adapts the network to its use. An input of one dimension, "128", sets the argument `sequence =
 * 128`. Evaluation sets `aux = 0`: no auxiliary classifiers. Expands the text that was read; opens
 * no file.
 *
 * @param input NULL: the file's
 * @param out   NULL if `net` needs no change, or has no such arguments
 * @return LM_E_ARG if the caller set `sequence` to another length
 */
lm_status network_for_use(const network *net, const char *input, bool evaluation, network **out,
                          lm_error *err);
/**
 * The network of one decoding step: one token (`sequence = 1`) after `context` cached tokens
 * (`context = N`).
 *
 * @return LM_E_UNSUPPORTED for a network without these arguments; LM_E_ARG if the caller set them,
 *         or for a token beyond the argument `positions`
 */
lm_status network_decoding(const network *net, int64_t context, network **out, lm_error *err);
/** Is it a layer type that takes no input from the previous layer? */
bool network_source_type(const char *type);
/**
 * Finds and reads a network. The suffix selects one of the registry's formats, else the file is
 * INI. Two arguments in a name are special (part.h): `:block=NAME` at the end gives that block
 * alone, `:lora=RANK` adds adapters.
 *
 * @param name    a name or a path, optionally with arguments: "gpt2:sequence=128". They precede the
 *                settings in `choices`
 * @param reg     layer types, with which importers infer shapes, and file formats
 * @param choices NULL: none
 */
lm_status network_open(const char *name, const registry *reg, const network_choices *choices,
                       network **out, lm_error *err);
void      network_free(network *net);

#endif
