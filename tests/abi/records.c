/* Sizes and offsets of the records of layermeter.h on LP64. A program that was built before has these: append to a record
 * (its size grows here), never move what is there. */
#include <assert.h>
#include <stddef.h>

#include <layermeter/layermeter.h>

#define SIZE(type, bytes)       static_assert(sizeof(type) == (bytes), "size of " #type)
#define AT(type, member, bytes) static_assert(offsetof(type, member) == (bytes), #type "." #member)

SIZE(lm_bounded, 24);
AT(lm_bounded, value, 0);
AT(lm_bounded, low, 8);
AT(lm_bounded, high, 16);

SIZE(lm_library_options, 48);
AT(lm_library_options, size, 0);
AT(lm_library_options, plugin, 8);
AT(lm_library_options, n_plugins, 16);
AT(lm_library_options, folder, 24);
AT(lm_library_options, n_folders, 32);
AT(lm_library_options, devices, 40);

SIZE(lm_network_options, 64);
AT(lm_network_options, size, 0);
AT(lm_network_options, set, 8);
AT(lm_network_options, n_set, 16);
AT(lm_network_options, treat, 24);
AT(lm_network_options, n_treat, 32);
AT(lm_network_options, ignore, 40);
AT(lm_network_options, n_ignore, 48);
AT(lm_network_options, strict, 56);
AT(lm_network_options, reserved, 60);

SIZE(lm_input, 40);
AT(lm_input, size, 0);
AT(lm_input, batch, 8);
AT(lm_input, shape, 16);
AT(lm_input, image, 24);
AT(lm_input, dtype, 32);
AT(lm_input, reserved, 36);

SIZE(lm_counts, 104);
AT(lm_counts, size, 0);
AT(lm_counts, params, 8);
AT(lm_counts, param_tensors, 16);
AT(lm_counts, param_bytes, 24);
AT(lm_counts, layers, 32);
AT(lm_counts, macs, 40);
AT(lm_counts, flops_forward, 48);
AT(lm_counts, flops_backward, 56);
AT(lm_counts, other_flops_forward, 64);
AT(lm_counts, other_flops_backward, 72);
AT(lm_counts, activation_bytes, 80);
AT(lm_counts, read_bytes, 88);
AT(lm_counts, written_bytes, 96);

SIZE(lm_memory_options, 48);
AT(lm_memory_options, size, 0);
AT(lm_memory_options, optimizer, 8);
AT(lm_memory_options, recompute, 16);
AT(lm_memory_options, nodes, 24);
AT(lm_memory_options, overhead, 32);
AT(lm_memory_options, mixed, 40);
AT(lm_memory_options, flags, 44);

SIZE(lm_memory, 144);
AT(lm_memory, size, 0);
AT(lm_memory, peak, 8);
AT(lm_memory, weights, 16);
AT(lm_memory, frozen, 24);
AT(lm_memory, copies, 32);
AT(lm_memory, gradients, 40);
AT(lm_memory, buckets, 48);
AT(lm_memory, optimizer, 56);
AT(lm_memory, inputs, 64);
AT(lm_memory, activations, 72);
AT(lm_memory, saved, 80);
AT(lm_memory, backward, 88);
AT(lm_memory, workspace, 96);
AT(lm_memory, overhead, 104);
AT(lm_memory, kept, 112);
AT(lm_memory, layer, 120);
AT(lm_memory, pass, 128);
AT(lm_memory, cache, 136);

SIZE(lm_machine_options, 40);
AT(lm_machine_options, size, 0);
AT(lm_machine_options, path, 8);
AT(lm_machine_options, device, 16);
AT(lm_machine_options, interconnect, 24);
AT(lm_machine_options, dtype, 32);
AT(lm_machine_options, reserved, 36);

SIZE(lm_predictor_options, 96);
AT(lm_predictor_options, size, 0);
AT(lm_predictor_options, shape, 8);
AT(lm_predictor_options, image, 16);
AT(lm_predictor_options, device, 24);
AT(lm_predictor_options, optimizer, 32);
AT(lm_predictor_options, bandwidth, 40);
AT(lm_predictor_options, latency, 48);
AT(lm_predictor_options, scheme, 56);
AT(lm_predictor_options, ppp_comp, 64);
AT(lm_predictor_options, ppp_comm, 72);
AT(lm_predictor_options, dtype, 80);
AT(lm_predictor_options, mixed, 84);
AT(lm_predictor_options, framework, 88);

SIZE(lm_step, 64);
AT(lm_step, size, 0);
AT(lm_step, batch, 8);
AT(lm_step, nodes, 16);
AT(lm_step, devices, 24);
AT(lm_step, accumulation, 32);
AT(lm_step, sync, 40);
AT(lm_step, gradients, 48);
AT(lm_step, inference, 52);
AT(lm_step, layout, 56);

SIZE(lm_answer, 408);
AT(lm_answer, size, 0);
AT(lm_answer, forward, 8);
AT(lm_answer, backward, 32);
AT(lm_answer, sync, 56);
AT(lm_answer, grad, 80);
AT(lm_answer, step, 104);
AT(lm_answer, exposed, 128);
AT(lm_answer, copy, 136);
AT(lm_answer, straggler, 144);
AT(lm_answer, update, 152);
AT(lm_answer, samples_per_second, 160);
AT(lm_answer, measured, 168);
AT(lm_answer, interpolated, 176);
AT(lm_answer, extrapolated, 184);
AT(lm_answer, assumed, 192);
AT(lm_answer, messages, 200);
AT(lm_answer, beyond, 208);

SIZE(lm_part, 88);
AT(lm_part, size, 0);
AT(lm_part, name, 8);
AT(lm_part, type, 16);
AT(lm_part, seconds, 24);
AT(lm_part, forward, 32);
AT(lm_part, backward, 40);
AT(lm_part, grad, 48);
AT(lm_part, bound, 56);
AT(lm_part, unit, 64);
AT(lm_part, count, 72);
AT(lm_part, coefficient, 80);

SIZE(lm_scaling, 40);
AT(lm_scaling, size, 0);
AT(lm_scaling, step, 8);
AT(lm_scaling, global_batch, 16);
AT(lm_scaling, dataset, 24);
AT(lm_scaling, kind, 32);
AT(lm_scaling, reserved, 36);

SIZE(lm_point, 176);
AT(lm_point, size, 0);
AT(lm_point, nodes, 8);
AT(lm_point, devices, 16);
AT(lm_point, batch, 24);
AT(lm_point, accumulation, 32);
AT(lm_point, global_batch, 40);
AT(lm_point, idle, 48);
AT(lm_point, step, 56);
AT(lm_point, exposed, 80);
AT(lm_point, samples_per_second, 88);
AT(lm_point, speedup, 112);
AT(lm_point, efficiency, 120);
AT(lm_point, epoch_seconds, 144);
AT(lm_point, steps_per_epoch, 152);
AT(lm_point, bottleneck, 160);
AT(lm_point, bottleneck_share, 168);

SIZE(lm_run, 136);
AT(lm_run, size, 0);
AT(lm_run, step, 8);
AT(lm_run, nodes, 16);
AT(lm_run, n_nodes, 24);
AT(lm_run, batch, 32);
AT(lm_run, n_batches, 40);
AT(lm_run, global_batch, 48);
AT(lm_run, epochs, 56);
AT(lm_run, dataset, 64);
AT(lm_run, evaluate, 72);
AT(lm_run, startup, 80);
AT(lm_run, deadline, 88);
AT(lm_run, budget, 96);
AT(lm_run, price, 104);
AT(lm_run, memory, 112);
AT(lm_run, overhead, 120);
AT(lm_run, goal, 128);
AT(lm_run, reserved, 132);

SIZE(lm_plan, 136);
AT(lm_plan, size, 0);
AT(lm_plan, nodes, 8);
AT(lm_plan, batch, 16);
AT(lm_plan, accumulation, 24);
AT(lm_plan, global_batch, 32);
AT(lm_plan, steps, 40);
AT(lm_plan, step, 48);
AT(lm_plan, seconds, 72);
AT(lm_plan, device_hours, 96);
AT(lm_plan, cost, 104);
AT(lm_plan, n_plans, 128);

SIZE(lm_layout_question, 48);
AT(lm_layout_question, size, 0);
AT(lm_layout_question, step, 8);
AT(lm_layout_question, global_batch, 16);
AT(lm_layout_question, most_batch, 24);
AT(lm_layout_question, memory, 32);
AT(lm_layout_question, overhead, 40);

SIZE(lm_layout, 552);
AT(lm_layout, size, 0);
AT(lm_layout, words, 8);
AT(lm_layout, batch, 456);
AT(lm_layout, accumulation, 464);
AT(lm_layout, step, 472);
AT(lm_layout, compute, 496);
AT(lm_layout, tensor, 504);
AT(lm_layout, pipeline, 512);
AT(lm_layout, data, 520);
AT(lm_layout, update, 528);
AT(lm_layout, memory, 536);
AT(lm_layout, tie, 544);

SIZE(lm_device, 152);
AT(lm_device, size, 0);
AT(lm_device, name, 8);
AT(lm_device, memory, 88);
AT(lm_device, bandwidth, 96);
AT(lm_device, power, 104);
AT(lm_device, f32, 112);
AT(lm_device, tf32, 120);
AT(lm_device, f16, 128);
AT(lm_device, bf16, 136);
AT(lm_device, f8, 144);

SIZE(lm_price, 128);
AT(lm_price, size, 0);
AT(lm_price, section, 8);
AT(lm_price, date, 88);
AT(lm_price, currency, 104);
AT(lm_price, list, 112);
AT(lm_price, spot, 120);

static_assert(LM_MEMORY_FORWARD_ONLY == 1 && LM_MEMORY_KEEP_GRADIENTS == 2 &&
                  LM_MEMORY_INPLACE == 4 && LM_MEMORY_BUCKET_VIEWS == 8,
              "flags of memory");
static_assert(LM_SCALING_WEAK == 0 && LM_SCALING_STRONG == 1 && LM_SCALING_GLOBAL == 2,
              "kinds of scaling");
static_assert(LM_GOAL_NODES == 0 && LM_GOAL_COST == 1 && LM_GOAL_TIME == 2, "goals");
static_assert(LM_BEYOND_TEXT == 200 && LM_LAYOUT_TEXT == 448 && LM_NAME_TEXT == 80, "texts");

int main(void)
{
    return 0;
}
