/** cuDNN's graph API of a device that is not there: what fake_graph.c
 * and fake_graph_run.c share. */
#ifndef PORTS_FAKE_GRAPH_H
#define PORTS_FAKE_GRAPH_H

#include "fake_tensor.h"

typedef struct fake_value {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t                     n;
    void                       *bytes; /* malloc'ed */
} fake_value;

enum { FAKE_MAX_VALUES = 16 };

typedef struct fake_descriptor {
    cudnnBackendDescriptorType_t  type;
    bool                          final;
    fake_value                    value[FAKE_MAX_VALUES];
    size_t                        n_values;
    const struct fake_descriptor *graph;  /* of engines, configurations and plans */
    int                           engine; /* likewise */
} fake_descriptor;

/** NULL: not set. */
const void *fake_attribute(const fake_descriptor *d, cudnnBackendAttributeName_t name, int64_t *n);
/** One descriptor; NULL: not set. */
const fake_descriptor *fake_reference(const fake_descriptor *d, cudnnBackendAttributeName_t name);
/** One int64_t, or an enum's or a data type's value; `otherwise`: not set. */
int64_t fake_integer(const fake_descriptor *d, cudnnBackendAttributeName_t name, int64_t otherwise);
int     fake_enum(const fake_descriptor *d, cudnnBackendAttributeName_t name);

/** A tensor's shape; nowhere. */
fake_tensor fake_shape(const fake_descriptor *tensor);
bool        fake_is(const fake_descriptor *tensor, cudnnBackendAttributeName_t flag);
int64_t     fake_uid(const fake_descriptor *tensor);

/** The tensors of an operation. */
typedef struct fake_ports {
    const fake_descriptor *in[8], *out[3];
    size_t                 n_in, n_out;
} fake_ports;
fake_ports fake_ports_of(const fake_descriptor *operation);

/** NULL, or what is wrong with the shapes and types of an operation. */
const char *fake_check_operation(const fake_descriptor *operation);

/** Which tensor of a product a length is of. */
extern const cudnnBackendAttributeName_t fake_length_names[3]; /* rows, columns, summands */

/** Has the library an engine for a graph? */
bool fake_supports(const fake_descriptor *graph);

/** A pack's tensors: pointers, numbers handed over by value. */
typedef struct fake_bound {
    int64_t uid;
    void   *at;
    char    number[8];
} fake_bound;

enum { FAKE_MAX_BOUND = 32 };

typedef struct fake_run {
    const fake_descriptor *graph; /* has to live until it has run */
    fake_bound             bound[FAKE_MAX_BOUND];
    size_t                 n_bound;
    void                  *workspace;
    size_t                 workspace_bytes;
} fake_run;

/** A fake_call. */
void fake_graph_run(void *run);

#endif
