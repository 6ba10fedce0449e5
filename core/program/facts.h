/** The sizes of a network that a layout must divide. */
#ifndef PROGRAM_FACTS_H
#define PROGRAM_FACTS_H

#include "network/bind.h"
#include "program/layout.h"

/** Facts of a network that is bound as a whole. Pure. */
layout_facts layout_facts_of(const bound_network *net);

#endif
