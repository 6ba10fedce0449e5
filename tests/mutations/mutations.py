"""The mutations: what is changed, and the test that must notice."""
import collections

Mutation = collections.namedtuple("Mutation", "name file old new kind test")

MUTATIONS = [
    # what is left out leaks into what judges it
    Mutation("leak_singles", "core/fit/singles.c", "l->in[i] = fold_in(f, t->point[i]);", "l->in[i] = l->learn ? fold_in(f, t->point[i]) : true;", "cli",
             "validate_unseen_layers"),
    Mutation("leak_residual", "core/fit/singles.c", "l->in[i] = fold_in(f, t->point[i]);", "l->in[i] = l->learn || fold_in(f, t->point[i]);", "cli",
             "validate_unseen_layers"),
    Mutation("leak_composed", "core/fit/composed_points.c", "c->in[i] = row[i].seconds > 0 && (!t || fold_in(t, c->point[i]));",
             "c->in[i] = row[i].seconds > 0 && (!t || t->by);", "cli", "validate_unseen_networks"),
    Mutation("leak_runs", "core/crossgpu/held_out.c", "if (fold_in(t, i) && (h->leave", "if (t->by && (h->leave", "cli", "learn_unseen"),
    # files that are damaged
    Mutation("checksum_unread", "core/machine/machine.c", "return p ? checksum_check(", "return p && !digits ? checksum_check(", "unit", "machine_file"),
    Mutation("checksum_half", "core/base/checksum.c", "return add(add(BASIS, text, (size_t)(digits - text)), rest, strlen(rest));",
             "return rest ? add(BASIS, text, (size_t)(digits - text)) : 0;", "unit", "machine_file"),
    Mutation("checksum_line_ends", "core/base/checksum.c", "if (text[i] != '\\r' || text[i + 1] != '\\n')", "if (text[i])", "unit", "machine_file"),
    Mutation("plan_checksum", "core/watch/json/plan.c", "    if (!sum)\n", "    if (sum || !sum)\n", "unit", "watch"),
    Mutation("learned_checksum", "core/learn/kept.c", "strncmp(line, SUM, strlen(SUM)) != 0)", "strncmp(line, SUM, strlen(SUM)) == 0)", "unit", "crossgpu"),
    # networks from ONNX
    Mutation("branch_taken", "core/onnx/onnx.c", "(holds != 0) != b->then)", "(holds != 0) == b->then)", "cli", "import_onnx_branches"),
    Mutation("strict", "core/onnx/plan.c", "!(im->choices && im->choices->strict)", "(im->choices || !im->choices)", "cli", "import_onnx_strict"),
    Mutation("traffic_reads", "plugins/shape_traffic.c", "if (!real || lm_dtype_is_real(layer->input[i].dtype))", "if (real || lm_dtype_is_real(layer->input[i].dtype))",
             "unit", "layers_shape"),
    Mutation("loop_any_end", "core/onnx/expand.c", "!stays_true(e->model, b, b->output[0])", "!b->output", "cli", "import_onnx_loop_until"),
    Mutation("loop_any_size", "core/onnx/values.c", "im->loop.sized |= image;", "im->loop.sized |= image && im->loop.sized;", "cli",
             "import_onnx_loop_more_rows"),
    # plugins that hurt
    Mutation("plugins_untried", "core/layers/loader.c", "        if (!s->file[i].own)\n", "        if (!s->file[i].own && !path)\n", "script", "plugins"),
    Mutation("own_by_name_alone", "core/layers/loader.c", "realpath(folder, real) && !strcmp(real, s->real)", "realpath(folder, real)", "script", "plugins"),
    Mutation("deadline_unkept", "core/layers/guarded.c", "        if (now() >= deadline) {", "        if (now() >= deadline && seconds > 5) {", "script", "plugins"),
    Mutation("writes_unseen", "core/layers/check_rules.c", "    if (!kept_within(a, step, out))", "    if (!kept_within(a, step, out) && !out)", "script", "plugins"),
    # what is measured, and what is no more than chance
    Mutation("allreduce_unverified", "calibrate/backends/mpi.c", "status = expect(w, i, trial_gets(&w->of, &at), err);",
             "status = w->data ? LM_OK : expect(w, i, trial_gets(&w->of, &at), err);", "unit", "mpi_collectives"),
    Mutation("epochs_of_chance", "core/epochs/period.c", "fmax(WEAKEST, SIGMAS * chance(&a, lag))", "fmax(WEAKEST, 0 * chance(&a, lag))", "unit", "epochs"),
    Mutation("row_bands", "core/counts/dense_layers.c", "m > (double)row_bands[band])", "m >= (double)row_bands[band])", "unit", "layers_columns"),
    Mutation("width_bands", "core/counts/dense_layers.c", "floor((width - 1) / BAND)", "floor(width / BAND)", "unit", "layers_columns"),
    Mutation("bands_end", "core/counts/dense_layers.c", "count * fmax(1, width / (BAND * N_BANDS))", "count * fmin(1, width * BAND)", "unit", "layers_columns"),
    Mutation("guess_is_known", "core/solve/solve.c", "fitting_determines(f, j) ? f->count[j] : 0", "f->count[j]", "unit", "solve"),
    Mutation("guess_is_never_known", "core/solve/solve.c", "gain[j] > 0)", "gain[j] > 1e9)", "unit", "solve"),
    # bad input
    Mutation("share_known", "core/machine/formulas.c", ".most = 1, .range = \"0 .. 1\"", ".most = 2, .range = \"0 .. 1\"", "cli", "machine_known_outside"),
    Mutation("algorithm_slip", "core/observe/observation.c", "collective_algorithm_meant(kind, row->algorithm))\n", "!row->algorithm)\n", "cli", "fit_algorithm_slip"),
    # schedules and messages
    Mutation("bucket_limits", "core/program/buckets.c", "(made ? limit : first_limit)", "(made ? first_limit : limit)", "unit", "overlap"),
    Mutation("latency_behind", "core/program/schedule.c", "fmin(r->latency, r->lag * pass)", "fmax(r->latency, r->lag * pass)", "unit", "priced_program"),
    Mutation("experts_twice", "core/program/schedule.c", "m, (1 - own) * bytes)", "m, bytes)", "unit", "schedule"),
    Mutation("slowest_of_all", "core/program/schedule.c", "sqrt(log(q->rules.slowest) / log(ranks))", "log(q->rules.slowest) / log(ranks)", "unit", "schedule"),
    Mutation("again_backward", "core/program/schedule.c", "if (m->again)", "if (!m->again)", "unit", "schedule"),
    Mutation("gradients_at_once", "core/program/pipeline_run.c", "push(r, v - 1, 1, end + sent);", "push(r, v - 1, 1, end);", "unit", "pipeline"),
    Mutation("skipped_rounds", "core/program/pipeline_run.c", "s->free += times * later;", "s->free += (times - 1) * later;", "unit", "pipeline"),
    Mutation("weights_unwaited", "core/program/gather.c", "const double begun = fmax(s->compute, there);", "const double begun = s->compute + 0 * there;", "unit",
             "gather"),
    Mutation("beside_slowed", "core/program/recurrence.c", "m->beside += seconds / progress / slowed;", "m->beside += seconds / progress;", "unit", "overlap"),
    # collectives and layouts
    Mutation("volume_of_all", "core/fabric/kind.c", "t->passes * (n - 1) / n", "t->passes + 0 * n", "unit", "collective_kinds"),
    Mutation("pieces_within", "core/fabric/collective.c", "of.bytes = a->bytes / (double)a->nodes;", "of.bytes = a->bytes;", "unit", "collective_kinds"),
    Mutation("ranks_on_node", "core/program/layout.c", "return fit % n ? 0 : n;", "return fit % n ? 0 : fit;", "unit", "layout"),
    Mutation("stages_uneven", "core/network/stages.c", "more < rest ? more : rest", "more < rest ? 0 : rest", "unit", "stages"),
    # memory
    Mutation("share_cut", "core/network/memory/weights.c", "+ (bytes % (uint64_t)ranks != 0) : bytes", ": bytes", "unit", "memory"),
    Mutation("sums_as_wide", "core/network/memory/weights.c", "lm_bytes(&sum) <= lm_bytes(&weight->tensor)", "lm_bytes(&sum) < lm_bytes(&weight->tensor)", "unit",
             "memory"),
    Mutation("one_more_in_flight", "core/network/memory/tensors.c", "now - last : now, flight - chunks)", "now - last : now, flight)", "unit", "shard"),
    Mutation("muon_states", "core/network/optimizer.c", "weight->rank < 2 ? 2 : 1, lm_bytes", "weight->rank < 2 ? 1 : 2, lm_bytes", "unit", "memory"),
    # counts
    Mutation("rms_shifts", "plugins/norm.c", "return kind_of(layer) != RMS &&", "return", "unit", "layers_norm"),
    Mutation("output_padding", "plugins/conv.c", "(p[KERNEL].u.i[i] - 1) + behind) + 1;", "(p[KERNEL].u.i[i] - 1)) + 1;", "unit", "layers_conv"),
    Mutation("columns_of_threes", "core/counts/conv.c", "LOOPS_WINDOW = 3", "LOOPS_WINDOW = 2", "unit", "terms"),
    Mutation("columns_of_halves", "core/counts/conv.c", "k->dtype == LM_F32 ? LOOPS_GROUP / 2", "k->dtype ? LOOPS_GROUP / 2", "unit", "terms"),
    Mutation("stem_channels", "core/counts/conv.c", "in > STEM_CHANNELS)", "in >= STEM_CHANNELS)", "unit", "terms"),
    # fits and prices
    Mutation("cut_by_rounding", "core/fit/interval.c", "if (sum > tail + 1e-9)", "if (sum > tail)", "unit", "interval"),
    Mutation("slope_just_beyond", "core/fit/interval.c", "/ fmax(1, r[i].beyond)", "/ r[i].beyond", "unit", "interval"),
    Mutation("interval_of_failures", "core/plan/failures.c", "(1 + root / 3 + share / 9)", "(1 + root / 3)", "unit", "failures"),
    Mutation("rate_turned", "core/plan/money.c", "here.amount / there.amount", "there.amount / here.amount", "unit", "prices"),
    # readers
    Mutation("nccl_in_place", "core/import/nccl_tests.c", "!collective_types[kind].pieces && !collective_types[kind].hop", "!collective_types[kind].hop", "cli",
             "import_nccl_tests_kinds"),
    Mutation("nccl_other_kind", "core/import/nccl_tests.c", "> 0.02 * expected", "> 0.6 * expected", "cli", "import_nccl_tests_other_collective"),
    Mutation("quotes_doubled", "core/base/csv.c", "if (p[1] != '\"')", "if (p[1] != '\"' || p[2])", "unit", "csv"),
    Mutation("throttled_by_clock", "calibrate/measure/trust.c", "worst[1] = throttled;", "worst[1] = mine->throttled;", "unit", "trust"),
    Mutation("schema_one_for_all", "core/layers/schema.c", "part[n == 1 ? 0 : i]", "part[0]", "unit", "schema"),
    # the GPU backend, on the device that is not there: each takes back what a reading against the real libraries mended
    # 1, 2: sums in bf16, and of groups of one
    Mutation("gpu_sums_bf16", "calibrate/backends/cuda/ops/ops_rows.c", "!cuda_loops_know(t) || sum.inner", "!cuda_loops_know(t) || t == LM_BF16 || sum.inner", "unit",
             "cuda_ops"),
    Mutation("gpu_bias_bf16", "calibrate/backends/cuda/ops/ops_conv.c", "if (!ops_type(s->dtype, &type))",
             "if (!ops_type(s->dtype, &type) || (bias && s->pass == LM_GRAD_WEIGHT && s->dtype == LM_BF16))", "unit", "cuda_convs"),
    Mutation("gpu_group_of_one", "calibrate/backends/cuda/ops/ops_rows.c", "sum.group < 1", "sum.group < 2", "unit", "cuda_ops"),
    Mutation("gpu_smoke_group", "calibrate/backends/cuda/ops/ops_rows.c", "sum.group < 1", "sum.group < 2", "script", "gpu_classes"),
    # 3: attention in f32
    Mutation("gpu_attention_f32", "calibrate/backends/cuda/ops/ops_attention.c", "if (s->dtype == LM_F32)\n", "if (s->dtype == LM_F8)\n", "unit", "cuda_attention"),
    # 4: cores beside NCCL's threads
    Mutation("gpu_cores_of_slurm", "calibrate/run/slurm.c", " --cpus-per-task=\\\"$cores\\\" --dist", " --dist", "script", "slurm"),
    Mutation("gpu_cores_few", "calibrate/run/agreement.c", "own < CORES_OF_COLLECTIVE)", "own < 0)", "script", "nccl"),
    Mutation("gpu_cores_far", "calibrate/run/agreement.c", "!facts_cores_meet(f->allowed, f->near)", "facts_cores_meet(f->allowed, f->near)", "script", "nccl"),
    # 5: launches in the times of kernels and messages
    Mutation("gpu_launch_timed", "calibrate/backends/cuda/cuda.c", "if (!status && c->alone)", "if (!status && c->alone && c->flush)", "script", "gpu"),
    Mutation("gpu_launches_timed", "calibrate/backends/cuda/cuda.c", "FIRST = 90000", "FIRST = 30000", "script", "gpu"),
    Mutation("gpu_launch_of_message", "calibrate/backends/nccl/nccl.c", "held   = hold_back(b, err);", "held   = b->flush ? LM_OK : hold_back(b, err);", "script", "nccl"),
    Mutation("gpu_cache_kept", "calibrate/backends/cuda/cuda.c", "lm_status  status = empty_cache(c, err);", "lm_status  status = c->flush ? LM_OK : empty_cache(c, err);", "script",
             "gpu"),
    # 6: failures of one rank
    Mutation("gpu_failure_untold", "calibrate/measure/harness.c", "        watchdog_fail(err->text);", "        (void)err;", "script", "nccl"),
    Mutation("gpu_async_unread", "calibrate/backends/nccl/nccl_comm.c", "asked = ncclCommGetAsyncError(comm, &found);", "asked = ncclSuccess;", "script", "nccl"),
    Mutation("gpu_async_unread_in_steps", "calibrate/backends/nccl/nccl_buckets.c", "asked = ncclCommGetAsyncError(b->comm, &found);", "asked = ncclSuccess;", "script",
             "nccl"),
    Mutation("gpu_first_message_untold", "calibrate/backends/nccl/nccl.c", "watchdog_fail(err->text); /* the others", "(void)err; /* the others", "script", "nccl"),
    Mutation("gpu_message_pending", "calibrate/backends/nccl/nccl.c", "nccl_comms_drop(b->comms, w->comm);", "(void)b->comms;", "script", "nccl"),
    Mutation("gpu_buckets_pending", "calibrate/backends/nccl/nccl.c", "nccl_comms_drop(b->comms, comm);", "(void)b->comms;", "script", "nccl"),
    Mutation("gpu_memory_untold", "calibrate/measure/harness.c", "if (status && b->collective &&", "if (status == LM_E_IO && b->collective &&", "script", "nccl"),
    Mutation("gpu_patience", "calibrate/ranks/watchdog.h", "between_gpus ? 1e8 : 1e6", "between_gpus ? 1e5 : 1e6", "unit", "harness"),
    # 7: communicators
    Mutation("gpu_communicators_kept", "calibrate/backends/nccl/nccl_comm.c", "KEPT = 4", "KEPT = 40", "script", "nccl"),
    Mutation("gpu_communicator_memory", "calibrate/backends/nccl/nccl_comm.c", "cause != ncclRemoteError && no_device_memory(more)", "cause == ncclSuccess && no_device_memory(more)",
             "script", "nccl"),
    # 8: clocks before messages
    Mutation("gpu_clocks_asleep", "calibrate/backends/nccl/nccl.c", "status = wake(b, err);", "status = b->flush ? LM_OK : wake(b, err);", "script", "nccl"),
    # 9: tensor cores
    Mutation("gpu_tensor_products", "calibrate/backends/cuda/ops/ops_gemm.c", "(does & CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK) != 0", "does || !does", "script", "gpu_classes"),
    Mutation("gpu_tensor_flag", "calibrate/measure/harness.c", "b->compute->type->on_tensor_cores(b->compute, s.compute) < 0.5", "b->plan == NULL", "script", "gpu_classes"),
    Mutation("gpu_tensor_engines", "calibrate/backends/cuda/graph/plan.c", "c.tensor_cores && !rules->tensor_cores", "c.tensor_cores && !rules", "unit", "cuda_convs"),
    # 10: attention of older cuDNN
    Mutation("gpu_attention_old", "calibrate/backends/cuda/ops/ops_attention.c", "MASKS_LAST_BLOCK = 91500", "MASKS_LAST_BLOCK = 90700", "unit", "cuda_attention"),
    Mutation("gpu_attention_910", "calibrate/backends/cuda/ops/ops_attention.c", "version == 91000 || version == 91001", "version == 91001", "unit", "cuda_attention"),
    Mutation("gpu_attention_192", "calibrate/backends/cuda/ops/ops_attention.c", "keys % BLOCK && version < MASKS_LAST_BLOCK", "keys % 64 && version < MASKS_LAST_BLOCK",
             "unit", "cuda_attention"),
    Mutation("gpu_attention_sums", "calibrate/backends/cuda/ops/ops_attention.c", "CLEARS_SUMS = 90600", "CLEARS_SUMS = 90000", "unit", "cuda_attention"),
    # 11: the clock under load, loads of the device's memory, prepared kernels, NVML's absence, MIG
    Mutation("gpu_clock_at_rest", "calibrate/backends/cuda/cuda.c", "if (!me->manager || cuda_delay(&me->device, ASKED, &unused))", "(void)ASKED; (void)unused;\n    if (!me->manager)",
             "script", "gpu"),
    Mutation("gpu_instances_alike", "calibrate/backends/cuda/cuda_driver.c", "INTERFACE = 12000", "INTERFACE = 11000", "script", "gpu"),
    Mutation("gpu_operands_copied", "calibrate/backends/cuda/loops_body.cu", "            const NAME(vector) x = GETV(k, i);\n",
             "            void *at[10];\n            for (int l = 0; l < 10; l++) at[l] = a.at[(l + k) % 10];\n"
             "            const NAME(vector) x = ((const NAME(vector) *)at[(k + i) % 10])[i];\n", "unit", "cuda_source"),
    Mutation("gpu_prepared_anew", "calibrate/backends/cuda/cuda_shelf.c", "if (!s->all[i]->used && s->all[i]->kernel.base.use == use &&",
             "if (!s->all[i]->used && s->all[i]->kernel.base.use != use &&", "unit", "cuda_step"),
    Mutation("gpu_updates_apart", "calibrate/measure/point_kernels.c", "kernels_join_maps(&s->list[PHASE_UPDATE]);", "(void)s;", "script", "gpu"),
    Mutation("gpu_update_passes", "calibrate/backends/cuda/ops/ops_update.c", "if (in_one_pass(how))", "if (in_one_pass(how) || how->value[SETTING_UPDATE] > 1)", "script", "gpu"),
    Mutation("gpu_math_of_torch", "calibrate/measure/settings.c", '(!strcmp(math, "torch") && op == LM_OP_CONV)', '(!strcmp(math, "torch") && op != LM_OP_COPY)', "script",
             "gpu_classes"),
    Mutation("gpu_choice_unread", "calibrate/backends/nccl/nccl_network.c", "INIT,NET,TUNING", "INIT,NET", "script", "nccl"),
    Mutation("gpu_choice_of_another", "calibrate/backends/nccl/nccl_network.c", "    chosen[0] = '\\0';\n", "    chosen[0] = chosen[0];\n", "script", "nccl"),
    Mutation("gpu_tcp_taken", "calibrate/measure/harness.c", "        out->flags |= FLAG_SOCKET;", "        out->flags |= 0;", "script", "nccl"),
    Mutation("gpu_peers", "calibrate/backends/cuda/cuda.c", "peers += can != 0", "peers += 1", "script", "gpu"),
    # kernels beside a CPU's
    Mutation("gpu_verified_alone", "calibrate/verify/verdicts.c", "status = world_agree(everyone, try(b->compute, &out->kind[i], err), err);", "status = try(b->compute, &out->kind[i], err);",
             "script", "watchdog"),
    Mutation("gpu_wrong_unseen", "calibrate/verify/verify.c", "t->ratio <= 1 ?", "t->ratio <= 1e9 ?", "script", "gpu_classes"),
    Mutation("verify_padding", "calibrate/verify/verify.c", "!t->compared || t->odd", "!t->compared", "unit", "verify"),
    Mutation("verify_strides", "calibrate/verify/small.c", "least(*a->stride, 2)", "1", "unit", "verify"),
    Mutation("gpu_wrong_unflagged", "calibrate/measure/harness.c", "        out->flags |= FLAG_WRONG_RESULT;", "        out->flags |= 0;", "script", "gpu_classes"),
    Mutation("gpu_no_nvml", "calibrate/backends/cuda/cuda.c", "    else\n        put(context, \"gpu_management\",", "    else if (!d)\n        put(context, \"gpu_management\",", "script",
             "gpu"),
]
