"""liblayermeter by ctypes: where it lies, its records, its functions, its errors."""

from __future__ import annotations

import ctypes
import os
import pathlib
from ctypes import POINTER, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, List, Optional, Tuple

SONAME = "liblayermeter.so.1"


# ---- errors --------------------------------------------------------------------------------------------------------


class Error(Exception):
    """What the library refused, in one line. `code` is the library's own number."""

    code = 0


class ArgumentError(Error, ValueError):
    """A value out of range."""


class ShapeError(Error, ValueError):
    """Tensors that do not fit each other or a layer."""


class UnsupportedError(Error, NotImplementedError):
    """Understood, but not available in this build or on this device."""


class CountError(Error, OverflowError):
    """A count beyond 64 bits."""


class OutOfMemoryError(Error, MemoryError):
    """No memory."""


class FileError(Error, OSError):
    """A file or a shared library that cannot be read."""


class FormatError(Error, ValueError):
    """A file with wrong syntax."""


class PluginError(Error):
    """A plugin that this library cannot use."""


class NotFoundError(Error, LookupError):
    """An unknown name, or a machine that lacks what the question needs."""


_ERRORS = {
    -1: ArgumentError,
    -2: ShapeError,
    -3: UnsupportedError,
    -4: CountError,
    -5: OutOfMemoryError,
    -6: FileError,
    -7: FormatError,
    -8: PluginError,
    -9: NotFoundError,
}


class _Error(ctypes.Structure):
    _fields_ = [("code", c_int32), ("text", c_char * 508)]


# ---- records of layermeter.h, in its order ---------------------------------------------------------------------------


class Bounded(ctypes.Structure):
    _fields_ = [("value", c_double), ("low", c_double), ("high", c_double)]


class Record(ctypes.Structure):
    """A record that begins with its size."""

    def __init__(self, **members: Any) -> None:
        super().__init__(**members)
        self.size = ctypes.sizeof(self)


def _record(name: str, *members: Any) -> Any:
    return type(name, (Record,), {"_fields_": [("size", c_size_t), *members]})


def _all(kind: Any, names: str) -> List[Any]:
    return [(name, kind) for name in names.split()]


Texts = POINTER(c_char_p)
Numbers = POINTER(c_int64)

LibraryOptions = _record(
    "LibraryOptions",
    ("plugin", Texts), ("n_plugins", c_size_t), ("folder", Texts), ("n_folders", c_size_t), ("devices", c_char_p),
)
NetworkOptions = _record(
    "NetworkOptions",
    ("set", Texts), ("n_set", c_size_t), ("treat", Texts), ("n_treat", c_size_t), ("ignore", Texts),
    ("n_ignore", c_size_t), *_all(c_int32, "strict reserved"),
)
Input = _record(
    "Input", ("batch", c_int64), ("shape", c_char_p), ("image", c_int64), *_all(c_int32, "dtype reserved")
)
Counts = _record(
    "Counts",
    *_all(c_uint64, "params param_tensors param_bytes layers macs flops_forward flops_backward other_flops_forward "
                    "other_flops_backward activation_bytes read_bytes written_bytes"),
)
MemoryOptions = _record(
    "MemoryOptions",
    ("optimizer", c_char_p), ("recompute", c_char_p), ("nodes", c_int64), ("overhead", c_uint64),
    ("mixed", c_int32), ("flags", c_uint32),
)
Memory = _record(
    "Memory",
    *_all(c_uint64, "peak weights frozen copies gradients buckets optimizer inputs activations saved backward "
                    "workspace overhead kept"),
    ("layer", c_char_p), ("pass_", c_char_p), ("cache", c_uint64),
)
MachineOptions = _record(
    "MachineOptions", *_all(c_char_p, "path device interconnect"), *_all(c_int32, "dtype reserved")
)
PredictorOptions = _record(
    "PredictorOptions",
    ("shape", c_char_p), ("image", c_int64), ("device", c_char_p), ("optimizer", c_char_p),
    *_all(c_double, "bandwidth latency"), ("scheme", c_char_p), *_all(c_double, "ppp_comp ppp_comm"),
    *_all(c_int32, "dtype mixed"), ("framework", c_char_p),
)
Step = _record(
    "Step",
    *_all(c_int64, "batch nodes devices accumulation"), ("sync", c_char_p), *_all(c_int32, "gradients inference"),
    ("layout", c_char_p),
)
Answer = _record(
    "Answer",
    *_all(Bounded, "forward backward sync grad step"),
    *_all(c_double, "exposed copy straggler update samples_per_second measured interpolated extrapolated assumed"),
    ("messages", c_int64), ("beyond", c_char * 200),
)
Part = _record(
    "Part",
    *_all(c_char_p, "name type"), *_all(c_double, "seconds forward backward grad"), *_all(c_char_p, "bound unit"),
    *_all(c_double, "count coefficient"),
)
Scaling = _record(
    "Scaling", ("step", POINTER(Step)), *_all(c_int64, "global_batch dataset"), *_all(c_int32, "kind reserved")
)
Point = _record(
    "Point",
    *_all(c_int64, "nodes devices batch accumulation global_batch idle"), ("step", Bounded), ("exposed", c_double),
    ("samples_per_second", Bounded), ("speedup", c_double), ("efficiency", Bounded), ("epoch_seconds", c_double),
    ("steps_per_epoch", c_uint64), ("bottleneck", c_char_p), ("bottleneck_share", c_double),
)
Run = _record(
    "Run",
    ("step", POINTER(Step)), ("nodes", Numbers), ("n_nodes", c_size_t), ("batch", Numbers), ("n_batches", c_size_t),
    *_all(c_int64, "global_batch epochs dataset evaluate"), *_all(c_double, "startup deadline budget price"),
    *_all(c_uint64, "memory overhead"), *_all(c_int32, "goal reserved"),
)
Plan = _record(
    "Plan",
    *_all(c_int64, "nodes batch accumulation global_batch"), ("steps", c_uint64), *_all(Bounded, "step seconds"),
    ("device_hours", c_double), ("cost", Bounded), ("n_plans", c_uint64),
)
LayoutQuestion = _record(
    "LayoutQuestion", ("step", POINTER(Step)), *_all(c_int64, "global_batch most_batch"),
    *_all(c_uint64, "memory overhead"),
)
Layout = _record(
    "Layout",
    ("words", c_char * 448), *_all(c_int64, "batch accumulation"), ("step", Bounded),
    *_all(c_double, "compute tensor pipeline data update"), ("memory", c_double), ("tie", c_int64),
)
Device = _record(
    "Device",
    ("name", c_char * 80), *_all(c_double, "memory bandwidth power f32 tf32 f16 bf16 f8"),
)
Price = _record(
    "Price",
    ("section", c_char * 80), ("date", c_char * 16), ("currency", c_char * 8), *_all(c_double, "list spot"),
)

RECORDS = {
    "lm_library_options": LibraryOptions, "lm_network_options": NetworkOptions, "lm_input": Input,
    "lm_counts": Counts, "lm_memory_options": MemoryOptions, "lm_memory": Memory,
    "lm_machine_options": MachineOptions, "lm_predictor_options": PredictorOptions, "lm_step": Step,
    "lm_answer": Answer, "lm_part": Part, "lm_scaling": Scaling, "lm_point": Point, "lm_run": Run, "lm_plan": Plan,
    "lm_layout_question": LayoutQuestion, "lm_layout": Layout, "lm_device": Device, "lm_price": Price,
}

# ---- functions -------------------------------------------------------------------------------------------------------

_H = c_void_p  # a handle
_OUT = POINTER(c_void_p)
_E = POINTER(_Error)
_P = POINTER

# Of these the last argument is the error, and the result a status.
_CHECKED: Dict[str, List[Any]] = {
    "lm_library_open": [_P(LibraryOptions), _OUT],
    "lm_network_open": [_H, c_char_p, _P(NetworkOptions), _OUT],
    "lm_network_counts": [_H, _P(Input), _P(Counts)],
    "lm_memory_of_step": [_H, _P(Input), _P(MemoryOptions), _P(Memory)],
    "lm_largest_batch": [_H, _P(Input), _P(MemoryOptions), c_uint64, Numbers],
    "lm_machine_open_with": [_H, _P(MachineOptions), _OUT],
    "lm_predictor_open": [_H, _H, _H, c_char_p, _P(PredictorOptions), _OUT],
    "lm_predict": [_H, _P(Step), _P(Answer)],
    "lm_explain": [_H, _P(Step), c_char_p, _OUT],
    "lm_explanation_part": [_H, c_size_t, _P(Part)],
    "lm_scale": [_H, _P(Scaling), Numbers, c_size_t, _P(Point)],
    "lm_turning_point": [_H, _P(Scaling), Numbers],
    "lm_plan_run": [_H, _P(Run), _P(Plan)],
    "lm_layouts_find": [_H, _P(LayoutQuestion), _P(Layout), _P(c_size_t)],
    "lm_device_find": [_H, c_char_p, _P(Device)],
    "lm_price_find": [_H, c_char_p, c_int64, _P(Price)],
}
_PLAIN: Dict[str, Tuple[List[Any], Any]] = {
    "lm_version": ([], c_char_p),
    "lm_model_name": ([c_size_t], c_char_p),
    "lm_machine_told": ([_H, c_char_p], c_char_p),
    "lm_explanation_parts": ([_H], c_size_t),
    **{f"lm_{kind}_close": ([_H], None) for kind in ("library", "network", "machine", "predictor", "explanation")},
}


def find_library() -> str:
    """$LAYERMETER_LIBRARY, the library of the environment that this package is installed in, or the system's."""
    told = os.environ.get("LAYERMETER_LIBRARY")
    if told:
        return told
    for folder in pathlib.Path(__file__).resolve().parents:
        path = folder / "lib" / SONAME
        if path.exists():
            return str(path)
    return SONAME


def load(path: Optional[str] = None) -> ctypes.CDLL:
    """Loads the library and tells ctypes its functions."""
    path = path or find_library()
    try:
        library = ctypes.CDLL(path)
        for name, arguments in _CHECKED.items():
            function = getattr(library, name)
            function.argtypes = [*arguments, _E]
            function.restype = c_int32
        for name, (arguments, result) in _PLAIN.items():
            function = getattr(library, name)
            function.argtypes = arguments
            function.restype = result
    except (OSError, AttributeError) as error:
        raise ImportError(f"{path}: {error} (install layermeter, or name the library in LAYERMETER_LIBRARY)") from None
    return library


LIBRARY = load()


def call(name: str, *arguments: Any) -> None:
    """Calls a function that can fail; what it refuses is raised."""
    error = _Error()
    status = getattr(LIBRARY, name)(*arguments, ctypes.byref(error))
    if status:
        raised = _ERRORS.get(status, Error)(error.text.decode("utf-8", "replace"))
        raised.code = status
        raise raised


def text(value: Optional[Any]) -> Optional[bytes]:
    """A text, or a path, as bytes; None stays None."""
    return None if value is None else os.fsencode(value)


def told(value: Optional[bytes]) -> Optional[str]:
    """A text of the library."""
    return None if value is None else value.decode("utf-8", "replace")


def texts(values: Any) -> Any:
    """An array of texts, which its record must outlive."""
    encoded = [os.fsencode(v) for v in values]
    return (c_char_p * len(encoded))(*encoded)


def numbers(values: Any) -> Any:
    """An array of whole numbers."""
    listed = [int(v) for v in values]
    return (c_int64 * len(listed))(*listed)
