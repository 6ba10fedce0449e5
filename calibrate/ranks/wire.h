/** TCP connections between ranks, for times when MPI is stuck: each rank has one to rank 0. */
#ifndef CALIBRATE_WIRE_H
#define CALIBRATE_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <layermeter/error.h>

enum { WIRE_ADDRESSES = 16, WIRE_TOKEN = 16 };

/** Address of rank 0, and the token that ranks of one run share. Plain data: travels over MPI. */
typedef struct wire_place {
    uint8_t                 ask[WIRE_TOKEN], answer[WIRE_TOKEN]; /**< random */
    uint32_t                n;                                   /**< 0: nothing listens */
    struct sockaddr_storage at[WIRE_ADDRESSES];
} wire_place;

typedef enum { WIRE_BEAT, WIRE_BYE, WIRE_END, WIRE_FAILED } wire_kind;

enum { WIRE_TEXT = 240 };

/** A message, in the sender's byte order: all ranks run the same program. */
typedef struct wire_message {
    uint32_t kind;
    /** BYE: signal that ends the sender; END: signal that ends all ranks, 0: a failure */
    int32_t  signal;
    int32_t  activity;        /**< BEAT: see pulse.h */
    uint32_t allowed_ms;      /**< BEAT: milliseconds of patience in addition to the usual */
    double   quiet;           /**< BEAT: seconds without progress */
    char     text[WIRE_TEXT]; /**< FAILED: of what */
} wire_message;

/** Rank 0: listens on every interface; LM_E_IO if that fails. */
lm_status wire_listen(wire_place *place, int *listener, lm_error *err);

/** Rank 0: waits for n - 1 ranks, `seconds` at most; fd[rank] is -1 for those without a connection. */
void wire_accept(int listener, const wire_place *place, int n, double seconds, int fd[]);

/** Another rank: connects; -1 if it reaches none of rank 0's addresses. */
int wire_connect(const wire_place *place, int rank, double seconds);

/** Sends without waiting; false: the connection is full or closed. */
bool wire_send(int fd, const wire_message *m);

/** Receives without waiting. 1: a message; 0: none so far; -1: the connection is closed. */
int wire_receive(int fd, wire_message *m);

#endif
