/** What layouts must divide, of a network. */
#ifndef PROGRAM_FACTS_H
#define PROGRAM_FACTS_H

#include "network/bind.h"
#include "program/layout.h"

/** Of a network that is bound whole. Pure. */
layout_facts layout_facts_of(const bound_network *net);

#endif
