/* Kernels beside plain loops. */
#include "gpu_agrees.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "check.h"
#include "network/kernels.h"
#ifdef PORTS_FAKE
#include "fake_tensor.h"
#endif

const lm_dtype gpu_types[] = { LM_F32, LM_F16, LM_BF16 };

size_t gpu_left(void)
{
#ifdef PORTS_FAKE
    return fake_descriptors;
#else
    return 0;
#endif
}

#ifndef PORTS_FAKE
/* What a library may refuse on a device of this age, or be too old for: bf16 and fused attention
 * came with compute capability 8.0, gradients of attention with cuDNN 9.6, and 9.10.0 and 9.10.1
 * have faults. All else is a mistake of ours. */
static bool may_be_missing(const lm_kernel *k)
{
    const size_t version = cudnnGetVersion();

    if (k->op == LM_OP_ATTENTION && k->dtype != LM_F32 &&
        (version < 90600 || version == 91000 || version == 91001))
        return true;
    if (k->dtype == LM_F8 && 10 * gpu_device()->major + gpu_device()->minor < 89)
        return true;
    return gpu_device()->major < 8 && (k->dtype == LM_BF16 || k->op == LM_OP_ATTENTION);
}

static void refused(const lm_kernel *k, const lm_error *err)
{
    if (!may_be_missing(k))
        fail_msg("refused: %s", err->text);
    printf("not on this device: %s\n", err->text);
}
#endif

bool gpu_open_case(gpu_case *c, const settings *how, const lm_kernel *k)
{
#ifndef PORTS_FAKE
    cuda_kernel trial;
    lm_error    err;

    if (cuda_kernel_prepare(gpu_device(), how, k, USE_TRAINING, &trial, &err) == LM_E_UNSUPPORTED) {
        refused(k, &err);
        gpu_not_here(k->op);
        return false;
    }
    cuda_kernel_release(&trial);
#endif
    gpu_prepare(c, how, k, USE_TRAINING);
#ifndef PORTS_FAKE
    /* what a library refuses as late as this */
    if (cuda_kernel_run(&c->kernel, c->device, c->memory, &err) == LM_E_UNSUPPORTED) {
        refused(k, &err);
        gpu_tell(GPU_NOT_HERE);
        gpu_release(c);
        return false;
    }
#endif
    return true;
}

void gpu_close_case(gpu_case *c, size_t before)
{
    assert_true(*c->kernel.implementation);
    gpu_release(c);
    assert_int_equal(gpu_left(), before);
}

double *gpu_give_from(const gpu_case *c, int argument, size_t n, unsigned seed)
{
    const size_t s = gpu_slot(c, argument), room = gpu_elements(c, s);
    double      *v = reference_numbers(n > room ? n : room, seed);

    assert_true(n <= room);
    for (size_t i = 0; i < room; i++)
        v[i] = gpu_round(c->kernel.base.slot[s].fill.type, v[i]);
    gpu_put(c, s, v);
    return v;
}

double *gpu_give(const gpu_case *c, int argument)
{
    return gpu_give_from(c, argument, 1, (unsigned)argument + 1);
}

bool gpu_has(const gpu_case *c, int argument)
{
    for (size_t i = 0; i < c->kernel.base.n_slots; i++)
        if (c->kernel.base.slot[i].argument == argument)
            return true;
    return false;
}

/* Where the device is not there, a mistake of ours ends the test; on a real one all are wanted. */
static void complain(const gpu_case *c, int argument, size_t at, size_t n, double got, double right,
                     double allowed)
{
    const lm_kernel *k = &c->kernel.base.kernel;
    char             geometry[320], text[640];

    snprintf(text, sizeof text,
             "%s: %s %s %s %s: argument %d element %zu of %zu: %.9g, not %.9g (+- %.2g)",
             c->kernel.implementation, text_dtype_name(k->dtype), kernel_op_name(k->op),
             kernel_pass_name(k->pass), kernel_print_geometry(k, geometry, sizeof geometry),
             argument, at, n, got, right, allowed);
#ifdef PORTS_FAKE
    fail_msg("%s", text);
#else
    printf("differs: %s\n", text);
    gpu_tell(GPU_DIFFERS);
#endif
}

void gpu_agrees_from(const gpu_case *c, int argument, size_t first, reference r, double per_size,
                     bool of_largest)
{
    const size_t   s    = gpu_slot(c, argument);
    const lm_dtype type = c->kernel.base.slot[s].fill.type;
    double        *got = gpu_get(c, s), most = 0;

    for (size_t i = 0; i < r.n; i++)
        most = fmax(most, r.size[i]);
    for (size_t i = 0; i < r.n; i++) {
        const double allowed =
            element_epsilon(type) * fabs(r.value[i]) + per_size * (of_largest ? most : r.size[i]);

        if (!(fabs(got[first + i] - r.value[i]) <= allowed + 1e-7)) {
            complain(c, argument, i, r.n, got[first + i], r.value[i], allowed);
            break;
        }
    }
    free(got);
    reference_free(&r);
}

void gpu_agrees(const gpu_case *c, int argument, reference r, double per_size)
{
    gpu_agrees_from(c, argument, 0, r, per_size, false);
}
