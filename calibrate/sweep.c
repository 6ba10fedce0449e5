/* What to measure: a sweep file and the points it stands for. */
#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/ini.h"
#include "base/names.h"
#include "base/text.h"
#include "fit/forms.h"
#include "network/kernels.h"

#define POINTS_MAX 100000 /* more is a typing error, not a sweep */
#define KEY_BYTES  1200

typedef struct loading {
    sweep          *s;
    const registry *reg;
    workloads      *loads;
    int64_t         max_ranks;
    size_t          room;
    names           keys;      /* of the points that are in already */
    int64_t         n_kernels; /* of this section */
    lm_error       *err;
} loading;

static lm_status fail_at(loading *l, int line, lm_status status, const char *key)
{
    lm_error_prefix(l->err, "%s:%d: %s", l->s->path, line, key);
    return status;
}

static lm_status no_memory(loading *l)
{
    return lm_error_set(l->err, LM_E_NOMEM, "out of memory");
}

/* ---- keys ---------------------------------------------------------------------------------------
 */

typedef enum { WORD, NUMBER, REAL, TIME, LIST, BYTE_LIST } key_kind;

typedef struct list {
    int64_t *value;
    size_t   n;
} list;

/* Where a section's values go. Not every section has all. */
typedef struct values {
    const char *backend, *collective, *machine, *model, *algorithms, *networks, *dtype;
    int64_t     threads, warmup, min_repeats, max_repeats, seed, limit;
    double      max_seconds, precision, noise, flops_per_second, bytes_per_second, launch_seconds;
    double      max_flops;
    list        batch, image, ranks, bytes;
} values;

typedef struct key {
    const char *name;
    key_kind    kind;
    size_t      offset;
    double      min, max;
} key;

#define AT(field) offsetof(values, field)

static const key sweep_keys[] = {
    { "backend", WORD, AT(backend), 0, 0 },
    { "collective", WORD, AT(collective), 0, 0 },
    { "threads", NUMBER, AT(threads), 1, 4096 },
    { "warmup", NUMBER, AT(warmup), 0, 1e6 },
    { "min_repeats", NUMBER, AT(min_repeats), 1, 1e6 },
    { "max_repeats", NUMBER, AT(max_repeats), 1, 1e6 },
    { "max_seconds", TIME, AT(max_seconds), 0, 1e6 },
    { "precision", REAL, AT(precision), 0, 1 },
    { NULL, WORD, 0, 0, 0 },
};

static const key sim_keys[] = {
    { "machine", WORD, AT(machine), 0, 0 },
    { "model", WORD, AT(model), 0, 0 },
    { "noise", REAL, AT(noise), 0, 1 },
    { "seed", NUMBER, AT(seed), 0, 9e18 },
    { "flops_per_second", REAL, AT(flops_per_second), 1, 1e30 },
    { "bytes_per_second", REAL, AT(bytes_per_second), 1, 1e30 },
    { "launch_seconds", TIME, AT(launch_seconds), 0, 10 },
    { NULL, WORD, 0, 0, 0 },
};

static const key network_keys[] = {
    { "networks", WORD, AT(networks), 0, 0 },
    { "batch", LIST, AT(batch), 1, 1e9 },
    { "image", LIST, AT(image), 1, 1e6 },
    { "ranks", LIST, AT(ranks), 1, 1e6 },
    { "dtype", WORD, AT(dtype), 0, 0 },
    { "max_flops", REAL, AT(max_flops), 1, 1e30 },
    { NULL, WORD, 0, 0, 0 },
};

static const key kernel_keys[] = {
    { "networks", WORD, AT(networks), 0, 0 },
    { "batch", LIST, AT(batch), 1, 1e9 },
    { "image", LIST, AT(image), 1, 1e6 },
    { "dtype", WORD, AT(dtype), 0, 0 },
    { "max_flops", REAL, AT(max_flops), 1, 1e30 },
    { "limit", NUMBER, AT(limit), 1, 1e6 },
    { NULL, WORD, 0, 0, 0 },
};

static const key collective_keys[] = {
    { "bytes", BYTE_LIST, AT(bytes), 4, 1e12 },
    { "ranks", LIST, AT(ranks), 2, 1e6 },
    { "algorithms", WORD, AT(algorithms), 0, 0 },
    { NULL, WORD, 0, 0, 0 },
};

static void free_values(values *v)
{
    free(v->batch.value);
    free(v->image.value);
    free(v->ranks.value);
    free(v->bytes.value);
}

static lm_status check_range(loading *l, const key *k, double value)
{
    if (value >= k->min && value <= k->max)
        return LM_OK;
    return lm_error_set(l->err, LM_E_ARG, "%g is outside %g .. %g", value, k->min, k->max);
}

static lm_status read_value(loading *l, const key *k, const char *text, values *v)
{
    char     *to = (char *)v + k->offset;
    lm_status status;
    int64_t   number;
    double    real;
    list      numbers;
    char     *word;

    switch (k->kind) {
    case WORD:
        word = arena_text(l->s->arena, text, strlen(text));
        if (!word)
            return no_memory(l);
        if (!*word)
            return lm_error_set(l->err, LM_E_SYNTAX, "has no value");
        memcpy(to, &word, sizeof word);
        return LM_OK;
    case NUMBER:
        if ((status = text_int(text, &number, l->err)) ||
            (status = check_range(l, k, (double)number)))
            return status;
        memcpy(to, &number, sizeof number);
        return LM_OK;
    case REAL:
    case TIME:
        status =
            k->kind == REAL ? text_real(text, &real, l->err) : text_seconds(text, &real, l->err);
        if (status || (status = check_range(l, k, real)))
            return status;
        memcpy(to, &real, sizeof real);
        return LM_OK;
    case LIST:
    case BYTE_LIST:
        status = text_list(text, k->kind == LIST ? text_int : text_bytes, &numbers.value,
                           &numbers.n, l->err);
        if (status)
            return status;
        memcpy(to, &numbers, sizeof numbers);
        for (size_t i = 0; i < numbers.n; i++)
            if ((status = check_range(l, k, (double)numbers.value[i])))
                return status;
        return LM_OK;
    }
    return LM_OK;
}

static lm_status read_section(loading *l, const ini_section *s, const key *keys, values *v)
{
    for (size_t i = 0; i < s->n_pairs; i++) {
        const ini_pair *p          = &s->pair[i];
        const key      *k          = keys;
        char            known[200] = "";
        lm_status       status;

        for (; k->name && strcmp(k->name, p->key); k++) {
            const size_t n = strlen(known);

            snprintf(known + n, sizeof known - n, " %s", k->name);
        }
        if (!k->name) {
            status = lm_error_set(l->err, LM_E_NOTFOUND, "[%s] has no such key (it has:%s)",
                                  s->name, known);
            return fail_at(l, p->line, status, p->key);
        }
        if ((status = read_value(l, k, p->value, v)))
            return fail_at(l, p->line, status, p->key);
    }
    return LM_OK;
}

/* ---- points -------------------------------------------------------------------------------------
 */

/* Sections may overlap, and networks share kernels: each point is measured once. */
static bool is_there(const loading *l, const observation *row)
{
    char text[KEY_BYTES];

    observation_key(row, text, sizeof text);
    return names_find(&l->keys, text) != NAMES_NONE;
}

static lm_status add_point(loading *l, const sweep_point *p)
{
    sweep *s = l->s;
    char   text[KEY_BYTES], *kept;

    if (is_there(l, &p->row))
        return LM_OK;
    if (s->n_points == POINTS_MAX)
        return lm_error_set(l->err, LM_E_ARG, "more than %d points", POINTS_MAX);
    if (s->n_points == l->room) {
        const size_t room = l->room ? 2 * l->room : 128;
        sweep_point *more = realloc(s->point, room * sizeof *more);

        if (!more)
            return no_memory(l);
        s->point = more;
        l->room  = room;
    }
    observation_key(&p->row, text, sizeof text);
    kept = arena_text(s->arena, text, strlen(text));
    if (!kept || !names_add(&l->keys, kept, s->n_points))
        return no_memory(l);
    s->point[s->n_points++] = *p;
    return LM_OK;
}

/* Seconds that a point may take, for the time left: what matters is how points compare, since
 * progress scales it by the time that was needed so far. */
static double guess_seconds(const stopping *stop, double flops, double bytes)
{
    const double once  = flops / 4e10 + bytes / 4e9 + 1e-4;
    const double timed = fmax((double)stop->min_repeats * once,
                              fmin((double)stop->max_repeats * once, stop->max_seconds));

    return 0.3 + (double)stop->warmup * once + timed;
}

static const observation blank = { .input       = "",
                                   .algorithm   = "",
                                   .geometry    = "",
                                   .optimizer   = "",
                                   .settings    = "",
                                   .flags       = "",
                                   .clock_mhz   = NAN,
                                   .ranks       = 1,
                                   .hosts       = 1,
                                   .seconds     = NAN,
                                   .min_seconds = NAN,
                                   .p95_seconds = NAN,
                                   .cpu_seconds = NAN };

static list or_one(list l, int64_t *one)
{
    return l.n ? l : (list){ one, 1 };
}

/* The input shape of a network at an image size (0: the file's own), as text in the arena. */
static lm_status input_shape(loading *l, const char *name, int64_t image, lm_dtype dtype,
                             const char **out)
{
    const bind_options options = { .batch = 1, .dtype = dtype, .image = image };
    network           *net     = NULL;
    bound_network     *bound   = NULL;
    lm_status          status;

    status = network_open(name, l->reg, NULL, &net, l->err);
    if (!status)
        status = bind_network(net, l->reg, &options, &bound, l->err);
    if (!status) {
        const char *input = bound->n_data == 1 ? bound->input : ""; /* of several: the file's */

        *out = arena_text(l->s->arena, input, strlen(input));
        if (!*out)
            status = no_memory(l);
    }
    bound_network_free(bound);
    network_free(net);
    return status;
}

/* Calls `each` for every network, image and batch of a section. */
typedef lm_status (*visitor)(loading *l, const values *v, const observation *row);

static lm_status visit_networks(loading *l, const ini_section *s, const values *v, visitor each)
{
    int64_t         zero = 0, one = 1;
    const list      image = or_one(v->image, &zero), batch = or_one(v->batch, &one);
    char           *name[64], *copy;
    size_t          n;
    observation     row    = blank;
    lm_status       status = LM_OK;
    const ini_pair *where  = ini_get(s, "networks");

    if (!where) {
        status = lm_error_set(l->err, LM_E_SYNTAX, "'networks =' is missing");
        return fail_at(l, s->line, status, s->name);
    }
    row.dtype = LM_F32;
    if (v->dtype && (status = text_dtype(v->dtype, &row.dtype, l->err)))
        return fail_at(l, ini_get(s, "dtype")->line, status, "dtype");
    copy = arena_text(l->s->arena, v->networks, strlen(v->networks));
    if (!copy)
        return no_memory(l);
    n = text_split(copy, ',', name, 64);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < image.n; k++) {
            row.name = name[i];
            if ((status = input_shape(l, name[i], image.value[k], row.dtype, &row.input)))
                return fail_at(l, where->line, status, "networks");
            for (size_t b = 0; b < batch.n; b++) {
                row.batch = batch.value[b];
                if ((status = each(l, v, &row)))
                    return fail_at(l, where->line, status, "networks");
            }
        }
    return LM_OK;
}

static lm_status add_network(loading *l, const values *v, const observation *row)
{
    int64_t     one   = 1;
    const list  ranks = or_one(v->ranks, &one);
    sweep_point p     = { .row = *row };
    lm_status   status;

    p.row.kind = OBS_NETWORK;
    status = workloads_counts(l->loads, row->name, row->input, row->dtype, row->batch, &p.counts,
                              l->err);
    for (size_t r = 0; r < ranks.n && !status; r++) {
        p.row.ranks     = ranks.value[r];
        p.row.algorithm = "default";
        p.weight        = guess_seconds(&l->s->stop, 3 * (double)p.counts.flops_forward,
                                        (double)(p.counts.read_bytes + 6 * p.counts.param_bytes));
        if ((v->max_flops > 0 && (double)p.counts.flops_forward > v->max_flops) ||
            (l->max_ranks && p.row.ranks > l->max_ranks))
            l->s->n_filtered++;
        else
            status = add_point(l, &p);
    }
    return status;
}

static lm_status add_kernel(loading *l, const values *v, const observation *row, const lm_kernel *k)
{
    const lm_work work = lm_kernel_work(k);
    sweep_point   p    = { .row = *row, .kernel = *k };
    char          text[512];

    if (k->op == LM_OP_OPAQUE)
        return LM_OK;
    kernel_print_geometry(k, text, sizeof text);
    p.weight       = guess_seconds(&l->s->stop, (double)work.flops, (double)work.read_bytes);
    p.row.kind     = OBS_KERNEL;
    p.row.name     = kernel_op_name(k->op);
    p.row.pass     = k->pass;
    p.row.dtype    = k->dtype;
    p.row.input    = "";
    p.row.batch    = 0;
    p.row.geometry = arena_text(l->s->arena, text, strlen(text));
    if (!p.row.geometry)
        return no_memory(l);
    if ((v->max_flops > 0 && (double)work.flops > v->max_flops) ||
        (v->limit && l->n_kernels >= v->limit && !is_there(l, &p.row))) {
        l->s->n_filtered++;
        return LM_OK;
    }
    l->n_kernels += !is_there(l, &p.row);
    return add_point(l, &p);
}

/* Every different kernel of a network, each once. */
static lm_status add_kernels(loading *l, const values *v, const observation *row)
{
    const bind_options options = { .batch = row->batch, .dtype = row->dtype, .input = row->input };
    network           *net     = NULL;
    bound_network     *bound   = NULL;
    kernel_list        all     = { NULL, 0, 0 };
    lm_status          status;

    status = network_open(row->name, l->reg, NULL, &net, l->err);
    if (!status)
        status = bind_network(net, l->reg, &options, &bound, l->err);
    if (!status && !(status = kernels_forward(bound, &all, l->err)))
        status = kernels_backward(bound, &all, l->err);
    for (size_t i = 0; i < all.n && !status; i++)
        status = add_kernel(l, v, row, &all.kernel[i]);
    kernel_list_free(&all);
    bound_network_free(bound);
    network_free(net);
    return status;
}

static lm_status add_collectives(loading *l, const ini_section *s, const values *v)
{
    int64_t     two   = 2;
    const list  ranks = or_one(v->ranks, &two);
    char       *name[8], *copy;
    const char *algorithms = v->algorithms ? v->algorithms : "default";
    size_t      n;
    sweep_point p      = { .row = blank };
    lm_status   status = LM_OK;

    if (!v->bytes.n) {
        status = lm_error_set(l->err, LM_E_SYNTAX, "'bytes =' is missing");
        return fail_at(l, s->line, status, s->name);
    }
    copy = arena_text(l->s->arena, algorithms, strlen(algorithms));
    if (!copy)
        return no_memory(l);
    n           = text_split(copy, ',', name, 8);
    p.row.kind  = OBS_COLLECTIVE;
    p.row.name  = "allreduce";
    p.row.phase = PHASE_SYNC;
    p.row.dtype = LM_F32;
    for (size_t a = 0; a < n; a++) {
        if (strcmp(name[a], "default") && strcmp(name[a], "ring")) {
            status = lm_error_set(l->err, LM_E_ARG, "'%.40s' is none of default, ring", name[a]);
            return fail_at(l, ini_get(s, "algorithms")->line, status, "algorithms");
        }
        for (size_t r = 0; r < ranks.n; r++)
            for (size_t b = 0; b < v->bytes.n && !status; b++) {
                p.row.algorithm = name[a];
                p.row.ranks     = ranks.value[r];
                p.row.bytes     = v->bytes.value[b];
                p.weight        = guess_seconds(&l->s->stop, 0, 4 * (double)p.row.bytes);
                if (l->max_ranks && p.row.ranks > l->max_ranks)
                    l->s->n_filtered++;
                else
                    status = add_point(l, &p);
            }
    }
    return status;
}

/* ---- file ---------------------------------------------------------------------------------------
 */

/* "networks" and "networks.small" are sections of one kind. */
static bool is_kind(const char *section, const char *kind)
{
    const size_t n = strlen(kind);

    return !strncmp(section, kind, n) && (section[n] == '\0' || section[n] == '.');
}

static lm_status take_sweep(loading *l, const ini_section *s, values *v)
{
    sweep    *out    = l->s;
    lm_status status = read_section(l, s, sweep_keys, v);

    if (status)
        return status;
    if (!v->backend) {
        status = lm_error_set(l->err, LM_E_SYNTAX, "'backend =' is missing");
        return fail_at(l, s->line, status, s->name);
    }
    out->compute    = v->backend;
    out->collective = v->collective;
    out->threads    = v->threads;
    out->stop =
        (stopping){ v->warmup, v->min_repeats, v->max_repeats, v->max_seconds, v->precision };
    if (out->stop.max_repeats < out->stop.min_repeats) {
        status = lm_error_set(l->err, LM_E_ARG, "is below min_repeats");
        return fail_at(l, s->line, status, "max_repeats");
    }
    return LM_OK;
}

/* A machine file is found beside the sweep file. */
static lm_status take_sim(loading *l, const ini_section *s, values *v)
{
    const char  *slash  = strrchr(l->s->path, '/');
    const size_t folder = slash ? (size_t)(slash - l->s->path) + 1 : 0;
    char        *path;
    lm_status    status = read_section(l, s, sim_keys, v);

    if (status)
        return status;
    l->s->sim = (sim_config){
        v->machine,          v->model,         v->noise, (uint64_t)v->seed, v->flops_per_second,
        v->bytes_per_second, v->launch_seconds
    };
    if (!model_known(v->model)) {
        status = lm_error_set(l->err, LM_E_ARG, "'%.40s' is no model", v->model);
        return fail_at(l, s->line, status, "model");
    }
    if (v->machine && v->machine[0] != '/' && folder) {
        path = arena_alloc(l->s->arena, folder + strlen(v->machine) + 1);
        if (!path)
            return no_memory(l);
        memcpy(path, l->s->path, folder);
        strcpy(path + folder, v->machine);
        l->s->sim.machine = path;
    }
    return LM_OK;
}

static lm_status take_section(loading *l, const ini_section *s)
{
    values    v = { .threads          = 1,
                    .warmup           = 1,
                    .min_repeats      = 3,
                    .max_repeats      = 20,
                    .max_seconds      = 2,
                    .precision        = 0.02,
                    .model            = "layermeter",
                    .seed             = 1,
                    .flops_per_second = 1e11,
                    .bytes_per_second = 1e10,
                    .launch_seconds   = 5e-6 };
    lm_status status;

    if (!strcmp(s->name, "sweep")) {
        status = take_sweep(l, s, &v);
    } else if (!strcmp(s->name, "sim")) {
        status = take_sim(l, s, &v);
    } else if (is_kind(s->name, "networks")) {
        if (!(status = read_section(l, s, network_keys, &v)))
            status = visit_networks(l, s, &v, add_network);
    } else if (is_kind(s->name, "kernels")) {
        l->n_kernels = 0;
        if (!(status = read_section(l, s, kernel_keys, &v)))
            status = visit_networks(l, s, &v, add_kernels);
    } else if (is_kind(s->name, "collectives")) {
        if (!(status = read_section(l, s, collective_keys, &v)))
            status = add_collectives(l, s, &v);
    } else {
        status = lm_error_set(l->err, LM_E_NOTFOUND,
                              "a sweep has no such section (sweep, networks, "
                              "kernels, collectives, sim)");
        fail_at(l, s->line, status, s->name);
    }
    free_values(&v);
    return status;
}

lm_status sweep_load(const char *path, const registry *reg, workloads *loads, int64_t max_ranks,
                     sweep **out, lm_error *err)
{
    ini_document *doc = NULL;
    arena        *a   = arena_new();
    sweep        *s   = a ? arena_alloc(a, sizeof *s) : NULL;
    loading       l   = { .s = s, .reg = reg, .loads = loads, .max_ranks = max_ranks, .err = err };
    lm_status     status;

    if (!s || !(s->path = arena_text(a, path, strlen(path)))) {
        arena_free(a);
        return no_memory(&l);
    }
    s->arena = a;
    s->sim   = (sim_config){ .model = "layermeter", .seed = 1 };
    s->stop  = (stopping){ 1, 3, 20, 2, 0.02 };
    status   = ini_load(path, &doc, err);
    for (size_t i = 0; !status && i < doc->n_sections; i++)
        status = take_section(&l, &doc->section[i]);
    if (!status && !s->compute)
        status = lm_error_set(err, LM_E_SYNTAX, "%s: no [sweep] section: is this a sweep?", path);
    if (!status && !s->n_points)
        status =
            lm_error_set(err, LM_E_ARG, "%s: nothing to measure%s", path,
                         s->n_filtered ? " (every point needs more ranks or FLOPs than allowed)"
                                       : ": add [networks], [kernels] or [collectives]");
    ini_free(doc);
    names_free(&l.keys);
    if (status) {
        sweep_free(s);
        return status;
    }
    *out = s;
    return LM_OK;
}

void sweep_free(sweep *s)
{
    if (!s)
        return;
    free(s->point);
    arena_free(s->arena);
}
