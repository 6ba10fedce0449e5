/* Rows of single kernels, and files that list kernels. */
#include "observe/launches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/no_memory.h"
#include "base/settings.h"
#include "base/text.h"
#include "device/device.h"

static lm_status parse(const char *name, const char *geometry, lm_pass pass, lm_dtype dtype,
                       lm_kernel *out, lm_error *err)
{
    lm_status status;

    *out   = (lm_kernel){ .size = sizeof *out, .pass = pass, .dtype = dtype, .repeat = 1 };
    status = kernel_op_parse(name, &out->op, err);
    if (!status)
        status = kernel_parse_geometry(geometry, out, err);
    return status ? status : kernel_check(out, err);
}

/* A device without a datasheet is no error: waves are then not counted. */
lm_status launches_multiprocessors(const observations *obs, double *out, lm_error *err)
{
    const char *given = observations_provenance(obs, "multiprocessors");
    const char *name  = observations_provenance(obs, "device");
    double      figure[N_DEVICE_FIGURES];
    lm_status   status;

    *out = 0;
    if (given) {
        if ((status = text_real(given, out, err)) || *out < 1) {
            lm_error_set(err, LM_E_ARG,
                         "%s: multiprocessors: expected a number of 1 or more, found "
                         "'%.40s'",
                         obs->path, given);
            return status ? status : LM_E_ARG;
        }
        return LM_OK;
    }
    status = device_figures(name, figure, err);
    if (!status && !isnan(figure[DEVICE_MULTIPROCESSORS]))
        *out = figure[DEVICE_MULTIPROCESSORS];
    return status;
}

lm_status launches_from(const observations *obs, launches *out, lm_error *err)
{
    lm_status status = LM_OK;

    *out        = (launches){ 0 };
    out->launch = malloc((obs->n_rows + 1) * sizeof *out->launch);
    out->row    = malloc((obs->n_rows + 1) * sizeof *out->row);
    if (!out->launch || !out->row)
        status = no_memory(err);
    for (size_t i = 0; i < obs->n_rows && !status; i++) {
        const observation *row = &obs->row[i];
        timed_kernel      *to  = &out->launch[out->n];

        if (row->kind != OBS_KERNEL || row->skipped)
            continue;
        status = parse(row->name, row->geometry, row->pass, row->dtype, &to->kernel, err);
        if (status) {
            lm_error_prefix(err, "%s:%d", obs->path, row->line);
            break;
        }
        to->tag            = row->algorithm;
        to->seconds        = row->seconds;
        to->queued         = setting_is(row->settings, "launch", "queue");
        out->row[out->n++] = row;
    }
    if (!status)
        status = launches_multiprocessors(obs, &out->multiprocessors, err);
    if (status)
        launches_free(out);
    return status;
}

void launches_free(launches *l)
{
    free(l->launch);
    free(l->row);
    *l = (launches){ 0 };
}

bool launches_only(const observations *obs)
{
    bool any = false;

    for (size_t i = 0; i < obs->n_rows; i++) {
        if (obs->row[i].kind != OBS_KERNEL && obs->row[i].kind != OBS_STREAM)
            return false;
        any |= !obs->row[i].skipped;
    }
    return any;
}

/* ---- streams --------------------------------------------------------------------------------- */

enum { NAME, PHASE, GEOMETRY, DTYPE, ALGORITHM, REPEATS, N_COLUMNS };

static const char *const column_names[N_COLUMNS] = { "name",  "phase",     "geometry",
                                                     "dtype", "algorithm", "repeats" };

#define NOWHERE ((size_t)-1)

static lm_status read_head(csv_reader *csv, size_t place[N_COLUMNS], size_t *n, lm_error *err)
{
    char     *field[CSV_MAX_COLUMNS];
    lm_status status;

    while (csv_comment(csv))
        ;
    if ((status = csv_record(csv, field, n, err)))
        return status;
    for (size_t c = 0; c < N_COLUMNS; c++) {
        place[c] = NOWHERE;
        for (size_t i = 0; i < *n; i++)
            if (!strcmp(text_trim(field[i]), column_names[c]))
                place[c] = i;
    }
    for (size_t c = NAME; c <= GEOMETRY; c++)
        if (place[c] == NOWHERE)
            return lm_error_set(err, LM_E_SYNTAX, "%s: a list of kernels has a column '%s'",
                                csv->path, column_names[c]);
    return LM_OK;
}

static const char *field_at(char *field[], const size_t place[N_COLUMNS], size_t c)
{
    return place[c] == NOWHERE ? "" : text_trim(field[place[c]]);
}

static lm_status read_kernel(char *field[], const size_t place[N_COLUMNS], lm_kernel *out,
                             lm_error *err)
{
    const char *dtype_text = field_at(field, place, DTYPE);
    const char *repeats    = field_at(field, place, REPEATS);
    lm_dtype    dtype      = LM_F32;
    uint64_t    n          = 1;
    lm_pass     pass;
    lm_status   status = kernel_pass_parse(field_at(field, place, PHASE), &pass, err);

    if (!status && *dtype_text)
        status = text_dtype(dtype_text, &dtype, err);
    if (!status)
        status = parse(field_at(field, place, NAME), field_at(field, place, GEOMETRY), pass, dtype,
                       out, err);
    if (!status && *repeats && !(status = text_uint(repeats, &n, err)) && (n < 1 || n > UINT32_MAX))
        status = lm_error_set(err, LM_E_ARG, "repeats: must be 1 or more, found %s", repeats);
    out->repeat = (uint32_t)n;
    return status;
}

static lm_status add_kernel(kernel_stream *s, const lm_kernel *k, const char *tag, lm_error *err)
{
    const char **more = realloc(s->tag, (s->kernels.n + 1) * sizeof *more);

    if (!more)
        return no_memory(err);
    s->tag             = more;
    more[s->kernels.n] = tag;
    return kernel_list_add(&s->kernels, k, err);
}

lm_status kernel_stream_load(const char *path, kernel_stream *out, lm_error *err)
{
    csv_reader csv;
    char      *field[CSV_MAX_COLUMNS];
    size_t     place[N_COLUMNS], n_head = 0, n = 0, size;
    lm_status  status;

    *out = (kernel_stream){ 0 };
    if ((status = file_read_text(path, &out->text, &size, err)))
        return status;
    csv_open(&csv, path, out->text);
    status = read_head(&csv, place, &n_head, err);
    while (!status && !(status = csv_record(&csv, field, &n, err)) && n) {
        lm_kernel k;

        if (n != n_head)
            status = lm_error_set(err, LM_E_SYNTAX, "%zu fields, the header has %zu", n, n_head);
        else if (!(status = read_kernel(field, place, &k, err)))
            status = add_kernel(out, &k, field_at(field, place, ALGORITHM), err);
        if (status)
            lm_error_prefix(err, "%s:%d", path, csv.line);
    }
    if (!status && !out->kernels.n)
        status = lm_error_set(err, LM_E_SYNTAX, "%s: lists no kernels", path);
    if (status)
        kernel_stream_free(out);
    return status;
}

void kernel_stream_free(kernel_stream *s)
{
    kernel_list_free(&s->kernels);
    free(s->tag);
    free(s->text);
    *s = (kernel_stream){ 0 };
}

static lm_status pass_seconds(const kernel_stream *s, layer_asker *by, bool learned, bool forward,
                              double *out, lm_error *err)
{
    stream_cost sum    = { 0 };
    lm_status   status = LM_OK;

    for (size_t i = 0; i < s->kernels.n && !status; i++) {
        const lm_kernel *k = &s->kernels.kernel[i];
        launch_cost      cost;

        if ((k->pass == LM_FORWARD) != forward)
            continue;
        status = launch_cost_of(by, k, s->tag[i], learned, &cost, err);
        if (!status)
            stream_add(&sum, k->repeat, &cost);
    }
    *out = stream_seconds(&sum);
    return status;
}

lm_status kernel_stream_seconds(const kernel_stream *s, layer_asker *by, bool learned, phase p,
                                double *out, lm_error *err)
{
    double    behind = 0;
    lm_status status = pass_seconds(s, by, learned, p != PHASE_BACKWARD, out, err);

    if (!status && p == PHASE_STEP)
        status = pass_seconds(s, by, learned, false, &behind, err);
    *out += behind;
    return status;
}
