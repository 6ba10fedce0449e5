"""Networks, machines and predictors: handles of the library that close themselves."""

from __future__ import annotations

import ctypes
import math
import os
import threading
import weakref
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, SupportsIndex, Union

from . import _abi
from ._records import (
    MS, Counts, Curve, Device, Layout, Memory, Parts, Plan, Price, Step, Steps, bounded_ms, layout_of, part_of, point_of,
)

PathLike = Union[str, "os.PathLike[str]"]
Counted = Union[int, Iterable[int]]

_DTYPES = {"f32": 1, "f16": 2, "bf16": 3, "f64": 4, "i32": 5, "i8": 6, "f8": 7, "i64": 8, "u8": 9}
_KINDS = {"weak": 0, "strong": 1, "global": 2}
_GOALS = {"nodes": 0, "cost": 1, "time": 2}
_FLAGS = {"inference": 1, "keep_gradients": 2, "inplace": 4, "bucket_views": 8}


def _choice(table: Mapping[str, int], value: Optional[str], what: str) -> int:
    """0 where nothing is said."""
    if value is None:
        return 0
    try:
        return table[value]
    except KeyError:
        raise _abi.ArgumentError(f"{what}: expected one of {', '.join(table)}; found {value!r}") from None


def _listed(values: Counted) -> List[int]:
    if isinstance(values, SupportsIndex):  # numpy's whole numbers, too
        return [int(values)]
    return [int(v) for v in values]


def _whole(value: Optional[float]) -> int:
    """A count of bytes; None and NaN are 0, which says nothing."""
    return 0 if value is None or math.isnan(value) else int(value)


class _Handle:
    """A handle of the library, closed when nobody refers to it."""

    def __init__(self, kind: str, open_it: Callable[[Any], None]) -> None:
        out = ctypes.c_void_p()
        open_it(ctypes.byref(out))
        self._as_parameter_ = out
        self._end = weakref.finalize(self, getattr(_abi.LIBRARY, f"lm_{kind}_close"), out)


class Library(_Handle):
    """Layer types and search paths. Networks and machines take the default one, which knows what is installed.

    :param plugins: files of plugins, or folders with plugins: code that runs in this process
    :param folders: folders with networks, NAME.ini
    :param devices: file of datasheets
    """

    def __init__(self, plugins: Sequence[PathLike] = (), folders: Sequence[PathLike] = (),
                 devices: Optional[PathLike] = None) -> None:
        options = _abi.LibraryOptions(plugin=_abi.texts(plugins), n_plugins=len(plugins), folder=_abi.texts(folders),
                                      n_folders=len(folders), devices=_abi.text(devices))
        super().__init__("library", lambda out: _abi.call("lm_library_open", options, out))


_default: Optional[Library] = None
_default_lock = threading.Lock()


def default_library() -> Library:
    """The library that is used where none is given."""
    global _default
    with _default_lock:
        if _default is None:
            _default = Library()
        return _default


class Network(_Handle):
    """A network: its name ("resnet50", "llama3_8b:layers=8"), or the path of an .ini, .onnx or config.json file.

    :param set: values of the network's arguments
    :param treat: layer types for unknown operators of an ONNX file
    :param ignore: operators to skip
    :param strict: refuse unknown operators whose shapes are known, too
    """

    def __init__(self, name: PathLike, *, set: Optional[Mapping[str, Any]] = None,
                 treat: Optional[Mapping[str, str]] = None, ignore: Sequence[str] = (), strict: bool = False,
                 library: Optional[Library] = None) -> None:
        self.name = os.fspath(name)
        self.library = library or default_library()
        args = [f"{key}={value}" for key, value in (set or {}).items()]
        types = [f"{key}={value}" for key, value in (treat or {}).items()]
        options = _abi.NetworkOptions(
            set=_abi.texts(args), n_set=len(args), treat=_abi.texts(types), n_treat=len(types),
            ignore=_abi.texts(ignore), n_ignore=len(ignore), strict=int(strict))
        super().__init__("network", lambda out: _abi.call("lm_network_open", self.library, _abi.text(self.name),
                                                          options, out))

    def __repr__(self) -> str:
        return f"layermeter.Network({self.name!r})"

    def counts(self, batch: int = 1, *, shape: Optional[str] = None, image: int = 0,
               dtype: Optional[str] = None) -> Counts:
        """Exact counts.

        :param shape: of one sample, "3x224x224"; None: the file's
        :param image: height and width in place of the shape's last two, in pixels
        :param dtype: of activations and weights: f32, f16, bf16, ...
        """
        c = _abi.Counts()
        _abi.call("lm_network_counts", self, _input(batch, shape, image, dtype), c)
        return Counts(
            batch=batch, params=c.params, param_tensors=c.param_tensors, param_bytes=c.param_bytes, layers=c.layers,
            macs=c.macs, forward_flop=c.flops_forward, backward_flop=c.flops_backward,
            other_forward_flop=c.other_flops_forward, other_backward_flop=c.other_flops_backward,
            activation_bytes=c.activation_bytes, read_bytes=c.read_bytes, written_bytes=c.written_bytes)

    def memory(self, batch: int = 1, *, shape: Optional[str] = None, image: int = 0, dtype: Optional[str] = None,
               **options: Any) -> Memory:
        """Peak memory of one device in a step. Further options: optimizer ("momentum"), recompute (segments that run
        again), nodes, overhead_bytes, mixed ("f16" or "bf16": autocast), inference, keep_gradients, inplace,
        bucket_views."""
        m = _abi.Memory()
        _abi.call("lm_memory_of_step", self, _input(batch, shape, image, dtype), _memory_options(options), m)
        return Memory(
            batch=batch, peak_bytes=m.peak, weights_bytes=m.weights, frozen_bytes=m.frozen, copies_bytes=m.copies,
            gradients_bytes=m.gradients, buckets_bytes=m.buckets, optimizer_bytes=m.optimizer, inputs_bytes=m.inputs,
            activations_bytes=m.activations, saved_bytes=m.saved, activation_gradients_bytes=m.backward,
            workspace_bytes=m.workspace, cache_bytes=m.cache, overhead_bytes=m.overhead, kept_bytes=m.kept,
            layer=_abi.told(m.layer), during=_abi.told(m.pass_))

    def largest_batch(self, room_bytes: float, *, shape: Optional[str] = None, image: int = 0,
                      dtype: Optional[str] = None, **options: Any) -> int:
        """The largest batch whose peak fits so many bytes; 0: not even 1 does. Options as of memory()."""
        out = ctypes.c_int64()
        _abi.call("lm_largest_batch", self, _input(0, shape, image, dtype), _memory_options(options), int(room_bytes),
                  out)
        return out.value


def _input(batch: int, shape: Optional[str], image: int, dtype: Optional[str]) -> Any:
    return _abi.Input(batch=batch, shape=_abi.text(shape), image=image, dtype=_choice(_DTYPES, dtype, "dtype"))


def _memory_options(said: Dict[str, Any]) -> Any:
    flags = 0
    for name, bit in _FLAGS.items():
        flags |= bit if said.pop(name, False) else 0
    options = _abi.MemoryOptions(
        optimizer=_abi.text(said.pop("optimizer", None)), recompute=_abi.text(said.pop("recompute", None)),
        nodes=said.pop("nodes", 0), overhead=_whole(said.pop("overhead_bytes", None)),
        mixed=_choice(_DTYPES, said.pop("mixed", None), "mixed"), flags=flags)
    if said:
        raise TypeError(f"memory has no option {', '.join(said)}")
    return options


class Machine(_Handle):
    """A machine file of `layermeter calibrate` or `fit`, or the one that ships for a device.

    :param path: of a machine file
    :param device: "A100", "Tesla T4": what ships for it; with a path: the datasheet of the file
    :param interconnect: "nvlink4+8xib400", in place of what was measured
    :param dtype: of products, of a shipped file: f32, f16, ...
    """

    def __init__(self, path: Optional[PathLike] = None, *, device: Optional[str] = None,
                 interconnect: Optional[str] = None, dtype: Optional[str] = None,
                 library: Optional[Library] = None) -> None:
        self.library = library or default_library()
        options = _abi.MachineOptions(path=_abi.text(path), device=_abi.text(device),
                                      interconnect=_abi.text(interconnect), dtype=_choice(_DTYPES, dtype, "dtype"))
        super().__init__("machine", lambda out: _abi.call("lm_machine_open_with", self.library, options, out))
        self.device = device or self.told("device")
        self.name = os.fspath(path) if path is not None else str(device)

    def __repr__(self) -> str:
        return f"layermeter.Machine({self.name!r})"

    def told(self, key: str) -> Optional[str]:
        """What the machine says of itself: "device", "source", "licence", "flaws", ...; None: it does not say."""
        return _abi.told(_abi.LIBRARY.lm_machine_told(self, _abi.text(key)))


class Predictor(_Handle):
    """Predictions of a network on a machine. Threads may share one: it answers one at a time.

    :param network: a Network, or what makes one
    :param machine: a Machine, or the path of a machine file; None: a model that takes a datasheet (paleo), or `device`
    :param device: the machine that ships for it
    :param model: "layermeter" unless told: see models()
    :param bandwidth_bytes_per_s: between nodes, one way; 0: as measured
    :param latency_s: of a message between nodes, beside a bandwidth
    :param dtype: of activations and weights; None: the machine's
    :param mixed: "f16" or "bf16": autocast; "f32": without
    :param framework: "eager": kernels one by one, as in PyTorch; "none": as measured; "graph"; None: as the machine knows
    """

    def __init__(self, network: Union[Network, PathLike], machine: Union[Machine, PathLike, None] = None, *,
                 device: Optional[str] = None, model: Optional[str] = None, interconnect: Optional[str] = None,
                 shape: Optional[str] = None, image: int = 0, optimizer: Optional[str] = None,
                 bandwidth_bytes_per_s: float = 0.0, latency_s: float = 0.0, dtype: Optional[str] = None,
                 mixed: Optional[str] = None, framework: Optional[str] = None,
                 library: Optional[Library] = None) -> None:
        self.network = network if isinstance(network, Network) else Network(network, library=library)
        self.machine: Optional[Machine] = None
        if isinstance(machine, Machine):
            self.machine = machine
            if interconnect is not None:
                raise _abi.ArgumentError("interconnect: an open Machine has its own")
        elif model != "paleo" or machine is not None:
            self.machine = Machine(machine, device=device, interconnect=interconnect, library=self.network.library)
        self.device = device or (self.machine.device if self.machine is not None else None)
        options = _abi.PredictorOptions(
            shape=_abi.text(shape), image=image, device=_abi.text(device), optimizer=_abi.text(optimizer),
            bandwidth=bandwidth_bytes_per_s, latency=latency_s, dtype=_choice(_DTYPES, dtype, "dtype"),
            mixed=_choice(_DTYPES, mixed, "mixed"), framework=_abi.text(framework))
        self._lock = threading.Lock()
        super().__init__("predictor", lambda out: _abi.call(
            "lm_predictor_open", self.network.library, self.machine, self.network, _abi.text(model), options, out))

    def _call(self, name: str, *arguments: Any) -> None:
        with self._lock:
            _abi.call(name, self, *arguments)

    # ---- a step ----

    def predict(self, batch: int = 32, nodes: int = 1, devices: int = 1, *, accumulation: int = 0,
                sync: Optional[str] = None, gradients: Optional[str] = None, inference: bool = False,
                layout: Optional[str] = None) -> Step:
        """Predicts a training step, or the latency of a batch.

        :param batch: samples of a device and micro-step
        :param nodes: machines that a network connects
        :param devices: of each node
        :param accumulation: micro-steps; gradients travel after the last
        :param sync: how gradients travel: once, tensor, ddp[:25MiB], horovod[:128MiB:1ms]
        :param gradients: their element type; None: that of the weights
        :param layout: how all ranks share the network: "tp4 pp2 sp zero1"
        """
        step = _step(batch, nodes, devices, accumulation, sync, gradients, inference, layout)
        a = _abi.Answer()
        self._call("lm_predict", step, a)
        return Step(
            network=self.network.name, machine=self._machine_name(), batch=batch, nodes=nodes, devices=devices,
            **bounded_ms("step", a.step), **bounded_ms("forward", a.forward), **bounded_ms("backward", a.backward),
            **bounded_ms("sync", a.sync), **bounded_ms("grad", a.grad), exposed_ms=MS * a.exposed,
            copy_ms=MS * a.copy, straggler_ms=MS * a.straggler, update_ms=MS * a.update,
            samples_per_s=a.samples_per_second, messages=a.messages, measured=a.measured, interpolated=a.interpolated,
            extrapolated=a.extrapolated, assumed=a.assumed, beyond=a.beyond.decode())

    def _machine_name(self) -> str:
        return self.machine.name if self.machine is not None else str(self.device)

    def predict_all(self, batch: Counted = 32, nodes: Counted = 1, **how: Any) -> Steps:
        """predict() of each number of nodes and batch."""
        return Steps(self.predict(b, n, **how) for n in _listed(nodes) for b in _listed(batch))

    def explain(self, batch: int = 32, nodes: int = 1, devices: int = 1, *, by: str = "layer", **how: Any) -> Parts:
        """Splits a step into parts, the longest first. Further options as of predict().

        :param by: layer, block, class (of kernels) or term
        """
        step = _step(batch, nodes, devices, **how)
        out = ctypes.c_void_p()
        self._call("lm_explain", step, _abi.text(by), ctypes.byref(out))
        try:
            parts = []
            for i in range(_abi.LIBRARY.lm_explanation_parts(out)):
                part = _abi.Part()
                _abi.call("lm_explanation_part", out, i, part)
                parts.append(part_of(part))
            return Parts(parts)
        finally:
            _abi.LIBRARY.lm_explanation_close(out)

    # ---- curves ----

    def scale(self, nodes: Counted = (1, 2, 4, 8, 16, 32, 64), batch: int = 32, devices: int = 1, *,
              kind: str = "weak", global_batch: int = 0, dataset: int = 0, **how: Any) -> Curve:
        """Predicts a scaling curve. Further options as of predict().

        :param kind: weak: the batch of a device is constant; strong: the global batch is; global: the same, in
            micro-steps of at most `batch`
        :param global_batch: samples of a step on all devices; not of weak scaling
        :param dataset: samples of an epoch; 0: no epoch times
        """
        wanted = _listed(nodes)
        if not wanted:
            return Curve()
        question = _scaling(kind, global_batch, dataset, _step(batch, 1, devices, **how))
        points = (_abi.Point * len(wanted))()
        points[0].size = ctypes.sizeof(_abi.Point)
        self._call("lm_scale", question, _abi.numbers(wanted), len(wanted), points)
        return Curve(point_of(p) for p in points)

    def turning_point(self, batch: int = 32, devices: int = 1, *, kind: str = "weak", global_batch: int = 0,
                      **how: Any) -> Optional[int]:
        """The fewest nodes at which doubling no longer pays; None: none up to 65536."""
        out = ctypes.c_int64()
        self._call("lm_turning_point", _scaling(kind, global_batch, 0, _step(batch, 1, devices, **how)), out)
        return out.value or None

    # ---- runs ----

    def plan(self, nodes: Counted = range(1, 65), batch: Counted = 32, devices: int = 1, *, dataset: int,
             epochs: int = 1, global_batch: int = 0, evaluate: int = 0, startup_s: float = 0.0,
             deadline_s: Optional[float] = None, budget: Optional[float] = None,
             price_per_node_h: Union[float, Price, None] = None, memory_bytes: Optional[float] = None,
             overhead_bytes: float = 0, goal: Optional[str] = None, **how: Any) -> Plan:
        """Chooses nodes and batch of a training run. Further options as of predict().

        :param dataset: samples of an epoch
        :param evaluate: samples of the evaluation after each epoch
        :param deadline_s: the run may take so long
        :param budget: the run may cost so much, in the price's money
        :param price_per_node_h: of a node for an hour; None: the shipped price of the device, if there is one
        :param memory_bytes: of a device; None: the datasheet's, if there is one
        :param goal: nodes: fewest; cost: cheapest; time: fastest. None: nodes with a deadline, else time with a budget,
            else cost with a price
        """
        currency = source = ""
        price = self._price(devices) if price_per_node_h is None else price_per_node_h
        if isinstance(price, Price):
            currency, source = price.currency, f"{price.section}, {price.date}" if price.date else price.section
            price = price.list_per_h
        hour = float(price or 0)
        if goal is None:
            goal = "nodes" if deadline_s else "time" if budget or not hour > 0 else "cost"
        step = _step(0, 1, devices, **how)
        at, of = _listed(nodes), _listed(batch)
        question = _abi.Run(
            step=ctypes.pointer(step), nodes=_abi.numbers(at), n_nodes=len(at), batch=_abi.numbers(of),
            n_batches=len(of), global_batch=global_batch, epochs=epochs, dataset=dataset, evaluate=evaluate,
            startup=startup_s, deadline=deadline_s or 0, budget=budget or 0, price=hour if hour > 0 else 0,
            memory=self._room(memory_bytes), overhead=int(overhead_bytes), goal=_choice(_GOALS, goal, "goal"))
        p = _abi.Plan()
        self._call("lm_plan_run", question, p)
        return Plan(
            nodes=p.nodes, devices=devices, batch=p.batch, accumulation=p.accumulation, global_batch=p.global_batch,
            steps_per_epoch=p.steps, **bounded_ms("step", p.step), run_s=p.seconds.value, run_low_s=p.seconds.low,
            run_high_s=p.seconds.high, device_h=p.device_hours, cost=p.cost.value, cost_low=p.cost.low,
            cost_high=p.cost.high, currency=currency, price_per_node_h=hour if hour > 0 else math.nan,
            price_source=source, plans=p.n_plans)

    def _price(self, devices: int) -> Optional[Price]:
        try:
            found = price(self.device, devices, library=self.network.library) if self.device else None
        except (_abi.NotFoundError, _abi.ArgumentError):
            return None
        return found if found and found.list_per_h > 0 else None

    def _room(self, told: Optional[float]) -> int:
        if told is None and self.device:
            try:
                told = device(self.device, library=self.network.library).memory_bytes
            except _abi.NotFoundError:
                pass  # a CPU, or a device of one's own
        return _whole(told)

    def layouts(self, global_batch: int, nodes: int = 1, devices: int = 1, *, best: int = 5, most_batch: int = 0,
                memory_bytes: Optional[float] = None, overhead_bytes: float = 0) -> List[Layout]:
        """Finds the fastest ways in which all ranks share the network, the fastest first.

        :param global_batch: samples of a step on all ranks
        :param best: so many are wanted
        :param most_batch: samples of a micro-step on a rank; 0: 64
        :param memory_bytes: of a device; None: the datasheet's, if there is one
        """
        step = _step(0, nodes, devices)
        question = _abi.LayoutQuestion(step=ctypes.pointer(step), global_batch=global_batch, most_batch=most_batch,
                                       memory=self._room(memory_bytes), overhead=int(overhead_bytes))
        out = (_abi.Layout * max(best, 1))()
        out[0].size = ctypes.sizeof(_abi.Layout)
        n = ctypes.c_size_t(best)
        self._call("lm_layouts_find", question, out, n)
        return [layout_of(f) for f in out[: n.value]]


def _step(batch: int, nodes: int, devices: int, accumulation: int = 0, sync: Optional[str] = None,
          gradients: Optional[str] = None, inference: bool = False, layout: Optional[str] = None) -> Any:
    return _abi.Step(batch=batch, nodes=nodes, devices=devices, accumulation=accumulation, sync=_abi.text(sync),
                     gradients=_choice(_DTYPES, gradients, "gradients"), inference=int(inference),
                     layout=_abi.text(layout))


def _scaling(kind: str, global_batch: int, dataset: int, step: Any) -> Any:
    return _abi.Scaling(step=ctypes.pointer(step), global_batch=global_batch, dataset=dataset,
                        kind=_choice(_KINDS, kind, "kind"))


# ---- datasheets and prices -------------------------------------------------------------------------------------------


def device(name: str, *, library: Optional[Library] = None) -> Device:
    """The datasheet of a device, by any of its names."""
    d = _abi.Device()
    _abi.call("lm_device_find", library or default_library(), _abi.text(name), d)
    return Device(
        name=d.name.decode(), memory_bytes=d.memory, bandwidth_bytes_per_s=d.bandwidth, power_w=d.power,
        f32_flop_per_s=d.f32, tf32_flop_per_s=d.tf32, f16_flop_per_s=d.f16, bf16_flop_per_s=d.bf16, f8_flop_per_s=d.f8)


def price(name: str, devices: int = 1, *, library: Optional[Library] = None) -> Price:
    """The cheapest shipped price of a node with so many of these devices in use."""
    p = _abi.Price()
    _abi.call("lm_price_find", library or default_library(), _abi.text(name), devices, p)
    return Price(section=p.section.decode(), date=p.date.decode(), currency=p.currency.decode(), list_per_h=p.list,
                 spot_per_h=p.spot)


def models() -> List[str]:
    """Names of the models that predict steps, the default one first."""
    names: List[str] = []
    while True:
        name = _abi.told(_abi.LIBRARY.lm_model_name(len(names)))
        if name is None:
            return names
        names.append(name)
