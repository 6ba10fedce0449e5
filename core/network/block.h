/** Templates of a network file, and text with their arguments. */
#ifndef NETWORK_BLOCK_H
#define NETWORK_BLOCK_H

#include "base/arena.h"
#include "base/ini.h"

typedef struct argument {
    const char *name, *value;
} argument;

/** Arguments visible while a block is unfolded. */
typedef struct environment {
    const argument *argument;
    size_t          n;
    int             used_line; /**< of the outermost `block =`; 0 at the top */
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
} block_table;

/** Fills t->block from t->doc. */
lm_status block_collect(block_table *t);
void      block_free(block_table *t);

/** The block whose name is the first n bytes of `name`; NULL if there is none. */
block *block_find(block_table *t, const char *name, size_t n);

/** Replaces $name in `text`, which stands at `line`, by the arguments' values. */
lm_status block_substitute(block_table *t, const environment *env, const char *text, int line,
                           const char **out);

/** The arguments of one use of a block: the template's defaults, overridden by the section's pairs.
 */
lm_status block_bind(block_table *t, const block *b, const ini_section *use,
                     const environment *outer, environment *inner);

#endif
