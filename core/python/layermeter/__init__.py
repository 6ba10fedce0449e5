"""How long training and running a neural network takes, before you pay for it.

    import layermeter

    layermeter.predict("resnet50", device="A100", batch=64, nodes=4).step_ms

Answers are frozen data classes; their fields name the units. What the library refuses is raised as a layermeter.Error,
with its one line. Threads may share networks, machines and predictors.
"""

from __future__ import annotations

from typing import Any, Dict, List

from . import _abi
from ._abi import (
    ArgumentError, CountError, Error, FileError, FormatError, NotFoundError, OutOfMemoryError, PluginError, ShapeError,
    UnsupportedError,
)
from ._handles import Library, Machine, Network, Predictor, device, models, price
from ._records import (
    Counts, Curve, Device, Layout, Memory, Part, Parts, Plan, Point, Price, Step, Steps, frame,
)
from ._torch import from_torch

__version__: str = _abi.told(_abi.LIBRARY.lm_version()) or ""

_OF_PREDICTOR = ("machine", "device", "model", "interconnect", "shape", "image", "optimizer", "bandwidth_bytes_per_s",
                 "latency_s", "dtype", "mixed", "framework", "library")


def _predictor(network: Any, options: Dict[str, Any]) -> Predictor:
    return Predictor(network, **{key: options.pop(key) for key in _OF_PREDICTOR if key in options})


def predict(network: Any, **options: Any) -> Step:
    """Predictor(network, ...).predict(...): options of both."""
    return _predictor(network, options).predict(**options)


def explain(network: Any, **options: Any) -> Parts:
    """Predictor(network, ...).explain(...): options of both."""
    return _predictor(network, options).explain(**options)


def scale(network: Any, **options: Any) -> Curve:
    """Predictor(network, ...).scale(...): options of both."""
    return _predictor(network, options).scale(**options)


def plan(network: Any, **options: Any) -> Plan:
    """Predictor(network, ...).plan(...): options of both."""
    return _predictor(network, options).plan(**options)


def layouts(network: Any, **options: Any) -> List[Layout]:
    """Predictor(network, ...).layouts(...): options of both."""
    return _predictor(network, options).layouts(**options)


def memory(network: Any, batch: int = 1, **options: Any) -> Memory:
    """Network(network).memory(...)."""
    return (network if isinstance(network, Network) else Network(network)).memory(batch, **options)


def counts(network: Any, batch: int = 1, **options: Any) -> Counts:
    """Network(network).counts(...)."""
    return (network if isinstance(network, Network) else Network(network)).counts(batch, **options)


__all__ = [
    "ArgumentError", "CountError", "Counts", "Curve", "Device", "Error", "FileError", "FormatError", "Layout", "Library",
    "Machine", "Memory", "Network", "NotFoundError", "OutOfMemoryError", "Part", "Parts", "Plan", "PluginError", "Point",
    "Predictor", "Price", "ShapeError", "Step", "Steps", "UnsupportedError", "counts", "device", "explain", "frame",
    "from_torch", "layouts", "memory", "models", "plan", "predict", "price", "scale",
]
