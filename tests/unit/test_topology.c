/* Network cards and a GPU of a system made of files. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/topology.h"

static char root[600];

static int enter(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    snprintf(root, sizeof root, "%s/layermeter-unit-XXXXXX", base ? base : "/tmp");
    return mkdtemp(root) ? 0 : -1;
}

static int take_away(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    (void)about;
    (void)kind;
    (void)at;
    return remove(path);
}

static int leave(void **state)
{
    (void)state;
    return nftw(root, take_away, 16, FTW_DEPTH | FTW_PHYS);
}

static void folder(const char *path)
{
    char full[900], *at;

    snprintf(full, sizeof full, "%s/%s", root, path);
    for (at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(full, 0700);
        *at = '/';
    }
    mkdir(full, 0700);
}

static void file(const char *path, const char *text)
{
    char  full[900];
    FILE *out;

    snprintf(full, sizeof full, "%s/%s", root, path);
    *strrchr(full, '/') = '\0';
    folder(full + strlen(root) + 1);
    full[strlen(full)] = '/';
    assert_non_null(out = fopen(full, "w"));
    fputs(text, out);
    fclose(out);
}

static void link_to(const char *path, const char *to)
{
    char full[900], target[900];

    snprintf(full, sizeof full, "%s/%s", root, path);
    snprintf(target, sizeof target, "%s/%s", root, to);
    unlink(full);
    assert_int_equal(symlink(target, full), 0);
}

/* A GPU and a card behind one switch, a card behind another bridge, an Ethernet card, a bridge of software. */
#define NEAR "devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0"
#define GPU  "devices/pci0000:15/0000:15:01.0/0000:16:01.0/0000:18:00.0"
#define FAR  "devices/pci0000:97/0000:97:01.0/0000:98:00.0"
#define ETH  "devices/pci0000:00/0000:00:1c.0/0000:02:00.0"

static void make_system(const char *second_state)
{
    folder(NEAR);
    folder(GPU);
    folder(FAR);
    folder(ETH);
    folder("bus/pci/devices");
    link_to("bus/pci/devices/0000:18:00.0", GPU);
    file(GPU "/numa_node", "0\n");
    file(NEAR "/numa_node", "0\n");
    file(FAR "/numa_node", "1\n");
    file(ETH "/numa_node", "-1\n");
    file("class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
    file("class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    file("class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
    link_to("class/infiniband/mlx5_0/device", NEAR);
    file("class/infiniband/mlx5_1/ports/1/rate", "100 Gb/sec (4X EDR)\n");
    file("class/infiniband/mlx5_1/ports/1/state", second_state);
    file("class/infiniband/mlx5_1/ports/1/link_layer", "Ethernet\n");
    link_to("class/infiniband/mlx5_1/device", FAR);
    file("class/net/eth0/speed", "25000\n");
    link_to("class/net/eth0/device", ETH);
    file("class/net/eth1/speed", "-1\n");
    link_to("class/net/eth1/device", ETH);
    file("class/net/lo/speed", "10\n");
    file("class/net/docker0/speed", "10000\n"); /* no device of a bus */
}

typedef struct heard {
    char text[2000];
} heard;

static void hear(void *context, const char *key, const char *value)
{
    heard       *h = context;
    const size_t n = strlen(h->text);

    snprintf(h->text + n, sizeof h->text - n, "%s = %s\n", key, value);
}

static void cards_are_told_with_what_they_share_with_the_gpu(void **state)
{
    heard h = { "" };

    (void)state;
    make_system("1: DOWN\n");
    topology_describe(root, "0000:18:00.0", hear, &h);
    assert_string_equal(
        h.text,
        "gpu_numa = 0\n"
        "network_infiniband = mlx5_0 port 1: 400 Gb/sec (4X NDR), InfiniBand, active, NUMA node 0, "
        "1 step of the bus shared with the GPU; mlx5_1 port 1: 100 Gb/sec (4X EDR), Ethernet, not "
        "active, NUMA node 1, 0 steps of the bus shared with the GPU\n"
        "network_ethernet = eth0: 25000 Mb/s, 0 steps of the bus shared with the GPU\n");
}

static void without_a_gpu_cards_stand_alone(void **state)
{
    heard h = { "" };

    (void)state;
    make_system("1: DOWN\n");
    topology_describe(root, NULL, hear, &h);
    assert_null(strstr(h.text, "GPU"));
    assert_non_null(strstr(h.text, "eth0: 25000 Mb/s\n"));
    h.text[0] = '\0';
    topology_describe("/no/such/folder", "0000:18:00.0", hear, &h);
    assert_string_equal(h.text, "");
}

static void tcp_is_a_detour_where_there_is_infiniband(void **state)
{
    (void)state;
    make_system("1: DOWN\n");
    assert_true(topology_detours(root, 2, "Socket"));
    assert_false(topology_detours(root, 1, "Socket")); /* within a host nothing goes by a network */
    assert_false(topology_detours(root, 2, "IB"));
    file("class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n");
    assert_false(topology_detours(root, 2, "Socket")); /* none is up */
    assert_false(topology_detours("/no/such/folder", 2, "Socket"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cards_are_told_with_what_they_share_with_the_gpu),
        cmocka_unit_test(without_a_gpu_cards_stand_alone),
        cmocka_unit_test(tcp_is_a_detour_where_there_is_infiniband),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
