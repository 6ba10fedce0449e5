#!/usr/bin/env python3
"""A tour of the Python package: one network, three questions, two pictures. Run it cell by cell, or as a whole:

    python3 examples/python/tour.py [FOLDER]        # pictures go there; default: the working directory

It needs layermeter (pip install layermeter-*.whl) and matplotlib. No GPU is needed, and nothing is measured.
"""

# %% A network, and a machine that ships
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

import layermeter

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
network = layermeter.Network("resnet50")
counts = network.counts(batch=1)
print(f"{network.name}: {counts.params:,} parameters, {counts.macs / 1e9:.2f} GMAC an image")

# %% How large may a batch be?
for name in ("T4", "V100", "A100", "H100"):
    sheet = layermeter.device(name)
    largest = network.largest_batch(sheet.memory_bytes, optimizer="momentum")
    print(f"{sheet.name:16} {sheet.memory_bytes / 1e9:5.0f} GB: {largest} images at once")

# %% How does training scale over nodes with 8 GPUs? The band holds nine of ten runs.
nodes = [1, 2, 4, 8, 16, 32, 64]
figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
for name in ("V100", "A100", "H100"):
    curve = layermeter.scale(network, device=name, devices=8, batch=64, nodes=nodes, dataset=1_281_167)
    curve.plot(left, label=f"8 {name} a node", ideal=False)
    right.plot(nodes, [p.epoch_s / 60 for p in curve], marker="o", markersize=4, label=name)
left.set_title("throughput, 64 images a GPU", fontsize="medium")
right.set_xscale("log", base=2)
right.set_yscale("log")
right.set_xticks(nodes, [str(n) for n in nodes])
right.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
right.set_xlabel("nodes")
right.set_ylabel("minutes of an epoch of ImageNet")
right.set_title("time", fontsize="medium")
right.legend(frameon=False)
figure.savefig(folder / "python-curves.svg", metadata={"Date": None})

# %% Where does the time go?
parts = layermeter.explain(network, device="A100", batch=64, by="block")
axes = parts.plot(pyplot.subplots(figsize=(6.5, 3.6), layout="constrained")[1], most=10)
axes.figure.savefig(folder / "python-parts.svg", metadata={"Date": None})
print(f"the longest of {len(parts)} blocks: {parts[0].name}, {parts[0].step_ms:.2f} ms, limited by {parts[0].bound}")

# %% What does a run cost?
plan = layermeter.plan(network, device="H100", nodes=[1, 2, 4, 8], batch=[64, 128], devices=8, dataset=1_281_167, epochs=90)
print(f"90 epochs on {plan.nodes} nodes of 8 H100, batch {plan.batch}: {plan.run_s / 60:.0f} min "
      f"({plan.run_low_s / 60:.0f} to {plan.run_high_s / 60:.0f}), {plan.cost:.0f} {plan.currency} ({plan.price_source})")

# %% How do 16 GPUs share a language model?
for layout in layermeter.layouts("llama2_7b", device="H100", nodes=2, devices=8, global_batch=64, best=3, most_batch=4):
    print(f"{layout.words:32} {layout.step_ms:7.0f} ms, {layout.memory_bytes / 1e9:.0f} GB"
          + ("  (may be as fast as the first)" if layout.tie else ""))
