/** What a prediction needs, opened together: layer types, machine file, network, model. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/commands.h"

/** Which step, by which model, on which machine. */
typedef struct session_options {
    const char     *machine, *model; /**< machine NULL: not given */
    bind_options    input;           /**< without a batch */
    network_options network;
    interconnect    link;   /**< after session_check(): zeros: not given */
    model_source    source; /**< its optimizer: setup_check() */
} session_options;

/** All of them, and those of commands that take machine files alone. */
extern const option_row session_option_rows[], session_machine_option_rows[];

/** What `--model` names: NULL before session_check(), if there is no such model. */
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
    /* What is behind these. */
    const registry    *reg;
    const network     *net;
    const calibration *cal; /**< NULL: there is no machine */
    const predictor   *who;
} session;

/** The network is argument 0. session_close() in either case. */
lm_status session_open(const options *o, const session_options *q, session *out, lm_error *err);
void      session_close(session *s);

#endif
