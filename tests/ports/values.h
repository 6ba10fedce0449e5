/** See values.c. */
#ifndef PORTS_VALUES_H
#define PORTS_VALUES_H

typedef struct named_value {
    const char *name; /**< NULL: the end */
    long long   value;
} named_value;

extern const named_value values_stub[], values_real[];

#endif
