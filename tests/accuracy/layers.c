/* layers FILE BATCH: a line for each layer: name, output, bytes kept for backward, weights.
 * layers FILE BATCH cpu|gpu: its name, and what autocast of such a device does with it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layers/loader.h"
#include "network/autocast.h"
#include "network/bind.h"

static void print_shape(const lm_tensor *t)
{
    if (!t->rank)
        fputs("scalar", stdout);
    for (uint32_t d = 0; d < t->rank; d++)
        printf("%s%lld", d ? "x" : "", (long long)t->dim[d]);
}

static void print_layer(const bound_layer *l)
{
    uint64_t kept = l->cost.saved_bytes;

    for (uint32_t i = 0; i < l->n_inputs; i++)
        if (lm_keeps_input(l->cost.keeps, i) && l->wants_gradient[i])
            kept = lm_add(kept, lm_bytes(&l->input[i]));
    if (l->cost.keeps & LM_KEEPS_OUTPUT)
        kept = lm_add(kept, lm_bytes(&l->output[0]));
    printf("%s ", l->decl->name);
    print_shape(&l->output[0]);
    printf(" %llu", (unsigned long long)kept);
    for (size_t i = 0; i < l->n_weights; i++) {
        printf(" %s=", l->weights[i].role);
        print_shape(&l->weights[i].tensor);
    }
    putchar('\n');
}

static void print_rule(const bound_layer *l, autocast_kind on)
{
    static const char *const name[] = {
        [AUTOCAST_LOWER] = "lower", [AUTOCAST_FULL] = "full", [AUTOCAST_WIDEST] = "widest"
    };

    printf("%s %s\n", l->decl->name, name[autocast_rule_of(l, on)]);
}

int main(int argc, char **argv)
{
    registry      *reg     = NULL;
    network       *net     = NULL;
    bound_network *bound   = NULL;
    lm_error       err     = { LM_OK, "" };
    bind_options   options = { .dtype = LM_F32 };

    if (argc != 3 && (argc != 4 || (strcmp(argv[3], "cpu") && strcmp(argv[3], "gpu"))))
        return 2;
    options.batch = atoll(argv[2]);
    if (registry_new(&reg, &err) || loader_open_all(reg, NULL, 0, &err) ||
        network_load(argv[1], NULL, &net, &err) || bind_network(net, reg, &options, &bound, &err))
        fprintf(stderr, "%s\n", err.text);
    for (size_t i = 0; bound && i < bound->n_layers; i++)
        if (argc == 3)
            print_layer(&bound->layer[i]);
        else
            print_rule(&bound->layer[i], strcmp(argv[3], "cpu") ? AUTOCAST_GPU : AUTOCAST_CPU);
    bound_network_free(bound);
    network_free(net);
    registry_free(reg);
    return err.code ? 1 : 0;
}
