#!/bin/sh
# Ten minutes of libFuzzer for each target, or for those that are named, one after another, begun from the seeds of the tests. Not in CI.
#
#   CC=clang CFLAGS=-fsanitize=fuzzer-no-link cmake -B BUILD -DLAYERMETER_SANITIZE=ON -DLAYERMETER_LIBFUZZER=ON -DLAYERMETER_TESTS=ON
#   cmake --build BUILD
#   tests/fuzz/long.sh BUILD FOLDER [TARGET...]
#
# FOLDER gets logs, inputs that reach new code, and findings. It prints executions, covered edges and findings. FUZZ_SECONDS: other than 600.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(CDPATH='' cd -- "$1" && pwd)
mkdir -p "$2" && folder=$(CDPATH='' cd -- "$2" && pwd)
shift 2
tests=$build/tests/fuzz/CTestTestfile.cmake
all=$(sed -n 's/^add_test(\[=\[fuzz_\([a-z_]*\)\]=\].*/\1/p' "$tests")
# shellcheck disable=SC2086 # names of targets
[ $# -gt 0 ] || set -- $all
for target; do
    echo "$all" | grep -qx -- "$target" || { echo "$0: no target '$target'; there are: $(echo "$all" | tr "\n" " ")" >&2; exit 2; }
done
export LAYERMETER_PLUGIN_PATH="$build/lib/layermeter/plugins" LAYERMETER_MODEL_PATH="$root/models" OPENBLAS_NUM_THREADS=1
export LSAN_OPTIONS="suppressions=$root/tests/leaks.supp:print_suppressions=0"
bad=0
for target; do
    mkdir -p "$folder/$target/seeds" "$folder/$target/new" "$folder/$target/found"
    (eval "set -- $(sed -n "s/^add_test(\[=\[fuzz_$target\]=\] \(.*\))\$/\1/p" "$tests")" && shift 3 && cp "$@" "$folder/$target/seeds")
    FUZZ_TARGET=$target "$build/bin/fuzz_libfuzzer" -max_total_time="${FUZZ_SECONDS:-600}" -timeout=60 -rss_limit_mb=3000 -max_len=65536 \
        -print_final_stats=1 -artifact_prefix="$folder/$target/found/" "$folder/$target/new" "$folder/$target/seeds" \
        >"$folder/$target/log" 2>&1 || bad=1
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$folder/$target/log" | tail -n 1)
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$target/log")
    echo "$target: ${runs:-?} executions, ${edges:-?} edges, found: $(find "$folder/$target/found" -type f -printf '%f ')"
done
exit $bad
