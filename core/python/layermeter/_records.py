"""Answers: frozen data classes whose fields name their units. An unknown number is NaN."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional, Tuple

from . import _abi

MS = 1e3  # milliseconds of a second


def bounded_ms(name: str, b: Any) -> Dict[str, float]:
    """A time and the ends of its interval, in milliseconds."""
    return {f"{name}_ms": MS * b.value, f"{name}_low_ms": MS * b.low, f"{name}_high_ms": MS * b.high}


@dataclass(frozen=True)
class Counts:
    """Exact counts of a network at a batch. One multiply-accumulate (MAC) is 2 FLOP."""

    batch: int
    params: int  #: trained elements
    param_tensors: int  #: trained tensors
    param_bytes: int
    layers: int
    macs: int  #: of the forward pass: convolutions, linear layers, products of activations
    forward_flop: int  #: of these products
    backward_flop: int
    other_forward_flop: int  #: of everything else
    other_backward_flop: int
    activation_bytes: int  #: outputs of the layers
    read_bytes: int  #: each operand moved once, all passes
    written_bytes: int


@dataclass(frozen=True)
class Memory:
    """Peak memory of one device, and its parts at that moment."""

    batch: int
    peak_bytes: int
    weights_bytes: int
    frozen_bytes: int
    copies_bytes: int
    gradients_bytes: int
    buckets_bytes: int
    optimizer_bytes: int
    inputs_bytes: int
    activations_bytes: int
    saved_bytes: int
    activation_gradients_bytes: int
    workspace_bytes: int
    cache_bytes: int  #: of decoding: keys and values of all tokens
    overhead_bytes: int
    kept_bytes: int  #: activations and saved, between forward and backward
    layer: Optional[str]  #: at the peak; None: the update
    during: Optional[str]  #: pass at the peak


@dataclass(frozen=True)
class Step:
    """A predicted training step, or a forward pass of inference. `low` and `high` are the ends of the interval that holds
    nine of ten runs. Of inference `forward` and `step` are the latency of a batch."""

    network: str
    machine: str
    batch: int  #: samples of a device and micro-step
    nodes: int
    devices: int  #: of each node
    step_ms: float
    step_low_ms: float
    step_high_ms: float
    forward_ms: float  #: of all micro-steps
    forward_low_ms: float
    forward_high_ms: float
    backward_ms: float
    backward_low_ms: float
    backward_high_ms: float
    sync_ms: float  #: messages, hidden or exposed
    sync_low_ms: float
    sync_high_ms: float
    grad_ms: float  #: exposed messages, copies, stragglers, update
    grad_low_ms: float
    grad_high_ms: float
    exposed_ms: float  #: what the backward pass does not hide of the messages
    copy_ms: float
    straggler_ms: float
    update_ms: float
    samples_per_s: float  #: of all devices
    messages: int  #: all-reduces of the step
    measured: float  #: shares of the step, 0 to 1, by what they rest on
    interpolated: float
    extrapolated: float
    assumed: float
    beyond: str  #: what lies beyond the calibrated range: "nodes x2"; "": nothing


@dataclass(frozen=True)
class Part:
    """A part of a step: a layer, a block, a class of kernels or a term. All parts add up to the step."""

    name: str
    type: Optional[str]  #: of a layer
    step_ms: float
    forward_ms: float  #: NaN where a model tells only whole steps
    backward_ms: float
    grad_ms: float
    bound: Optional[str]  #: what limits most of it; None: unknown
    unit: Optional[str]  #: of a term: what is counted
    count: float
    coefficient_s: float  #: of a term: seconds of a unit


@dataclass(frozen=True)
class Point:
    """A point of a scaling curve."""

    nodes: int
    devices: int  #: of each node
    batch: int
    accumulation: int
    global_batch: int  #: samples of a step on all devices
    idle: int  #: devices without a sample
    step_ms: float
    step_low_ms: float
    step_high_ms: float
    exposed_ms: float
    samples_per_s: float
    samples_per_s_low: float
    samples_per_s_high: float
    speedup: float  #: against one node
    efficiency: float  #: speed-up over nodes
    efficiency_low: float
    efficiency_high: float
    epoch_s: float  #: NaN without a data set
    steps_per_epoch: int  #: 0 without a data set
    bottleneck: Optional[str]
    bottleneck_share: float


@dataclass(frozen=True)
class Plan:
    """The chosen plan of a training run."""

    nodes: int
    devices: int  #: of each node
    batch: int
    accumulation: int
    global_batch: int
    steps_per_epoch: int
    step_ms: float
    step_low_ms: float
    step_high_ms: float
    run_s: float  #: start-up and evaluations among them
    run_low_s: float
    run_high_s: float
    device_h: float  #: hours of all devices
    cost: float  #: in `currency`; NaN without a price
    cost_low: float
    cost_high: float
    currency: str  #: "": no price, or one that was told as a number
    price_per_node_h: float  #: NaN: no price
    price_source: str  #: section and date of the price; "": told, or none
    plans: int  #: so many were compared


@dataclass(frozen=True)
class Layout:
    """How all ranks share a network and its batch: predict(layout=words, batch=batch, accumulation=accumulation)."""

    words: str  #: "tp4 pp2 dp8 sp zero1"
    batch: int  #: samples of a micro-step on a rank
    accumulation: int  #: micro-steps
    step_ms: float
    step_low_ms: float
    step_high_ms: float
    compute_ms: float  #: these five add up to the step
    tensor_ms: float  #: messages that passes wait for
    pipeline_ms: float  #: waiting for other stages
    data_ms: float  #: exposed messages with gradients and weights
    update_ms: float
    memory_bytes: float  #: of the fullest rank
    tie: bool  #: may be as fast as the first


@dataclass(frozen=True)
class Device:
    """A datasheet. NaN: not given."""

    name: str
    memory_bytes: float
    bandwidth_bytes_per_s: float
    power_w: float
    f32_flop_per_s: float  #: peaks, dense
    tf32_flop_per_s: float
    f16_flop_per_s: float
    bf16_flop_per_s: float
    f8_flop_per_s: float


@dataclass(frozen=True)
class Price:
    """The cheapest shipped price of a node with so many devices in use. Copied with its date, and not checked."""

    section: str
    date: str
    currency: str
    list_per_h: float  #: on demand; NaN: not given
    spot_per_h: float  #: may be withdrawn at any time


# ---- several of them -------------------------------------------------------------------------------------------------


def frame(records: Iterable[Any]) -> Any:
    """The answers as a pandas.DataFrame: a row each, columns named as their fields. Needs pandas."""
    try:
        import pandas
    except ImportError:
        raise ImportError("a frame needs pandas: install it (Debian: python3-pandas)") from None
    return pandas.DataFrame([dataclasses.asdict(r) for r in records])


def new_axes(axes: Any) -> Any:
    """The given matplotlib axes, or those of a new figure."""
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("a plot needs matplotlib: install it (Debian: python3-matplotlib)") from None
    return pyplot.subplots(layout="constrained")[1]


class Steps(Tuple[Step, ...]):
    """Predicted steps, in the order they were asked for."""

    def frame(self) -> Any:
        """A pandas.DataFrame with a row for each step."""
        return frame(self)


class Curve(Tuple[Point, ...]):
    """A scaling curve: its points by nodes."""

    def frame(self) -> Any:
        """A pandas.DataFrame with a row for each point."""
        return frame(self)

    def plot(self, axes: Any = None, label: Optional[str] = None, ideal: bool = True) -> Any:
        """Draws throughput over nodes with its band, and a line for ideal scaling. Returns the matplotlib axes."""
        axes = new_axes(axes)
        nodes = [p.nodes for p in self]
        (line,) = axes.plot(nodes, [p.samples_per_s for p in self], marker="o", markersize=4, label=label or "predicted")
        axes.fill_between(nodes, [p.samples_per_s_low for p in self], [p.samples_per_s_high for p in self],
                          color=line.get_color(), alpha=0.2, linewidth=0)
        if ideal and self and self[0].speedup > 0:
            one = self[0].samples_per_s / self[0].speedup
            axes.plot(nodes, [one * n for n in nodes], color="0.6", linestyle=":", linewidth=1, label="ideal")
        axes.set_xscale("log", base=2)
        samples = [p.samples_per_s for p in self if p.samples_per_s > 0] or [1.0]
        axes.set_yscale("log", base=10 if max(samples) > 10 * min(samples) else 2)
        axes.set_xticks(nodes, [str(n) for n in nodes])
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 10 else f"{value:.3g}")
        axes.set_xlabel("nodes")
        axes.set_ylabel("samples/s, of all devices")
        axes.legend(frameon=False)
        return axes


class Parts(Tuple[Part, ...]):
    """The parts of a step, the longest first."""

    def frame(self) -> Any:
        """A pandas.DataFrame with a row for each part."""
        return frame(self)

    def plot(self, axes: Any = None, most: int = 12) -> Any:
        """Draws the longest parts as bars of forward, backward and the rest. Returns the matplotlib axes."""
        axes = new_axes(axes)
        shown = list(self[:most])[::-1]
        rest = self[most:]
        names = [p.name for p in shown]
        left = [0.0] * len(shown)
        if all(p.forward_ms == p.forward_ms for p in shown):
            for what, label in (("forward_ms", "forward"), ("backward_ms", "backward"), ("grad_ms", "gradients, update")):
                width = [0.0 if getattr(p, what) != getattr(p, what) else getattr(p, what) for p in shown]
                axes.barh(names, width, left=left, label=label)
                left = [a + b for a, b in zip(left, width)]
            axes.legend(frameon=False)
        else:
            axes.barh(names, [p.step_ms for p in shown])
        axes.set_xlabel("ms of a step")
        if rest:
            axes.set_title(f"the other {len(rest)} take {sum(p.step_ms for p in rest):.3g} ms", fontsize="small")
        return axes


# ---- from the library's records --------------------------------------------------------------------------------------


def point_of(p: Any) -> Point:
    return Point(
        nodes=p.nodes, devices=p.devices, batch=p.batch, accumulation=p.accumulation, global_batch=p.global_batch,
        idle=p.idle, **bounded_ms("step", p.step), exposed_ms=MS * p.exposed,
        samples_per_s=p.samples_per_second.value, samples_per_s_low=p.samples_per_second.low,
        samples_per_s_high=p.samples_per_second.high, speedup=p.speedup, efficiency=p.efficiency.value,
        efficiency_low=p.efficiency.low, efficiency_high=p.efficiency.high, epoch_s=p.epoch_seconds,
        steps_per_epoch=p.steps_per_epoch, bottleneck=_abi.told(p.bottleneck), bottleneck_share=p.bottleneck_share,
    )


def part_of(p: Any) -> Part:
    return Part(
        name=_abi.told(p.name) or "", type=_abi.told(p.type), step_ms=MS * p.seconds, forward_ms=MS * p.forward,
        backward_ms=MS * p.backward, grad_ms=MS * p.grad, bound=_abi.told(p.bound), unit=_abi.told(p.unit),
        count=p.count, coefficient_s=p.coefficient,
    )


def layout_of(f: Any) -> Layout:
    return Layout(
        words=f.words.decode(), batch=f.batch, accumulation=f.accumulation, **bounded_ms("step", f.step),
        compute_ms=MS * f.compute, tensor_ms=MS * f.tensor, pipeline_ms=MS * f.pipeline, data_ms=MS * f.data,
        update_ms=MS * f.update, memory_bytes=f.memory, tie=bool(f.tie),
    )
