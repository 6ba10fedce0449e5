/* Models of single layers with what their prices leave over. */
#include "single/learned.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"

#define WHAT "residual"

bool learned_any(const layer_model *m)
{
    return m->learned || m->learned_file.path;
}

/* ---- learning -----------------------------------------------------------------------------------
 */

static lm_status learn_class(size_t class, const layer_time *time, size_t n, layer_residual **out,
                             layer_residual *judged, lm_error *err)
{
    size_t      found;
    layer_time *of_class = layer_times_of(class, time, n, &found);
    layer_rows  r;
    lm_status   status;

    status =
        of_class ? layer_rows_new(layer_classes[class], of_class, found, &r, err) : no_memory(err);
    if (!status) {
        status = residual_learn(&r, of_class, NULL, out, judged, err);
        layer_rows_free(&r);
    }
    free(of_class);
    return status;
}

lm_status learned_fit(const layer_time *time, size_t n, layer_model *m, layer_residual *judged,
                      lm_error *err)
{
    residual_set *found  = calloc(1, sizeof *found);
    bool          any    = false;
    lm_status     status = found ? LM_OK : no_memory(err);

    for (size_t c = 0; c < N_LAYER_CLASSES; c++)
        judged[c] = (layer_residual){ .rows = 0 };
    for (size_t c = 0; c < N_LAYER_CLASSES && !status; c++)
        if (m->of[c].present && residual_learnable(c)) {
            status = learn_class(c, time, n, &found->of[c], &judged[c], err);
            any |= !status && found->of[c];
        }
    if (status || !any)
        residual_set_free(found);
    else
        m->learned = found;
    return status;
}

/* ---- asking -------------------------------------------------------------------------------------
 */

static lm_status ready(layer_model *m, lm_error *err)
{
    char     *text;
    lm_status status;

    if (m->learned || !m->learned_file.path)
        return LM_OK;
    if ((status = side_file_text(&m->learned_file, WHAT, &text, err)))
        return status;
    status = residual_set_read(m->learned_file.path, text, &m->learned, err);
    free(text);
    return status;
}

lm_status learned_seconds(layer_model *m, const layer_shape *s, const layer_run *run,
                          double *seconds, lm_error *err)
{
    const size_t class = layer_model_class(m, s);
    rows       r       = { 0 };
    double    *price   = NULL;
    double     found   = 0;
    priced_row row     = { .shape = s, .run = run, .rows = &r };
    lm_status  status  = ready(m, err);

    if (status)
        return status;
    *seconds = layer_model_seconds(m, s, run);
    if (isnan(*seconds) || !m->learned || !m->learned->of[class])
        return LM_OK;
    row.seconds = *seconds;
    row.columns = &m->of[class].columns;
    if (!layer_model_row(m, s, run, &r) || rows_check(&r, err) ||
        !(price = malloc((row.columns->n + 1) * sizeof *price))) {
        rows_free(&r);
        return no_memory(err);
    }
    for (size_t j = 0; j < row.columns->n; j++)
        price[j] = row.columns->column[j].price;
    row.price = price;
    status    = residual_of(m->learned->of[class], &row, &found, err);
    *seconds *= exp(found);
    free(price);
    rows_free(&r);
    return status;
}

/* ---- files --------------------------------------------------------------------------------------
 */

lm_status learned_save(layer_model *m, const char *machine, lm_error *err)
{
    char     *text = NULL;
    size_t    size;
    FILE     *out;
    lm_status status = ready(m, err);

    if (status || !m->learned)
        return status;
    if ((out = open_memstream(&text, &size))) {
        residual_set_write(out, m->learned);
        if (fclose(out)) {
            free(text);
            text = NULL;
        }
    }
    status = text ? side_file_save(&m->learned_file, machine, WHAT, text, err) : no_memory(err);
    free(text);
    return status;
}
