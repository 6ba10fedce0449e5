/* The native training step: a backward pass with all-reduces of gradients between its kernels. */
#include "measure/step.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "program/buckets.h"

bool step_wanted(const observation *point)
{
    return point->kind == OBS_NETWORK && point->ranks > 1 && point->bucket_bytes > 0;
}

lm_status step_check(const backend *compute, const backend *collective, const settings *how,
                     lm_error *err)
{
    if (!compute->type->run_step || !compute->type->gradients)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "backend '%s' runs no step with buckets: take 'bucket = 0'",
                            compute->type->name);
    if (collective == compute)
        return LM_OK;
    if (!collective || !collective->type->prepare_buckets)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "backend '%s' all-reduces no buckets: take 'bucket = 0'",
                            collective ? collective->type->name : "none");
    if (collective->type->on_gpu != compute->type->on_gpu)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "backend '%s' cannot reach the gradients of '%s', which lie in other "
                            "memory: take 'bucket = 0'",
                            collective->type->name, compute->type->name);
    if (how->value[SETTING_PROGRESS] && !(collective->type->settings >> SETTING_PROGRESS & 1))
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "backend '%s' progresses by itself: leave 'progress' out",
                            collective->type->name);
    return LM_OK;
}

/* A bucket begins where its first gradient lies, which are ascending in memory. */
static size_t group(const gradient_bucket *gradient, size_t n, uint64_t limit, bucket_span *span,
                    bucket_tensor *tensor, gradient_bucket *out)
{
    size_t made;

    for (size_t i = 0; i < n; i++)
        tensor[i] = (bucket_tensor){ gradient[i].bytes, gradient[i].dtype };
    made = buckets_make(tensor, n, buckets_first_limit(limit), limit, span);
    for (size_t i = 0; i < made; i++) {
        out[i]       = gradient[span[i].first];
        out[i].bytes = span[i].bytes;
        out[i].needs = gradient[span[i].last].needs;
    }
    return made;
}

lm_status step_make_buckets(native_step *s, backend *compute, void *work, const bench_case *what,
                            lm_error *err)
{
    const gradient_bucket *gradient;
    bucket_tensor         *tensor;
    bucket_span           *span;
    size_t                 n;
    lm_status              status = compute->type->gradients(compute, work, &gradient, &n, err);

    if (status)
        return status;
    tensor    = calloc(n + 1, sizeof *tensor);
    span      = calloc(n + 1, sizeof *span);
    s->bucket = calloc(n + 1, sizeof *s->bucket);
    if (tensor && span && s->bucket) {
        s->sync.bucket = s->bucket;
        s->sync.n_buckets =
            group(gradient, n, (uint64_t)what->point->bucket_bytes, span, tensor, s->bucket);
    } else {
        status = no_memory(err);
    }
    free(tensor);
    free(span);
    return status;
}

lm_status step_prepare(native_step *s, backend *collective, const bench_case *what, lm_error *err)
{
    s->sync.collective = collective;
    if (!collective->type->prepare_buckets)
        return LM_OK;
    return collective->type->prepare_buckets(collective, what, s->bucket, s->sync.n_buckets,
                                             &s->sync.work, err);
}

void step_release(native_step *s)
{
    if (s->sync.work)
        s->sync.collective->type->release_buckets(s->sync.collective, s->sync.work);
    free(s->bucket);
    *s = (native_step){ .bucket = NULL };
}

lm_status step_run(const native_step *s, backend *compute, void *work, double out[2 * N_PHASES],
                   lm_error *err)
{
    step_time                 t;
    const lm_status           status = compute->type->run_step(compute, work, &s->sync, &t, err);
    const backend_time *const part[] = { [PHASE_FORWARD]  = &t.forward,
                                         [PHASE_BACKWARD] = &t.backward,
                                         [PHASE_SYNC]     = &t.exposed,
                                         [PHASE_UPDATE]   = &t.update };

    if (status)
        return status;
    out[PHASE_STEP] = 0;
    for (phase p = 0; p < PHASE_STEP; p++) {
        out[p]            = part[p]->wall;
        out[N_PHASES + p] = part[p]->cpu;
        out[PHASE_STEP] += part[p]->wall;
    }
    return LM_OK;
}
