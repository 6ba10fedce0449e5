/* Points: observations for fits. */
#include "observe/points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/names.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "network/part.h"
#include "observe/flags.h"
#include "observe/judge.h"
#include "observe/launches.h"

bool configuration_same(const observation *a, const observation *b)
{
    return a->kind == b->kind && a->batch == b->batch && a->ranks == b->ranks &&
           a->hosts == b->hosts && a->bytes == b->bytes && a->dtype == b->dtype &&
           a->threads == b->threads && a->bucket_bytes == b->bucket_bytes &&
           !strcmp(a->name, b->name) && !strcmp(a->input, b->input) &&
           !strcmp(a->algorithm, b->algorithm) && !strcmp(a->optimizer, b->optimizer) &&
           !strcmp(a->settings, b->settings) && !strcmp(a->geometry, b->geometry) &&
           !strcmp(a->layout, b->layout);
}

/* Hash of a configuration; configuration_same() compares exactly. (Making the text of each row
 * would cost more than reading the file.) */
uint64_t configuration_hash(const observation *r)
{
    const uint64_t field[] = {
        text_hash(r->name),     text_hash(r->input),       text_hash(r->algorithm),
        (uint64_t)r->kind,      (uint64_t)r->dtype,        (uint64_t)r->batch,
        (uint64_t)r->ranks,     (uint64_t)r->hosts,        (uint64_t)r->bytes,
        (uint64_t)r->threads,   (uint64_t)r->bucket_bytes, text_hash(r->optimizer),
        text_hash(r->settings), text_hash(r->geometry),    text_hash(r->layout)
    };
    uint64_t hash = 0;

    for (size_t i = 0; i < sizeof field / sizeof field[0]; i++) {
        hash = (hash ^ field[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    return hash;
}

static void print_key(const observation *r, char key[17])
{
    const uint64_t hash = configuration_hash(r);

    for (int i = 0; i < 16; i++)
        key[i] = "0123456789abcdef"[hash >> 4 * i & 15];
    key[16] = '\0';
}

typedef struct joining {
    points *out;
    size_t  room;
    names   by_key; /* configuration -> its first point */
    names   by_group;
    names   wholes; /* networks that were measured as a whole */
    size_t  group_room;
    arena  *arena; /* keys */
} joining;

static bool add_group(joining *j, const char *name, size_t *out)
{
    points *p  = j->out;
    size_t  at = names_find(&j->by_group, name);

    if (at == NAMES_NONE) {
        if (!array_grow(&p->group, p->n_groups, &j->group_room, sizeof *p->group))
            return false;
        at           = p->n_groups++;
        p->group[at] = name;
        if (!names_add(&j->by_group, name, at))
            return false;
    }
    *out = at;
    return true;
}

/* Name of a row's network, without arguments. NULL when memory runs out. */
static const char *network_of(const joining *j, const observation *row)
{
    const char *arguments = network_name_arguments(row->name);

    return *arguments ? arena_text(j->out->shapes, row->name, (size_t)(arguments - row->name))
                      : row->name;
}

static lm_status find_wholes(joining *j, const observations *obs, lm_error *err)
{
    for (size_t i = 0; i < obs->n_rows; i++) {
        const observation *row = &obs->row[i];
        const char        *name;

        if (row->kind != OBS_NETWORK || network_part_at(row->name))
            continue;
        if (!(name = network_of(j, row)) ||
            (names_find(&j->wholes, name) == NAMES_NONE && !names_add(&j->wholes, name, i)))
            return no_memory(err);
    }
    return LM_OK;
}

/* Group of a row for leave-out: its network, with any arguments. A block belongs to its network,
 * because they predict each other. NULL when memory runs out. */
static const char *group_of(const joining *j, const observation *row)
{
    const char *whole;

    if (row->kind == OBS_COLLECTIVE)
        return "(collectives)";
    if (*row->group || row->kind != OBS_NETWORK)
        return *row->group ? row->group : row->name;
    whole = network_of(j, row);
    return whole && network_part_at(row->name) && names_find(&j->wholes, whole) == NAMES_NONE
               ? row->name
               : whole;
}

static point *add_point(joining *j, const observation *row, uint32_t flags)
{
    points     *p = j->out;
    const char *group;
    point *new;

    if (!array_grow(&p->point, p->n_points, &j->room, sizeof *p->point))
        return NULL;
    new  = &p->point[p->n_points];
    *new = (point){ .row = row, .flags = flags, .collective = observation_collective(row) };
    new->other_algorithm = new->collective == N_COLLECTIVE_KINDS ||
                           collective_algorithm_known(new->collective, row->algorithm)->beside;
    for (phase f = 0; f < N_PHASES; f++)
        new->seconds[f] = new->beside[f] = new->together[f] = new->watts[f] = new->mhz[f] = NAN;
    new->accumulated = NAN;
    if (!(group = group_of(j, row)) || !add_group(j, group, &new->group))
        return NULL;
    if (row->kind == OBS_COLLECTIVE)
        p->collectives = new->group;
    p->n_points++;
    return new;
}

/* Does the point lack this time of its configuration, and is it as reliable as the point's
 * others? */
static bool lacks(const point *p, const observation *row, uint32_t flags)
{
    return configuration_same(p->row, row) && isnan(p->seconds[row->phase]) && p->flags == flags;
}

/* The point of a row: a new one if there is none, or if the point has this time already. */
static point *point_for(joining *j, const observation *row, uint32_t flags)
{
    points *p = j->out;
    char    key[17], *kept;
    size_t  at;

    if (p->n_points) { /* files list the phases of a configuration together */
        point *last = &p->point[p->n_points - 1];

        if (lacks(last, row, flags))
            return last;
    }
    print_key(row, key);
    at = names_find(&j->by_key, key);
    /* two configurations may have the same key */
    if (at != NAMES_NONE && lacks(&p->point[at], row, flags))
        return &p->point[at];
    if (at == NAMES_NONE) {
        kept = arena_text(j->arena, key, strlen(key));
        if (!kept || !names_add(&j->by_key, kept, p->n_points))
            return NULL;
    }
    return add_point(j, row, flags);
}

const char *points_usual_optimizer(const char *so_far, const observation *row)
{
    if (!observation_of_network(row) ||
        (so_far && strcmp(observation_optimizer(row), "momentum") != 0))
        return so_far;
    return observation_optimizer(row);
}

static bool in_buckets(const observation *row)
{
    return observation_of_network(row) && row->bucket_bytes > 0 && row->ranks > 1;
}

bool point_in_buckets(const point *p)
{
    return in_buckets(p->row);
}

bool points_takes(const observation *row, const char *usual_optimizer, phase f)
{
    if (!observation_of_network(row))
        return row->kind != OBS_KERNEL;
    if ((f == PHASE_UPDATE || f == PHASE_STEP) &&
        strcmp(observation_optimizer(row), usual_optimizer ? usual_optimizer : "momentum") != 0)
        return false;
    if (*row->layout)
        return false;
    return !in_buckets(row) || f == PHASE_FORWARD || f == PHASE_UPDATE;
}

/* Was the same work measured on one rank that had a core to itself? */
static bool alone_on_its_core(const points *p, const point *pt)
{
    const observation *row = pt->row;

    for (size_t i = 0; i < p->n_points; i++) {
        const observation *other = p->point[i].row;

        if (observation_of_network(other) && other->ranks <= 1 &&
            !(p->point[i].flags & FLAG_CONTENDED) && other->batch == row->batch &&
            other->dtype == row->dtype && !strcmp(other->name, row->name) &&
            !strcmp(other->input, row->input))
            return true;
    }
    return false;
}

/* Sets times of ranks that share a core apart: they are not the time of one rank. */
static void set_together(const points *p, point *pt)
{
    static const phase of[]  = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE };
    const int64_t      hosts = pt->row->hosts > 1 ? pt->row->hosts : 1;
    bool               crowded;

    if (!observation_of_network(pt->row) || pt->row->ranks <= hosts)
        return;
    crowded = pt->flags & FLAG_CONTENDED && alone_on_its_core(p, pt);
    for (size_t k = 0; k < sizeof of / sizeof of[0]; k++) {
        pt->together[of[k]] = pt->seconds[of[k]];
        if (crowded)
            pt->seconds[of[k]] = NAN;
    }
}

static void leave_out(points *p)
{
    const char *usual = NULL;

    for (size_t i = 0; i < p->n_points; i++)
        usual = points_usual_optimizer(usual, p->point[i].row);
    for (size_t i = 0; i < p->n_points; i++) {
        point *pt = &p->point[i];

        p->n_other_optimizer +=
            observation_of_network(pt->row) && strcmp(observation_optimizer(pt->row), usual) != 0;
        if (*pt->row->layout)
            pt->accumulated = pt->seconds[PHASE_STEP];
        for (phase f = 0; f < N_PHASES; f++) {
            if (point_in_buckets(pt))
                pt->beside[f] = pt->seconds[f];
            if (!points_takes(pt->row, usual, f))
                pt->seconds[f] = NAN;
        }
        set_together(p, pt);
    }
}

static lm_status settle_doubts(const observations *obs, points *p, lm_error *err)
{
    doubts    found = { .n = 0 };
    lm_status status;

    status = doubts_find(obs, p, &found, err);
    for (size_t i = 0; i < p->doubts->n && !status; i++)
        status = doubts_add(&found, &p->doubts->doubt[i]) ? LM_OK : no_memory(err);
    doubts_free(p->doubts);
    *p->doubts = found;
    if (!status)
        doubts_leave_out(p->doubts, p);
    return status;
}

lm_status points_from(const observations *obs, workloads *loads, points *out, lm_error *err)
{
    joining      j        = { .out = out, .arena = arena_new() };
    const double limit    = observations_limit(obs);
    bool         networks = false;
    lm_status    status   = j.arena ? LM_OK : no_memory(err);

    *out = (points){ .collectives = NAMES_NONE, .loads = loads, .shapes = arena_new() };
    if (!(out->doubts = calloc(1, sizeof *out->doubts)) || !out->shapes)
        status = no_memory(err);
    if (!status)
        status = find_wholes(&j, obs, err);
    for (size_t i = 0; i < obs->n_rows; i++)
        networks |= observation_of_network(&obs->row[i]);
    for (size_t i = 0; i < obs->n_rows && !status; i++) {
        const observation *row = &obs->row[i];
        point             *pt;
        uint32_t           flags = 0;

        out->n_kernel_rows += row->kind == OBS_KERNEL;
        out->n_layer_rows += row->kind == OBS_LAYER && networks;
        if (row->kind == OBS_KERNEL || row->kind == OBS_STREAM ||
            (row->kind == OBS_LAYER && networks) || row->skipped ||
            (*row->layout && !row->accumulation) || observation_limited(row, limit))
            continue;
        flags_parse(row->flags, &flags); /* was checked when the row was read */
        pt = point_for(&j, row, flags);
        if (!pt) {
            status = no_memory(err);
            break;
        }
        pt->seconds[row->phase] = row->seconds;
        pt->line[row->phase]    = row->line;
        pt->watts[row->phase]   = row->power_w;
        pt->mhz[row->phase]     = row->clock_mhz;
        if (row->phase == PHASE_INFERENCE)
            pt->inference = row;
    }
    if (!status)
        status = launches_multiprocessors(obs, &out->multiprocessors, err);
    if (!status)
        status = device_figures(observations_provenance(obs, "device"), out->figure, err);
    if (!status)
        status = points_count_loads(obs, loads, out, err);
    if (!status)
        status = points_settle(out, err);
    if (!status)
        status = points_count_terms(out, loads, &term_settings_default, err);
    leave_out(out);
    if (!status)
        status = settle_doubts(obs, out, err);
    names_free(&j.by_key);
    names_free(&j.by_group);
    names_free(&j.wholes);
    arena_free(j.arena);
    if (status)
        points_free(out);
    return status;
}

void points_free(points *p)
{
    free(p->point);
    free(p->group);
    arena_free(p->terms);
    arena_free(p->shapes);
    if (p->doubts)
        doubts_free(p->doubts);
    free(p->doubts);
    *p = (points){ 0 };
}

lm_status points_choose_algorithm(points *p, const char *algorithm, lm_error *err)
{
    bool any = false;

    p->algorithm = algorithm;
    for (size_t i = 0; i < p->n_points; i++) {
        point             *pt = &p->point[i];
        const observation *r  = pt->row;

        if (pt->collective != COLLECTIVE_ALLREDUCE)
            continue;
        pt->other_algorithm =
            strcmp(*r->algorithm ? r->algorithm : ALGORITHM_DEFAULT, algorithm) != 0;
        any |= !isnan(point_seconds(pt, PHASE_SYNC));
    }
    return any ? LM_OK
               : lm_error_set(err, LM_E_ARG, "no all-reduce by the algorithm '%.40s'", algorithm);
}

/* Is it a whole step of one device without parts? */
static bool undivided(const double *s)
{
    return isnan(s[PHASE_FORWARD]) || isnan(s[PHASE_BACKWARD]) || isnan(s[PHASE_UPDATE]);
}

double point_seconds(const point *p, phase which)
{
    const double *s     = p->seconds;
    const bool    many  = p->row->ranks > 1;
    const bool    whole = p->row->kind != OBS_COLLECTIVE;

    switch (which) {
    case PHASE_FORWARD: return whole ? s[PHASE_FORWARD] : NAN;
    case PHASE_BACKWARD: return whole ? s[PHASE_BACKWARD] : NAN;
    case PHASE_UPDATE: return whole ? s[PHASE_UPDATE] : NAN;
    case PHASE_GRAD_ONE: return whole && !many ? s[PHASE_UPDATE] : NAN;
    case PHASE_GRAD: return whole && many ? s[PHASE_SYNC] + s[PHASE_UPDATE] : NAN;
    case PHASE_BACKWARD_GRAD:
        return whole && many ? s[PHASE_BACKWARD] + s[PHASE_SYNC] + s[PHASE_UPDATE] : NAN;
    case PHASE_SYNC:
        return many && !p->other_algorithm && p->collective == COLLECTIVE_ALLREDUCE ? s[PHASE_SYNC]
                                                                                    : NAN;
    case PHASE_INFERENCE: return whole ? s[PHASE_INFERENCE] : NAN;
    case PHASE_STEP: return whole && !many && undivided(s) ? s[PHASE_STEP] : NAN;
    case PHASE_GRAD_INPUT: return whole ? s[PHASE_GRAD_INPUT] : NAN;
    case PHASE_GRAD_WEIGHT: return whole ? s[PHASE_GRAD_WEIGHT] : NAN;
    case PHASE_STEP_MANY:
    case PHASE_EXPOSED:
    case PHASE_OVERLAPPED: /* composed in another place */
    case PHASE_P95:
    case N_TIMES: break;
    }
    return NAN;
}

void points_measured(const points *p, bool out[N_TIMES])
{
    for (phase w = 0; w < N_TIMES; w++)
        out[w] = false;
    for (size_t i = 0; i < p->n_points; i++)
        for (phase w = 0; w < N_TIMES; w++)
            out[w] = out[w] || !isnan(point_seconds(&p->point[i], w));
}
