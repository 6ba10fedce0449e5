/** What streams and graphs of a device that is not there hold: calls, one behind the other. */
#ifndef PORTS_FAKE_QUEUE_H
#define PORTS_FAKE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "fake_runtime.h"

typedef enum { ITEM_CALL, ITEM_RECORD, ITEM_WAIT } item_kind;

typedef struct item {
    struct item       *next;
    item_kind          kind;
    fake_call         *call;
    void              *context;
    struct CUevent_st *event;
    unsigned long long turn; /* of the event: which recording is meant */
    int64_t            sent; /* when it reaches the device, by the clock that is not there */
} item;

typedef struct queue {
    item *first, **end;
} queue;

struct CUgraph_st {
    queue  calls;
    size_t n;
};

/** Frees all items, and what they hold. */
void queue_free(queue *q);
/** Has the device an error that nothing gets over? */
bool fake_is_broken(void);
/** The graph that captures the stream's calls; NULL: none. */
struct CUgraph_st **fake_capture_of(cudaStream_t stream);
/** Graphs that are there. */
size_t fake_graphs(void);

#endif
