/* Adds layers: infers them in all lanes, then adds them with their inputs and weights. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "network/layer.h"
#include "onnx/import.h"

#define DEPTH_MAX 32 /* most steps in a chain of lazy layers */

recipe recipe_of(const char *type)
{
    return (recipe){ .type = type };
}

void recipe_set(recipe *r, const char *key, const char *fmt, ...)
{
    recipe_key *k = &r->key[r->n++];
    va_list     args;

    k->key = key;
    va_start(args, fmt);
    vsnprintf(k->text, sizeof k->text, fmt, args);
    va_end(args);
}

void recipe_list(recipe *r, const char *key, const int64_t *item, size_t n, bool fold)
{
    char text[sizeof r->key->text] = "";
    bool same                      = fold;

    for (size_t i = 1; i < n; i++)
        same &= item[i] == item[0];
    for (size_t i = 0; i < (same && n ? 1 : n); i++)
        text_add(text, sizeof text, "%s%lld", i ? "," : "", (long long)item[i]);
    recipe_set(r, key, "%s", text);
}

const char *node_label(const onnx_node *node)
{
    return *node->name || !node->n_outputs ? node->name : node->output[0];
}

lm_status node_fail(importer *im, lm_status status, const char *fmt, ...)
{
    char    text[400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return lm_error_set(im->err, status, "%s: node '%.80s' (%.40s): %s", im->model->path,
                        im->node ? node_label(im->node) : "", im->node ? im->node->type : "", text);
}

/* ---- inference ---- */

/* The recipe as a declared layer. */
static net_layer declared(const recipe *r, net_pair *pair)
{
    for (size_t i = 0; i < r->n; i++)
        pair[i] = (net_pair){ r->key[i].key, r->key[i].text, 0 };
    return (net_layer){ .name = "", .type = r->type, .pair = pair, .n_pairs = r->n };
}

/* Infers the output shapes of a layer in one lane. */
static lm_status infer_lane(importer *im, const registry_entry *entry, const lm_value *param,
                            int lane, value *const *in, size_t n_in, lm_tensor *output)
{
    lm_tensor  input[INPUTS_MAX];
    host_layer view;

    for (size_t i = 0; i < n_in; i++)
        input[i] = in[i]->shape[lane];
    view = layer_view(entry, "", param, input, (uint32_t)n_in, LM_F32, im->err);
    return layer_infer(entry, &view, output);
}

/* The dimension that differs between the file's lane and the batch's lane; -1: none. */
static int varying_axis(const value *v)
{
    for (uint32_t d = 0; d < v->shape[LANE_FILE].rank; d++)
        if (v->shape[LANE_FILE].dim[d] != v->shape[LANE_BATCH].dim[d])
            return (int)d;
    return -1;
}

/* Finds the position of the batch within its dimension: that of the input with the batch. */
static void find_batch(const importer *im, value *out, value *const *in, size_t n_in)
{
    out->batch_axis  = im->alive[LANE_BATCH] ? varying_axis(out) : -1;
    out->batch_outer = 1;
    for (size_t i = 0; i < n_in && out->batch_axis >= 0; i++)
        if (in[i]->batch_axis >= 0 && in[i]->shape[LANE_FILE].dim[in[i]->batch_axis] ==
                                          out->shape[LANE_FILE].dim[out->batch_axis]) {
            out->batch_outer = in[i]->batch_outer;
            return;
        }
}

/* The largest weight behind data that depend on no sample. */
static value *weight_behind(value *const *in, size_t n)
{
    value *found = NULL;

    for (size_t i = 0; i < n; i++) {
        value *w = in[i]->role == ROLE_PARAMETER && in[i]->n_origins == 1 ? in[i]->origin[0]
                   : in[i]->role == ROLE_DATA                             ? in[i]->of_weight
                                                                          : NULL;

        if (!w && in[i]->role != ROLE_CONSTANT)
            return NULL;
        if (w && (!found || value_elements(w, LANE_FILE) > value_elements(found, LANE_FILE)))
            found = w;
    }
    return found;
}

static lm_status infer_lanes(importer *im, const recipe *r, const registry_entry *entry,
                             value *const *in, size_t n_in, value **out, uint64_t *weights)
{
    net_pair   pair[8];
    net_layer  decl = declared(r, pair);
    lm_tensor  output[LM_MAX_RANK], input[INPUTS_MAX];
    lm_value  *param;
    host_sink  sink = host_sink_make(im->arena, im->err);
    host_layer view;
    lm_status  status;
    int        line;

    *weights = 0;
    if ((status = layer_check_inputs(entry, n_in, im->err)) ||
        (status = layer_params(entry, &decl, im->arena, &param, &line, im->err)))
        goto out;
    for (uint32_t k = 0; k < entry->type.n_outputs; k++)
        if (!(out[k] = value_new(im, ROLE_DATA))) {
            status = im->status;
            goto out;
        }
    for (int lane = 0; lane < N_LANES; lane++) {
        if (!im->alive[lane]) {
            for (uint32_t k = 0; k < entry->type.n_outputs; k++)
                out[k]->shape[lane] = out[k]->shape[LANE_FILE];
            continue;
        }
        status = infer_lane(im, entry, param, lane, in, n_in, output);
        if (status && lane == LANE_FILE)
            goto out;
        if (status) {
            lane_drop(im, lane);
            lane--; /* again, as a lane given up */
            continue;
        }
        for (uint32_t k = 0; k < entry->type.n_outputs; k++)
            out[k]->shape[lane] = output[k];
    }
    for (size_t i = 0; i < n_in; i++)
        input[i] = in[i]->shape[LANE_FILE];
    for (uint32_t k = 0; k < entry->type.n_outputs; k++)
        output[k] = out[k]->shape[LANE_FILE];
    view              = layer_view(entry, "", param, input, (uint32_t)n_in, LM_F32, im->err);
    view.layer.output = output;
    status            = layer_weights(entry, &view, &sink);
    for (size_t i = 0; i < sink.n_weights && !status; i++)
        if (!(sink.weight[i].flags & LM_FROZEN))
            *weights = lm_add(*weights, lm_elements(&sink.weight[i].tensor));
    for (uint32_t k = 0; k < entry->type.n_outputs; k++) {
        find_batch(im, out[k], in, n_in);
        out[k]->of_weight = weight_behind(in, n_in);
    }
out:
    host_sink_free(&sink);
    return status;
}

/* ---- parameters ---- */

/* An eval export transposes a weight for each call of its module and names each copy anew, but
 * stores the bias once. So two layers are one module called twice if they share some tensors by
 * name, and their other tensors have the same shapes and no module's name. The tensors of the
 * first call then serve both. */
static bool called_again(importer *im, size_t layer, value *const *weight, size_t n)
{
    const value *shared = NULL;

    for (size_t i = 0; i < n; i++)
        if (weight[i]->n_origins != 1)
            return false;
        else if (weight[i]->origin[0]->owned)
            shared = weight[i]->origin[0];
    if (!shared || shared->owner == layer || shared->n_group != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const value *first = shared->group[i], *own = weight[i]->origin[0];

        if (own == first)
            continue;
        if (own->owned || names_a_module(own->name) || names_a_module(first->name) ||
            memcmp(&own->shape[LANE_FILE], &first->shape[LANE_FILE], sizeof own->shape[0]) != 0)
            return false;
    }
    for (size_t i = 0; i < n; i++) {
        value *own = weight[i]->origin[0];

        im->again += !own->owned;
        own->owned = true;
        own->owner = shared->owner;
    }
    build_shares(im->build, layer, shared->owner);
    return true;
}

/* Makes the layer the owner of tensors without owner, and lets it share the others. */
static lm_status own_weights(importer *im, size_t layer, const recipe *r, value *const *weight,
                             size_t n, uint64_t wanted)
{
    uint64_t elements = 0;
    value  **group    = NULL;
    bool     one_each = true;

    for (size_t i = 0; i < n; i++)
        elements = lm_add(elements, value_elements(weight[i], LANE_FILE));
    if (elements != wanted)
        return node_fail(im, LM_E_UNSUPPORTED,
                         "its weights have %llu elements, but a layer of type '%s' would have %llu",
                         (unsigned long long)elements, r->type, (unsigned long long)wanted);
    if (n > 1 && called_again(im, layer, weight, n))
        return LM_OK;
    for (size_t i = 0; i < n; i++) /* sharing needs one origin for each weight */
        one_each &= weight[i]->n_origins == 1;
    if (n > 1 && one_each) {
        group = arena_array(im->arena, n, sizeof *group);
        if (!group)
            return no_memory(im->err);
        for (size_t i = 0; i < n; i++)
            group[i] = weight[i]->origin[0];
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t whole = 0;

        for (size_t k = 0; k < weight[i]->n_origins; k++)
            whole = lm_add(whole, value_elements(weight[i]->origin[k], LANE_FILE));
        if (whole > value_elements(weight[i], LANE_FILE)) { /* in_proj_weight of cross attention */
            im->parts += !weight[i]->origin[0]->in_parts;
            weight[i]->origin[0]->in_parts = true;
            im->params = lm_add(im->params, value_elements(weight[i], LANE_FILE));
            continue;
        }
        for (size_t k = 0; k < weight[i]->n_origins; k++) {
            value *o = weight[i]->origin[k];

            if (o->owned) {
                if (o->owner == layer)
                    return node_fail(im, LM_E_UNSUPPORTED,
                                     "two of its weights are one tensor, '%.60s'", o->name);
                build_shares(im->build, layer, o->owner);
                continue;
            }
            o->owned   = true;
            o->owner   = layer;
            o->group   = group;
            o->n_group = group ? n : 0;
            im->params = lm_add(im->params, value_elements(o, LANE_FILE));
        }
    }
    return LM_OK;
}

/* ---- names ---- */

bool names_a_module(const char *name)
{
    return strchr(name, '.') && !strchr(name, ':') && !strchr(name, '/');
}

/* "/layer1/layer1.0/conv1/Conv" becomes "layer1.0.conv1": the scope of a Sequential repeats its
 * parent's. */
static void module_path(const char *node, char *buffer, size_t size)
{
    const char *last = node;
    size_t      n = 0, last_n = 0, kept = 0;

    buffer[0] = '\0';
    for (const char *p = node + 1, *end; (end = strchr(p, '/')); p = end + 1) {
        const size_t m = (size_t)(end - p);

        if (last_n && m > last_n && !strncmp(p, last, last_n) && p[last_n] == '.')
            n = kept; /* replaces the previous one */
        kept = n;
        if (n + m + 2 > size)
            break;
        n += (size_t)snprintf(buffer + n, size - n, "%s%.*s", n ? "." : "", (int)m, p);
        last   = p;
        last_n = m;
    }
}

static void lower_case(char *text)
{
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z')
            *text = (char)(*text - 'A' + 'a');
}

/* Name for a layer of the node being converted. */
static void layer_name(const importer *im, const recipe *r, value *const *weight, size_t n_weights,
                       char *buffer, size_t size)
{
    const onnx_node      *node       = im->node;
    const registry_entry *entry      = registry_find(im->reg, r->type);
    const bool            functional = entry && (entry->type.flags & LM_FUNCTIONAL);
    char                  path[160]  = "";

    for (size_t i = 0; i < n_weights; i++)
        for (size_t k = 0; k < weight[i]->n_origins; k++) {
            const char *name = weight[i]->origin[k]->name;

            if (names_a_module(name)) {
                snprintf(buffer, size, "%.*s", (int)(strrchr(name, '.') - name), name);
                return;
            }
        }
    if (node && *node->name == '/') {
        module_path(node->name, path, sizeof path);
        if (*path && !functional)
            snprintf(buffer, size, "%s", path);
        else
            snprintf(buffer, size, "%s%s%s", path, *path ? "." : "", r->type);
        return;
    }
    if (node && *node->name && strstr(node->name, node->type)) {
        snprintf(buffer, size, "%s", node->name);
        lower_case(buffer);
        return;
    }
    snprintf(buffer, size, "%s", r->type);
}

/* ---- layers ---- */

static lm_status place(importer *im, const recipe *r, const registry_entry *entry, const char *name,
                       value *const *in, size_t n_in, value **out, size_t *layer)
{
    net_edge  edge[INPUTS_MAX];
    lm_status status;

    for (size_t i = 0; i < n_in; i++)
        if ((status = materialise(im, in[i], &edge[i])))
            return status;
    *layer = build_layer(im->build, name, entry->type.name);
    for (size_t i = 0; i < r->n; i++)
        build_key(im->build, *layer, r->key[i].key, "%s", r->key[i].text);
    for (size_t i = 0; i < n_in; i++)
        build_input(im->build, *layer, edge[i]);
    for (uint32_t k = 0; k < entry->type.n_outputs; k++) {
        out[k]->placed = true;
        out[k]->edge   = (net_edge){ *layer, k };
    }
    return LM_OK;
}

/* The refusal of a layer type, as an error of the node. */
static lm_status refused(importer *im, const recipe *r, lm_status status)
{
    char text[sizeof im->err->text];

    snprintf(text, sizeof text, "%s", im->err->text);
    return im->status ? im->status : node_fail(im, status, "%s: %s", r->type, text);
}

lm_status emit(importer *im, const recipe *r, value *const *in, size_t n_in, value *const *weight,
               size_t n_weights, value **out)
{
    const registry_entry *entry;
    uint64_t              weights;
    size_t                layer;
    char                  name[160];
    lm_status             status = registry_need(im->reg, r->type, &entry, im->err);

    if (!status && n_in > INPUTS_MAX)
        return node_fail(im, LM_E_UNSUPPORTED, "more than %d inputs", INPUTS_MAX);
    if (!status)
        status = infer_lanes(im, r, entry, in, n_in, out, &weights);
    if (status)
        return refused(im, r, status);
    if (im->virtual) {
        for (uint32_t k = 0; k < entry->type.n_outputs; k++)
            out[k]->role = ROLE_CONSTANT;
        return LM_OK;
    }
    layer_name(im, r, weight, n_weights, name, sizeof name);
    status = place(im, r, entry, name, in, n_in, out, &layer);
    return status ? status : own_weights(im, layer, r, weight, n_weights, weights);
}

lm_status emit_one(importer *im, const recipe *r, value *in, value **out)
{
    return emit(im, r, &in, 1, NULL, 0, out);
}

/* Does the second layer undo the first one? */
static bool undoes(const recipe *first, const recipe *second)
{
    const char *a = first->key[0].text, *b = second->key[0].text;

    if ((!strcmp(first->type, "unsqueeze") && !strcmp(second->type, "squeeze")) ||
        (!strcmp(first->type, "squeeze") && !strcmp(second->type, "unsqueeze")))
        return !strcmp(a, b);
    if (!strcmp(first->type, "permute") && !strcmp(second->type, "permute")) {
        /* "2,0,1": single digits at even places; place p of one goes to place b[a[p]] */
        const size_t n = strlen(a);

        if (strlen(b) != n)
            return false;
        for (size_t i = 0; i < n; i += 2)
            if (a[i] < '0' || a[i] > '7' || (size_t)(a[i] - '0') * 2 >= n || b[i] < '0' ||
                (size_t)(b[i] - '0') * 2 >= n || (size_t)(a[(b[i] - '0') * 2] - '0') * 2 != i)
                return false;
        return true;
    }
    return false;
}

lm_status emit_lazy(importer *im, const recipe *r, value *in, value **out)
{
    const registry_entry *entry;
    uint64_t              weights;
    recipe               *kept;
    lm_status             status;

    if (im->virtual || in->depth >= DEPTH_MAX)
        return emit_one(im, r, in, out);
    if (in->lazy && undoes(in->lazy, r)) {
        *out = in->source;
        return LM_OK;
    }
    if ((status = registry_need(im->reg, r->type, &entry, im->err)))
        return status;
    if ((status = infer_lanes(im, r, entry, &in, 1, out, &weights)))
        return refused(im, r, status);
    kept = arena_copy(im->arena, r, 1, sizeof *r);
    if (!kept)
        return no_memory(im->err);
    (*out)->lazy   = kept;
    (*out)->source = in;
    (*out)->node   = im->node;
    (*out)->depth  = in->depth + 1;
    return LM_OK;
}

/* ---- values without a taker so far ---- */

/* A layer without inputs: a parameter or a constant of these dimensions. */
static lm_status place_source(importer *im, const char *type, const lm_tensor *t, value *v)
{
    recipe                r         = recipe_of(type);
    char                  text[160] = "1";
    size_t                used      = 0, layer;
    const uint32_t        from      = v->batch_axis == 0 ? 1 : 0; /* `expand` adds the batch */
    const registry_entry *entry;
    lm_status             status = registry_need(im->reg, type, &entry, im->err);

    if (status)
        return status;
    for (uint32_t d = from; d < t->rank; d++) {
        if (t->dim[d] < 1)
            return node_fail(im, LM_E_UNSUPPORTED, "it takes an empty tensor, '%.60s'", v->name);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", used ? "x" : "",
                                 (long long)t->dim[d]);
    }
    recipe_set(&r, "shape", "%s", text);
    if (from)
        recipe_set(&r, "expand", "yes");
    if (v->role == ROLE_CONSTANT && !strcmp(type, "parameter"))
        recipe_set(&r, "trained", "no");
    else if (v->role == ROLE_CONSTANT && t->dtype != LM_F32)
        recipe_set(&r, "dtype", "%s", text_dtype_name(t->dtype));
    status = place(im, &r, entry, *v->name ? v->name : type, NULL, 0, &v, &layer);
    if (!status && v->role == ROLE_PARAMETER)
        status = own_weights(im, layer, &r, &v, 1, value_elements(v, LANE_FILE));
    return status;
}

/* A copy for each sample, [N, ...], then a layer that moves the batch to its dimension. */
static lm_status place_parts(importer *im, value *v, uint32_t axis)
{
    const lm_tensor      *t    = &v->shape[LANE_FILE];
    recipe                r    = recipe_of("reshape");
    value                *base = value_new(im, ROLE_CONSTANT);
    const registry_entry *entry;
    int64_t               dim[LM_MAX_RANK];
    size_t                layer;
    lm_status             status = registry_need(im->reg, r.type, &entry, im->err);

    if (!base || status)
        return base ? status : im->status;
    base->name       = v->name;
    base->batch_axis = 0;
    for (int lane = 0; lane < N_LANES; lane++) {
        base->shape[lane] = (lm_tensor){ .dtype = t->dtype, .rank = t->rank + 1 };
        for (uint32_t d = 0; d < t->rank; d++)
            base->shape[lane].dim[d + 1] = d == axis ? t->dim[d] / im->batch : t->dim[d];
        base->shape[lane].dim[0] = lane == LANE_BATCH ? 3 * im->batch : im->batch;
    }
    for (uint32_t d = 0; d < t->rank; d++)
        dim[d] = d == axis ? -1 : t->dim[d];
    recipe_list(&r, "shape", dim, t->rank, false);
    if ((status = place_source(im, t->dtype == LM_F32 ? "parameter" : "constant",
                               &base->shape[LANE_FILE], base)))
        return status;
    return place(im, &r, entry, *v->name ? v->name : r.type, &base, 1, &v, &layer);
}

/* A constant that depends on the batch, such as a state of zeros, has one copy for each sample. */
static lm_status place_constant(importer *im, value *v)
{
    const lm_tensor *t = &v->shape[LANE_FILE], *more = &v->shape[LANE_BATCH];

    v->batch_axis = im->alive[LANE_BATCH] ? varying_axis(v) : -1;
    if (im->alive[LANE_IMAGE] && memcmp(t->dim, v->shape[LANE_IMAGE].dim, sizeof t->dim) != 0)
        lane_drop(im, LANE_IMAGE);
    if (v->batch_axis == 0 && t->rank > 1 && t->dim[0] == im->batch)
        return place_source(im, t->dtype == LM_F32 ? "parameter" : "constant", t, v);
    if (v->batch_axis >= 0) {
        const uint32_t axis = (uint32_t)v->batch_axis;

        if (t->rank < LM_MAX_RANK && t->dim[axis] % im->batch == 0 &&
            more->dim[axis] == 3 * t->dim[axis])
            return place_parts(im, v, axis);
        lane_drop(im, LANE_BATCH);
    }
    v->batch_axis = -1;
    return place_source(im, "constant", t, v);
}

/* One step towards a layer: a transposed weight becomes the layer that transposes it. */
static lm_status place_value(importer *im, value *v)
{
    const registry_entry *entry;
    char                  name[160];
    size_t                layer;

    if (v->role == ROLE_CONSTANT)
        return place_constant(im, v);
    if (v->role == ROLE_PARAMETER && !v->node)
        return place_source(im, "parameter", &v->shape[LANE_FILE], v);
    if (v->role == ROLE_PARAMETER) {
        im->node = v->node;
        return operation_convert(im, operation_find(v->node)); /* now its inputs become layers */
    }
    if (!v->lazy)
        return node_fail(im, LM_E_UNSUPPORTED, "nothing yields its input '%.60s'", v->name);
    im->node = v->node;
    entry    = registry_find(im->reg, v->lazy->type);
    layer_name(im, v->lazy, NULL, 0, name, sizeof name);
    return place(im, v->lazy, entry, name, &v->source, 1, &v, &layer);
}

lm_status materialise(importer *im, value *v, net_edge *out)
{
    const onnx_node *node   = im->node;
    lm_status        status = LM_OK;

    for (int step = 0; step < 3 && !v->placed && !status; step++) {
        status   = place_value(im, v);
        im->node = node;
    }
    if (!status && !v->placed)
        status = node_fail(im, LM_E_UNSUPPORTED, "nothing yields its input '%.60s'", v->name);
    *out = v->edge;
    return status;
}
