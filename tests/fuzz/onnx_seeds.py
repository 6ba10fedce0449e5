#!/usr/bin/env python3
"""Writes the small ONNX files in tests/cli/inputs, which the golden tests and the fuzzer take.

Needs the onnx package (Debian: python3-onnx). usage: onnx_seeds.py FOLDER
"""
import sys
import onnx
from onnx import TensorProto as T, helper as h

folder = sys.argv[1]


def node(op, inputs, outputs, **attributes):
    return h.make_node(op, inputs.split(), outputs.split(), **attributes)


def ints(name, values, dims=None):
    return h.make_tensor(name, T.INT64, [len(values)] if dims is None else dims, values)


def reals(name, dims, value=0.0):
    n = 1
    for d in dims:
        n *= d
    return h.make_tensor(name, T.FLOAT, dims, [value] * n)


def empty(name, dims, kind=T.FLOAT):
    """A tensor whose data lie elsewhere: only its shape is here."""
    t = T(name=name, dims=dims, data_type=kind, data_location=T.EXTERNAL)
    entry = t.external_data.add()
    entry.key, entry.value = "location", "nowhere.bin"
    return t


def info(name, dims, kind=T.FLOAT):
    return h.make_tensor_value_info(name, kind, dims)


def save(name, nodes, inputs, outputs, initializers=(), opset=13, functions=(), inner=()):
    graph = h.make_graph(list(nodes), name, list(inputs), list(outputs), list(initializers), value_info=list(inner))
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], producer_name="")
    model.functions.extend(functions)
    data = model.SerializeToString()
    assert len(data) < 2048, (name, len(data))
    with open(f"{folder}/{name}.onnx", "wb") as out:
        out.write(data)


# a convolutional network without weights: all of them are inputs
save("plain",
     [node("Conv", "x c.weight", "a", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
      node("BatchNormalization", "a n.weight n.bias n.running_mean n.running_var", "b p q", training_mode=1),
      node("Relu", "b", "d"),
      node("MaxPool", "d", "e", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
      node("AveragePool", "e", "f", kernel_shape=[1, 1]),
      node("Flatten", "f", "g"),
      node("Gemm", "g l.weight l.bias", "y", transB=1)],
     [info("x", [1, 3, 16, 16]), info("c.weight", [4, 3, 3, 3])] +
     [info(f"n.{r}", [4]) for r in ("weight", "bias", "running_mean", "running_var")] +
     [info("l.weight", [10, 64]), info("l.bias", [10])],
     [info("y", [1, 10])], opset=14)

# one block of a transformer, weights elsewhere, one of them used by two
save("block",
     [node("Gather", "e.weight x", "t"),
      node("Add", "t pos", "u"),
      node("ReduceMean", "u", "m", axes=[-1]), node("Sub", "u m", "d"), node("Pow", "d two", "v"),
      node("ReduceMean", "v", "w", axes=[-1]), node("Add", "w eps", "s"), node("Sqrt", "s", "r"),
      node("Div", "d r", "k"), node("Mul", "k n.weight", "l"), node("Add", "l n.bias", "n"),
      node("Transpose", "qkv.weight", "qt", perm=[1, 0]), node("MatMul", "n qt", "q0"), node("Add", "b q0", "q1"),
      node("Split", "q1", "q k1 v1", axis=-1),
      node("Transpose", "k1", "kt", perm=[0, 2, 1]), node("MatMul", "q kt", "z"), node("Div", "z two", "z1"),
      node("Softmax", "z1", "p", axis=-1), node("MatMul", "p v1", "o"), node("Add", "o u", "h"),
      node("Div", "h root", "g0"), node("Erf", "g0", "g1"), node("Add", "g1 one", "g2"), node("Mul", "h g2", "g3"),
      node("Mul", "g3 half", "g"),
      node("Transpose", "e.weight", "et", perm=[1, 0]), node("MatMul", "g et", "y")],
     [info("x", ["batch", 6], T.INT64)], [info("y", ["batch", 6, 20])],
     [empty("e.weight", [20, 8]), empty("pos", [1, 6, 8]), empty("n.weight", [8]), empty("n.bias", [8]),
      empty("qkv.weight", [24, 8]), empty("b", [24]), reals("two", [], 2.0), reals("eps", [], 1e-5),
      reals("root", [], 1.4142135), reals("one", [], 1.0), reals("half", [], 0.5)])

# shapes computed from shapes
save("shapes",
     [node("Conv", "x w", "a", kernel_shape=[1, 1]),
      node("Shape", "a", "s"), node("Gather", "s i0", "n"), node("Gather", "s i1", "c"), node("Gather", "s i2", "hh"),
      node("Gather", "s i3", "ww"), node("Div", "c i2", "ch"),
      node("Unsqueeze", "n ax", "un"), node("Unsqueeze", "ch ax", "uc"), node("Unsqueeze", "hh ax", "uh"),
      node("Unsqueeze", "ww ax", "uw"), node("Concat", "un two uc uh uw", "t", axis=0),
      node("Reshape", "a t", "b"), node("Transpose", "b", "d", perm=[0, 2, 1, 3, 4]), node("Reshape", "d s", "e"),
      node("Slice", "e zero uc one", "f"), node("Slice", "s zero two", "nc"), node("Concat", "nc minus", "t2", axis=0),
      node("Reshape", "f t3", "g"), node("ReduceMean", "g", "y", axes=[2], keepdims=0)],
     [info("x", ["N", 3, 8, 8])], [info("y", ["N", 4])],
     [reals("w", [8, 3, 1, 1]), ints("i0", [0], []), ints("i1", [1], []), ints("i2", [2], []), ints("i3", [3], []),
      ints("ax", [0]), ints("zero", [0]), ints("one", [1]), ints("two", [2]), ints("minus", [-1]),
      ints("t3", [0, 4, -1])])

# both directions of an LSTM, weights cut and joined as torch does
save("recurrent",
     [node("Transpose", "x", "a", perm=[1, 0, 2]),
      node("Slice", "w_ih z i", "w0"), node("Slice", "w_ih i f", "w1"), node("Concat", "w1 w0", "w2", axis=0),
      node("Unsqueeze", "w2 z", "w3"), node("Unsqueeze", "v_ih z", "v3"), node("Concat", "w3 v3", "W", axis=0),
      node("Concat", "b_ih b_hh c_ih c_hh", "b1", axis=0), node("Reshape", "b1 bs", "B"),
      node("LSTM", "a W R B", "y h c", hidden_size=4, direction="bidirectional"),
      node("Transpose", "y", "y1", perm=[0, 2, 1, 3]), node("Reshape", "y1 ys", "y2"),
      node("Transpose", "y2", "y3", perm=[1, 0, 2]), node("GRU", "y2 U Q", "g gh", hidden_size=2),
      node("Squeeze", "gh z", "s")],
     [info("x", [2, 5, 3])], [info("y3", [2, 5, 8]), info("s", [2, 2])],
     [empty("w_ih", [16, 3]), empty("v_ih", [16, 3]), empty("R", [2, 16, 4]), empty("b_ih", [16]), empty("b_hh", [16]),
      empty("c_ih", [16]), empty("c_hh", [16]), empty("U", [1, 6, 8]), empty("Q", [1, 6, 2]), ints("z", [0]),
      ints("i", [4]), ints("f", [16]), ints("ys", [0, 0, -1]), ints("bs", [2, 32])])

# cutting, joining, stretching, padding; tokens of the network beside those of samples
save("tensors",
     [node("Expand", "token full", "c"), node("Concat", "c x", "a", axis=1),
      node("Pad", "a pads", "b"), node("Slice", "b back ends axes minus", "d"),
      node("Split", "d parts", "e f", axis=2), node("Einsum", "e f", "g", equation="bid,bjd->bij"),
      node("ConstantOfShape", "dim", "o", value=h.make_tensor("v", T.INT64, [1], [3])),
      node("Range", "r0 r1 r2", "rr"), node("Equal", "rr r2", "eq"), node("Where", "eq r1 rr", "wh"),
      node("Unsqueeze", "wh axes", "wu"), node("Cast", "wu", "wf", to=T.FLOAT), node("Add", "g wf", "i"),
      node("Tile", "i o", "j"), node("Clip", "j lo hi", "k"), node("PRelu", "k slope", "l"),
      node("ReduceMax", "l", "y", axes=[1], keepdims=0)],
     [info("x", [2, 4, 8])], [info("y", [2, 18])],
     [reals("token", [1, 1, 8]), ints("full", [2, 1, 8]), ints("pads", [0, 0, 0, 0, 1, 0]), ints("back", [-1]),
      ints("ends", [-9223372036854775808]), ints("axes", [1]), ints("minus", [-1]), ints("parts", [4, 4]),
      ints("dim", [3]), ints("r0", [0], []), ints("r1", [6], []), ints("r2", [1], []), reals("lo", [], 0.0),
      reals("hi", [], 6.0), reals("slope", [1], 0.25)])

# images made larger; norms that torch takes apart
save("upwards",
     [node("ConvTranspose", "x w b", "a", kernel_shape=[4, 4], strides=[2, 2], pads=[1, 1, 1, 1]),
      node("Reshape", "a g", "b0"), node("InstanceNormalization", "b0 ones zeros", "b1"), node("Shape", "a", "s"),
      node("Reshape", "b1 s", "b2"), node("Unsqueeze", "gn.weight u", "gw"), node("Unsqueeze", "gn.bias u", "gb"),
      node("Mul", "b2 gw", "b3"), node("Add", "b3 gb", "b4"),
      node("Sigmoid", "b4", "c"), node("Mul", "b4 c", "d"), h.make_node("Resize", ["d", "", "scales"], ["e"], mode="linear"),
      node("DepthToSpace", "e", "f", blocksize=2), node("LRN", "f", "y", size=3)],
     [info("x", [1, 2, 4, 4])], [info("y", [1, 1, 32, 32])],
     [reals("w", [2, 4, 4, 4]), reals("b", [4]), ints("g", [0, 2, -1]), reals("ones", [2], 1.0), reals("zeros", [2]),
      reals("gn.weight", [4]), reals("gn.bias", [4]), ints("u", [1, 2]),
      h.make_tensor("scales", T.FLOAT, [4], [1.0, 1.0, 2.0, 2.0])])

# what nobody knows: control flow, another domain, a function of the file
then = h.make_graph([node("Identity", "x", "t")], "then", [], [info("t", [1, 4])])
function = h.make_function("local", "Twice", ["p"], ["q"], [node("Add", "p p", "q")], [h.make_opsetid("", 13)])
save("unknown",
     [node("If", "flag", "a", then_branch=then, else_branch=then),
      h.make_node("Relu", ["x"], ["b"], domain="com.example"), h.make_node("Twice", ["b"], ["c"], domain="local"),
      node("NonMaxSuppression", "c", "d"), node("NonMaxSuppression", "d", "y")],
     [info("x", [1, 4])], [info("y", [1, 4]), info("a", [1, 4])], [h.make_tensor("flag", T.BOOL, [], [True])],
     functions=[function])

# an If whose condition follows from shapes: the branch that is taken counts; both call their tensors the same
then = h.make_graph([node("Conv", "u w", "t", pads=[1, 1])], "then", [], [info("t", [2, 4, 8])], [reals("w", [4, 4, 3])])
other = h.make_graph([node("Frob", "u", "t")], "other", [], [info("t", [2, 4, 8])])
save("branches",
     [node("Relu", "x", "u"), node("Shape", "x", "s"), node("Size", "s", "r"), node("Equal", "r three", "c"),
      node("If", "c", "y", then_branch=then, else_branch=other)],
     [info("x", ["batch", 4, 8])], [info("y", ["batch", 4, 8])], [h.make_tensor("three", T.INT64, [], [3])])

# the same, of a size that is another one at other images
save("branch_of_size",
     [node("Shape", "x", "s"), node("Gather", "s two", "r"), node("Equal", "r eight", "c"), node("Relu", "x", "u"),
      node("If", "c", "y", then_branch=then, else_branch=other)],
     [info("x", ["batch", 4, 8])], [info("y", ["batch", 4, 8])], [ints("two", [2], []), ints("eight", [8], [])])

# lists of tensors: made, cut, changed and joined; 7 rows are in parts of 3, 3 and 1
save("sequences",
     [node("SplitToSequence", "x three", "s", axis=1), node("SequenceAt", "s first", "a"), node("MatMul", "a w", "m"),
      node("SequenceErase", "s first", "rest"), node("SequenceInsert", "rest m first", "changed"), node("SequenceEmpty", "", "none"),
      node("SequenceLength", "changed", "n"), node("SequenceInsert", "none m", "one"), node("SequenceAt", "one last", "m2"),
      node("SequenceConstruct", "m m2", "two"), node("ConcatFromSequence", "two", "c", axis=2), node("ConcatFromSequence", "two", "d", axis=1, new_axis=1),
      node("ConcatFromSequence", "changed", "e", axis=1), node("MatMul", "e w", "y")],
     [info("x", ["batch", 7, 4])], [info("y", ["batch", 7, 4]), info("c", ["batch", 3, 8]), info("d", ["batch", 2, 3, 4])],
     [ints("three", [3], []), ints("first", [0], []), ints("last", [-1], []), empty("w", [4, 4])])

# a list where a tensor is due
save("listed", [node("SequenceConstruct", "x x", "s"), node("Relu", "s", "y")], [info("x", [2, 8])], [info("y", [2, 8])])

# operators of nobody, whose shapes the file tells
save("told",
     [h.make_node("Blend", ["x"], ["a", "n"], domain="com.example"), node("Relu", "a", "b"), node("Frob", "b", "y")],
     [info("x", ["batch", 4, 8])], [info("y", ["batch", 3]), info("n", [], T.INT64)], opset=18, inner=[info("a", ["batch", 2, 8])])

# an export for inference: batch norm is in the convolutions, equal biases are stored once
save("folded",
     [node("Identity", "b", "b2"), node("Conv", "x onnx::Conv_7 b", "a", kernel_shape=[1, 1]), node("Relu", "a", "r"),
      node("Conv", "r onnx::Conv_8 b2", "y", kernel_shape=[1, 1])],
     [info("x", [1, 2, 4, 4])], [info("y", [1, 2, 4, 4])],
     [reals("onnx::Conv_7", [2, 2, 1, 1]), reals("onnx::Conv_8", [2, 2, 1, 1]), reals("b", [2])])

# functions of the file: one within another, an attribute that is the call's, an output that is an input
scaled = h.make_function("local", "Scaled", ["p", "w"], ["q", "p"], [node("MatMul", "p w", "t"), node("LeakyRelu", "t", "q")],
                         [h.make_opsetid("", 18)], ["alpha"])
scaled.node[1].attribute.extend([onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="alpha")])
twice = h.make_function("local", "Twice", ["p", "w"], ["r"],
                        [node("Scaled", "p w", "q same", domain="local", alpha=0.3), node("Scaled", "q w", "s", domain="local"),
                         node("Add", "s same", "r")], [h.make_opsetid("", 18), h.make_opsetid("local", 1)])
save("calls", [node("Twice", "x v", "a", domain="local", name="first"), node("Twice", "a w", "y", domain="local", name="second")],
     [info("x", [2, 8])], [info("y", [2, 8])], [empty("v", [8, 8]), empty("w", [8, 8])], opset=18, functions=[scaled, twice])

# a function that calls itself
save("calls_itself", [node("Again", "x", "y", domain="local")], [info("x", [2, 8])], [info("y", [2, 8])], opset=18,
     functions=[h.make_function("local", "Again", ["p"], ["q"], [node("Again", "p", "q", domain="local")], [h.make_opsetid("", 18)])])

# a loop of 8 - 5 steps, one weight in all of them; it yields its last state, and a number of each step
step = h.make_graph([node("MatMul", "h w", "m"), node("Tanh", "m", "g"), node("Identity", "on", "more"), node("ReduceSum", "g one", "part", keepdims=0)],
                    "body", [info("i", [], T.INT64), info("on", [], T.BOOL), info("h", [2, 8])],
                    [info("more", [], T.BOOL), info("g", [2, 8]), info("part", [2])])
save("loop",
     [node("Shape", "w", "s"), node("Gather", "s first", "eight"), node("Sub", "eight five", "n"),
      h.make_node("Loop", ["n", "", "x"], ["end", "parts"], body=step), node("Gemm", "end l", "z", transB=1),
      node("ReduceSum", "parts zero", "sums", keepdims=0), node("Unsqueeze", "sums one", "column"), node("Add", "z column", "y")],
     [info("x", [2, 8])], [info("y", [2, 4])],
     [empty("w", [8, 8]), empty("l", [4, 8]), ints("first", [0], []), ints("zero", [0]), ints("five", [5], []), ints("one", [1])], opset=18)

# as many steps as the input has rows, each with its own
row = h.make_graph([node("Gather", "x i", "r", axis=1), node("Add", "h r", "k"), node("MatMul", "k w", "g"), node("Identity", "on", "more")],
                   "body", [info("i", [], T.INT64), info("on", [], T.BOOL), info("h", [2, 8])], [info("more", [], T.BOOL), info("g", [2, 8])])
save("loop_rows", [node("Shape", "x", "s"), node("Gather", "s one", "n"), node("Gather", "x first", "h0", axis=1),
                   h.make_node("Loop", ["n", "yes", "h0"], ["y"], body=row)],
     [info("x", [2, 5, 8])], [info("y", [2, 8])],
     [empty("w", [8, 8]), ints("one", [1], []), ints("first", [0], []), h.make_tensor("yes", T.BOOL, [], [True])], opset=18)

# a loop that ends when the data say so
until = h.make_graph([node("Tanh", "h", "g"), node("ReduceSum", "g", "t", keepdims=0), node("Greater", "t limit", "more")],
                     "body", [info("i", [], T.INT64), info("on", [], T.BOOL), info("h", [2, 8])], [info("more", [], T.BOOL), info("g", [2, 8])])
save("loop_until", [h.make_node("Loop", ["n", "", "x"], ["y"], body=until)], [info("x", [2, 8])], [info("y", [2, 8])],
     [ints("n", [9], []), reals("limit", [], 1.0)], opset=18)
