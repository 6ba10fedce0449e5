# Metrics of devices that are not there: rows, ends, what is lost.
. "$(dirname -- "$0")/common.sh"
cd "$work" || exit 1
nvml=${LAYERMETER_BUILD:?}/tests/ports/nvml/libnvidia-ml.so.1
[ -e "$nvml" ] || skip "this build has no management library that is not there"
LAYERMETER_NVML=$nvml
LAYERMETER_FAKE_NVML=$work/told
LAYERMETER_SYSTEM_ROOT=$work/root
export LAYERMETER_NVML LAYERMETER_FAKE_NVML LAYERMETER_SYSTEM_ROOT
: >told

# ---- rows: a heading, then each device at each look ------------------------------------------------
layermeter watch --interval 20ms --for 60ms -o rows.csv 2>err || fail "two GPUs: $(cat err)"
[ "$(cat err)" = "layermeter: watching 0: Fake GPU
layermeter: watching 1: Fake GPU" ] || fail "devices: $(cat err)"
[ "$(head -n 1 rows.csv)" = "timestamp,index,utilization.gpu [%],utilization.memory [%],memory.used [MiB],power.draw [W],enforced.power.limit [W],energy [J],clocks.current.sm [MHz],clocks.current.memory [MHz],temperature.gpu [C],clocks_event_reasons.active" ] ||
    fail "heading: $(head -n 1 rows.csv)"
[ "$(sed 1d rows.csv | cut -d, -f2- | sort -u)" = "0,97,40,20480,350.00,700.00,1000.000,1980,2619,41,0x0000000000000000
1,97,40,20480,350.00,700.00,1000.000,1980,2619,41,0x0000000000000000" ] || fail "rows: $(cat rows.csv)"
n=$(sed 1d rows.csv | wc -l)
[ "$n" -ge 2 ] && [ "$n" -le 8 ] || fail "$n rows of two GPUs in 60 ms at 20 ms"
layermeter watch --for 0 -o rows.csv 2>err && fail "a trace was overwritten"
[ "$(cat err | tail -n 1)" = "layermeter: rows.csv: exists already: choose another name" ] || fail "there already: $(cat err)"

# what a device does not tell is empty
printf '1 power 404\n1 energy 404\n1 held 404\n1 clock 404\n' >told
layermeter watch --for 0 --gpu 1 >out 2>err || fail "untold: $(cat err)"
[ "$(sed 1d out | cut -d, -f2-)" = "1,97,40,20480,,700.00,,,,41," ] || fail "untold: $(cat out)"

# ---- ends: a signal leaves whole rows ------------------------------------------------------------
: >told
for signal in INT TERM; do
    rm -f ends.csv
    layermeter watch --interval 5ms -o ends.csv 2>err &
    pid=$!
    i=0
    while [ "$(wc -l 2>/dev/null <ends.csv || echo 0)" -lt 10 ]; do
        i=$((i + 1))
        [ "$i" -lt 2000 ] || fail "no rows come: $(cat err)"
        sleep 0.01
    done
    kill -$signal $pid
    wait $pid || fail "SIG$signal: $? $(cat err)"
    awk -F, 'NF != 12 { exit 1 }' ends.csv || fail "a row is not whole: $(tail -n 2 ends.csv)"
    [ "$(tail -c 1 ends.csv | od -An -c | tr -d ' ')" = '\n' ] || fail "the last row has no end"
done

# ---- what is lost ----------------------------------------------------------------------------------
printf '0 lost 1\n' >told
layermeter watch --interval 10ms --for 30ms >out 2>err || fail "one of two is lost: $(cat err)"
grep -q '^layermeter: GPU 0 is lost after .* s: no more of it$' err || fail "one of two is lost: $(cat err)"
[ "$(sed 1d out | cut -d, -f2 | sort -u)" = 1 ] || fail "one of two is lost: $(cat out)"
printf '0 lost 1\n1 lost 1\n' >told
layermeter watch >out 2>err && fail "all are lost, and it goes on"
[ "$(tail -n 1 err)" = 'layermeter: no device is left to watch' ] || fail "all are lost: $(cat err)"
layermeter watch --gpu 5 >out 2>err && fail "a GPU that is not there"
[ "$(cat err)" = "layermeter: no GPU 5: there are 2, from 0" ] || fail "GPU 5: $(cat err)"
LAYERMETER_NVML=/nowhere layermeter watch --gpu 0 >out 2>err && fail "a GPU without a driver"
[ "$(wc -l <err)" -eq 1 ] || fail "without a driver: $(cat err)"

# ---- CPUs: below a root that is not there ------------------------------------------------------------
mkdir -p root/proc root/sys/class/powercap/intel-rapl:0
printf 'cpu  10 0 10 70 10 0 0 0 0 0\ncpu0 10 0 10 70 10 0 0 0 0 0\n' >root/proc/stat
printf 'MemTotal: 2048 kB\nMemAvailable: 1024 kB\n' >root/proc/meminfo
echo package-0 >root/sys/class/powercap/intel-rapl:0/name
echo 5000000 >root/sys/class/powercap/intel-rapl:0/energy_uj
echo 262143328850 >root/sys/class/powercap/intel-rapl:0/max_energy_range_uj
layermeter watch --for 0 --gpu cpu >out 2>err || fail "CPUs: $(cat err)"
[ "$(cat err)" = "layermeter: watching cpu: CPU (RAPL package-0)" ] || fail "CPUs: $(cat err)"
[ "$(sed 1d out | cut -d, -f2-)" = "cpu,,,1,,,0.000,,,," ] || fail "CPUs: $(cat out)"

# ---- what it writes is what 'epochs' reads ------------------------------------------------------------
awk 'BEGIN { for (i = 0; i < 600; i++) { p = i % 100; printf "%.3f,0,%d,40,20480,350.00,700.00,%d.000,1980,2619,41,0x0000000000000000\n",
    1.7e9 + i / 10, p < 85 ? 90 + i * 7919 % 5 : 10, 35 * i } }' >body
{ head -n 1 rows.csv; cat body; } >trace.csv
layermeter epochs trace.csv >out 2>err || fail "epochs: $(cat err)"
grep -q '^epoch: 10 s .*; utilization.gpu, GPU 0, 600 samples 0.1 s apart' out || fail "epochs: $(cat out)"

# ---- beside a plan, live: a constant has no epochs; what is sampled goes to the file all the same ------
cat >plan.json <<'END'
{"network": "tiny.ini", "set": null, "input": null, "dtype": "f32", "optimizer": "momentum", "answers": [{"question": "cheapest",
 "plan": {"machine": "m.ini", "nodes": 1, "devices": 1, "batch": 32, "micro_steps": 1, "sync": "once", "bucket_bytes": 0,
 "grad_dtype": null, "steps_per_epoch": 10, "evaluations_per_epoch": 0, "step_s": 0.02, "step_low_s": null, "step_high_s": null,
 "exposed_s": 0, "epoch_s": 0.2, "epoch_low_s": null, "epoch_high_s": null}}]}
END
: >told
layermeter watch --plan plan.json --gpu 0 --interval 5ms --for 1s -o live.csv >out 2>err && fail "a constant has epochs"
grep -Eq '^layermeter: (it is constant \(97\)|fewer than 32 samples)$' err || fail "a constant: $(cat err)"
[ ! -s out ] || fail "a constant: $(cat out)"
[ "$(sed 1d live.csv | wc -l)" -ge 2 ] || fail "a constant: $(wc -l <live.csv) rows in 1 s at 5 ms"
printf '0 lost 1\n' >told
layermeter watch --plan plan.json --gpu 0 >out 2>err && fail "a lost GPU is watched"
[ "$(tail -n 1 err)" = 'layermeter: no device is left to watch' ] || fail "lost beside a plan: $(cat err)"
: >told
layermeter watch --plan plan.json --gpu 0 --metric clocks.sm --for 0 >out 2>err && fail "epochs of a clock"
grep -q "no metric 'clocks.sm': live there are utilization.gpu and power.draw" err || fail "another metric: $(cat err)"
