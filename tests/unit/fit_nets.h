/** Networks that differ in each regressor, and observations of them. */
#ifndef UNIT_FIT_NETS_H
#define UNIT_FIT_NETS_H

#include "nets.h"

#include "observe/points.h"

/** They are n0.ini, n1.ini ... */
#define N_NETS 8

/** Group setup; nets_leave() ends it. */
static inline int fit_nets_enter(void **state)
{
    static const struct {
        int filters, kernel, repeats, features;
    } nets[N_NETS] = { { 4, 3, 1, 10 },   { 16, 1, 2, 300 }, { 6, 5, 3, 40 },  { 32, 3, 1, 7 },
                       { 3, 7, 5, 1000 }, { 24, 1, 9, 20 },  { 9, 3, 6, 500 }, { 2, 1, 12, 90 } };

    if (nets_enter(state))
        return -1;
    for (int i = 0; i < N_NETS; i++) {
        char name[32], text[512];

        snprintf(name, sizeof name, "n%d.ini", i);
        snprintf(
            text, sizeof text,
            "[network]\nname = n%d\n[x]\ntype = input\nshape = 3x16x16\n"
            "[block b]\n[b/c]\ntype = conv2d\nfilters = %d\nkernel = %d\npadding = %d\nbias = no\n"
            "[b/r]\ntype = relu\n"
            "[b.1..%d]\nblock = b\n[p]\ntype = global_avg_pool\n[f]\ntype = flatten\n"
            "[l]\ntype = linear\nfeatures = %d\n",
            i, nets[i].filters, nets[i].kernel, nets[i].kernel / 2, nets[i].repeats,
            nets[i].features);
        folder_file(name, text);
    }
    return 0;
}

static inline workloads *new_loads(void)
{
    workloads *loads;

    assert_int_equal(workloads_new(nets_registry, &loads, NULL), LM_OK);
    return loads;
}

/** Observations from text as points; *obs is what they point to. */
static inline points join(const char *text, workloads *loads, observations **obs)
{
    points   p   = { 0 };
    lm_error err = { LM_OK, "" };

    observations_load(folder_file("o.csv", text), obs, &err);
    assert_string_equal(err.text, "");
    points_from(*obs, loads, &p, &err);
    assert_string_equal(err.text, "");
    return p;
}

#endif
