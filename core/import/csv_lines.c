/* CSV, line by line. */
#include "import/csv_lines.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"

lm_status csv_lines_open(csv_lines *csv, const char *path, lm_error *err)
{
    *csv = (csv_lines){ .path = path, .text = malloc(CSV_LINE_BYTES) };
    if (!csv->text)
        return no_memory(err);
    csv->file = fopen(path, "r");
    return csv->file ? LM_OK : lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
}

void csv_lines_close(csv_lines *csv)
{
    if (csv->file)
        fclose(csv->file);
    for (size_t i = 0; i < csv->n_columns; i++)
        free(csv->column[i]);
    free(csv->text);
    *csv = (csv_lines){ .n = 0 };
}

lm_status csv_lines_next(csv_lines *csv, lm_error *err)
{
    csv_reader reader;
    lm_status  status = LM_OK;

    csv->n = 0;
    while (!status && !csv->n && fgets(csv->text, (int)CSV_LINE_BYTES, csv->file)) {
        const size_t size = strlen(csv->text);

        csv->line++;
        if (size + 1 == CSV_LINE_BYTES)
            return lm_error_set(err, LM_E_SYNTAX, "%s:%d: a line of more than %zu bytes: no table",
                                csv->path, csv->line, size);
        csv_open(&reader, csv->path, csv->text);
        reader.next_line = csv->line;
        status           = csv_record(&reader, csv->field, &csv->n, err);
    }
    if (!status && ferror(csv->file))
        status = lm_error_set(err, LM_E_IO, "%s: %s", csv->path, strerror(errno));
    return status;
}

lm_status csv_lines_head(csv_lines *csv, lm_error *err)
{
    for (size_t i = 0; i < csv->n; i++) {
        csv->column[i] = strdup(csv->field[i]);
        if (!csv->column[i])
            return no_memory(err);
        csv->n_columns = i + 1;
    }
    return LM_OK;
}

size_t csv_lines_column(const csv_lines *csv, const char *name)
{
    for (size_t i = 0; i < csv->n_columns; i++)
        if (!strcmp(csv->column[i], name))
            return i;
    return CSV_MAX_COLUMNS;
}

double csv_lines_real(const csv_lines *csv, size_t column)
{
    double value;

    return column < csv->n && !text_real(csv->field[column], &value, NULL) ? value : NAN;
}
