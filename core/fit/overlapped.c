/* Gradient synchronisation beside the backward pass. */
#include "fit/overlapped.h"

#include <math.h>
#include <stdlib.h>

#include "sync/buckets.h"

/* Room for the gradients of a network. */
typedef struct room {
    bucket_tensor  *tensor;
    bucket_span    *span;
    double         *ready;
    overlap_bucket *bucket;
} room;

static void room_free(room *r)
{
    free(r->tensor);
    free(r->span);
    free(r->ready);
    free(r->bucket);
}

static bool room_new(size_t n, room *r)
{
    *r = (room){ calloc(n + 1, sizeof *r->tensor), calloc(n + 1, sizeof *r->span),
                 calloc(n + 1, sizeof *r->ready), calloc(n + 1, sizeof *r->bucket) };
    if (r->tensor && r->span && r->ready && r->bucket)
        return true;
    room_free(r);
    return false;
}

/* Of each gradient, in seconds of a pass that takes `backward`. */
static void find_ready(const calibration *cal, size_t form_at, const gradient_schedule *s,
                       int64_t batch, double factor, double backward, double *ready)
{
    const form   *f    = &forms[form_at];
    const fitted *here = &cal->fitted[form_at];
    double        price[N_TERMS];

    if (f->n_features) {
        for (size_t k = 0; k < f->n_features; k++)
            price[k] = here->coefficient[k].value;
        gradient_schedule_by_features(s, batch, f->feature, price, f->n_features, ready);
    } else {
        for (size_t t = 0; t < N_TERMS; t++)
            price[t] = here->term[t].value;
        gradient_schedule_by_terms(s, batch, price, ready);
    }
    for (size_t i = 0; i < s->n; i++)
        ready[i] = fmin(factor * ready[i], backward);
}

/* Bytes of one as it travels; 0 as the policy's type: the weights' own. */
static uint64_t sent(const sync_policy *p, uint64_t bytes, lm_dtype dtype)
{
    return p->dtype ? bytes / lm_dtype_bytes(dtype) * lm_dtype_bytes(p->dtype) : bytes;
}

static size_t spans(const sync_policy *p, const gradient_schedule *s, room *r)
{
    const bool own = p->rule == SYNC_DDP; /* cast on the way */

    for (size_t i = 0; i < s->n; i++) {
        const scheduled_gradient *g = &s->gradient[i];

        r->tensor[i] = own ? (bucket_tensor){ g->bytes, g->dtype }
                           : (bucket_tensor){ sent(p, g->bytes, g->dtype), LM_F32 };
    }
    switch (p->rule) {
    case SYNC_DDP: return buckets_make(r->tensor, s->n, p->first_bytes, p->limit_bytes, r->span);
    case SYNC_ONCE: return buckets_make(r->tensor, s->n, UINT64_MAX, UINT64_MAX, r->span);
    default: return buckets_make(r->tensor, s->n, 1, 1, r->span); /* each by itself */
    }
}

static size_t fill(const sync_policy *p, const gradient_schedule *s, double backward, room *r)
{
    const size_t n = spans(p, s, r);

    for (size_t i = 0; i < n; i++) {
        const size_t   first = r->span[i].first, last = r->span[i].last;
        const uint64_t bytes = r->span[i].bytes;

        r->bucket[i] = (overlap_bucket){
            .bytes =
                (double)(p->rule == SYNC_DDP ? sent(p, bytes, s->gradient[first].dtype) : bytes),
            .ready       = p->rule == SYNC_ONCE ? backward : r->ready[last],
            .first_layer = s->gradient[last].layer,
            .last_layer  = s->gradient[first].layer,
        };
    }
    return n;
}

/* One message: neither nodes nor the rest change within a step. */
typedef struct pricing {
    const calibration *cal;
    const char        *model;
    allreduce          of;
    double             factor;
} pricing;

static double price(void *context, double bytes)
{
    pricing *p = context;

    p->of.bytes = bytes;
    return p->factor * calibration_allreduce(p->cal, p->model, &p->of);
}

static lm_status check(const calibration *cal, const char *model, lm_error *err)
{
    const size_t backward = form_find(model, PART_BACKWARD);

    if (form_find(model, PART_SYNC) == n_forms)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "model '%s' does not tell the all-reduce from the update, nor what of "
                            "it the backward pass hides: take --model %s, or --sync once",
                            model, model_at(0));
    if (backward == n_forms || !cal->fitted[backward].present)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "only whole steps are calibrated, not when gradients are ready: "
                            "calibrate the backward pass, or take --sync once");
    return LM_OK;
}

lm_status overlapped_sync(const calibration *cal, const char *model,
                          const gradient_schedule *schedule, int64_t batch, const sync_setting *s,
                          double backward, double compute, overlap *out, lm_error *err)
{
    const sync_policy *p     = s->policy;
    const double       ranks = (double)s->nodes * (double)s->devices;
    const double       pass  = s->pass * backward;
    pricing            paid  = { cal, model, { 0, s->nodes, s->devices }, s->message };
    overlap_rules      rules = { .backward = pass,
                                 .slowdown = cal->overlapping.slowdown,
                                 .stretch  = cal->overlapping.stretch };
    overlap_times      times;
    overlap            result = { .backward = pass };
    room               r;
    lm_status          status = check(cal, model, err);

    if (status)
        return status;
    if (ranks > 1) {
        if (!room_new(schedule->n, &r))
            return lm_error_set(err, LM_E_NOMEM, "out of memory");
        find_ready(cal, form_find(model, PART_BACKWARD), schedule, batch, s->pass, pass, r.ready);
        result.n = fill(p, schedule, pass, &r);
        if (p->rule == SYNC_FUSION) {
            rules.wait         = p->cycle_seconds / 2; /* in the mean */
            rules.fusion_bytes = (double)p->limit_bytes;
        }
        times            = overlap_run(r.bucket, &result.n, &rules, price, &paid);
        result.backward  = times.backward;
        result.sync      = times.sync;
        result.exposed   = p->rule == SYNC_ONCE ? times.sync : times.exposed;
        result.straggler = cal->overlapping.straggler * compute * sqrt(2 * log(ranks));
        for (size_t i = 0; i < result.n && (p->rule == SYNC_DDP || p->rule == SYNC_FUSION); i++)
            result.copy += cal->overlapping.copy * r.bucket[i].bytes;
        result.bucket = r.bucket;
        r.bucket      = NULL;
        room_free(&r);
    }
    *out = result;
    return LM_OK;
}

void overlap_clear(overlap *o)
{
    free(o->bucket);
    *o = (overlap){ .bucket = NULL };
}
