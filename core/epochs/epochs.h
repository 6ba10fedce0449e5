/**
 * Epochs of a training run in a metric of its GPU, by one of these methods:
 *
 * - layermeter: periods by autocorrelation at all scales (period.h), then epochs by dynamic
 *   programming over how well each place fits as a beginning (track.h)
 * - hurlee: Hur & Lee 2024, "CNN Training Latency Prediction Using Hardware Metrics on Cloud GPUs":
 *   peaks of Luminol's anomaly score, in three rounds (hurlee.c)
 * - hurlee-code: the same method, as its authors released it
 * - changepoints: change points of the mean (PELT); an epoch ends where the metric leaves its usual
 *   level (changes.c)
 * - ruptures: a comparison of Hur & Lee: every change point
 * - jenks: another comparison of theirs: the runs above or below a natural break of the values
 *
 * layermeter and changepoints take the mean of the steady epochs, the others that of all intervals.
 */
#ifndef EPOCHS_EPOCHS_H
#define EPOCHS_EPOCHS_H

#include "trace/trace.h"

typedef enum {
    EPOCHS_LAYERMETER,
    EPOCHS_HURLEE,
    EPOCHS_HURLEE_CODE,
    EPOCHS_CHANGEPOINTS,
    EPOCHS_RUPTURES,
    EPOCHS_JENKS,
    N_EPOCHS_METHODS
} epochs_method;

#define EPOCHS_METHODS "layermeter, hurlee, hurlee-code, changepoints, ruptures or jenks"
lm_status                epochs_method_parse(const char *text, epochs_method *out, lm_error *err);
extern const char *const epochs_method_names[N_EPOCHS_METHODS];

typedef enum {
    EPOCH_STARTUP,   /**< before training: loading, compiling */
    EPOCH_WARMUP,    /**< a longer epoch at the beginning */
    EPOCH_STEADY,    /**< counts */
    EPOCH_IRREGULAR, /**< an epoch that is much longer or shorter than the rest */
    EPOCH_MISSING,   /**< most of its samples are missing */
    EPOCH_PARTIAL,   /**< the trace begins or ends within it */
    EPOCH_IDLE,      /**< after the training */
    N_EPOCH_KINDS
} epoch_kind;

extern const char *const epoch_kind_names[N_EPOCH_KINDS];

typedef struct epoch {
    double start, length; /**< s; start since the first sample of the trace */
    double confidence; /**< correlation with the mean of the other epochs, 0 to 1; NAN: unknown */
    epoch_kind kind;
} epoch;

#define EPOCHS_PERIODS_MAX 8

typedef struct epochs {
    size_t n;
    epoch *epoch;      /**< in order, without gaps */
    double steady;     /**< s: mean length of the steady epochs */
    double low, high;  /**< s: 90 % interval of `steady`; NAN with fewer than three steady epochs */
    size_t n_steady;   /**< epochs that count */
    bool   all;        /**< all intervals do */
    double confidence; /**< median confidence of the steady epochs */
    double evaluation; /**< share of an epoch at another level at its end; NAN: unknown */
    size_t n_periods;  /**< layermeter: periods within an epoch (steps), the shortest first */
    struct {
        double seconds, strength; /**< correlation of a repetition with the mean of the others */
    } period[EPOCHS_PERIODS_MAX];
    char note[160]; /**< a limit of the method that applies here; "" */
} epochs;

/**
 * Finds epochs. Pure.
 *
 * @return LM_E_NOTFOUND with the reason: fewer than two epochs, nothing that repeats, a constant;
 * LM_E_NOMEM
 */
lm_status epochs_find(epochs_method m, const trace_grid *g, epochs **out, lm_error *err);
void      epochs_free(epochs *e);

#endif
