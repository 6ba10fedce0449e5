#!/bin/sh
# Installs what is missing, builds with sanitizers, runs every test, and closes with one line that counts.
# usage: tests/run.sh [ctest options, such as -R unit; -j N: so many at once, one more than cores but at most 4]
set -u

here=$(cd "$(dirname "$0")/.." && pwd)
# not build/tests, where a build of its own keeps what it makes of this folder, and what it installs of it
build=${LAYERMETER_TEST_BUILD:-$here/build/sanitized}

"$here/examples/setup.sh" build run tests || exit 1
mkdir -p "$build"
build=$(cd "$build" && pwd)
log=$build/ctest.log
# links some 200 programs in half the time
linker=
if command -v ld.gold >/dev/null; then
    linker=-fuse-ld=gold
fi
# -O1 takes half of -O2's time to compile, and sanitized programs run about as fast; -g1: lines are enough for what
# sanitizers say
if ! { cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_FLAGS_RELWITHDEBINFO='-O1 -g1 -DNDEBUG' \
           -DCMAKE_EXE_LINKER_FLAGS="$linker" -DLAYERMETER_SANITIZE=ON -DLAYERMETER_TESTS=ON -DLAYERMETER_PAGE_OPTIMIZE=-O1 && ninja -C "$build"; } >"$build/build.log" 2>&1; then
    grep -E 'error|Error|FAILED' "$build/build.log" | head -n 20 >&2
    echo "tests/run.sh: the build failed, see $build/build.log" >&2
    exit 1
fi
sed -n '/features have been/,/^-- Config/p' "$build/build.log" | grep -v '^--'

cores=$(nproc)
# one more than cores: some tests wait, for ranks that hang or a clock
CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$((cores < 4 ? cores + 1 : 4))}
export CTEST_PARALLEL_LEVEL
cd "$build" && ctest --output-on-failure --timeout 600 "$@" 2>&1 | tee "$log"

passed=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*   Passed ' "$log")
skipped=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*\*\*\*Skipped' "$log")
total=$(grep -cE '^ *[0-9]+/[0-9]+ Test ' "$log")
failed=$((total - passed - skipped))
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
