/* Kernels that stay prepared from one point to the next. */
#include "cuda_shelf.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/no_memory.h"

typedef struct entry {
    cuda_kernel kernel; /* first: its address is the entry's */
    settings    how;
    bool        used;
    uint64_t    turn; /* of its last use */
} entry;

struct cuda_shelf {
    entry  **all;
    size_t   n, room, n_idle;
    uint64_t turn;
};

cuda_shelf *cuda_shelf_new(void)
{
    return calloc(1, sizeof(cuda_shelf));
}

static void discard(cuda_shelf *s, size_t i)
{
    cuda_kernel_release(&s->all[i]->kernel);
    free(s->all[i]);
    s->all[i] = s->all[--s->n];
}

void cuda_shelf_free(cuda_shelf *shelf)
{
    if (!shelf)
        return;
    while (shelf->n)
        discard(shelf, shelf->n - 1);
    free(shelf->all);
    free(shelf);
}

/* Are the settings equal that decide the choice of an implementation? */
static bool same_choice(const settings *a, const settings *b)
{
    static const setting by[] = { SETTING_ALGORITHMS, SETTING_LAYOUT, SETTING_MATH, SETTING_UPDATE };
    bool                 same = true;

    for (size_t i = 0; i < sizeof by / sizeof by[0]; i++)
        same &= a->value[by[i]] == b->value[by[i]];
    return same;
}

static entry *find(const cuda_shelf *s, const settings *how, const lm_kernel *k, kernel_use use)
{
    for (size_t i = 0; i < s->n; i++)
        if (!s->all[i]->used && s->all[i]->kernel.base.use == use &&
            kernels_equal(&s->all[i]->kernel.base.kernel, k) && same_choice(&s->all[i]->how, how))
            return s->all[i];
    return NULL;
}

static lm_status make(const cuda_device *device, const settings *how, const lm_kernel *k,
                      kernel_use use, entry **out, lm_error *err)
{
    cuda_shelf *s    = device->shelf;
    entry      *made = malloc(sizeof *made);
    lm_status   status;

    if (!made || !array_grow(&s->all, s->n, &s->room, sizeof *s->all)) {
        free(made);
        return no_memory(err);
    }
    *made  = (entry){ .how = *how };
    status = cuda_kernel_prepare(device, how, k, use, &made->kernel, err);
    if (status) {
        free(made);
        return status;
    }
    *out = s->all[s->n++] = made;
    return LM_OK;
}

lm_status cuda_shelf_take(const cuda_device *device, const settings *how, const lm_kernel *k,
                          kernel_use use, cuda_kernel **out, lm_error *err)
{
    cuda_shelf *s    = device->shelf;
    entry      *kept = find(s, how, k, use);

    if (kept)
        s->n_idle--;
    else if (make(device, how, k, use, &kept, err))
        return err->code;
    kept->used = true;
    *out       = &kept->kernel;
    return LM_OK;
}

static void discard_oldest(cuda_shelf *s)
{
    size_t oldest = s->n;

    for (size_t i = 0; i < s->n; i++)
        if (!s->all[i]->used && (oldest == s->n || s->all[i]->turn < s->all[oldest]->turn))
            oldest = i;
    if (oldest == s->n)
        return;
    discard(s, oldest);
    s->n_idle--;
}

void cuda_shelf_give(const cuda_device *device, cuda_kernel *k)
{
    cuda_shelf *s    = device->shelf;
    entry      *kept = (entry *)(void *)k;

    if (!kept)
        return;
    if (k->forget)
        k->forget(k);
    kept->used = false;
    kept->turn = s->turn++;
    if (++s->n_idle > CUDA_SHELF_MOST)
        discard_oldest(s);
}
