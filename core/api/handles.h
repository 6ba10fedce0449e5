/**
 * The structs behind the handles of layermeter.h, and the functions that open them.
 *
 * The commands open networks, machines and predictors with the same functions. They pass parsed
 * options, where layermeter.h takes texts.
 */
#ifndef API_HANDLES_H
#define API_HANDLES_H

#include <limits.h>

#include <layermeter/layermeter.h>

#include "predict/predict.h"
#include "transfer/of_device.h"

struct lm_library {
    registry          *reg;
    lm_library_options from;  /**< copy of the options; `arena` owns the texts */
    struct arena      *arena; /**< owns the texts of `from` */
};

struct lm_network {
    const lm_library *library;
    network          *net;
    char             *name; /**< key in the list of measured networks: network_name_key() */
};

/**
 * Makes a network of one decoding step, from an open network that must outlive it:
 * network_decoding().
 */
lm_status network_handle_decoding(const lm_network *from, int64_t context, lm_network **out,
                                  lm_error *err);

struct lm_machine {
    calibration *cal;           /**< constant once open: threads share it */
    char        *path;          /**< path of the file; or the device of a shipped file */
    bool         shipped;       /**< `path` is a device */
    interconnect link;          /**< between nodes; zeros: not stated */
    char         link_name[80]; /**< storage for link.name */
};

/** Selects a machine: `path` or `shipped`. */
typedef struct machine_asked {
    const char           *path;    /**< the user's own file; NULL: `shipped` */
    const device_machine *shipped; /**< file that ships for a device; NULL: `path` */
    const char           *device;  /**< name of a datasheet that replaces the file's device */
    /** path of a file of datasheets; NULL: the shipped datasheets */
    const char *devices;
    /** a named interconnect, or a rate; zeros: a usual node of the device */
    interconnect link;
} machine_asked;

/**
 * Reads a machine and sets its interconnect. A named interconnect replaces the measured one. A
 * shipped machine without a named one gets the interconnects of a usual node, which counts as
 * assumed.
 *
 * @return errors of machine_load(), device_machine_load(), interconnect_suits() and
 *         interconnect_settle()
 */
lm_status machine_handle_open(const machine_asked *q, lm_machine **out, lm_error *err);

struct lm_predictor {
    predictor         who;
    workloads        *loads;
    const lm_network *network;
    step_scan        *scan;                  /**< storage for who.scan; NULL: steps share no work */
    sync_policy       usual;                 /**< default policy of steps */
    optimizer         optimizer;             /**< of all steps */
    char              input[64];             /**< storage for who.input */
    char              model[64];             /**< storage for who.model */
    char              measured_so[PATH_MAX]; /**< storage for who.measured_so */
};

/** Default latency of a message between nodes if the user gives only a bandwidth. */
#define LINK_LATENCY "69us"

/** Loads all layer types: named plugins, plugins of the environment, installed plugins. */
lm_status registry_open(const char *const *plugins, size_t n, registry **out, lm_error *err);

/** Options of a predictor, beside its machine and network. */
typedef struct predictor_asked {
    const char *model;
    const char *input; /**< shape of one sample; NULL: the file's */
    int64_t     image; /**< height and width; 0: the shape's */
    lm_dtype    dtype; /**< 0: that of the machine; or DTYPE_TF32 */
    /** autocast to LM_F16 or LM_BF16; LM_F32: none; 0: as in the machine file */
    lm_dtype       mixed;
    framework_kind framework;
    interconnect   link; /**< zeros: that of the machine */
    model_source   source;
} predictor_asked;

/**
 * Opens a predictor for lm_predictor_open(). `machine` NULL: a model that needs only a datasheet.
 * The predictor copies `model` and `input`; the texts of `source` must outlive it.
 */
lm_status predictor_handle_open(const lm_library *library, const lm_machine *machine,
                                const lm_network *network, const predictor_asked *asked,
                                lm_predictor **out, lm_error *err);

/** Lets all later steps share intermediate results. */
lm_status predictor_handle_scan(lm_predictor *p, lm_error *err);

/** Converts a caller's lm_step to a step_setup. */
lm_status step_of_record(const lm_predictor *p, const lm_step *step, step_setup *out,
                         lm_error *err);

/* ---- records ---- */

/**
 * Copies a question record of a caller; members that an older record lacks become 0.
 *
 * @param theirs begins with its size; NULL: all defaults
 * @param least  size of the record's first version
 * @return LM_E_ARG for a size below `least`, and for a larger record with non-zero members that
 *         this version does not know
 */
lm_status question_take(void *mine, size_t size, size_t least, const void *theirs, const char *name,
                        lm_error *err);
/** Checks that an answer record has at least the size of its first version. */
lm_status record_has(const void *theirs, size_t least, const char *name, lm_error *err);
/** Copies an answer into the caller's record, up to the size there; `size` stays the caller's. */
void answer_give(void *theirs, const void *mine, size_t size);

#define QUESTION_TAKE(mine, theirs, err) \
    question_take(&(mine), sizeof(mine), sizeof(mine), (theirs), #theirs, err)
/**
 * QUESTION_TAKE for a record that grew after its first version; `behind` is the first added member.
 */
#define QUESTION_TAKE_FROM(mine, behind, theirs, err)                                        \
    question_take(&(mine), sizeof(mine), (size_t)((char *)&(mine).behind - (char *)&(mine)), \
                  (theirs), #theirs, err)
#define ANSWER_CHECK(out, err) record_has((out), sizeof *(out), #out, err)

#endif
