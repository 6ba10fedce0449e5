/* The points to measure: a sweep file and its points. */
#include "sweep/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "fit/forms.h"
#include "sweep/sweep_points.h"

static const ini_key sweep_keys[] = {
    SWEEP_KEY("backend", backend, &type_word),
    SWEEP_KEY("collective", collective, &type_word),
    SWEEP_KEY("threads", threads, &type_whole, 1, 4096),
    SWEEP_KEY("warmup", warmup, &type_whole, 0, 1e6),
    SWEEP_KEY("min_repeats", min_repeats, &type_whole, 1, 1e6),
    SWEEP_KEY("max_repeats", max_repeats, &type_whole, 1, 1e6),
    SWEEP_KEY("max_seconds", max_seconds, &type_seconds, 0, 1e6),
    SWEEP_KEY("precision", precision, &type_real, 0, 1),
    SWEEP_KEY("clock", clock, &type_whole, 1, 1e5),
    SWEEP_KEY("power_seconds", power_seconds, &type_seconds, 0, 3600),
    SWEEP_KEY("verify", verify, &type_word),
    SWEEP_KEY("flops_per_second", flops_per_second, &type_real, 1, 1e30),
    SWEEP_KEY("bytes_per_second", bytes_per_second, &type_real, 1, 1e30),
    SWEEP_KEY("retries", retries, &type_whole, 0, 100),
    SWEEP_KEY("retry_share", retry_share, &type_real, 0, 10),
    SWEEP_KEY("anchor_share", anchor_share, &type_real, 0, 1),
    SWEEP_KEY("anchor_seconds", anchor_seconds, &type_seconds, 1e-6, 1e6),
    SWEEP_VARIANT_KEYS,
    SWEEP_END,
};

static const ini_key sim_keys[] = {
    SWEEP_KEY("machine", machine, &type_word),
    SWEEP_KEY("model", model, &type_word),
    SWEEP_KEY("noise", noise, &type_real, 0, 1),
    SWEEP_KEY("seed", seed, &type_whole, 0, 9e18),
    SWEEP_KEY("flops_per_second", flops_per_second, &type_real, 1, 1e30),
    SWEEP_KEY("bytes_per_second", bytes_per_second, &type_real, 1, 1e30),
    SWEEP_KEY("launch_seconds", launch_seconds, &type_seconds, 0, 10),
    SWEEP_KEY("busy_from", busy_from, &type_seconds, 0, 1e9),
    SWEEP_KEY("busy_until", busy_until, &type_seconds, 0, 1e9),
    SWEEP_KEY("drift", drift, &type_real, -1, 1e6),
    SWEEP_END,
};

/* The default is `first` on GPUs, where libraries choose among many kernels. */
static lm_status take_verify(sweep_loading *l, const ini_section *s, const char *word)
{
    lm_status status = LM_OK;

    l->s->verify = l->limits.verifies && l->limits.on == AUTOCAST_GPU;
    if (!word)
        return LM_OK;
    l->s->verify = !strcmp(word, "first");
    if (!l->s->verify && strcmp(word, "none"))
        status = lm_error_set(l->err, LM_E_ARG, "'%.40s' is none of first none", word);
    else if (l->s->verify && l->ask && !l->limits.verifies)
        status = lm_error_set(l->err, LM_E_ARG, "the backend %s runs no kernels to be compared",
                              l->s->compute);
    return status ? sweep_fail_at(l, ini_get(s, "verify")->line, status, "verify") : LM_OK;
}

static lm_status take_sweep(sweep_loading *l, const ini_section *s, sweep_values *v)
{
    sweep    *out = l->s;
    lm_status status;

    v->flops_per_second = 4e10;
    v->bytes_per_second = 4e9;
    if ((status = sweep_read(l, s, sweep_keys, v)))
        return status;
    if (!v->backend) {
        status = lm_error_set(l->err, LM_E_SYNTAX, "'backend =' is missing");
        return sweep_fail_at(l, s->line, status, s->name);
    }
    out->compute    = v->backend;
    out->collective = v->collective;
    out->threads    = v->threads;
    out->stop =
        (stopping){ v->warmup, v->min_repeats, v->max_repeats, v->max_seconds, v->precision, 0 };
    out->trust = (trust_limits){ v->retries, v->retry_share, v->anchor_share, v->anchor_seconds };
    out->clock_mhz        = v->clock;
    out->power_seconds    = v->power_seconds;
    out->flops_per_second = v->flops_per_second;
    out->bytes_per_second = v->bytes_per_second;
    if (out->stop.max_repeats < out->stop.min_repeats) {
        status = lm_error_set(l->err, LM_E_ARG, "is below min_repeats");
        return sweep_fail_at(l, s->line, status, "max_repeats");
    }
    l->common = *v;
    if (l->ask && (status = l->ask(l->context, out->compute, &l->limits, l->err)))
        return sweep_fail_at(l, ini_get(s, "backend")->line, status, "backend");
    return take_verify(l, s, v->verify);
}

/* A machine file is looked up beside the sweep file. */
static lm_status take_sim(sweep_loading *l, const ini_section *s, sweep_values *v)
{
    const char  *slash  = strrchr(l->s->path, '/');
    const size_t folder = slash ? (size_t)(slash - l->s->path) + 1 : 0;
    char        *path;
    lm_status    status = sweep_read(l, s, sim_keys, v);

    if (status)
        return status;
    l->s->sim = (sim_config){ v->machine,
                              v->model,
                              v->noise,
                              (uint64_t)v->seed,
                              v->flops_per_second,
                              v->bytes_per_second,
                              v->launch_seconds,
                              v->busy_from,
                              v->busy_until,
                              v->drift };
    if (!model_known(v->model)) {
        status = lm_error_set(l->err, LM_E_ARG, "'%.40s' is no model", v->model);
        return sweep_fail_at(l, s->line, status, "model");
    }
    if (v->machine && v->machine[0] != '/' && folder) {
        path = arena_alloc(l->s->arena, folder + strlen(v->machine) + 1);
        if (!path)
            return no_memory(l->err);
        memcpy(path, l->s->path, folder);
        strcpy(path + folder, v->machine);
        l->s->sim.machine = path;
    }
    return LM_OK;
}

/* "networks" and "networks.small" are sections of one kind; there may be several. */
static const struct section {
    const char *name;
    bool        several;
    lm_status (*take)(sweep_loading *l, const ini_section *s, sweep_values *v);
} sections[] = {
    { "sweep", false, take_sweep },
    { "networks", true, sweep_take_networks },
    { "kernels", true, sweep_take_kernels },
    { "layers", true, sweep_take_layers },
    { "collectives", true, sweep_take_collectives },
    { "sim", false, take_sim },
};

static bool is_kind(const char *name, const struct section *kind)
{
    const size_t n = strlen(kind->name);

    return !strncmp(name, kind->name, n) && (!name[n] || (kind->several && name[n] == '.'));
}

static lm_status take_section(sweep_loading *l, const ini_section *s)
{
    sweep_values v = { .steps            = sweep_steps_usual,
                       .threads          = 1,
                       .warmup           = 1,
                       .min_repeats      = 3,
                       .max_repeats      = 20,
                       .max_seconds      = 2,
                       .precision        = 0.02,
                       .retries          = 2,
                       .retry_share      = 0.15,
                       .anchor_share     = -1,
                       .anchor_seconds   = 0.1,
                       .model            = "counts",
                       .seed             = 1,
                       .flops_per_second = 1e11,
                       .bytes_per_second = 1e10,
                       .launch_seconds   = 5e-6 };
    lm_status    status;

    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        if (is_kind(s->name, &sections[i]))
            return sections[i].take(l, s, &v);
    status = lm_error_set(l->err, LM_E_NOTFOUND,
                          "a sweep has no such section (sweep, networks, kernels, layers, "
                          "collectives, sim)");
    return sweep_fail_at(l, s->line, status, s->name);
}

/* [sweep] is read first, wherever it stands: the others depend on it. */
static lm_status take_all(sweep_loading *l, const ini_document *doc)
{
    const ini_section *common = ini_find(doc, "sweep");
    lm_status          status;

    if (!common)
        return lm_error_set(l->err, LM_E_SYNTAX, "%s: no [sweep] section: is this a sweep?",
                            l->s->path);
    status = take_section(l, common);
    for (size_t i = 0; i < doc->n_sections && !status; i++)
        if (&doc->section[i] != common)
            status = take_section(l, &doc->section[i]);
    return status;
}

static lm_status nothing_to_measure(const sweep_loading *l)
{
    const sweep     *s   = l->s;
    const placement *job = l->limits.job;

    if (!s->n_filtered)
        return lm_error_set(l->err, LM_E_ARG,
                            "%s: nothing to measure: add [networks], [kernels], [layers] or "
                            "[collectives]",
                            s->path);
    if (!job)
        return lm_error_set(l->err, LM_E_ARG,
                            "%s: nothing to measure: filters leave out every point", s->path);
    return lm_error_set(l->err, LM_E_ARG,
                        "%s: nothing to measure: every point needs other ranks than the %d that "
                        "there %s ('mpirun -np N' starts N), or is left out by a filter",
                        s->path, job->n_ranks, job->n_ranks == 1 ? "is" : "are");
}

lm_status sweep_load(const char *path, const registry *reg, workloads *loads, sweep_asker ask,
                     void *context, sweep **out, lm_error *err)
{
    ini_document *doc = NULL;
    arena        *a   = arena_new();
    sweep        *s   = a ? arena_alloc(a, sizeof *s) : NULL;
    sweep_loading l   = { .s       = s,
                          .reg     = reg,
                          .loads   = loads,
                          .ask     = ask,
                          .context = context,
                          .limits  = { .settings = UINT32_MAX },
                          .err     = err };
    lm_status     status;

    if (!s || !(s->path = arena_text(a, path, strlen(path)))) {
        arena_free(a);
        return no_memory(err);
    }
    s->arena = a;
    s->sim   = (sim_config){ .model = "counts", .seed = 1 };
    s->stop  = stopping_usual;
    status   = ini_load(path, &doc, err);
    if (!status)
        status = take_all(&l, doc);
    if (!status && !s->n_points)
        status = nothing_to_measure(&l);
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
