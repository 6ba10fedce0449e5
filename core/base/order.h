/** Orders for qsort(): functions that compare elements by their members. */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

/** -1, 0 or 1; 0 where one is NAN. */
#define ORDER_OF(a, b) (((a) > (b)) - ((a) < (b)))

/** Ascending elements of type T. */
#define ORDER_BY_VALUE(name, T)                        \
    static int name(const void *a, const void *b)      \
    {                                                  \
        return ORDER_OF(*(const T *)a, *(const T *)b); \
    }

/** Ascending by a member of struct T. */
#define ORDER_BY(name, T, member)                 \
    static int name(const void *a, const void *b) \
    {                                             \
        const T *x = a, *y = b;                   \
                                                  \
        return ORDER_OF(x->member, y->member);    \
    }

/** Descending. */
#define ORDER_DOWN_BY(name, T, member)            \
    static int name(const void *a, const void *b) \
    {                                             \
        const T *x = a, *y = b;                   \
                                                  \
        return ORDER_OF(y->member, x->member);    \
    }

/** Ascending by one member; where it is the same, by another. */
#define ORDER_BY_BOTH(name, T, first, second)                        \
    static int name(const void *a, const void *b)                    \
    {                                                                \
        const T  *x = a, *y = b;                                     \
        const int by_first = ORDER_OF(x->first, y->first);           \
                                                                     \
        return by_first ? by_first : ORDER_OF(x->second, y->second); \
    }

#endif
