/* Which kinds of a sweep's kernels compute what a CPU does. */
#include "verify/verdicts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "measure/plan.h"
#include "measure/point_kernels.h"
#include "ranks/pulse.h"
#include "ranks/watchdog.h"
#include "verify/small.h"

static bool same_settings(const settings *a, const settings *b)
{
    return !memcmp(a->value, b->value, sizeof a->value);
}

static const verify_kind *find(const verdicts *v, const lm_kernel *k, kernel_use use,
                               const settings *how)
{
    const lm_kernel small = small_kernel(k, use);
    const settings  by    = small_settings(k, use, how);

    for (size_t i = 0; i < v->n; i++)
        if (v->kind[i].use == use && kernels_equal(&v->kind[i].kernel, &small) &&
            same_settings(&v->kind[i].how, &by))
            return &v->kind[i];
    return NULL;
}

static lm_status add_kernels(verdicts *v, const point_kernels *from, const sweep_point *p,
                             lm_error *err)
{
    for (phase f = 0; f < N_PHASES; f++)
        for (size_t i = 0; i < from->list[f].n; i++) {
            const lm_kernel *k   = &from->list[f].kernel[i];
            const kernel_use use = kernel_use_in(f, point_evaluates(&p->row));

            if (find(v, k, use, &p->how))
                continue;
            if (!array_grow(&v->kind, v->n, &v->room, sizeof *v->kind))
                return no_memory(err);
            v->kind[v->n++] = (verify_kind){ .kernel  = small_kernel(k, use),
                                             .use     = use,
                                             .how     = small_settings(k, use, &p->how),
                                             .verdict = VERIFY_UNKNOWN };
        }
    return LM_OK;
}

/* Points of one network differ in kinds of kernels by these alone. */
static bool same_kinds(const observation *a, const observation *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->phase == b->phase &&
           !strcmp(a->name, b->name) && !strcmp(a->input, b->input) &&
           !strcmp(a->settings, b->settings) && !strcmp(a->optimizer, b->optimizer) &&
           !strcmp(a->geometry, b->geometry);
}

static lm_status add_points(verdicts *v, const bench *b, lm_error *err)
{
    const sweep *plan  = b->plan;
    size_t      *first = malloc((plan->n_points + 1) * sizeof *first), n = 0;
    lm_status    status = first ? LM_OK : no_memory(err);

    for (size_t i = 0; i < plan->n_points && !status; i++) {
        const sweep_point *p       = &plan->point[i];
        point_kernels      kernels = { .gradients = { .n = 0 } };
        size_t             at      = 0;

        while (at < n && !same_kinds(&plan->point[first[at]].row, &p->row))
            at++;
        if (at < n || p->row.kind == OBS_COLLECTIVE)
            continue;
        first[n++] = i;
        status     = point_kernels_make(b->reg, p, &kernels, err);
        if (!status)
            status = add_kernels(v, &kernels, p, err);
        point_kernels_free(&kernels);
    }
    free(first);
    return status;
}

/* "bf16 gemm forward", and its geometry and settings. */
static void print_class(const verify_kind *k, char *out, size_t size)
{
    snprintf(out, size, "%s%s %s %s", k->use == USE_UPDATE ? "update " : "",
             text_dtype_name(k->kernel.dtype), kernel_op_name(k->kernel.op),
             kernel_pass_name(k->kernel.pass));
}

static void print_details(const verify_kind *k, char *out, size_t size)
{
    char     how[160], geometry[320];
    uint32_t mask = 0;

    for (setting s = 0; s < N_SETTINGS; s++)
        mask |= (uint32_t)(k->how.value[s] != 0) << s;
    settings_print(&k->how, mask, how, sizeof how);
    snprintf(out, size, "%s%s%s", kernel_print_geometry(&k->kernel, geometry, sizeof geometry),
             *how ? " " : "", how);
}

/* A kernel that never ends is ended by the watchdog, which names it. */
static void announce(const verdicts *v, size_t i)
{
    char class[60], details[480], text[540];

    print_class(&v->kind[i], class, sizeof class);
    print_details(&v->kind[i], details, sizeof details);
    snprintf(text, sizeof text, "%s %s", class, details);
    watchdog_begin(
        &(watchdog_point){ .number = i + 1, .total = v->n, .verifies = true, .text = text });
    pulse_allow(PULSE_PREPARING);
}

static lm_status try(backend *compute, verify_kind *k, lm_error *err)
{
    verify_trial t      = verify_new(&k->kernel, k->use, &k->how);
    lm_status    status = compute->type->try_kernel(compute, &t, err);

    if (!status) {
        k->verdict    = verify_judge(&t);
        k->difference = t.difference;
        k->ratio      = t.ratio;
    }
    verify_free(&t);
    return status == LM_E_UNSUPPORTED || status == LM_E_NOMEM ? LM_OK : status;
}

/* The worst of all ranks. All have the same kinds, because they have the same sweep. */
static lm_status compare_ranks(verdicts *v, const world *everyone, lm_error *err)
{
    enum { DIFFERS, UNKNOWN, DIFFERENCE, RATIO, EACH };
    double   *worst  = calloc(v->n + 1, EACH * sizeof *worst);
    lm_status status = world_agree(everyone, worst ? LM_OK : no_memory(err), err);

    for (size_t i = 0; i < v->n && !status; i++) {
        worst[EACH * i + DIFFERS]    = v->kind[i].verdict == VERIFY_DIFFERS;
        worst[EACH * i + UNKNOWN]    = v->kind[i].verdict == VERIFY_UNKNOWN;
        worst[EACH * i + DIFFERENCE] = v->kind[i].difference;
        worst[EACH * i + RATIO]      = v->kind[i].ratio;
    }
    if (!status)
        world_max(everyone, worst, (int)(EACH * v->n));
    for (size_t i = 0; i < v->n && !status; i++) {
        const double *w = worst + EACH * i;

        v->kind[i].verdict    = w[DIFFERS] > 0   ? VERIFY_DIFFERS
                                : w[UNKNOWN] > 0 ? VERIFY_UNKNOWN
                                                 : VERIFY_AGREES;
        v->kind[i].difference = w[DIFFERENCE];
        v->kind[i].ratio      = w[RATIO];
    }
    free(worst);
    return status;
}

lm_status verdicts_make(const bench *b, const world *everyone, verdicts *out, lm_error *err)
{
    lm_status status = add_points(out, b, err);

    status = world_agree(everyone, status, err);
    for (size_t i = 0; i < out->n && !status; i++) {
        announce(out, i); /* all ranks try the same one */
        status = world_agree(everyone, try(b->compute, &out->kind[i], err), err);
    }
    if (!status)
        status = compare_ranks(out, everyone, err);
    watchdog_end(0);
    return status;
}

void verdicts_free(verdicts *v)
{
    free(v->kind);
    *v = (verdicts){ NULL, 0, 0 };
}

bool verdicts_differ(const verdicts *v, const lm_kernel *k, size_t n, kernel_use use,
                     const settings *how)
{
    for (size_t i = 0; i < n; i++) {
        const verify_kind *kind = find(v, &k[i], use, how);

        if (kind && kind->verdict == VERIFY_DIFFERS)
            return true;
    }
    return false;
}

void verdicts_print(const verdicts *v, char *out, size_t size)
{
    size_t n[3] = { 0 };

    for (size_t i = 0; i < v->n; i++)
        n[v->kind[i].verdict]++;
    snprintf(out, size,
             "%zu kind%s of kernels agree%s with a CPU's, %zu differ%s, %zu not compared",
             n[VERIFY_AGREES], n[VERIFY_AGREES] == 1 ? "" : "s", n[VERIFY_AGREES] == 1 ? "s" : "",
             n[VERIFY_DIFFERS], n[VERIFY_DIFFERS] == 1 ? "s" : "", n[VERIFY_UNKNOWN]);
}

static bool same_class(const verify_kind *a, const verify_kind *b)
{
    return a->kernel.op == b->kernel.op && a->kernel.pass == b->kernel.pass &&
           a->kernel.dtype == b->kernel.dtype && (a->use == USE_UPDATE) == (b->use == USE_UPDATE);
}

bool verdicts_print_difference(const verdicts *v, size_t i, char *out, size_t size)
{
    const verify_kind *worst = &v->kind[i];
    char class[60], details[480];
    size_t n = 0, all = 0;

    for (size_t k = 0; k < v->n; k++) {
        const verify_kind *kind = &v->kind[k];

        if (!same_class(kind, &v->kind[i]))
            continue;
        all++;
        if (kind->verdict != VERIFY_DIFFERS)
            continue;
        if (k < i)
            return false; /* was told with that one */
        n++;
        worst = kind->ratio > worst->ratio ? kind : worst;
    }
    if (v->kind[i].verdict != VERIFY_DIFFERS)
        return false;
    print_class(worst, class, sizeof class);
    print_details(worst, details, sizeof details);
    snprintf(out, size,
             "%s: %zu of %zu kinds differ from a CPU's, by %.2g where %.2g is allowed: %s", class,
             n, all, worst->difference, worst->difference / worst->ratio, details);
    return true;
}
