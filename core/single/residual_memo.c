/* Remembered answers of residuals. */
#include "single/residual_memo.h"

#include <string.h>

bool residual_question_of(const layer_shape *s, const layer_run *run, double seconds,
                          residual_question *out)
{
    if (run->update || s->kind == SHAPE_OTHER || s->kind > SHAPE_DENSE)
        return false;
    memset(out, 0, sizeof *out); /* with padding, because it is compared as bytes */
    out->shape.kind   = s->kind;
    out->shape.n      = s->n;
    out->shape.c_in   = s->c_in;
    out->shape.c_out  = s->c_out;
    out->shape.groups = s->groups;
    memcpy(out->shape.in, s->in, sizeof s->in);
    memcpy(out->shape.out, s->out, sizeof s->out);
    memcpy(out->shape.window, s->window, sizeof s->window);
    memcpy(out->shape.stride, s->stride, sizeof s->stride);
    memcpy(out->shape.dilation, s->dilation, sizeof s->dilation);
    memcpy(out->shape.before, s->before, sizeof s->before);
    memcpy(out->shape.behind, s->behind, sizeof s->behind);
    out->shape.bias       = s->bias;
    out->shape.activation = s->activation;
    out->shape.loss       = s->loss;
    out->shape.inputs     = s->inputs;
    out->shape.outputs    = s->outputs;
    out->shape.weights    = s->weights;
    out->run = (unsigned)run->forward | (unsigned)run->backward << 1 | (unsigned)run->alone << 2 |
               (unsigned)run->input_gradient << 3 | (unsigned)run->trains_inputs << 4 |
               (unsigned)run->evaluation << 5;
    out->multiprocessors = run->multiprocessors;
    out->seconds         = seconds;
    return true;
}

residual_answer *residual_memo_find(residual_memo *m, const residual_question *q)
{
    uint64_t         word, h = 0;
    residual_answer *found;

    for (size_t i = 0; i + sizeof word <= sizeof *q; i += sizeof word) {
        memcpy(&word, (const char *)q + i, sizeof word);
        h = (h ^ word) * 0x9e3779b97f4a7c15u; /* 2^64 over the golden ratio (Knuth, 6.4) */
        h ^= h >> 29;
    }
    found = &m->at[h % RESIDUAL_MEMO];
    if (!found->known || memcmp(&found->asked, q, sizeof *q) != 0) {
        found->known = false;
        found->asked = *q;
    }
    return found;
}
