/* The host's side of callbacks. */
#include "layers/host.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "layers/kernel_text.h"

static lm_status host_fail(const lm_layer *layer, lm_status code, const char *fmt, ...)
{
    const host_layer *h = (const host_layer *)layer;
    char              text[400];
    va_list           args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return lm_error_set(h->err, code < 0 ? code : LM_E_ARG, "%s", text);
}

const lm_host host_services = { sizeof host_services, LM_ABI_MINOR, 0, host_fail };

static void take_weight(lm_sink *sink, const lm_weight *weight)
{
    host_sink *c    = (host_sink *)sink;
    lm_weight  copy = { 0 };

    if (c->status)
        return;
    memcpy(&copy, weight, weight->size < sizeof copy ? weight->size : sizeof copy);
    copy.size = sizeof copy;
    if (!copy.role || copy.tensor.rank > LM_MAX_RANK) {
        c->status =
            lm_error_set(c->err, LM_E_ABI, "the plugin emits a weight without role or shape");
        return;
    }
    copy.role = arena_text(c->arena, copy.role, strlen(copy.role));
    if (!copy.role || !array_grow(&c->weight, c->n_weights, &c->weight_room, sizeof copy)) {
        c->status = no_memory(c->err);
        return;
    }
    c->weight[c->n_weights++] = copy;
}

static void take_kernel(lm_sink *sink, const lm_kernel *kernel)
{
    host_sink   *c = (host_sink *)sink;
    const size_t n = kernel->size < sizeof *kernel ? kernel->size : sizeof *kernel;
    lm_kernel   *to;

    if (c->status)
        return;
    if (!array_grow(&c->kernel, c->n_kernels, &c->kernel_room, sizeof *to)) {
        c->status = no_memory(c->err);
        return;
    }
    to = &c->kernel[c->n_kernels];
    memcpy(to, kernel, n);
    memset((char *)to + n, 0, sizeof *to - n);
    to->size = sizeof *to;
    if (!kernel_op_of_layers(to->op) || to->repeat < 1 || to->pass < LM_FORWARD ||
        to->pass >= LM_N_PASSES || (to->pass != c->pass && to->op != LM_OP_CONV)) {
        c->status =
            lm_error_set(c->err, LM_E_ABI, "the plugin emits a kernel of another pass or kind");
        return;
    }
    c->n_kernels++;
}

host_sink host_sink_make(arena *a, lm_error *err)
{
    return (
        host_sink){ .sink = { sizeof(lm_sink), take_weight, take_kernel }, .arena = a, .err = err };
}

void host_sink_free(host_sink *sink)
{
    free(sink->weight);
    free(sink->kernel);
}
