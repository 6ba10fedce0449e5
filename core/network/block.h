/** Arguments of a network file, its templates, and text with arguments in it. */
#ifndef NETWORK_BLOCK_H
#define NETWORK_BLOCK_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/ini.h"

#define BLOCK_ARGUMENTS_MAX 64 /**< of a block, or of a file */

typedef struct argument {
    const char *name, *value;
} argument;

/** Arguments that a text may name: a range's $index, a block's, then the file's. */
typedef struct environment {
    const argument           *argument;
    size_t                    n;
    int                       used_line; /**< of the outermost `block =`; 0 at the top */
    const struct environment *outer;     /**< where other names are looked for; NULL: nowhere */
} environment;

/** A template: [block NAME] and its [NAME/layer] sections. */
typedef struct block {
    const char         *name;
    const ini_section  *head; /**< argument = default; empty: required */
    const ini_section **layer;
    size_t              n_layers, room;
} block;

/** All templates of a file. */
typedef struct block_table {
    const ini_document *doc;
    arena              *arena; /**< of the texts made here */
    lm_error           *err;
    block              *block;
    size_t              n_blocks;
    size_t              spent; /**< bytes made so far: a short file may unfold to any length */
} block_table;

/** Letters, digits and _, no digit first: what $ may name. */
bool argument_is_name(const char *text);

/** Fills t->block from t->doc. */
lm_status block_collect(block_table *t);
void      block_free(block_table *t);

/** The block whose name is the first n bytes of `name`; NULL if there is none. */
block *block_find(block_table *t, const char *name, size_t n);

/** The slash of [BLOCK/layer]; NULL for a section of another kind. */
const char *block_slash(const char *section);

/** Counts `bytes` of what the file unfolds to; LM_E_SYNTAX when it is too much. */
lm_status block_spend(block_table *t, size_t bytes, int line);

/** Replaces $name and ${expression} in `text`, which stands at `line`, by their values. */
lm_status block_substitute(block_table *t, const environment *env, const char *text, int line,
                           const char **out);

/** The arguments of one use of a block: the template's defaults,
 * overridden by the section's pairs. */
lm_status block_bind(block_table *t, const block *b, const ini_section *use,
                     const environment *outer, environment *inner);

#endif
