/** Tensors of libraries that are not there: elements of any type, by index and stride. */
#ifndef PORTS_FAKE_TENSOR_H
#define PORTS_FAKE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cudnn.h>

enum { FAKE_RANK = 8 };

typedef struct fake_tensor {
    cudnnDataType_t type;
    int             rank;
    int64_t         dim[FAKE_RANK], stride[FAKE_RANK];
    char           *at;
} fake_tensor;

size_t fake_element_bytes(cudnnDataType_t type);
double fake_read(cudnnDataType_t type, const void *at, int64_t place);
/** Rounds to the type. */
void fake_write(cudnnDataType_t type, void *at, int64_t place, double value);

/** From the first element to the last. */
size_t fake_tensor_bytes(const fake_tensor *t);
/** Element at `index`; along axes of size 1 always the first. */
double fake_get(const fake_tensor *t, const int64_t *index);
void   fake_set(const fake_tensor *t, const int64_t *index, double value);
void   fake_clear(const fake_tensor *t);

/** Counts `index` on through `dim`, the last axis first. Starts at zeros; false: that was all. */
bool fake_next(int rank, const int64_t *dim, int64_t *index);

/** Same sizes. */
bool fake_same_shape(const fake_tensor *a, const fake_tensor *b);
/** Each size of `a` is that of `b`, or 1. */
bool fake_stretches(const fake_tensor *a, const fake_tensor *b);

/** alpha or beta of the classic calls: a float on the host. */
double fake_factor(const void *factor);

/** Descriptors created less those destroyed, of the libraries that are not there. */
extern size_t fake_descriptors;

/** Plans that cuDNN has made, implementations that cuBLASLt has been asked for. */
extern size_t fake_plans, fake_choices;

/** The stream of a handle. */
cudaStream_t fake_stream(cudnnHandle_t handle);
/** What cudnnGetLastErrorString() says next; returns `status`. */
cudnnStatus_t fake_refuse(cudnnStatus_t status, const char *reason);

#endif
