/* The host of an eager framework: closed forms beside the recurrence, operations by hand. */
#include "nets.h"

#include "program/host_clock.h"

/* Lindley's recurrence, operation by operation. */
static void walk(double *host, double *device, double each, int operations, double seconds)
{
    for (int i = 0; i < operations; i++) {
        *host += each;
        *device = fmax(*device, *host) + seconds / operations;
    }
}

static void a_queue_ends_where_the_recurrence_does(void **state)
{
    static const double each[] = { 1e-6, 1e-5, 2e-5, 1e-4 };
    static const double busy[] = { 0, 1e-5, 1e-4, 1e-3, 1e-2 };

    (void)state;
    for (size_t e = 0; e < sizeof each / sizeof *each; e++)
        for (size_t a = 0; a < sizeof busy / sizeof *busy; a++)
            for (size_t b = 0; b < sizeof busy / sizeof *busy; b++) {
                host_clock c    = { 0, 0 };
                double     host = 0, device = 0, before;

                walk(&host, &device, each[e], 10, busy[a]);
                assert_close(host_pass(&c, true, (host_work){ 10, 10 * each[e] }, busy[a]), device,
                             1e-12);
                before = device;
                walk(&host, &device, each[e], 25, busy[b]);
                assert_close(host_pass(&c, true, (host_work){ 25, 25 * each[e] }, busy[b]),
                             device - before, 1e-12);
                assert_close(c.host, 35 * each[e], 1e-12);
            }
}

/* Ten operations of 10 us: a device that takes 1 ms waits for the first alone, one that takes 20 us
 * for each: 100 us until the last is issued, and 2 us of work. */
static void the_slower_of_the_two_tells_the_time(void **state)
{
    const host_work ten = { 10, 1e-4 };
    host_clock      c   = { 0, 0 };

    (void)state;
    assert_close(host_pass(&c, true, ten, 1e-3), 1.01e-3, 1e-15);
    /* the host ran ahead by 910 us: the next pass is the device's alone */
    assert_close(host_pass(&c, true, ten, 2e-5), 2e-5, 1e-15);
    c = (host_clock){ 0, 0 };
    assert_close(host_pass(&c, true, ten, 2e-5), 1.02e-4, 1e-15);
    assert_close(host_pass(&c, true, (host_work){ 0 }, 5e-6), 5e-6, 1e-15);
}

static void a_processor_does_both_in_turn(void **state)
{
    host_clock c = { 0, 0 };

    (void)state;
    assert_close(host_pass(&c, false, (host_work){ 10, 1e-4 }, 1e-3), 1.1e-3, 1e-15);
    assert_close(host_pass(&c, false, (host_work){ 4, 4e-5 }, 2e-5), 6e-5, 1e-15);
    assert_close(c.device, 1.16e-3, 1e-15);
}

static void operations_are_those_that_a_framework_calls(void **state)
{
    bound_text m =
        nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 3x8x8\n"
                  "[conv]\ntype = conv2d\nfilters = 4\nkernel = 3\n"
                  "[relu]\ntype = relu\n[conv2]\ntype = conv2d\nfilters = 4\nkernel = 3\n"
                  "bias = no\n",
                  2);
    const host_time each = { 0 }, at_once = { .foreach = true };
    host_operations n = host_operations_of(m.bound, OPTIMIZER_MOMENTUM, &each);

    (void)state;
    assert_close(n.n[HOST_FORWARD], 3, 0);
    /* both gradients of conv2 at once, relu's, conv's weights' */
    assert_close(n.n[HOST_BACKWARD], 1 + 1 + 1, 0);
    assert_close(n.n[HOST_UPDATE], 3 * 3, 0); /* two weights and a bias: mul_, add_, add_ */
    assert_close(host_operations_of(m.bound, OPTIMIZER_SGD, &each).n[HOST_UPDATE], 3, 0);
    assert_close(host_operations_of(m.bound, OPTIMIZER_MOMENTUM, &at_once).n[HOST_UPDATE], 3, 0);
    nets_free(&m);
}

/* Batch norm of 4 channels, 2 samples: 8 planes each way. Operations of 10, 5 and 2 us, planes of
 * 0.5 us: 2 x 10 + 8 x 0.5 us, 2 x 5 + 8 x 0.5 us, 4 x 2 us. */
static void a_norm_adds_its_planes(void **state)
{
    bound_text      m = nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 3x8x8\n"
                                       "[conv]\ntype = conv2d\nfilters = 4\nkernel = 3\n"
                                       "[bn]\ntype = batch_norm\n",
                                  2);
    const host_time h = { .seconds = { 1e-5, 5e-6, 2e-6 }, .plane = 5e-7 };
    host_operations n = host_operations_of(m.bound, OPTIMIZER_SGD, &h);

    (void)state;
    assert_close(host_work_of(&h, &n, HOST_FORWARD).operations, 2, 0);
    assert_close(host_work_of(&h, &n, HOST_FORWARD).seconds, 2.4e-5, 1e-15);
    assert_close(host_work_of(&h, &n, HOST_BACKWARD).seconds, 1.4e-5, 1e-15);
    assert_close(host_work_of(&h, &n, HOST_UPDATE).seconds, 8e-6, 1e-15);
    nets_free(&m);
}

/* conv, norm and relu, and nothing behind them. */
static void a_network_in_evaluation_mode_has_inference_alone(void **state)
{
    bound_text m =
        nets_bind_with("[network]\nname = n\n[x]\ntype = input\nshape = 3x8x8\n"
                       "[conv]\ntype = conv2d\nfilters = 4\nkernel = 3\n"
                       "[ln]\ntype = layer_norm\n[relu]\ntype = relu\n",
                       &(bind_options){ .batch = 2, .dtype = LM_F32, .evaluation = true });
    const host_time h = { 0 };
    host_operations n = host_operations_of(m.bound, OPTIMIZER_MOMENTUM, &h);

    (void)state;
    assert_close(n.n[HOST_INFERENCE], 3, 0);
    for (host_part k = HOST_FORWARD; k < HOST_INFERENCE; k++) {
        assert_close(n.n[k], 0, 0);
        assert_close(n.planes[k], 0, 0);
    }
    nets_free(&m);
}

/* Five operations of 4 us, or of the forward pass's 10 where inference was not measured. */
static void inference_that_was_not_measured_takes_the_time_of_the_forward_pass(void **state)
{
    const host_operations n = { .n = { [HOST_INFERENCE] = 5 } };
    host_time             h = { .seconds = { 1e-5, 5e-6, 2e-6 } };

    (void)state;
    assert_true(host_assumes(&h, HOST_INFERENCE));
    assert_false(host_assumes(&h, HOST_UPDATE));
    assert_close(host_work_of(&h, &n, HOST_INFERENCE).operations, 5, 0);
    assert_close(host_work_of(&h, &n, HOST_INFERENCE).seconds, 5e-5, 1e-15);
    h.seconds[HOST_INFERENCE] = 4e-6;
    assert_false(host_assumes(&h, HOST_INFERENCE));
    assert_close(host_work_of(&h, &n, HOST_INFERENCE).seconds, 2e-5, 1e-15);
    assert_close(host_seconds(&h, HOST_FORWARD), 1e-5, 1e-18);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_ends_where_the_recurrence_does),
        cmocka_unit_test(the_slower_of_the_two_tells_the_time),
        cmocka_unit_test(a_processor_does_both_in_turn),
        cmocka_unit_test(operations_are_those_that_a_framework_calls),
        cmocka_unit_test(a_norm_adds_its_planes),
        cmocka_unit_test(a_network_in_evaluation_mode_has_inference_alone),
        cmocka_unit_test(inference_that_was_not_measured_takes_the_time_of_the_forward_pass),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
