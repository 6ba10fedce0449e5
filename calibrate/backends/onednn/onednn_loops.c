/* Loops for kernels without oneDNN primitive, on the library's own threads; and filling of
 * buffers. */
#include "onednn_loops.h"

#include <assert.h>
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "network/optimizer.h"
#include "onednn_half.h"

/* ---- threads --------------------------------------------------------------------------------- */

/* ISO C has no conversion from an object's address to a function's: the bytes are copied. */
static void find_function(void *program, const char *name, void *function)
{
    void *address = dlsym(program, name);

    memcpy(function, &address, sizeof address);
}

lm_status team_open(team *t, int64_t threads, lm_error *err)
{
    void *program = dlopen(NULL, RTLD_LAZY);

    *t = (team){ .threads = (int)threads };
    if (program) {
        find_function(program, "omp_set_num_threads", &t->set);
        find_function(program, "omp_get_thread_num", &t->self);
        find_function(program, "omp_get_num_threads", &t->present);
        find_function(program, "GOMP_parallel", &t->parallel);
        dlclose(program);
    }
    if (threads < 1 || threads > 1 << 16)
        return lm_error_set(err, LM_E_ARG, "%lld threads", (long long)threads);
    if (dnnl_version()->cpu_runtime == DNNL_RUNTIME_SEQ) {
        if (threads > 1)
            return lm_error_set(err, LM_E_UNSUPPORTED, "this oneDNN was built for one thread");
        t->parallel = NULL;
    } else if (dnnl_version()->cpu_runtime != DNNL_RUNTIME_OMP || !t->set) {
        return lm_error_set(
            err, LM_E_UNSUPPORTED,
            "the threads of this oneDNN cannot be set: it was not built with OpenMP");
    }
    team_apply(t);
    return LM_OK;
}

void team_apply(const team *t)
{
    if (t->set)
        t->set(t->threads);
}

typedef struct share {
    const team *team;
    int64_t     n;
    team_body   body;
    void       *context;
} share;

static void run_share(void *context)
{
    const share  *s    = context;
    const int64_t self = s->team->self(), present = s->team->present();
    const int64_t lines = (s->n + 63) / 64;
    const int64_t begin = lines * self / present * 64, end = lines * (self + 1) / present * 64;

    if (begin < s->n)
        s->body(s->context, begin, end < s->n ? end : s->n);
}

void team_run(const team *t, int64_t n, team_body body, void *context)
{
    share s = { t, n, body, context };

    if (t->threads > 1 && t->parallel && t->self && t->present)
        t->parallel(run_share, &s, (unsigned)t->threads, 0);
    else
        body(context, 0, n);
}

/* FTZ and DAZ (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, 10.2.3); FZ
 * (Arm Architecture Reference Manual, FPCR). */
static void flush_small(void *context, int64_t begin, int64_t end)
{
    (void)context;
    (void)begin;
    (void)end;
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
    uint64_t control;

    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    __asm__ volatile("msr fpcr, %0" : : "r"(control | UINT64_C(1) << 24));
#endif
}

void team_flush_small(const team *t)
{
    team_run(t, 64 * (int64_t)t->threads, flush_small, NULL);
}

/* ---- loops ----------------------------------------------------------------------------------- */

enum { PIECE = 2048 }; /* elements that stay in the first cache */

typedef struct loop_context {
    const loop  *loop;
    void *const *at;
} loop_context;

/* Loop over i < n in groups of constant length, which the compiler vectorizes at -O2, too. */
#define EACH(i, n, statement)                          \
    do {                                               \
        int64_t i = 0;                                 \
        while (i + 64 <= (n))                          \
            for (int lane = 0; lane < 64; lane++, i++) \
                statement;                             \
        for (; i < (n); i++)                           \
            statement;                                 \
    } while (0)

static void add(float *restrict out, const float *restrict a, const float *restrict b, int64_t n)
{
    EACH(i, n, out[i] = a[i] + b[i]);
}

static void accumulate(float *restrict out, const float *restrict a, int64_t n)
{
    EACH(i, n, out[i] += a[i]);
}

static void scale_add(float *restrict out, const float *restrict a, float scale, int64_t n)
{
    EACH(i, n, out[i] = scale * (out[i] + a[i]));
}

/* Works in pieces: partial sums stay in the first-level cache, and each tensor is read from memory
 * once. */
static void map_body(void *context, int64_t begin, int64_t end)
{
    const loop_context *c        = context;
    const int64_t       operands = c->loop->width;
    void *const        *at       = c->at;
    float              *out      = at[operands];
    const float         scale    = operands ? 1.0f / sqrtf((float)operands) : 0.0f;

    for (int64_t i = begin; i < end; i += PIECE) {
        const int64_t n = end - i < PIECE ? end - i : PIECE;

        if (operands == 0) {
            memset(out + i, 0, (size_t)n * sizeof *out);
            continue;
        }
        add(out + i, (const float *)at[0] + i, (const float *)at[1] + i, n);
        for (int64_t j = 2; j < operands - 1; j++)
            accumulate(out + i, (const float *)at[j] + i, n);
        scale_add(out + i, (const float *)at[operands - 1] + i, scale, n);
    }
}

/* The same of bf16. */
static void map_half_body(void *context, int64_t begin, int64_t end)
{
    const loop_context *c        = context;
    const int64_t       operands = c->loop->width;
    uint16_t           *out      = c->at[operands];
    float               sum[PIECE];

    for (int64_t i = begin; i < end; i += PIECE) {
        const int64_t n = end - i < PIECE ? end - i : PIECE;

        memset(sum, 0, sizeof sum);
        for (int64_t j = 0; j < operands; j++)
            half_accumulate(sum, (const uint16_t *)c->at[j] + i, n);
        half_store(out + i, sum, operands ? 1.0f / sqrtf((float)operands) : 0.0f, n);
    }
}

/* So small that weights do not change over any number of repetitions, but large enough that no
 * product is denormal. */
#define RATE 1e-12f

static void sgd(float *restrict weight, const float *restrict gradient, int64_t n)
{
    EACH(i, n, weight[i] -= RATE * gradient[i]);
}

static void momentum(float *restrict weight, const float *restrict gradient, float *restrict state,
                     int64_t n)
{
    EACH(i, n, {
        state[i] = 0.9f * state[i] + gradient[i];
        weight[i] -= RATE * state[i];
    });
}

/* Adam. Bias corrections are those of a late step: nearly 1, with the same amount of work. */
static void adam(float *restrict weight, const float *restrict gradient, float *restrict first,
                 float *restrict second, int64_t n)
{
    const float beta1 = 0.9f, beta2 = 0.999f, correction = 0.9999f, epsilon = 1e-8f;

    EACH(i, n, {
        const float g = gradient[i];

        first[i]  = beta1 * first[i] + (1 - beta1) * g;
        second[i] = beta2 * second[i] + (1 - beta2) * g * g;
        weight[i] -= RATE * (first[i] / (sqrtf(second[i]) / correction + epsilon));
    });
}

static void adagrad(float *restrict weight, const float *restrict gradient, float *restrict sum,
                    int64_t n)
{
    EACH(i, n, {
        sum[i] += gradient[i] * gradient[i];
        weight[i] -= RATE * (gradient[i] / (sqrtf(sum[i]) + 1e-10f));
    });
}

static void rmsprop(float *restrict weight, const float *restrict gradient, float *restrict square,
                    int64_t n)
{
    EACH(i, n, {
        square[i] = 0.99f * square[i] + 0.01f * gradient[i] * gradient[i];
        weight[i] -= RATE * (gradient[i] / (sqrtf(square[i]) + 1e-8f));
    });
}

static void adadelta(float *restrict weight, const float *restrict gradient, float *restrict square,
                     float *restrict steps, int64_t n)
{
    const float rho = 0.9f, epsilon = 1e-6f;

    EACH(i, n, {
        const float g = gradient[i];
        float       step;

        square[i] = rho * square[i] + (1 - rho) * g * g;
        step      = sqrtf(steps[i] + epsilon) / sqrtf(square[i] + epsilon) * g;
        steps[i]  = rho * steps[i] + (1 - rho) * step * step;
        weight[i] -= RATE * step;
    });
}

static void update_body(void *context, int64_t begin, int64_t end)
{
    const loop_context *c        = context;
    float              *weight   = (float *)c->at[0] + begin;
    const float        *gradient = (const float *)c->at[1] + begin;

    float *first = c->loop->width == OPTIMIZER_SGD ? NULL : (float *)c->at[2] + begin;

    switch ((optimizer)c->loop->width) {
    case OPTIMIZER_SGD: sgd(weight, gradient, end - begin); break;
    case OPTIMIZER_MOMENTUM: momentum(weight, gradient, first, end - begin); break;
    case OPTIMIZER_ADAGRAD: adagrad(weight, gradient, first, end - begin); break;
    case OPTIMIZER_RMSPROP: rmsprop(weight, gradient, first, end - begin); break;
    case OPTIMIZER_ADAM:
        adam(weight, gradient, first, (float *)c->at[3] + begin, end - begin);
        break;
    case OPTIMIZER_ADADELTA:
        adadelta(weight, gradient, first, (float *)c->at[3] + begin, end - begin);
        break;
    case OPTIMIZER_ADAFACTOR:
    case OPTIMIZER_MUON: break; /* is no map */
    }
}

static void gather_body(void *context, int64_t begin, int64_t end)
{
    const loop_context *c     = context;
    const size_t        row   = (size_t)c->loop->width * c->loop->size;
    const char         *table = c->at[0];
    const int32_t      *index = c->at[1];
    char               *out   = c->at[2];

    for (int64_t i = begin; i < end; i++)
        memcpy(out + (size_t)i * row, table + (size_t)index[i] * row, row);
}

/* Each thread adds its own columns of every row: rows may repeat. */
static void scatter_body(void *context, int64_t begin, int64_t end)
{
    const loop_context *c     = context;
    const int64_t       width = c->loop->width;
    const float        *rows  = c->at[0];
    const int32_t      *index = c->at[1];
    float              *table = c->at[2];

    for (int64_t i = 0; i < c->loop->n; i++)
        accumulate(table + index[i] * width + begin, rows + i * width + begin, end - begin);
}

static float sum(const float *restrict a, int64_t n)
{
    float   lane[64] = { 0 }, all = 0;
    int64_t i = 0;

    for (; i + 64 <= n; i += 64)
        for (int j = 0; j < 64; j++)
            lane[j] += a[i + j];
    for (; i < n; i++)
        all += a[i];
    for (int j = 0; j < 64; j++)
        all += lane[j];
    return all;
}

/* Sums adjacent rows side by side, as many at once as fit into the first-level cache. */
static void reduce_body(void *context, int64_t begin, int64_t end)
{
    const loop_context *c     = context;
    const int64_t       group = c->loop->width, inner = c->loop->inner;
    const float        *in  = c->at[0];
    float              *out = c->at[1];

    for (int64_t i = begin, n; i < end; i += n) {
        const float *first = in + i / inner * inner * group + i % inner;

        n = inner - i % inner;
        n = n > end - i ? end - i : n;
        n = n > PIECE ? PIECE : n;
        if (inner == 1) {
            out[i] = sum(first, group);
            continue;
        }
        memcpy(out + i, first, (size_t)n * sizeof *out);
        for (int64_t j = 1; j < group; j++)
            accumulate(out + i, first + j * inner, n);
    }
}

/* The same of bf16. */
static void reduce_half_body(void *context, int64_t begin, int64_t end)
{
    const loop_context *c     = context;
    const int64_t       group = c->loop->width, inner = c->loop->inner;
    const uint16_t     *in  = c->at[0];
    uint16_t           *out = c->at[1];
    float               all[PIECE];

    for (int64_t i = begin, n; i < end; i += n) {
        const uint16_t *first = in + i / inner * inner * group + i % inner;

        n = inner - i % inner;
        n = n > end - i ? end - i : n;
        n = n > PIECE ? PIECE : n;
        memset(all, 0, sizeof all);
        if (inner == 1)
            all[0] = half_sum(first, group);
        for (int64_t j = 0; j < group && inner > 1; j++)
            half_accumulate(all, first + j * inner, n);
        half_store(out + i, all, 1.0f, n);
    }
}

/* Number of parts of a row, if there are fewer rows than threads. */
static int64_t parts_of(const loop *l)
{
    return l->inner == 1 && l->n < LOOP_MAX_PARTS ? LOOP_MAX_PARTS / l->n : 1;
}

static void reduce_parts_body(void *context, int64_t begin, int64_t end)
{
    const loop_context *c     = context;
    const int64_t       group = c->loop->width, parts = parts_of(c->loop);
    const int64_t       length = (group + parts - 1) / parts;
    const bool          half   = c->loop->size == sizeof(uint16_t);
    float              *out    = c->at[2];

    for (int64_t i = begin; i < end; i++) {
        const int64_t from = i % parts * length, at = i / parts * group + from;
        const int64_t n = from + length < group ? length : group - from;

        out[i] = n <= 0 ? 0
                 : half ? half_sum((const uint16_t *)c->at[0] + at, n)
                        : sum((const float *)c->at[0] + at, n);
    }
}

static void reduce(loop_context *c, const team *t)
{
    const int64_t parts = parts_of(c->loop);
    const bool    half  = c->loop->size == sizeof(uint16_t);
    const float  *part  = c->at[2];

    if (parts == 1) {
        team_run(t, c->loop->n, half ? reduce_half_body : reduce_body, c);
        return;
    }
    team_run(t, c->loop->n * parts, reduce_parts_body, c);
    for (int64_t i = 0; i < c->loop->n; i++) {
        const float all = sum(part + i * parts, parts);

        if (half)
            half_store((uint16_t *)c->at[1] + i, &all, 1.0f, 1);
        else
            ((float *)c->at[1])[i] = all;
    }
}

void loop_run(const loop *l, const team *t, void *const *at)
{
    loop_context c = { l, at };

    assert(l->kind != LOOP_NONE);
    switch (l->kind) {
    case LOOP_MAP: team_run(t, l->n, l->size == 2 ? map_half_body : map_body, &c); break;
    case LOOP_UPDATE: team_run(t, l->n, update_body, &c); break;
    case LOOP_GATHER: team_run(t, l->n, gather_body, &c); break;
    case LOOP_SCATTER: team_run(t, l->width, scatter_body, &c); break;
    case LOOP_REDUCE: reduce(&c, t); break;
    case LOOP_NONE: break;
    }
}

/* ---- fill ------------------------------------------------------------------------------------ */

/* A pure function of the position: any thread can start anywhere. (Steele, Lea, Flood 2014.) */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Sum of four uniform numbers, near enough to normal; never so small that a product is denormal. */
static float normal(uint64_t position)
{
    const uint64_t bits = mix(position);
    int32_t        sum  = -4 * 65536;
    float          x;

    for (int i = 0; i < 64; i += 16)
        sum += 2 * (int32_t)(bits >> i & 0xffff);
    x = (float)sum * (1.7320508f / 131072.0f);
    return fabsf(x) < 1e-3f ? 1e-3f : x;
}

static uint16_t to_bf16(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* Rounds towards zero. Numbers below the normal range become 0. */
static uint16_t to_f16(float x)
{
    uint32_t bits, magnitude;

    memcpy(&bits, &x, sizeof bits);
    magnitude = bits & 0x7fffffff;
    if (magnitude < 0x38800000)
        return (uint16_t)(bits >> 16 & 0x8000);
    if (magnitude > 0x477fe000)
        magnitude = 0x477fe000;
    return (uint16_t)((bits >> 16 & 0x8000) | ((magnitude - 0x38000000) >> 13));
}

typedef struct fill_context {
    const fill *fill;
    uint64_t    position;
    void       *at;
} fill_context;

static float fill_value(const fill *f, uint64_t position)
{
    return f->kind == FILL_ONE ? 1.0f : (float)f->scale * normal(position);
}

static void fill_body(void *context, int64_t begin, int64_t end)
{
    const fill_context *c = context;
    const fill         *f = c->fill;

    for (int64_t i = begin; i < end; i++) {
        if (f->kind == FILL_INDEX)
            ((int32_t *)c->at)[i] = (int32_t)(mix(c->position + (uint64_t)i) % (uint64_t)f->scale);
        else if (f->type == LM_F32)
            ((float *)c->at)[i] = fill_value(f, c->position + (uint64_t)i);
        else if (f->type == LM_BF16)
            ((uint16_t *)c->at)[i] = to_bf16(fill_value(f, c->position + (uint64_t)i));
        else if (f->type == LM_F16)
            ((uint16_t *)c->at)[i] = to_f16(fill_value(f, c->position + (uint64_t)i));
        else
            ((uint8_t *)c->at)[i] = 1;
    }
}

static void zero_body(void *context, int64_t begin, int64_t end)
{
    memset((char *)context + begin, 0, (size_t)(end - begin));
}

void fill_run(const fill *f, const team *t, uint64_t position, void *at, size_t bytes)
{
    fill_context c = { f, position, at };
    size_t       size;

    if (f->kind == FILL_NONE)
        return;
    if (f->kind == FILL_ZERO) {
        team_run(t, (int64_t)bytes, zero_body, at);
        return;
    }
    if (f->kind == FILL_INDEX || f->type == LM_F32)
        size = 4;
    else
        size = f->type == LM_BF16 || f->type == LM_F16 ? 2 : 1;
    team_run(t, (int64_t)(bytes / size), fill_body, &c);
}
