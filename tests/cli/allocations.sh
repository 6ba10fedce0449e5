#!/bin/sh
# No tensor, scratchpad or workspace is allocated while the CPU backend is timed: the allocator is not
# what is measured, and its thresholds do not matter. What oneDNN needs to pass arguments is small.
. "$(dirname -- "$0")/common.sh"
need_calibrate
: "${COUNT_ALLOCATIONS:?}"
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1

cat >sweep.ini <<'END'
[sweep]
backend      = onednn
warmup       = 0
min_repeats  = 3
max_repeats  = 3
retries      = 0
anchor_share = 0

[networks]
networks = wide.ini, deep.ini
batch    = 64
END
layermeter-calibrate sweep.ini --dry-run >out 2>&1 || {
    grep -q 'this build has no backend' out && skip "$(cat out)"
    fail "$(cat out)"
}
ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 LD_PRELOAD=$COUNT_ALLOCATIONS \
    "$LAYERMETER_BIN/layermeter-calibrate" sweep.ini -o o.csv --quiet >out 2>&1 || fail "$(cat out)"
line=$(grep '^allocations: ' out) || skip "nothing can be preloaded here: $(cat out)"
echo "$line"
# shellcheck disable=SC2086 # words
set -- $line # allocations: N in N timed regions, largest N bytes, N maps; N outside
[ "$4" -eq 18 ] || fail "regions: 2 networks, 3 repetitions, 3 phases: $line"
[ "${12}" -gt 0 ] || fail "the counter does not count: $line"
# without AVX-512 oneDNN multiplies by its older gemm, which packs matrices into buffers that it allocates itself
DNNL_VERBOSE=1 "$LAYERMETER_BIN/layermeter-calibrate" sweep.ini -o verbose.csv --quiet 2>&1 | grep -q 'matmul,gemm:' &&
    skip "oneDNN's gemm on this processor allocates by itself"
[ "$8" -lt 4096 ] && [ "${10}" -eq 0 ] || fail "$line"
