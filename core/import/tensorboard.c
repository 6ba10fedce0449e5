/* TensorBoard's files of events, of any size: records as TensorFlow's TFRecord frames them,
 *
 *   length (8 bytes), CRC of it (4), an Event, CRC of it (4); little-endian, CRC-32C, masked
 *
 * and the Event of event.proto: wall_time = 1 (double), step = 2, summary = 5 { value = 1 { tag = 1,
 * simple_value = 2 (float), tensor = 8 { dtype = 1, tensor_content = 4, float_val = 5,
 * double_val = 6 } } }. Or the CSV that its page gives of one tag: Wall time,Step,Value. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "import/csv_lines.h"
#include "import/logged.h"

/* Larger events hold pictures or graphs; they are passed over. */
#define EVENT_MOST ((size_t)1 << 20)

/* ---- framing --------------------------------------------------------------------------------- */

static uint64_t little_endian(const unsigned char *at, size_t n)
{
    uint64_t value = 0;

    while (n-- > 0)
        value = value << 8 | at[n];
    return value;
}

/* CRC-32C (RFC 3720, B.4), and TFRecord's mask of it. */
static uint32_t masked_crc(const unsigned char *bytes, size_t n)
{
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

/* ---- protobuf -------------------------------------------------------------------------------- */

typedef struct message {
    const unsigned char *at, *end;
} message;

typedef struct proto_field {
    uint64_t number, value; /* value: of a varint, fixed64 or fixed32 */
    message  bytes;         /* of what has a length */
    int      wire;
} proto_field;

static bool varint(message *m, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && m->at < m->end; shift += 7) {
        const unsigned char byte = *m->at++;

        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* The next field; false: the end, or no protobuf, *fine says which. */
static bool next_field(message *m, proto_field *f, bool *fine)
{
    uint64_t key, size = 0;

    *fine = m->at == m->end;
    if (*fine || !varint(m, &key))
        return false;
    *f = (proto_field){ .number = key >> 3, .wire = (int)(key & 7) };
    if (f->wire == 0)
        return varint(m, &f->value);
    if (f->wire == 1 || f->wire == 5)
        size = f->wire == 1 ? 8 : 4;
    else if (f->wire != 2 || !varint(m, &size))
        return false;
    if (size > (uint64_t)(m->end - m->at))
        return false;
    if (f->wire == 2)
        f->bytes = (message){ m->at, m->at + size };
    else
        f->value = little_endian(m->at, (size_t)size);
    m->at += size;
    return true;
}

static double of_float(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float          value;

    memcpy(&value, &low, sizeof value);
    return (double)value;
}

static double of_double(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- events ---------------------------------------------------------------------------------- */

enum { DT_FLOAT = 1, DT_DOUBLE = 2 };

/* A tensor of one number; NAN: of others. */
static bool read_tensor(message m, double *out)
{
    uint64_t    dtype = 0;
    proto_field f;
    bool        fine;

    while (next_field(&m, &f, &fine)) {
        const size_t n     = f.wire == 2 ? (size_t)(f.bytes.end - f.bytes.at) : 0;
        const size_t width = f.number == 5        ? 4
                             : f.number == 6      ? 8
                             : f.number != 4      ? 0
                             : dtype == DT_FLOAT  ? 4
                             : dtype == DT_DOUBLE ? 8
                                                  : 0;

        if (f.number == 1 && f.wire == 0)
            dtype = f.value;
        else if (width && (n == width || f.wire == (width == 4 ? 5 : 1)))
            *out = width == 4 ? of_float(n ? little_endian(f.bytes.at, n) : f.value)
                              : of_double(n ? little_endian(f.bytes.at, n) : f.value);
    }
    return fine;
}

/* When something was logged. */
typedef struct moment {
    double step, wall;
} moment;

static bool read_value(message m, const moment *when, logged *l, lm_status *status, lm_error *err)
{
    char        tag[256] = "";
    double      value    = NAN;
    proto_field f;
    bool        fine;
    size_t      metric;

    while (next_field(&m, &f, &fine)) {
        if (f.number == 1 && f.wire == 2) {
            const size_t n = (size_t)(f.bytes.end - f.bytes.at);

            memcpy(tag, f.bytes.at, n < sizeof tag ? n : sizeof tag - 1);
            tag[n < sizeof tag ? n : sizeof tag - 1] = '\0';
        } else if (f.number == 2 && f.wire == 5) {
            value = of_float(f.value);
        } else if (f.number == 8 && f.wire == 2 && !read_tensor(f.bytes, &value)) {
            return false;
        }
    }
    if (fine && !logged_metrics(l))
        *status = logged_point(l, tag, when->step, when->wall, err);
    else if (fine && (metric = logged_metric(l, tag)) < logged_metrics(l))
        *status = logged_value(l, metric, value, err);
    return fine;
}

static bool read_summary(message m, const moment *when, logged *l, lm_status *status, lm_error *err)
{
    proto_field f;
    bool        fine = true;

    while (!*status && next_field(&m, &f, &fine))
        if (f.number == 1 && f.wire == 2 && !read_value(f.bytes, when, l, status, err))
            return false;
    return *status || fine;
}

/* An event without a summary is of the file or the run, no step. */
static bool read_event(message m, logged *l, lm_status *status, lm_error *err)
{
    moment      when    = { 0, NAN };
    message     summary = { NULL, NULL };
    proto_field f;
    bool        fine;

    while (next_field(&m, &f, &fine)) {
        if (f.number == 1 && f.wire == 1)
            when.wall = of_double(f.value);
        else if (f.number == 2 && f.wire == 0)
            when.step = (double)(int64_t)f.value;
        else if (f.number == 5 && f.wire == 2)
            summary = f.bytes;
    }
    return fine && (!summary.at || read_summary(summary, &when, l, status, err));
}

/* ---- the file -------------------------------------------------------------------------------- */

typedef struct records {
    FILE          *file;
    const char    *path;
    unsigned char *bytes; /* EVENT_MOST */
    uint64_t       at;    /* where the record begins */
    uint64_t       size;  /* of its event */
    size_t         n;     /* of these in `bytes`; 0: passed over */
} records;

static lm_status damaged(const records *r, const char *why, lm_error *err)
{
    return lm_error_set(err, LM_E_SYNTAX,
                        "%s: byte %llu: %s: no file of TensorBoard's events, or a damaged one",
                        r->path, (unsigned long long)r->at, why);
}

/* Passes over n bytes; false: there are fewer. */
static bool pass(records *r, uint64_t n)
{
    while (n) {
        const size_t part = n < EVENT_MOST ? (size_t)n : EVENT_MOST;

        if (fread(r->bytes, 1, part, r->file) != part)
            return false;
        n -= part;
    }
    return true;
}

/* The next record. *whole is false at the end, where `cut` says whether a part of one is left. */
static lm_status next_record(records *r, bool *whole, bool *cut, lm_error *err)
{
    unsigned char head[12], tail[4];
    const size_t  got = fread(head, 1, sizeof head, r->file);

    *whole = *cut = false;
    if (got < sizeof head) {
        *cut = got > 0;
        return ferror(r->file) ? lm_error_set(err, LM_E_IO, "%s: %s", r->path, strerror(errno))
                               : LM_OK;
    }
    r->size = little_endian(head, 8);
    if (masked_crc(head, 8) != little_endian(head + 8, 4))
        return damaged(r, "the length of a record does not have its checksum", err);
    r->n = r->size <= EVENT_MOST ? (size_t)r->size : 0;
    if (r->n ? fread(r->bytes, 1, r->n, r->file) != r->n : !pass(r, r->size))
        *cut = true;
    else if (fread(tail, 1, sizeof tail, r->file) != sizeof tail)
        *cut = true;
    if (*cut)
        return LM_OK;
    if (r->n && masked_crc(r->bytes, r->n) != little_endian(tail, 4))
        return damaged(r, "a record does not have its checksum", err);
    *whole = true;
    return LM_OK;
}

static lm_status read_events(const char *path, logged *l, log_rows *out, lm_error *err)
{
    records   r      = { .path = path, .file = fopen(path, "r"), .bytes = malloc(EVENT_MOST) };
    lm_status status = LM_OK;
    bool      whole = true, cut = false;

    if (!r.file)
        status = lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
    else if (!r.bytes)
        status = no_memory(err);
    while (!status && !(status = next_record(&r, &whole, &cut, err)) && whole) {
        if (!read_event((message){ r.bytes, r.bytes + r.n }, l, &status, err))
            status = damaged(&r, "no event", err);
        r.at += 16 + r.size;
    }
    out->n_broken += cut;
    if (r.file)
        fclose(r.file);
    free(r.bytes);
    return status;
}

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
    return status || table ? status : read_events(path, l, out, err);
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
