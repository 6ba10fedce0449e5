#!/usr/bin/env python3
"""Measures training steps of your own PyTorch and writes them as observations that `layermeter fit` takes.

    examples/pytorch/collect.py resnet18 vgg16 --batch 1,4,16 --image 64,128 -o observations.csv
    mpirun -np 2 examples/pytorch/collect.py resnet18 --bucket-mb 25 -o ddp.csv
    examples/pytorch/collect.py mine.nets:small --name nets/small.ini --input 3x64x64 -o mine.csv

Several processes are started by torchrun, mpirun or srun. A network is one of torchvision, or MODULE:FUNCTION, whose
function returns a module; --name then says which model file of Layermeter it is. One row is one phase, as
core/observe/OBSERVATIONS.md has it:

  forward   the module in training mode on one batch; no loss
  backward  from gradients of the outputs that are given
  sync      several processes. With --bucket-mb: by DistributedDataParallel, from the moment when the last bucket is full until
            all are reduced. Without: an all-reduce of one message as large as all gradients, after the backward pass
  update    the optimizer's step; with --mixed f16 unscaling as well
  step      all of them, until the slowest process is done
  inference with --phases inference, one process: the module in evaluation mode under torch.inference_mode()

Phases are timed one by one: by events on a GPU, by the monotonic clock on a CPU. Times of a repetition are the slowest
process's, `seconds` is the median over the repetitions. PyTorch 1.13 or later; nothing else but torchvision for its names.
"""
import argparse
import csv
import ctypes
import datetime
import importlib
import math
import os
import platform
import socket
import sys
import time

try:
    import torch
    import torch.distributed as dist
except ImportError as e:
    print(f"skipped: {e} (Debian: python3-torch)", file=sys.stderr)
    sys.exit(77)

COLUMNS = ("kind,name,phase,input,batch,dtype,ranks,hosts,bytes,algorithm,geometry,optimizer,bucket_bytes,settings,"
           "threads,repeats,seconds,min_seconds,p95_seconds,cpu_seconds,clock_mhz,power_w,flags,status").split(",")
IDENTITY = "kind name input algorithm geometry optimizer bucket_bytes settings dtype batch ranks hosts bytes".split()
PHASES = "forward backward sync update step".split()
INFERENCE = "inference"
ADAPTIVE = {"adam": "Adam", "adagrad": "Adagrad", "adadelta": "Adadelta", "rmsprop": "RMSprop"}
OPTIMIZERS = ["sgd", "momentum", *ADAPTIVE]
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}


class Refused(Exception):
    """A wrong wish or file; the text is for people."""


# ---- statistics ------------------------------------------------------------------------------------------------------

def quantile(values, q):
    values = sorted(values)
    at = q * (len(values) - 1)
    low = int(at)
    return values[low] + (values[min(low + 1, len(values) - 1)] - values[low]) * (at - low)


def enough(steps, o):
    """As layermeter-calibrate: the standard error of the median, from the median absolute deviation."""
    if len(steps) < o.min_repeats:
        return False
    if len(steps) >= o.max_repeats or sum(steps) >= o.seconds:
        return True
    middle = quantile(steps, 0.5)
    mad = quantile([abs(s - middle) for s in steps], 0.5)
    return 1.2533 * 1.4826 * mad / math.sqrt(len(steps)) <= o.precision * middle


# ---- processes -------------------------------------------------------------------------------------------------------

class World:
    """All processes of the job; one without a launcher."""

    def __init__(self, device):
        self.rank = self.told("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", 0)
        self.size = self.told("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", 1)
        self.device, self.library, self.hosts = torch.device("cpu"), None, 1
        if device == "cuda":
            if not torch.cuda.is_available():
                raise Refused("--device cuda: this PyTorch sees no GPU")
            self.device = torch.device("cuda", self.told("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", 0)
                                       % torch.cuda.device_count())
            torch.cuda.set_device(self.device)
        if self.size > 1:
            self.library = "nccl" if device == "cuda" else "gloo"
            os.environ.setdefault("MASTER_ADDR", "127.0.0.1")  # of process 0, where there are several hosts
            os.environ.setdefault("MASTER_PORT", "29511")
            dist.init_process_group(self.library, rank=self.rank, world_size=self.size)
            names = [None] * self.size
            dist.all_gather_object(names, socket.gethostname())
            self.hosts = len(set(names))

    @staticmethod
    def told(*where):
        """By torchrun, mpirun or srun; else the last."""
        return int(next((os.environ[w] for w in where[:-1] if w in os.environ), where[-1]))

    def worst(self, values):
        """Of each value the largest over the processes."""
        if self.size == 1:
            return values
        t = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(t, op=dist.ReduceOp.MAX)
        return t.tolist()

    def barrier(self):
        if self.size > 1:
            dist.barrier()

    def close(self):
        if self.size > 1:
            dist.destroy_process_group()


# ---- clocks ----------------------------------------------------------------------------------------------------------

class Clock:
    """Marks, and the seconds between them."""

    def __init__(self, device):
        self.gpu = device.type == "cuda"

    def mark(self):
        if not self.gpu:
            return time.perf_counter(), time.thread_time()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def read(self, pairs):
        """(wall, cpu) of each pair of marks; 0 where there is none; cpu is NaN on a GPU."""
        if self.gpu:
            torch.cuda.synchronize()
            return [(p[0].elapsed_time(p[1]) / 1e3, math.nan) if p else (0, 0) for p in pairs]
        return [(p[1][0] - p[0][0], p[1][1] - p[0][1]) if p else (0, 0) for p in pairs]


# ---- what is measured ------------------------------------------------------------------------------------------------

def make_module(network):
    module, _, function = network.partition(":")
    if function:
        sys.path.insert(0, os.getcwd())
        return getattr(importlib.import_module(module), function)()
    try:
        models = importlib.import_module("torchvision.models")
    except ImportError as e:
        raise Refused(f"{network}: {e}: torchvision's networks need it; MODULE:FUNCTION does not")
    try:
        return getattr(models, network)(weights=None)
    except AttributeError:
        raise Refused(f"{network}: torchvision has no such network")


def make_input(shape, batch, o, device):
    dims, _, kind = shape.partition(":")
    dims = [batch] + [int(d) for d in dims.split("x")]
    if kind:
        return torch.randint(0, 100, dims, device=device, dtype={"i64": torch.int64, "i32": torch.int32}[kind])
    x = torch.randn(dims, device=device).to(DTYPES[o.dtype])
    return x.contiguous(memory_format=torch.channels_last) if o.channels_last and len(dims) == 4 else x


def make_optimizer(name, parameters, form):
    how = {} if not form else {"foreach": form == "foreach"} if form != "fused" else {"fused": True}
    try:
        if name in ADAPTIVE:
            return getattr(torch.optim, ADAPTIVE[name])(parameters, lr=1e-6, **how)
        return torch.optim.SGD(parameters, lr=1e-6, momentum=0.9 if name == "momentum" else 0, **how)
    except TypeError as e:
        raise Refused(f"--update {form}: this PyTorch's {name} has no such form: {e}")


def tensors_of(output):
    """All floating tensors of what a module returns: a tensor, a tuple, or a dictionary."""
    if torch.is_tensor(output):
        return [output] if output.requires_grad else []
    values = output.values() if isinstance(output, dict) else output if isinstance(output, (list, tuple)) else []
    return [t for v in values for t in tensors_of(v)]


class Step:
    """One network at one batch, ready to train."""

    def __init__(self, network, shape, batch, optimizer, o, world):
        self.o, self.world, self.clock = o, world, Clock(world.device)
        module = make_module(network).to(world.device).to(DTYPES[o.dtype]).train()
        if o.channels_last:
            module = module.to(memory_format=torch.channels_last)
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        self.x = make_input(shape, batch, o, world.device)
        self.optimizer = make_optimizer(optimizer, self.parameters, o.update)
        self.scaler = torch.cuda.amp.GradScaler() if o.mixed == "f16" and world.device.type == "cuda" else None
        self.local = self.module = torch.compile(module) if o.compile else module
        self.one = torch.ones(1, device=world.device)
        self.flat = self.full = None

    def share(self):
        """From here on gradients are exchanged."""
        if self.world.size == 1:
            return
        if self.o.bucket_mb:
            on = [self.world.device.index] if self.world.device.type == "cuda" else None
            self.module = torch.nn.parallel.DistributedDataParallel(self.local, device_ids=on,
                                                                    bucket_cap_mb=self.o.bucket_mb)
            self.module.register_comm_hook(None, self.reduce)
        else:
            self.flat = torch.zeros(sum(p.numel() for p in self.parameters), dtype=self.parameters[0].dtype,
                                    device=self.world.device)

    def reduce(self, _, bucket):
        buffer = bucket.buffer().div_(self.world.size)
        if bucket.is_last():
            self.full = self.clock.mark()  # no gradient is computed any more: what follows is waiting
        return dist.all_reduce(buffer, async_op=True).get_future().then(lambda f: f.value()[0])

    def update(self):
        if not self.scaler:
            return self.optimizer.step()
        self.scaler.scale(self.one)  # it unscales only what it has scaled something before
        self.scaler.unscale_(self.optimizer)
        self.scaler.step(self.optimizer)
        return self.scaler.update()

    def run(self, module, exchange):
        """Once; (wall, cpu) of forward, backward, sync, update, where what is not there is 0."""
        mark, sync = self.clock.mark, None
        self.optimizer.zero_grad(set_to_none=True)
        begun = mark()
        with torch.autocast(self.world.device.type, DTYPES[self.o.mixed or "bf16"], enabled=bool(self.o.mixed)):
            outputs = tensors_of(module(self.x))
        forward = mark()
        gradients = [torch.full_like(t, 1e-3) for t in outputs]
        back = mark()
        torch.autograd.backward(outputs, gradients)
        backward = mark()
        if exchange and self.flat is None:
            sync, backward = (self.full, backward), self.full
        elif exchange:
            self.world.barrier()  # the wait for a slower process is not the all-reduce's
            together = mark()
            dist.all_reduce(self.flat)
            sync = together, mark()
        update = mark()
        self.update()
        return self.clock.read([(begun, forward), (back, backward), sync, (update, mark())])


class Pass:
    """One network at one batch in evaluation mode."""

    def __init__(self, network, shape, batch, o, world):
        self.o, self.device, self.clock = o, world.device, Clock(world.device)
        module = make_module(network).to(world.device).to(DTYPES[o.dtype]).eval()
        if o.channels_last:
            module = module.to(memory_format=torch.channels_last)
        self.module = torch.compile(module) if o.compile else module
        self.x = make_input(shape, batch, o, world.device)

    def run(self):
        """Once; (wall, cpu)."""
        with torch.inference_mode(), torch.autocast(self.device.type, DTYPES[self.o.mixed or "bf16"], enabled=bool(self.o.mixed)):
            begun = self.clock.mark()
            self.module(self.x)
            return self.clock.read([(begun, self.clock.mark())])[0]


def is_memory(e):
    return "out of memory" in str(e).lower() or "allocate memory" in str(e).lower()


def measure(step, o, world):
    """Times of all repetitions by phase, wall and CPU; or the word for `status` and why."""
    status, why = 0, ""
    try:  # alone first: a process that cannot must not leave the others waiting
        step.run(step.local, False)
    except (RuntimeError, ValueError) as e:
        status, why = (2 if is_memory(e) else 1), str(e).splitlines()[0]
    status = int(world.worst([status])[0])
    if status:
        return "skipped-memory" if status == 2 else "skipped-unsupported", why
    step.share()
    exchange = world.size > 1
    for _ in range(o.warmup):
        step.run(step.module, exchange)
    wall, cpu = [], []
    while True:
        world.barrier()
        times = step.run(step.module, exchange)
        own = [t[0] for t in times]
        # between which processes wait for each other: all of a step, or what is before the all-reduce and what is not
        spans = [sum(own), 0] if step.flat is None else [own[0] + own[1], own[2] + own[3]]
        worst = world.worst(own + [t[1] for t in times] + spans)
        wall.append(worst[:4] + [sum(worst[8:])])
        cpu.append(worst[4:8])
        if world.worst([1 if enough([w[4] for w in wall], o) else 0])[0]:
            return wall, cpu


def measure_pass(one, o):
    """As measure(), of a Pass; one process."""
    try:
        for _ in range(max(o.warmup, 1)):
            one.run()
        times = []
        while not enough([t[0] for t in times], o):
            times.append(one.run())
    except (RuntimeError, ValueError) as e:
        return "skipped-memory" if is_memory(e) else "skipped-unsupported", str(e).splitlines()[0]
    return [[t[0]] for t in times], [[t[1]] for t in times]


def rows_of(point, measured, o, world, phases=PHASES):
    first, second = measured
    if isinstance(first, str):
        return [dict(point, phase=phases[-1], status=first)]
    rows = []
    for i, phase in enumerate(phases):
        wall = [w[i] for w in first]
        if phase == "sync" and world.size == 1:
            continue
        row = dict(point, phase=phase, repeats=len(wall), seconds=repr(max(quantile(wall, 0.5), 1e-9)),
                   min_seconds=repr(max(min(wall), 1e-9)), p95_seconds=repr(max(quantile(wall, 0.95), 1e-9)), status="ok")
        # the CPU time of one thread tells whether it had its core; waiting for others is no contention
        if phase in ("forward", "backward", "update", INFERENCE) and o.threads == 1 and world.device.type == "cpu":
            cpu = quantile([c[i] for c in second], 0.5)
            row["cpu_seconds"] = repr(max(cpu, 1e-9))
            if quantile(wall, 0.5) > 1.1 * cpu and not (point.get("bucket_bytes") and phase == "backward"):
                row["flags"] = "contended"
        rows.append(row)
    if any("flags" in r for r in rows):
        rows[-1]["flags"] = "contended"
    return rows


# ---- the file --------------------------------------------------------------------------------------------------------

def identity(row):
    return tuple(str(row.get(c) or "") for c in IDENTITY) + (row.get("phase") == INFERENCE,)


def read_done(path):
    """The points that the file holds, and where the last whole one ends."""
    done, end, at, header = set(), 0, 0, False
    with open(path, "rb") as f:
        for line in f:
            at += len(line)
            text = line.decode(errors="replace")
            if not line.endswith(b"\n") or "\0" in text:
                break
            if text.startswith("#") and not header:
                continue
            fields = next(csv.reader([text]), [])
            if not header:
                if fields != COLUMNS:
                    raise Refused(f"{path}: other columns than this program writes: give another -o")
                header, end = True, at
                continue
            row = dict(zip(COLUMNS, fields))
            if len(fields) != len(COLUMNS) or row["status"] != "ok" and not row["status"].startswith("skipped-"):
                break
            if row["phase"] in ("step", INFERENCE):
                done.add(identity(row))
                end = at
    return done, end


def first_line(path, key):
    try:
        with open(path) as f:
            return next((line.split(":", 1)[1].strip() for line in f if line.startswith(key)), None)
    except OSError:
        return None


def provenance(o, world):
    yield "date", datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    yield "program", f"collect.py, PyTorch {torch.__version__}"
    yield "command", " ".join(sys.argv)
    yield "cpu", first_line("/proc/cpuinfo", "model name")
    yield "cores", os.cpu_count()
    yield "memory", first_line("/proc/meminfo", "MemTotal")
    yield "system", f"{platform.system()} {platform.release()} {platform.machine()}"
    yield "ranks", f"{world.size} on {world.hosts} host{'s' if world.hosts > 1 else ''}"
    yield "compute_backend", "pytorch"
    if world.device.type == "cuda":
        yield "gpu", torch.cuda.get_device_name(world.device)
        yield "cuda", torch.version.cuda
        yield "cudnn", torch.backends.cudnn.version()
    else:
        yield "allocator", o.allocator
    yield "collective_backend", world.library
    yield "repetitions", (f"{o.warmup} warm-up, {o.min_repeats} to {o.max_repeats} repetitions, until the standard error of "
                          f"the median is below {100 * o.precision:g} % or {o.seconds:g} s")
    yield "statistics", ("seconds: median wall time; of each repetition the slowest process counts; forward, backward, sync, "
                         "update one after the other; step: until the slowest process is done; no loss")


class Output:
    """Points are appended as soon as they are measured; only process 0 writes."""

    def __init__(self, o, world):
        self.done, self.file = set(), None
        if world.rank:
            return
        there = os.path.exists(o.output)
        if there and not (o.resume or o.force):
            raise Refused(f"{o.output}: exists already: --resume continues it, --force replaces it")
        end = 0
        if there and o.resume:
            self.done, end = read_done(o.output)
        self.file = open(o.output, "r+" if end else "w", newline="")
        if end:
            self.file.seek(end)
            self.file.truncate()
        else:
            head = "# layermeter observations, format 1\n"
            head += "".join(f"# {k}: {' '.join(str(v).split())}\n" for k, v in provenance(o, world) if v is not None)
            self.put(head + ",".join(COLUMNS) + "\n")

    def put(self, text):
        self.file.write(text)
        self.file.flush()
        os.fsync(self.file.fileno())

    def rows(self, rows):
        class Lines(list):
            write = list.append

        lines = Lines()
        writer = csv.DictWriter(lines, COLUMNS, restval="", lineterminator="\n")
        for row in rows:
            writer.writerow(row)
        self.put("".join(lines))


# ---- the command -----------------------------------------------------------------------------------------------------

def numbers(text):
    """1,2,4 or 1..64*2"""
    out = []
    for part in text.split(","):
        low, dots, high = part.partition("..")
        if not dots:
            out.append(int(part))
            continue
        high, _, factor = high.partition("*")
        value = int(low)
        while value <= int(high):
            out.append(value)
            value = value * int(factor) if factor else value + 1
            if factor and int(factor) < 2:
                raise ValueError(text)
    if not out or min(out) < 1:
        raise ValueError(text)
    return out


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("network", nargs="+", help="a network of torchvision, or MODULE:FUNCTION")
    p.add_argument("-o", "--output", required=True, metavar="FILE", help="observations to write")
    p.add_argument("--name", help="model file of Layermeter for MODULE:FUNCTION (default: its last part)")
    p.add_argument("--batch", type=numbers, default=[1, 4, 16], help="1,2,4 or 1..64*2 (default 1,4,16)")
    p.add_argument("--image", type=numbers, default=[64, 128], help="pixels (default 64,128)")
    p.add_argument("--input", metavar="SHAPE", help="of one sample, instead of images: 128:i64, 3x64x96")
    p.add_argument("--phases", default="training", help="training, inference, or both separated by a comma (default training)")
    p.add_argument("--optimizer", default="momentum", help=f"of {', '.join(OPTIMIZERS)}; several separated by commas (default momentum)")
    p.add_argument("--dtype", choices=sorted(DTYPES), default="f32", help="of weights and activations (default f32)")
    p.add_argument("--mixed", "--amp", choices=["f16", "bf16"], help="f32 weights, gradients and optimizer under autocast")
    p.add_argument("--update", choices=["single", "foreach", "fused"],
                   help="optimizer tensor by tensor, over all at once, or in one kernel (default: as this PyTorch does)")
    p.add_argument("--math", choices=["ieee", "tf32", "torch"], default="ieee",
                   help="GPU: products of f32; torch: PyTorch's default, tf32 in convolutions alone (default ieee)")
    p.add_argument("--autotune", action="store_true", help="GPU: cuDNN times its algorithms first")
    p.add_argument("--channels-last", action="store_true", help="images and weights as NHWC")
    p.add_argument("--compile", action="store_true", help="torch.compile, where this PyTorch has it")
    p.add_argument("--bucket-mb", type=int, default=0, help="DDP's bucket_cap_mb; 0: one all-reduce after backward (default)")
    p.add_argument("--device", choices=["cpu", "cuda"], default="cuda" if torch.cuda.is_available() else "cpu",
                   help="default: a GPU where PyTorch sees one")
    p.add_argument("--threads", type=int, default=1, help="of each process, on a CPU (default 1)")
    p.add_argument("--allocator", choices=["kept", "system"], default="kept",
                   help="CPU: kept (default): freed memory is, so that the system's page faults are not what is measured")
    p.add_argument("--warmup", type=int, default=2, help="untimed repetitions (default 2)")
    p.add_argument("--min-repeats", type=int, default=5, help="timed repetitions, at least (default 5)")
    p.add_argument("--max-repeats", type=int, default=30, help="timed repetitions, at most (default 30)")
    p.add_argument("--seconds", type=float, default=2, help="of timed repetitions at most, after --min-repeats (default 2)")
    p.add_argument("--precision", type=float, default=0.02, help="they end when the median's standard error is below this share of it (default 0.02)")
    p.add_argument("--resume", action="store_true", help="go on with FILE: measure what it lacks")
    p.add_argument("--force", action="store_true", help="replace FILE")
    o = p.parse_args()
    o.optimizers = o.optimizer.split(",")
    o.phases = o.phases.split(",")
    if not set(o.phases) <= {"training", INFERENCE}:
        p.error(f"--phases {','.join(o.phases)}: of training, inference")
    if not set(o.optimizers) <= set(OPTIMIZERS):
        p.error(f"--optimizer {o.optimizer}: of {', '.join(OPTIMIZERS)}")
    if o.mixed and o.dtype != "f32":
        p.error("--mixed: has f32 weights: leave out --dtype")
    if o.compile and not hasattr(torch, "compile"):
        p.error("--compile: this PyTorch has no torch.compile")
    if not 1 <= o.min_repeats <= o.max_repeats:
        p.error("--min-repeats is above --max-repeats")
    return o


def settings(o, world):
    known = {"mixed": o.mixed, "compile": "yes" if o.compile else None, "layout": "nhwc" if o.channels_last else None, "update": o.update}
    if world.device.type == "cuda":
        known.update(algorithms="autotuned" if o.autotune else "heuristic", math=o.math, launch="stream",
                     layout="nhwc" if o.channels_last else "nchw")
    return " ".join(f"{k}={v}" for k, v in sorted(known.items()) if v)


def prepare(o, world):
    torch.set_num_threads(o.threads)
    if world.device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = o.math == "tf32", o.math != "ieee"
        torch.backends.cudnn.benchmark = o.autotune
    elif o.allocator == "kept" and platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(-4, 0)  # M_MMAP_MAX: all from the heap ...
        libc.mallopt(-1, -1)  # M_TRIM_THRESHOLD: ... which is never given back


def collect(o, world):
    prepare(o, world)
    out, failure = None, None
    try:
        out = Output(o, world)
    except (Refused, OSError) as e:
        failure = e
    if world.worst([1 if failure else 0])[0]:  # all processes end, or none
        raise failure or Refused("")
    shapes = [o.input] if o.input else [f"3x{i}x{i}" for i in o.image]
    if INFERENCE in o.phases and world.size > 1:
        raise Refused("--phases inference: of one process; start it without a launcher")
    of_each = (o.optimizers if "training" in o.phases else []) + ([INFERENCE] if INFERENCE in o.phases else [])
    points = [(n, s, b, z) for n in o.network for s in shapes for b in o.batch for z in of_each]
    for at, (network, shape, batch, optimizer) in enumerate(points):
        point = dict(kind="network", name=o.name or network.rpartition(":")[2], input=shape.partition(":")[0], batch=batch, dtype=o.dtype,
                     ranks=world.size, hosts=world.hosts, algorithm="default",
                     optimizer="" if optimizer == INFERENCE else optimizer,
                     bucket_bytes=o.bucket_mb << 20 if o.bucket_mb and world.size > 1 else "",
                     settings=settings(o, world), threads=o.threads)
        if optimizer == INFERENCE:
            point["phase"] = INFERENCE
        if world.worst([1 if identity(point) in out.done else 0])[0]:
            continue
        if optimizer == INFERENCE:
            found = measure_pass(Pass(network, shape, batch, o, world), o)
            rows = rows_of(point, found, o, world, [INFERENCE])
        else:
            found = measure(Step(network, shape, batch, optimizer, o, world), o, world)
            rows = rows_of(point, found, o, world)
        if not world.rank:
            out.rows(rows)
            what = f'{rows[-1]["status"]} ({found[1]})' if rows[-1]["status"] != "ok" else f"{1e3 * float(rows[-1]['seconds']):.3f} ms"
            print(f"[{at + 1}/{len(points)}] {network} {shape} batch {batch} {optimizer}: {what}", file=sys.stderr)


def main():
    o, world = parse(), None
    try:
        world = World(o.device)
        collect(o, world)
    except (Refused, OSError) as e:
        if str(e):
            print(f"collect.py: {e}", file=sys.stderr)
        return 1
    finally:
        if world:
            world.close()
    return 0


if __name__ == "__main__":
    status = main()
    # Not by sys.exit(): the process group's threads may still hold the last all-reduce's function, and one that drops it
    # while the interpreter is being taken down aborts the process ("terminate called without an active exception").
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
