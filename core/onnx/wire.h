/**
 * Decodes protocol buffers into plain structs. Only files that include this header see nanopb.
 */
#ifndef ONNX_WIRE_H
#define ONNX_WIRE_H

#include <pb_decode.h>

#include "base/arena.h"
#include "onnx.pb.h"
#include "onnx/model.h"

/** One file being read; its callbacks return false once something below says why. */
typedef struct reading {
    onnx_model        *model;
    arena             *arena;
    size_t             node_room, initializer_room;
    size_t             n_parts, n_data;
    void              *map; /**< the file */
    size_t             map_size, skipped;
    bool               no_memory;
    const char        *too_many; /**< of what; NULL: not too many */
    const onnx_branch *branch;   /**< the nodes that are read are in this one */
    size_t             depth;    /**< bodies of loops within each other */
    const char        *sparse;   /**< name of an initializer that is; NULL: none */
} reading;

/** Growing arrays inside something being read. */
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

/** What callbacks of a field get: the reading, and where to put it. */
typedef struct wire_target {
    reading *r;
    void    *to;
} wire_target;

typedef bool wire_callback(pb_istream_t *stream, const pb_field_t *field, void **arg);

pb_callback_t wire_into(wire_callback *decode, wire_target *arg);

/** Both return false, and note why. */
bool wire_no_memory(reading *r);
bool wire_too_many(reading *r, const char *what);

/** Room for one more element at the end of *array; false: wire_no_memory(), wire_too_many(). */
bool wire_grow(reading *r, void **array, size_t n, size_t *room, size_t size);

/** Leaves the rest of a field unread. */
bool wire_skip(reading *r, pb_istream_t *stream);

/** Into a const char *, and at the end of a text_list, int_list and float_list. */
wire_callback wire_text, wire_names, wire_ints, wire_floats;

/** What a node's exporter tells of its source. */
enum { SOURCE_PARAMETER, SOURCE_NORM, N_SOURCE_WORDS };

typedef struct node_source {
    reading *r;
    bool     next; /**< the value that follows is the source */
    bool     told, has[N_SOURCE_WORDS];
} node_source;

/** An entry of a node's metadata, into a node_source. */
wire_callback wire_source;

/** A tensor while it is read. */
typedef struct tensor_reading {
    onnx_TensorProto *message;
    onnx_tensor      *to;
    int_list          dims;
    size_t      room; /**< elements there is memory for: a shape after the data changes it not */
    wire_target name_target, dims_target, data_target;
} tensor_reading;

/** Says where the message's fields go; `own` must stay where it is until the message is decoded. */
void tensor_prepare(reading *r, tensor_reading *own, onnx_TensorProto *message, onnx_tensor *to);
/** After that. Data of another length than the shape's counts as not read; false: no shape. */
bool tensor_finish(tensor_reading *own);

#endif
