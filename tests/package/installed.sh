#!/bin/sh
# An installed tree works from wherever it is moved to, with nothing of the build: programs find plugins,
# networks and sweeps from their own place. Other programs find the library by pkg-config and by CMake.
export CMAKE_GENERATOR=Ninja # there may be no make
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$LAYERMETER_BUILD" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"
unset LAYERMETER_PLUGIN_PATH LAYERMETER_MODEL_PATH
cd "$work"
moved/bin/layermeter show resnet18 --totals | grep -q '11,689,512'
moved/bin/layermeter layers conv2d | grep -q "$work/moved/lib"
sweep=$(find moved -name quick.ini)
moved/bin/layermeter-calibrate "$sweep" --dry-run | grep -q 'squeezenet1_1'
moved/bin/layermeter plan resnet18 --model paleo --device 'H100 SXM' --instance p5.48xlarge --nodes 1 --bandwidth 400Gbit/s | grep -q '55.04 USD per node-hour'
for header in types kernel plugin error layermeter; do
    [ -f "moved/include/layermeter/$header.h" ]
done
for file in man/man1/layermeter.1 man/man1/layermeter-scale.1 bash-completion/completions/layermeter zsh/site-functions/_layermeter \
    fish/vendor_completions.d/layermeter.fish; do
    [ -s "moved/share/$file" ] || { echo "share/$file is not installed" >&2; exit 1; }
done
if grep -rlIF "$LAYERMETER_SOURCE" moved; then
    echo "these name the build" >&2
    exit 1
fi

# ---- the library ------------------------------------------------------------------------------------
# With the compiler of the build: its sanitizers, if any, are not those of another.
value() { sed -n "s/^$1:[A-Z]*=//p" "$LAYERMETER_BUILD/CMakeCache.txt"; }
cc=$(value CMAKE_C_COMPILER)
if [ "$(value LAYERMETER_SANITIZE)" = ON ]; then
    flags=-fsanitize=address,undefined
else
    flags=
fi
PKG_CONFIG_PATH=$(dirname "$(find "$work/moved" -name layermeter.pc)")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir layermeter)
cat >use.c <<'END'
#include <stdio.h>

#include <layermeter/error.h>

int main(void)
{
    lm_error err;

    lm_error_set(&err, LM_E_NOTFOUND, "no %s", "network");
    lm_error_prefix(&err, "use");
    return puts(err.text) < 0;
}
END
# shellcheck disable=SC2046,SC2086 # flags are words
{
    "$cc" $flags -std=c11 -Wall -Wextra -Werror use.c -o shared $(pkg-config --cflags --libs layermeter)
    [ "$(LD_LIBRARY_PATH=$libdir ./shared)" = "use: no network" ]
    readelf -d shared | grep -q 'NEEDED.*liblayermeter\.so\.[0-9]*\]'
    if readelf -d shared | grep -E 'NEEDED.*(lapack|blas|inih|jansson)'; then
        echo "the library's own needs are the program's" >&2
        exit 1
    fi
    if [ -f "$libdir/liblayermeter.a" ]; then
        "$cc" $flags -std=c11 use.c -o static $(pkg-config --cflags layermeter) "$libdir/liblayermeter.a" \
            $(pkg-config --libs --static layermeter | sed 's/-llayermeter//')
        [ "$(./static)" = "use: no network" ]
        [ "$(readelf -d static | grep -c liblayermeter)" = 0 ]
    fi
}
mkdir project
cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(use C)
find_package(layermeter 0.1 REQUIRED COMPONENTS library)
foreach(kind layermeter static)
  if(TARGET layermeter::${kind})
    add_executable(use_${kind} ../use.c)
    target_link_libraries(use_${kind} PRIVATE layermeter::${kind})
  endif()
endforeach()
END
{ cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="$flags" &&
    cmake --build project/build; } >log 2>&1 || { cat log; exit 1; }
for program in project/build/use_*; do
    [ "$($program)" = "use: no network" ]
done
[ -x project/build/use_layermeter ]
if [ -f "$libdir/liblayermeter.a" ]; then
    [ -x project/build/use_static ]
fi

# ---- examples/embed: by pkg-config and by CMake, with the program's numbers -------------------------
machine=$LAYERMETER_SOURCE/tests/cli/inputs/machine.ini
moved/bin/layermeter scale resnet18 --machine "$machine" --bandwidth 10Gbit/s --nodes 1..64*2 --format csv |
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { printf "%d %.2f %.1f %.3f %s\n", $at["nodes"], $at["step_ms"], $at["samples_per_s"], $at["efficiency"], $at["bottleneck"] }' >expected
[ "$(wc -l <expected)" = 7 ]
# shellcheck disable=SC2046,SC2086 # flags are words
"$cc" $flags -std=c11 -Wall -Wextra -Wpedantic -Werror "$LAYERMETER_SOURCE/examples/embed/scaling.c" -o scaling \
    $(pkg-config --cflags --libs layermeter)
{ cmake -S "$LAYERMETER_SOURCE/examples/embed" -B embed -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS="$flags" && cmake --build embed; } >log 2>&1 || { cat log; exit 1; }
for program in ./scaling embed/scaling; do
    LD_LIBRARY_PATH=$libdir "$program" resnet18 "$machine" | awk 'NR > 1 { print $1, $2, $3, $4, $5 }' | diff expected -
    if LD_LIBRARY_PATH=$libdir "$program" resnet5 "$machine" 2>log; then
        echo "a network that is not there was scaled" >&2
        exit 1
    fi
    grep -q "^scaling: no network 'resnet5' (did you mean" log
done
