/* The SQLite file of `nsys export`, by its documented tables:
 *
 *   NVTX_EVENTS                  start, end, eventType, text or textId, globalTid, domainId, binaryData
 *   CUPTI_ACTIVITY_KIND_KERNEL   start, end, correlationId, globalPid, shortName
 *   CUPTI_ACTIVITY_KIND_RUNTIME  start, correlationId, globalTid: who launched a kernel, and when
 *   StringIds                    id, value
 *
 * Times are nanoseconds. Ranges, and kernels by the times of their launches, are read side by side,
 * thread by thread: a kernel belongs to the innermost layer that its launch lies in. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "import/nsys/nsys.h"
#include "import/nsys/payload.h"
#include "import/nsys/sqlite.h"

/* eventType */
#define PUSH_POP  59
#define START_END 60

#define DEPTH_MAX 256
#define COMMS_MAX 4096

/* The next range, or kernel with its launch. */
typedef struct cursor {
    sqlite3_stmt *rows;
    bool          has;
    int64_t       thread, at;
} cursor;

/* A layer whose range is open. */
typedef struct open_layer {
    size_t  layer;
    int64_t end;
    double  nanoseconds; /* of its kernels so far */
} open_layer;

typedef struct communicator {
    uint64_t id, ranks;
} communicator;

typedef struct nsys_trace {
    db              of;
    profile        *seen;
    log_rows       *out;
    payload_schemas schemas;
    communicator   *comm;
    size_t          n_comms, comm_room;
    open_layer      open[DEPTH_MAX];
    size_t          depth;
    int64_t         thread;  /* of the open layers and of what is pending */
    size_t          pending; /* all-reduces that were called, and whose kernel is yet to come */
    double          bytes, ranks;
    bool            has_ranges, has_names, has_texts, has_payloads, has_kernels, has_pids;
} nsys_trace;

static int64_t whole(sqlite3_stmt *s, int column)
{
    return db_sqlite.sqlite3_column_int64(s, column);
}

static const char *text(sqlite3_stmt *s, int column)
{
    const unsigned char *said = db_sqlite.sqlite3_column_text(s, column);

    return said ? (const char *)said : "";
}

static lm_status advance(nsys_trace *t, cursor *c, lm_error *err)
{
    const lm_status status = db_next(&t->of, c->rows, &c->has, err);

    if (!status && c->has) {
        c->thread = whole(c->rows, 0);
        c->at     = whole(c->rows, 1);
    }
    return status;
}

/* ---- what the file has ----------------------------------------------------------------------- */

static lm_status need(nsys_trace *t, const char *table, const char *const *column, lm_error *err)
{
    lm_status status = LM_OK;
    bool      has;

    for (; *column && !status; column++)
        if (!(status = db_column(&t->of, table, *column, &has, err)) && !has)
            status = lm_error_set(err, LM_E_SYNTAX,
                                  "%s: table %s has no column '%s': export the report again, with "
                                  "'nsys export --type sqlite' of this year or last",
                                  t->of.path, table, *column);
    return status;
}

static lm_status look(nsys_trace *t, lm_error *err)
{
    static const char *const of_ranges[]   = { "end", "eventType", "globalTid", NULL };
    static const char *const of_kernels[]  = { "end", "correlationId", "shortName", NULL };
    static const char *const of_launches[] = { "start", "correlationId", "globalTid", NULL };
    static const char        kernels[]     = "CUPTI_ACTIVITY_KIND_KERNEL";
    bool                     entries       = false;
    lm_status                status;

    if ((status = db_column(&t->of, "NVTX_EVENTS", "start", &t->has_ranges, err)) ||
        (status = db_column(&t->of, "NVTX_EVENTS", "textId", &t->has_names, err)) ||
        (status = db_column(&t->of, "NVTX_EVENTS", "text", &t->has_texts, err)) ||
        (status = db_column(&t->of, "NVTX_EVENTS", "binaryData", &t->has_payloads, err)) ||
        (status = db_column(&t->of, "NVTX_PAYLOAD_SCHEMA_ENTRIES", "offset", &entries, err)) ||
        (status = db_column(&t->of, kernels, "start", &t->has_kernels, err)) ||
        (status = db_column(&t->of, kernels, "globalPid", &t->has_pids, err)))
        return status;
    t->has_payloads = t->has_payloads && entries;
    if (!t->has_ranges && !t->has_kernels)
        return lm_error_set(err, LM_E_SYNTAX,
                            "%s: neither table NVTX_EVENTS nor %s: no trace of Nsight Systems, or "
                            "one without --trace=cuda,nvtx",
                            t->of.path, kernels);
    if ((t->has_ranges && (status = need(t, "NVTX_EVENTS", of_ranges, err))) ||
        (t->has_kernels && (status = need(t, kernels, of_kernels, err))) ||
        (t->has_kernels && (status = need(t, "CUPTI_ACTIVITY_KIND_RUNTIME", of_launches, err))))
        return status;
    return LM_OK;
}

/* ---- NCCL ------------------------------------------------------------------------------------ */

static lm_status read_schemas(nsys_trace *t, lm_error *err)
{
    sqlite3_stmt *s = NULL;
    bool          row;
    lm_status     status = db_ask(&t->of,
                                  "SELECT domainId, schemaId, name, type, offset FROM "
                                      "NVTX_PAYLOAD_SCHEMA_ENTRIES ORDER BY domainId, schemaId, idx",
                                  &s, err);

    while (!status && !(status = db_next(&t->of, s, &row, err)) && row)
        status =
            payload_add(&t->schemas, whole(s, 0), whole(s, 1), text(s, 2), whole(s, 3),
                        db_sqlite.sqlite3_column_type(s, 4) == SQLITE_NULL ? -1 : whole(s, 4), err);
    db_end(s);
    return status;
}

/* Ranks of communicators: their ncclCommInitRank may have been called by any thread. */
static lm_status read_communicators(nsys_trace *t, lm_error *err)
{
    sqlite3_stmt *s = NULL;
    bool          row;
    lm_status     status =
        db_ask(&t->of, "SELECT domainId, binaryData FROM NVTX_EVENTS WHERE binaryData IS NOT NULL",
               &s, err);

    while (!status && !(status = db_next(&t->of, s, &row, err)) && row) {
        const void  *blob = db_sqlite.sqlite3_column_blob(s, 1);
        const size_t size = (size_t)db_sqlite.sqlite3_column_bytes(s, 1);
        communicator c;

        if (!payload_find(&t->schemas, whole(s, 0), blob, size, PAYLOAD_RANKS, &c.ranks) ||
            !payload_find(&t->schemas, whole(s, 0), blob, size, PAYLOAD_COMMUNICATOR, &c.id) ||
            t->n_comms == COMMS_MAX)
            continue;
        if (!array_grow(&t->comm, t->n_comms, &t->comm_room, sizeof *t->comm))
            status = no_memory(err);
        else
            t->comm[t->n_comms++] = c;
    }
    db_end(s);
    return status;
}

/* 0: not told. */
static double ranks_of(const nsys_trace *t, uint64_t communicator_id)
{
    for (size_t i = t->n_comms; i-- > 0;)
        if (t->comm[i].id == communicator_id)
            return (double)t->comm[i].ranks;
    return 0;
}

/* A call of ncclAllReduce: its kernel is launched by this thread, within it or by the end of a group. */
static void take_call(nsys_trace *t, sqlite3_stmt *s)
{
    const void   *blob   = db_sqlite.sqlite3_column_blob(s, 4);
    const size_t  size   = (size_t)db_sqlite.sqlite3_column_bytes(s, 4);
    const int64_t domain = whole(s, 5);
    uint64_t      bytes, id;

    t->bytes =
        payload_find(&t->schemas, domain, blob, size, PAYLOAD_BYTES, &bytes) ? (double)bytes : 0;
    t->ranks = payload_find(&t->schemas, domain, blob, size, PAYLOAD_COMMUNICATOR, &id)
                   ? ranks_of(t, id)
                   : 0;
    t->pending++;
}

/* A kernel that sums several messages has no size. */
static lm_status take_collective(nsys_trace *t, const char *name, double seconds, lm_error *err)
{
    const double bytes = t->pending == 1 ? t->bytes : 0, ranks = t->ranks;

    t->pending = 0;
    if (!strstr(name, "AllReduce")) {
        t->out->n_other++;
        return LM_OK;
    }
    return profile_add_message(t->seen, bytes, ranks, nsys_nccl_dtype(name), seconds, err);
}

/* ---- ranges and kernels ---------------------------------------------------------------------- */

/* Closes the layers whose ranges have ended. */
static lm_status close_layers(nsys_trace *t, int64_t thread, int64_t at, lm_error *err)
{
    lm_status status = LM_OK;

    if (thread != t->thread)
        t->pending = 0;
    while (t->depth && !status && (thread != t->thread || t->open[t->depth - 1].end < at)) {
        const open_layer *l = &t->open[--t->depth];

        if (l->nanoseconds > 0) /* none: a view, or a pass that was not traced */
            status = profile_add_layer(t->seen, l->layer, l->nanoseconds / 1e9, err);
    }
    t->thread = thread;
    return status;
}

/* Columns: thread, start, end, name, payload, domain, type. */
static lm_status take_range(nsys_trace *t, const cursor *c, lm_error *err)
{
    sqlite3_stmt *s      = c->rows;
    const char   *name   = text(s, 3);
    int64_t       number = -1;
    const size_t  region = profile_region(t->seen, name, &number);
    const size_t  layer  = profile_layer(t->seen, name);

    if (region != PROFILE_NONE)
        return profile_add_step(t->seen, region, c->thread, number, (double)c->at,
                                (double)whole(s, 2) - (double)c->at, err);
    if (whole(s, 6) != PUSH_POP)
        return LM_OK;
    if (!strcmp(name, "ncclAllReduce"))
        take_call(t, s);
    else if (layer != PROFILE_NONE && t->depth == DEPTH_MAX)
        t->out->n_broken++;
    else if (layer != PROFILE_NONE)
        t->open[t->depth++] = (open_layer){ layer, whole(s, 2), 0 };
    return LM_OK;
}

/* Columns: thread and time of the launch, start, end, name. */
static lm_status take_kernel(nsys_trace *t, const cursor *c, lm_error *err)
{
    const double nanoseconds = (double)whole(c->rows, 3) - (double)whole(c->rows, 2);
    const char  *name        = text(c->rows, 4);

    if (!strncmp(name, "nccl", 4))
        return take_collective(t, name, nanoseconds / 1e9, err);
    if (t->depth && nanoseconds > 0)
        t->open[t->depth - 1].nanoseconds += nanoseconds;
    return LM_OK;
}

static lm_status ask_ranges(nsys_trace *t, cursor *c, lm_error *err)
{
    char sql[600];

    if (!t->has_ranges)
        return LM_OK;
    snprintf(sql, sizeof sql,
             "SELECT n.globalTid, n.start, n.\"end\", %s, %s, eventType FROM NVTX_EVENTS n %s "
             "WHERE n.eventType IN (%d, %d) AND n.\"end\" IS NOT NULL ORDER BY 1, 2, 3 DESC",
             !t->has_names   ? "n.text"
             : !t->has_texts ? "s.value"
                             : "COALESCE(n.text, s.value)",
             t->has_payloads ? "n.binaryData, n.domainId" : "NULL, 0",
             t->has_names ? "LEFT JOIN StringIds s ON s.id = n.textId" : "", PUSH_POP, START_END);
    return db_ask(&t->of, sql, &c->rows, err);
}

static lm_status ask_kernels(nsys_trace *t, cursor *c, lm_error *err)
{
    char sql[600];

    if (!t->has_kernels)
        return LM_OK;
    snprintf(sql, sizeof sql,
             "SELECT r.globalTid, r.start, k.start, k.\"end\", s.value "
             "FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r "
             "ON r.correlationId = k.correlationId %s LEFT JOIN StringIds s ON s.id = k.shortName "
             "ORDER BY 1, 2",
             t->has_pids ? "AND r.globalTid / 16777216 = k.globalPid / 16777216" : "");
    return db_ask(&t->of, sql, &c->rows, err);
}

/* In the order of their times; of the same time the range, which holds the launch. */
static bool before(const cursor *a, const cursor *b)
{
    if (!a->has || !b->has)
        return a->has;
    return a->thread != b->thread ? a->thread < b->thread : a->at <= b->at;
}

static lm_status merge(nsys_trace *t, cursor *ranges, cursor *kernels, lm_error *err)
{
    lm_status status = LM_OK;

    if ((ranges->rows && (status = advance(t, ranges, err))) ||
        (kernels->rows && (status = advance(t, kernels, err))))
        return status;
    while (!status && (ranges->has || kernels->has)) {
        const bool range = before(ranges, kernels);
        cursor    *c     = range ? ranges : kernels;

        if (!(status = close_layers(t, c->thread, c->at, err)) &&
            !(status = range ? take_range(t, c, err) : take_kernel(t, c, err)))
            status = advance(t, c, err);
    }
    return status ? status : close_layers(t, ~t->thread, 0, err);
}

lm_status nsys_read_sqlite(const char *path, profile *seen, log_rows *out, lm_error *err)
{
    nsys_trace *t      = calloc(1, sizeof *t);
    cursor      ranges = { 0 }, kernels = { 0 };
    lm_status   status;

    if (!t)
        return no_memory(err);
    t->seen = seen;
    t->out  = out;
    if ((status = db_open(&t->of, path, err)) || (status = look(t, err)) ||
        (t->has_payloads &&
         ((status = read_schemas(t, err)) || (status = read_communicators(t, err)))) ||
        (status = ask_ranges(t, &ranges, err)) || (status = ask_kernels(t, &kernels, err)))
        goto out;
    status = merge(t, &ranges, &kernels, err);
out:
    db_end(ranges.rows);
    db_end(kernels.rows);
    db_close(&t->of);
    payload_free(&t->schemas);
    free(t->comm);
    free(t);
    return status;
}
