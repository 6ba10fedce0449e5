/* Looks up functions in libraries that are loaded at run time. */
#include "base/symbol.h"

#include <dlfcn.h>
#include <string.h>

/* ISO C cannot convert the address of an object to that of a function: the bytes are copied. */
bool symbol_find(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);

    memcpy(function, &address, sizeof address);
    return address != NULL;
}
