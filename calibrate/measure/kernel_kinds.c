/* Kinds of kernels, by their geometry. */
#include "measure/kernel_kinds.h"

/* More outputs than inputs along one axis. Windows all have one length where each output reads one
 * input, so where the outputs are a multiple of the inputs. */
static bool repeats(const lm_kernel *k, int axis)
{
    return k->u.pool.out[axis] > k->u.pool.in[axis] && k->u.pool.window[axis] == 1 &&
           k->u.pool.out[axis] % k->u.pool.in[axis] == 0;
}

bool pool_is_adaptive(const lm_kernel *k)
{
    bool adaptive = k->u.pool.taps != 0;

    for (int a = 0; a < 3; a++) {
        if (k->u.pool.pad[a])
            return false;
        adaptive = adaptive || repeats(k, a);
    }
    return adaptive;
}

bool norm_over_channels(const lm_kernel *k)
{
    return k->u.norm.inner != k->u.norm.group || k->u.norm.channels;
}
