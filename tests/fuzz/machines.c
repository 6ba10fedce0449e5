/* Machine files, devices, prices. */
#include "inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/device.h"
#include "machine/machine.h"
#include "plan/prices.h"

/* A machine file that is written can be read, and says the same. */
void check_saved(const calibration *cal)
{
    char         folder[] = "/tmp/layermeter-fuzz-XXXXXX", path[80];
    calibration *again    = NULL;
    lm_error     err      = { 0 };
    lm_status    status;

    check(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/machine.ini", folder);
    if ((status = machine_save(cal, path, &err))) { /* of times that nothing takes */
        check_refusal(status, &err);
        check(!rmdir(folder));
        return;
    }
    if (machine_load(path, &again, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    unlink(path);
    check(!rmdir(folder)); /* and nothing else in it */
    for (size_t f = 0; f < n_forms; f++) {
        check(cal->fitted[f].present == again->fitted[f].present);
        for (size_t k = 0; cal->fitted[f].present && k < forms[f].n_features; k++) {
            const coefficient *a = &cal->fitted[f].coefficient[k],
                              *b = &again->fitted[f].coefficient[k];

            check(a->value == b->value && a->determined == b->determined &&
                  a->at_bound == b->at_bound);
        }
    }
    calibration_free(again);
}

/* What a machine says of all-reduces: no time, or one that is the sum of its shares. */
static void check_allreduces(const calibration *cal)
{
    for (int64_t nodes = 1; nodes <= 4096; nodes *= 8)
        for (int64_t devices = 1; devices <= 8; devices *= 2) {
            const collective_call a   = { COLLECTIVE_ALLREDUCE, 3e6, nodes, devices, 1 };
            const double          t   = calibration_collective(cal, "counts", NULL, &a);
            double                sum = 0;
            collective_answer     found;
            lm_error              err = { 0 };
            lm_status             status;

            if (!calibration_asks(cal, "counts"))
                continue;
            if ((status = calibration_ask(cal, NULL, &a, &found, &err))) {
                check_refusal(status, &err);
                check(isnan(t));
                continue;
            }
            for (size_t i = 0; i < found.n; i++)
                sum += found.share[i].seconds;
            check(found.n <= COLLECTIVE_SHARES && found.n_beyond <= COLLECTIVE_NOTES);
            check(isinf(t) || fabs(sum - t) <= 1e-9 * t);
        }
}

/* Loads anywhere draw no more than the limit, and something. */
static void check_power(const power_model *m)
{
    static const power_load loads[] = {
        { .share = { 1, 0, 0 } },
        { .share = { 0, 1, 0 } },
        { .share = { 0, 0, 1 } },
        { .share = { 0.4, 0.3, 0.3 } },
    };

    for (size_t i = 0; power_known(m) && i < sizeof loads / sizeof loads[0]; i++) {
        const power_state s = power_usual(m, &loads[i]);

        check(s.watts >= 0 && !(s.watts > m->cap_w * (1 + 1e-9)));
        check(!power_clocks_known(m) || s.mhz <= m->top_mhz * (1 + 1e-9));
    }
}

bool fuzz_machine(const uint8_t *data, size_t size)
{
    memory_file  f      = file_of(data, size);
    calibration *cal    = NULL;
    lm_error     err    = { 0 };
    lm_status    status = machine_load(f.path, &cal, &err);

    close(f.fd);
    if (status)
        check_refusal(status, &err);
    else {
        check_allreduces(cal);
        check_saved(cal);
    }
    if (!status && cal->power)
        check_power(cal->power);
    calibration_free(cal);
    return !status;
}

bool fuzz_devices(const uint8_t *data, size_t size)
{
    memory_file   f      = file_of(data, size);
    device_list  *list   = NULL;
    const device *found  = NULL;
    lm_error      err    = { 0 };
    lm_status     status = devices_load(f.path, &list, &err);

    close(f.fd);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    for (size_t i = 0; i < list->n; i++) {
        check(!devices_find(list, list->device[i].name, &found, &err) && found == &list->device[i]);
        for (int k = 0; k < N_DEVICE_FIGURES; k++)
            check(isnan(found->figure[k]) ||
                  (isfinite(found->figure[k]) &&
                   (found->figure[k] > 0 || (device_keys[k].may_lack && found->figure[k] == 0))));
    }
    if ((status = devices_find(list, "anything", &found, &err)))
        check_refusal(status, &err);
    devices_free(list);
    return true;
}

bool fuzz_prices(const uint8_t *data, size_t size)
{
    memory_file  f      = file_of(data, size);
    price_list  *list   = NULL;
    const price *found  = NULL;
    lm_error     err    = { 0 };
    lm_status    status = prices_load(f.path, &list, &err);
    money        hour;

    close(f.fd);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    for (size_t i = 0; i < list->n; i++) {
        if ((status = prices_find(list, list->price[i].name, &found, &err)))
            check_refusal(status, &err); /* a name without letters is none */
        for (price_tier t = PRICE_LIST; t < N_PRICE_TIERS; t++) {
            if ((status = price_of_node(&list->price[i], t, 1, &hour, &err)))
                check_refusal(status, &err);
            else
                check(isfinite(hour.amount) && hour.amount > 0 && currency_known(hour.currency));
        }
    }
    for (size_t i = 0; i < list->rates.n; i++) {
        const exchange_rate *r = &list->rates.rate[i];

        check(!exchange_to(&list->rates, &(money){ 1, "USD" }, "USD", &hour, &err));
        if ((status = exchange_to(&list->rates, &r->worth, r->of, &hour, &err)))
            check_refusal(status, &err);
    }
    prices_free(list);
    return true;
}
