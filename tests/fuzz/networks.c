/* Networks of all formats. */
#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "network/kernels.h"
#include "network/metrics.h"
#include "formats/huggingface/huggingface.h"
#include "onnx/onnx.h"
#include "formats/paleo/paleo.h"
#include "network/write.h"

/* More layers than this are parsed, but not bound: that is slow and no parser. */
#define LAYERS_MAX 3000

bool fuzz_network(const uint8_t *data, size_t size)
{
    const bind_options options = { .batch = 2, .dtype = LM_F32 };
    memory_file        f       = file_of(data, size);
    network           *net     = NULL;
    bound_network     *bound   = NULL;
    kernel_list        list    = { NULL, 0, 0 };
    net_metrics        m;
    lm_error           err    = { 0 };
    lm_status          status = network_load(f.path, NULL, &net, &err);

    close(f.fd);
    if (!status) {
        check(net->n_layers >= 1 && net->name);
        for (size_t i = 0; i < net->n_layers; i++) {
            check(*net->layer[i].name);
            for (size_t k = 0; k < net->layer[i].n_inputs; k++)
                check(net->layer[i].input[k].layer < i);
        }
    }
    if (!status && net->n_layers <= LAYERS_MAX) {
        status = bind_network(net, fuzz_types, &options, &bound, &err);
        if (!status)
            status = metrics_of_network(bound, NULL, &m, &err);
        if (!status)
            status = kernels_forward(bound, &list, &err);
        if (!status)
            status = kernels_backward(bound, &list, &err);
        if (!status)
            status = kernels_update(bound, OPTIMIZER_MOMENTUM, &list, &err);
        for (size_t i = 0; !status && i < list.n; i++)
            lm_kernel_work(&list.kernel[i]);
    }
    if (status)
        check_refusal(status, &err);
    kernel_list_free(&list);
    bound_network_free(bound);
    network_free(net);
    return !status;
}

/* What is imported can be written and read again, with as many layers. */
static void check_written(const network *net)
{
    char       *text  = NULL;
    size_t      size  = 0;
    FILE       *out   = open_memstream(&text, &size);
    network    *again = NULL;
    memory_file f;
    lm_error    err = { 0 };

    check(out && !network_write(net, "fuzz", out, &err));
    check(!fclose(out));
    f = file_of((const uint8_t *)text, size);
    if (network_load(f.path, NULL, &again, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    check(again->n_layers == net->n_layers);
    network_free(again);
    close(f.fd);
    free(text);
}

static bool fuzz_import(const uint8_t *data, size_t size,
                        lm_status (*load)(const char *path, const registry *reg,
                                          const network_choices *choices, network **out,
                                          lm_error *err))
{
    const bind_options options = { .batch = 2, .dtype = LM_F32 };
    memory_file        f       = file_of(data, size);
    network           *net     = NULL;
    bound_network     *bound   = NULL;
    lm_error           err     = { 0 };
    lm_status          status  = load(f.path, fuzz_types, NULL, &net, &err);

    close(f.fd);
    if (!status && net->n_layers <= LAYERS_MAX) {
        check_written(net);
        status = bind_network(net, fuzz_types, &options, &bound, &err);
    }
    if (status)
        check_refusal(status, &err);
    bound_network_free(bound);
    network_free(net);
    return !status;
}

bool fuzz_paleo(const uint8_t *data, size_t size)
{
    return fuzz_import(data, size, paleo_load);
}

bool fuzz_config(const uint8_t *data, size_t size)
{
    return fuzz_import(data, size, huggingface_load);
}

bool fuzz_onnx(const uint8_t *data, size_t size)
{
    return fuzz_import(data, size, onnx_load);
}
