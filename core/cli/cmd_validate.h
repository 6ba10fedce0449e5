/** `layermeter validate`: its options and its parts, each in a file validate_*.c. */
#ifndef CLI_CMD_VALIDATE_H
#define CLI_CMD_VALIDATE_H

#include "baselines/layerwise.h"
#include "cli/commands.h"
#include "devices/device.h"
#include "fit/launch_models.h"
#include "fit/validate.h"

/** Files, and models side by side, at most. */
#define VALIDATE_DEVICES 16
#define JUDGED_MAX       8

/** What is told, and in which form. */
typedef struct judging_form {
    phase       q; /**< of points and plots; N_TIMES: clocks */
    format      f;
    bool        points, pooled; /**< every point; of all groups together alone */
    const char *plot;           /**< NULL: none */
} judging_form;

typedef struct validate_options {
    split_rule   rule; /**< without the seed, until they are checked */
    uint64_t     seed;
    const char  *machine, *where, *algorithm, *learn, *layers, *devices;
    option_texts models, device; /**< several devices: where they are left out */
    bool         power;
    judging_form form;
} validate_options;

/** What `--phase` calls powers at each clock. */
#define PHASE_CLOCKS "clocks"

/* ---- judging: validate_print.c ------------------------------------------------------------------
 */

/** A model and what it says of each point. */
typedef struct judged {
    const char *model;
    comparison *at;
} judged;

/** What is judged, and by what. Owns nothing. */
typedef struct judging {
    const points *p;
    const split  *by, *groups; /**< what is left out, what errors are told by */
    const judged *model;
    size_t        n;     /**< models, up to JUDGED_MAX */
    bool          power; /**< tell powers and energies beside times */
} judging;

/** Columns of group, phase, model, points and errors. */
void judging_columns(table *t);
/** What is left out; errors and coverage by group, phase and model, or a row a point; and a picture
 * of predicted against measured, a panel a model. On stdout, but the picture. */
lm_status judging_print(const judging *all, const judging_form *as, lm_error *err);
/** Is no interval stated of anything that is predicted? */
bool judging_without_intervals(const judging *all);

/* ---- powers, kernels ----------------------------------------------------------------------------
 */

/**
 * Power, energy, and the time they are of, as a machine file's power model says them of every
 * measured power, at the row's clock: errors by group, or with `each` a row a power. Rows whose
 * clock was held (settings `clock=`) are beside that carried over from the same at the usual clock,
 * power and time, where the file has it.
 *
 * @param path of the observations, for messages
 * @return LM_E_NOTFOUND where the machine file knows no power, or no row has one
 */
lm_status validate_clocks(const points *p, const calibration *cal, const char *path, bool each,
                          table *t, lm_error *err);

/** Single kernels and streams of them. */
typedef struct launch_question {
    const observations *obs;
    const split_rule   *rule;
    const calibration  *given; /**< prices made elsewhere; NULL: none */
    const option_texts *models;
} launch_question;

/**
 * Fills a table: errors by kind of operator, or its `group`, and pass, then of all. Streams, by
 * group and phase, are predicted by prices alone: those given, or of a fit to all kernels of the
 * file.
 */
lm_status validate_launches(const launch_question *q, table *t, lm_error *err);

/* ---- machines that are left out, each predicted by all others and its datasheet -----------------
 */

/** A machine: its observations, and what it was measured on. */
typedef struct measured_device {
    const char   *path;
    const device *on;
    observations *obs;
    points        p;
    calibration  *cal; /**< fitted to them */
} measured_device;

/** Reads its file; `fit`: and fits it. `where` as of --where; NULL: all rows. To be freed in any
 * case. */
lm_status measured_device_read(measured_device *m, const char *where, bool fit, workloads *loads,
                               lm_error *err);
void      measured_device_free(measured_device *m);

/** All points of all machines, one behind the other, and by which machine each is told. Zero to
 * begin with. */
typedef struct devices_left_out {
    measured_device machine[VALIDATE_DEVICES];
    size_t          n;
    points          all; /**< shares what its points hold with those of the machines */
    split           by;
    comparison     *at; /**< of the default model; 0 where it was not carried over */
} devices_left_out;

/**
 * Reads each file; `carry`: fits it, and predicts it by coefficients carried over from all others
 * by datasheets (transfer.h). `where` as of --where; NULL: all rows.
 *
 * @param name a device for each file
 */
lm_status devices_leave_out(const char *const *path, const char *const *name, size_t n,
                            const char *where, bool carry, const device_list *list,
                            workloads *loads, devices_left_out *out, lm_error *err);
/** The same by a learned model: each machine by what the layers of all others taught, and its
 * datasheet. `setting` as of layerwise_settings(); `out` for all points. */
lm_status devices_leave_out_learned(const devices_left_out *d, const layerwise_kind *kind,
                                    const double *setting, comparison *out, lm_error *err);
void      devices_left_out_free(devices_left_out *d);

/** Misuse of --leave-out device, before any file is read; and its answer. */
lm_status validate_machines_check(options *o, lm_error *err);
lm_status validate_machines(const options *o, lm_error *err);

#endif
