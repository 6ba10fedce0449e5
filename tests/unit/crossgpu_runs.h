/** Datasheets and files of runs for tests of predictions across GPUs. */
#ifndef UNIT_CROSSGPU_RUNS_H
#define UNIT_CROSSGPU_RUNS_H

#include "folder.h"

#include "crossgpu/crossgpu.h"

/* Peaks of 10, 20 and 80 TFLOP/s, bandwidths of 500, 500 and 1000 GB/s. */
static const char boards[] =
    "[Slow]\nf32 = 10 TFLOP/s\nbandwidth = 500 GB/s\npower = 100 W\nclock = 1000 MHz\n"
    "[Fast]\nf32 = 20 TFLOP/s\nbandwidth = 500 GB/s\npower = 200 W\nclock = 2000 MHz\n"
    "[Vast]\nf32 = 80 TFLOP/s\nbandwidth = 1000 GB/s\npower = 400 W\nclock = 2000 MHz\n"
    "[Wide]\nf32 = 40 TFLOP/s\nbandwidth = 2000 GB/s\npower = 300 W\nclock = 1500 MHz\n"
    "[Bare]\nf32 = 80 TFLOP/s\n";

static inline device_list *devices(void)
{
    device_list *d = NULL;
    lm_error     err;

    assert_int_equal(devices_open(folder_file("boards.ini", boards), &d, &err), LM_OK);
    return d;
}

static inline runs *load(const char *text)
{
    runs    *r = NULL;
    lm_error err;

    assert_int_equal(runs_load(folder_file("r.csv", text), &r, &err), LM_OK);
    return r;
}

#endif
