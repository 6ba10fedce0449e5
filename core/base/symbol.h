/** Functions of libraries that are loaded at run time. */
#ifndef BASE_SYMBOL_H
#define BASE_SYMBOL_H

#include <stdbool.h>

/**
 * Takes `name` from a library (see dlsym()).
 *
 * @param function address of a pointer to a function of that type: NULL where there is none
 * @return true if the function exists; else dlerror() has the reason
 */
bool symbol_find(void *library, const char *name, void *function);

#endif
