/* Failures and checkpoints. */
#include "plan/failures.h"

#include <math.h>

double failures_interval(double checkpoint, double mtbf)
{
    const double share = checkpoint / (2 * mtbf), root = sqrt(share);

    if (!(checkpoint < 2 * mtbf))
        return mtbf;
    return sqrt(2 * checkpoint * mtbf) * (1 + root / 3 + share / 9) - checkpoint;
}

failure_cost failures_of_run(const failure_model *f, int64_t devices, double seconds)
{
    const double mtbf = f->mtbf / (double)devices;
    failure_cost c    = { seconds, seconds, 0 };

    if (!(f->mtbf > 0) || isnan(seconds))
        return c;
    c.every = fmin(failures_interval(f->checkpoint, mtbf), seconds);
    /* work between checkpoints is repeated until no failure interrupts it */
    c.seconds =
        mtbf * exp(f->restart / mtbf) * expm1((c.every + f->checkpoint) / mtbf) * seconds / c.every;
    c.failures = c.seconds / mtbf;
    return c;
}
