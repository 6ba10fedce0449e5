/**
 * Shared parts of commands that predict: layer types, machine files, networks and models, opened
 * together; the policy of gradients; several machines on one command line.
 */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/commands.h"
#include "plan/job.h"
#include "predict/scaling.h"
#include "transfer/of_device.h"

/** Selects step, model and machine. */
typedef struct session_options {
    /**
     * machine NULL: not given; session_check() may set it to the file that ships for source.device
     */
    const char     *machine, *model;
    bind_options    input; /**< without a batch; dtype 0: that of the machine file */
    network_options network;
    /** device whose shipped file `machine` is; NULL: it is the user's file */
    const device_machine *shipped;
    interconnect          link;   /**< valid after session_check(); zeros: not given */
    model_source          source; /**< setup_check() sets its optimizer */
    framework_kind        framework;
} session_options;

/**
 * Finds the machine of a device by any of its names: device_machine_find(). *out belongs to the
 * options.
 */
lm_status session_shipped(const options *o, const session_options *q, const char *name,
                          const device_machine **out, lm_error *err);

/** Option rows: all; and those for commands that use only machine files. */
extern const option_row session_option_rows[], session_machine_option_rows[];

/** The model of `--model`; NULL before session_check() if it does not exist. */
const step_model *session_model(const session_options *q);

/**
 * Checks these options.
 *
 * @param device_counts is --device meaningful with a model that has a machine file?
 */
lm_status session_check(const options *o, session_options *q, bool device_counts, lm_error *err);

typedef struct session {
    lm_library   *library;
    lm_network   *network;
    lm_machine   *machine; /**< NULL: for a model with a datasheet */
    lm_predictor *by;
    bool          shares; /**< library and network belong to the first session of a fleet */
    /* The contents of these handles. */
    const registry    *reg;
    const network     *net;
    const calibration *cal; /**< NULL: no machine */
    const predictor   *who;
} session;

/** Options for its predictor. */
predictor_asked session_asked(const session_options *q);

/** Opens a session; the network is argument 0. Call session_close() in either case. */
lm_status session_open(const options *o, const session_options *q, session *out, lm_error *err);
/** The same with library and network of `shared`; NULL: with its own. */
lm_status session_open_beside(const options *o, const session_options *q, const session *shared,
                              session *out, lm_error *err);
void      session_close(session *s);

#define USUAL_NODE 8 /**< devices of a cloud's node that has several */

/* ---- decoding ---- */

/** Fills it: --context and --new-tokens. */
typedef struct decode_choice {
    int64_t context, tokens; /**< context 0: not given */
} decode_choice;

extern const option_row decode_option_rows[];
/** Words of --phase in commands that support decoding. */
#define PHASES_AND_DECODE "training, inference or decode"

/** Checks that the context of decoding is given. */
lm_status decode_check(const decode_choice *d, program_kind program, lm_error *err);

/* ---- gradients and optimizer ---- */

/** --sync: `auto`, or a policy. */
typedef struct sync_choice {
    bool        automatic;
    sync_policy policy;
} sync_choice;

/** The options. */
typedef struct setup_choice {
    /* The options as given. */
    program_kind  program;
    decode_choice decode;
    sync_choice   sync;
    option_counts buckets; /**< bytes; automatic: the best size is wanted */
    lm_dtype      dtype;
    int64_t       accumulate;
    const char   *optimizer;
    /* Values that setup_check() derives: */
    /**
     * without batch and nodes, which are 1; with the first policy. Devices per node are an option
     * of the command
     */
    step_setup   setup;
    sync_policy *policy; /**< policy of --sync, or one for each --bucket; owned by the options */
    size_t       n;
    bool         given; /**< --sync or --bucket was given, other than `auto` */
} setup_choice;

/** Fill a setup_choice: --phase with what decoding takes, and the rest. */
extern const option_row phase_option_rows[], setup_option_rows[];

/**
 * Derives policies and optimizer. Options of training are refused for inference. A learned model of
 * single layers knows each measured optimizer by its word; `setup` then has the default one.
 *
 * @param known_only refuses optimizers that the program itself does not know
 */
lm_status setup_check(options *o, setup_choice *c, session_options *q, bool known_only,
                      lm_error *err);

/** The quantity that stays constant with more devices. */
typedef struct scaling_options {
    scaling_kind kind;
    batch_told   whole; /**< --global-batch */
} scaling_options;

/** The batch of all devices, if a layout takes it; else NULL. */
static inline batch_told *taken_by_layout(scaling_options *s)
{
    return s->kind == SCALING_WEAK ? &s->whole : NULL;
}

/** Fill scaling_options: --scaling and --global-batch. */
extern const option_row scaling_option_rows[];

/** Checks these options together with --batch, which fills `batch`, and --accumulate. */
lm_status scaling_check(const options *o, const scaling_options *s, const void *batch,
                        const setup_choice *how, lm_error *err);

/** Converts --gpus, if it is not 0, to nodes and devices per node. `nodes` points to memory of the
 * options. Misuse if the number makes no whole nodes. */
lm_status gpus_settle(const options *o, const int64_t *gpus, option_counts *nodes, int64_t *devices,
                      lm_error *err);

/** Chooses the policy if none was given: DistributedDataParallel's buckets if these were measured
 * on all machines, else one message. */
void setup_settle(setup_choice *c, bool in_buckets);

/* ---- several machines: an option is given once for all, or once for each ---- */

#define FLEET_MAX PLAN_SIDES_MAX

typedef struct fleet_options {
    session_options        session; /**< common options of all machines */
    option_texts           machines, devices, instances;
    option_texts           networks; /**< between nodes of each instance; set by the check */
    const device_machine **shipped;  /**< per machine; NULL: only files were given */
    struct {
        const money *at;
        size_t       n;
    } hour;             /**< --price per device */
    const char *prices; /**< a file; NULL: the shipped prices */
    bool        spot;
} fleet_options;

extern const option_row fleet_option_rows[];
/** Options of machines to compare, without prices. */
extern const option_row compare_option_rows[];

/** Number of machine files, or of devices for a model with datasheets; at least 1. */
size_t fleet_size(const fleet_options *f);

/** Checks these options. */
lm_status fleet_check(const options *o, fleet_options *f, lm_error *err);
/**
 * The same for machines to compare. Devices next to files are further machines, unless
 * `device_counts` (as in session_check()) or the model makes them datasheets.
 */
lm_status compare_check(const options *o, fleet_options *f, bool device_counts, lm_error *err);

/** Options for the i-th machine. */
session_options fleet_session(const fleet_options *f, size_t i);

/**
 * Opens all machines with one library and one network. Call fleet_close() in either case.
 *
 * @param s fleet_size() entries, zeros before
 */
lm_status fleet_open(const options *o, const fleet_options *f, session *s, lm_error *err);
void      fleet_close(session *s, size_t n);

/** Are the gradients of all machines sent in buckets by default? */
bool fleet_in_buckets(const session *s, size_t n);

/** The price question for the i-th machine. */
paid_asked fleet_paid(const fleet_options *f, const session *s, size_t i);
/** Was a price given? */
bool       fleet_priced(const fleet_options *f);
price_tier fleet_tier(const fleet_options *f);

#endif
