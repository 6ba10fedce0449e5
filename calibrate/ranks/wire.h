/**
 * Connections between ranks that do not need MPI, so that they tell when MPI cannot: every rank has
 * one, over TCP, to rank 0.
 */
#ifndef CALIBRATE_WIRE_H
#define CALIBRATE_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <layermeter/error.h>

enum { WIRE_ADDRESSES = 16, WIRE_TOKEN = 16 };

/** Where rank 0 listens, and by what ranks of one run know each other.
 * Plain data: travels over MPI. */
typedef struct wire_place {
    uint8_t                 ask[WIRE_TOKEN], answer[WIRE_TOKEN]; /**< random */
    uint32_t                n;                                   /**< 0: nothing listens */
    struct sockaddr_storage at[WIRE_ADDRESSES];
} wire_place;

typedef enum { WIRE_BEAT, WIRE_BYE, WIRE_END, WIRE_FAILED } wire_kind;

enum { WIRE_TEXT = 240 };

/** What is said, in the sender's byte order: ranks run the same program. */
typedef struct wire_message {
    uint32_t kind;
    int32_t  signal;          /**< BYE: what ends the sender; END: what ends all, 0: a failure */
    int32_t  activity;        /**< BEAT: see pulse.h */
    uint32_t allowed_ms;      /**< BEAT: of quiet, beside the usual patience */
    double   quiet;           /**< BEAT: seconds without progress */
    char     text[WIRE_TEXT]; /**< FAILED: of what */
} wire_message;

/** Rank 0: listens on every interface; LM_E_IO where that cannot be. */
lm_status wire_listen(wire_place *place, int *listener, lm_error *err);

/** Rank 0: waits until n - 1 ranks are connected, or `seconds` are over; fd[rank] is -1 for those
 * that are not. */
void wire_accept(int listener, const wire_place *place, int n, double seconds, int fd[]);

/** Another rank: -1 if none of rank 0's addresses can be reached. */
int wire_connect(const wire_place *place, int rank, double seconds);

/** Never waits; false: the connection takes no more. */
bool wire_send(int fd, const wire_message *m);

/** Never waits. 1: a message; 0: none for now; -1: the connection is closed. */
int wire_receive(int fd, wire_message *m);

#endif
