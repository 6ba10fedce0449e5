/** Arguments and templates of a network file, and substitution of arguments in text. */
#ifndef NETWORK_BLOCK_H
#define NETWORK_BLOCK_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/ini.h"

#define BLOCK_ARGUMENTS_MAX 64 /**< limit for a block, and for a file */

typedef struct argument {
    const char *name, *value;
} argument;

/**
 * Scope of arguments. Search order: a range's $index, the block's arguments, the file's arguments.
 */
typedef struct environment {
    const argument           *argument;
    size_t                    n;
    int                       used_line; /**< line of the outermost `block =`; 0 at the top */
    const struct environment *outer;     /**< next scope to search; NULL: none */
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
    arena              *arena; /**< owns the texts that substitution makes */
    lm_error           *err;
    block              *block;
    size_t              n_blocks;
    /**
     * bytes made by substitution so far. They are limited, because a short file can unfold to any
     * length
     */
    size_t spent;
} block_table;

/** Is `text` a valid name after $? Letters, digits and _; the first character is no digit. */
bool argument_is_name(const char *text);

/** Fills t->block from t->doc. */
lm_status block_collect(block_table *t);
void      block_free(block_table *t);

/** The block whose name is the first n bytes of `name`; NULL if there is none. */
block *block_find(block_table *t, const char *name, size_t n);

/** The slash of [BLOCK/layer]; NULL for a section of another kind. */
const char *block_slash(const char *section);

/** Adds `bytes` to the unfolded size of the file. LM_E_SYNTAX above the limit. */
lm_status block_spend(block_table *t, size_t bytes, int line);

/** Replaces $name and ${expression} in `text`, which stands at `line`, by their values. */
lm_status block_substitute(block_table *t, const environment *env, const char *text, int line,
                           const char **out);

/** Sets the arguments for one use of a block: the section's pairs, then the template's defaults. */
lm_status block_bind(block_table *t, const block *b, const ini_section *use,
                     const environment *outer, environment *inner);

#endif
