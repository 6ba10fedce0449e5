/* CSV of `nsys stats`: lines before the table, then one of these heads
 *
 *   Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),Style,PID,TID,...
 *   Start (ns),End (ns),Duration (ns),...,Name,PID,TID,...
 *
 * The first one tells, beside steps, the GPU's time for a range: from its first kernel to its last.
 * --timeunit may have changed (ns). */
#include <math.h>
#include <string.h>

#include "import/csv_lines.h"
#include "import/nsys/nsys.h"

/* A column of times, and its unit in nanoseconds. */
typedef struct timed {
    size_t at;
    double unit;
} timed;

typedef struct columns {
    size_t name, thread;
    timed  start, length, worked;
} columns;

static const struct {
    const char *text;
    double      nanoseconds;
} units[] = { { "(ns)", 1 },   { "(nsec)", 1 },   { "(us)", 1e3 }, { "(usec)", 1e3 },
              { "(ms)", 1e6 }, { "(msec)", 1e6 }, { "(s)", 1e9 },  { "(sec)", 1e9 } };

static timed find(const csv_lines *csv, const char *name)
{
    const size_t n = strlen(name);

    for (size_t i = 0; i < csv->n_columns; i++) {
        const char *column = csv->column[i];

        if (strncmp(column, name, n) != 0 || column[n] != ' ')
            continue;
        for (size_t u = 0; u < sizeof units / sizeof units[0]; u++)
            if (!strcmp(column + n + 1, units[u].text))
                return (timed){ i, units[u].nanoseconds };
    }
    return (timed){ CSV_MAX_COLUMNS, NAN };
}

static double time_of(const csv_lines *csv, timed t)
{
    return t.unit * csv_lines_real(csv, t.at);
}

/* Passes over what stands before the table. */
static lm_status read_head(csv_lines *csv, columns *to, lm_error *err)
{
    lm_status status;

    while ((status = csv_lines_next(csv, err)) == LM_E_SYNTAX || (!status && csv->n)) {
        bool named = false;

        for (size_t i = 0; i < csv->n; i++)
            named = named || !strcmp(csv->field[i], "Name");
        if (named)
            break;
    }
    if (status || (status = csv_lines_head(csv, err)))
        return status;
    to->name   = csv_lines_column(csv, "Name");
    to->thread = csv_lines_column(csv, "TID");
    to->worked = find(csv, "Projected Duration");
    to->start  = find(csv, "Orig Start");
    to->length = find(csv, "Orig Duration");
    if (to->start.at == CSV_MAX_COLUMNS) {
        to->start  = find(csv, "Start");
        to->length = find(csv, "Duration");
    }
    if (to->name < CSV_MAX_COLUMNS && to->start.at < CSV_MAX_COLUMNS &&
        to->length.at < CSV_MAX_COLUMNS && to->thread < CSV_MAX_COLUMNS)
        return LM_OK;
    return lm_error_set(
        err, LM_E_SYNTAX,
        "%s: no table of NVTX ranges: give the SQLite file of 'nsys export', or CSV "
        "of 'nsys stats --format csv --report nvtx_gpu_proj_trace'",
        csv->path);
}

/* ":step" of the default domain. */
static const char *name_of(const char *name)
{
    return *name == ':' ? name + 1 : name;
}

static lm_status take_range(csv_lines *csv, const columns *of, profile *seen, lm_error *err)
{
    const char  *name   = of->name < csv->n ? name_of(csv->field[of->name]) : "";
    int64_t      number = -1;
    const size_t region = profile_region(seen, name, &number);
    const size_t layer  = profile_layer(seen, name);
    const double thread = csv_lines_real(csv, of->thread);

    if (region != PROFILE_NONE)
        return profile_add_step(seen, region,
                                isfinite(thread) && fabs(thread) < 1e18 ? (int64_t)thread : 0,
                                number, time_of(csv, of->start), time_of(csv, of->length), err);
    if (layer != PROFILE_NONE && of->worked.at < CSV_MAX_COLUMNS)
        return profile_add_layer(seen, layer, time_of(csv, of->worked) / 1e9, err);
    return LM_OK;
}

lm_status nsys_read_csv(const char *path, profile *seen, lm_error *err)
{
    csv_lines csv;
    columns   of;
    lm_status status = csv_lines_open(&csv, path, err);

    if (!status)
        status = read_head(&csv, &of, err);
    while (!status && !(status = csv_lines_next(&csv, err)) && csv.n)
        status = take_range(&csv, &of, seen, err);
    csv_lines_close(&csv);
    return status;
}
