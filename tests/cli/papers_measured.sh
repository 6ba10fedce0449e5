# The tables of ConvMeter, Justus et al. and PreNeT are printed of what was measured: here by the simulated machine, and of made data.
#
# LAYERMETER_SOURCE   the source tree
. "$(dirname -- "$0")/common.sh"
source=${LAYERMETER_SOURCE:?}
command -v python3 >/dev/null || skip "no python3"
[ -x "$LAYERMETER_BIN/layermeter-calibrate" ] || skip "no layermeter-calibrate"

# measured NAME LINE...: a sweep of these lines, on the machine that the golden tests have.
measured() {
    name=$1
    shift
    mkdir -p "$work/results"
    { printf '[sweep]\nbackend = sim\n[sim]\nmachine = %s\nnoise = 0.02\n' "$source/tests/cli/inputs/machine.ini"; printf '%s\n' "$@"; } \
        >"$work/$name.ini"
    layermeter calibrate "$work/$name.ini" -o "$work/results/$name" --force >"$work/out" 2>&1 || { cat "$work/out"; fail "$name: exit $?"; }
}

few='networks = alexnet, mobilenet_v2, resnet18, squeezenet1_1, vgg11'
measured networks '[networks]' "$few" 'batch = 1, 4, 16' 'phases = training, inference'
measured blocks '[networks]' 'networks = mobilenet_v2, resnet18, inception_v3' 'blocks = all' 'batch = 1, 16'

LAYERMETER_DATA=$work/none "$source/examples/papers/convmeter.sh" "$work/results" >"$work/out" 2>"$work/err" ||
    { cat "$work/out" "$work/err"; fail "convmeter.sh: exit $?"; }
for row in 'inference [(]published of CPUs[)]  *25' 'training step [(]published of GPUs[)]  *15-18' 'step  *-' 'backward  *-'; do
    grep -Eq "^  $row  *[0-9.]+  *[0-9.]+$" "$work/out" || { cat "$work/out"; fail "convmeter.sh: no row '$row'"; }
done
grep -q '^blocks: measured before' "$work/out" || fail "blocks were measured again"
grep -q '<html' "$work/results/convmeter.html" || fail "no page"

# The layers' papers: what a simulated machine took, and layers of a law in the place of the public ones, of two GPUs.
mkdir -p "$work/data/justus2018"
printf 'gpu,compute_capability,fp32_peak_gflops,memory_bandwidth_gb_s,sm_count,fp32_cores,clock_boost_mhz,memory_gb\nv100,7.0,14000,900,80,5120,1380,16\np100,6.0,9300,732,56,3584,1303,16\n' \
    >"$work/data/justus2018/gpus.csv"
for gpu in v100 p100; do
    awk -v slow=$([ $gpu = v100 ] && echo 1 || echo 1.5) 'BEGIN { srand(1); print "batch,dim_in,dim_out,activation,optimizer,time_median_ms"
        for (i = 0; i < 250; i++) { a = 64 + int(rand() * 960); b = 64 + int(rand() * 960); n = 1 + int(rand() * 64)
            printf "%d,%d,%d,%s,%s,%.6g\n", n, a, b, i % 3 ? "relu" : "none", i % 2 ? "sgd" : "none", slow * (0.02 + 2e-9 * a * b * n) } }' |
        gzip >"$work/data/justus2018/dense_$gpu.csv.gz"
    awk -v slow=$([ $gpu = v100 ] && echo 1 || echo 1.5) 'BEGIN { srand(2); print "batch,matrix_size,kernel,channels_in,channels_out,stride,padding,activation,use_bias,optimizer,time_median_ms"
        for (i = 0; i < 250; i++) { m = 8 + int(rand() * 56); k = 1 + 2 * int(rand() * 3); c = 1 + int(rand() * 64); d = 1 + int(rand() * 64); n = 1 + int(rand() * 16)
            printf "%d,%d,%d,%d,%d,1,same,relu,1,%s,%.6g\n", n, m, k, c, d, i % 2 ? "sgd" : "none", slow * (0.02 + 2e-9 * n * m * m * k * k * c * d) } }' |
        gzip >"$work/data/justus2018/conv_$gpu.csv.gz"
done
measured own '[layers.conv]' 'type = conv2d' 'count = 240' 'batch = 1..8' 'input = 3x16x16' 'filters = 1..64' 'kernel = 1, 3' 'activation = none, relu' \
    '[layers.dense]' 'type = linear' 'count = 240' 'batch = 1..64' 'input = 64' 'features = 1..512' 'activation = none, tanh'
LAYERMETER_DATA=$work/data "$source/examples/papers/justus.sh" --rows 225 "$work/results" >"$work/out" 2>"$work/err" ||
    { cat "$work/out" "$work/err"; fail "justus.sh: exit $?"; }
for row in 'conv_v100  *22  *1\.73 ( *[0-9.]+){6}' 'dense_p100  *22  *\.033 ( *[0-9.]+){6}' '  v100  *39\.6( *[0-9.]+){2}' '  p100  *-( *[0-9.]+){2}' \
    '  conv2d.*forward  *-( *[0-9.]+){2}' '  linear.*step  *-( *[0-9.]+){2}'; do
    grep -Eq "^$row$" "$work/out" || { cat "$work/out" "$work/err"; fail "justus.sh: no row '$row'"; }
done
grep -q '<html' "$work/results/justus.html" || fail "no page of justus.sh"

measured layers '[layers.conv]' 'type = conv2d' 'count = 60' 'batch = 1..8' 'input = 3x16x16' 'filters = 1..64' 'kernel = 1, 3' 'activation = none, relu' \
    '[layers.dense]' 'type = linear' 'count = 60' 'batch = 1..64' 'input = 64' 'features = 1..512' \
    '[layers.norm]' 'type = layer_norm' 'count = 60' 'batch = 1..64' '_w = 8..512' 'input = ${_w}' 'dims = 1'
rm -rf "$work/results/networks"
measured networks '[networks]' 'networks = vgg11' 'batch = 1, 2' 'image = 64'
LAYERMETER_DATA=$work/data LEARN=passes=30,parts=2 "$source/examples/papers/prenet.sh" "$work/results" >"$work/out" 2>"$work/err" ||
    { cat "$work/out" "$work/err"; fail "prenet.sh: exit $?"; }
for row in 'conv  *[0-9]+  random forest .* [0-9.]+' 'layernorm  *[0-9]+  MLP .* [0-9.]+' 'conv( +[0-9.]+){5}' 'linear .*step( *[0-9.]+){7}' '  p100  *-( *[0-9.]+){2}' \
    '  vgg11 step  *-( *[0-9.]+){3}'; do
    grep -Eq "^$row$" "$work/out" || { cat "$work/out" "$work/err"; fail "prenet.sh: no row '$row'"; }
done
grep -q '<html' "$work/results/prenet.html" || fail "no page of prenet.sh"
