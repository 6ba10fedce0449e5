/** One network, as n.ini: 8 -> 4 without bias, then a ReLU. */
#ifndef UNIT_LINEAR_NET_H
#define UNIT_LINEAR_NET_H

#include "nets.h"

#include "observe/workloads.h"

static workloads *loads;

/** Group setup. At batch b: 64 b FLOP forward; 2 layers; 32 weights of 128 bytes. */
static inline int linear_net_enter(void **state)
{
    if (nets_enter(state))
        return -1;
    folder_file("n.ini", "[network]\nname = n\n[x]\ntype = input\nshape = 8\n"
                         "[l]\ntype = linear\nfeatures = 4\nbias = no\n[r]\ntype = relu\n");
    return workloads_new(nets_registry, &loads, NULL);
}

static inline int linear_net_leave(void **state)
{
    workloads_free(loads);
    return nets_leave(state);
}

#endif
