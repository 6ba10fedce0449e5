/* Connections of this host. */
#include "measure/topology.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = 1024, LINE = 128, TEXT = 1500 };

/* The first line of a file; false: there is none. */
static bool read_line(char line[LINE], const char *path)
{
    FILE *in = fopen(path, "r");
    bool  ok = in && fgets(line, LINE, in);

    if (in)
        fclose(in);
    if (ok)
        line[strcspn(line, "\n")] = '\0';
    return ok && *line;
}

static int is_card(const struct dirent *e)
{
    return e->d_name[0] != '.' && strcmp(e->d_name, "lo") != 0;
}

/* By name, so that files of two runs are alike. */
static int list(const char *path, struct dirent ***out)
{
    return scandir(path, out, is_card, alphasort);
}

static void forget(struct dirent **entry, int n)
{
    for (int i = 0; i < n; i++)
        free(entry[i]);
    if (n >= 0)
        free(entry);
}

/* Where a device hangs in the tree of the bus; false: it is virtual, or not there. */
static bool place_of(const char *path, char out[PATH])
{
    char      *real = realpath(path, NULL);
    const bool ok   = real && strlen(real) < PATH && !strstr(real, "/virtual/");

    if (ok)
        strcpy(out, real);
    free(real);
    return ok;
}

/* Steps of the bus (folders that are addresses, 0000:17:00.0) that two devices share. */
static int shared_steps(const char *a, const char *b)
{
    int n = 0;

    while (*a == '/' && *b == '/') {
        const size_t i = strcspn(a + 1, "/"), k = strcspn(b + 1, "/");

        if (i != k || strncmp(a + 1, b + 1, i) != 0)
            break;
        n += i == 12 && a[5] == ':' && a[8] == ':';
        a += i + 1;
        b += k + 1;
    }
    return n;
}

typedef struct describing {
    const char *system;
    char        gpu[PATH]; /* "": none */
    char        text[TEXT];
    size_t      n;
} describing;

static void append(describing *d, const char *word)
{
    if (d->n < TEXT)
        d->n += (size_t)snprintf(d->text + d->n, TEXT - d->n, "%s", word);
}

/* ", NUMA node 0, 2 steps of the bus shared with the GPU" */
static void append_place(describing *d, const char *card)
{
    char path[PATH + 40], line[LINE], real[PATH], word[80];
    int  n;

    snprintf(path, sizeof path, "%s/device/numa_node", card);
    if (read_line(line, path) && line[0] != '-') {
        snprintf(word, sizeof word, ", NUMA node %.20s", line);
        append(d, word);
    }
    snprintf(path, sizeof path, "%s/device", card);
    if (!d->gpu[0] || !place_of(path, real))
        return;
    n = shared_steps(d->gpu, real);
    snprintf(word, sizeof word, ", %d step%s of the bus shared with the GPU", n, n == 1 ? "" : "s");
    append(d, word);
}

/* "4: ACTIVE" */
static bool is_active(const char *port)
{
    char path[PATH + 40], line[LINE];

    snprintf(path, sizeof path, "%s/state", port);
    return read_line(line, path) && strstr(line, "ACTIVE");
}

static void append_port(describing *d, const char *name, const char *card, const char *number)
{
    char port[PATH], path[PATH + 40], rate[LINE], layer[LINE] = "", word[3 * LINE];

    snprintf(port, sizeof port, "%s/ports/%.20s", card, number);
    snprintf(path, sizeof path, "%s/rate", port);
    if (!read_line(rate, path))
        return;
    snprintf(path, sizeof path, "%s/link_layer", port);
    if (!read_line(layer, path))
        layer[0] = '\0';
    snprintf(word, sizeof word, "%s%.40s port %.20s: %s%s%s, %s", d->n ? "; " : "", name, number,
             rate, *layer ? ", " : "", layer, is_active(port) ? "active" : "not active");
    append(d, word);
    append_place(d, card);
}

static void find_infiniband(describing *d)
{
    char            folder[PATH / 2], card[PATH - 64], ports[PATH];
    struct dirent **entry = NULL;
    int             n;

    snprintf(folder, sizeof folder, "%s/class/infiniband", d->system);
    n = list(folder, &entry);
    for (int i = 0; i < n; i++) {
        struct dirent **port = NULL;
        int             m;

        snprintf(card, sizeof card, "%s/%.200s", folder, entry[i]->d_name);
        snprintf(ports, sizeof ports, "%s/ports", card);
        m = list(ports, &port);
        for (int k = 0; k < m; k++)
            append_port(d, entry[i]->d_name, card, port[k]->d_name);
        forget(port, m);
    }
    forget(entry, n);
}

/* Mb/s; a link that is down says -1, or nothing. */
static void find_ethernet(describing *d)
{
    char            folder[PATH / 2], card[PATH - 64], path[PATH], line[LINE], word[LINE];
    struct dirent **entry = NULL;
    int             n;

    snprintf(folder, sizeof folder, "%s/class/net", d->system);
    n = list(folder, &entry);
    for (int i = 0; i < n; i++) {
        char real[PATH];

        snprintf(card, sizeof card, "%s/%.200s", folder, entry[i]->d_name);
        snprintf(path, sizeof path, "%s/device", card);
        if (!place_of(path, real))
            continue;
        snprintf(path, sizeof path, "%s/speed", card);
        if (!read_line(line, path) || atoi(line) <= 0)
            continue;
        snprintf(word, sizeof word, "%s%.40s: %d Mb/s", d->n ? "; " : "", entry[i]->d_name,
                 atoi(line));
        append(d, word);
        append_place(d, card);
    }
    forget(entry, n);
}

/* Runtimes write addresses in capitals, the system does not. */
static void find_gpu(describing *d, const char                                            *bus_id,
                     void (*put)(void *context, const char *key, const char *value), void *context)
{
    char   path[PATH + 40], line[LINE], address[40] = "";
    size_t n = 0;

    for (const char *c = bus_id; *c && n + 1 < sizeof address; c++)
        address[n++] = (char)tolower((unsigned char)*c);
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s", d->system, address);
    if (!place_of(path, d->gpu)) {
        d->gpu[0] = '\0';
        return;
    }
    snprintf(path, sizeof path, "%s/numa_node", d->gpu);
    if (read_line(line, path) && line[0] != '-')
        put(context, "gpu_numa", line);
}

void topology_describe(const char *system, const char *bus_id,
                       void (*put)(void *context, const char *key, const char *value),
                       void *context)
{
    describing d = { .system = system };

    if (bus_id)
        find_gpu(&d, bus_id, put, context);
    find_infiniband(&d);
    if (d.n)
        put(context, "network_infiniband", d.text);
    d.n = 0;
    find_ethernet(&d);
    if (d.n)
        put(context, "network_ethernet", d.text);
}

bool topology_has_infiniband(const char *system)
{
    describing d = { .system = system };

    find_infiniband(&d);
    return d.n && strstr(d.text, ", active");
}

const char *topology_system(char *buffer, size_t size)
{
    const char *root = getenv("LAYERMETER_SYSTEM_ROOT");

    snprintf(buffer, size, "%s/sys", root ? root : "");
    return buffer;
}

bool topology_detours(const char *system, int64_t hosts, const char *network)
{
    return hosts > 1 && !strcmp(network, "Socket") && topology_has_infiniband(system);
}
