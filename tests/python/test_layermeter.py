"""The Python package: answers by hand, answers of the program, errors, threads, what is absent."""

import contextlib
import csv
import dataclasses
import gc
import importlib.util
import io
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

import layermeter
from layermeter import _abi

PROGRAM = os.path.join(os.environ["LAYERMETER_BIN"], "layermeter")
SANITIZED = os.environ.get("LAYERMETER_SANITIZED") == "1"
SOURCE = pathlib.Path(os.environ["LAYERMETER_SOURCE"])

NETWORK = """[network]
name = n
[x]
type = input
shape = 8
[l]
type = linear
features = 4
bias = no
[r]
type = relu
"""

# As in tests/unit/test_api.c: forward 0.064 b + 1, backward 0.128 b, update 0.32; a ring of N sends 2 (N - 1) messages of
# 0.25 s and 2 (N - 1) / N * 128 bytes of 0.001 s.
MACHINE = """[machine]
max_ranks = 8
[counts.forward]
flops = 0.001 s/FLOP
inputs = 0 s/element
outputs = 0 s/element
weights = 0 s/element
layers = 0.5 s/layer
[counts.backward]
flops = 0.002 s/FLOP
inputs = 0 s/element
outputs = 0 s/element
weights = 0 s/element
layers = 0 s/layer
[counts.update]
layers = 0 s/layer
weights = 0.01 s/element
[counts.sync]
ring_steps = 0.25 s/message
ring_bytes = 0.001 s/byte
"""


def has(module):
    return importlib.util.find_spec(module) is not None


def program(*arguments):
    """Rows of a command's CSV. Not under the sanitizers' preloaded run time."""
    environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD",)}
    environment.setdefault("ASAN_OPTIONS", "detect_leaks=0")
    done = subprocess.run([PROGRAM, *arguments, "--format", "csv"], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise AssertionError(done.stderr)
    return list(csv.DictReader(io.StringIO(done.stdout)))


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "n.ini").write_text(NETWORK)
        (self.folder / "m.ini").write_text(MACHINE)

    def predictor(self, **options):
        return layermeter.Predictor(self.folder / "n.ini", self.folder / "m.ini", model="counts", **options)


class ByHand(Folder):
    def test_a_step_is_the_sum_of_its_parts(self):
        step = self.predictor().predict(batch=10, nodes=4)
        self.assertAlmostEqual(step.forward_ms, 1640, places=9)
        self.assertAlmostEqual(step.backward_ms, 1280, places=9)
        self.assertAlmostEqual(step.sync_ms, 1692, places=9)
        self.assertAlmostEqual(step.update_ms, 320, places=9)
        self.assertAlmostEqual(step.step_ms, 4932, places=9)
        self.assertAlmostEqual(step.samples_per_s, 40 / 4.932, places=12)
        self.assertTrue(math.isnan(step.step_low_ms))
        self.assertEqual((step.batch, step.nodes, step.messages), (10, 4, 1))

    def test_a_curve_has_its_speedup_and_epochs(self):
        curve = self.predictor().scale(nodes=[1, 4], batch=10, dataset=400)
        self.assertAlmostEqual(curve[0].step_ms, 3240, places=9)
        self.assertAlmostEqual(curve[1].speedup, 4 * 3.24 / 4.932, places=12)
        self.assertEqual(curve[1].steps_per_epoch, 10)
        self.assertAlmostEqual(curve[1].epoch_s, 49.32, places=9)
        self.assertEqual(self.predictor().scale(nodes=[]), ())

    def test_parts_add_up_to_the_step(self):
        parts = self.predictor().explain(batch=10, nodes=4)
        self.assertAlmostEqual(sum(p.step_ms for p in parts), 4932, places=8)
        self.assertEqual({p.type for p in parts if p.name in ("l", "r")}, {"linear", "relu"})

    def test_a_plan_keeps_to_its_deadline(self):
        # 100 steps of 3.24 s on one node; on two 50 of 3.24 + 0.5 + 0.128
        p = self.predictor()
        plan = p.plan(nodes=[1, 2], batch=10, dataset=1000, deadline_s=200, price_per_node_h=36.0)
        self.assertEqual((plan.nodes, plan.steps_per_epoch), (2, 50))
        self.assertAlmostEqual(plan.run_s, 50 * 3.868, places=9)
        self.assertAlmostEqual(plan.cost, 2 * 50 * 3.868 / 3600 * 36, places=9)
        self.assertEqual(p.plan(nodes=[1, 2], batch=10, dataset=1000, deadline_s=400, price_per_node_h=1).nodes, 1)
        with self.assertRaisesRegex(layermeter.NotFoundError, "none of 2 plans keeps to the limits"):
            p.plan(nodes=[1, 2], batch=10, dataset=1000, deadline_s=1)

    def test_counts_and_memory(self):
        network = layermeter.Network(self.folder / "n.ini")
        counts = network.counts(3)
        self.assertEqual((counts.params, counts.macs, counts.layers), (32, 96, 2))
        self.assertEqual(counts.forward_flop, 192)
        memory = network.memory(3)
        self.assertEqual((memory.weights_bytes, memory.optimizer_bytes), (128, 128))
        self.assertEqual(network.largest_batch(memory.peak_bytes), 3)
        self.assertEqual(network.memory(3, optimizer="adam").optimizer_bytes, 256)
        with self.assertRaises(TypeError):
            network.memory(3, optimiser="adam")


class AsTheProgram(unittest.TestCase):
    """What ships, beside what the command prints."""

    def near(self, answer, row, names, **other):
        for name in names.split():
            self.assertAlmostEqual(getattr(answer, name) / float(row[other.get(name, name)]), 1, places=9, msg=name)

    def test_a_step_on_a_device(self):
        row = program("predict", "resnet50", "--device", "A100", "--batch", "64", "--nodes", "4")[0]
        step = layermeter.predict("resnet50", device="A100", batch=64, nodes=4)
        self.near(step, row, "step_ms step_low_ms step_high_ms forward_ms backward_ms grad_ms samples_per_s")

    def test_a_step_under_a_layout(self):
        row = program("predict", "llama2_7b", "--device", "H100", "--devices-per-node", "8", "--batch", "1", "--layout",
                      "tp4 sp pp2", "--accumulate", "4")[0]
        step = layermeter.predict("llama2_7b", device="H100", devices=8, batch=1, accumulation=4, layout="tp4 sp pp2")
        self.near(step, row, "step_ms step_low_ms step_high_ms")

    def test_a_curve(self):
        rows = program("scale", "resnet50", "--device", "H100", "--nodes", "1,8", "--dataset", "1281167")
        curve = layermeter.scale("resnet50", device="H100", nodes=[1, 8], dataset=1281167)
        for point, row in zip(curve, rows):
            self.near(point, row, "step_ms step_low_ms step_high_ms samples_per_s speedup efficiency epoch_s")
            self.assertEqual(point.bottleneck, row["bottleneck"])

    def test_a_plan_at_the_shipped_price(self):
        row = program("plan", "resnet50", "--device", "H100", "--nodes", "8")[0]
        plan = layermeter.plan("resnet50", device="H100", nodes=8, dataset=1281167, epochs=90)
        self.assertAlmostEqual(plan.cost / float(row["cost"]), 1, places=9)
        self.assertEqual((plan.nodes, plan.currency), (8, row["currency"]))

    def test_layouts_are_steps(self):
        rows = program("plan", "llama2_7b", "--device", "H100", "--devices-per-node", "8", "--nodes", "2", "--layouts",
                       "2", "--global-batch", "64", "--tokens", "1B", "--batch", "4")
        p = layermeter.Predictor("llama2_7b", device="H100")
        found = p.layouts(64, nodes=2, devices=8, best=2, most_batch=4)
        self.assertEqual(len(found), len(rows))
        for layout, row in zip(found, rows):
            self.near(layout, row, "step_ms")
            parts = layout.compute_ms + layout.tensor_ms + layout.pipeline_ms + layout.data_ms + layout.update_ms
            self.assertAlmostEqual(parts / layout.step_ms, 1, places=9)
            self.assertLessEqual(layout.memory_bytes, layermeter.device("H100").memory_bytes)
            again = p.predict(layout.batch, 2, 8, accumulation=layout.accumulation, layout=layout.words)
            self.assertAlmostEqual(again.step_ms / layout.step_ms, 1, places=9)

    def test_a_datasheet_and_a_price(self):
        # NVIDIA A100 datasheet (nvidia-a100-datasheet-us-nvidia-1758950-r4): 312 TFLOP/s in f16, 19.5 in f32
        a100 = layermeter.device("NVIDIA A100-SXM4-80GB")
        self.assertEqual((a100.name, a100.f16_flop_per_s, a100.f32_flop_per_s), ("A100-SXM4-80GB", 312e12, 19.5e12))
        self.assertTrue(79e9 < a100.memory_bytes < 86e9)
        self.assertIn("layermeter", layermeter.models())
        self.assertGreater(layermeter.price("H100").list_per_h, 0)


class Refusals(Folder):
    def test_errors_have_the_programs_words(self):
        with self.assertRaisesRegex(layermeter.NotFoundError, r"no network 'resnet5' \(did you mean") as caught:
            layermeter.Network("resnet5")
        self.assertIsInstance(caught.exception, LookupError)
        self.assertEqual(caught.exception.code, -9)
        with self.assertRaises(layermeter.FileError):
            layermeter.Machine(self.folder / "absent.ini")
        (self.folder / "bad.ini").write_text("[machine\n")
        with self.assertRaisesRegex(layermeter.FormatError, "bad.ini:1"):
            layermeter.Machine(self.folder / "bad.ini")
        with self.assertRaises(layermeter.ArgumentError):
            self.predictor().predict(batch=0)
        with self.assertRaisesRegex(layermeter.ArgumentError, "dtype: expected one of f32"):
            layermeter.Network("resnet18").counts(dtype="float32")
        with self.assertRaisesRegex(layermeter.Error, "layout"):
            self.predictor().predict(layout="tp0")
        with self.assertRaisesRegex(layermeter.ArgumentError, "mb stands in `batch`"):
            self.predictor().predict(layout="mb4")
        with self.assertRaisesRegex(layermeter.ArgumentError, "a run's step has no layout"):
            self.predictor().plan(nodes=1, dataset=10, layout="tp2")

    def test_a_library_that_is_none(self):
        with self.assertRaisesRegex(ImportError, "LAYERMETER_LIBRARY"):
            _abi.load(str(self.folder / "n.ini"))

    def test_answers_are_frozen(self):
        with self.assertRaises(dataclasses.FrozenInstanceError):
            self.predictor().predict().step_ms = 0


class Handles(Folder):
    def test_a_predictor_outlives_the_names_of_its_parts(self):
        p = layermeter.Predictor(layermeter.Network(self.folder / "n.ini"), layermeter.Machine(self.folder / "m.ini"),
                                 model="counts")
        gc.collect()
        self.assertAlmostEqual(p.predict(batch=10).step_ms, 3240, places=9)

    def test_threads_share_a_predictor(self):
        p, wrong = self.predictor(), []

        def ask():
            for batch in range(1, 60):
                if abs(p.predict(batch=batch).step_ms - (1320 + 192 * batch)) > 1e-6:
                    wrong.append(batch)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


class Records(unittest.TestCase):
    def test_members_lie_where_the_header_has_them(self):
        lines = []
        for name, record in _abi.RECORDS.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            for member, *_ in record._fields_:
                lines.append(f'printf("{name}.{member} %zu\\n", offsetof({name}, {member.rstrip("_")}));')
        text = "#include <stdio.h>\n#include <layermeter/layermeter.h>\nint main(void) {\n%s\nreturn 0; }\n" % "\n".join(lines)
        environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        with tempfile.TemporaryDirectory() as folder:
            source, binary = os.path.join(folder, "at.c"), os.path.join(folder, "at")
            pathlib.Path(source).write_text(text)
            subprocess.run([os.environ["LAYERMETER_CC"], "-I", SOURCE / "core/include", source, "-o", binary], check=True,
                           env=environment)
            told = dict(line.split() for line in subprocess.run([binary], check=True, capture_output=True, text=True,
                                                                env=environment).stdout.splitlines())
        for name, record in _abi.RECORDS.items():
            self.assertEqual(int(told[name]), __import__("ctypes").sizeof(record), name)
            for member, *_ in record._fields_:
                self.assertEqual(int(told[f"{name}.{member}"]), getattr(record, member).offset, f"{name}.{member}")

    def test_every_record_of_the_header_is_known(self):
        header = (SOURCE / "core/include/layermeter/layermeter.h").read_text()
        named = set(re.findall(r"typedef struct (lm_\w+) \{\n\s+size_t\s+size;", header))
        self.assertEqual(named, set(_abi.RECORDS))

    def test_the_version_is_the_programs(self):
        self.assertRegex(layermeter.__version__, r"^\d+\.\d+\.\d+$")


@unittest.skipUnless(has("pandas"), "no pandas")
class Frames(Folder):
    def test_a_row_for_each_answer(self):
        frame = self.predictor().scale(nodes=[1, 2], batch=10).frame()
        self.assertEqual(list(frame["nodes"]), [1, 2])
        self.assertAlmostEqual(frame["step_ms"][0], 3240, places=9)


@unittest.skipUnless(has("matplotlib"), "no matplotlib")
class Plots(Folder):
    def test_a_curve_and_parts_are_drawn(self):
        axes = self.predictor().scale(nodes=[1, 2, 4], batch=10).plot()
        self.assertEqual(list(axes.lines[0].get_xdata()), [1, 2, 4])
        self.assertAlmostEqual(axes.lines[0].get_ydata()[0], 10 / 3.24, places=12)
        parts = self.predictor().explain(batch=10)
        bars = parts.plot()
        self.assertEqual([t.get_text() for t in bars.get_yticklabels()], [p.name for p in parts][::-1])
        self.assertAlmostEqual(sum(bar.get_width() for bar in bars.patches), 3240, places=8)


@unittest.skipUnless(has("torch") and not SANITIZED, "no PyTorch, or sanitizers")
class Torch(unittest.TestCase):
    def test_a_module_is_a_network(self):
        import torch

        module = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(),
                                     torch.nn.Linear(8 * 16 * 16, 10))
        network = layermeter.from_torch(module, torch.zeros(2, 3, 16, 16), name="tiny")
        counts = network.counts(4)
        self.assertEqual(counts.params, sum(p.numel() for p in module.parameters()))
        self.assertEqual(counts.macs, 4 * (8 * 3 * 9 * 256 + 8 * 256 * 10))
        self.assertGreater(layermeter.predict(network, device="T4", batch=4).step_ms, 0)
        normed = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5)).eval()
        before, state = {k: v.clone() for k, v in normed.state_dict().items()}, torch.random.get_rng_state()
        self.assertEqual(layermeter.from_torch(normed, torch.ones(2, 4)).counts().layers, 3)
        self.assertTrue(all(torch.equal(v, before[k]) for k, v in normed.state_dict().items()))
        self.assertTrue(torch.equal(state, torch.random.get_rng_state()) and not normed.training)
        with self.assertRaisesRegex(layermeter.UnsupportedError, "PyTorch does not export Linear: "):
            layermeter.from_torch(torch.nn.Linear(4, 4), torch.ones(2, 5))
        with self.assertRaisesRegex(layermeter.ArgumentError, "takes a torch.nn.Module"):
            layermeter.from_torch("resnet50", None)


class Guide(unittest.TestCase):
    """The guide and the tour run as they stand; what needs a package that is absent is left out."""

    def test_the_guide_runs(self):
        page = (SOURCE / "examples/guides/python.md").read_text()
        blocks = re.findall(r"^```python *(\w*)\n(.*?)^```", page, re.M | re.S)
        self.assertGreaterEqual(len(blocks), 7)
        names, printed, kept = {}, io.StringIO(), os.getcwd()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
            os.chdir(folder)
            try:
                for needs, text in blocks:
                    if not needs or has(needs) and not (needs == "torch" and SANITIZED):
                        exec(compile(text, "examples/guides/python.md", "exec"), names)
            finally:
                os.chdir(kept)
        self.assertGreaterEqual(len(printed.getvalue().splitlines()), 12)

    @unittest.skipUnless(has("matplotlib"), "no matplotlib")
    def test_the_tour_draws_its_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-W", "error", SOURCE / "examples/python/tour.py", folder], check=True,
                           capture_output=True)
            self.assertEqual(sorted(os.listdir(folder)), ["python-curves.svg", "python-parts.svg"])


class WithoutTorch(unittest.TestCase):
    def test_what_is_absent_is_named(self):
        hidden = {name: sys.modules.get(name) for name in ("torch", "pandas", "matplotlib")}
        for name in hidden:
            sys.modules[name] = None
        try:
            for what, ask in (("PyTorch", lambda: layermeter.from_torch(None, None)),
                              ("pandas", lambda: layermeter.frame([])),
                              ("matplotlib", lambda: layermeter.Curve().plot())):
                with self.assertRaisesRegex(ImportError, f"needs {what}"):
                    ask()
        finally:
            for name, module in hidden.items():
                if module is None:
                    del sys.modules[name]
                else:
                    sys.modules[name] = module


if __name__ == "__main__":
    unittest.main()
