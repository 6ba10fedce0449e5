/* Models of single layers with what their prices leave over. */
#include "single/learned.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/no_memory.h"
#include "base/text.h"

#define SUFFIX ".residual"

bool learned_any(const layer_model *m)
{
    return m->learned || m->learned_path;
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
    size_t    size;
    lm_status status;

    if (m->learned || !m->learned_path)
        return LM_OK;
    if ((status = file_read_text(m->learned_path, &text, &size, err)))
        return status;
    if (text_hash(text) != m->learned_hash)
        status = lm_error_set(err, LM_E_ARG,
                              "%s: not the residual that its machine file was written with: cut "
                              "short, edited, or of another fit? fit the observations again",
                              m->learned_path);
    else
        status = residual_set_read(m->learned_path, text, &m->learned, err);
    free(text);
    return status;
}

lm_status learned_seconds(layer_model *m, const layer_shape *s, const layer_run *run,
                          double *seconds, lm_error *err)
{
    const size_t class = layer_class_of(s);
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

lm_status learned_name(layer_model *m, const char *machine, const char *name, lm_error *err)
{
    const char  *slash  = strrchr(machine, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - machine) : 0;

    if (strchr(name, '/') || !*name)
        return lm_error_set(err, LM_E_ARG, "'%.60s': expected the name of a file beside this one",
                            name);
    free(m->learned_path);
    if (!(m->learned_path = malloc(folder + strlen(name) + 1)))
        return no_memory(err);
    memcpy(m->learned_path, machine, folder);
    strcpy(m->learned_path + folder, name);
    return LM_OK;
}

static lm_status write_text(const char *path, const char *text, lm_error *err)
{
    file_draft draft;
    lm_status  status = file_draft_open(&draft, path, err);

    if (status)
        return status;
    fputs(text, draft.stream);
    return file_draft_commit(&draft, err);
}

/* "m.residual" of "folder/m.ini" */
static char *name_beside(const char *machine)
{
    const char  *slash = strrchr(machine, '/'), *base = slash ? slash + 1 : machine;
    const size_t n   = strlen(base);
    const bool   ini = n > 4 && !strcmp(base + n - 4, ".ini");
    char        *out = malloc(n + sizeof SUFFIX);

    if (out)
        sprintf(out, "%.*s" SUFFIX, (int)(ini ? n - 4 : n), base);
    return out;
}

lm_status learned_save(layer_model *m, const char *machine, lm_error *err)
{
    char     *text = NULL, *name;
    size_t    size;
    FILE     *out;
    lm_status status = ready(m, err);

    if (status || !m->learned)
        return status;
    if (!(name = name_beside(machine)))
        return no_memory(err);
    if ((out = open_memstream(&text, &size))) {
        residual_set_write(out, m->learned);
        if (fclose(out)) {
            free(text);
            text = NULL;
        }
    }
    status = text ? learned_name(m, machine, name, err) : no_memory(err);
    if (!status && !(status = write_text(m->learned_path, text, err)))
        m->learned_hash = text_hash(text);
    free(name);
    free(text);
    return status;
}
