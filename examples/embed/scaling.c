/* Prints how a network scales over nodes, by a machine file of `layermeter fit`. */
#include <stdio.h>
#include <string.h>

#include <layermeter/layermeter.h>

#define N_NODES 7

static const int64_t nodes[N_NODES] = { 1, 2, 4, 8, 16, 32, 64 };

static void print_curve(const lm_point *point)
{
    printf("%5s %12s %12s %10s  %s\n", "nodes", "step [ms]", "samples/s", "efficiency",
           "most of it");
    for (int i = 0; i < N_NODES; i++)
        printf("%5d %12.2f %12.1f %10.3f  %s\n", (int)point[i].nodes, 1e3 * point[i].step.value,
               point[i].samples_per_second.value, point[i].efficiency.value, point[i].bottleneck);
}

static lm_status predict_curve(lm_predictor *predictor, lm_error *err)
{
    const lm_step step = lm_step_of(32, 1); /* 32 samples of each device */
    lm_scaling    weak;
    lm_point      point[N_NODES];
    lm_status     status;

    memset(&weak, 0, sizeof weak);
    weak.size     = sizeof weak;
    weak.step     = &step;
    point[0].size = sizeof point[0];
    status        = lm_scale(predictor, &weak, nodes, N_NODES, point, err);
    if (!status)
        print_curve(point);
    return status;
}

int main(int argc, char **argv)
{
    lm_library          *library   = NULL;
    lm_network          *network   = NULL;
    lm_machine          *machine   = NULL;
    lm_predictor        *predictor = NULL;
    lm_predictor_options link;
    lm_error             err;
    lm_status            status;

    if (argc != 3) {
        fprintf(stderr, "usage: scaling NETWORK MACHINE.ini\n");
        return 2;
    }
    memset(&link, 0, sizeof link);
    link.size      = sizeof link;
    link.bandwidth = 1.25e9; /* bytes/s: nodes are connected by 10 Gbit/s */
    if ((status = lm_library_open(NULL, &library, &err)) ||
        (status = lm_network_open(library, argv[1], NULL, &network, &err)) ||
        (status = lm_machine_open(argv[2], &machine, &err)) ||
        (status = lm_predictor_open(library, machine, network, NULL, &link, &predictor, &err)) ||
        (status = predict_curve(predictor, &err)))
        fprintf(stderr, "scaling: %s\n", err.text);
    lm_predictor_close(predictor);
    lm_machine_close(machine);
    lm_network_close(network);
    lm_library_close(library);
    return status ? 1 : 0;
}
