"""Times of single convolutions, linear layers and batch norms in PyTorch on one CPU thread.

usage: kernels.py networks FOLDER   one network file a shape, to be measured by layermeter-calibrate
       kernels.py measure           CSV: shape,pass,layout,seconds (the least of the repetitions)
       kernels.py compare OURS.csv... -- TORCH.csv...   a table; the least over the files counts

Layouts: `blocked` (oneDNN's own, as in our backend: images stay as a convolution wrote them; backward
passes still reorder the weights, which PyTorch keeps in its own layout), `nchw` (PyTorch's default),
`nhwc` (channels_last), `reorder`: blocked to nchw, of all images of the pass.
"""
import csv
import sys
import time

# name: (kind, arguments)
CONV = 'n c_in c_out size window stride pad groups'.split()
SHAPES = {
    'conv7x7_s2_3_64': ('conv', (8, 3, 64, 224, 7, 2, 3, 1)),
    'conv3x3_64_64': ('conv', (8, 64, 64, 56, 3, 1, 1, 1)),
    'conv1x1_64_256': ('conv', (8, 64, 256, 56, 1, 1, 0, 1)),
    'conv1x1_256_64': ('conv', (8, 256, 64, 56, 1, 1, 0, 1)),
    'conv3x3_128_128': ('conv', (8, 128, 128, 28, 3, 1, 1, 1)),
    'conv3x3_s2_128_128': ('conv', (8, 128, 128, 56, 3, 2, 1, 1)),
    'conv3x3_256_256': ('conv', (8, 256, 256, 14, 3, 1, 1, 1)),
    'conv3x3_512_512': ('conv', (8, 512, 512, 7, 3, 1, 1, 1)),
    'conv1x1_s2_256_512': ('conv', (8, 256, 512, 56, 1, 2, 0, 1)),
    'conv5x5_64_192': ('conv', (8, 64, 192, 27, 5, 1, 2, 1)),
    'conv3x3_groups32_128': ('conv', (8, 128, 128, 28, 3, 1, 1, 32)),
    'conv3x3_depthwise_144': ('conv', (8, 144, 144, 56, 3, 1, 1, 144)),
    'linear_512_1000': ('linear', (8, 512, 1000)),
    'linear_2048_1000': ('linear', (32, 2048, 1000)),
    'linear_9216_4096': ('linear', (16, 9216, 4096)),
    'linear_768_3072': ('linear', (256, 768, 3072)),
    'norm_64_112': ('norm', (8, 64, 112)),
    'norm_256_56': ('norm', (8, 256, 56)),
    'norm_128_28': ('norm', (8, 128, 28)),
    'norm_512_7': ('norm', (8, 512, 7)),
}


def networks(folder):
    for name, (kind, a) in SHAPES.items():
        if kind == 'conv':
            s = dict(zip(CONV, a))
            shape = f"{s['c_in']}x{s['size']}x{s['size']}"
            layer = (f"type = conv2d\nfilters = {s['c_out']}\nkernel = {s['window']}\nstride = {s['stride']}\n"
                     f"padding = {s['pad']}\ngroups = {s['groups']}\nbias = no\n")
        elif kind == 'linear':
            shape, layer = f'{a[1]}', f'type = linear\nfeatures = {a[2]}\nbias = no\n'
        else:
            shape, layer = f'{a[1]}x{a[2]}x{a[2]}', 'type = batch_norm\n'
        # trained weights in front, so that the layer that counts has an input gradient
        with open(f'{folder}/{name}.ini', 'w') as f:
            f.write(f'[network]\nname = {name}\n\n[x]\ntype = input\nshape = {shape}\n\n'
                    f'[first]\ntype = prelu\n\n[{name}]\n{layer}')


def least_seconds(run, budget=0.3):
    for _ in range(2):
        run()
    best, spent, n = float('inf'), 0.0, 0
    while n < 5 or spent < budget and n < 200:
        began = time.perf_counter()
        run()
        once = time.perf_counter() - began
        best, spent, n = min(best, once), spent + once, n + 1
    return best


def measure():
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(1)
    aten = torch.ops.aten
    out = csv.writer(sys.stdout)
    out.writerow(['shape', 'pass', 'layout', 'seconds'])

    def put(name, which, layout, run):
        try:
            run()
        except RuntimeError:
            return  # this PyTorch has no such kernel
        out.writerow([name, which, layout, least_seconds(run)])

    def blocked(t):
        """As a convolution writes it; few channels have no blocks."""
        c = t.shape[1]
        if c < 8:
            return t.to_mkldnn()
        w = torch.eye(c).reshape(c, c, 1, 1).to_mkldnn()
        return aten.mkldnn_convolution(t.to_mkldnn(), w, None, [0, 0], [1, 1], [1, 1], 1)

    def turn(t, layout):
        if layout == 'nhwc':
            return t.contiguous(memory_format=torch.channels_last)
        return blocked(t) if layout == 'blocked' else t

    def reorder(name, which, images):
        kept = [blocked(t) for t in images]
        put(name, which, 'reorder', lambda: [t.to_dense() for t in kept])

    for name, (kind, a) in SHAPES.items():
        if kind == 'conv':
            n, c_in, c_out, size, window, stride, pad, groups = a
            x = torch.randn(n, c_in, size, size)
            w = torch.randn(c_out, c_in // groups, window, window)
            conv = [[stride] * 2, [pad] * 2, [1, 1]]
            y = torch.nn.functional.conv2d(x, w, None, stride, pad, 1, groups)
            packed = torch._C._nn.mkldnn_reorder_conv2d_weight(w.to_mkldnn(), conv[1], conv[0], conv[2], groups)
            for layout in 'nchw', 'nhwc', 'blocked':
                tx, ty = turn(x, layout), turn(y, layout)
                tw = turn(w, layout) if layout == 'nhwc' else w
                if layout == 'blocked':
                    put(name, 'forward', layout, lambda: aten.mkldnn_convolution(
                        tx, packed, None, conv[1], conv[0], conv[2], groups))
                else:
                    put(name, 'forward', layout, lambda: torch.nn.functional.conv2d(
                        tx, tw, None, stride, pad, 1, groups))
                for which, mask in ('grad_input', [True, False, False]), ('grad_weight', [False, True, False]):
                    put(name, which, layout, lambda: aten.convolution_backward(
                        ty, tx, tw, None, conv[0], conv[1], conv[2], False, [0, 0], groups, mask))
            for which in 'forward', 'grad_input', 'grad_weight':
                reorder(name, which, [x, y])
        elif kind == 'linear':
            n, c_in, c_out = a
            x, w = torch.randn(n, c_in), torch.randn(c_out, c_in)
            y = torch.randn(n, c_out)
            put(name, 'forward', 'nchw', lambda: torch.nn.functional.linear(x, w))
            put(name, 'grad_input', 'nchw', lambda: y.mm(w))
            put(name, 'grad_weight', 'nchw', lambda: y.t().mm(x))
        else:
            n, c, size = a
            x, g = torch.randn(n, c, size, size), torch.randn(n, c, size, size)
            scale, shift = torch.ones(c), torch.zeros(c)
            mean, var = torch.zeros(c), torch.ones(c)
            for layout in 'nchw', 'nhwc', 'blocked':
                tx, tg = turn(x, layout), turn(g, layout)
                run = lambda: aten.native_batch_norm(tx, scale, shift, mean, var, True, 0.1, 1e-5)
                put(name, 'forward', layout, run)
                _, kept_mean, kept_var = run()
                put(name, 'grad_input', layout, lambda: aten.native_batch_norm_backward(
                    tg, tx, scale, mean, var, kept_mean, kept_var, True, 1e-5, [True, True, True]))
            reorder(name, 'forward', [x, g])
            reorder(name, 'grad_input', [x, x, g])


def ours_of(paths):
    best = {}
    for path in paths:
        with open(path) as f:
            for row in csv.DictReader(line for line in f if not line.startswith('#')):
                if row['kind'] == 'kernel' and row['status'] == 'ok':
                    key = (row['name'], row['geometry'], row['phase'])
                    best[key] = min(best.get(key, 9e9), float(row['min_seconds']))
    return best


def find(ours, name, which):
    """Our time of a shape, by the geometry of its kernel."""
    kind, a = SHAPES[name]
    for (op, geometry, phase), seconds in ours.items():
        g = dict(p.split('=') for p in geometry.split())
        if phase != which:
            continue
        if kind == 'conv' and op == 'conv':
            n, c_in, c_out, size, window, stride, pad, groups = a
            out = (size + 2 * pad - window) // stride + 1
            if (g['n'], g['c_in'], g['c_out'], g['groups'], g['in'], g['out'], g['window']) == (
                    str(n), str(c_in), str(c_out), str(groups), f'1x{size}x{size}', f'1x{out}x{out}',
                    f'1x{window}x{window}'):
                return seconds
        if kind == 'linear' and op == 'gemm':
            n, c_in, c_out = a
            if sorted((g['m'], g['n'], g['k'])) == sorted(map(str, (n, c_in, c_out))):
                return seconds
        if kind == 'norm' and op == 'norm':
            n, c, size = a
            if (g['rows'], g['group'], g['inner']) == (str(c), str(n * size * size), str(size * size)):
                return seconds
    return None


def compare(ours_paths, torch_paths):
    ours, peer = ours_of(ours_paths), {}
    for path in torch_paths:
        with open(path) as f:
            for row in csv.DictReader(f):
                key = (row['shape'], row['pass'], row['layout'])
                peer[key] = min(peer.get(key, 9e9), float(row['seconds']))
    print(f"{'shape':22} {'pass':12} {'ours':>9} {'blocked':>9} {'reorder':>9} {'nchw':>9} {'nhwc':>9} {'ratio':>6}  "
          '(times in ms; ratio: ours / blocked; where PyTorch has none, + reorder: (ours + reorder) / nchw)')
    close = total = 0
    for name in SHAPES:
        for which in 'forward', 'grad_input', 'grad_weight':
            mine = find(ours, name, which)
            if mine is None:
                continue
            blocked, reorder, nchw, nhwc = [peer.get((name, which, k))
                                            for k in ('blocked', 'reorder', 'nchw', 'nhwc')]
            text = ['%9.3f' % (1e3 * v) if v else '        -' for v in (blocked, reorder, nchw, nhwc)]
            ratio = mine / blocked if blocked else (mine + (reorder or 0)) / nchw
            total += 1
            close += 0.9 <= ratio <= 1.1
            print(f"{name:22} {which:12} {1e3 * mine:9.3f} {' '.join(text)} {ratio:6.2f}"
                  f"{'' if blocked else '  + reorder' if reorder else '  row-major'}")
    print(f'{close} of {total} within 10 % of PyTorch, reorders apart')


if __name__ == '__main__':
    if sys.argv[1:2] == ['networks'] and len(sys.argv) == 3:
        networks(sys.argv[2])
    elif sys.argv[1:] == ['measure']:
        measure()
    elif sys.argv[1:2] == ['compare'] and '--' in sys.argv:
        at = sys.argv.index('--')
        compare(sys.argv[2:at], sys.argv[at + 1:])
    else:
        sys.exit(__doc__)
