#!/bin/sh
# The GPU backend, whole, on a device that is not there (tests/ports): what runs, what is skipped, what
# ends the run. And the program itself says in one line that it finds no GPU, if that is so.
. "$(dirname -- "$0")/common.sh"
need_fake
cd "$work" || exit 1

cat >net.ini <<'END'
[network]
name = net

[image]
type  = input
shape = 4x12x12

[relu]
type = relu

[gelu]
type = gelu

[join]
type   = concat
inputs = relu, gelu
axis   = 1

[silu]
type = silu
END

cat >gpu.ini <<'END'
[sweep]
backend     = cudnn
verify      = none
warmup      = 1
min_repeats = 2
max_repeats = 2

[networks]
networks = net.ini
batch    = 1, 64

[kernels]
networks = net.ini
batch    = 3
END

# rows FILE: kind, name, phase, batch, geometry, status; what a busy machine had measured again, once
rows() {
    grep -v '^#' "$1" | awk -F, 'NR > 1 { row = $1 " " $2 " " $3 " " $5 $11 " " $NF } NR > 1 && !seen[row]++ { print row }'
}

# ---- all goes well -----------------------------------------------------------------------------
"$fake" gpu.ini -o out.csv --quiet || fail "a sweep"
cat >expected <<'END'
network net.ini forward 1 ok
network net.ini step 1 ok
network net.ini forward 64 ok
network net.ini step 64 ok
kernel map forward elements=1728 operands=1 flops_per_element=1 ok
kernel map forward elements=1728 operands=1 flops_per_element=5 ok
kernel copy forward bytes=13824 ok
kernel map forward elements=3456 operands=1 flops_per_element=5 ok
END
rows out.csv | diff expected - || fail "rows"
grep -q '^# compute_backend: cudnn$' out.csv || fail "provenance: $(grep '^#' out.csv)"
grep -q '^# gpu: Fake device$' out.csv || fail "provenance: $(grep '^#' out.csv)"
grep -q '^# cuda_runtime: 13.0$' out.csv || fail "provenance: $(grep '^#' out.csv)"

# ---- which implementation ran a kernel is written down, and is no part of the point -------------------
[ "$(grep -v '^#' out.csv | awk -F, '$1 == "kernel" && !seen[$11]++ { print $10 }' | sort | uniq -c | tr -s ' ' | tr '\n' ';')" = \
    ' 1 cudaMemcpyAsync; 3 own map;' ] || fail "implementations: $(grep '^kernel' out.csv)"
cp out.csv again.csv
"$fake" gpu.ini -o again.csv --quiet --resume || fail "resuming a finished run"
cmp out.csv again.csv || fail "kernels were measured again"

# ---- settings: every one is measured and written down -------------------------------------------
cat >settings.ini <<'END'
[sweep]
backend     = cudnn
warmup      = 0
min_repeats = 2
max_repeats = 2

[networks]
networks = net.ini
batch    = 2
launch   = stream, graph

[kernels]
networks = net.ini
dtype    = f32, bf16
cache    = warm, cold
launch   = graph
END
"$fake" settings.ini -o settings.csv --quiet || fail "settings"
for each in 'network 2 cache=warm launch=stream' 'network 2 cache=warm launch=graph' \
    'kernel 4 cache=warm launch=graph' 'kernel 4 cache=cold launch=graph'; do
    set -- $each
    for dtype in f32 bf16; do
        [ "$1 $dtype" != 'network bf16' ] || continue
        [ "$(grep "^$1,.*,$dtype,.* $3 $4 .*,ok\$" settings.csv | cut -d, -f 1-11 | sort -u | wc -l)" -eq "$2" ] ||
            fail "not $2 rows of $each, $dtype: $(grep -v '^#' settings.csv)"
    done
done

# ---- a kernel alone, by a clock of which all is known: the launch is in none of its times, and before each cold ----
# ---- repetition the cache is emptied, which takes what reads first 1 us longer -----------------------------------
sed -e '/^.networks/,/^$/d' -e 's/^launch.*//' settings.ini >alone.ini
LAYERMETER_FAKE_LATENCY=5000 "$fake" alone.ini -o alone.csv --quiet || fail "kernels alone"
by_cache() { # FILE: cache, pass of attention, us, each once
    sed 's/"[^"]*"//' "$1" | awk -F, '/^kernel/ { match($0, /cache=[a-z]*/); print substr($0, RSTART + 6, RLENGTH - 6), ($2 == "attention" ? $3 " " : "") sprintf("%.0f", 1e6 * $17) }' |
        sort -u | tr '\n' ';'
}
[ "$(by_cache alone.csv)" = 'cold 3;warm 2;' ] || fail "a kernel of 2 us, and 3 if its cache is cold: $(by_cache alone.csv)"

# attention in f32: three launches, six on the way back, and ten of the host's microseconds each
cat >plain_net.ini <<'END'
[network]
name = plain

[x]
type  = input
shape = 16x32

[attention]
type  = multi_head_attention
heads = 2
END
sed -e 's/net\.ini/plain_net.ini\nbatch = 2/' -e 's/^dtype .*/dtype = f32/' alone.ini >plain.ini
LAYERMETER_FAKE_LATENCY=10000 "$fake" plain.ini -o all.csv --quiet || fail "plain attention"
grep '^kernel,attention' all.csv >plain.csv
[ "$(by_cache plain.csv)" = 'cold forward 7;cold grad_weight 13;warm forward 6;warm grad_weight 12;' ] || fail "plain attention: $(by_cache plain.csv)"

# ---- updates: 12 tensors in Adam's one pass or seven, tensor by tensor or all at once; 2 us each, and a moment ---
cat >update.ini <<END
[sweep]
backend     = cudnn
warmup      = 0
min_repeats = 2
max_repeats = 2

[networks]
networks  = $here/../gpu/smoke_net.ini
optimizer = adam
update    = own, single, foreach, fused
END
LAYERMETER_FAKE_LATENCY=1000 "$fake" update.ini -o update.csv --quiet || fail "updates"
awk -F, '/^network,.*,update,/ { n = split($14, word, "="); printf "%s %.0f\n", (n > 6 ? word[n] : "own"), 1e6 * $17 }' update.csv |
    sort -u | tr '\n' ';' >updates
[ "$(cat updates)" = 'foreach 15;fused 3;own 25;single 169;' ] || fail "updates: $(cat updates)"

# ---- what the driver tells of the device ---------------------------------------------------------
grep -q '^# gpu_management: no NVML' out.csv || fail "NVML that is not there, and no word of it: $(grep '^# gpu' out.csv)"
grep -q '^# gpu_power_limit' out.csv && fail "a power limit from nowhere"
LD_LIBRARY_PATH=$LAYERMETER_BUILD/tests/ports/nvml LAYERMETER_FAKE_HELD_DOWN=1 \
    "$fake" gpu.ini -o told.csv --quiet || fail "NVML"
for each in 'gpu_driver: 580.1' 'gpu_clock: 1200 MHz' 'gpu_clock_max: 1980 MHz' 'gpu_power_limit: 700 W' \
    'gpu_temperature: 41 degrees Celsius' 'gpu_clock_held_down_by: power cap' 'gpu_ecc: on'; do
    grep -q "^# $each\$" told.csv || fail "NVML: no '$each': $(grep '^# gpu' told.csv)"
done
echo '0 links_up 3' >links
LD_LIBRARY_PATH=$LAYERMETER_BUILD/tests/ports/nvml LAYERMETER_FAKE_NVML=$work/links LAYERMETER_FAKE_DEVICES=3 \
    "$fake" gpu.ini -o links.csv --quiet || fail "links"
for each in 'gpu_nvlink: 3 of 4 active, version 4' 'gpu_peer_access: 1 of 2 other GPUs'; do
    grep -q "^# $each\$" links.csv || fail "links: no '$each': $(grep '^# gpu' links.csv)"
done

flags() { # the column's values, each once
    grep -v '^#' "$1" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "'"$2"'") at = i; next } { print $at }' |
        sort -u | tr '\n' ' '
}
[ "$(flags told.csv clock_mhz)" = '1200 ' ] || fail "the clock of each point: $(flags told.csv clock_mhz)"
flags told.csv flags | grep -q throttled || fail "a clock held down is not told: $(flags told.csv flags)"
sed 's/^\[sweep\]/&\nclock = 1981/' gpu.ini >clock.ini
if LD_LIBRARY_PATH=$LAYERMETER_BUILD/tests/ports/nvml "$fake" clock.ini -o clock.csv --quiet 2>err; then fail "a clock above the highest is measured"; fi
grep -q 'no clock of 1981 MHz: the highest of this device is 1980 MHz$' err || fail "$(cat err)"
LD_LIBRARY_PATH=$LAYERMETER_BUILD/tests/ports/nvml "$fake" gpu.ini -o free.csv --quiet || fail "NVML"
[ "$(flags free.csv clock_mhz)" = '1980 ' ] || fail "the clock of each point: $(flags free.csv clock_mhz)"
flags free.csv flags | grep -q throttled && fail "a free clock: $(flags free.csv flags)"
LD_LIBRARY_PATH=$LAYERMETER_BUILD/tests/ports/nvml LAYERMETER_FAKE_RESTS=1 "$fake" gpu.ini -o rests.csv --quiet || fail "NVML"
[ "$(flags rests.csv clock_mhz)" = '1980 ' ] || fail "the clock of a GPU that rests between points: $(flags rests.csv clock_mhz)"
LD_LIBRARY_PATH=$LAYERMETER_BUILD/tests/ports/nvml LAYERMETER_FAKE_IDLE=1 "$fake" gpu.ini -o idle.csv --quiet || fail "NVML"
[ "$(flags idle.csv clock_mhz)" = ' ' ] || fail "the clock of a GPU at rest: $(flags idle.csv clock_mhz)"
flags idle.csv flags | grep -q throttled && fail "a GPU at rest is held down: $(flags idle.csv flags)"

# ---- what does not fit is skipped, and the next one measured ---------------------------------------
LAYERMETER_FAKE_MEMORY=200000 "$fake" gpu.ini -o small.csv --quiet 2>err || fail "a small device: $(cat err)"
[ "$(rows small.csv | grep -c skipped-memory)" -ge 1 ] || fail "a small device: $(rows small.csv)"
[ "$(rows small.csv | grep -c 'ok$')" -eq 6 ] || fail "a small device: $(rows small.csv)"
LAYERMETER_FAKE_ALLOCATION=1 "$fake" gpu.ini -o none.csv --quiet 2>err || fail "no memory: $(cat err)"
rows none.csv | grep -q 'ok$' && fail "no memory: $(rows none.csv)"

# ---- what the device does not come back from ends the run --------------------------------------------
LAYERMETER_FAKE_LAUNCH=40 "$fake" gpu.ini -o lost.csv --quiet 2>err
[ $? -eq 1 ] || fail "a lost device is no failure"
[ "$(wc -l <err)" -eq 1 ] && grep -q 'unspecified launch failure' err || fail "a lost device: $(cat err)"
"$fake" gpu.ini -o lost.csv --quiet --resume || fail "going on after a lost device"
rows lost.csv | diff expected - || fail "rows after a lost device"

# ---- FP8: networks, layers and kernels; a device without is told before anything runs ----------------------------
cat >f8.ini <<'END'
[sweep]
backend     = cudnn
warmup      = 0
min_repeats = 2
max_repeats = 2
mixed       = fp8

[networks]
networks = f8_net.ini
batch    = 16
phases   = training, inference

[layers]
networks = f8_net.ini
batch    = 16

[kernels]
networks = f8_net.ini
batch    = 16
END
cat >f8_net.ini <<'END'
[network]
name = f8

[x]
type  = input
shape = 16

[fc]
type     = linear
features = 32

[relu]
type = relu

[head]
type     = linear
features = 10
END
"$fake" f8.ini -o f8.csv --quiet || fail "FP8"
grep -v -e '^#' -e '^kind' -e ',ok$' f8.csv >skipped && fail "FP8: $(cat skipped)"
for each in network,f8_net.ini,step layer,linear,step kernel,gemm,forward,,,f8 kernel,gemm,grad_weight,,,f8 kernel,map,grad_input,,,f8; do
    grep -q "^$each" f8.csv || fail "FP8: no $each: $(cat f8.csv)"
done
LAYERMETER_FAKE_CAPABILITY=86 "$fake" f8.ini -o old.csv 2>err && fail "FP8 on a device that has none"
[ "$(cat err)" = 'layermeter-calibrate-fake: f8.ini: Fake device has no FP8: its compute capability is 8.6, and 8.9 and later have it' ] ||
    fail "FP8 on a device that has none: $(cat err)"

# ---- no device ----------------------------------------------------------------------------------
LAYERMETER_FAKE_DEVICES=0 "$fake" gpu.ini -o no.csv 2>err
[ $? -eq 1 ] || fail "no device is no failure"
grep -q 'gpu.ini: no CUDA device: driver for CUDA 13.0, cudaGetDeviceCount says: no CUDA-capable device is detected$' err ||
    fail "no device: $(cat err)"
LAYERMETER_FAKE_NO_DRIVER=1 "$fake" gpu.ini -o no.csv 2>err
[ $? -eq 1 ] || fail "no driver is no failure"
grep -q 'gpu.ini: no CUDA device: driver not found, cudaGetDeviceCount says: CUDA driver version is insufficient' err ||
    fail "no driver: $(cat err)"
[ ! -e no.csv ] || fail "a file without a device"
LAYERMETER_FAKE_DEVICES=0 "$fake" gpu.ini --dry-run >listed || fail "a dry run needs a device"
grep -q '^6 points' listed || fail "dry run: $(cat listed)"

# ---- one process a GPU -----------------------------------------------------------------------------
if grep -q '^# mpi: none' out.csv || ! command -v mpirun >/dev/null; then
    exit 0
fi
ranks() {
    mpirun --oversubscribe -np 2 "$fake" gpu.ini --quiet "$@"
}
ranks -o two.csv 2>err && fail "two processes on one GPU"
grep -q 'gpu.ini: 2 processes on this host see 1 GPU: start one process a GPU$' err || fail "two processes: $(cat err)"
LAYERMETER_FAKE_DEVICES=2 ranks -o two.csv 2>err || fail "two processes on two GPUs: $(cat err)"
rows two.csv | diff expected - || fail "rows of two processes"

# two instances of one GPU (MIG), each rank seeing its own
cat >instance.sh <<'END'
#!/bin/sh
export LAYERMETER_FAKE_MIG="${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}"
exec "$@"
END
chmod +x instance.sh
mpirun --oversubscribe -np 2 ./instance.sh "$fake" gpu.ini --quiet -o instances.csv 2>err || fail "two instances of a GPU: $(cat err)"
