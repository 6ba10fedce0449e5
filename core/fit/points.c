/* Observations as fits see them. */
#include "fit/points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/names.h"
#include "base/text.h"

static bool same_configuration(const observation *a, const observation *b)
{
    return a->kind == b->kind && a->batch == b->batch && a->ranks == b->ranks &&
           a->hosts == b->hosts && a->bytes == b->bytes && a->dtype == b->dtype &&
           a->threads == b->threads && a->bucket_bytes == b->bucket_bytes &&
           !strcmp(a->name, b->name) && !strcmp(a->input, b->input) &&
           !strcmp(a->algorithm, b->algorithm) && !strcmp(a->optimizer, b->optimizer) &&
           !strcmp(a->settings, b->settings);
}

/* A configuration as 16 hexadecimal digits; same_configuration() has the last word. (Composing the
 * whole text for each row would cost more than reading the file.) */
static void print_key(const observation *r, char key[17])
{
    const uint64_t field[] = { text_hash(r->name),        text_hash(r->input),
                               text_hash(r->algorithm),   (uint64_t)r->kind,
                               (uint64_t)r->dtype,        (uint64_t)r->batch,
                               (uint64_t)r->ranks,        (uint64_t)r->hosts,
                               (uint64_t)r->bytes,        (uint64_t)r->threads,
                               (uint64_t)r->bucket_bytes, text_hash(r->optimizer),
                               text_hash(r->settings) };
    uint64_t       hash    = 0;

    for (size_t i = 0; i < sizeof field / sizeof field[0]; i++) {
        hash = (hash ^ field[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    for (int i = 0; i < 16; i++)
        key[i] = "0123456789abcdef"[hash >> 4 * i & 15];
    key[16] = '\0';
}

typedef struct joining {
    points *out;
    size_t  room;
    names   by_key; /* configuration -> its first point */
    names   by_group;
    size_t  group_room;
    arena  *arena; /* keys */
} joining;

static bool add_group(joining *j, const char *name, size_t *out)
{
    points *p  = j->out;
    size_t  at = names_find(&j->by_group, name);

    if (at == NAMES_NONE) {
        if (p->n_groups == j->group_room) {
            const size_t room = j->group_room ? 2 * j->group_room : 16;
            const char **more = realloc(p->group, room * sizeof *more);

            if (!more)
                return false;
            p->group      = more;
            j->group_room = room;
        }
        at           = p->n_groups++;
        p->group[at] = name;
        if (!names_add(&j->by_group, name, at))
            return false;
    }
    *out = at;
    return true;
}

static point *add_point(joining *j, const observation *row)
{
    points *p = j->out;
    point *new;

    if (p->n_points == j->room) {
        const size_t room = j->room ? 2 * j->room : 256;
        point       *more = realloc(p->point, room * sizeof *more);

        if (!more)
            return NULL;
        p->point = more;
        j->room  = room;
    }
    new  = &p->point[p->n_points];
    *new = (point){ .row = row };
    for (phase f = 0; f < N_PHASES; f++)
        new->seconds[f] = NAN;
    if (!add_group(j, row->kind == OBS_NETWORK ? row->name : "(collectives)", &new->group))
        return NULL;
    if (row->kind == OBS_COLLECTIVE)
        p->collectives = new->group;
    p->n_points++;
    return new;
}

/* The point a row belongs to; a new one if there is none, or if it holds this time already. */
static point *point_for(joining *j, const observation *row)
{
    points *p = j->out;
    char    key[17], *kept;
    size_t  at;

    if (p->n_points) { /* files list the phases of a configuration together */
        point *last = &p->point[p->n_points - 1];

        if (same_configuration(last->row, row) && isnan(last->seconds[row->phase]))
            return last;
    }
    print_key(row, key);
    at = names_find(&j->by_key, key);
    /* a key may be another configuration's as well */
    if (at != NAMES_NONE && same_configuration(p->point[at].row, row) &&
        isnan(p->point[at].seconds[row->phase]))
        return &p->point[at];
    if (at == NAMES_NONE) {
        kept = arena_text(j->arena, key, strlen(key));
        if (!kept || !names_add(&j->by_key, kept, p->n_points))
            return NULL;
    }
    return add_point(j, row);
}

static lm_status count_loads(const observations *obs, workloads *loads, points *p, lm_error *err)
{
    for (size_t i = 0; i < p->n_points; i++) {
        point             *pt  = &p->point[i];
        const observation *row = pt->row;
        lm_status          status;

        pt->load.nodes = (double)row->ranks;
        pt->load.bytes = (double)row->bytes;
        if (row->kind != OBS_NETWORK)
            continue;
        status = workloads_counts(loads, row->name, row->input, row->dtype, row->batch,
                                  &pt->load.counts, err);
        if (status) {
            lm_error_prefix(err, "%s:%d", obs->path, row->line);
            return status;
        }
        pt->load.bytes = (double)pt->load.counts.param_bytes;
    }
    return LM_OK;
}

/* Models know one optimizer: momentum where it was measured, else that of the first row. What is
 * left of an all-reduce behind a backward pass is no all-reduce's time. */
static void leave_out(points *p)
{
    const char *usual = NULL;

    for (size_t i = 0; i < p->n_points; i++) {
        const observation *r = p->point[i].row;

        if (r->kind != OBS_NETWORK)
            continue;
        if (!*r->optimizer || !strcmp(r->optimizer, "momentum"))
            usual = "momentum";
        else if (!usual)
            usual = r->optimizer;
    }
    for (size_t i = 0; i < p->n_points; i++) {
        point             *pt = &p->point[i];
        const observation *r  = pt->row;

        if (r->kind != OBS_NETWORK)
            continue;
        if (strcmp(*r->optimizer ? r->optimizer : "momentum", usual)) {
            pt->seconds[PHASE_UPDATE] = pt->seconds[PHASE_STEP] = NAN;
            p->n_other_optimizer++;
        }
        if (r->bucket_bytes)
            pt->seconds[PHASE_SYNC] = pt->seconds[PHASE_STEP] = NAN;
    }
}

lm_status points_from(const observations *obs, workloads *loads, points *out, lm_error *err)
{
    joining   j      = { .out = out, .arena = arena_new() };
    lm_status status = j.arena ? LM_OK : lm_error_set(err, LM_E_NOMEM, "out of memory");

    *out = (points){ .collectives = NAMES_NONE };
    for (size_t i = 0; i < obs->n_rows && !status; i++) {
        const observation *row = &obs->row[i];
        point             *pt;

        out->n_kernel_rows += row->kind == OBS_KERNEL;
        if (row->kind == OBS_KERNEL || row->skipped)
            continue;
        pt = point_for(&j, row);
        if (!pt)
            status = lm_error_set(err, LM_E_NOMEM, "out of memory");
        else
            pt->seconds[row->phase] = row->seconds;
    }
    if (!status)
        status = count_loads(obs, loads, out, err);
    leave_out(out);
    names_free(&j.by_key);
    names_free(&j.by_group);
    arena_free(j.arena);
    if (status)
        points_free(out);
    return status;
}

void points_free(points *p)
{
    free(p->point);
    free(p->group);
    *p = (points){ 0 };
}

double point_seconds(const point *p, part which)
{
    const double *s     = p->seconds;
    const bool    many  = p->row->ranks > 1;
    const bool    whole = p->row->kind == OBS_NETWORK;

    switch (which) {
    case PART_FORWARD: return whole ? s[PHASE_FORWARD] : NAN;
    case PART_BACKWARD: return whole ? s[PHASE_BACKWARD] : NAN;
    case PART_UPDATE: return whole ? s[PHASE_UPDATE] : NAN;
    case PART_GRAD_ONE: return whole && !many ? s[PHASE_UPDATE] : NAN;
    case PART_GRAD_MANY: return whole && many ? s[PHASE_SYNC] + s[PHASE_UPDATE] : NAN;
    case PART_JOINT:
        return whole && many ? s[PHASE_BACKWARD] + s[PHASE_SYNC] + s[PHASE_UPDATE] : NAN;
    case PART_SYNC:
        /* of the library's own choice, which is what training uses */
        return many && strcmp(p->row->algorithm, "ring") ? s[PHASE_SYNC] : NAN;
    case N_PARTS: break;
    }
    return NAN;
}
