/* Largest batches that fit a device's memory. */
#include "plan/room.h"

#include <math.h>
#include <string.h>

#include "device/device.h"

room_reserve room_reserved(const memory_options *o)
{
    return o->late_sums ? ROOM_RESERVED_NANOTRON : ROOM_RESERVED;
}

uint64_t room_allowed(uint64_t memory, bool all, room_reserve r)
{
    return all ? memory : (uint64_t)((double)memory / r.low);
}

uint64_t room_short(double bytes, uint64_t memory, bool all, room_reserve r)
{
    return bytes > (double)room_allowed(memory, all, r)
               ? (uint64_t)ceil((all ? 1 : r.low) * bytes) - memory
               : 0;
}

room_verdict room_judge(double bytes, double memory, bool all, room_reserve r)
{
    const bool close = bytes > (1 - MEMORY_LESS) * memory || r.high * bytes > memory;

    if (bytes > (double)room_allowed((uint64_t)memory, all, r))
        return ROOM_SHORT;
    return !all && close ? ROOM_CLOSE : ROOM_FITS;
}

const char *room_verdict_name(room_verdict v)
{
    return v == ROOM_FITS ? "yes" : v == ROOM_CLOSE ? "close" : "no";
}

const char *room_verdict_words(room_verdict v)
{
    return v == ROOM_FITS    ? "fits"
           : v == ROOM_CLOSE ? "within the error of the memory"
                             : "does not fit";
}

const char *room_size(double bytes, char text[ROOM_SIZE])
{
    static const struct {
        double      each;
        const char *unit;
    } units[] = { { 1e12, "TB" }, { 1e9, "GB" }, { 1e6, "MB" }, { 1e3, "kB" } };
    size_t i  = 0;

    while (i + 1 < sizeof units / sizeof units[0] && bytes < units[i].each)
        i++;
    snprintf(text, ROOM_SIZE, "%.3g %s", bytes / units[i].each, units[i].unit);
    return text;
}

const char *room_needs(double bytes, bool all, room_reserve r, char text[ROOM_TEXT])
{
    char size[3][ROOM_SIZE];

    room_size(bytes, size[0]);
    if (all)
        snprintf(text, ROOM_TEXT, "%s in all", size[0]);
    else
        snprintf(text, ROOM_TEXT, "%s allocated, %s to %s reserved", size[0],
                 room_size(r.low * bytes, size[1]), room_size(r.high * bytes, size[2]));
    return text;
}

lm_status room_of_device(const char *devices, const char *name, int64_t *bytes, lm_error *err)
{
    device_list  *list = NULL;
    const device *d    = NULL;
    lm_status     status;

    if (!(status = devices_open(devices, &list, err)) &&
        !(status = devices_find(list, name, &d, err))) {
        if (d->figure[DEVICE_MEMORY] > 0)
            *bytes = (int64_t)d->figure[DEVICE_MEMORY];
        else
            status =
                lm_error_set(err, LM_E_NOTFOUND, "%s:%d: '%.60s' has no 'memory': give --memory",
                             d->path, d->line, d->name);
    }
    devices_free(list);
    return status;
}

void room_print(const room_answer *a, FILE *out)
{
    const double       room = 1e-9 * (double)a->room, peak = (double)a->peak;
    const room_verdict most = room_judge((double)a->at, (double)a->room, a->all, a->reserve);
    char               needs[ROOM_TEXT];

    if (a->batch)
        fprintf(out, "batch %lld: %s, of %.6g GB: %s\n", (long long)a->batch,
                room_needs(peak, a->all, a->reserve, needs), room,
                room_verdict_words(room_judge(peak, (double)a->room, a->all, a->reserve)));
    if (!a->largest)
        fprintf(out, "does not fit at batch 1: short by %.6g GB: %s%s%s\n",
                1e-9 * (double)room_short((double)a->beyond, a->room, a->all, a->reserve),
                room_needs((double)a->beyond, a->all, a->reserve, needs), *a->remedy ? "; " : "",
                a->remedy);
    else if (a->largest == MEMORY_BATCH_MAX)
        fprintf(out, "2^40 samples and more fit %.6g GB\n", room);
    else
        fprintf(out, "largest batch that fits %.6g GB: %lld (%.6g GB%s%s; %lld would %s %.6g GB)\n",
                room, (long long)a->largest, 1e-9 * (double)a->at, a->all ? "" : " allocated",
                most == ROOM_CLOSE ? ", within the error" : "", (long long)a->largest + 1,
                a->all ? "need" : "reserve at least",
                1e-9 * (a->all ? 1 : a->reserve.low) * (double)a->beyond);
}

memory_options room_options(const sync_policy *sync, optimizer o, lm_dtype dtype,
                            const device_room *room, bool many, bool keep)
{
    return (memory_options){ .optimizer = o,
                             .masters   = lm_dtype_bytes(dtype) == 2,
                             .nodes     = many && sync->rule != SYNC_TENSOR ? 2 : 1,
                             .buckets   = sync->rule == SYNC_FUSION ? BUCKETS_FIXED : BUCKETS_COPY,
                             .bucket_bytes   = sync->rule == SYNC_FUSION ? sync->limit_bytes : 0,
                             .keep_gradients = keep,
                             .recompute      = room ? room->recompute : NULL,
                             .overhead       = room ? room->overhead : 0 };
}

lm_status batch_limits_of(const network *net, const registry *reg, const bind_options *b,
                          const sync_policy *sync, optimizer o, const layout *l,
                          const device_room *room, batch_limits *out, lm_error *err)
{
    batch_limits   limits;
    const uint64_t allowed = room_allowed(room->bytes, room->overhead > 0, ROOM_RESERVED);

    for (int many = 0; many < 2; many++)
        for (int keep = 0; keep < 2; keep++) {
            const memory_options with = room_options(sync, o, b->dtype, room, many, keep);
            const rank_memory    rank = { .net = net, .reg = reg, .bind = b, .how = &with, .l = l };
            int64_t             *to   = &limits.largest[many][keep];
            lm_status            status;

            *to = MEMORY_BATCH_MAX;
            if (!room->bytes)
                continue;
            if (b->evaluation && (many || keep)) { /* without gradients all are equal */
                *to = limits.largest[0][0];
                continue;
            }
            if ((status = rank_memory_largest(&rank, allowed, to, err)))
                return status;
        }
    *out = limits;
    return LM_OK;
}

/* Is it a language model? It has an embedding. */
static bool has_embedding(const network *net)
{
    size_t l = 0;

    while (l < net->n_layers && strcmp(net->layer[l].type, "embedding") != 0)
        l++;
    return l < net->n_layers;
}

/* What helps where neither 16 bits nor recomputation do. */
static const char *share_it(const rank_memory *m, char text[ROOM_REMEDY])
{
    const bool language = has_embedding(m->net), inference = m->bind->evaluation;
    const bool adapts = m->net->set && strstr(m->net->set, "lora=");

    if (m->l)
        snprintf(text, ROOM_REMEDY,
                 "share it among more devices (a larger --tp%s) or take a larger one",
                 inference ? "" : ", --pp or --fsdp");
    else
        snprintf(text, ROOM_REMEDY, "share it among devices (%s)%s or take a larger device",
                 inference  ? "--tp 8"
                 : language ? "'layermeter plan' finds how many and how"
                            : "'layermeter plan --layouts 5 --global-batch N' finds how",
                 language && !inference && !adapts ? ", train an adapter (NETWORK:lora=16)" : "");
    return text;
}

const char *room_remedy(const rank_memory *m, uint64_t bytes, char text[ROOM_REMEDY])
{
    static const struct {
        lm_dtype    dtype;
        const char *recompute, *words;
    } tried[]                   = { { LM_BF16, NULL, "--dtype bf16 (or f16)" },
                                    { 0, "blocks", "--recompute blocks" },
                                    { LM_BF16, "blocks", "--recompute blocks --dtype bf16 (or f16)" } };
    const bind_options *b       = m->bind;
    const uint64_t      allowed = room_allowed(bytes, m->how->overhead > 0, room_reserved(m->how));
    char                size[ROOM_SIZE];

    for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
        bind_options   bind = *b;
        memory_options how  = *m->how;
        rank_memory    at   = *m;
        memory_use     use;
        lm_status      status;
        int64_t        rank;

        if ((tried[i].dtype && (b->dtype != LM_F32 || how.mixed)) ||
            (tried[i].recompute && (b->evaluation || how.recompute)))
            continue;
        bind.batch    = 1;
        bind.dtype    = tried[i].dtype ? tried[i].dtype : b->dtype;
        bind.mixed    = tried[i].dtype ? 0 : b->mixed;
        how.recompute = tried[i].recompute ? tried[i].recompute : how.recompute;
        at.bind       = &bind;
        at.how        = &how;
        status        = rank_memory_of(&at, &use, &rank, NULL, NULL);
        if (!status && use.peak <= allowed) { /* a network without blocks cannot recompute them */
            snprintf(text, ROOM_REMEDY, "it fits with %s: %s", tried[i].words,
                     room_size((double)use.peak, size));
            return text;
        }
    }
    return share_it(m, text);
}

int64_t batch_limit(const batch_limits *limits, int64_t ranks, int64_t accumulation)
{
    return limits->largest[ranks > 1][accumulation > 1];
}
