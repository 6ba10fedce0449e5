/* Reads a file into plain structs. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/names.h"
#include "base/no_memory.h"
#include "onnx/wire.h"

/* Limits of a file. Large networks stay far below; a hostile file cannot pass them. */
#define NODES_MAX   200000
#define TENSORS_MAX 500000

/* ---- nodes ----------------------------------------------------------------------------------- */

typedef struct attribute_list {
    onnx_attribute *item;
    size_t          n, room;
} attribute_list;

/* Reads the text of an attribute. Skips a long text: it is no option of an operator. */
static bool take_option(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    return stream->bytes_left > 256 ? wire_skip(((const wire_target *)*arg)->r, stream)
                                    : wire_text(stream, field, arg);
}

#define GRAPHS_WITHIN 16

static wire_callback take_node, take_initializer;

static bool take_output_name(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const wire_target  *t           = *arg;
    text_list          *list        = t->to;
    onnx_ValueInfoProto message     = onnx_ValueInfoProto_init_zero;
    const char         *name        = "";
    wire_target         name_target = { t->r, &name };

    (void)field;
    if (!wire_grow(t->r, (void **)&list->item, list->n, &list->room, sizeof *list->item))
        return false;
    message.name = wire_into(wire_text, &name_target);
    if (!pb_decode(stream, onnx_ValueInfoProto_fields, &message))
        return false;
    list->item[list->n++] = name;
    return true;
}

/* Renames a tensor of the second branch; false: no memory. */
static bool rename_own(reading *r, const names *own, const char **name)
{
    const size_t n = strlen(*name);
    char        *other;

    if (names_find(own, *name) == NAMES_NONE)
        return true;
    if (!(other = arena_alloc(r->arena, n + sizeof "@else")))
        return wire_no_memory(r);
    memcpy(other, *name, n);
    memcpy(other + n, "@else", sizeof "@else");
    *name = other;
    return true;
}

/* Both branches may use the same names: tensors of the second get other ones. */
static bool rename_branch(reading *r, size_t first_node, size_t first_tensor, text_list *outputs)
{
    onnx_model *m    = r->model;
    names       own  = { NULL, 0, 0 };
    bool        fine = true;

    for (size_t i = first_node; i < m->n_nodes; i++)
        for (size_t k = 0; k < m->node[i].n_outputs && fine; k++)
            fine = !*m->node[i].output[k] || names_set(&own, m->node[i].output[k], i);
    for (size_t i = first_tensor; i < m->n_initializers && fine; i++)
        fine = names_set(&own, m->initializer[i].name, i);
    for (size_t i = first_node; i < m->n_nodes && fine; i++) {
        for (size_t k = 0; k < m->node[i].n_outputs && fine; k++)
            fine = rename_own(r, &own, &m->node[i].output[k]);
        for (size_t k = 0; k < m->node[i].n_inputs && fine; k++)
            fine = rename_own(r, &own, &m->node[i].input[k]);
    }
    for (size_t i = first_tensor; i < m->n_initializers && fine; i++)
        fine = rename_own(r, &own, &m->initializer[i].name);
    for (size_t i = 0; i < outputs->n && fine; i++)
        fine = rename_own(r, &own, &outputs->item[i]);
    names_free(&own);
    return fine || wire_no_memory(r);
}

/* The model's nodes, set aside while the nodes of a body are read. */
typedef struct nodes_aside {
    onnx_node         *node;
    size_t             n, room;
    const onnx_branch *branch;
} nodes_aside;

static nodes_aside put_aside(reading *r)
{
    onnx_model       *m    = r->model;
    const nodes_aside were = { m->node, m->n_nodes, r->node_room, r->branch };

    m->node      = NULL;
    m->n_nodes   = 0;
    r->node_room = 0;
    r->branch    = NULL;
    return were;
}

static void put_back(reading *r, const nodes_aside *were, onnx_body *body)
{
    onnx_model *m = r->model;

    body->node    = m->node;
    body->n_nodes = m->n_nodes;
    m->node       = were->node;
    m->n_nodes    = were->n;
    r->node_room  = were->room;
    r->branch     = were->branch;
}

/* Reads the body of a loop. Its initializers go into the model: all steps share them. */
static bool take_body(reading *r, pb_istream_t *stream, onnx_attribute *a)
{
    onnx_GraphProto   message = onnx_GraphProto_init_zero;
    text_list         inputs = { NULL, 0, 0 }, outputs = { NULL, 0, 0 };
    wire_target       self         = { r, NULL };
    wire_target       input_target = { r, &inputs }, output_target = { r, &outputs };
    const nodes_aside were = put_aside(r);
    bool              fine;

    if (++r->depth == GRAPHS_WITHIN)
        return wire_too_many(r, "16 loops within each other");
    if (!(a->body = arena_alloc(r->arena, sizeof *a->body)))
        return wire_no_memory(r);
    message.node        = wire_into(take_node, &self);
    message.initializer = wire_into(take_initializer, &self);
    message.input       = wire_into(take_output_name, &input_target);
    message.output      = wire_into(take_output_name, &output_target);
    fine                = pb_decode(stream, onnx_GraphProto_fields, &message);
    put_back(r, &were, a->body);
    a->body->input     = inputs.item;
    a->body->n_inputs  = inputs.n;
    a->body->output    = outputs.item;
    a->body->n_outputs = outputs.n;
    r->depth--;
    return fine;
}

/* Reads a graph: the branch of an If, whose nodes go into the model, or the body of a loop. Skips
 * graphs of other operators. */
static bool take_graph(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const wire_target *t       = *arg;
    reading           *r       = t->r;
    onnx_attribute    *a       = t->to;
    const onnx_branch *outer   = r->branch;
    onnx_GraphProto    message = onnx_GraphProto_init_zero;
    text_list          outputs = { NULL, 0, 0 };
    wire_target        self = { r, NULL }, output_target = { r, &outputs };
    const size_t       n = r->model->n_nodes, n_tensors = r->model->n_initializers;
    size_t             depth = 0;

    (void)field;
    if (!strcmp(a->name, "body"))
        return take_body(r, stream, a);
    if (strcmp(a->name, "then_branch") != 0 && strcmp(a->name, "else_branch") != 0)
        return wire_skip(r, stream);
    for (const onnx_branch *b = outer; b; b = b->outer)
        if (++depth == GRAPHS_WITHIN)
            return wire_too_many(r, "16 branches within each other");
    if (!(a->branch = arena_alloc(r->arena, sizeof *a->branch)))
        return wire_no_memory(r);
    *a->branch          = (onnx_branch){ outer, "", *a->name == 't', NULL, 0 };
    r->branch           = a->branch;
    message.node        = wire_into(take_node, &self);
    message.initializer = wire_into(take_initializer, &self);
    message.output      = wire_into(take_output_name, &output_target);
    if (!pb_decode(stream, onnx_GraphProto_fields, &message))
        return false;
    if (!a->branch->then && !rename_branch(r, n, n_tensors, &outputs))
        return false;
    r->branch            = outer;
    a->branch->output    = outputs.item;
    a->branch->n_outputs = outputs.n;
    return true;
}

static bool take_attribute(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const wire_target  *t       = *arg;
    attribute_list     *list    = t->to;
    onnx_AttributeProto message = onnx_AttributeProto_init_zero;
    onnx_attribute      a       = { .name = "", .from = "", .text = "" };
    onnx_tensor         tensor;
    tensor_reading      own;
    int_list            ints        = { NULL, 0, 0 };
    float_list          floats      = { NULL, 0, 0 };
    wire_target         name_target = { t->r, &a.name }, text_target = { t->r, &a.text };
    wire_target         ints_target = { t->r, &ints }, floats_target = { t->r, &floats };
    wire_target         graph_target = { t->r, &a }, from_target = { t->r, &a.from };

    (void)field;
    if (!wire_grow(t->r, (void **)&list->item, list->n, &list->room, sizeof *list->item))
        return false;
    tensor_prepare(t->r, &own, &message.t, &tensor);
    message.name   = wire_into(wire_text, &name_target);
    message.s      = wire_into(take_option, &text_target);
    message.ints   = wire_into(wire_ints, &ints_target);
    message.floats = wire_into(wire_floats, &floats_target);
    message.g      = wire_into(take_graph, &graph_target);

    message.ref_attr_name = wire_into(wire_text, &from_target);
    if (!pb_decode(stream, onnx_AttributeProto_fields, &message))
        return false;
    a.i        = message.i;
    a.f        = message.f;
    a.ints     = ints.item;
    a.n_ints   = ints.n;
    a.floats   = floats.item;
    a.n_floats = floats.n;
    if (message.has_t) {
        if (!tensor_finish(&own))
            return false;
        a.tensor = arena_copy(t->r->arena, &tensor, 1, sizeof tensor);
        if (!a.tensor)
            return wire_no_memory(t->r);
    }
    list->item[list->n++] = a;
    return true;
}

/* Puts the domain in front of an operator's name if it is not ONNX's: com.example.Relu. */
static bool name_operator(reading *r, const char *domain, const char **type)
{
    const size_t n = strlen(domain), m = strlen(*type);
    char        *full;

    if (!n || !strcmp(domain, "ai.onnx"))
        return true;
    full = arena_alloc(r->arena, n + m + 2);
    if (!full)
        return wire_no_memory(r);
    memcpy(full, domain, n);
    full[n] = '.';
    memcpy(full + n + 1, *type, m);
    *type = full;
    return true;
}

/* Makes the outputs of both branches inputs of the If, behind its condition. False if their numbers
 * differ from the If's outputs, or a branch is missing. */
static bool join_branches(reading *r, text_list *inputs, size_t n_outputs,
                          const attribute_list *attributes)
{
    onnx_branch *branch[2] = { NULL, NULL };

    for (size_t i = 0; i < attributes->n; i++)
        if (attributes->item[i].branch)
            branch[!attributes->item[i].branch->then] = attributes->item[i].branch;
    if (!branch[0] || !branch[1] || inputs->n != 1)
        return false;
    for (size_t k = 0; k < 2; k++) {
        if (branch[k]->n_outputs != n_outputs)
            return false;
        branch[k]->condition = inputs->item[0];
        for (size_t i = 0; i < n_outputs; i++) {
            if (!wire_grow(r, (void **)&inputs->item, inputs->n, &inputs->room,
                           sizeof *inputs->item))
                return false;
            inputs->item[inputs->n++] = branch[k]->output[i];
        }
    }
    return true;
}

static bool take_node(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    reading       *r       = ((const wire_target *)*arg)->r;
    onnx_model    *m       = r->model;
    onnx_NodeProto message = onnx_NodeProto_init_zero;
    onnx_node      n       = { .name = "", .type = "" };
    const char    *domain  = "";
    text_list      inputs = { NULL, 0, 0 }, outputs = { NULL, 0, 0 };
    attribute_list attributes  = { NULL, 0, 0 };
    wire_target    name_target = { r, &n.name }, type_target = { r, &n.type },
                domain_target = { r, &domain };
    wire_target input_target = { r, &inputs }, output_target = { r, &outputs };
    wire_target attribute_target = { r, &attributes };
    node_source source           = { .r = r };
    wire_target source_target    = { r, &source };

    (void)field;
    message.metadata_props = wire_into(wire_source, &source_target);
    message.name           = wire_into(wire_text, &name_target);
    message.op_type        = wire_into(wire_text, &type_target);
    message.domain         = wire_into(wire_text, &domain_target);
    message.input          = wire_into(wire_names, &input_target);
    message.output         = wire_into(wire_names, &output_target);
    message.attribute      = wire_into(take_attribute, &attribute_target);
    if (!pb_decode(stream, onnx_NodeProto_fields, &message) || !name_operator(r, domain, &n.type))
        return false;
    if (!strcmp(n.type, "If") && !join_branches(r, &inputs, outputs.n, &attributes))
        return false;
    if (m->n_nodes == NODES_MAX)
        return wire_too_many(r, "200,000 nodes");
    if (!wire_grow(r, (void **)&m->node, m->n_nodes, &r->node_room, sizeof *m->node))
        return false;
    n.branch              = r->branch;
    n.of_code             = source.told && !source.has[SOURCE_PARAMETER];
    n.of_norm             = source.has[SOURCE_NORM];
    n.input               = inputs.item;
    n.n_inputs            = inputs.n;
    n.output              = outputs.item;
    n.n_outputs           = outputs.n;
    n.attribute           = attributes.item;
    n.n_attributes        = attributes.n;
    m->node[m->n_nodes++] = n;
    return true;
}

/* ---- initializers ---------------------------------------------------------------------------- */

static bool take_initializer(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    reading         *r       = ((const wire_target *)*arg)->r;
    onnx_model      *m       = r->model;
    onnx_TensorProto message = onnx_TensorProto_init_zero;
    tensor_reading   own;

    (void)field;
    if (m->n_initializers == TENSORS_MAX)
        return wire_too_many(r, "500,000 initializers");
    if (!wire_grow(r, (void **)&m->initializer, m->n_initializers, &r->initializer_room,
                   sizeof *m->initializer))
        return false;
    tensor_prepare(r, &own, &message, &m->initializer[m->n_initializers++]);
    return pb_decode(stream, onnx_TensorProto_fields, &message) && tensor_finish(&own);
}

/* Notes a sparse initializer, which is refused. */
static bool refuse_sparse(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    reading               *r           = ((const wire_target *)*arg)->r;
    onnx_SparseTensorProto message     = onnx_SparseTensorProto_init_zero;
    wire_target            name_target = { r, &r->sparse };

    (void)field;
    r->sparse           = "";
    message.values.name = wire_into(wire_text, &name_target);
    pb_decode(stream, onnx_SparseTensorProto_fields, &message);
    return false;
}

/* ---- inputs, outputs, the model -------------------------------------------------------------- */

static bool take_dimension(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const wire_target              *t             = *arg;
    onnx_shape                     *shape         = t->to;
    onnx_TensorShapeProto_Dimension message       = onnx_TensorShapeProto_Dimension_init_zero;
    const char                     *symbol        = NULL;
    wire_target                     symbol_target = { t->r, &symbol };

    (void)field;
    message.dim_param = wire_into(wire_text, &symbol_target);
    if (!pb_decode(stream, onnx_TensorShapeProto_Dimension_fields, &message))
        return false;
    if (shape->rank < LM_MAX_RANK) {
        shape->dim[shape->rank]    = message.dim_value > 0 ? message.dim_value : 0;
        shape->symbol[shape->rank] = symbol;
    }
    return ++shape->rank < 1000 || wire_too_many(t->r, "1,000 dimensions");
}

/* Inputs or outputs of the graph. */
typedef struct value_list {
    onnx_value_info **item;
    size_t           *n, room;
} value_list;

static bool take_value_info(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const wire_target  *t           = *arg;
    value_list         *list        = t->to;
    onnx_ValueInfoProto message     = onnx_ValueInfoProto_init_zero;
    onnx_value_info     v           = { .name = "" };
    wire_target         name_target = { t->r, &v.name }, shape_target = { t->r, &v.shape };

    (void)field;
    if (!wire_grow(t->r, (void **)list->item, *list->n, &list->room, sizeof **list->item))
        return false;
    message.name = wire_into(wire_text, &name_target);

    message.type.tensor_type.shape.dim = wire_into(take_dimension, &shape_target);
    if (!pb_decode(stream, onnx_ValueInfoProto_fields, &message))
        return false;
    v.shape.type  = message.type.tensor_type.elem_type;
    v.shape.known = message.type.tensor_type.has_shape;

    (*list->item)[(*list->n)++] = v;
    return true;
}

static bool take_opset(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    reading                *r             = ((const wire_target *)*arg)->r;
    onnx_OperatorSetIdProto message       = onnx_OperatorSetIdProto_init_zero;
    const char             *domain        = "";
    wire_target             domain_target = { r, &domain };

    (void)field;
    message.domain = wire_into(wire_text, &domain_target);
    if (!pb_decode(stream, onnx_OperatorSetIdProto_fields, &message))
        return false;
    if (!*domain || !strcmp(domain, "ai.onnx"))
        r->model->opset = message.version;
    return true;
}

typedef struct function_list {
    onnx_function *item;
    size_t         n, room;
} function_list;

static bool take_function(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    const wire_target *t       = *arg;
    function_list     *list    = t->to;
    onnx_FunctionProto message = onnx_FunctionProto_init_zero;
    onnx_function      f       = { .type = "" };
    const char        *domain  = "";
    text_list          inputs = { NULL, 0, 0 }, outputs = { NULL, 0, 0 };
    attribute_list     attributes  = { NULL, 0, 0 };
    wire_target        name_target = { t->r, &f.type }, domain_target = { t->r, &domain };
    wire_target        self = { t->r, NULL }, attribute_target = { t->r, &attributes };
    wire_target        input_target = { t->r, &inputs }, output_target = { t->r, &outputs };
    const nodes_aside  were = put_aside(t->r);
    bool               fine;

    (void)field;
    message.name            = wire_into(wire_text, &name_target);
    message.domain          = wire_into(wire_text, &domain_target);
    message.input           = wire_into(wire_names, &input_target);
    message.output          = wire_into(wire_names, &output_target);
    message.node            = wire_into(take_node, &self);
    message.attribute_proto = wire_into(take_attribute, &attribute_target);
    fine                    = pb_decode(stream, onnx_FunctionProto_fields, &message);
    put_back(t->r, &were, &f.body);
    if (!fine || !name_operator(t->r, domain, &f.type) ||
        !wire_grow(t->r, (void **)&list->item, list->n, &list->room, sizeof *list->item))
        return false;
    f.body.input          = inputs.item;
    f.body.n_inputs       = inputs.n;
    f.body.output         = outputs.item;
    f.body.n_outputs      = outputs.n;
    f.body.attribute      = attributes.item;
    f.body.n_attributes   = attributes.n;
    list->item[list->n++] = f;
    return true;
}

static lm_status decode(reading *r, const void *bytes, size_t n, lm_error *err)
{
    const char     *path         = r->model->path;
    onnx_ModelProto message      = onnx_ModelProto_init_zero;
    pb_istream_t    stream       = pb_istream_from_buffer(bytes, n);
    wire_target     self         = { r, NULL };
    value_list      inputs       = { &r->model->input, &r->model->n_inputs, 0 };
    value_list      outputs      = { &r->model->output, &r->model->n_outputs, 0 };
    value_list      inner        = { &r->model->inner, &r->model->n_inner, 0 };
    wire_target     input_target = { r, &inputs }, output_target = { r, &outputs };
    function_list   functions    = { NULL, 0, 0 };
    wire_target     inner_target = { r, &inner }, function_target = { r, &functions };

    message.opset_import             = wire_into(take_opset, &self);
    message.graph.node               = wire_into(take_node, &self);
    message.graph.initializer        = wire_into(take_initializer, &self);
    message.graph.sparse_initializer = wire_into(refuse_sparse, &self);
    message.graph.input              = wire_into(take_value_info, &input_target);
    message.graph.output             = wire_into(take_value_info, &output_target);
    message.graph.value_info         = wire_into(take_value_info, &inner_target);
    message.functions                = wire_into(take_function, &function_target);
    if (!pb_decode(&stream, onnx_ModelProto_fields, &message)) {
        if (r->no_memory)
            return no_memory(err);
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
    r->model->function    = functions.item;
    r->model->n_functions = functions.n;
    if (!message.has_graph)
        return lm_error_set(err, LM_E_SYNTAX, "%s: not an ONNX file: it holds no graph", path);
    return LM_OK;
}

/* Maps a regular, non-empty file. */
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
                    MADV_RANDOM); /* reads between weights, not weights */
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
        return no_memory(err);
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
