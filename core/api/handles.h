/**
 * What is behind the handles of layermeter.h, and how they are opened.
 *
 * The program opens its networks, machines and predictors here, too: with options that are read
 * already, where layermeter.h has texts.
 */
#ifndef API_HANDLES_H
#define API_HANDLES_H

#include <layermeter/layermeter.h>

#include "predict/predict.h"
#include "transfer/of_device.h"

struct lm_library {
    registry          *reg;
    lm_library_options from;  /**< its texts are copies */
    struct arena      *arena; /**< owns these */
};

struct lm_network {
    const lm_library *library;
    network          *net;
    char             *name; /**< as measured networks are looked up: network_name_key() */
};

/** A step of decoding of an open network, which must outlive it: network_decoding(). */
lm_status network_handle_decoding(const lm_network *from, int64_t context, lm_network **out,
                                  lm_error *err);

struct lm_machine {
    calibration *cal;           /**< not written once it is open: threads share it */
    char        *path;          /**< or the device that a shipped file is of */
    interconnect link;          /**< between nodes; zeros: nothing is told */
    char         link_name[80]; /**< behind link.name */
};

/** Which machine. */
typedef struct machine_asked {
    const char           *path;    /**< a file of one's own; NULL: `shipped` */
    const device_machine *shipped; /**< of a device; NULL: `path` */
    const char           *device;  /**< datasheet, in place of the device that the file says */
    const char           *devices; /**< file of datasheets; NULL: the shipped ones */
    interconnect          link;    /**< a name, or a told rate; zeros: the device's usual node */
} machine_asked;

/**
 * Reads a machine, lays the named interconnect in place of what was measured, and else what connects
 * devices of a usual node, and nodes of a shipped machine: that is assumed.
 *
 * @return what machine_load(), device_machine_load(), interconnect_suits() and
 *         interconnect_settle() return
 */
lm_status machine_handle_open(const machine_asked *q, lm_machine **out, lm_error *err);

struct lm_predictor {
    predictor         who;
    workloads        *loads;
    const lm_network *network;
    step_scan        *scan;      /**< behind who.scan; NULL: steps share nothing */
    sync_policy       usual;     /**< of steps that say nothing */
    optimizer         optimizer; /**< of all steps */
    char              input[64]; /**< behind who.input */
    char              model[64]; /**< behind who.model */
};

/** Of a message between nodes whose link is told by its bandwidth alone. */
#define LINK_LATENCY "20us"

/** All layer types: plugins that are named, of the environment, installed. */
lm_status registry_open(const char *const *plugins, size_t n, registry **out, lm_error *err);

/** What is said of a predictor beside its machine and network. */
/** Of predictor_asked.dtype: f32 whose products are taken as TF32, which is no type of its own. */
#define ASKED_TF32 ((lm_dtype)-1)

typedef struct predictor_asked {
    const char    *model;
    const char    *input; /**< shape of one sample; NULL: the file's */
    int64_t        image; /**< height and width; 0: the shape's */
    lm_dtype       dtype; /**< 0: the machine's; or ASKED_TF32 */
    lm_dtype       mixed; /**< autocast to LM_F16 or LM_BF16; LM_F32: none; 0: as the machine */
    framework_kind framework;
    interconnect   link; /**< zeros: the machine's */
    model_source   source;
} predictor_asked;

/** What lm_predictor_open() does. `machine` NULL: a model that takes a datasheet. The texts of
 * `asked` but for its source's live as long as the predictor, or are copied. */
lm_status predictor_handle_open(const lm_library *library, const lm_machine *machine,
                                const lm_network *network, const predictor_asked *asked,
                                lm_predictor **out, lm_error *err);

/** From now on steps share what they can. */
lm_status predictor_handle_scan(lm_predictor *p, lm_error *err);

/** The step that a record asks about. */
lm_status step_of_record(const lm_predictor *p, const lm_step *step, step_setup *out,
                         lm_error *err);

/* ---- records ---- */

/**
 * Copies a question's record: what an older one lacks becomes 0.
 *
 * @param theirs begins with its size; NULL: nothing is said
 * @param least  size of the record's first version
 * @return LM_E_ARG for a smaller size, and a larger one that says what this version does not know
 */
lm_status question_take(void *mine, size_t size, size_t least, const void *theirs, const char *name,
                        lm_error *err);
/** Is an answer's record at least of the first version? */
lm_status record_has(const void *theirs, size_t least, const char *name, lm_error *err);
/** Copies an answer into the room there is; its size stays the caller's. */
void answer_give(void *theirs, const void *mine, size_t size);

#define QUESTION_TAKE(mine, theirs, err) \
    question_take(&(mine), sizeof(mine), sizeof(mine), (theirs), #theirs, err)
/** The same of a record that grew behind its first version: `behind` is the first member that came. */
#define QUESTION_TAKE_FROM(mine, behind, theirs, err)                                        \
    question_take(&(mine), sizeof(mine), (size_t)((char *)&(mine).behind - (char *)&(mine)), \
                  (theirs), #theirs, err)
#define ANSWER_CHECK(out, err) record_has((out), sizeof *(out), #out, err)

#endif
