/* The Event of TensorFlow's event.proto: wall_time = 1 (double), step = 2, summary = 5 { value = 1 {
 * tag = 1, simple_value = 2 (float), tensor = 8 { dtype = 1, tensor_content = 4, float_val = 5,
 * double_val = 6 } } }. Events stand in records, as TensorFlow's TFRecord frames them:
 *
 *   length (8 bytes), CRC of it (4), the event, CRC of it (4); little-endian, CRC-32C, masked */
#include "import/tensorboard/events.h"

#include <errno.h>
#include <math.h>
#include <pb_decode.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

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

/* ---- events ---------------------------------------------------------------------------------- */

/* Reads one field of a message, or skips it. */
typedef bool field_reader(pb_istream_t *m, uint32_t number, pb_wire_type_t wire, void *to);

static bool each_field(pb_istream_t m, field_reader *read, void *to)
{
    pb_wire_type_t wire;
    uint32_t       number;
    bool           end;

    while (pb_decode_tag(&m, &wire, &number, &end))
        if (!read(&m, number, wire, to))
            return false;
    return end;
}

/* A message or text within a message: *part stays valid as long as the bytes of m do. */
static bool part_of(pb_istream_t *m, pb_istream_t *part)
{
    pb_istream_t rest;

    if (!pb_make_string_substream(m, &rest))
        return false;
    *part = rest;
    return pb_close_string_substream(m, &rest);
}

enum { DT_FLOAT = 1, DT_DOUBLE = 2 };

typedef struct tensor {
    uint64_t dtype;
    double  *value; /* of a tensor of one number; others leave it */
} tensor;

/* One number of `width` bytes: packed, or a field of its own. */
static bool read_number(pb_istream_t *m, pb_wire_type_t wire, size_t width, double *out)
{
    pb_istream_t packed;
    float        single;

    if (wire == PB_WT_STRING) {
        if (!part_of(m, &packed))
            return false;
        if (packed.bytes_left != width) /* of several numbers */
            return true;
        m = &packed;
    }
    if (width == sizeof *out)
        return pb_decode_fixed64(m, out);
    if (!pb_decode_fixed32(m, &single))
        return false;
    *out = (double)single;
    return true;
}

static bool tensor_field(pb_istream_t *m, uint32_t number, pb_wire_type_t wire, void *to)
{
    tensor *t = to;

    if (number == 1 && wire == PB_WT_VARINT)
        return pb_decode_varint(m, &t->dtype);
    if (number == 4 && wire == PB_WT_STRING && (t->dtype == DT_FLOAT || t->dtype == DT_DOUBLE))
        return read_number(m, wire, t->dtype == DT_FLOAT ? 4 : 8, t->value);
    if (number == 5 && (wire == PB_WT_STRING || wire == PB_WT_32BIT))
        return read_number(m, wire, 4, t->value);
    if (number == 6 && (wire == PB_WT_STRING || wire == PB_WT_64BIT))
        return read_number(m, wire, 8, t->value);
    return pb_skip_field(m, wire);
}

typedef struct value {
    char   tag[256];
    double number;
} value;

static bool value_field(pb_istream_t *m, uint32_t number, pb_wire_type_t wire, void *to)
{
    value       *v = to;
    tensor       t = { 0, &v->number };
    pb_istream_t part;
    size_t       n;

    if (number == 2 && wire == PB_WT_32BIT)
        return read_number(m, wire, 4, &v->number);
    if ((number != 1 && number != 8) || wire != PB_WT_STRING)
        return pb_skip_field(m, wire);
    if (!part_of(m, &part))
        return false;
    if (number == 8)
        return each_field(part, tensor_field, &t);
    n         = part.bytes_left < sizeof v->tag ? part.bytes_left : sizeof v->tag - 1;
    v->tag[n] = '\0';
    return pb_read(&part, (pb_byte_t *)v->tag, n);
}

typedef struct event {
    double       wall;
    uint64_t     step;
    pb_istream_t summary; /* empty: the event is of the file or the run, no step */
    logged      *l;
    lm_status    status; /* of what was logged; its message is in err */
    lm_error    *err;
} event;

static bool summary_field(pb_istream_t *m, uint32_t number, pb_wire_type_t wire, void *to)
{
    event       *e = to;
    value        v = { .number = NAN };
    pb_istream_t part;
    size_t       metric;

    if (number != 1 || wire != PB_WT_STRING)
        return pb_skip_field(m, wire);
    if (!part_of(m, &part) || !each_field(part, value_field, &v))
        return false;
    if (!logged_metrics(e->l))
        e->status = logged_point(e->l, v.tag, (double)(int64_t)e->step, e->wall, e->err);
    else if ((metric = logged_metric(e->l, v.tag)) < logged_metrics(e->l))
        e->status = logged_value(e->l, metric, v.number, e->err);
    return !e->status;
}

static bool event_field(pb_istream_t *m, uint32_t number, pb_wire_type_t wire, void *to)
{
    event *e = to;

    if (number == 1 && wire == PB_WT_64BIT)
        return pb_decode_fixed64(m, &e->wall);
    if (number == 2 && wire == PB_WT_VARINT)
        return pb_decode_varint(m, &e->step);
    return number == 5 && wire == PB_WT_STRING ? part_of(m, &e->summary) : pb_skip_field(m, wire);
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

static lm_status read_event(const records *r, logged *l, lm_error *err)
{
    event      e    = { .wall = NAN, .l = l, .err = err };
    const bool fine = each_field(pb_istream_from_buffer(r->bytes, r->n), event_field, &e) &&
                      each_field(e.summary, summary_field, &e);

    return fine || e.status ? e.status : damaged(r, "no event", err);
}

lm_status tensorboard_events(const char *path, logged *l, log_rows *out, lm_error *err)
{
    records   r      = { .path = path, .file = fopen(path, "r"), .bytes = malloc(EVENT_MOST) };
    lm_status status = LM_OK;
    bool      whole = true, cut = false;

    if (!r.file)
        status = lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
    else if (!r.bytes)
        status = no_memory(err);
    while (!status && !(status = next_record(&r, &whole, &cut, err)) && whole) {
        status = read_event(&r, l, err);
        r.at += 16 + r.size;
    }
    out->n_broken += cut;
    if (r.file)
        fclose(r.file);
    free(r.bytes);
    return status;
}
