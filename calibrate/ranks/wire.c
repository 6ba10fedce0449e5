/* Connections between ranks without MPI. */
#define _GNU_SOURCE /* accept4() */
#include "ranks/wire.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "measure/clock.h"

/* The first message of a rank. */
typedef struct hello {
    uint8_t ask[WIRE_TOKEN];
    int32_t rank;
} hello;

/* ---- waiting, up to a moment ---- */

static int64_t moment(double seconds)
{
    return clock_nanoseconds(CLOCK_MONOTONIC) + (int64_t)(1e9 * seconds);
}

static bool ready(int fd, short what, int64_t until)
{
    struct pollfd p = { .fd = fd, .events = what };

    for (;;) {
        const int64_t left = until - clock_nanoseconds(CLOCK_MONOTONIC);
        const int     n    = poll(&p, 1, left > 0 ? (int)(left / 1000000) + 1 : 0);

        if (n > 0 || (n < 0 && errno != EINTR) || left <= 0)
            return n > 0;
    }
}

static bool send_all(int fd, const void *bytes, size_t n)
{
    return send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n; /* fits into an empty buffer */
}

static bool receive_all(int fd, void *bytes, size_t n, int64_t until)
{
    char *to = bytes;

    while (n > 0) {
        const ssize_t got = ready(fd, POLLIN, until) ? recv(fd, to, n, MSG_DONTWAIT) : -1;

        if (got <= 0)
            return false;
        to += got;
        n -= (size_t)got;
    }
    return true;
}

/* ---- rank 0 ---- */

static void add_address(wire_place *place, const struct sockaddr *a, in_port_t port)
{
    struct sockaddr_storage *to = &place->at[place->n];

    if (place->n == WIRE_ADDRESSES)
        return;
    memset(to, 0, sizeof *to);
    if (a->sa_family == AF_INET) {
        memcpy(to, a, sizeof(struct sockaddr_in));
        ((struct sockaddr_in *)(void *)to)->sin_port = port;
        place->n++;
    } else if (a->sa_family == AF_INET6) {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)to;

        memcpy(to, a, sizeof *in6);
        in6->sin6_port = port;
        /* addresses of one link mean nothing on another host */
        place->n += !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr);
    }
}

/* Addresses that other hosts may reach, in the system's order; those of this host only come last. */
static void list_addresses(wire_place *place, in_port_t port, bool also_6)
{
    struct ifaddrs *list;

    place->n = 0;
    if (getifaddrs(&list))
        return;
    for (unsigned loopback = 0; loopback <= IFF_LOOPBACK; loopback += IFF_LOOPBACK)
        for (const struct ifaddrs *i = list; i; i = i->ifa_next)
            if (i->ifa_addr && i->ifa_flags & IFF_UP && (i->ifa_flags & IFF_LOOPBACK) == loopback &&
                (also_6 || i->ifa_addr->sa_family == AF_INET))
                add_address(place, i->ifa_addr, port);
    freeifaddrs(list);
}

/* A socket for both families; without IPv6 for IPv4 alone. */
static int listening_socket(in_port_t *port, bool *also_6)
{
    struct sockaddr_in6 any6 = { .sin6_family = AF_INET6 };
    struct sockaddr_in  any4 = { .sin_family = AF_INET };
    socklen_t           size = sizeof any6;
    const int           no   = 0;
    int                 fd   = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *also_6 = fd >= 0 && !setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) &&
              !bind(fd, (struct sockaddr *)&any6, sizeof any6) && !listen(fd, SOMAXCONN) &&
              !getsockname(fd, (struct sockaddr *)&any6, &size);
    *port = any6.sin6_port;
    if (*also_6)
        return fd;
    if (fd >= 0)
        close(fd);
    size = sizeof any4;
    fd   = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&any4, sizeof any4) || listen(fd, SOMAXCONN) ||
                    getsockname(fd, (struct sockaddr *)&any4, &size))) {
        close(fd);
        fd = -1;
    }
    *port = any4.sin_port;
    return fd;
}

lm_status wire_listen(wire_place *place, int *listener, lm_error *err)
{
    in_port_t port;
    bool      also_6;

    memset(place, 0, sizeof *place);
    *listener = listening_socket(&port, &also_6);
    if (*listener < 0)
        return lm_error_set(err, LM_E_IO, "no TCP port can be opened: %s", strerror(errno));
    if (getrandom(place->ask, sizeof place->ask, 0) != sizeof place->ask ||
        getrandom(place->answer, sizeof place->answer, 0) != sizeof place->answer) {
        close(*listener);
        *listener = -1;
        return lm_error_set(err, LM_E_IO, "no random numbers: %s", strerror(errno));
    }
    list_addresses(place, port, also_6);
    return LM_OK;
}

static void tune(int fd)
{
    const int yes = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/* A peer with the token is a rank of this run. */
static int welcome(int fd, const wire_place *place, int n, const int taken[], int64_t until)
{
    hello h;

    if (!receive_all(fd, &h, sizeof h, until) || memcmp(h.ask, place->ask, sizeof h.ask) != 0 ||
        h.rank < 1 || h.rank >= n || taken[h.rank] >= 0 ||
        !send_all(fd, place->answer, sizeof place->answer))
        return -1;
    tune(fd);
    return h.rank;
}

void wire_accept(int listener, const wire_place *place, int n, double seconds, int fd[])
{
    const int64_t until = moment(seconds);
    int           left  = n - 1;

    for (int r = 0; r < n; r++)
        fd[r] = -1;
    while (left > 0 && ready(listener, POLLIN, until)) {
        const int     guest = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        const int64_t soon  = moment(1);
        const int rank = guest < 0 ? -1 : welcome(guest, place, n, fd, soon < until ? soon : until);

        if (rank > 0) {
            fd[rank] = guest;
            left--;
        } else if (guest >= 0) {
            close(guest);
        }
    }
}

/* ---- the others ---- */

static int try_address(const wire_place *place, const struct sockaddr_storage *to, int rank,
                       int64_t until)
{
    const socklen_t size =
        to->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    const int64_t reach   = moment(2);
    int           fd      = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int           problem = 0;
    socklen_t     length  = sizeof problem;
    hello         h       = { .rank = rank };
    uint8_t       answer[WIRE_TOKEN];

    if (fd < 0)
        return -1;
    memcpy(h.ask, place->ask, sizeof h.ask);
    if ((!connect(fd, (const struct sockaddr *)to, size) ||
         (errno == EINPROGRESS && ready(fd, POLLOUT, reach < until ? reach : until))) &&
        !getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &length) && !problem &&
        send_all(fd, &h, sizeof h) && receive_all(fd, answer, sizeof answer, until) &&
        !memcmp(answer, place->answer, sizeof answer)) {
        tune(fd);
        return fd;
    }
    close(fd);
    return -1;
}

int wire_connect(const wire_place *place, int rank, double seconds)
{
    const int64_t until = moment(seconds);
    int           fd    = -1;

    for (uint32_t i = 0; i < place->n && i < WIRE_ADDRESSES && fd < 0; i++)
        fd = try_address(place, &place->at[i], rank, until);
    return fd;
}

/* ---- messages ---- */

bool wire_send(int fd, const wire_message *m)
{
    return send(fd, m, sizeof *m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof *m;
}

int wire_receive(int fd, wire_message *m)
{
    ssize_t n;

    do /* reads all or nothing: messages are small, and their rest arrives soon */
        n = recv(fd, m, sizeof *m, MSG_DONTWAIT | MSG_PEEK);
    while (n < 0 && errno == EINTR);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK))
        return -1;
    if (n < (ssize_t)sizeof *m)
        return n > 0 && ready(fd, POLLRDHUP, 0) ? -1 : 0; /* the rest will not come */
    return recv(fd, m, sizeof *m, MSG_DONTWAIT) == (ssize_t)sizeof *m ? 1 : -1;
}
