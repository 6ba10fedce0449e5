/** Descriptors and calls that cuDNN's classic functions share. */
#ifndef PORTS_FAKE_CLASSIC_H
#define PORTS_FAKE_CLASSIC_H

#include <cudnn.h>

#include "fake.h"
#include "fake_tensor.h"

struct cudnnTensorStruct {
    fake_tensor shape;
    bool        set;
};

struct cudnnPoolingStruct {
    cudnnPoolingMode_t mode;
    int                axes, size[3], padding[3], stride[3];
};

enum { OPERANDS = 8 };

/** What is copied into the stream: tensors with where they are, and the rest of a call. */
typedef struct classic_call {
    fake_tensor               t[OPERANDS];
    struct cudnnPoolingStruct pool;
    double                    epsilon;
    bool                      forward, has_workspace;
    char                     *workspace, *reserve;
    size_t                    workspace_bytes;
} classic_call;

/** False: not set, or not in device memory. */
bool classic_place(classic_call *c, int i, cudnnTensorDescriptor_t type, const void *at);
/** Results replace what was there. */
bool          classic_plain(const void *alpha, const void *beta);
cudnnStatus_t classic_wrong(const char *reason);
cudnnStatus_t classic_enqueue(cudnnHandle_t handle, fake_call *run, const classic_call *c);

#endif
