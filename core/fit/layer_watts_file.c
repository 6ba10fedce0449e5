/* Learned powers of single layers as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "fit/layer_watts.h"
#include "fit/singles.h"
#include "single/model.h"

#define HEAD       "layermeter power"
#define VERSION    "3"
#define MOST_WATTS 1e5

void layer_watts_write(FILE *out, const layer_watts *w)
{
    const double cap = w->base.cap_w > 0 ? w->base.cap_w : 0; /* 0: none was seen */

    fprintf(out, HEAD " " VERSION "\nwatts");
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        fprintf(out, " %.17g", w->base.bound_w[k]);
    fprintf(out, " %.17g\nheld %.17g %.17g\n", cap, w->low, w->high);
    trees_write(out, w->grown);
}

static lm_status read_watts(lines *in, layer_watts *to, lm_error *err)
{
    double    found[N_TERM_BOUNDS + 1], held[2];
    char     *rest;
    lm_status status = lines_expect(in, "watts", &rest, err);

    if (status || (status = lines_numbers(in, rest, found, N_TERM_BOUNDS + 1, err)))
        return status;
    for (size_t k = 0; k <= N_TERM_BOUNDS; k++)
        if (found[k] < 0 || found[k] > MOST_WATTS)
            return lines_fail(in, err, LM_E_ARG, "%g W: no device draws that", found[k]);
    to->base = power_unknown;
    memcpy(to->base.bound_w, found, sizeof to->base.bound_w);
    if (found[N_TERM_BOUNDS] > 0)
        to->base.cap_w = found[N_TERM_BOUNDS];
    if ((status = lines_expect(in, "held", &rest, err)) ||
        (status = lines_numbers(in, rest, held, 2, err)))
        return status;
    if (held[0] > held[1] || held[0] < -20 || held[1] > 20)
        return lines_fail(in, err, LM_E_ARG, "held between %g and %g", held[0], held[1]);
    to->low  = held[0];
    to->high = held[1];
    return LM_OK;
}

lm_status layer_watts_read(const char *path, char *text, layer_watts **out, lm_error *err)
{
    lines        in = { .path = path, .at = text };
    char        *rest;
    layer_watts *w;
    lm_status    status = lines_expect(&in, HEAD, &rest, err);

    if (status)
        return status;
    rest = text_trim(rest);
    if (strcmp(rest, VERSION) != 0)
        return lines_fail(&in, err, LM_E_UNSUPPORTED,
                          "powers of version '%.20s', this program reads " VERSION
                          ": fit the observations again",
                          rest);
    if (!(w = calloc(1, sizeof *w)))
        return no_memory(err);
    if (!(status = read_watts(&in, w, err)))
        status = trees_read(&in, &w->grown, err);
    if (!status && w->grown->n_features != LAYER_WATTS_FEATURES)
        status = lines_fail(&in, err, LM_E_ARG, "trees of %zu features, powers have %d",
                            w->grown->n_features, (int)LAYER_WATTS_FEATURES);
    if (!status && in.at && *in.at)
        status = lines_fail(&in, err, LM_E_SYNTAX, "more behind the last tree");
    if (status)
        layer_watts_free(w);
    else
        *out = w;
    return status;
}

lm_status layer_watts_by_machine(const points *p, const calibration *cal, double *watts,
                                 lm_error *err)
{
    layer_watts *w    = NULL;
    char        *text = NULL;
    lm_status    status;

    if (!cal->layers || !calibration_learned_has(cal, LAYER_WATTS_NAME))
        return LM_OK;
    status = calibration_learned_text(cal, LAYER_WATTS_NAME, &text, err);
    if (!status)
        status = layer_watts_read(calibration_learned_path(cal, LAYER_WATTS_NAME), text, &w, err);
    for (size_t i = 0; i < p->n_points && !status; i++)
        for (phase f = 0; f < N_PHASES && p->point[i].shape && !status; f++) {
            const layer_run run = singles_run(&p->point[i], f, p->multiprocessors);

            if (!isnan(p->point[i].seconds[f]))
                status = layer_watts_of(w, cal->layers, p->point[i].shape, &run,
                                        &watts[i * N_PHASES + f], err);
        }
    layer_watts_free(w);
    free(text);
    return status;
}
