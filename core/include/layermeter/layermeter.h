/**
 * Layermeter as a library: predicts how long a neural network takes to train or to run.
 *
 *     lm_library *library;  lm_network *network;  lm_machine *machine;  lm_predictor *predictor;
 *     lm_step     step   = lm_step_of(32, 4);
 *     lm_answer   answer = { .size = sizeof answer };
 *
 *     lm_library_open(NULL, &library, &err);
 *     lm_network_open(library, "resnet50", NULL, &network, &err);
 *     lm_machine_open("machine.ini", &machine, &err);
 *     lm_predictor_open(library, machine, network, NULL, NULL, &predictor, &err);
 *     lm_predict(predictor, &step, &answer, &err);
 *
 * Units. Times are seconds, sizes are bytes, rates are per second. A batch is the number of samples
 * that one device processes at once. An unknown double is NAN.
 *
 * Records. A record begins with `size`. The caller sets `size` to the record's sizeof, and all
 * other members to 0 or the wanted value. Records grow at the end only. If a caller's record is
 * older and shorter, the library reads the missing members as 0 and does not write them. Members
 * called `reserved` must be 0.
 *
 * Errors. A function returns LM_OK or a negative code, and writes one line into `err`, which may be
 * NULL. Results are written on success only. LM_E_ARG: a value out of range, or a record of unknown
 * size. LM_E_NOTFOUND: an unknown name, or a machine file without a needed coefficient. LM_E_IO,
 * LM_E_SYNTAX: files. LM_E_NOMEM: no memory. LM_E_OVERFLOW: a count beyond 64 bits.
 *
 * Ownership. The caller closes each handle that it opened; closing NULL is fine. A library must
 * outlive its networks and predictors. A network and a machine must outlive their predictors. Texts
 * in results live as long as the handle that returned them; static texts live for ever. The library
 * reads texts in questions during the call only.
 *
 * Threads. The library has no global state and prints nothing. Threads may use different handles at
 * the same time. They may share a library, a network or a machine, because an open one never
 * changes. A predictor caches intermediate results: only one thread at a time may use it.
 */
#ifndef LAYERMETER_LAYERMETER_H
#define LAYERMETER_LAYERMETER_H

#include <layermeter/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the library, "0.2.0". Static. */
LM_API const char *lm_version(void);

/** Name of the i-th model that predicts steps, the default one first; NULL past the last.
 * Static. */
LM_API const char *lm_model_name(size_t i);

/** A value with its 90 % prediction interval. Atom. NAN: unknown. */
typedef struct lm_bounded {
    double value, low, high;
} lm_bounded;

/* ---- library: layer types and search paths ----------------------------------------------------
 */

typedef struct lm_library lm_library;

/** Search paths that come before the environment (LAYERMETER_PLUGIN_PATH, LAYERMETER_MODEL_PATH)
 * and the installed folders. The library finds the installed folders relative to
 * liblayermeter.so. A program with the static library finds them relative to its own file. */
typedef struct lm_library_options {
    size_t             size;
    const char *const *plugin; /**< files of plugins, or folders with plugins */
    size_t             n_plugins;
    const char *const *folder; /**< folders with networks, NAME.ini */
    size_t             n_folders;
    const char        *devices; /**< file of datasheets; NULL: the shipped datasheets only */
} lm_library_options;

/** Loads all layer types. LM_E_ABI: a plugin for another version. LM_E_NOTFOUND: no plugin.
 * @param options NULL: no further search paths */
LM_API lm_status lm_library_open(const lm_library_options *options, lm_library **out,
                                 lm_error *err);
LM_API void      lm_library_close(lm_library *library);

/* ---- networks ---------------------------------------------------------------------------------
 */

typedef struct lm_network lm_network;

/** Options for reading a network's file. */
typedef struct lm_network_options {
    size_t             size;
    const char *const *set; /**< "NAME=VALUE" of the file's [arguments] */
    size_t             n_set;
    const char *const *treat; /**< "OPERATOR=TYPE": layer type for an unknown operator */
    size_t             n_treat;
    const char *const *ignore; /**< operators to skip: the output is the first input */
    size_t             n_ignore;
    int32_t            strict; /**< 1: an unknown operator whose shapes are known is refused, too */
    int32_t            reserved;
} lm_network_options;

/** Opens a network by name ("resnet50"), or by the path of an .ini or .onnx file. LM_E_NOTFOUND
 * suggests the nearest name. */
LM_API lm_status lm_network_open(const lm_library *library, const char *name,
                                 const lm_network_options *options, lm_network **out,
                                 lm_error *err);
LM_API void      lm_network_close(lm_network *network);

/** The input of a network. NULL: batch 1 of f32, with the shape in the file. */
typedef struct lm_input {
    size_t      size;
    int64_t     batch; /**< samples; 0: 1 */
    const char *shape; /**< shape of one sample, "3x224x224"; NULL: the file's */
    int64_t     image; /**< height and width that replace the shape's last two; 0: no change */
    lm_dtype    dtype; /**< of activations and weights; 0: f32 */
    int32_t     reserved;
} lm_input;

/** Exact counts. 1 multiply-accumulate (MAC) is 2 FLOP. */
typedef struct lm_counts {
    size_t   size;
    uint64_t params;        /**< trained elements */
    uint64_t param_tensors; /**< trained tensors: gradients to synchronise */
    uint64_t param_bytes;
    uint64_t layers; /**< as frameworks count modules, each call once */
    uint64_t macs;   /**< forward: convolutions, linear layers, products of activations */
    uint64_t flops_forward, flops_backward;             /**< of these products */
    uint64_t other_flops_forward, other_flops_backward; /**< of all other operations */
    uint64_t activation_bytes;                          /**< outputs of the layers */
    uint64_t read_bytes, written_bytes; /**< traffic if each operand moves once; all passes */
} lm_counts;

LM_API lm_status lm_network_counts(const lm_network *network, const lm_input *input, lm_counts *out,
                                   lm_error *err);

/* ---- memory -----------------------------------------------------------------------------------
 */

enum lm_memory_flags {
    LM_MEMORY_INFERENCE      = 1, /**< a forward pass in evaluation mode: no gradients */
    LM_MEMORY_FORWARD_ONLY   = LM_MEMORY_INFERENCE, /**< its older name */
    LM_MEMORY_KEEP_GRADIENTS = 2, /**< gradients stay in memory from the start of the step */
    LM_MEMORY_INPLACE = 4,     /**< elementwise layers overwrite inputs that no other layer reads */
    LM_MEMORY_BUCKET_VIEWS = 8 /**< gradients lie in the buckets; there is no second copy */
};

/** The memory-related options of a step. NULL: momentum on one node. */
typedef struct lm_memory_options {
    size_t size;
    /** sgd, momentum, adam, adagrad, adadelta, rmsprop, adafactor; NULL: momentum */
    const char *optimizer;
    /** segments whose activations are recomputed in the backward pass; NULL: none */
    const char *recompute;
    int64_t     nodes;    /**< 0: 1 */
    uint64_t    overhead; /**< bytes added for driver context, allocator and libraries */
    lm_dtype    mixed;    /**< autocast to LM_F16, LM_BF16 or LM_F8, of f32 weights; 0: none */
    uint32_t    flags;    /**< of lm_memory_flags */
} lm_memory_options;

/** Peak memory of one device in bytes, and its parts at that moment. */
typedef struct lm_memory {
    size_t   size;
    uint64_t peak; /**< sum of all parts below, `cache` included */
    uint64_t weights, frozen, copies, gradients, buckets, optimizer;
    uint64_t inputs, activations, saved, backward, workspace, overhead;
    /** activations and saved tensors between the forward and the backward pass */
    uint64_t    kept;
    const char *layer; /**< layer at the peak; NULL: the update. Lives as long as the network */
    const char *pass;  /**< pass at the peak. Static */
    uint64_t    cache; /**< decoding: keys and values of all tokens */
} lm_memory;

LM_API lm_status lm_memory_of_step(const lm_network *network, const lm_input *input,
                                   const lm_memory_options *options, lm_memory *out, lm_error *err);

/** The largest batch whose peak is at most `room` bytes. 0: not even batch 1 fits. 2^40: no limit.
 * The function does not read input->batch. */
LM_API lm_status lm_largest_batch(const lm_network *network, const lm_input *input,
                                  const lm_memory_options *options, uint64_t room, int64_t *out,
                                  lm_error *err);

/* ---- machines and predictors ------------------------------------------------------------------
 */

typedef struct lm_machine lm_machine;

/** Reads a machine file of `layermeter fit` or `layermeter calibrate`. */
LM_API lm_status lm_machine_open(const char *path, lm_machine **out, lm_error *err);

/** Selects a machine: a machine file, or the file that ships for a device. */
typedef struct lm_machine_options {
    size_t      size;
    const char *path; /**< path of a machine file; NULL: the file that ships for `device` */
    /**
     * any name of the device. If no file ships for it, the file of the most similar measured device
     * is converted by datasheets. With `path`: the datasheet that belongs to the file
     */
    const char *device;
    /**
     * "nvlink4+8xib400": replaces the measured interconnect. NULL: as measured, or else that of a
     * usual node of the device
     */
    const char *interconnect;
    /** element type of products, which selects a shipped file; 0: the usual type */
    lm_dtype dtype;
    int32_t  reserved;
} lm_machine_options;

/**
 * Opens a machine. LM_E_NOTFOUND: an unknown device or interconnect; the text suggests similar
 * names. LM_E_ARG: neither path nor device, or an interconnect that the device cannot have.
 */
LM_API lm_status lm_machine_open_with(const lm_library *library, const lm_machine_options *options,
                                      lm_machine **out, lm_error *err);

/**
 * A property of a machine: "device", "settings", "source", "licence", "flaws", "framework",
 * "shipped_as", "transferred_from" ... NULL: not stated. The text lives as long as the machine.
 */
LM_API const char *lm_machine_told(const lm_machine *machine, const char *key);
LM_API void        lm_machine_close(lm_machine *machine);

typedef struct lm_predictor lm_predictor;

/** Options that all steps of a predictor share. NULL: all defaults. */
typedef struct lm_predictor_options {
    size_t      size;
    const char *shape;  /**< of one sample; NULL: the file's */
    int64_t     image;  /**< as in lm_input */
    const char *device; /**< name of a datasheet, for the model paleo and learned models */
    /**
     * as in lm_memory_options, without adafactor; learned models: any that was measured. NULL:
     * momentum
     */
    const char *optimizer;
    double      bandwidth; /**< between nodes, bytes/s, one way; 0: as measured */
    double      latency;   /**< of a message between nodes, s; 0: 69 us */
    const char *scheme;    /**< paleo: one_to_all, tree, ...; NULL: tree */
    double      ppp_comp;  /**< paleo: achieved fraction of peak; 0: 1 */
    double      ppp_comm;  /**< paleo: achieved fraction of the bandwidth between nodes; 0: 1 */
    lm_dtype    dtype;     /**< of activations and weights; 0: that of the machine file */
    /** f32 with autocast to LM_F16, LM_BF16 or LM_F8; LM_F32: no autocast; 0: as in the machine */
    lm_dtype mixed;
    /**
     * how kernels are launched: none (as in the measurements), eager (one by one, as in PyTorch),
     * graph (a recorded CUDA graph), file (eager if the machine file knows the host's time, else
     * none); NULL: file
     */
    const char *framework;
} lm_predictor_options;

/**
 * Prepares predictions of a network on a machine.
 *
 * @param machine NULL for a model that needs only a datasheet (paleo)
 * @param model   NULL: the default model
 * @return LM_E_NOTFOUND: an unknown model or device, or a learned model that the machine file
 *         lacks. lm_predict() reports formulas that the file lacks.
 */
LM_API lm_status lm_predictor_open(const lm_library *library, const lm_machine *machine,
                                   const lm_network *network, const char *model,
                                   const lm_predictor_options *options, lm_predictor **out,
                                   lm_error *err);
LM_API void      lm_predictor_close(lm_predictor *predictor);

/* ---- a step -----------------------------------------------------------------------------------
 */

/**
 * A step to predict: a training step, or a forward pass of inference. lm_step_of() makes one with
 * defaults.
 */
typedef struct lm_step {
    size_t  size;
    int64_t batch;        /**< samples per device and micro-step */
    int64_t nodes;        /**< machines that a network connects */
    int64_t devices;      /**< devices per node; 0: 1 */
    int64_t accumulation; /**< micro-steps; the all-reduce follows the last one; 0: 1 */
    /**
     * once, tensor, ddp[:25MiB], horovod[:128MiB:1ms]; NULL: ddp if overlap was measured between
     * nodes, else once
     */
    const char *sync;
    lm_dtype    gradients; /**< element type in the all-reduce; 0: that of the weights */
    /**
     * 0: training. 1: a forward pass in evaluation mode. Then nodes and devices are replicas
     * without communication, and `accumulation`, `sync` and `gradients` must be 0
     */
    int32_t inference;
    /**
     * how all ranks share the network and its batch, in the words of `layermeter predict --layout`:
     * "tp4 pp2 sp zero1". NULL: each rank has all of the network and samples of its own. The
     * micro-batch follows from `batch` and `accumulation` only
     */
    const char *layout;
} lm_step;

static inline lm_step lm_step_of(int64_t batch, int64_t nodes)
{
    lm_step step = { sizeof(lm_step), 0, 0, 0, 0, NULL, 0, 0, NULL };

    step.batch = batch;
    step.nodes = nodes;
    return step;
}

#define LM_BEYOND_TEXT 200

/**
 * A predicted step, in seconds. Inference: `forward` and `step` are the latency of a batch; the
 * other parts are 0.
 */
typedef struct lm_answer {
    size_t     size;
    lm_bounded forward, backward; /**< sums over all micro-steps */
    lm_bounded sync;              /**< all all-reduces, overlapped or exposed */
    lm_bounded grad;              /**< exposed all-reduces, copies, stragglers, update */
    lm_bounded step;              /**< sum of forward, backward and grad */
    double     exposed;   /**< all-reduce time that does not overlap with the backward pass */
    double     copy;      /**< copies of gradients to and from messages */
    double     straggler; /**< extra time of the slowest rank */
    double     update;    /**< update of the weights */
    double     samples_per_second;                            /**< of all devices */
    double     measured, interpolated, extrapolated, assumed; /**< shares of the step, 0 .. 1 */
    int64_t    messages;                                      /**< all-reduces of the step */
    char beyond[LM_BEYOND_TEXT]; /**< values beyond the calibrated range: "nodes x2"; "": none */
} lm_answer;

/** Predicts one step. LM_E_NOTFOUND: the machine file and the options lack a needed value. */
LM_API lm_status lm_predict(lm_predictor *predictor, const lm_step *step, lm_answer *out,
                            lm_error *err);

/* ---- parts of a step --------------------------------------------------------------------------
 */

typedef struct lm_explanation lm_explanation;

/** One part of a step: a layer, a block, a class of kernels or a term. */
typedef struct lm_part {
    size_t      size;
    const char *name;
    const char *type;    /**< of a layer; else NULL */
    double      seconds; /**< its seconds in the step; all parts add up to the step */
    /** grad: all-reduces, copies, update. NAN if the model predicts only whole steps */
    double      forward, backward, grad;
    const char *bound;       /**< the resource that limits most of it; NULL: unknown. Static */
    const char *unit;        /**< of a term: the unit that is counted; else NULL */
    double      count;       /**< of a term; else 0 */
    double      coefficient; /**< of a term: seconds per unit; NAN: no single value */
} lm_part;

/** Splits a step into parts, the longest first.
 * @param by "layer", "block", "class" (of kernels) or "term" */
LM_API lm_status lm_explain(lm_predictor *predictor, const lm_step *step, const char *by,
                            lm_explanation **out, lm_error *err);
LM_API size_t    lm_explanation_parts(const lm_explanation *explanation);
/**
 * The part number i, counted from 0. LM_E_ARG past the last. Its texts live as long as the
 * explanation.
 */
LM_API lm_status lm_explanation_part(const lm_explanation *explanation, size_t i, lm_part *out,
                                     lm_error *err);
LM_API void      lm_explanation_close(lm_explanation *explanation);

/* ---- scaling ----------------------------------------------------------------------------------
 */

typedef int32_t lm_scaling_kind;
enum lm_scaling_kinds {
    LM_SCALING_WEAK   = 0, /**< the batch per device is constant */
    LM_SCALING_STRONG = 1, /**< the global batch is constant; each device takes its share at once */
    LM_SCALING_GLOBAL = 2  /**< the same, in micro-steps of at most the step's batch */
};

/** A scaling curve: which sizes grow with the number of nodes. */
typedef struct lm_scaling {
    size_t          size;
    const lm_step  *step; /**< without its nodes; for strong scaling also without its batch */
    int64_t         global_batch; /**< samples of all devices; 0 for weak scaling */
    int64_t         dataset;      /**< samples of an epoch; 0: no epoch times */
    lm_scaling_kind kind;
    int32_t         reserved;
} lm_scaling;

/** A point of a curve. */
typedef struct lm_point {
    size_t      size;
    int64_t     nodes, devices;                    /**< devices: of each node */
    int64_t     batch, accumulation, global_batch; /**< global_batch: of all devices */
    int64_t     idle;                              /**< devices without a sample */
    lm_bounded  step;                              /**< s */
    double      exposed;                           /**< s, of the all-reduces */
    lm_bounded  samples_per_second;                /**< of all devices */
    double      speedup;                           /**< throughput relative to one node */
    lm_bounded  efficiency;                        /**< speed-up divided by the number of nodes */
    double      epoch_seconds;                     /**< NAN: no data set */
    uint64_t    steps_per_epoch;                   /**< 0: no data set */
    const char *bottleneck;                        /**< "inter-node", "arithmetic", ... Static */
    double      bottleneck_share;                  /**< of the step; NAN: unknown */
} lm_point;

/** Predicts a curve.
 * @param nodes n numbers, each 1 or more
 * @param out   n points; the size of the first is that of all */
LM_API lm_status lm_scale(lm_predictor *predictor, const lm_scaling *question, const int64_t *nodes,
                          size_t n, lm_point *out, lm_error *err);

/**
 * The smallest number of nodes whose doubling gains little: less than 10 % throughput, or for
 * strong and global scaling less than 5 % of the epoch time. 0: none up to 65536.
 */
LM_API lm_status lm_turning_point(lm_predictor *predictor, const lm_scaling *question, int64_t *out,
                                  lm_error *err);

/* ---- a whole run ------------------------------------------------------------------------------
 */

typedef int32_t lm_goal;
enum lm_goals {
    LM_GOAL_NODES = 0, /**< fewest nodes; of these the fastest */
    LM_GOAL_COST  = 1, /**< cheapest; of these the fewest nodes */
    LM_GOAL_TIME  = 2  /**< fastest; of these the cheapest */
};

/** A training run and its limits. */
typedef struct lm_run {
    size_t         size;
    const lm_step *step;  /**< without its nodes, batch and layout */
    const int64_t *nodes; /**< to choose from */
    size_t         n_nodes;
    const int64_t *batch; /**< to choose from */
    size_t         n_batches;
    int64_t        global_batch; /**< of all devices; 0: batch times devices */
    int64_t        epochs;       /**< 0: 1 */
    int64_t        dataset;      /**< samples of an epoch */
    int64_t        evaluate;     /**< samples of the evaluation after each epoch; 0: none */
    double         startup;      /**< s, once, before the first step */
    double         deadline;     /**< s; 0: none */
    double         budget;       /**< in the currency of `price`; 0: none */
    double         price;        /**< of a node for an hour, in any currency; 0: unknown */
    uint64_t       memory;       /**< per device, bytes; 0: all batches fit */
    uint64_t       overhead;     /**< bytes of this memory that the step cannot use */
    lm_goal        goal;
    int32_t        reserved;
} lm_run;

/** The chosen plan. */
typedef struct lm_plan {
    size_t     size;
    int64_t    nodes, batch, accumulation, global_batch;
    uint64_t   steps;   /**< of an epoch */
    lm_bounded step;    /**< s, of one */
    lm_bounded seconds; /**< of the whole run, with start-up and evaluations */
    double     device_hours;
    lm_bounded cost;    /**< in the currency of `price`; NAN without a price */
    uint64_t   n_plans; /**< number of plans that were compared */
} lm_plan;

/** Plans a run. LM_E_NOTFOUND: no plan meets deadline, budget and memory; the text says why. */
LM_API lm_status lm_plan_run(lm_predictor *predictor, const lm_run *question, lm_plan *out,
                             lm_error *err);

/* ---- layouts ----------------------------------------------------------------------------------
 */

/** A search for the fastest layouts: the ways in which all ranks share a network. */
typedef struct lm_layout_question {
    size_t         size;
    const lm_step *step;         /**< with its nodes and devices; without batch and layout */
    int64_t        global_batch; /**< samples of a step on all ranks */
    int64_t        most_batch;   /**< samples of a micro-step on a rank; 0: 64 */
    uint64_t       memory;       /**< per device, bytes; 0: any layout fits */
    uint64_t       overhead;     /**< bytes of this memory that the step cannot use */
} lm_layout_question;

#define LM_LAYOUT_TEXT 448

/**
 * A layout. To predict its step, copy `words`, `batch` and `accumulation` into an lm_step. The
 * times of the parts add up to the step.
 */
typedef struct lm_layout {
    size_t     size;
    char       words[LM_LAYOUT_TEXT]; /**< as lm_step.layout: "tp4 pp2 sp zero1" */
    int64_t    batch, accumulation;
    lm_bounded step;     /**< s */
    double     compute;  /**< s, forward and backward passes */
    double     tensor;   /**< s, messages that passes wait for */
    double     pipeline; /**< s, waiting for other pipeline stages */
    double     data;     /**< s, exposed messages with gradients and weights */
    double     update;   /**< s */
    double     memory;   /**< bytes on the rank that needs most, with the overhead */
    int64_t    tie;      /**< 1: as fast as the first layout, within their intervals */
} lm_layout;

/**
 * Finds the fastest layouts, in order of step time. For each pair of tp and pp the result has only
 * the fastest layout.
 *
 * @param out *n records; the size of the first applies to all
 * @param n   in: the number wanted, 1 or more; out: the number found
 * @return LM_E_NOTFOUND: no layout fits the memory, or none can be predicted; the text says why
 */
LM_API lm_status lm_layouts_find(lm_predictor *predictor, const lm_layout_question *question,
                                 lm_layout *out, size_t *n, lm_error *err);

/* ---- datasheets and prices --------------------------------------------------------------------
 */

#define LM_NAME_TEXT 80

/** Figures from a device's datasheet. NAN: not stated. */
typedef struct lm_device {
    size_t size;
    char   name[LM_NAME_TEXT];
    double memory;                   /**< bytes */
    double bandwidth;                /**< of the memory, bytes/s */
    double power;                    /**< limit, W */
    double f32, tf32, f16, bf16, f8; /**< peak rates without sparsity, FLOP/s */
} lm_device;

/** Finds a device by any of its names. LM_E_NOTFOUND suggests similar names. */
LM_API lm_status lm_device_find(const lm_library *library, const char *name, lm_device *out,
                                lm_error *err);

/** Price of a node for an hour. NAN: not stated. */
typedef struct lm_price {
    size_t size;
    char   section[LM_NAME_TEXT]; /**< section of the shipped prices: an instance or a device */
    char   date[16];              /**< of the price, "2026-01-31"; "": not stated */
    char   currency[8];           /**< "USD" */
    double list, spot;            /**< list: on demand; spot: may be withdrawn at any time */
} lm_price;

/**
 * The cheapest shipped price of a node with `devices` devices in use. Prices were copied with their
 * dates; they were not checked. LM_E_NOTFOUND: no price. LM_E_ARG: nodes with a price have fewer
 * devices.
 */
LM_API lm_status lm_price_find(const lm_library *library, const char *device, int64_t devices,
                               lm_price *out, lm_error *err);

#ifdef __cplusplus
}
#endif
#endif
