/* Transfer of coefficients of calibrated machines to a device without measurements. */
#include "transfer/transfer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "device/roofline.h"
#include "single/model.h"
#include "solve/folds.h"
#include "transfer/layers.h"
#include "transfer/pool.h"

const transfer_options transfer_default = { .power = 0.5, .near = 0.5, .doubt_most = HUGE_VAL };

/* ---- scales ---- */

static lm_status need(const device *d, double value, const char *key, const char *what,
                      lm_error *err)
{
    if (value > 0)
        return LM_OK;
    return lm_error_set(err, LM_E_NOTFOUND,
                        "%s:%d: '%s' has no '%s', by which %s is carried over: say it in a file of "
                        "your own (--devices)",
                        d->path, d->line, d->name, key, what);
}

static lm_status need_both(const device *a, const device *b, device_figure f, const char *what,
                           lm_error *err)
{
    lm_status status = need(a, a->figure[f], device_keys[f].key, what, err);

    return status ? status : need(b, b->figure[f], device_keys[f].key, what, err);
}

/* Arithmetic of an element type: on the units for products, or on those for everything else. */
typedef struct arithmetic {
    lm_dtype dtype;
    bool     products;
} arithmetic;

static double vector_peak(const device *d, const arithmetic *a)
{
    return d->figure[a->dtype == LM_F64 ? DEVICE_F64 : DEVICE_F32];
}

static double peak_of(const device *d, const arithmetic *a)
{
    return a->products ? device_peak(d, a->dtype) : vector_peak(d, a);
}

/* Share of a peak that instructions reach. Of matrix cores it is unknown. */
static double issued(const device *d, const arithmetic *a)
{
    return a->dtype == LM_F32 && peak_of(d, a) == vector_peak(d, a) ? device_issued(d) : 1;
}

static lm_status peaks(const device *from, const device *to, const arithmetic *of, double *a,
                       double *b, lm_error *err)
{
    const char *name = text_dtype_name(of->dtype);
    lm_status   status;

    *a = peak_of(from, of);
    *b = peak_of(to, of);
    if ((status = need(from, *a, name, "arithmetic", err)))
        return status;
    return need(to, *b, name, "arithmetic", err);
}

/* Scale of arithmetic: ratio of peaks, times a power of the ratio of peaks per watt. */
static lm_status scale_arithmetic(const device *from, const device *to, const arithmetic *of,
                                  double power, double *out, lm_error *err)
{
    double    a, b, held = 1;
    lm_status status = peaks(from, to, of, &a, &b, err);

    if (!status && power > 0)
        status = need_both(from, to, DEVICE_POWER, "arithmetic under a limit of power", err);
    if (status)
        return status;
    if (power > 0)
        held = pow(b / to->figure[DEVICE_POWER] / (a / from->figure[DEVICE_POWER]), power);
    *out = a / b * held * issued(from, of) / issued(to, of);
    return LM_OK;
}

static lm_status scale_source(transfer_source *s, const device *to, const bool wanted[N_RESOURCES],
                              bool scalar, double power, lm_error *err)
{
    const lm_dtype dtype  = calibration_rate_dtype(s->cal);
    const double  *from   = s->device->figure;
    lm_status      status = LM_OK;

    for (int r = 0; r < N_RESOURCES; r++)
        s->scale.of[r] = 1;
    s->scale.scalar = 1;
    if (wanted[RESOURCE_FLOPS] || wanted[RESOURCE_DEPTH])
        status = scale_arithmetic(s->device, to, &(arithmetic){ dtype, true }, power,
                                  &s->scale.of[RESOURCE_FLOPS], err);
    if (!status && (scalar || wanted[RESOURCE_DEPTH]))
        status = scale_arithmetic(s->device, to,
                                  &(arithmetic){ dtype == LM_F64 ? LM_F64 : LM_F32, false }, power,
                                  &s->scale.scalar, err);
    if (!status && wanted[RESOURCE_BANDWIDTH] &&
        !(status = need_both(s->device, to, DEVICE_BANDWIDTH, "traffic", err)))
        s->scale.of[RESOURCE_BANDWIDTH] = from[DEVICE_BANDWIDTH] / to->figure[DEVICE_BANDWIDTH];
    if (!status && wanted[RESOURCE_DEPTH] &&
        !(status =
              need_both(s->device, to, DEVICE_MULTIPROCESSORS, "a multiprocessor's time", err)))
        s->scale.of[RESOURCE_DEPTH] =
            s->scale.scalar * to->figure[DEVICE_MULTIPROCESSORS] / from[DEVICE_MULTIPROCESSORS];
    return status;
}

/* Figures of datasheets that the machines need. */
static void want(const transfer_source *from, size_t n, bool launches, bool wanted[N_RESOURCES],
                 bool *scalar)
{
    *scalar = false;
    for (int r = 0; r < N_RESOURCES; r++)
        wanted[r] = false;
    for (size_t i = 0; i < n && launches; i++)
        transfer_layers_want(from[i].cal->operators, wanted);
    if (launches)
        return;
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < n_forms; f++) {
            const fitted *of = &from[i].cal->fitted[f];

            for (size_t t = 0; form_carried(f) && of->present && of->term && t < N_TERMS; t++)
                if (of->term[t].value > 0 && !term_counted(t)) {
                    wanted[form_resource(t)] = true;
                    *scalar |=
                        form_resource(t) == RESOURCE_FLOPS && term_family_of(t) != FAMILY_DENSE;
                }
        }
    for (size_t i = 0; i < n; i++)
        if (from[i].cal->layers)
            transfer_layers_want(from[i].cal->layers, wanted);
}

/* Weights of logarithms of datasheet ratios and of compute capabilities in the distance between
 * devices. Coefficients are scaled by the ratios anyway. The share of the peak that kernels reach
 * differs between architectures, and datasheets lack it. Mean errors of single layers on five
 * devices left out in turn: 23 to 26 % with weights of at most 0.5 and of 1 to 2.5; 33 % with 1 and
 * 0.6. */
#define FIGURES    0.5
#define GENERATION 1.5

/* Difference of compute capabilities; 0 if one is unknown. */
static double generations(const device *a, const device *b)
{
    double x, y;

    if (!a->capability || !b->capability || text_real(a->capability, &x, NULL) ||
        text_real(b->capability, &y, NULL))
        return 0;
    return x - y;
}

/* Squared distance, in logarithms. A figure that a datasheet lacks does not count. */
static double distance(const device *a, const device *b, lm_dtype dtype)
{
    const double ratio[] = {
        device_peak(a, dtype) / device_peak(b, dtype),
        a->figure[DEVICE_BANDWIDTH] / b->figure[DEVICE_BANDWIDTH],
        a->figure[DEVICE_MULTIPROCESSORS] / b->figure[DEVICE_MULTIPROCESSORS],
    };
    const double apart = GENERATION * generations(a, b);
    double       sum   = apart * apart;

    for (size_t i = 0; i < sizeof ratio / sizeof ratio[0]; i++)
        if (ratio[i] > 0)
            sum += pow(FIGURES * log(ratio[i]), 2);
    return sum;
}

/* Gaussian weights of squared distances beyond the nearest one, so that the sum is never near 0. */
static void weigh(transfer_source *from, size_t n, const device *to, double near)
{
    double least = HUGE_VAL, sum = 0;

    for (size_t i = 0; i < n; i++) {
        from[i].weight = distance(from[i].device, to, calibration_rate_dtype(from[i].cal));
        least          = fmin(least, from[i].weight);
    }
    for (size_t i = 0; i < n; i++) {
        from[i].weight = exp(-(from[i].weight - least) / (2 * near * near));
        sum += from[i].weight;
    }
    for (size_t i = 0; i < n; i++)
        from[i].weight /= sum;
}

static lm_status check_alike(const transfer_source *from, size_t n, lm_error *err)
{
    for (size_t i = 1; i < n; i++) {
        const calibration *a = from[0].cal, *b = from[i].cal;

        if (a->dtype != b->dtype)
            return lm_error_set(err, LM_E_ARG,
                                "machines of different element types cannot be combined: '%s' "
                                "is of %s, '%s' of %s",
                                from[0].device->name, text_dtype_name(a->dtype),
                                from[i].device->name, text_dtype_name(b->dtype));
        if (strcmp(calibration_settings(a), calibration_settings(b)) != 0)
            return lm_error_set(err, LM_E_ARG,
                                "machines of different settings cannot be combined: '%s' has "
                                "'%.60s', '%s' '%.60s'",
                                from[0].device->name, calibration_settings(a), from[i].device->name,
                                calibration_settings(b));
        if (a->settings.tile != b->settings.tile ||
            a->settings.group_tile != b->settings.group_tile)
            return lm_error_set(
                err, LM_E_ARG,
                "machines whose terms were counted with different tiles cannot be combined: fit '%s' and '%s' again",
                from[0].device->name, from[i].device->name);
        if (a->layers && b->layers &&
            (a->layers->multiprocessors > 0) != (b->layers->multiprocessors > 0))
            return lm_error_set(err, LM_E_ARG,
                                "single layers of '%s' and '%s' cannot be combined: of one the "
                                "multiprocessors were known ('device' in the observations), of the "
                                "other not",
                                from[0].device->name, from[i].device->name);
    }
    return LM_OK;
}

lm_status transfer_prepare(transfer_source *from, size_t n, const device *to,
                           const transfer_options *o, lm_error *err)
{
    bool      wanted[N_RESOURCES], scalar, any = false;
    lm_status status = check_alike(from, n, err);

    if (status)
        return status;
    want(from, n, o->launches, wanted, &scalar);
    for (int r = 0; r < N_RESOURCES; r++)
        any |= wanted[r];
    if (!any)
        return lm_error_set(err, LM_E_ARG, "no coefficients of the model '%s' to carry over",
                            DEFAULT_MODEL);
    for (size_t i = 0; i < n && !status; i++)
        status = scale_source(&from[i], to, wanted, scalar, o->power, err);
    if (!status)
        weigh(from, n, to, o->near);
    return status;
}

/* ---- doubt ---- */

/* |log| of a formula's own / transferred seconds, at the middle of its measured range. */
static double deviation(const fitted *own, const fitted *other)
{
    double a = 0, b = 0;

    for (size_t t = 0; own->present && own->term && other->term && t < N_TERMS; t++) {
        const coefficient *c = &own->term[t];

        if (!(c->low > 0) || !isfinite(c->high) || isnan(c->value) || isnan(other->term[t].value))
            continue;
        a += c->value * sqrt(c->low * c->high);
        b += other->term[t].value * sqrt(c->low * c->high);
    }
    return a > 0 && b > 0 ? fabs(log(a / b)) : 0;
}

double transfer_distance(const device *a, const device *b, lm_dtype dtype)
{
    return sqrt(distance(a, b, dtype));
}

/* Distance of the nearest source. */
static double reach(const transfer_source *from, size_t n, const device *to)
{
    double least = HUGE_VAL;

    for (size_t i = 0; i < n; i++)
        least = fmin(least, distance(from[i].device, to, calibration_rate_dtype(from[i].cal)));
    return sqrt(least);
}

/* Sources, left out in turn. */
typedef struct doubting {
    const transfer_source  *from;
    const transfer_options *o;
    double                  near, largest;
} doubting;

/* Deviation of a source from its prediction by the others. */
static lm_status doubt_source(void *context, const fold_turn *t, lm_error *err)
{
    doubting              *d    = context;
    const transfer_source *left = &d->from[t->fold];
    transfer_source        others[TRANSFER_SOURCES];
    const size_t           n      = folds_copy(t, true, d->from, sizeof *d->from, others);
    const double           far    = reach(others, n, left->device);
    calibration           *cal    = NULL;
    double                 apart  = 0;
    lm_status              status = transfer_prepare(others, n, left->device, d->o, err);

    if (!status)
        status = transfer_mean(others, n, left->device, &cal, err);
    for (size_t f = 0; f < n_forms && !status; f++)
        if (form_carried(f) && cal->fitted[f].present)
            apart = fmax(apart, deviation(&left->cal->fitted[f], &cal->fitted[f]));
    if (!status && left->cal->layers && cal->layers)
        apart = fmax(apart, transfer_layers_deviation(left->cal->layers, cal->layers));
    d->largest = fmax(d->largest, far > d->near ? apart * d->near / far : apart);
    calibration_free(cal);
    return status;
}

#define MAXWELL 5.0 /* compute capability of the first */

static bool older(const device *d)
{
    double capability;

    return d->capability && !text_real(d->capability, &capability, NULL) && capability < MAXWELL;
}

/* By datasheets alone, from one machine. */
static double doubt_alone(const device *from, const device *to, double near)
{
    return older(from) != older(to) ? TRANSFER_DOUBT_OLD : pow(TRANSFER_DOUBT, fmin(near, 1));
}

lm_status transfer_doubt(const transfer_source *from, size_t n, const device *to,
                         const transfer_options *o, double *out, lm_error *err)
{
    const double near = reach(from, n, to);
    doubting     d    = { .from = from, .o = o, .near = near };
    size_t       of[TRANSFER_SOURCES];
    const folds  by = { .of = of, .rows = n, .n = n };
    lm_status    status;

    if (n < 2) {
        *out =
            fmin(fmax(doubt_alone(from[0].device, to, near), TRANSFER_DOUBT_LEAST), o->doubt_most);
        return LM_OK;
    }
    for (size_t i = 0; i < n; i++)
        of[i] = i;
    status = folds_leave_out(&by, doubt_source, &d, err);
    *out   = fmin(fmax(exp(d.largest * (double)(n + 1) / (double)n), TRANSFER_DOUBT_LEAST),
                  o->doubt_most);
    return status;
}

/* "Tesla P100: f32 9.53 -> 15.7 TFLOP/s, bandwidth 732 -> 900 GB/s ..." */
static lm_status note_source(const transfer_source *s, const device *to, calibration *cal,
                             lm_error *err)
{
    static const struct {
        device_figure figure;
        double        per;
        const char   *unit;
    } of[]               = { { DEVICE_BANDWIDTH, 1e9, " GB/s" },
                             { DEVICE_MULTIPROCESSORS, 1, "" },
                             { DEVICE_POWER, 1, " W" } };
    const lm_dtype dtype = calibration_rate_dtype(s->cal);
    char           text[300];
    int n = snprintf(text, sizeof text, "%.2g of %.60s: %s %.4g -> %.4g TFLOP/s", s->weight,
                     s->device->name, text_dtype_name(dtype),
                     device_peak(s->device, dtype) / 1e12, device_peak(to, dtype) / 1e12);

    for (size_t i = 0; i < sizeof of / sizeof of[0] && n < (int)sizeof text; i++) {
        const double from = s->device->figure[of[i].figure], is = to->figure[of[i].figure];

        if (!isnan(from) && !isnan(is))
            n += snprintf(text + n, sizeof text - (size_t)n, ", %s %.4g -> %.4g%s",
                          device_keys[of[i].figure].key, from / of[i].per, is / of[i].per,
                          of[i].unit);
    }
    return calibration_note(cal, "transferred_from", text) &&
                   calibration_note_origin(cal, s->cal->provenance, s->cal->n_provenance)
               ? LM_OK
               : no_memory(err);
}

lm_status transfer_pool(const transfer_source *from, size_t n, const device *to,
                        const transfer_options *o, calibration **out, lm_error *err)
{
    calibration *cal = NULL;
    char         text[120];
    const char  *settings = calibration_settings(from[0].cal);
    lm_status    status   = transfer_mean(from, n, to, &cal, err);

    if (status)
        return status;
    snprintf(text, sizeof text, "%.60s, power %.3g, near %.3g", to->name, o->power, o->near);
    if (!calibration_note(cal, "device", to->name) ||
        !calibration_note(cal, "transferred_to", text) ||
        (*settings && !calibration_note(cal, "settings", settings)))
        status = no_memory(err);
    for (size_t i = 0; i < n && !status; i++)
        status = note_source(&from[i], to, cal, err);
    if (status) {
        calibration_free(cal);
        return status;
    }
    *out = cal;
    return LM_OK;
}
