/** One network, as n.ini: 8 -> 4 without bias, then a ReLU. */
#ifndef UNIT_LINEAR_NET_H
#define UNIT_LINEAR_NET_H

#include "nets.h"

#include "observe/workloads.h"

static workloads *loads;

/** Group setup of other layers behind the 8 features that enter. */
static inline int linear_net_of(void **state, const char *layers)
{
    char text[300];

    if (nets_enter(state))
        return -1;
    snprintf(text, sizeof text, "[network]\nname = n\n[x]\ntype = input\nshape = 8\n%s", layers);
    folder_file("n.ini", text);
    return workloads_new(nets_registry, &loads, NULL);
}

/** Group setup. At batch b: 64 b FLOP forward; 2 layers; 32 weights of 128 bytes. */
static inline int linear_net_enter(void **state)
{
    return linear_net_of(state, "[l]\ntype = linear\nfeatures = 4\nbias = no\n[r]\ntype = relu\n");
}

static inline int linear_net_leave(void **state)
{
    workloads_free(loads);
    return nets_leave(state);
}

#endif
