/** A network as in its file: layers by name, with types and parameters as text. */
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

/** Does the layer count as a layer? `functional =` overrides the type's LM_FUNCTIONAL. */
typedef enum net_counted { NET_COUNTED_AS_TYPE, NET_COUNTED_YES, NET_COUNTED_NO } net_counted;

/** One layer. Owned by its network. */
typedef struct net_layer net_layer;
struct net_layer {
    const char      *name; /**< hierarchical: layer1.0.conv2 */
    const char      *type; /**< layer type by name */
    const net_pair  *pair; /**< parameters, in the file's order */
    size_t           n_pairs;
    const net_edge  *input;
    size_t           n_inputs;
    const net_layer *shares; /**< owner of parameters that are used here too; NULL: none */
    int              line;   /**< of its section */
    const char      *block;  /**< outermost use of a block it came from, by name; NULL: none */
    int used_line; /**< of the outermost `block =` it came from; 0: it stands there itself */
    net_counted counted;
    lm_way      way;    /**< `split =`: how ranks share it (shard.h) */
    bool        frozen; /**< `frozen = yes`: its parameters have no gradient */
};

/** One entry of [arguments]. */
typedef struct net_argument {
    const char *name, *value;
    bool        set; /**< set by the caller who opened the network */
} net_argument;

/** Text in a network's note: the input keeps its height and width. */
#define NETWORK_IMAGE_FIXED "the image size cannot be changed"
/** The same for the batch; the number follows. */
#define NETWORK_BATCH_FIXED "the batch cannot be changed from "

#define NETWORK_BASES_MAX 8 /**< files behind each other */

typedef struct network {
    const char   *path; /**< as opened */
    const char   *base; /**< file of the layers where `path` names a base; else NULL */
    const char   *name;
    const char   *source; /**< publication of the counts; NULL: none */
    const char   *note;   /**< remarks about the counts; NULL: none */
    net_layer    *layer;  /**< inputs precede their uses */
    size_t        n_layers;
    net_argument *argument; /**< arguments that a caller may set */
    size_t        n_arguments;
    const char   *set;  /**< arguments that were set, "width=128 depth=2"; NULL: none */
    const char   *lora; /**< adapters as network_adapt() made them; NULL: none */
    uint64_t      published_params,
        published_macs; /**< at the file's own input, batch 1; 0: not given, or something was set */
    bool          part; /**< a block cut out of a network (part.h): its data wants a gradient */
    struct arena *arena;                                  /**< owns all of the above */
    struct ini_document *document[NETWORK_BASES_MAX + 1]; /**< its files, as read, then its bases */
} network;

/** Choices of a caller that opens a network. */
typedef struct network_choices {
    const char *const *treat; /**< "OPERATOR=TYPE": the layer type for an unknown operator */
    size_t             n_treat;
    const char *const *ignore; /**< operators to skip: the first input passes on */
    size_t             n_ignore;
    const char *const *set; /**< "NAME=VALUE" for [arguments]; the last one of a name wins */
    size_t             n_set;
    bool strict;    /**< refuse an operator that is not known, where its shapes are, too */
    bool head_only; /**< of an .ini file: arguments, given or not, but no layers */
} network_choices;

/** A file format other than .ini. A table of formats ends with a suffix of NULL. */
typedef struct network_format {
    const char *suffix; /**< ".onnx" */
    lm_status (*read)(const char *path, const registry *reg, const network_choices *choices,
                      network **out, lm_error *err);
    bool settable; /**< its networks may have arguments: `read` refuses what they have not */
} network_format;

/** The arguments within a name: ":sequence=128:layers=6" of "gpt2:sequence=128:layers=6". Without
 * arguments: the name's end. */
const char *network_name_arguments(const char *name);

/** Name by which two spellings of one configuration are found: without `sequence`, which the shape
 * of the input tells. False: too long. */
bool network_name_key(const char *name, char *key, size_t size);

/**
 * Finds the file behind `name`: a path (anything with a slash, or that ends in .ini), else NAME.ini
 * in $LAYERMETER_MODEL_PATH (colon-separated), else among the shipped models. LM_E_NOTFOUND lists
 * where it looked.
 */
lm_status network_find(const char *name, char *path, size_t size, lm_error *err);

/** Names of networks in the search folders: sorted, without duplicates. */
typedef struct network_names {
    char **name;
    size_t n;
} network_names;

/** Skips folders that cannot be read. */
lm_status network_list(network_names *out, lm_error *err);
void      network_names_free(network_names *names);

/**
 * Reads an INI file, follows `base =`, expands blocks, resolves inputs, orders.
 *
 * @param choices NULL: none
 * @return LM_E_NOTFOUND also for a setting that is no argument of the file; errors begin with
 * file:line
 */
lm_status network_load(const char *path, const network_choices *choices, network **out,
                       lm_error *err);
/**
 * The network as it is used: for an input of one dimension whose length is its argument `sequence`,
 * "128" as `sequence = 128`; in evaluation without auxiliary classifiers, `aux = 0`. Expands the
 * text that was read; opens no file.
 *
 * @param input NULL: the file's
 * @param out   NULL where `net` itself is the one, or has no such arguments
 * @return LM_E_ARG if the caller set `sequence` to another length
 */
lm_status network_for_use(const network *net, const char *input, bool evaluation, network **out,
                          lm_error *err);
/**
 * A step of decoding: one token (`sequence = 1`) behind `context` others, whose keys and values are
 * cached (`context = N`).
 *
 * @return LM_E_UNSUPPORTED for a network without these arguments; LM_E_ARG if the caller set them, or
 *         for a token beyond the argument `positions`
 */
lm_status network_decoding(const network *net, int64_t context, network **out, lm_error *err);
/** Is it a type without input from the previous layer? */
bool network_source_type(const char *type);
/**
 * Finds and reads. The suffix decides how: as one of the registry's formats, else as .ini. A name
 * that ends in `:block=NAME` is that block of the network by itself, `:lora=RANK` the network with
 * adapters (part.h), among its arguments or what is set.
 *
 * @param name    a name or a path, with arguments behind it if wanted: "gpt2:sequence=128". They
 *                count as settings in front of those of `choices`
 * @param reg     layer types, which importers infer shapes with, and formats
 * @param choices NULL: none
 */
lm_status network_open(const char *name, const registry *reg, const network_choices *choices,
                       network **out, lm_error *err);
void      network_free(network *net);

#endif
