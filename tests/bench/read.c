/* Reads a file of observations, and nothing else: what a fit's time is compared with. */
#include <stdio.h>

#include "observe/observation.h"

int main(int n, char **argument)
{
    observations *obs = NULL;
    lm_error      err = { 0 };

    if (n != 2) {
        fprintf(stderr, "usage: bench_read OBSERVATIONS.csv\n");
        return 2;
    }
    if (observations_load(argument[1], &obs, &err)) {
        fprintf(stderr, "bench_read: %s\n", err.text);
        return 1;
    }
    printf("%zu rows\n", obs->n_rows);
    observations_free(obs);
    return 0;
}
