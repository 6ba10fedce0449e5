/* Places of all buffers of a case: launches, and one block of memory for them all. */
#include "measure/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "layers/kernel_text.h"
#include "network/autocast.h"
#include "network/mixed/fp8.h"

/*
 * A kernel states its computation, not its tensors. This file guesses which kernel reads which.
 *
 * Forward: a kernel reads what the one before wrote if that is long enough, else a buffer of its
 * own. A second operand is an older product. All products are kept for the backward pass.
 *
 * Backward: a kernel belongs to the last forward kernel of the same shapes that has no kernel of
 * this pass yet. It uses the weights, statistics and activations of that kernel. Without such a
 * kernel it has its own weights and reads SPACE_SAVED. Gradients take turns in RING regions of the
 * largest size, as from a caching allocator. If the last one written is too short, the kernel reads
 * SPACE_LOSS.
 *
 * Update: the optimizer walks through the weights and their gradients in the order they were laid
 * in.
 *
 * No pass reads its own output of the run before. So values neither grow from run to run nor become
 * denormals. Repeated launches of one kernel share its buffers. The padding of blocked layouts
 * holds random numbers, too. Times are those of real data; sums over padded channels are wrong.
 */
enum {
    RING  = 3,
    ALIGN = 256 /* as cudaMalloc(): cuDNN's norms refuse 64 on Hopper, cuBLASLt such workspaces */
};
#define NONE ((size_t)-1)

bool kernels_equal(const lm_kernel *a, const lm_kernel *b)
{
    return a->op == b->op && a->pass == b->pass && a->dtype == b->dtype &&
           !memcmp(&a->u, &b->u, kernel_geometry_size(a->op));
}

/* Passes of a product have other shapes, those of a map other operands: their volumes agree. */
static bool kernels_match(const lm_kernel *forward, const lm_kernel *backward)
{
    lm_dtype from;
    bool     widens;

    if (forward->op != backward->op || forward->dtype != backward->dtype)
        return false;
    if (forward->op == LM_OP_GEMM)
        return forward->u.gemm.batch == backward->u.gemm.batch &&
               lm_kernel_macs(forward) == lm_kernel_macs(backward);
    if (forward->op == LM_OP_MAP) /* a cast belongs to none */
        return forward->u.map.elements == backward->u.map.elements &&
               !autocast_is_cast(forward, &widens) && !autocast_is_cast(backward, &widens) &&
               !fp8_is_cast(forward, &from, &widens) && !fp8_is_cast(backward, &from, &widens);
    return !memcmp(&forward->u, &backward->u, kernel_geometry_size(forward->op));
}

typedef struct planner {
    step_plan *plan;
    region    *product; /* of the forward phase, in order */
    size_t     n_products;
    uint8_t   *taken; /* by forward launch: bit 1 << pass: a kernel of that pass belongs to it */
    region     previous, before; /* the last two products of this phase; bytes 0: none */
    uint64_t   ring_bytes;
    unsigned   turn;
    uint64_t   weights, gradients; /* the optimizer's steps through them */
    uint64_t  *gradients_before;   /* by backward launch: how long their space was */
    size_t     n_laid;             /* gradients that have their place */
} planner;

static uint64_t aligned(uint64_t bytes)
{
    return lm_add(bytes, ALIGN - 1) / ALIGN * ALIGN;
}

static region reserve(planner *p, plan_space space, uint64_t bytes)
{
    const region r = { space, p->plan->size[space], bytes };

    p->plan->size[space] = lm_add(r.offset, aligned(bytes));
    return r;
}

/* The start of a space that all who need one share. */
static region shared(planner *p, plan_space space, uint64_t bytes)
{
    if (p->plan->size[space] < bytes)
        p->plan->size[space] = aligned(bytes);
    return (region){ space, 0, bytes };
}

static region step_through(planner *p, plan_space space, uint64_t *cursor, uint64_t bytes)
{
    const region r = { space, *cursor, bytes };

    *cursor = lm_add(*cursor, aligned(bytes));
    if (p->plan->size[space] < *cursor)
        p->plan->size[space] = *cursor;
    return r;
}

/* The `nth` product before the last one that is long enough. */
static bool find_earlier(const planner *p, size_t last, size_t nth, uint64_t bytes, region *out)
{
    for (size_t i = last; i-- > 0;)
        if (p->product[i].bytes >= bytes && nth-- == 0) {
            *out = p->product[i];
            return true;
        }
    return false;
}

static const region *region_of(const launch *l, slot_role role)
{
    for (size_t i = 0; i < l->kernel->n_slots; i++)
        if (l->kernel->slot[i].role == role)
            return &l->region[i];
    return NULL;
}

/* The region of the same argument, if it can hold as much. */
static const region *same_argument(const launch *l, const slot *s)
{
    for (size_t i = 0; l && i < l->kernel->n_slots; i++) {
        const slot *other = &l->kernel->slot[i];

        if (other->argument == s->argument && other->role == s->role && other->bytes >= s->bytes)
            return &l->region[i];
    }
    return NULL;
}

static region ring_region(const planner *p, uint64_t bytes)
{
    return (region){ SPACE_RING, p->turn % RING * p->ring_bytes, bytes };
}

/* ---- forward --------------------------------------------------------------------------------- */

static void place_forward(planner *p, launch *l)
{
    const plan_kernel *k   = l->kernel;
    size_t             nth = 0;
    region             out = { 0 };

    for (size_t i = 0; i < k->n_slots; i++) {
        const uint64_t bytes = k->slot[i].bytes;
        region        *r     = &l->region[i];
        bool           fresh = true;

        switch (k->slot[i].role) {
        case ROLE_IN:
            fresh = p->previous.bytes < bytes;
            *r    = fresh ? reserve(p, SPACE_ACTIVATIONS, bytes) : p->previous;
            break;
        case ROLE_IN_OTHER:
        case ROLE_SAVED_IN:
        case ROLE_SAVED_OUT:
            fresh = !find_earlier(p, p->n_products ? p->n_products - 1 : 0, nth++, bytes, r);
            if (fresh)
                *r = reserve(p, SPACE_ACTIVATIONS, bytes);
            break;
        case ROLE_OUT:
            *r = out =
                p->plan->evaluation ? ring_region(p, bytes) : reserve(p, SPACE_ACTIVATIONS, bytes);
            break;
        case ROLE_ASIDE: *r = reserve(p, SPACE_ACTIVATIONS, bytes); break;
        case ROLE_STATE: *r = reserve(p, SPACE_STATE, bytes); break;
        case ROLE_WEIGHT: *r = reserve(p, SPACE_WEIGHTS, bytes); break;
        case ROLE_GRADIENT: *r = reserve(p, SPACE_GRADIENTS, bytes); break;
        case ROLE_MOMENTUM: *r = reserve(p, SPACE_MOMENTUM, bytes); break;
        case ROLE_SCRATCH: *r = shared(p, SPACE_SCRATCH, bytes); break;
        }
        l->first_user |= (uint32_t)fresh << i;
    }
    if (out.bytes) {
        p->product[p->n_products++] = p->previous = out;
        p->turn++;
    }
}

/* ---- backward -------------------------------------------------------------------------------- */

static size_t find_match(planner *p, const launch *l)
{
    const launch *forward = p->plan->launch[PHASE_FORWARD];
    const uint8_t bit     = (uint8_t)(1u << l->kernel->kernel.pass);

    for (size_t i = p->plan->n[PHASE_FORWARD]; i-- > 0;)
        if (!(p->taken[i] & bit) && kernels_match(&forward[i].kernel->kernel, &l->kernel->kernel)) {
            p->taken[i] |= bit;
            return i;
        }
    return NONE;
}

/* The kernels of one layer's weights read the gradient that its other kernels read. */
static region gradient_in(planner *p, const launch *l, const launch *before, bool same_layer,
                          uint64_t bytes)
{
    if (before && l->kernel->kernel.pass == LM_GRAD_WEIGHT &&
        (same_layer || before->kernel->kernel.pass == LM_GRAD_WEIGHT)) {
        const region *in = region_of(before, ROLE_IN);

        if (in && in->bytes >= bytes)
            return *in;
    }
    return p->previous.bytes >= bytes ? p->previous : shared(p, SPACE_LOSS, bytes);
}

/* Another gradient, or an activation. */
static region gradient_other(planner *p, size_t nth, uint64_t bytes, bool *fresh)
{
    region r;

    if (nth == 0 && p->before.bytes >= bytes)
        return p->before;
    if (find_earlier(p, p->n_products, nth, bytes, &r))
        return r;
    *fresh = true;
    return reserve(p, SPACE_ACTIVATIONS, bytes);
}

static region saved(planner *p, const launch *forward, slot_role role, uint64_t bytes)
{
    const region *r = forward ? region_of(forward, role) : NULL;

    return r && r->bytes >= bytes ? *r : shared(p, SPACE_SAVED, bytes);
}

static region kept(planner *p, const launch *forward, const slot *s, plan_space space, bool *fresh)
{
    const region *r = same_argument(forward, s);

    *fresh = !r;
    return r ? *r : reserve(p, space, s->bytes);
}

/* To a transposed convolution's weights, the output's gradient is what an image is to others': the
 * roles of the two operands are exchanged. */
static slot_role role_behind(const slot *s, const launch *l, const launch *forward)
{
    const bool transposed = forward && l->kernel->kernel.pass == LM_GRAD_WEIGHT &&
                            forward->kernel->kernel.pass == LM_GRAD_INPUT;

    if (transposed && (s->role == ROLE_IN || s->role == ROLE_SAVED_IN))
        return s->role == ROLE_IN ? ROLE_SAVED_IN : ROLE_IN;
    return s->role;
}

static void place_backward(planner *p, launch *l, const launch *before, const launch *forward,
                           bool same_layer)
{
    const plan_kernel *k   = l->kernel;
    size_t             nth = 0;
    region             out = { 0 };

    for (size_t i = 0; i < k->n_slots; i++) {
        const slot    *s     = &k->slot[i];
        const uint64_t bytes = s->bytes;
        region        *r     = &l->region[i];
        bool           fresh = false;

        switch (role_behind(s, l, forward)) {
        case ROLE_IN: *r = gradient_in(p, l, before, same_layer, bytes); break;
        case ROLE_IN_OTHER: *r = gradient_other(p, nth++, bytes, &fresh); break;
        case ROLE_SAVED_IN: *r = saved(p, forward, ROLE_IN, bytes); break;
        case ROLE_SAVED_OUT: *r = saved(p, forward, ROLE_OUT, bytes); break;
        case ROLE_OUT: *r = out = ring_region(p, bytes); break;
        case ROLE_ASIDE: *r = ring_region(p, bytes); break;
        case ROLE_STATE: *r = kept(p, forward, s, SPACE_STATE, &fresh); break;
        case ROLE_WEIGHT: *r = kept(p, forward, s, SPACE_WEIGHTS, &fresh); break;
        case ROLE_GRADIENT: *r = reserve(p, SPACE_GRADIENTS, bytes); break;
        case ROLE_MOMENTUM: *r = reserve(p, SPACE_MOMENTUM, bytes); break;
        case ROLE_SCRATCH: *r = shared(p, SPACE_SCRATCH, bytes); break;
        }
        l->first_user |= (uint32_t)fresh << i;
    }
    if (out.bytes) {
        p->before   = p->previous;
        p->previous = out;
        p->turn++;
    }
}

/* Reserves the ring for the results of a phase: gradients, or outputs in evaluation. */
static void lay_ring(planner *p, phase of)
{
    step_plan *whole   = p->plan;
    uint64_t   regions = 0;

    for (size_t i = 0; i < whole->n[of]; i++) {
        const plan_kernel *k = whole->launch[of][i].kernel;

        for (size_t s = 0; s < k->n_slots; s++) {
            if (k->slot[s].role != ROLE_OUT && k->slot[s].role != ROLE_ASIDE)
                continue;
            if (p->ring_bytes < k->slot[s].bytes)
                p->ring_bytes = aligned(k->slot[s].bytes);
            regions += regions < RING;
        }
    }
    if (of == PHASE_FORWARD) /* the distance of a kernel's source and product is no power of two */
        p->ring_bytes = lm_add(p->ring_bytes, 17 * ALIGN);
    whole->size[SPACE_RING] = lm_mul(regions, p->ring_bytes);
}

/* Places the gradients that are complete after `end` kernels, layer by layer. The gradients of a
 * layer lie side by side, from where its first kernel puts its own. */
static void lay_gradients(planner *p, size_t end)
{
    step_plan *whole = p->plan;
    uint64_t  *size  = &whole->size[SPACE_GRADIENTS];
    size_t     i     = p->n_laid;

    while (i < whole->n_gradients && whole->gradient[i].end <= end) {
        const weight_gradient *layer = &whole->gradient[i];
        const bool             none  = layer->begin == layer->end;
        uint64_t               at    = none ? *size : p->gradients_before[layer->begin];

        for (; i < whole->n_gradients && whole->gradient[i].begin == layer->begin &&
               whole->gradient[i].end == layer->end;
             i++) {
            whole->gradient_at[i] = at;
            at                    = lm_add(at, whole->gradient[i].bytes);
        }
        if (*size < at)
            *size = aligned(at);
    }
    p->n_laid = i;
}

static void place_all_backward(planner *p)
{
    launch *const list    = p->plan->launch[PHASE_BACKWARD];
    launch *const forward = p->plan->launch[PHASE_FORWARD];
    size_t        last    = NONE;

    lay_ring(p, PHASE_BACKWARD);
    p->turn     = 0;
    p->previous = p->before = (region){ 0 };
    for (size_t i = 0; i < p->plan->n[PHASE_BACKWARD]; i++) {
        const size_t match = find_match(p, &list[i]);

        lay_gradients(p, i);
        p->gradients_before[i] = p->plan->size[SPACE_GRADIENTS];
        place_backward(p, &list[i], i ? &list[i - 1] : NULL, match == NONE ? NULL : &forward[match],
                       match != NONE && match == last);
        last = match;
    }
    lay_gradients(p, SIZE_MAX);
}

/* ---- update ---------------------------------------------------------------------------------- */

static void place_update(planner *p, launch *l)
{
    for (size_t i = 0; i < l->kernel->n_slots; i++) {
        const uint64_t bytes = l->kernel->slot[i].bytes;

        l->region[i] = l->kernel->slot[i].role == ROLE_WEIGHT
                           ? step_through(p, SPACE_WEIGHTS, &p->weights, bytes)
                       : l->kernel->slot[i].role == ROLE_GRADIENT
                           ? step_through(p, SPACE_GRADIENTS, &p->gradients, bytes)
                       : l->kernel->slot[i].role == ROLE_SCRATCH
                           ? shared(p, SPACE_SCRATCH, bytes)
                           : reserve(p, SPACE_MOMENTUM, bytes);
    }
}

lm_status plan_make(step_plan *p, lm_error *err)
{
    const size_t n      = p->n[PHASE_FORWARD] + 1;
    planner      all    = { .plan             = p,
                            .product          = malloc(n * sizeof(region)),
                            .taken            = calloc(n, sizeof(uint8_t)),
                            .gradients_before = calloc(p->n[PHASE_BACKWARD] + 1, sizeof(uint64_t)) };
    lm_status    status = LM_OK;

    p->gradient_at = calloc(p->n_gradients + 1, sizeof *p->gradient_at);
    if (!all.product || !all.taken || !all.gradients_before || !p->gradient_at) {
        status = no_memory(err);
        goto out;
    }
    if (p->evaluation)
        lay_ring(&all, PHASE_FORWARD);
    for (size_t i = 0; i < p->n[PHASE_FORWARD]; i++)
        place_forward(&all, &p->launch[PHASE_FORWARD][i]);
    if (!p->evaluation)
        place_all_backward(&all);
    for (size_t i = 0; i < p->n[PHASE_UPDATE]; i++)
        place_update(&all, &p->launch[PHASE_UPDATE][i]);
out:
    free_all(all.product, all.taken, all.gradients_before);
    return status;
}

/* ---- memory ---------------------------------------------------------------------------------- */

uint64_t plan_space_offset(const step_plan *p, plan_space space)
{
    uint64_t offset = 0;

    for (plan_space s = 0; s < space; s++)
        offset = lm_add(offset, p->size[s]);
    return offset;
}

uint64_t plan_bytes(const step_plan *p)
{
    return plan_space_offset(p, N_SPACES);
}

static uint64_t offset_of(const step_plan *p, const region *r)
{
    return plan_space_offset(p, r->space) + r->offset;
}

static bool is_reused(plan_space space)
{
    return space == SPACE_RING || space == SPACE_LOSS || space == SPACE_SCRATCH;
}

void plan_place_copy(step_plan *p, phase part, char *memory, size_t shift)
{
    for (size_t i = 0; i < p->n[part]; i++) {
        launch *l = &p->launch[part][i];

        for (size_t s = 0; s < l->kernel->n_slots; s++)
            l->at[s] =
                memory + offset_of(p, &l->region[s]) + (is_reused(l->region[s].space) ? 0 : shift);
    }
}

void plan_place(step_plan *p, char *memory)
{
    for (phase part = 0; part < N_PHASES; part++)
        plan_place_copy(p, part, memory, 0);
}

static bool is_number(lm_dtype type)
{
    return type == LM_F32 || type == LM_F16 || type == LM_BF16;
}

/* The element type of most of a case: of its first kernel that has one. */
static lm_dtype main_type(const step_plan *p)
{
    for (int part = 0; part < N_PHASES; part++)
        for (size_t i = 0; i < p->n[part]; i++) {
            const lm_dtype type = p->launch[part][i].kernel->kernel.dtype;

            if (is_number(type))
                return type;
        }
    return LM_F32;
}

static bool starts_at_zero(plan_space space)
{
    return space == SPACE_STATE || space == SPACE_MOMENTUM || space == SPACE_SCRATCH;
}

static void fill_launch(const step_plan *p, const launch *l, const fill *usual, plan_filler each,
                        void *context)
{
    for (size_t s = 0; s < l->kernel->n_slots; s++) {
        const fill *f = &l->kernel->slot[s].fill;

        if (!(l->first_user >> s & 1))
            continue;
        if (f->kind != usual->kind || f->type != usual->type || f->scale < usual->scale ||
            f->scale > usual->scale)
            each(context, f, offset_of(p, &l->region[s]), l->kernel->slot[s].bytes);
    }
}

void plan_fill(const step_plan *p, plan_filler each, void *context)
{
    const fill usual = { .kind = FILL_NORMAL, .type = main_type(p), .scale = 1.0 };
    const fill zero  = { .kind = FILL_ZERO };

    for (plan_space s = 0; s < N_SPACES; s++)
        each(context, starts_at_zero(s) ? &zero : &usual, plan_space_offset(p, s), p->size[s]);
    for (int part = 0; part < N_PHASES; part++)
        for (size_t i = 0; i < p->n[part]; i++)
            fill_launch(p, &p->launch[part][i], &usual, each, context);
}

void plan_gradients(const step_plan *p, char *memory, gradient_bucket *out)
{
    char *const begin = memory + plan_space_offset(p, SPACE_GRADIENTS);

    for (size_t i = 0; i < p->n_gradients; i++)
        out[i] = (gradient_bucket){ .data  = begin + p->gradient_at[i],
                                    .bytes = p->gradient[i].bytes,
                                    .dtype = p->gradient[i].dtype,
                                    .needs = p->gradient[i].end };
}

uint64_t plan_gradients_written(const step_plan *p)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < p->n[PHASE_BACKWARD]; i++) {
        const plan_kernel *k = p->launch[PHASE_BACKWARD][i].kernel;

        for (size_t s = 0; s < k->n_slots; s++)
            if (k->slot[s].role == ROLE_GRADIENT)
                bytes = lm_add(bytes, k->slot[s].bytes);
    }
    return bytes;
}

void plan_free(step_plan *p)
{
    free(p->gradient_at);
    for (int part = 0; part < N_PHASES; part++)
        free(p->launch[part]);
    *p = (step_plan){ 0 };
}
