/* Hardware and software of a rank. */
#define _GNU_SOURCE /* sched_getaffinity() */
#include "run/facts.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "measure/machine_state.h"

/* ---- what the system says ---- */

static FILE *open_system(const char *variable, const char *fallback, const char *name)
{
    const char *root = getenv(variable);
    char        path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", root && *root ? root : fallback, name);
    return fopen(path, "r");
}

/* "field : value", cut to fit. */
static bool take_value(const char *line, const char *field, char *out, size_t size)
{
    const char *value = strchr(line, ':');
    size_t      n;

    if (strncmp(line, field, strlen(field)) != 0 || !value)
        return false;
    value += 1 + strspn(value + 1, " \t");
    n = strcspn(value, "\n");
    snprintf(out, size, "%.*s", n < size ? (int)n : (int)size - 1, value);
    return true;
}

static void find_cpu(rank_facts *f)
{
    FILE          *in = open_system("LAYERMETER_PROC", "/proc", "cpuinfo");
    char           line[256];
    struct utsname system;

    while (in && fgets(line, sizeof line, in)) {
        f->cores += !strncmp(line, "processor", 9);
        if (!f->cpu[0])
            take_value(line, "model name", f->cpu, sizeof f->cpu);
    }
    if (in)
        fclose(in);
    if (!f->cores)
        f->cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!f->cpu[0] && !uname(&system)) /* other architectures do not name it */
        snprintf(f->cpu, sizeof f->cpu, "%.60s", system.machine);
}

static void find_memory(rank_facts *f)
{
    FILE *in = open_system("LAYERMETER_PROC", "/proc", "meminfo");
    char  line[256], text[64];

    while (in && fgets(line, sizeof line, in))
        if (take_value(line, "MemTotal", text, sizeof text))
            f->memory_kib = strtoll(text, NULL, 10);
    if (in)
        fclose(in);
}

static void find_allowed(rank_facts *f)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set))
        return;
    for (int c = 0; c < FACTS_CORES && c < CPU_SETSIZE; c++)
        if (CPU_ISSET((size_t)c, &set))
            f->allowed[c / 64] |= UINT64_C(1) << c % 64;
}

static bool has(const uint64_t *set, long i)
{
    return set[i / 64] >> i % 64 & 1;
}

static void print_set(const uint64_t *set, int n, char *buffer, size_t size)
{
    size_t used = 0;

    buffer[0] = '\0';
    for (int c = 0; c < n; c++) {
        int last = c;

        if (!has(set, c))
            continue;
        while (last + 1 < n && has(set, last + 1))
            last++;
        if (used < size)
            used += (size_t)snprintf(buffer + used, size - used, "%s%d", used ? "," : "", c);
        if (used < size && last > c)
            used += (size_t)snprintf(buffer + used, size - used, "-%d", last);
        c = last;
    }
}

void facts_print_cores(const uint64_t *allowed, char *buffer, size_t size)
{
    print_set(allowed, FACTS_CORES, buffer, size);
}

int facts_count_cores(const uint64_t *allowed)
{
    int n = 0;

    for (int c = 0; c < FACTS_CORES; c++)
        n += has(allowed, c);
    return n;
}

/* A list of cores, "0-3,8". */
static void read_list(const char *list, uint64_t *set)
{
    while (*list >= '0' && *list <= '9') {
        char      *end;
        const long from = strtol(list, &end, 10);
        const long to   = *end == '-' ? strtol(end + 1, &end, 10) : from;

        for (long c = from; c <= to && c < FACTS_CORES; c++)
            set[c / 64] |= UINT64_C(1) << c % 64;
        list = end + (*end == ',');
    }
}

bool facts_cores_meet(const uint64_t *a, const uint64_t *b)
{
    bool any = false;

    for (int i = 0; i < FACTS_CORES / 64; i++)
        any |= (a[i] & b[i]) != 0;
    return any;
}

static void read_cores(const char *name, uint64_t *set)
{
    FILE *in = open_system("LAYERMETER_SYS", "/sys", name);
    char  list[512];

    if (in && fgets(list, sizeof list, in))
        read_list(list, set);
    if (in)
        fclose(in);
}

static void find_numa(rank_facts *f)
{
    uint64_t nodes[1] = { 0 };

    for (int node = 0; node < 64; node++) {
        uint64_t of[FACTS_CORES / 64] = { 0 };
        char     name[64];

        snprintf(name, sizeof name, "device/system/node/node%d/cpulist", node);
        read_cores(name, of);
        if (facts_cores_meet(of, f->allowed))
            nodes[0] |= UINT64_C(1) << node;
    }
    print_set(nodes, 64, f->numa, sizeof f->numa);
}

/* ---- software ---- */

enum { CHUNK = 65536 };

/* FNV-1a: tells builds apart, guards against nobody. */
static uint64_t hash(uint64_t seed, const void *bytes, size_t n)
{
    const unsigned char *b = bytes;

    for (size_t i = 0; i < n; i++)
        seed = (seed ^ b[i]) * UINT64_C(1099511628211);
    return seed;
}

static const uint64_t empty = UINT64_C(14695981039346656037);

/* Names of equal devices, their slots, and momentary values are no difference. */
static bool distinguishes(const char *key)
{
    static const char *const momentary[] = { "gpu_clock", "gpu_memory_clock", "gpu_temperature",
                                             "gpu_clock_held_down_by", "gpu_peer_access" };
    const size_t             n           = strlen(key);

    for (size_t i = 0; i < sizeof momentary / sizeof momentary[0]; i++)
        if (!strcmp(key, momentary[i]))
            return false;
    return n <= 3 || strcmp(key + n - 3, "_id") != 0;
}

/* Linux writes addresses in small letters. */
static void find_near(const char *bus_id, rank_facts *f)
{
    char name[96];

    snprintf(name, sizeof name, "bus/pci/devices/%.32s/local_cpulist", bus_id);
    for (char *c = name; *c; c++)
        if (*c >= 'A' && *c <= 'F')
            *c = (char)(*c - 'A' + 'a');
    read_cores(name, f->near);
}

static void add_device(void *context, const char *key, const char *value)
{
    rank_facts  *f = context;
    const size_t n = strlen(value);
    char        *to;

    if (!strcmp(key, "gpu_bus_id"))
        find_near(value, f);
    if (f->n_devices == FACTS_DEVICES || !distinguishes(key))
        return;
    to = f->device[f->n_devices].value;
    snprintf(f->device[f->n_devices].key, sizeof f->device[0].key, "%s", key);
    if (n < sizeof f->device[0].value)
        strcpy(to, value);
    else /* the part that is cut off may differ */
        snprintf(to, sizeof f->device[0].value, "%.70s... (%016" PRIx64 ")", value,
                 hash(empty, value, n));
    f->n_devices++;
}

static uint64_t hash_file(const char *path)
{
    FILE         *in = fopen(path, "rb");
    unsigned char chunk[CHUNK];
    uint64_t      sum = empty;
    size_t        n;

    while (in && (n = fread(chunk, 1, sizeof chunk, in)) > 0)
        sum = hash(sum, chunk, n);
    if (in)
        fclose(in);
    return sum;
}

/* Each file once, independent of the order in the folders. */
static uint64_t hash_plugins(const registry *reg)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < registry_count(reg); i++) {
        const char *file = registry_at(reg, i)->origin;
        bool        seen = false;

        for (size_t j = 0; j < i && !seen; j++)
            seen = !strcmp(file, registry_at(reg, j)->origin);
        if (!seen)
            sum += hash_file(file);
    }
    return sum;
}

/* Hash of the points, not of the file: counts of the networks belong to it, comments do not. */
static uint64_t hash_sweep(const sweep *s)
{
    const double limit[] = { (double)s->stop.warmup,      (double)s->stop.min_repeats,
                             (double)s->stop.max_repeats, s->stop.max_seconds,
                             s->stop.precision,           (double)s->threads };
    uint64_t     sum     = hash(empty, limit, sizeof limit);
    char         key[1200];

    for (size_t i = 0; i < s->n_points; i++) {
        const sweep_point *p         = &s->point[i];
        const uint64_t     counted[] = { p->counts.flops_forward, p->counts.flops_backward,
                                         p->counts.read_bytes, p->counts.param_bytes };

        observation_key(&p->row, key, sizeof key);
        sum = hash(sum, key, strlen(key));
        sum = hash(sum, counted, sizeof counted);
    }
    return sum;
}

void facts_find(const bench *b, rank_facts *out)
{
    memset(out, 0, sizeof *out);
    gethostname(out->host, sizeof out->host - 1);
    find_cpu(out);
    find_memory(out);
    find_allowed(out);
    find_numa(out);
    out->threads        = b->plan->threads;
    out->gpu_collective = b->collective && b->collective->type->on_gpu;
    b->compute->type->describe(b->compute, add_device, out);
    if (b->collective)
        b->collective->type->describe(b->collective, add_device, out);
    snprintf(out->build, sizeof out->build, "%s", LAYERMETER_VERSION ", " LAYERMETER_COMPILER);
    out->program = hash_file("/proc/self/exe");
    out->plugins = hash_plugins(b->reg);
    out->sweep   = hash_sweep(b->plan);
}

/* ---- the highest clock ---- */

/* Clock of the GPU by its backend ("1980 MHz"), or of the CPU by the system ("800 to 3600 MHz"). */
static void find_top(void *context, const char *key, const char *value)
{
    double     *top   = context;
    const char *range = strstr(value, " to ");

    if (!strcmp(key, "gpu_clock_max") || !strcmp(key, "cpu_clock_range"))
        *top = strtod(range ? range + 4 : value, NULL);
}

lm_status facts_check_clock(const bench *b, lm_error *err)
{
    const double wanted = (double)b->plan->clock_mhz;
    double       top    = 0;

    if (!b->plan->clock_mhz || b->compute->type->virtual)
        return LM_OK;
    if (b->compute->type->state)
        b->compute->type->describe(b->compute, find_top, &top);
    else
        machine_describe_cpu(find_top, &top);
    if (top > 0 && wanted > top)
        return lm_error_set(err, LM_E_ARG,
                            "%s: clock: no clock of %.6g MHz: the highest of this device is %.6g "
                            "MHz",
                            b->plan->path, wanted, top);
    return LM_OK;
}
