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
    Mutation("loop_any_size", "core/onnx/operators_constant.c", "im->loop.sized = true;", "im->loop.sized = false;", "cli",
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
    # bad input
    Mutation("share_known", "core/machine/formulas.c", ".most = 1, .range = \"0 .. 1\"", ".most = 2, .range = \"0 .. 1\"", "cli", "machine_known_outside"),
    Mutation("algorithm_slip", "core/observe/observation.c", "collective_algorithm_meant(kind, row->algorithm))\n", "!row->algorithm)\n", "cli", "fit_algorithm_slip"),
]
