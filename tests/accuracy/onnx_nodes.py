#!/usr/bin/env python3
"""onnx_nodes.py PROGRAM [-v] [CASE ...]: see onnx_nodes.sh. Exit status 77: no onnx."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
try:
    import numpy as np
    import onnx
except ImportError:
    print("skipped: no onnx (Debian: python3-onnx)")
    sys.exit(77)
for name, is_now in (("float", float), ("int", int), ("bool", bool), ("object", object)):
    if name not in np.__dict__:  # the cases were written for an older numpy
        setattr(np, name, is_now)
from onnx.backend.test.case.node import collect_testcases  # noqa: E402 after numpy's old names

LEAST = 0.95  # share that is right, or refused by name, of those whose shapes are known


def shape(info):
    """Dimensions; None: not a tensor, or not all of them are known."""
    if not info.type.HasField("tensor_type") or not info.type.tensor_type.HasField("shape"):
        return None
    dims = [d.dim_value if d.HasField("dim_value") else None for d in info.type.tensor_type.shape.dim]
    return None if None in dims else dims


def static(graph):
    return all(shape(v) is not None for v in [*graph.input, *graph.output])


def outputs(program, path, batch):
    """Shapes of all layers' outputs, or the refusal."""
    done = subprocess.run([program, "show", path, "--batch", str(batch), "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, timeout=60)
    return (None, done.stderr.strip()) if done.returncode else ({layer["output"] for layer in json.loads(done.stdout)["layers"]}, None)


def named(why, graph):
    """Does the refusal name an operator, a node or a tensor of the graph?"""
    names = {n.op_type for n in graph.node} | {v.name for v in [*graph.input, *graph.output]} | {i.name for i in graph.initializer}
    return any(re.search(rf"(?<!\w){re.escape(n)}(?!\w)", why) for n in names if n)


def with_constants(case):
    """The model whose lists and single numbers behind the first input are constants, as exporters write them; None: it has none."""
    model, values = onnx.ModelProto.FromString(case.model.SerializeToString()), case.data_sets[0][0] if case.data_sets else []
    kept = [v for i, v in enumerate(model.graph.input) if not i or i >= len(values) or np.asarray(values[i]).ndim > 1]
    for v, value in zip(case.model.graph.input, values):
        if v.name not in {k.name for k in kept}:
            model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), v.name))
    if len(kept) == len(model.graph.input):
        return None
    del model.graph.input[:]
    model.graph.input.extend(kept)
    return model


def asked(program, path, model, theirs):
    """Outputs of all layers at the batch that yields the right ones, or at any; the first refusal."""
    onnx.save(model, path)
    first, layers, why = model.graph.input[:1], None, None
    for batch in dict.fromkeys([*(shape(first[0]) or [1] if first else [1]), 1]):  # samples may be at any place of the input
        found, refusal = outputs(program, path, max(batch, 1))
        if found is not None and (layers is None or theirs <= found):
            layers = found
            if theirs <= found:
                break
        why = why or refusal
    return layers, why


def text(dims):
    return "x".join(map(str, dims)) if dims else "scalar"


def main():
    program, *rest = sys.argv[1:]
    verbose, wanted = "-v" in rest, [w for w in rest if w != "-v"]
    right = refused = constant = 0
    wrong, words = [], collections.Counter()
    try:
        cases = [c for c in collect_testcases(None) if c.model is not None]
    except TypeError:
        cases = [c for c in collect_testcases() if c.model is not None]
    cases = [c for c in cases if static(c.model.graph) and (not wanted or c.name in wanted)]
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "node.onnx")
        for case in cases:
            graph = case.model.graph
            # statistics that a norm yields beside its output are of no layer
            yielded = graph.output[:1] if graph.node[-1].op_type in ("BatchNormalization", "LayerNormalization") else graph.output
            theirs = {text(shape(o)) for o in yielded}
            layers, why = asked(program, path, case.model, theirs)
            if layers is None and (model := with_constants(case)):
                layers, again = asked(program, path, model, theirs)
                constant += layers is not None and theirs <= layers
                why = again if layers is None and again else why
            if layers is not None:
                if theirs <= layers:
                    right += 1
                else:
                    wrong.append(f"{case.name}: yields {sorted(theirs)}, layers {sorted(layers)[-4:]}")
                continue
            why = why.replace(path, "node.onnx")
            if named(why, graph) and why.count("\n") == 0:
                refused += 1
                words[re.sub(r"\d+", "N", re.sub(r"'[^']*'", "'...'", why))[:110]] += 1
                if verbose:
                    print(f"{case.name}: {why[:200]}")
            else:
                wrong.append(f"{case.name}: refused without a name: {why[:200]}")
    for line in wrong:
        print(line)
    for line, n in words.most_common(12):
        print(f"refused {n}: {line}")
    share = (right + refused) / max(len(cases), 1)
    print(f"{right} of {len(cases)} nodes with known shapes load with the right output shape ({constant} of them once lists and numbers are "
          f"constants), {refused} are refused by name: {share:.1%}")
    return int(share < LEAST)


if __name__ == "__main__":
    sys.exit(main())
