/* Prices from other machines. */
#include "cli/fit_like.h"

#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "devices/device.h"
#include "single/operator_transfer.h"

#define MOST 16 /* machine files */

static lm_status speed_of(const calibration *cal, const char *path, const device_list *list,
                          device_speed *out, lm_error *err)
{
    const char   *name = NULL;
    const device *d;
    lm_status     status;

    for (size_t i = 0; i < cal->n_provenance; i++)
        if (!strcmp(cal->provenance[i].key, "device"))
            name = cal->provenance[i].value;
    if (!name)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s: no 'device' in its provenance: --like needs its datasheet", path);
    if ((status = devices_find(list, name, &d, err))) {
        lm_error_prefix(err, "%s", path);
        return status;
    }
    *out = (device_speed){ device_peak(d, cal->dtype ? cal->dtype : LM_F32),
                           d->figure[DEVICE_BANDWIDTH], d->figure[DEVICE_MULTIPROCESSORS],
                           d->figure[DEVICE_POWER] };
    return LM_OK;
}

static lm_status load(const char *file, const device_list *list, calibration **cal,
                      operator_source *out, lm_error *err)
{
    lm_status status = calibration_load(file, cal, err);

    if (!status && !(*cal)->operators)
        status = lm_error_set(err, LM_E_NOTFOUND, "%s: has no prices of single kernels", file);
    if (!status)
        status = speed_of(*cal, file, list, &out->speed, err);
    if (!status)
        out->model = (*cal)->operators;
    return status;
}

lm_status fit_like(calibration *cal, const char *path, const char *files, lm_error *err)
{
    char           *copy         = strdup(files), *file[MOST];
    calibration    *of[MOST]     = { NULL };
    operator_source source[MOST] = { { NULL, { 0, 0, 0, 0 } } };
    device_speed    here;
    device_list    *list   = NULL;
    size_t          n      = copy ? text_split(copy, ',', file, MOST) : 0;
    lm_status       status = copy ? devices_open(NULL, &list, err) : no_memory(err);

    if (!status && n > MOST)
        status = lm_error_set(err, LM_E_ARG, "--like: more than %d machine files", MOST);
    if (!status)
        status = speed_of(cal, path, list, &here, err);
    for (size_t i = 0; i < n && !status; i++)
        status = load(file[i], list, &of[i], &source[i], err);
    if (!status && !cal->operators && !(cal->operators = calloc(1, sizeof *cal->operators)))
        status = no_memory(err);
    if (!status)
        status = operator_transfer(source, n, &here, cal->operators, err);
    for (size_t i = 0; i < MOST; i++)
        calibration_free(of[i]);
    if (list)
        devices_free(list);
    free(copy);
    return status;
}
