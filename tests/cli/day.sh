#!/bin/sh
# The first day on a GPU (tests/gpu/day.sh), whole, on the device that is not there: its three calls, what stops it,
# and that it goes on where it was.
. "$(dirname -- "$0")/common.sh"
need_fake
[ -x "$LAYERMETER_BIN/test_cuda_ops" ] || skip "this build has no test_cuda_ops"
mkdir "$work/tools" && cat >"$work/tools/compute-sanitizer" <<'END_TOOL'
#!/bin/sh
[ "$1 $2 $3 $4" = '--tool memcheck --error-exitcode 9' ] || exit 3
shift 4
echo "${1##*/}" >>"$SANITIZED" || exit 9
exec "$@"
END_TOOL
# of nccl-tests, in its own columns: 24.47 us out of place, 24.29 in place
cat >"$work/tools/all_reduce_perf" <<'END_TOOL'
#!/bin/sh
[ "$*" = '-b 64K -e 16M -f 4 -g 2' ] || exit 3
echo '#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong'
echo '      262144         65536     float     sum      -1    24.47   10.71   10.71      0    24.29   10.79   10.79      0'
END_TOOL
chmod +x "$work/tools/compute-sanitizer" "$work/tools/all_reduce_perf"
cat >"$work/sheet.ini" <<'END'
[Fake device]
f32       = 0.3 TFLOP/s
tf32      = 1.2 TFLOP/s
bf16      = 1.2 TFLOP/s
bandwidth = 80 GB/s
END
cat >"$work/little.ini" <<END
[sweep]
backend     = cudnn
warmup      = 0
min_repeats = 2
max_repeats = 2

[networks]
networks = $here/../gpu/smoke_net.ini
batch    = 1, 2, 4, 8
END
SANITIZED=$work/sanitized
PATH=$work/tools:$PATH
FAKE=$LAYERMETER_BUILD WORK=$work/day SWEEP=$work/little.ini DEVICES=$work/sheet.ini SIDE=64
LAYERMETER_FAKE_LATENCY=1000
export PATH SANITIZED FAKE WORK SWEEP DEVICES SIDE LAYERMETER_FAKE_LATENCY
day() { "$here/../gpu/day.sh" "$@" >"$work/said" 2>&1; }
said() { grep -qx -e "$1" "$work/said" || fail "no '$1': $(cat "$work/said")"; }

# ---- a row that is skipped fails it, and what else can be told is; where nothing runs it ends ---------------------
LAYERMETER_FAKE_MEMORY=100000 day 1 && fail "rows were skipped: $(cat "$work/said")"
said 'FAILED: smoke'
grep -q '^smoke: [0-9]* points: .*needs .* MB' "$work/said" || fail "no reason: $(cat "$work/said")"
said '-- done: build.*; failed: .*smoke.*, whose words are above and all of it in .*/day/results'
grep -q '^-- next' "$work/said" && fail "another call after one that failed: $(cat "$work/said")"
grep -q '^kernels: wrong:' "$work/said" || fail "it did not go on: $(cat "$work/said")"
rm -rf "$WORK"
LAYERMETER_FAKE_MEMORY=100 day 1 && fail "nothing ran: $(cat "$work/said")"
said 'smoke: 0 rows, [0-9]* skipped'
grep -q '^kernels' "$work/said" && fail "it went on: $(cat "$work/said")"
rm -rf "$WORK"

# ---- time that is over is no failure -----------------------------------------------------------------------------
MINUTES=0 day 1
[ $? -eq 124 ] || fail "a call without time: $(cat "$work/said")"
said 'NOT FINISHED: smoke: the time of this call was over'
said '-- next: day.sh 1 again'
grep -q FAILED "$work/said" && fail "a call without time: $(cat "$work/said")"

# ---- the first call ----------------------------------------------------------------------------------------------
day -o "$work/first" 1 || fail "the first call: $(cat "$work/said")"
said 'smoke: [0-9]* rows, 0 skipped'
said "smoke: [0-9]* kinds of kernels agree with a CPU's, 0 differ, 0 not compared"
said 'smoke: [0-9]* rows in FP8, 0 skipped'
# 2 x 64^3 FLOP in 2 us and, on tensor cores, 0.5 us; 64 KiB, read and written, in 2 us
said 'sanity: product in f32 (IEEE), FLOP: 0.2621 T/s, 87.4 % of 0.3 T/s, as the datasheet has it'
said 'sanity: product in tf32, FLOP: 1.049 T/s, 87.4 % of 1.2 T/s, as the datasheet has it'
said 'sanity: product in bf16, FLOP: 1.049 T/s, 87.4 % of 1.2 T/s, as the datasheet has it'
said 'sanity: copy, bytes: 0.06554 T/s, 81.9 % of 0.08 T/s, as the datasheet has it'
said 'class gemm: [0-9]* agree, 0 differ, .*'
for class in conv norm map pool gemm softmax gather copy reduce attention; do
    grep -q "^kernel,$class,.*,ok\$" "$WORK/results/smoke.csv" || fail "no $class in smoke.ini"
done
for each in ,f32, ,bf16, ,f16, layout=nhwc launch=graph cache=cold math=tf32 math=torch mixed=bf16 mixed=f16 algorithms=autotuned ,inference, update=foreach; do
    grep -q -e "$each.*,ok\$" "$WORK/results/smoke.csv" || fail "no $each in smoke.ini"
done
said '-- done: build sanity smoke kernels'
said '-- next: day.sh 2'
[ "$(ls "$work/first" | tr '\n' ' ')" = 'results.tar.gz said.txt ' ] || fail "files: $(ls "$work/first")"

# ---- kernels that computed something else stop it ----------------------------------------------------------------
(
    cp -R "$WORK" "$work/wrong"
    WORK=$work/wrong
    export WORK
    rm "$WORK/done/smoke"
    sed -i '/^# verified/s/0 differ/1 differs/' "$WORK/results/smoke.csv"
    "$here/../gpu/run.sh" build smoke >"$work/said" 2>&1 && fail "a kernel that differs: $(cat "$work/said")"
    grep -q "^smoke: [0-9]* kinds of kernels agree with a CPU's, 1 differs, 0 not compared" "$work/said" || fail "a kernel that differs: $(cat "$work/said")"
    said 'FAILED: smoke'
) || exit 1

# ---- the second goes on, the third leaves the machine file -------------------------------------------------------
LAYERMETER_FAKE_DEVICES=2
export LAYERMETER_FAKE_DEVICES
SANITIZED=/dev/full day 2 && fail "an error under compute-sanitizer: $(cat "$work/said")"
said 'FAILED: sanitizer'
if command -v mpirun >/dev/null; then
    said 'nccl: all-reduce of 256 KiB: 3.0 us, nccl-tests 24.3 us, chosen=ring/simple'
    grep -q '^nccl: a rank was killed between points; the run ended, ' "$work/said" || fail "a killed rank: $(cat "$work/said")"
fi
day 2 || fail "the second call: $(cat "$work/said")"
said 'smoke: done before'
said 'sanity: done before'
said 'sweep: done before'
said 'sanitizer: no error'
[ "$(tr '\n' ' ' <"$SANITIZED")" = 'test_cuda_ops test_cuda_step ' ] || fail "under compute-sanitizer: $(cat "$SANITIZED")"
# a PyTorch that is not there: its steps are the machine's and 10 ms of the host for an operation, 5 in inference
cat >"$work/tools/python" <<'END_TOOL'
#!/bin/sh
case $* in
-c*) exit 0 ;;
*collect.py*) shift ;;
*) exec /usr/bin/python3 "$@" ;;
esac
{ grep -v "^checksum" "$MACHINE"; printf '\n[host]\nframework = PyTorch 2.9.0\nrows = 1\noperation = 0.01, 0.01, 0.01 s/operation\ninference = 0.005 s/operation\ninference_rows = 1\nqueue = yes\nforeach = yes\n'; } >"$SANITIZED.ini"
names=
while [ "${1#--}" = "$1" ]; do
    names="$names $1"
    shift
done
while [ "$1" != -o ]; do shift; done
{
    echo '# program: collect.py, PyTorch 2.9.0'
    echo '# gpu: Fake device'
    echo kind,name,phase,input,batch,seconds
    for name in $names; do
        "$LAYERMETER_BIN/layermeter" predict "$name" --machine "$SANITIZED.ini" --framework eager --image 64 --batch 1,16 --format csv \
            --columns batch,forward_ms,backward_ms,grad_ms,step_ms |
            awk -F, -v name="$name" '
                BEGIN { split("x forward backward update step", phase, " ") }
                NR > 1 { for (i = 2; i <= 5; i++) printf "network,%s,%s,3x64x64,%s,%.9g\n", name, phase[i], $1, $i / 1e3 }'
        "$LAYERMETER_BIN/layermeter" predict "$name" --machine "$SANITIZED.ini" --framework eager --image 64 --batch 1,16 --format csv \
            --phase inference --columns batch,latency_ms |
            awk -F, -v name="$name" 'NR > 1 { printf "network,%s,inference,3x64x64,%s,%.9g\n", name, $1, $2 / 1e3 }'
    done
} >"$2"
END_TOOL
chmod +x "$work/tools/python"
PYTHON=$work/tools/python MACHINE=$WORK/results/little/machine.ini
export PYTHON MACHINE
day -o "$work/third" 3 || fail "the third call: $(cat "$work/said")"
said 'torch: PyTorch 2.9.0 takes 1e+04 us (forward), 1e+04 us (backward) and 1e+04 us (update) of the host for an operation, by 10 steps; steps of networks left out are off by .* %; 5e+03 us in inference, by 10 passes; passes of networks left out are off by .* %'
said 'torch: with it, of networks that the sweep has not measured: 20 points, off by 0.0 % in the mean, by 0.0 % at most'
said 'sweep: done before'
said 'gpu = Fake device'
said '-- the day is over'
grep -q '^cudnn = 9' "$WORK/results/fake_device.ini" || fail "provenance: $(cat "$WORK/results/fake_device.ini")"
cmp "$WORK/results/fake_device.ini" "$work/third/little-machine.ini" || fail "another machine file"

# ---- what is not as the datasheet has it -------------------------------------------------------------------------
again() { rm -f "$WORK/done/sanity" "$WORK/done/sanity.began"; }
again
LAYERMETER_FAKE_NO_TENSOR=1 day 1 && fail "without tensor cores: $(cat "$work/said")"
said 'sanity: product in tf32, FLOP: 0.2621 T/s, 21.8 % of 1.2 T/s, NOT as the datasheet has it'
said 'sanity: gpu_management: no NVML: clocks, heat and power are not known'
grep -q '^sanity: look for other work on the GPU' "$work/said" || fail "no remedy: $(cat "$work/said")"
said 'FAILED: sanity'
sed 's/^tf32 .*/tf32 = 0.3 TFLOP\/s/' "$work/sheet.ini" >"$work/other.ini"
again
DEVICES=$work/other.ini LAYERMETER_FAKE_NO_TENSOR=1 day 1 && fail "bf16 without tensor cores: $(cat "$work/said")"
said 'sanity: product in tf32, FLOP: 0.2621 T/s, 87.4 % of 0.3 T/s, as the datasheet has it'
for each in 's/^f32 .*/f32 = 0.2 TFLOP\/s/' 's/^bf16 .*/bf16 = 2.2 TFLOP\/s/' 's/^bandwidth .*/bandwidth = 40 GB\/s/' \
    's/^bandwidth .*/bandwidth = 140 GB\/s/'; do
    sed "$each" "$work/sheet.ini" >"$work/other.ini"
    again
    DEVICES=$work/other.ini day 1 && fail "$each: $(cat "$work/said")"
    [ "$(grep -c ', NOT as' "$work/said")" -eq 1 ] || fail "$each: $(cat "$work/said")"
done
again
DEVICES= day 1 || fail "a device without a datasheet: $(cat "$work/said")"
grep -q '^sanity: not judged: .*(DEVICES=FILE' "$work/said" || fail "a device without a datasheet: $(cat "$work/said")"
[ "$(grep -c ', no datasheet$' "$work/said")" -eq 4 ] || fail "a device without a datasheet: $(cat "$work/said")"
