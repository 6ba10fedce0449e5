"""Single kernels as observations: geometry as core/layers/kernel_text.h reads it."""


def triple(height, width):
    return f"1x{height}x{width}"


def geometry(**fields):
    return " ".join(f"{k}={v}" for k, v in fields.items())


def gemm(batch, m, n, k, bias=0, activations=0):
    more = {"activations": 1} if activations else {}
    return {"name": "gemm", "geometry": geometry(batch=batch, m=m, n=n, k=k, bias=bias, **more)}


def softmax(rows, group):
    return {"name": "softmax", "geometry": geometry(rows=rows, group=group)}


def layer_norm(rows, group):
    return {"name": "norm", "geometry": geometry(rows=rows, group=group, inner=group)}


def map_(elements, operands, flops=1, reads=0, writes=0):
    more = {k: v for k, v in (("reads", reads), ("writes", writes)) if v}
    return {"name": "map", "geometry": geometry(elements=elements, operands=operands, flops_per_element=flops, **more)}


def copy(moved):
    """`moved` bytes are read, and as many written."""
    return {"name": "copy", "geometry": geometry(bytes=moved)}


def column_sums(rows, columns):
    return {"name": "reduce", "geometry": geometry(rows=columns, group=rows, inner=columns)}


def conv(n, c_in, c_out, size, out, window, stride, pad):
    """Sizes are (height, width)."""
    return {"name": "conv",
            "geometry": geometry(n=n, c_in=c_in, c_out=c_out, groups=1, bias=0, **{"in": triple(*size)}, out=triple(*out),
                                 window=triple(*window), stride=triple(*stride), pad="0x%sx%s" % pad, dilation="1x1x1")}
