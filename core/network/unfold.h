/**
 * Converts sections to nodes, scope by scope: unfolds blocks and resolves names.
 *
 * expand.c then orders the nodes and removes the ports of blocks.
 */
#ifndef NETWORK_UNFOLD_H
#define NETWORK_UNFOLD_H

#include "base/names.h"
#include "network/block.h"
#include "network/network.h"

#define NONE       ((size_t)-1)
#define INPUTS_MAX 256 /* limit for one layer or block, as written; a concat cannot have more */

/* A layer, or an input port of a block. Ports only pass on a tensor; expand.c removes them. */
typedef struct node {
    const char        *name;
    const char        *block;   /* outermost use of a block; NULL: none */
    const ini_section *section; /* NULL: a port */
    const net_pair    *pair;    /* parameters with arguments replaced */
    const char        *type;
    net_edge          *input; /* .layer is a node here */
    size_t             n_pairs, n_inputs;
    size_t             shares; /* node that owns the parameters; NONE: its own */
    int                line, used_line;
    net_counted        counted;
    lm_way             way;
    bool               frozen;
    bool               used;
} node;

/* An unresolved name: of an input, or of the owner of shared parameters. */
typedef struct pending {
    size_t      node, input;
    const char *text;
    int         line;
} pending;

typedef struct unfolding {
    const ini_document *doc;
    network            *net;
    node               *node;
    size_t              n_nodes, node_room;
    block_table         blocks;
    pending            *pending; /* of all scopes being unfolded; each resolves its own tail */
    size_t              n_pending, pending_room;
    names               by_name; /* full name -> node */
    names               line_of; /* full name -> line of its section */
    lm_error           *err;
} unfolding;

/* The file's top, or the inside of one use of a block. */
typedef struct name_scope {
    const char *prefix; /* "" at the top */
    const char *block;  /* outermost use of a block; NULL: the top */
    environment env;
    names       local; /* names as written in this scope -> node */
    /* input of a layer without `inputs`: the previous node; NONE: no node yet */
    size_t last;
    int    depth;
} name_scope;

/**
 * Unfolds all sections of a scope and resolves its inputs.
 * @param last node of the scope's last section; NONE: there is none
 * @return LM_E_SYNTAX, LM_E_NOTFOUND, LM_E_NOMEM
 */
lm_status unfold_scope(unfolding *u, name_scope *sc, const ini_section *const *item, size_t n,
                       size_t *last);

#endif
