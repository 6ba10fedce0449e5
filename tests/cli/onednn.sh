#!/bin/sh
# The oneDNN backend runs what the layer types lower to: a network of all of them that compute with
# weights or windows, whole and kernel by kernel. Skipped (77) where this build lacks the backend.
. "$(dirname -- "$0")/common.sh"
need_calibrate
cd "$work" || exit 1

cat >net.ini <<'END'
[network]
name = net

[image]
type  = input
shape = 4x12x12

[conv]
type    = conv2d
filters = 8
kernel  = 3
padding = 1

[prelu]
type = prelu
per  = channel

[down]
type    = conv2d
filters = 12
kernel  = 3
stride  = 2
padding = 1
groups  = 4

[group_norm]
type   = group_norm
groups = 3

[swiglu]
type = swiglu
axis = 1

[up]
type           = conv_transpose2d
filters        = 8
kernel         = 3
stride         = 2
padding        = 1
output_padding = 1

[lrn]
type = local_response_norm
size = 5

[lp]
type   = lp_pool2d
kernel = 2

[depth]
type = stochastic_depth

[lines]
type  = flatten
start = 2

[conv1d]
type    = conv1d
filters = 6
kernel  = 5
padding = 2

[instance]
type   = instance_norm
affine = yes

[transposed]
type    = conv_transpose1d
filters = 4
kernel  = 4
stride  = 2
padding = 1

[pool1d]
type   = max_pool1d
kernel = 2

[rms]
type = rms_norm

[glu]
type = glu

[softmin]
type = softmin

[flat]
type = flatten

[a]
type     = linear
features = 6

[b]
type     = linear
inputs   = flat
features = 5

[pair]
type     = bilinear
inputs   = a, b
features = 10

[loss]
type = cross_entropy
END
cat >volume.ini <<'END'
[network]
name = volume

[image]
type  = input
shape = 2x6x8x8

[conv]
type    = conv3d
filters = 4
kernel  = 3
padding = 1

[pool]
type   = avg_pool3d
kernel = 2

[up]
type    = conv_transpose3d
filters = 3
kernel  = 2
stride  = 2

[loss]
type = mse_loss
END
cat >sweep.ini <<'END'
[sweep]
backend     = onednn
warmup      = 0
min_repeats = 1
max_repeats = 1

[networks]
networks = net.ini, volume.ini
batch    = 4

[kernels]
networks = net.ini, volume.ini
batch    = 4
END
layermeter-calibrate sweep.ini -o o.csv --quiet >out 2>&1 || {
    grep -q 'this build has no backend' out && echo "skipped: $(cat out)" && exit 77
    fail "$(cat out)"
}
# Every point has its times, and there are kernels of all passes of both kinds of convolutions.
awk -F, '
    /^#/ { next }
    $1 == "kind" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { if ($at["status"] != "ok") { print "not run: " $0; bad = 1 } }
    $at["kind"] == "kernel" { seen[$at["name"]]++ }
    END {
        n = split("conv gemm map norm pool reduce softmax", name, " ")
        for (i = 1; i <= n; i++) if (!seen[name[i]]) { print "no " name[i]; bad = 1 }
        exit bad
    }' o.csv || fail "$(cat out)"

# ---- a clock that the device does not have -----------------------------------------------------
mkdir -p root/sys/devices/system/cpu/cpu0/cpufreq
echo 800000 >root/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_min_freq
echo 3600000 >root/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq
sed -e '/^\[kernels/,$d' -e 's/^networks.*/networks = net.ini/' -e 's/^max_repeats.*/&\nclock = 3601/' sweep.ini >clock.ini
if LAYERMETER_SYSTEM_ROOT=$work/root layermeter-calibrate clock.ini -o clock.csv --quiet >out 2>&1; then fail "a clock above the highest is measured"; fi
grep -qx 'layermeter-calibrate: clock.ini: clock: no clock of 3601 MHz: the highest of this device is 3600 MHz' out || fail "$(cat out)"
[ ! -e clock.csv ] || fail "a file of a clock that is not there"
sed -i 's/3601/3600/' clock.ini
LAYERMETER_SYSTEM_ROOT=$work/root layermeter-calibrate clock.ini -o clock.csv --quiet >out 2>&1 || fail "$(cat out)"
rm -r root clock.csv

# ---- power -------------------------------------------------------------------------------------
# A sensor that tells 15 W whenever it is asked: the whole point's mean, and what is drawn at rest.
mkdir -p root/sys/class/hwmon/hwmon0
echo zenpower >root/sys/class/hwmon/hwmon0/name
echo 15000000 >root/sys/class/hwmon/hwmon0/power1_input
sed -e '/^\[kernels/,$d' -e 's/^networks.*/networks = net.ini/' -e 's/^max_repeats.*/&\npower_seconds = 2.1s/' sweep.ini >power.ini
LAYERMETER_SYSTEM_ROOT=$work/root layermeter-calibrate power.ini -o p.csv --quiet >out 2>&1 || fail "$(cat out)"
grep -qx '# power_source: hwmon zenpower' p.csv || fail "source: $(grep power p.csv)"
grep -qx '# idle_power: 15 W' p.csv || fail "idle: $(grep power p.csv)"
awk -F, '
    $1 == "kind" { for (i = 1; i <= NF; i++) at[$i] = i; next }
    /^network/ && $at["power_w"] != ($at["phase"] == "step" ? 15 : "") { print; bad = 1 }
    END { exit bad }' p.csv || fail "power of the phases"
# Nothing to read: an empty column, and one line that says so.
mkdir empty && rm p.csv
LAYERMETER_SYSTEM_ROOT=$work/empty layermeter-calibrate sweep.ini -o p.csv >out 2>&1 || fail "$(cat out)"
[ "$(grep -c '^power is not measured: ' out)" = 1 ] || fail "$(cat out)"
! grep -q power_source p.csv || fail "a source: $(grep power p.csv)"

# ---- FP8 is of GPUs ----------------------------------------------------------------------------------------------
printf '[sweep]\nbackend = onednn\n\n[networks]\nnetworks = net.ini\nmixed = fp8\n' >f8.ini
layermeter-calibrate f8.ini --dry-run 2>err && fail "FP8 on a CPU"
grep -q "f8.ini:6: mixed: backend 'onednn' runs on a CPU, which has no products of f8\$" err || fail "FP8 on a CPU: $(cat err)"

# ---- each kind of kernel beside plain loops: the real library agrees, but for what has no counterpart -----------------
printf '[sweep]\nbackend = onednn\nverify = first\nwarmup = 0\nmin_repeats = 1\nmax_repeats = 1\n[networks]\nnetworks = net.ini\nphases = training, inference\n' >verify.ini
layermeter-calibrate verify.ini -o verify.csv >out 2>&1 || fail "$(cat out)"
grep -q "^[1-9][0-9] kinds of kernels agree with a CPU's, 0 differ, [0-9]* not compared$" out || fail "verification: $(cat out)"
grep -q "^# verified: [1-9][0-9] kinds" verify.csv || fail "verification: $(grep '^#' verify.csv)"
printf '[sweep]\nbackend = sim\nverify = first\n[networks]\nnetworks = net.ini\n' >sim.ini
layermeter-calibrate sim.ini --dry-run 2>err && fail "verification of a simulation"
grep -q 'sim.ini:3: verify: the backend sim runs no kernels to be compared$' err || fail "$(cat err)"
