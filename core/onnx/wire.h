/**
 * Decodes protocol buffers into plain structs. Only files that include this header see nanopb.
 */
#ifndef ONNX_WIRE_H
#define ONNX_WIRE_H

#include <pb_decode.h>

#include "base/arena.h"
#include "onnx.pb.h"
#include "onnx/model.h"

/** State of reading a file. Callbacks return false after an error, which the members below
 * describe. */
typedef struct reading {
    onnx_model        *model;
    arena             *arena;
    size_t             node_room, initializer_room;
    size_t             n_parts, n_data;
    void              *map; /**< the file */
    size_t             map_size, skipped;
    bool               no_memory;
    const char        *too_many; /**< the things that are too many; NULL: none */
    const onnx_branch *branch;   /**< branch of the present nodes */
    size_t             depth;    /**< depth of nested loops */
    const char        *sparse;   /**< name of a sparse initializer; NULL: none */
} reading;

/** Growing arrays. */
typedef struct int_list {
    int64_t *item;
    size_t   n, room;
} int_list;

typedef struct float_list {
    float *item;
    size_t n, room;
} float_list;

typedef struct text_list {
    const char **item;
    size_t       n, room;
} text_list;

/** Argument of a field's callback: the reading, and the destination. */
typedef struct wire_target {
    reading *r;
    void    *to;
} wire_target;

typedef bool wire_callback(pb_istream_t *stream, const pb_field_t *field, void **arg);

pb_callback_t wire_into(wire_callback *decode, wire_target *arg);

/** Note the error and return false. */
bool wire_no_memory(reading *r);
bool wire_too_many(reading *r, const char *what);

/** Makes room for one more element of *array; false: wire_no_memory(), wire_too_many(). */
bool wire_grow(reading *r, void **array, size_t n, size_t *room, size_t size);

/** Skips the rest of a field. */
bool wire_skip(reading *r, pb_istream_t *stream);

/** Decode into a const char *, or append to a text_list, int_list or float_list. */
wire_callback wire_text, wire_names, wire_ints, wire_floats;

/** Words about a node's source that exporters write. */
enum { SOURCE_PARAMETER, SOURCE_NORM, N_SOURCE_WORDS };

typedef struct node_source {
    reading *r;
    bool     next; /**< the next value is the source */
    bool     told, has[N_SOURCE_WORDS];
} node_source;

/** Decodes an entry of a node's metadata into a node_source. */
wire_callback wire_source;

/** A tensor while it is read. */
typedef struct tensor_reading {
    onnx_TensorProto *message;
    onnx_tensor      *to;
    int_list          dims;
    size_t            room; /**< elements with memory, fixed before a later shape */
    wire_target       name_target, dims_target, data_target;
} tensor_reading;

/** Sets the destinations of a message's fields. `own` must not move until the message is
 * decoded. */
void tensor_prepare(reading *r, tensor_reading *own, onnx_TensorProto *message, onnx_tensor *to);
/** Finishes a decoded tensor. Data whose length differs from the shape counts as not read. False:
 * no shape. */
bool tensor_finish(tensor_reading *own);

#endif
