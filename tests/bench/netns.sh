#!/bin/sh
# Are a network's latency and bandwidth found as they are? Sets up hosts as network namespaces behind a switch
# of known bandwidth and delay (netns.c), measures our ring on 2, 4, ... of them with layermeter-calibrate, fits
# with `layermeter fit --algorithm ring`, and prints what was set beside what was fitted; then predicts the most hosts
# by those measured on fewer, beside formulas of others. Fails beyond 10 % of either.
# Needs root, iproute2, /dev/net/tun and Open MPI; says so and ends with 77 where one is missing.
# With SWEEP=FILE that sweep is measured instead, into $KEEP, and nothing is judged.
# usage: tests/bench/netns.sh [HOSTS [MBIT [DELAY_US]]]        (default: 8 hosts, 100 Mbit/s, 5000 us)
#
# On Open MPI's TCP. Its rendezvous for messages above 64 KiB waits for an answer, two more latencies a
# message, and turns a simultaneous send and receive into half duplex: eager limits above all messages avoid
# both, so that a step of the ring is one latency and its bytes. Ranks that spin on too few cores wait for each
# other's turns, milliseconds in each step, with mpi_yield_when_idle as well: here they sleep (yield.c), and come
# before what else runs when their message is there. All these are switches of this check: a machine is calibrated
# as it is.
set -eu

here=$(cd "$(dirname "$0")/../.." && pwd)
hosts=${1:-8}
mbit=${2:-100}
delay=${3:-5000}
skip() {
    echo "netns.sh: skipped: $*" >&2
    exit 77
}
[ "$(id -u)" = 0 ] || skip "needs root"
[ -c /dev/net/tun ] || skip "no /dev/net/tun"
command -v ip >/dev/null || skip "no ip (Debian: iproute2)"
mpirun --version 2>/dev/null | grep -q 'Open MPI' || skip "no Open MPI (Debian: openmpi-bin)"

"$here/examples/setup.sh" build
build=$here/build/bench
mkdir -p "$build"
{ cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLAYERMETER_TESTS=OFF -DLAYERMETER_WITH_MPI=ON \
        -DLAYERMETER_WITH_ONEDNN=ON && ninja -C "$build" &&
  cc -O2 -o "$build/netns" "$here/tests/bench/netns.c" &&
  cc -O2 -shared -fPIC -o "$build/yield.so" "$here/tests/bench/yield.c"; } >"$build.log" 2>&1 || { tail -n 20 "$build.log" >&2; exit 1; }

name=lm$$ # of namespaces and devices: several may run at once, if their addresses in the root namespace may
work=$(mktemp -d)
switch=
finish() {
    [ -z "$switch" ] || kill "$switch" 2>/dev/null || true
    for i in $(seq "$hosts"); do ip netns del "${name}n$i" 2>/dev/null || true; done
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM

! ip addr | grep -q '10\.213\.77\.254' || skip "10.213.77.254 is in use: does another such check run?"
"$build/netns" "${name}t" "$hosts" "$mbit" "$delay" >"$work/ready" &
switch=$!
for _ in $(seq 50); do grep -q ready "$work/ready" && break; sleep 0.1; done
kill -0 $switch 2>/dev/null || skip "no TUN devices here"
chrt -f -p 50 $switch 2>/dev/null || true # it must not wait for the ranks it serves
ip addr add 10.213.77.254/24 dev "${name}t0"
ip link set "${name}t0" mtu 9000 up
for i in $(seq "$hosts"); do
    ns=${name}n$i
    ip netns add "$ns" || skip "no network namespaces here"
    ip link set "${name}t$i" netns "$ns"
    ip -n "$ns" link set lo up
    ip -n "$ns" link set "${name}t$i" mtu 9000 txqueuelen 1000 up
    ip -n "$ns" addr add "10.213.77.$i/24" dev "${name}t$i"
    ip netns exec "$ns" sysctl -qw net.ipv4.tcp_slow_start_after_idle=0
done

first="nice -n -10"
chrt -r 10 true 2>/dev/null && first="chrt -r 10"
# What Open MPI starts on host 10.213.77.I runs in namespace I, under a host name of its own.
cat >"$work/agent" <<END
#!/bin/sh
ns=${name}n\${1##*.}
shift
exec ip netns exec "\$ns" unshare --uts /bin/sh -c 'hostname "\$0"; exec $first /bin/sh -c "\$*"' "\$ns" "\$@"
END
chmod +x "$work/agent"
nodes=2
n=2
while [ $((2 * n)) -le "$hosts" ]; do n=$((2 * n)); nodes=$nodes,$n; done
cat >"$work/sweep.ini" <<END
[sweep]
backend     = onednn
collective  = mpi
warmup      = 2
min_repeats = 5
max_repeats = 11
max_seconds = 2

[collectives]
bytes      = 64KiB..4MiB*8
algorithms = default, ring
nodes      = $nodes
END
[ -z "${SWEEP-}" ] || cp "$SWEEP" "$work/sweep.ini"
at=$(seq -s, -f '10.213.77.%g' 1 "$hosts")
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
mpirun --host "$at" -np "$hosts" --map-by node --bind-to none --mca plm_rsh_agent "$work/agent" \
    --mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include 10.213.77.0/24 --mca btl_tcp_if_include 10.213.77.0/24 \
    --mca btl tcp,self --mca pml ob1 --mca mpi_yield_when_idle 1 -x "LD_PRELOAD=$build/yield.so" --mca btl_tcp_eager_limit 8388608 \
    --mca btl_tcp_rndv_eager_limit 8388608 --mca btl_tcp_max_send_size 8388608 \
    -x LAYERMETER_PLUGIN_PATH="$build/lib/layermeter/plugins" -x LAYERMETER_MODEL_PATH="$here/models" \
    "$build/bin/layermeter-calibrate" "$work/sweep.ini" -o "$work/o.csv" --quiet

if [ -n "${KEEP-}" ]; then cp "$work/o.csv" "$KEEP"; fi
[ -z "${SWEEP-}" ] || exit 0
# the fits
for algorithm in ring default; do
    "$build/bin/layermeter" fit "$work/o.csv" --algorithm $algorithm -o "$work/$algorithm.ini" >/dev/null 2>"$work/said" ||
        { cat "$work/said" >&2; exit 1; }
done
# Hockney's ring beside the model: a latency of a message, seconds of a byte
coefficient() { awk -v key="hockney.$2" '$1 == key { print $3 }' "$work/$1.ini"; }
echo "algorithm,what,set,fitted,fitted/set"
for algorithm in ring default; do
    echo "$algorithm $delay $mbit $(coefficient $algorithm messages) $(coefficient $algorithm ring_bytes)" |
        awk '{ a = 1e6 * $4; b = $5 > 0 ? 8e-6 / $5 : 0
               printf "%s,latency_us,%g,%.1f,%.3f\n%s,bandwidth_mbit,%g,%.2f,%.3f\n", $1, $2, a, a / $2, $1, $3, b, b / $3 }'
done | tee "$work/result"
awk -F, '$1 == "ring" && !($5 > 0.9 && $5 < 1.1) { bad = 1 } END { exit bad }' "$work/result" ||
    { echo "netns.sh: the ring's are not within 10 % of those set" >&2; exit 1; }

# the most hosts, by what was measured on fewer
[ "$n" -gt 2 ] || exit 0
echo "algorithm,hosts,model,points,mean error [%]"
for algorithm in ring default; do
    "$build/bin/layermeter" validate "$work/o.csv" --algorithm $algorithm --leave-out "ranks=$n.." --pooled --format csv \
        --model layermeter,hockney,log2,convmeter 2>"$work/said" >"$work/left_out" || { cat "$work/said" >&2; exit 1; }
    awk -F, -v algorithm=$algorithm -v hosts="$n" 'NR > 1 { printf "%s,%d,%s,%d,%.1f\n", algorithm, hosts, $3, $4, $8 }' "$work/left_out"
done | tee "$work/predicted"
awk -F, '$1 == "ring" && $3 == "layermeter" { found = $5 != "" && $5 < 10 } END { exit !found }' "$work/predicted" ||
    { echo "netns.sh: the ring on $n hosts is not within 10 % of what fewer hosts tell" >&2; exit 1; }
