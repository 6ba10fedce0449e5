/**
 * Learned models of single layers, side by side: what each looks at, and what it learns with.
 *
 * A model of such a kind has features of a layer in a phase, and a learner for each task: a type of
 * layer in some phases, "conv" or "conv.backward". Everything else is the same of all of them:
 * which rows belong to which task, the file beside the machine file (its name is the model's:
 * "machine.justus"), left out what is validated, networks as sums of their layers.
 *
 * A new one is a file beside this one with its layerwise_kind, and a line in LAYERWISE_KINDS.
 */
#ifndef LAYERWISE_H
#define LAYERWISE_H

#include "device/device.h"
#include "learn/learner.h"
#include "learn/lines.h"
#include "network/bind.h"
#include "observe/observation.h"

#define LAYERWISE_FEATURES 96 /**< of a task, at most */
#define LAYERWISE_NAME     48 /**< of tasks and features, with its end */
#define LAYERWISE_SETTINGS 16 /**< of a kind, at most */

/** Quantities that a model tells of a layer. */
typedef enum layerwise_target {
    LAYERWISE_SECONDS,
    LAYERWISE_WATTS, /**< mean over its repetitions */
    N_LAYERWISE_TARGETS
} layerwise_target;

/** A question: layers in a row, each the only reader of the one before it, in a phase. */
typedef struct layerwise_case {
    const bound_layer *const *layer; /**< no inputs among them */
    size_t                    n_layers;
    phase                     phase;
    int64_t                   batch;
    lm_dtype                  dtype;
    const char               *optimizer; /**< any word; "" where the phase has no update */
    const char               *settings; /**< of the row (OBSERVATIONS.md); "": none, or not known */
    const device             *on;       /**< by its datasheet; NULL: unknown */
    double                    clock_mhz; /**< that the device is held at; NAN: at none */
} layerwise_case;

typedef enum layerwise_sort {
    LAYERWISE_COUNT,  /**< may leave what was learned from, which is told */
    LAYERWISE_FLAG,   /**< of a word: nothing is told of values that were not learned from */
    LAYERWISE_DEVICE, /**< of a datasheet: in use where several devices are learned from, else not
                       */
    LAYERWISE_OVER,   /**< a count over a figure of a datasheet: in use where these are */
    LAYERWISE_SOME,   /**< a count that is in use only where it differs between rows */
    LAYERWISE_WORD,   /**< 1 of devices of which a word is true, else 0: of the setting "gpu" */
    LAYERWISE_MHZ     /**< a clock; 0: none is held. Nothing is told outside of those learned */
} layerwise_sort;

/** Features of a case, in an order that is the same of all cases of a task. */
typedef struct layerwise_features {
    struct {
        char           name[LAYERWISE_NAME];
        layerwise_sort sort;
        double         value; /**< NAN: unknown, which is refused where it is in use */
    } of[LAYERWISE_FEATURES];
    size_t n;
} layerwise_features;

/** Appends one. `name` without blanks. */
void layerwise_add(layerwise_features *to, const char *name, layerwise_sort sort, double value);
/** Appends a flag for each word of a list that ends in NULL, named "prefix.word": 1 of that which
 * `found` is, else 0; and "prefix.other", 1 where it is another. Of "" all are 0. */
void layerwise_add_words(layerwise_features *to, const char *prefix, const char *const *word,
                         const char *found);

/** Features of the clock that a device is held at: MHz, 0 where it is not; and whether it is. */
#define LAYERWISE_CLOCK "clock_mhz"
#define LAYERWISE_HELD  "clock_held"

/**
 * The name of a feature of a device: "gpu.T4" (its name), "technology.Turing" (its architecture),
 * "connection.slot" (how it is fed); blanks are "_".
 *
 * @return false where the device does not tell
 */
bool layerwise_device_word(const char *word, const device *on, char name[LAYERWISE_NAME]);

/** Functions and optimizers that published models tell apart, for layerwise_add_words(). */
extern const char *const layerwise_activations[], *const layerwise_optimizers[];
/** Is it the product of queries, keys and values? */
bool layerwise_is_attention(const bound_layer *l);
/** Feature of a chained function: "chained.relu". */
#define LAYERWISE_CHAINED "chained"
/** One input that one kernel maps, without weights? */
bool layerwise_is_function(const bound_layer *l);
/** Is its output one number? */
bool layerwise_is_loss(const bound_layer *l);

/** A number that a user may set: `fit --learn layers=6`. */
typedef struct layerwise_setting {
    const char *name;
    double      usual, low, high;
    const char *doc;
} layerwise_setting;

/** How well it tells rows that its weights, trees ... did not see. */
typedef struct layerwise_judgement {
    size_t seen, held; /**< rows of each */
    double mape;       /**< of those held; NAN: none were */
} layerwise_judgement;

/** How a kind learns: what is learned is its own. */
typedef struct layerwise_learner {
    /**
     * Learns, and sets some of the rows apart to judge by, at random or by group.
     *
     * @param rows    seconds or watts; rows of one network, or else of one shape, are a group
     * @param setting values in the order of the kind's settings
     * @param seed    an equal seed gives an equal model
     * @param left_out prediction of each row without its group; NAN: there is none
     * @return LM_E_ARG for rows nothing can be learned of, LM_E_UNSUPPORTED if the build cannot,
     *         LM_E_NOMEM
     */
    lm_status (*learn)(const char *task, const learner_rows *rows, layerwise_target target,
                       const double *setting, uint64_t seed, void **out,
                       layerwise_judgement *judged, double *left_out, lm_error *err);
    /** Seconds or watts of n rows of features, as it was taught. LM_E_NOMEM. */
    lm_status (*predict)(const void *learned, const double *x, size_t n, double *y, lm_error *err);
    /** Its text, both ways; returns how many features a row has. */
    size_t (*text)(lines *l, void **learned);
    void (*free)(void *learned);
    /** Name of the learner that learn() chose; NULL: there is no choice. `text` of 40. */
    const char *(*name)(const void *learned, char *text, size_t size);
    /** learner_decide() of a row of features; NULL: it has no trees. */
    lm_status (*decide)(const void *learned, const double *x, learner_way *out, lm_error *err);
} layerwise_learner;

typedef struct layerwise_kind {
    const char *name; /**< "justus": of --model, of its file */
    const char *doc;  /**< one line */
    bool        target[N_LAYERWISE_TARGETS];
    size_t      fewest; /**< rows of a task, below which nothing is learned */
    /** In networks, does a convolution include the padding in front of it, and a convolution or a
     * product the activation behind it? Otherwise each layer is a case by itself. */
    bool chains;
    /** Are rows of a layer with the function behind it known by features `chained.FUNCTION`, and
     * joined in networks where such were learned? */
    bool chained;
    bool clocks; /**< has the two features of clocks: rows of all clocks are learned together */
    /** Its task into `name` (LAYERWISE_NAME of them). False: the model knows no such thing. */
    bool (*task)(const layerwise_case *c, char *name);
    /** Features of a case that has a task. Unknown figures of devices are NAN. */
    void (*features)(const layerwise_case *c, layerwise_features *out);
    /** The group of a feature, by which several are chosen at once; NULL: all are \"baseline\". */
    const char *(*group)(const char *feature);
    layerwise_setting setting[LAYERWISE_SETTINGS]; /**< up to one without a name */
    /** Words of devices that the setting "gpu" makes features of, where rows are of several; up to NULL. */
    const char *word[4];
    const char *published; /**< settings of the published model; NULL: the usual ones */
    /** Is a feature of the published encoding, or of the usual one? The setting "encoding" says which
     * is in use. NULL: there is no other encoding. */
    bool (*encoded)(const char *feature, bool published);
    const layerwise_learner *learner;
} layerwise_kind;

/** All there are, each in a file of its own, in the order in which they are listed. */
#define LAYERWISE_KINDS(kind) kind(layerwise_justus) kind(layerwise_prenet) kind(layerwise_nicolai)

#define LAYERWISE_DECLARED(kind) extern const layerwise_kind kind;
LAYERWISE_KINDS(LAYERWISE_DECLARED)

/** All of them, up to a NULL. */
extern const layerwise_kind *const layerwise_kinds[];
/** NULL: there is none of that name. */
const layerwise_kind *layerwise_find(const char *name);
/** Names of all, with `between` between two: "justus, prenet". */
const char *layerwise_names(const char *between, char *text, size_t size);

/** The value of a kind's setting, by its name; 0: it has no such setting. */
double layerwise_setting_of(const layerwise_kind *kind, const double *setting, const char *name);

/**
 * Values of all settings of a kind: the usual ones, changed by `text`, "layers=6,epochs=40".
 * "published" stands for the settings of the published model, which later words may change.
 * Settings that only other `layerwise_kinds` know are passed over. LM_E_NOTFOUND, LM_E_ARG.
 */
lm_status layerwise_settings(const layerwise_kind *kind, const char *text,
                             double out[LAYERWISE_SETTINGS], lm_error *err);

#endif
