/** The program's commands, and what they share. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include <stdio.h>

#include "cli/options.h"
#include "devices/device.h"
#include "layers/registry.h"
#include "network/bind.h"
#include "predict/explain.h"
#include "predict/paleo_step.h"
#include "predict/price.h"
#include "report/table.h"

extern const command cmd_show, cmd_layers, cmd_fit, cmd_validate, cmd_predict, cmd_scale,
    cmd_import, cmd_models, cmd_memory, cmd_check, cmd_calibrate, cmd_suggest, cmd_devices,
    cmd_transfer, cmd_learn, cmd_digest, cmd_export, cmd_plan, cmd_report, cmd_allreduce,
    cmd_epochs, cmd_watch, cmd_energy;

/** All layer types, from --plugin and the usual places. */
lm_status open_registry(const options *o, registry **out, lm_error *err);

/** Options that say how a network is read, by their place in the command's own table. */
typedef struct network_options {
    int treat, ignore, set;
} network_options;

/** Rows of a command's table for them. */
#define OPTION_TREAT                                                                              \
    {                                                                                             \
        "treat", "OP=TYPE", NULL, "import: a layer type for an unknown operator; may be repeated" \
    }
#define OPTION_IGNORE                                                                             \
    {                                                                                             \
        "ignore", "OP", NULL, "import: such operators pass their first input on; may be repeated" \
    }
#define OPTION_SET                                                                     \
    {                                                                                  \
        "set", "NAME=VALUE", NULL, "one of the network's [arguments]; may be repeated" \
    }

#define OPTION_IMAGE                                                                    \
    {                                                                                   \
        "image", "PIXELS", NULL, "height and width of the input, instead of the file's" \
    }
#define OPTION_INPUT                                                         \
    {                                                                        \
        "input", "CxHxW", NULL, "shape of one sample, instead of the file's" \
    }
#define OPTION_DTYPE                           \
    {                                          \
        "dtype", "TYPE", "f32", "element type" \
    }
#define OPTION_DATASET                                                                  \
    {                                                                                   \
        "dataset", "SAMPLES", "1281167", "samples of an epoch; ImageNet's training set" \
    }
#define OPTION_KEEP_SCRIPT                                                       \
    {                                                                            \
        "keep-script", NULL, NULL, "leave the gnuplot script beside the picture" \
    }

/** Rows for what a device costs an hour: of all commands that tell money. */
#define OPTION_PRICE                                                                  \
    {                                                                                 \
        "price", "PRICE", NULL, "of a device, 2.50USD/h, instead of the price file's" \
    }
#define OPTION_PRICES                                                                   \
    {                                                                                   \
        "prices", "FILE", NULL, "prices of your own, looked at before the shipped ones" \
    }
#define OPTION_INSTANCE                                                                \
    {                                                                                  \
        "instance", "NAME", NULL, "section of the price file, instead of the device's" \
    }
#define OPTION_SPOT                                                 \
    {                                                               \
        "spot", NULL, NULL, "by spot prices instead of list prices" \
    }

#define OPTION_DEVICES                                                                          \
    {                                                                                           \
        "devices", "FILE", NULL, "devices of your own, looked at before the shipped datasheets" \
    }

/** Options of --model paleo, by their place in the command's own table. */
typedef struct paleo_options {
    int device, devices, ppp_comp, ppp_comm, bandwidth, scheme;
} paleo_options;

/** Rows of a command's table for them. */
#define OPTION_DEVICE                                                             \
    {                                                                             \
        "device", "NAME", NULL,                                                   \
            "of paleo, by its datasheet; also of learned models and --idle-power" \
    }
#define OPTION_PPP_COMP                                                                  \
    {                                                                                    \
        "ppp-comp", "FRACTION", "1", "paleo: part of the device's peaks that is reached" \
    }
#define OPTION_PPP_COMM                                                                   \
    {                                                                                     \
        "ppp-comm", "FRACTION", "1", "paleo: part of the bandwidth between nodes that is" \
    }
#define OPTION_BANDWIDTH                                                                      \
    {                                                                                         \
        "bandwidth", "RATE", NULL, "between nodes, 10Gbit/s: assumed where none was measured" \
    }
#define OPTION_LATENCY                                                              \
    {                                                                               \
        "latency", "TIME", "20us", "of a message between nodes, beside --bandwidth" \
    }
#define OPTION_DEVICES_PER_NODE                        \
    {                                                  \
        "devices-per-node", "N", "1", "devices a node" \
    }
#define OPTION_SCHEME                                                                      \
    {                                                                                      \
        "scheme", "NAME", "tree", "paleo: one_to_all, tree, butterfly or butterfly_mixing" \
    }

/** Options of every command that opens a network: enumerators, and rows. */
#define NETWORK_OPTIONS TREAT, IGNORE, SET
#define NETWORK_ROWS    [TREAT] = OPTION_TREAT, [IGNORE] = OPTION_IGNORE, [SET] = OPTION_SET

/** Of those that predict its steps, beside MACHINE and MODEL: enumerators, rows, and where a
 * session finds them. */
#define SESSION_OPTIONS \
    IMAGE, INPUT, DTYPE, DEVICE, DEVICES, PPP_COMP, PPP_COMM, BANDWIDTH, LATENCY, SCHEME
#define SESSION_ROWS                                                                          \
    [IMAGE] = OPTION_IMAGE, [INPUT] = OPTION_INPUT, [DTYPE] = OPTION_DTYPE,                   \
    [DEVICE] = OPTION_DEVICE, [DEVICES] = OPTION_DEVICES, [PPP_COMP] = OPTION_PPP_COMP,       \
    [PPP_COMM] = OPTION_PPP_COMM, [BANDWIDTH] = OPTION_BANDWIDTH, [LATENCY] = OPTION_LATENCY, \
    [SCHEME] = OPTION_SCHEME
#define SESSION_PLACES                                                                          \
    {                                                                                           \
        .machine = MACHINE, .model = MODEL, .image = IMAGE, .input = INPUT, .dtype = DTYPE,     \
        .network = { TREAT, IGNORE, SET },                                                      \
        .paleo = { DEVICE, DEVICES, PPP_COMP, PPP_COMM, BANDWIDTH, SCHEME }, .latency = LATENCY \
    }

/** Says on stderr which flagged times are left out, and which are used for want of better; and of
 * times that cannot be (doubts.h) the first few of each kind. */
struct observations;
struct points;
void print_flagged(const struct observations *obs, const struct points *p);

/** Opens the network that is argument 0. */
lm_status open_network(const options *o, const network_options *at, const registry *reg,
                       network **out, lm_error *err);
/** "note: ..." if there is something to know about its counts. */
void print_note(const network *net, FILE *out);

/** A column of a ledger's shares in one, and its cell. */
void ledger_column(table *t);
void ledger_cell(table *t, const ledger *l);
/** Columns of each share, which only CSV and JSON hold, and their cells. */
void ledger_hidden_columns(table *t);
void ledger_hidden_cells(table *t, const ledger *l);

/** Prints what a step is made of, the `top` longest rows and the rest as one; 0: all. */
lm_status print_explanation(const predictor *who, const step_setup *s, explain_key key, size_t top,
                            format f, lm_error *err);

/** Models whose features of layers can be shown: prenet, paleo. */
bool features_known(const char *name);
/** Prints those of the layers under `block` (NULL: of all). */
lm_status show_features(const char *name, const bound_network *net, const char *block, format f,
                        lm_error *err);

/** What a prediction needs, opened together. */
typedef struct session {
    registry                   *reg;
    calibration                *cal; /**< NULL: of --model paleo */
    workloads                  *loads;
    predictor                   who;
    const network              *net;       /**< owned by `loads` */
    char                        input[64]; /**< behind who.input */
    paleo_predictor             paleo;     /**< behind who.paleo */
    step_scan                  *scan;      /**< behind who.scan, if session_scans() */
    struct layerwise_predictor *layerwise; /**< behind who.layerwise; NULL: none */
} session;

/** Options by their place in the command's own table. */
typedef struct session_options {
    int             machine, model, image, input, dtype;
    network_options network;
    paleo_options   paleo;
    int             latency; /**< beside paleo.bandwidth; 0: the command has no such option */
} session_options;

/**
 * The platform of --model paleo as the options say it. False after a message, with *exit_code set.
 * Without that model: are its options left alone?
 */
bool session_platform(const options *o, const session_options *at, lm_dtype dtype,
                      paleo_platform *out, int *exit_code);
/** Is --model paleo wanted? */
bool session_wants_paleo(const options *o, const session_options *at);

/** Is the command one that takes learned models of single layers, and is one wanted? */
bool session_takes_learned(const options *o);
bool session_wants_learned(const options *o, const session_options *at);
/** Its model out of the machine file, and its device's datasheet, of --device or the machine file.
 * False after a message, with *exit_code set. */
bool session_learned(const options *o, const session_options *at, session *s, int *exit_code);

/**
 * Opens what `o` names; the network is argument 0. False after a message, with *exit_code set;
 * close in either case.
 */
bool session_open(const options *o, const session_options *at, session *out, int *exit_code);
void session_close(session *s);
/** From now on steps share what they can: nothing of the session may change any more. */
lm_status session_scans(session *s, lm_error *err);

/** A positive whole number; false after a message, with *exit_code set. */
bool option_count(const options *o, int at, int64_t *out, int *exit_code);
/** What connects nodes, of --bandwidth and --latency; unset if the first is not given. False after
 * a message, with *exit_code set. */
bool option_link(const options *o, int bandwidth, int latency, interconnect *out, int *exit_code);
/** A list such as 1,2,4..64*2, malloc'ed. */
bool option_list(const options *o, int at, int64_t **out, size_t *n, int *exit_code);
/** Puts it into ascending order, each number once; how many these are. */
size_t option_list_tidy(int64_t *list, size_t n);

#endif
