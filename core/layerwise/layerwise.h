/**
 * Learned models of single layers: their features and learners.
 *
 * A kind of model has features of a layer in a phase, and a learner for each task. A task is a type
 * of layer in some phases, "conv" or "conv.backward". All kinds share the rest: the assignment of
 * rows to tasks, the file beside the machine file (its name is the model's: "machine.justus"),
 * cross-validation, and networks as sums of their layers.
 *
 * A new kind is a file in this folder with its layerwise_kind, and a name in LAYERWISE_KINDS.
 */
#ifndef LAYERWISE_H
#define LAYERWISE_H

#include "device/device.h"
#include "learn/learner.h"
#include "learn/lines.h"
#include "network/bind.h"
#include "observe/observation.h"

#define LAYERWISE_FEATURES 96 /**< limit for a task */
#define LAYERWISE_NAME     48 /**< size of names of tasks and features, with the terminating 0 */
#define LAYERWISE_SETTINGS 16 /**< limit for a kind */

/** Quantities that a model predicts for a layer. */
typedef enum layerwise_target {
    LAYERWISE_SECONDS,
    LAYERWISE_WATTS, /**< mean over the repetitions */
    N_LAYERWISE_TARGETS
} layerwise_target;

/** A question: a chain of layers in a phase; each layer is the only reader of the one before it. */
typedef struct layerwise_case {
    const bound_layer *const *layer; /**< without inputs */
    size_t                    n_layers;
    phase                     phase;
    int64_t                   batch;
    lm_dtype                  dtype;
    const char               *optimizer; /**< any word; "" if the phase has no update */
    const char               *settings;  /**< of the row (OBSERVATIONS.md); "": none, or unknown */
    const device             *on;        /**< device with a datasheet; NULL: unknown */
    double                    clock_mhz; /**< held clock of the device; NAN: not held */
} layerwise_case;

typedef enum layerwise_sort {
    LAYERWISE_COUNT,  /**< may exceed the training range; the answer says so */
    LAYERWISE_FLAG,   /**< a flag for a word: no prediction for values without training rows */
    LAYERWISE_DEVICE, /**< of a datasheet: used only if several devices are learned together */
    /** a count divided by a figure of a datasheet: used if LAYERWISE_DEVICE is */
    LAYERWISE_OVER,
    LAYERWISE_SOME, /**< a count that is used only if it differs between rows */
    LAYERWISE_WORD, /**< 1 for devices with this word, else 0: for the setting "gpu" */
    LAYERWISE_MHZ   /**< a clock; 0: not held. No prediction outside the training range */
} layerwise_sort;

/** Features of a case. Their order is the same for all cases of a task. */
typedef struct layerwise_features {
    struct {
        char           name[LAYERWISE_NAME];
        layerwise_sort sort;
        double         value; /**< NAN: unknown; refused if the feature is used */
    } of[LAYERWISE_FEATURES];
    size_t n;
} layerwise_features;

/** Appends a feature. `name` has no blanks. */
void layerwise_add(layerwise_features *to, const char *name, layerwise_sort sort, double value);
/**
 * Appends a flag for each word of a list that ends with NULL, named "prefix.word": 1 for the word
 * `found`, else 0. Then "prefix.other", 1 for a word outside the list. With `found` "" all are 0.
 */
void layerwise_add_words(layerwise_features *to, const char *prefix, const char *const *word,
                         const char *found);

/** Features of a held clock: MHz, 0 if not held; and whether it is held. */
#define LAYERWISE_CLOCK "clock_mhz"
#define LAYERWISE_HELD  "clock_held"

/**
 * The name of a device's flag: "gpu.T4" (its name), "technology.Turing" (its architecture),
 * "connection.slot" (its power supply); blanks become "_".
 *
 * @return false if the device has no such word
 */
bool layerwise_device_word(const char *word, const device *on, char name[LAYERWISE_NAME]);

/** Functions and optimizers that published models distinguish, for layerwise_add_words(). */
extern const char *const layerwise_activations[], *const layerwise_optimizers[];
/** Is it a product of queries, keys and values? */
bool layerwise_is_attention(const bound_layer *l);
/** Prefix of a feature for a chained function: "chained.relu". */
#define LAYERWISE_CHAINED "chained"
/** Does it have one input, one elementwise kernel, and no weights? */
bool layerwise_is_function(const bound_layer *l);
/** Is its output a single number? */
bool layerwise_is_loss(const bound_layer *l);

/** A number that a user may set: `fit --learn layers=6`. */
typedef struct layerwise_setting {
    const char *name;
    double      usual, low, high;
    const char *doc;
} layerwise_setting;

/** Error of a learner on rows that it did not see. */
typedef struct layerwise_judgement {
    size_t seen, held; /**< rows seen, rows held out */
    double mape;       /**< error on held-out rows; NAN: none */
} layerwise_judgement;

/** How a kind learns; the type of what is learned is private to it. */
typedef struct layerwise_learner {
    /**
     * Learns, and holds out some rows to judge the result, at random or by group.
     *
     * @param rows    seconds or watts; rows of one network, or else of one shape, are a group
     * @param setting values in the order of the kind's settings
     * @param seed    the same seed gives the same model
     * @param left_out prediction of each row without its group; NAN: none. NULL: not wanted, and
     *                 `judged` is then not set by learners without a choice
     * @return LM_E_ARG for rows from which nothing can be learned, LM_E_UNSUPPORTED if the build
     *         cannot, LM_E_NOMEM
     */
    lm_status (*learn)(const char *task, const learner_rows *rows, layerwise_target target,
                       const double *setting, uint64_t seed, void **out,
                       layerwise_judgement *judged, double *left_out, lm_error *err);
    /** Seconds or watts of n rows of features. LM_E_NOMEM. */
    lm_status (*predict)(const void *learned, const double *x, size_t n, double *y, lm_error *err);
    /** Reads or writes the text; returns the number of features in a row. */
    size_t (*text)(lines *l, void **learned);
    void (*free)(void *learned);
    /** Name of the learner that learn() chose; NULL: there is no choice. `text` has 40 bytes. */
    const char *(*name)(const void *learned, char *text, size_t size);
    /** learner_decide() for a row of features; NULL: no trees. */
    lm_status (*decide)(const void *learned, const double *x, learner_way *out, lm_error *err);
    /** Changes the settings to those of the learner that learn() chose; NULL: there is no choice. */
    void (*settle)(const void *learned, double *setting);
} layerwise_learner;

typedef struct layerwise_kind {
    const char *name; /**< "justus": for --model, and for its file */
    const char *doc;  /**< one line */
    bool        target[N_LAYERWISE_TARGETS];
    size_t      fewest; /**< fewest rows of a task */
    /**
     * In networks: does a convolution include the padding before it, and a convolution or product
     * the activation after it? Otherwise each layer is a separate case.
     */
    bool chains;
    /**
     * Do features `chained.FUNCTION` mark rows of a layer with the function after it? Then such
     * layers of networks are joined, if such rows were learned.
     */
    bool chained;
    bool clocks; /**< has the two features of clocks: rows of all clocks are learned together */
    /** Writes the task to `name` (LAYERWISE_NAME bytes). False: the model knows no such case. */
    bool (*task)(const layerwise_case *c, char *name);
    /** Features of a case that has a task. Unknown figures of devices are NAN. */
    void (*features)(const layerwise_case *c, layerwise_features *out);
    /** The group of a feature, for selecting several at once; NULL: all are \"baseline\". */
    const char *(*group)(const char *feature);
    layerwise_setting setting[LAYERWISE_SETTINGS]; /**< ends with an entry without a name */
    /**
     * Words of devices that become features with the setting "gpu", if rows are from several
     * devices; ends with NULL.
     */
    const char *word[4];
    const char *published; /**< settings of the published model; NULL: the default settings */
    /**
     * Does a feature belong to the published encoding, or to the default one? The setting
     * "encoding" selects one. NULL: there is only one.
     */
    bool (*encoded)(const char *feature, bool published);
    const layerwise_learner *learner;
} layerwise_kind;

/** All kinds, each in its own file, in the order of lists. */
#define LAYERWISE_KINDS(kind) kind(layerwise_justus) kind(layerwise_prenet) kind(layerwise_nicolai)

#define LAYERWISE_DECLARED(kind) extern const layerwise_kind kind;
LAYERWISE_KINDS(LAYERWISE_DECLARED)

/** All kinds; ends with NULL. */
extern const layerwise_kind *const layerwise_kinds[];
/** NULL: no such name. */
const layerwise_kind *layerwise_find(const char *name);
/** All names, separated by `between`: "justus, prenet". */
const char *layerwise_names(const char *between, char *text, size_t size);

/** The value of a kind's setting; 0: no such setting. */
double layerwise_setting_of(const layerwise_kind *kind, const double *setting, const char *name);

/**
 * Values of all settings of a kind: the defaults, changed by `text`, "layers=6,epochs=40".
 * "published" selects the settings of the published model; later words may change them. Settings
 * that only other `layerwise_kinds` have are ignored. LM_E_NOTFOUND, LM_E_ARG.
 */
lm_status layerwise_settings(const layerwise_kind *kind, const char *text,
                             double out[LAYERWISE_SETTINGS], lm_error *err);

#endif
