/* Layouts per second of one core, each with its bytes and seconds: a whole search of a network on so many
 * ranks, what layers take among it, and searches whose layers are priced already. Lines "NAME VALUE".
 * usage: layouts NETWORK MACHINE RANKS DEVICES GLOBAL_BATCH ROUNDS */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "layers/loader.h"
#include "machine/machine.h"
#include "plan/layout_tables.h"

#define PARTS_MAX 4096
#define BEST      5

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Parts by themselves are asked for once. */
typedef struct memo {
    layout_prices of;
    struct {
        net_shard           shard;
        int64_t             micro_batch;
        const layout_parts *parts;
        lm_status           status;
    } known[PARTS_MAX];
    size_t n;
} memo;

static lm_status parts(void *by, const net_shard *shard, int64_t micro_batch,
                       const layout_parts **out, lm_error *err)
{
    memo  *m = by;
    size_t i = 0;

    while (i < m->n &&
           !(shard_equals(&m->known[i].shard, shard) && m->known[i].micro_batch == micro_batch))
        i++;
    if (i == PARTS_MAX)
        return lm_error_set(err, LM_E_NOMEM, "more than %d parts", PARTS_MAX);
    if (i == m->n) {
        m->known[i].shard       = *shard;
        m->known[i].micro_batch = micro_batch;
        m->known[i].status = m->of.parts(m->of.by, shard, micro_batch, &m->known[i].parts, err);
        m->n++;
    }
    *out = m->known[i].parts;
    return m->known[i].status;
}

static double message_seconds(void *by, collective_kind kind, double bytes, const rank_span *group)
{
    const memo *m = by;

    return m->of.message(m->of.by, kind, bytes, group);
}

static lm_status bytes(void *by, const layout *l, double *out, lm_error *err)
{
    const memo *m = by;

    return m->of.bytes(m->of.by, l, out, err);
}

static lm_status search(memo *m, const layout_question *q, int rounds, lm_error *err)
{
    const layout_prices prices = { m, parts, message_seconds, bytes };
    double              begin = now(), least = INFINITY;
    layout_search       s;
    struct rusage       used;
    lm_status           status = layouts_find(q, &prices, &s, err);

    if (status)
        return status;
    printf(
        "whole_search_s %.3f\nlayouts %zu\nthat_do_not_fit %zu\nlayouts_timed %zu\npipelines_run %zu\n"
        "parts_priced %zu\nparts_bounded %zu\n",
        now() - begin, s.looked_at, s.too_large, s.priced, s.run, m->n, s.bounded);
    for (int i = 0; i < rounds && !status; i++) {
        layouts_free(&s);
        begin  = now();
        status = layouts_find(q, &prices, &s, err);
        least  = fmin(least, now() - begin);
    }
    getrusage(RUSAGE_SELF, &used);
    printf("priced_search_s %.4f\nlayouts_per_s %.0f\nmost_resident_MiB %.1f\n", least,
           (double)s.looked_at / least, (double)used.ru_maxrss / 1024);
    layouts_free(&s);
    return status;
}

static lm_status run(char **argv, const registry *reg, const network *net, const predictor *who,
                     lm_error *err)
{
    const step_setup setup = {
        .batch = 1, .nodes = 1, .devices = atoll(argv[4]), .optimizer = OPTIMIZER_ADAM
    };
    layout_question q     = { .ranks            = atoll(argv[3]),
                              .devices          = setup.devices,
                              .global_batch     = atoll(argv[5]),
                              .most_micro_batch = 16,
                              .room             = 80e9,
                              .best             = BEST };
    layout_tables  *t     = NULL;
    memo           *m     = calloc(1, sizeof *m);
    double          begin = now();
    lm_status       status;

    if (!m)
        return LM_E_NOMEM;
    status = layout_tables_new(who, net, reg, &setup, &t, err);
    if (!status) {
        printf("network_bound_s %.3f\n", now() - begin);
        layout_tables_ask(t, q.ranks, &q);
        m->of  = layout_tables_prices(t);
        status = search(m, &q, atoi(argv[6]), err);
    }
    layout_tables_free(t);
    free(m);
    return status;
}

int main(int argc, char **argv)
{
    lm_error     err   = { LM_OK, "" };
    registry    *reg   = NULL;
    workloads   *loads = NULL;
    calibration *cal   = NULL;
    network     *net   = NULL;

    if (argc != 7)
        return 2;
    if (!registry_new(&reg, &err) && !loader_open_all(reg, NULL, 0, &err) &&
        !workloads_new(reg, &loads, &err) && !machine_load(argv[2], &cal, &err) &&
        !network_open(argv[1], reg, NULL, &net, &err)) {
        predictor who = {
            .cal = cal, .loads = loads, .model = "layermeter", .network = argv[1], .dtype = LM_BF16
        };

        if (!predictor_open(&who, &(model_source){ .device = NULL }, &err))
            run(argv, reg, net, &who, &err);
        predictor_close(&who);
    }
    if (err.code)
        fprintf(stderr, "%s\n", err.text);
    network_free(net);
    workloads_free(loads);
    calibration_free(cal);
    registry_free(reg);
    return err.code ? 1 : 0;
}
