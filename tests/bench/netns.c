/* A network of known bandwidth and delay: an IP switch in user space, each port a TUN device.
 *
 *   netns PREFIX PORTS MBIT DELAY_US   devices PREFIX0 .. PREFIX<PORTS>; says "ready" when they are
 * there
 *
 * A packet to 10.213.77.I leaves at port I; those to .254 at port 0, which is neither slow nor far
 * (for whoever starts programs behind the others). Every other port carries MBIT each way; the last
 * bit of a packet arrives DELAY_US after the sender's port has sent it, or later, if the receiver's
 * port is busy. Packets wait for room, they are not dropped. The devices go when this program ends.
 * Needs root. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PORTS_MAX  33
#define PACKET_MAX 65536
#define QUEUE      4096 /* packets under way to one port */
#define AHEAD \
    200000 /* ns of packets that a port takes in before they are sent: the rest wait outside */

typedef struct packet {
    int64_t  due; /* ns */
    int      length;
    uint8_t *bytes;
} packet;

typedef struct port {
    int      fd;
    int64_t  sends_until, receives_until; /* ns: when what was given to it is through */
    packet   queue[QUEUE];                /* by `due`, as each arrives after the one before */
    unsigned first, n;
} port;

static port                  ports[PORTS_MAX];
static volatile sig_atomic_t stopped;

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int open_port(const char *prefix, int i)
{
    struct ifreq want = { 0 };
    const int    fd   = open("/dev/net/tun", O_RDWR | O_NONBLOCK);

    want.ifr_flags = IFF_TUN | IFF_NO_PI;
    snprintf(want.ifr_name, sizeof want.ifr_name, "%s%d", prefix, i);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &want) < 0) {
        fprintf(stderr, "netns: %s: %s\n", want.ifr_name, strerror(errno));
        exit(1);
    }
    return fd;
}

/* The port that an IPv4 packet goes to; -1: none. */
static int destination(const uint8_t *p, int length, int n_ports)
{
    if (length < 20 || p[0] >> 4 != 4 || p[16] != 10 || p[17] != 213 || p[18] != 77)
        return -1;
    if (p[19] == 254)
        return 0;
    return p[19] >= 1 && p[19] <= n_ports ? p[19] : -1;
}

/* Takes one packet from port `from`; false: there is none. */
static int take(int from, int n_ports, double ns_per_byte, int64_t delay)
{
    static uint8_t bytes[PACKET_MAX];
    const int      length = (int)read(ports[from].fd, bytes, sizeof bytes);
    const int      to     = destination(bytes, length, n_ports);
    int64_t        due    = now();
    packet        *slot;

    if (length <= 0)
        return 0;
    if (to < 0 || ports[to].n == QUEUE)
        return 1;
    if (from && to) {
        const int64_t lasts = (int64_t)(length * ns_per_byte);

        due = ports[from].sends_until = later(ports[from].sends_until, due) + lasts;
        due += delay;
        /* the receiver's port takes it in while it comes, unless it is busy */
        due = ports[to].receives_until = later(due, ports[to].receives_until + lasts);
    }
    slot  = &ports[to].queue[(ports[to].first + ports[to].n++) % QUEUE];
    *slot = (packet){ due, length, malloc((size_t)length) };
    if (!slot->bytes)
        exit(1);
    memcpy(slot->bytes, bytes, (size_t)length);
    return 1;
}

/* Hands out what is due; the time when the next is. */
static int64_t deliver(int n_ports)
{
    int64_t next = INT64_MAX;

    for (int i = 0; i <= n_ports; i++) {
        port *p = &ports[i];

        while (p->n && p->queue[p->first].due <= now()) {
            packet *k = &p->queue[p->first];

            if (write(p->fd, k->bytes, (size_t)k->length) < 0 && errno == EAGAIN)
                break;
            free(k->bytes);
            p->first = (p->first + 1) % QUEUE;
            p->n--;
        }
        if (p->n && p->queue[p->first].due < next)
            next = p->queue[p->first].due;
    }
    return next;
}

static void run(int n_ports, double ns_per_byte, int64_t delay)
{
    struct pollfd wait[PORTS_MAX];

    while (!stopped) {
        int64_t         next = deliver(n_ports), t = now();
        struct timespec nap;

        for (int i = 0; i <= n_ports; i++) {
            const int64_t room = ports[i].sends_until - AHEAD;

            wait[i] = (struct pollfd){ ports[i].fd, room <= t ? POLLIN : 0, 0 };
            if (room > t && room < next)
                next = room;
        }
        next = next == INT64_MAX ? 100000000 : later(0, next - t);
        nap  = (struct timespec){ next / 1000000000, next % 1000000000 };
        if (ppoll(wait, (nfds_t)n_ports + 1, &nap, NULL) <= 0)
            continue;
        for (int i = 0; i <= n_ports; i++)
            for (int k = 0; wait[i].revents & POLLIN && k < 16; k++)
                if (ports[i].sends_until - AHEAD > now() || !take(i, n_ports, ns_per_byte, delay))
                    break;
    }
}

int main(int argc, char **argv)
{
    const int              n     = argc == 5 ? atoi(argv[2]) : 0;
    const double           mbit  = argc == 5 ? atof(argv[3]) : 0;
    const int64_t          delay = argc == 5 ? (int64_t)(1e3 * atof(argv[4])) : -1;
    const struct sigaction end   = { .sa_handler = stop };

    if (n < 1 || n >= PORTS_MAX || mbit <= 0 || delay < 0) {
        fprintf(stderr, "usage: netns PREFIX PORTS MBIT DELAY_US (at most %d ports)\n",
                PORTS_MAX - 1);
        return 2;
    }
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGINT, &end, NULL);
    prctl(PR_SET_TIMERSLACK, 1UL);
    for (int i = 0; i <= n; i++)
        ports[i].fd = open_port(argv[1], i);
    puts("ready");
    fflush(stdout);
    run(n, 8e3 / mbit, delay);
    return 0;
}
