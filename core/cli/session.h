/** Parts that commands of predictions share: layer types, machine files, networks and models opened
 * together; the policy of gradients; several machines on one command line. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/commands.h"
#include "plan/job.h"
#include "predict/scaling.h"
#include "transfer/of_device.h"

/** Which step, by which model, on which machine. */
typedef struct session_options {
    const char     *machine, *model; /**< machine NULL: not given; after session_check() it may be
                                        the shipped one of source.device */
    bind_options    input;           /**< without a batch; dtype 0: the machine file's */
    network_options network;
    const device_machine
                  *shipped; /**< of the device that `machine` names then; NULL: it is a file */
    interconnect   link;    /**< after session_check(): zeros: not given */
    model_source   source;  /**< its optimizer: setup_check() */
    framework_kind framework;
} session_options;

/** The machine of a device, by any of its names: device_machine_find(). *out is of the options' room. */
lm_status session_shipped(const options *o, const session_options *q, const char *name,
                          const device_machine **out, lm_error *err);

/** All of them, and those of commands that take machine files alone. */
extern const option_row session_option_rows[], session_machine_option_rows[];

/** The model that `--model` names: NULL before session_check(), if there is no such model. */
const step_model *session_model(const session_options *q);

/**
 * Misuse of these options.
 *
 * @param device_counts is --device of use beside a model that takes a datasheet?
 */
lm_status session_check(const options *o, session_options *q, bool device_counts, lm_error *err);

typedef struct session {
    lm_library   *library;
    lm_network   *network;
    lm_machine   *machine; /**< NULL: of a model that takes a datasheet */
    lm_predictor *by;
    bool          shares; /**< library and network are those of a fleet's first session */
    /* The same handles from inside. */
    const registry    *reg;
    const network     *net;
    const calibration *cal; /**< NULL: there is no machine */
    const predictor   *who;
} session;

/** Options of its predictor. */
predictor_asked session_asked(const session_options *q);

/** The network is argument 0. session_close() in either case. */
lm_status session_open(const options *o, const session_options *q, session *out, lm_error *err);
/** The same with the library and the network of `shared`; NULL: with its own. */
lm_status session_open_beside(const options *o, const session_options *q, const session *shared,
                              session *out, lm_error *err);
void      session_close(session *s);

/* ---- decoding ---- */

/** Fills it: --context and --new-tokens. */
typedef struct decode_choice {
    int64_t context, tokens; /**< context 0: not given */
} decode_choice;

extern const option_row decode_option_rows[];
/** What a row of --phase has in place of the shared words, where a command knows decoding. */
#define PHASES_AND_DECODE "training, inference or decode"

/** Is the context there that decoding takes? */
lm_status decode_check(const decode_choice *d, program_kind program, lm_error *err);

/* ---- how gradients travel, and what the update is ---- */

/** --sync: `auto`, or a policy. */
typedef struct sync_choice {
    bool        automatic;
    sync_policy policy;
} sync_choice;

/** The options. */
typedef struct setup_choice {
    /* As the options say it. */
    program_kind  program;
    decode_choice decode;
    sync_choice   sync;
    option_counts buckets; /**< bytes; automatic: the best of them is wanted */
    lm_dtype      dtype;
    int64_t       accumulate;
    const char   *optimizer;
    /* Settings that follow from the options: setup_check(). */
    step_setup   setup;  /**< without batch and nodes, which are 1; of the first policy. The
                            devices of a node are an option of the command */
    sync_policy *policy; /**< the rule of --sync, or one for each --bucket; of the options' room */
    size_t       n;
    bool         given; /**< any of --sync and --bucket, but `auto` */
} setup_choice;

/** Fill a setup_choice: --phase with what decoding takes, and the rest. */
extern const option_row phase_option_rows[], setup_option_rows[];

/**
 * Policies and optimizer. Options of training are refused in inference. A model that was learned of
 * single layers knows any optimizer that was measured, by its word, and in the setup stands the
 * usual one.
 *
 * @param known_only refuses optimizers that the program does not know by themselves
 */
lm_status setup_check(options *o, setup_choice *c, session_options *q, bool known_only,
                      lm_error *err);

/** Quantity that stays on more devices. */
typedef struct scaling_options {
    scaling_kind kind;
    int64_t      whole; /**< --global-batch; 0: not given */
} scaling_options;

/** Fill scaling_options: --scaling and --global-batch. */
extern const option_row scaling_option_rows[];

/** Do these go with --batch, which fills `batch`, and --accumulate? */
lm_status scaling_check(const options *o, const scaling_options *s, const void *batch,
                        const setup_choice *how, lm_error *err);

/** --gpus, where it is not 0: so many nodes, and the devices of each. `nodes` is of the options' room.
 * Misuse of a number that makes no whole nodes. */
lm_status gpus_settle(const options *o, const int64_t *gpus, option_counts *nodes, int64_t *devices,
                      lm_error *err);

/** Where no rule was given: buckets as DistributedDataParallel makes them if those of all machines
 * were measured, else it stays one message. */
void setup_settle(setup_choice *c, bool in_buckets);

/* ---- several machines: options that stand once for all of them, or once for each ---- */

#define FLEET_MAX PLAN_SIDES_MAX

typedef struct fleet_options {
    session_options        session; /**< what all machines share */
    option_texts           machines, devices, instances;
    const device_machine **shipped; /**< of each machine; NULL: files alone were given */
    struct {
        const money *at;
        size_t       n;
    } hour;             /**< --price of a device */
    const char *prices; /**< a file; NULL: the shipped prices */
    bool        spot;
} fleet_options;

extern const option_row fleet_option_rows[];
/** Machines to compare, without prices. */
extern const option_row compare_option_rows[];

/** Of machine files; of a model that takes datasheets, of devices. 1 at least. */
size_t fleet_size(const fleet_options *f);

/** Misuse of these options. */
lm_status fleet_check(const options *o, fleet_options *f, lm_error *err);
/** The same of machines to compare: devices beside files are further machines, unless `device_counts`,
 * as of session_check(), or the model makes them datasheets. */
lm_status compare_check(const options *o, fleet_options *f, bool device_counts, lm_error *err);

/** The question to the i-th machine. */
session_options fleet_session(const fleet_options *f, size_t i);

/** Opens all machines beside one library and one network. fleet_close() in either case.
 *
 * @param s fleet_size() of them, zeros */
lm_status fleet_open(const options *o, const fleet_options *f, session *s, lm_error *err);
void      fleet_close(session *s, size_t n);

/** Are the gradients of all machines sent in buckets by default? */
bool fleet_in_buckets(const session *s, size_t n);

/** Options of the price of the i-th machine. */
paid_asked fleet_paid(const fleet_options *f, const session *s, size_t i);
/** Is any price told? */
bool       fleet_priced(const fleet_options *f);
price_tier fleet_tier(const fleet_options *f);

#endif
