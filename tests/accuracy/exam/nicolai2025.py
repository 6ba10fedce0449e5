"""Single PyTorch operations and whole networks on an A30 and an RTX 2080 Ti, with power (Nicolai 2025)."""
import random
import re

NAME = "nicolai2025"


def keys(**given):
    """A layer's keys as geometry has them."""
    return " ".join(f"{k}={v}" for k, v in given.items())


def parameters(r):
    """What a module printed of itself: `a, b, key=value, key=(1, 2)`, as positional values and a dict."""
    parts = re.findall(r"(?:(\w+)=)?(\([^)]*\)|[^,()\s]+)", r["op_params"])
    return ([v for k, v in parts if not k], {k: v.strip("()").replace(" ", "").rstrip(",") for k, v in parts if k})


def conv2d(r):
    given = parameters(r)[1]
    return "conv2d", keys(filters=r["out_channels"], kernel=f"{r['kernel_h']},{r['kernel_w']}", stride=f"{r['stride_h']},{r['stride_w']}",
                          padding=f"{r['padding_h']},{r['padding_w']}", groups=r["groups"], dilation=given.get("dilation", "1,1"),
                          bias="yes" if r["bias"] == "1" else "no")


def linear(r):
    return "linear", keys(features=r["out_channels"], bias="yes" if r["bias"] == "1" else "no")


def pool(kind):
    def of(r):
        given = parameters(r)[1]
        names = ("kernel_size", "stride", "padding") + (("dilation",) if kind == "max_pool2d" else ())
        return kind, keys(**{n.replace("_size", ""): given[n] for n in names if n in given},
                          ceil_mode="yes" if given.get("ceil_mode") == "True" else "no")
    return of


def adaptive(r):
    return "adaptive_avg_pool2d", keys(size=",".join(r["out_shape"].split("x")[2:]))


def stochastic_depth(r):
    return "stochastic_depth", keys(p=parameters(r)[1]["p"])


def plain(kind):
    return lambda r: (kind, "")


LAYERS = {"Conv2d": conv2d, "Linear": linear, "BatchNorm2d": plain("batch_norm"), "LayerNorm": plain("layer_norm"),
          "ReLU": plain("relu"), "SiLU": plain("silu"), "Sigmoid": plain("sigmoid"), "GELU": plain("gelu"),
          "MaxPool2d": pool("max_pool2d"), "AvgPool2d": pool("avg_pool2d"), "AdaptiveAvgPool2d": adaptive,
          "StochasticDepth": stochastic_depth}


def phase(r):
    """Forward passes of modules in training mode are those of a step."""
    if r["phase"] == "training":
        return "step"
    return "inference" if r.get("module_mode", "eval") == "eval" else "forward"


def operation(r):
    """A row of our own; training is forward and backward, and each gradient added to what is there: of weights as much traffic as
    a step of SGD, of inputs what `trains=inputs` says."""
    kind, geometry = LAYERS[r["op"]](r)
    batch, *shape = r["in_shape"].split("x")
    return {"kind": "layer", "name": kind, "geometry": geometry, "phase": phase(r), "input": "x".join(shape), "batch": batch,
            "optimizer": "sgd" if r["phase"] == "training" else "",
            "settings": f"math={'tf32' if r['tensor_cores'] == '1' else 'ieee'} trains=inputs",
            "seconds": r["time_s"], "power_w": r["power_w"], "clock_mhz": r["clock_mhz"]}
