"""What eager PyTorch launches for the nodes of a network's graph, FP32: forward, and backward where it is trained.

Traffic is stated in bytes an element of the node's largest tensor, by what PyTorch 2.1 does: `gelu` backward reads the
input and the gradient and writes one, 12 bytes; joins of two branches cost one addition of gradients; gradients of
parameters are not accumulated (set_to_none). Views launch nothing."""
import math

import kernels

# forward bytes an element, and backward as (operator, bytes)
BACKWARD = {"add": [("add", 12)], "addu": [], "mulu": [("mulu", 8)], "divu": [("divu", 8)], "div": [("divu", 8)],
            "mul": [("mul", 24), ("add", 12)], "pow": [("pow", 12), ("mul", 12), ("mulu", 8)],
            "powu": [("powu", 8), ("mul", 12), ("mulu", 8)], "tanh": [("add", 12)], "gelu": [("gelu", 12)],
            "relu": [("relu", 12)]}
TWO_TENSORS = ("add", "mul", "pow")


def product(text):
    return math.prod(int(x) for x in text.split("x"))


def elementwise(operator, elements, moved):
    """`moved` bytes an element, one written for every three of two operands."""
    words = moved // 4
    kernel = kernels.map_(elements, 2 if words % 3 == 0 else 1, reads=0, writes=0) if words <= 3 else \
        kernels.map_(elements, 2, reads=elements * words * 2 // 3, writes=elements * words // 3)
    return {**kernel, "algorithm": operator}


def moves(elements, read, written):
    """A map that reads and writes so many bytes an element."""
    return kernels.map_(elements, 1, reads=elements * read // 4, writes=elements * written // 4)


def linear(dims):
    m, k, n = (int(x) for x in dims.split("x"))
    return ([kernels.gemm(1, m, n, k, bias=1)],
            [kernels.gemm(1, m, k, n), {**kernels.gemm(1, k, n, m), "phase": "grad_weight"}, kernels.column_sums(m, n)])


def bmm(dims):
    b, m, k, n = (int(x) for x in dims.split("x"))
    smaller = b * min(m * k, k * n)  # queries and keys are made contiguous, and their gradients
    contiguous = kernels.copy(8 * smaller)
    return ([kernels.gemm(b, m, n, k, activations=1), contiguous],
            [kernels.gemm(b, m, k, n, activations=1), kernels.gemm(b, k, n, m, activations=1),
             elementwise("add", smaller, 12), contiguous])


def lower(node_class, dims, training):
    """Kernels forward and backward."""
    if node_class == "linear":
        return linear(dims)
    if node_class == "bmm":
        return bmm(dims)
    if node_class == "vecsoftmax":  # the gradient times the output, then the softmax's own
        rows, columns = (int(x) for x in dims.split("x"))
        k = kernels.softmax(rows, columns)
        return [k], [k, elementwise("mul", rows * columns, 12)]
    if node_class == "vecln":
        k = kernels.layer_norm(*dims.split("x"))
        return [k], [k, {**k, "phase": "grad_weight"}]
    if node_class.startswith("vec"):
        operator, elements = node_class[3:], product(dims)
        forward = elementwise("divu" if operator == "div" else operator, elements, 12 if operator in TWO_TENSORS else 8)
        return [forward], [elementwise(o, elements, moved) for o, moved in BACKWARD[operator]]
    if node_class == "getitem":
        return [], []
    sizes = [product(x) for x in dims.split(";") if x]
    if node_class == "dropout":  # training: a mask of bytes; backward it is made a float, scaled, multiplied
        return ([moves(sizes[-1], 4, 5)] if training else []), [moves(sizes[-1], 13, 12)]
    if node_class == "where":
        return [moves(max(sizes), 4, 4)], [moves(max(sizes), 4, 4)]
    if node_class == "embedding":
        return [kernels.copy(4 * sizes[-1])], []
    if node_class == "contiguous":
        return [kernels.copy(4 * sizes[-1])], [kernels.copy(4 * sizes[-1])]
    if sizes and max(sizes) > 1:
        return [kernels.copy(2 * sum(sizes))], [kernels.copy(2 * sum(sizes))]
    return [], []


def network(nodes, training):
    """Rows of a list of kernels: `nodes` are those of one network's graph."""
    out, tables = [], set()

    def put(kernel, phase, repeat):
        out.append({"kind": "kernel", "phase": phase, **kernel, "repeats": repeat})

    for q in nodes:
        repeat = int(q["repeat"])
        if training and q["pass"] == "backward" and q["node_class"] == "embedding" and q["node"] not in tables:
            tables.add(q["node"])  # its gradient is as large as the table
            put(kernels.map_(product(q["dims"]), 0), "grad_weight", repeat)
        if q["pass"] != "forward":
            continue
        forward, backward = lower(q["node_class"], q["dims"], training)
        for kernel in forward:
            put(kernel, "forward", repeat)
        for kernel in backward if training else []:
            put(kernel, kernel.get("phase", "grad_input"), repeat)
    return out
