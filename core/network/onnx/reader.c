/* From the wire to plain structs, by nanopb: the only file that sees it. */
#include <errno.h>
#include <fcntl.h>
#include <pb_decode.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "network/onnx/model.h"
#include "onnx.pb.h"

/* What a file may hold. Large networks stay far below; a hostile one cannot go beyond. */
#define NODES_MAX   200000
#define TENSORS_MAX 500000
#define PARTS_MAX   4000000 /* attributes, names and numbers of all nodes together */

#define INTS_MAX   65536   /* elements of an integer tensor that is read: a table of indices */
#define FLOATS_MAX 8       /* of a real one: a scalar, or factors of a resize */
#define DATA_MAX   1000000 /* of all tensors that are read together */
#define SKIP_BYTES ((size_t)8 << 20)

typedef struct reading {
    onnx_model *model;
    arena      *arena;
    size_t      node_room, initializer_room, input_room, output_room;
    size_t      n_parts, n_data;
    void       *map; /* the file */
    size_t      map_size, skipped;
    bool        no_memory;
    const char *too_many; /* of what; NULL: not too many */
    const char *sparse;   /* name of an initializer that is; NULL: none */
} reading;

/* A growing array inside something being read. */
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

static bool out_of_memory(reading *r)
{
    r->no_memory = true;
    return false;
}

static bool too_many(reading *r, const char *what)
{
    r->too_many = what;
    return false;
}

/* One more element at the end of *array; false when there is no room for it. */
static bool grow(reading *r, void **array, size_t n, size_t *room, size_t size)
{
    void *more;

    if (++r->n_parts > PARTS_MAX)
        return too_many(r, "4,000,000 parts");
    more = arena_grow(r->arena, *array, n, room, size);
    if (!more)
        return out_of_memory(r);
    *array = more;
    return true;
}

/* What callbacks of a field get: the reading, and where to put it. */
typedef struct target {
    reading *r;
    void    *to;
} target;

static pb_callback_t into(bool (*decode)(pb_istream_t *, const pb_field_t *, void **), target *arg)
{
    return (pb_callback_t){ .funcs.decode = decode, .arg = arg };
}

/* Leaves the rest of a field unread. Page tables fill as a file is walked through, large pages at a
 * time on some systems: they are emptied now and then, so that weights never count as memory. */
static bool skip(reading *r, pb_istream_t *stream)
{
    r->skipped += stream->bytes_left;
    if (r->skipped > SKIP_BYTES) {
        madvise(r->map, r->map_size, MADV_DONTNEED);
        r->skipped = 0;
    }
    return pb_read(stream, NULL, stream->bytes_left);
}

/* ---- texts and numbers --------------------------------------------------------------------------
 */

static bool take_text(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const target *t = *arg;
    const size_t  n = stream->bytes_left;
    char         *text;

    (void)field;
    if (n > (size_t)1 << 16)
        return too_many(t->r, "65,536 bytes in a name");
    text = arena_alloc(t->r->arena, n + 1);
    if (!text)
        return out_of_memory(t->r);
    *(const char **)t->to = text;
    return pb_read(stream, (pb_byte_t *)text, n) && !memchr(text, '\0', n);
}

static bool take_name(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const target *t    = *arg;
    text_list    *list = t->to;
    target        one  = { t->r, NULL };
    void         *to   = &one;

    if (!grow(t->r, (void **)&list->item, list->n, &list->room, sizeof *list->item))
        return false;
    one.to = &list->item[list->n++];
    return take_text(stream, field, &to);
}

static bool take_ints(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const target *t    = *arg;
    int_list     *list = t->to;

    (void)field;
    while (stream->bytes_left) {
        uint64_t value;

        if (!grow(t->r, (void **)&list->item, list->n, &list->room, sizeof *list->item) ||
            !pb_decode_varint(stream, &value))
            return false;
        list->item[list->n++] = (int64_t)value;
    }
    return true;
}

static bool take_floats(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const target *t    = *arg;
    float_list   *list = t->to;

    (void)field;
    while (stream->bytes_left) {
        if (!grow(t->r, (void **)&list->item, list->n, &list->room, sizeof *list->item) ||
            !pb_decode_fixed32(stream, &list->item[list->n]))
            return false;
        list->n++;
    }
    return true;
}

/* ---- tensors ------------------------------------------------------------------------------------
 */

/* A tensor while it is read. */
typedef struct tensor_reading {
    onnx_TensorProto *message;
    onnx_tensor      *to;
    int_list          dims;
    size_t room; /* elements there is memory for: a shape after the data changes it not */
    target name_target, dims_target, data_target;
} tensor_reading;

static bool is_integer(int32_t type)
{
    return type == ONNX_INT64 || type == ONNX_INT32 || type == ONNX_BOOL || type == ONNX_UINT8 ||
           type == ONNX_INT8;
}

/* Elements, if they are few enough to be read; else 0. Type and shape come before the data. */
static size_t elements_to_read(const tensor_reading *t, int32_t type)
{
    const uint64_t most = is_integer(type) ? INTS_MAX : FLOATS_MAX;
    uint64_t       n    = 1;

    for (size_t i = 0; i < t->dims.n; i++) {
        if (t->dims.item[i] < 0 || (uint64_t)t->dims.item[i] > most)
            return 0;
        n *= (uint64_t)t->dims.item[i];
        if (n > most)
            return 0;
    }
    return (size_t)n;
}

/* Little-endian bytes, as raw_data has them, of one element. */
static bool raw_element(pb_istream_t *stream, int32_t type, int64_t *i, float *f)
{
    uint8_t  byte;
    uint32_t word;
    uint64_t twice;
    double   real;

    switch (type) {
    case ONNX_BOOL:
    case ONNX_UINT8:
        if (!pb_read(stream, &byte, 1))
            return false;
        *i = byte;
        return true;
    case ONNX_INT8:
        if (!pb_read(stream, &byte, 1))
            return false;
        *i = (int8_t)byte;
        return true;
    case ONNX_INT32:
        if (!pb_decode_fixed32(stream, &word))
            return false;
        *i = (int32_t)word;
        return true;
    case ONNX_INT64:
        if (!pb_decode_fixed64(stream, &twice))
            return false;
        *i = (int64_t)twice;
        return true;
    case ONNX_FLOAT: return pb_decode_fixed32(stream, f);
    case ONNX_DOUBLE:
        if (!pb_decode_fixed64(stream, &real))
            return false;
        *f = (float)real;
        return true;
    default: return false;
    }
}

static bool take_raw(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const target   *t    = *arg;
    tensor_reading *own  = t->to;
    const int32_t   type = own->message->data_type;
    const bool      real = type == ONNX_FLOAT || type == ONNX_DOUBLE;
    const size_t    n    = elements_to_read(own, type);
    int64_t        *ints;
    float          *floats;

    (void)field;
    if (!n || (!real && !is_integer(type)) || (t->r->n_data += n) > DATA_MAX)
        return skip(t->r, stream);
    ints   = real ? NULL : arena_array(t->r->arena, n, sizeof *ints);
    floats = real ? arena_array(t->r->arena, n, sizeof *floats) : NULL;
    if (!ints && !floats)
        return out_of_memory(t->r);
    for (size_t i = 0; i < n; i++)
        if (!raw_element(stream, type, real ? NULL : &ints[i], real ? &floats[i] : NULL))
            return false;
    own->to->ints   = ints;
    own->to->floats = floats;
    own->to->n      = n;
    own->room       = n;
    return skip(t->r, stream);
}

/* int64_data and int32_data: varints. */
static bool take_varints(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const target   *t    = *arg;
    tensor_reading *own  = t->to;
    const size_t    n    = elements_to_read(own, own->message->data_type);
    int64_t        *ints = (int64_t *)(uintptr_t)own->to->ints;

    (void)field;
    if (!is_integer(own->message->data_type) || !n)
        return skip(t->r, stream);
    if (!ints) {
        if ((t->r->n_data += n) > DATA_MAX)
            return skip(t->r, stream);
        ints = arena_array(t->r->arena, n, sizeof *ints);
        if (!ints)
            return out_of_memory(t->r);
        own->to->ints   = ints;
        own->to->floats = NULL;
        own->to->n      = 0;
        own->room       = n;
    }
    while (stream->bytes_left) {
        uint64_t value;

        if (!pb_decode_varint(stream, &value) || own->to->n == own->room)
            return false;
        ints[own->to->n++] = (int64_t)value;
    }
    return true;
}

static bool take_float_data(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const target   *t      = *arg;
    tensor_reading *own    = t->to;
    const size_t    n      = elements_to_read(own, own->message->data_type);
    float          *floats = (float *)(uintptr_t)own->to->floats;

    (void)field;
    if (own->message->data_type != ONNX_FLOAT || !n)
        return skip(t->r, stream);
    if (!floats) {
        floats = arena_array(t->r->arena, n, sizeof *floats);
        if (!floats)
            return out_of_memory(t->r);
        own->to->floats = floats;
        own->to->ints   = NULL;
        own->to->n      = 0;
        own->room       = n;
    }
    while (stream->bytes_left)
        if (own->to->n == own->room || !pb_decode_fixed32(stream, &floats[own->to->n++]))
            return false;
    return true;
}

static bool copy_dims(const int_list *dims, onnx_shape *shape)
{
    shape->known = true;
    shape->rank  = dims->n > UINT32_MAX ? UINT32_MAX : (uint32_t)dims->n;
    for (size_t i = 0; i < dims->n; i++) {
        if (dims->item[i] < 0)
            return false;
        if (i < LM_MAX_RANK)
            shape->dim[i] = dims->item[i];
    }
    return true;
}

/* Says where the message's fields go; `own` must stay where it is until the message is decoded. */
static void prepare_tensor(reading *r, tensor_reading *own, onnx_TensorProto *message,
                           onnx_tensor *to)
{
    *to  = (onnx_tensor){ .name = "" };
    *own = (tensor_reading){ .message = message, .to = to };

    own->name_target = (target){ r, &to->name };
    own->dims_target = (target){ r, &own->dims };
    own->data_target = (target){ r, own };

    message->name       = into(take_text, &own->name_target);
    message->dims       = into(take_ints, &own->dims_target);
    message->raw_data   = into(take_raw, &own->data_target);
    message->int64_data = into(take_varints, &own->data_target);
    message->int32_data = into(take_varints, &own->data_target);
    message->float_data = into(take_float_data, &own->data_target);
}

/* Data of another length than the shape's counts as not read. */
static bool finish_tensor(tensor_reading *own)
{
    onnx_tensor *t = own->to;

    t->shape.type = own->message->data_type;
    if (!copy_dims(&own->dims, &t->shape))
        return false;
    if (t->n != elements_to_read(own, t->shape.type) || t->shape.rank > LM_MAX_RANK) {
        t->ints   = NULL;
        t->floats = NULL;
        t->n      = 0;
    }
    return true;
}

static bool take_initializer(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    reading         *r       = ((const target *)*arg)->r;
    onnx_model      *m       = r->model;
    onnx_TensorProto message = onnx_TensorProto_init_zero;
    tensor_reading   own;

    (void)field;
    if (m->n_initializers == TENSORS_MAX)
        return too_many(r, "500,000 initializers");
    if (!grow(r, (void **)&m->initializer, m->n_initializers, &r->initializer_room,
              sizeof *m->initializer))
        return false;
    prepare_tensor(r, &own, &message, &m->initializer[m->n_initializers++]);
    return pb_decode(stream, onnx_TensorProto_fields, &message) && finish_tensor(&own);
}

/* Without zeros a tensor's shape says nothing of its elements: not read, and not left out either.
 */
static bool refuse_sparse(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    reading               *r           = ((const target *)*arg)->r;
    onnx_SparseTensorProto message     = onnx_SparseTensorProto_init_zero;
    target                 name_target = { r, &r->sparse };

    (void)field;
    r->sparse           = "";
    message.values.name = into(take_text, &name_target);
    pb_decode(stream, onnx_SparseTensorProto_fields, &message);
    return false;
}

/* ---- nodes --------------------------------------------------------------------------------------
 */

typedef struct attribute_list {
    onnx_attribute *item;
    size_t          n, room;
} attribute_list;

/* Text of an attribute: what is long is no option of an operator, and skipped. */
static bool take_option(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    return stream->bytes_left > 256 ? skip(((const target *)*arg)->r, stream)
                                    : take_text(stream, field, arg);
}

static bool take_attribute(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const target       *t       = *arg;
    attribute_list     *list    = t->to;
    onnx_AttributeProto message = onnx_AttributeProto_init_zero;
    onnx_attribute      a       = { .name = "", .text = "" };
    onnx_tensor         tensor;
    tensor_reading      own;
    int_list            ints        = { NULL, 0, 0 };
    float_list          floats      = { NULL, 0, 0 };
    target              name_target = { t->r, &a.name }, text_target = { t->r, &a.text };
    target              ints_target = { t->r, &ints }, floats_target = { t->r, &floats };

    (void)field;
    if (!grow(t->r, (void **)&list->item, list->n, &list->room, sizeof *list->item))
        return false;
    prepare_tensor(t->r, &own, &message.t, &tensor);
    message.name   = into(take_text, &name_target);
    message.s      = into(take_option, &text_target);
    message.ints   = into(take_ints, &ints_target);
    message.floats = into(take_floats, &floats_target);
    if (!pb_decode(stream, onnx_AttributeProto_fields, &message))
        return false;
    a.i        = message.i;
    a.f        = message.f;
    a.ints     = ints.item;
    a.n_ints   = ints.n;
    a.floats   = floats.item;
    a.n_floats = floats.n;
    if (message.has_t) {
        if (!finish_tensor(&own))
            return false;
        a.tensor = arena_copy(t->r->arena, &tensor, 1, sizeof tensor);
        if (!a.tensor)
            return out_of_memory(t->r);
    }
    list->item[list->n++] = a;
    return true;
}

/* An operator of another domain than ONNX's own has that in its name: com.example.Relu. */
static bool name_operator(reading *r, const char *domain, const char **type)
{
    const size_t n = strlen(domain), m = strlen(*type);
    char        *full;

    if (!n || !strcmp(domain, "ai.onnx"))
        return true;
    full = arena_alloc(r->arena, n + m + 2);
    if (!full)
        return out_of_memory(r);
    memcpy(full, domain, n);
    full[n] = '.';
    memcpy(full + n + 1, *type, m);
    *type = full;
    return true;
}

static bool take_node(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    reading       *r       = ((const target *)*arg)->r;
    onnx_model    *m       = r->model;
    onnx_NodeProto message = onnx_NodeProto_init_zero;
    onnx_node      n       = { .name = "", .type = "" };
    const char    *domain  = "";
    text_list      inputs = { NULL, 0, 0 }, outputs = { NULL, 0, 0 };
    attribute_list attributes  = { NULL, 0, 0 };
    target         name_target = { r, &n.name }, type_target = { r, &n.type },
           domain_target = { r, &domain };
    target input_target = { r, &inputs }, output_target = { r, &outputs };
    target attribute_target = { r, &attributes };

    (void)field;
    if (m->n_nodes == NODES_MAX)
        return too_many(r, "200,000 nodes");
    if (!grow(r, (void **)&m->node, m->n_nodes, &r->node_room, sizeof *m->node))
        return false;
    message.name      = into(take_text, &name_target);
    message.op_type   = into(take_text, &type_target);
    message.domain    = into(take_text, &domain_target);
    message.input     = into(take_name, &input_target);
    message.output    = into(take_name, &output_target);
    message.attribute = into(take_attribute, &attribute_target);
    if (!pb_decode(stream, onnx_NodeProto_fields, &message) || !name_operator(r, domain, &n.type))
        return false;
    n.input               = inputs.item;
    n.n_inputs            = inputs.n;
    n.output              = outputs.item;
    n.n_outputs           = outputs.n;
    n.attribute           = attributes.item;
    n.n_attributes        = attributes.n;
    m->node[m->n_nodes++] = n;
    return true;
}

/* ---- inputs, outputs, the model -----------------------------------------------------------------
 */

static bool take_dimension(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const target                   *t             = *arg;
    onnx_shape                     *shape         = t->to;
    onnx_TensorShapeProto_Dimension message       = onnx_TensorShapeProto_Dimension_init_zero;
    const char                     *symbol        = NULL;
    target                          symbol_target = { t->r, &symbol };

    (void)field;
    message.dim_param = into(take_text, &symbol_target);
    if (!pb_decode(stream, onnx_TensorShapeProto_Dimension_fields, &message))
        return false;
    if (shape->rank < LM_MAX_RANK) {
        shape->dim[shape->rank]    = message.dim_value > 0 ? message.dim_value : 0;
        shape->symbol[shape->rank] = symbol;
    }
    return ++shape->rank < 1000 || too_many(t->r, "1,000 dimensions");
}

/* An input or output of the graph at the end of *list. */
static bool take_value_info(pb_istream_t *stream, reading *r, onnx_value_info **list, size_t *n,
                            size_t *room)
{
    onnx_ValueInfoProto message     = onnx_ValueInfoProto_init_zero;
    onnx_value_info     v           = { .name = "" };
    target              name_target = { r, &v.name }, shape_target = { r, &v.shape };

    if (!grow(r, (void **)list, *n, room, sizeof **list))
        return false;
    message.name = into(take_text, &name_target);

    message.type.tensor_type.shape.dim = into(take_dimension, &shape_target);
    if (!pb_decode(stream, onnx_ValueInfoProto_fields, &message))
        return false;
    v.shape.type    = message.type.tensor_type.elem_type;
    v.shape.known   = message.type.tensor_type.has_shape;
    (*list)[(*n)++] = v;
    return true;
}

static bool take_input(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    reading *r = ((const target *)*arg)->r;

    (void)field;
    return take_value_info(stream, r, &r->model->input, &r->model->n_inputs, &r->input_room);
}

static bool take_output(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    reading *r = ((const target *)*arg)->r;

    (void)field;
    return take_value_info(stream, r, &r->model->output, &r->model->n_outputs, &r->output_room);
}

static bool take_opset(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    reading                *r             = ((const target *)*arg)->r;
    onnx_OperatorSetIdProto message       = onnx_OperatorSetIdProto_init_zero;
    const char             *domain        = "";
    target                  domain_target = { r, &domain };

    (void)field;
    message.domain = into(take_text, &domain_target);
    if (!pb_decode(stream, onnx_OperatorSetIdProto_fields, &message))
        return false;
    if (!*domain || !strcmp(domain, "ai.onnx"))
        r->model->opset = message.version;
    return true;
}

static lm_status decode(reading *r, const void *bytes, size_t n, lm_error *err)
{
    const char     *path    = r->model->path;
    onnx_ModelProto message = onnx_ModelProto_init_zero;
    pb_istream_t    stream  = pb_istream_from_buffer(bytes, n);
    target          self    = { r, NULL };

    message.opset_import             = into(take_opset, &self);
    message.graph.node               = into(take_node, &self);
    message.graph.initializer        = into(take_initializer, &self);
    message.graph.sparse_initializer = into(refuse_sparse, &self);
    message.graph.input              = into(take_input, &self);
    message.graph.output             = into(take_output, &self);
    if (!pb_decode(&stream, onnx_ModelProto_fields, &message)) {
        if (r->no_memory)
            return lm_error_set(err, LM_E_NOMEM, "%s: out of memory", path);
        if (r->sparse)
            return lm_error_set(err, LM_E_UNSUPPORTED,
                                "%s: '%.80s' is a sparse initializer: export it as a dense one",
                                path, r->sparse);
        if (r->too_many)
            return lm_error_set(err, LM_E_SYNTAX, "%s: more than %s: no network", path,
                                r->too_many);
        return lm_error_set(err, LM_E_SYNTAX, "%s: not an ONNX file, or a damaged one (%s)", path,
                            PB_GET_ERROR(&stream));
    }
    if (!message.has_graph)
        return lm_error_set(err, LM_E_SYNTAX, "%s: not an ONNX file: it holds no graph", path);
    return LM_OK;
}

/* Maps a regular file that is not empty. */
static lm_status map_file(const char *path, void **out, size_t *size, lm_error *err)
{
    const int   fd     = open(path, O_RDONLY | O_CLOEXEC);
    lm_status   status = LM_OK;
    struct stat info;
    void       *bytes;

    if (fd < 0 || fstat(fd, &info)) {
        status = lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
    } else if (!S_ISREG(info.st_mode)) {
        status = lm_error_set(err, LM_E_IO, "%s: not a file", path);
    } else if (info.st_size == 0) {
        status = lm_error_set(err, LM_E_SYNTAX, "%s: not an ONNX file: it is empty", path);
    } else {
        bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED) {
            status = lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
        } else {
            madvise(bytes, (size_t)info.st_size,
                    MADV_RANDOM); /* between weights, not through them */
            *out  = bytes;
            *size = (size_t)info.st_size;
        }
    }
    if (fd >= 0)
        close(fd);
    return status;
}

lm_status onnx_read(const char *path, onnx_model **out, lm_error *err)
{
    arena      *a     = arena_new();
    onnx_model *m     = a ? arena_alloc(a, sizeof *m) : NULL;
    reading     r     = { .model = m, .arena = a };
    void       *bytes = NULL;
    size_t      size  = 0;
    lm_status   status;

    if (!m || !(m->path = arena_text(a, path, strlen(path)))) {
        arena_free(a);
        return lm_error_set(err, LM_E_NOMEM, "%s: out of memory", path);
    }
    m->arena = a;
    status   = map_file(path, &bytes, &size, err);
    if (!status) {
        r.map      = bytes;
        r.map_size = size;
        status     = decode(&r, bytes, size, err);
        munmap(bytes, size);
    }
    if (status) {
        arena_free(a);
        return status;
    }
    *out = m;
    return LM_OK;
}

void onnx_model_free(onnx_model *model)
{
    if (model)
        arena_free(model->arena);
}

const onnx_attribute *onnx_attribute_of(const onnx_node *node, const char *name)
{
    for (size_t i = 0; i < node->n_attributes; i++)
        if (!strcmp(node->attribute[i].name, name))
            return &node->attribute[i];
    return NULL;
}
