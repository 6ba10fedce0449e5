/* TensorBoard's logs: its files of events, or the CSV that its page gives of one tag:
 * Wall time,Step,Value. */
#include "import/tensorboard/events.h"

#include "import/csv_lines.h"

static lm_status read_csv(csv_lines *csv, logged *l, lm_error *err)
{
    const size_t wall = csv_lines_column(csv, "Wall time"), step = csv_lines_column(csv, "Step"),
                 value = csv_lines_column(csv, "Value");
    lm_status status   = LM_OK;

    if (step == CSV_MAX_COLUMNS || value == CSV_MAX_COLUMNS)
        return lm_error_set(err, LM_E_SYNTAX,
                            "%s: neither a file of TensorBoard's events nor a table of Wall time, "
                            "Step and Value",
                            csv->path);
    if (logged_metrics(l) > 1)
        return lm_error_set(err, LM_E_ARG, "%s: this file has one value: give one --metric",
                            csv->path);
    while (!status && !(status = csv_lines_next(csv, err)) && csv->n)
        status = logged_metrics(l) ? logged_value(l, 0, csv_lines_real(csv, value), err)
                                   : logged_point(l, "", csv_lines_real(csv, step),
                                                  csv_lines_real(csv, wall), err);
    return status;
}

/* The page's CSV begins with a name; a record of events begins with its length, hence zeros. */
static lm_status read_either(const char *path, logged *l, log_rows *out, lm_error *err)
{
    csv_lines csv;
    bool      table;
    int       first[8], n = 0;
    lm_status status = csv_lines_open(&csv, path, err);

    while (!status && n < 8 && (first[n] = getc(csv.file)) > 0)
        n++;
    table = n == 8;
    if (!status && table) {
        rewind(csv.file);
        if ((status = csv_lines_next(&csv, err)) == LM_E_SYNTAX)
            status = LM_OK; /* no table: read_csv() says so */
        if (!status && !(status = csv_lines_head(&csv, err)))
            status = read_csv(&csv, l, err);
    }
    csv_lines_close(&csv);
    return status || table ? status : tensorboard_events(path, l, out, err);
}

lm_status tensorboard_read(const char *path, const extrap_options *given, const registry *reg,
                           log_rows *out, lm_error *err)
{
    logged   *l      = NULL;
    lm_status status = logged_open(path, given, out, &l, err);

    if (!status)
        status = read_either(path, l, out, err);
    if (!status)
        status = logged_rows(l, reg, "no scalars in it, and so no steps", err);
    out->tool = "TensorBoard";
    logged_close(l);
    return status;
}
