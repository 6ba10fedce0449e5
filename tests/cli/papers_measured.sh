# The tables of ConvMeter are printed of what was measured: here by the simulated machine, without public data.
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
