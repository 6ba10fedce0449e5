#!/bin/sh
# The guide to plugins, followed word by word with an installed tree: what it has a reader type is typed
# here, what it says will be printed must be printed, and the files it builds up are those beside it.
#
#   plugin.sh [--regenerate]   writes what was printed into the guide instead
export CMAKE_GENERATOR=Ninja # there may be no make
set -eu

guide=$LAYERMETER_SOURCE/examples/plugin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
HOME=$work/home
CMAKE_GENERATOR=Ninja
export HOME CMAKE_GENERATOR
cmake --install "$LAYERMETER_BUILD" --prefix "$HOME/.local" >/dev/null
unset LAYERMETER_PLUGIN_PATH LAYERMETER_MODEL_PATH

# Blocks in order, as NUMBER.LANGUAGE, with the name of their file, if they have one, in NUMBER.name.
mkdir "$work/blocks" "$work/here"
awk -v to="$work/blocks/" '
    /^```[a-z]/ { n++; base = sprintf("%s%03d", to, n); file = base "." substr($1, 4)
                  printf "" >file; if ($2 != "") print $2 >(base ".name"); inside = 1; next }
    /^```/ { close(file); inside = 0; next }
    inside { print >file }' "$guide/README.md"

part_of() { # is the text of file $1 a part of file $2?
    awk -v RS='\001' 'NR == 1 { part = $0; next } { exit !index($0, part) }' "$1" "$2"
}

cd "$work/here"
for block in "$work"/blocks/*; do
    case $block in
    *.name) continue ;;
    *.sh)
        # shellcheck disable=SC1090 # that is the point
        . "$block" >"$work/out"
        ;;
    *.text)
        if [ "${1:-}" = --regenerate ]; then
            cp "$work/out" "$block"
        else
            diff -u "$block" "$work/out" || { echo "the guide says otherwise: $(cat "$before")"; exit 1; }
        fi
        ;;
    *)
        name=$(cat "${block%.*}.name")
        part_of "$block" "$guide/$name" || { echo "$name: a part in the guide is not of the file"; exit 1; }
        if [ "$name" = low_rank.c ]; then # "copy it here"
            cp "$guide/low_rank.c" "$guide/routed.c" "$guide/selective_scan.c" "$guide/deformable.c" "$guide/ci.sh" .
        else
            [ ! -s "$name" ] || echo >>"$name"
            cat "$block" >>"$name"
        fi
        ;;
    esac
    before=$block
done
if [ "${1:-}" = --regenerate ]; then
    awk -v from="$work/blocks/" '
        /^```[a-z]/ { n++; print; if ($1 == "```text") { file = sprintf("%s%03d.text", from, n)
                      while ((getline line <file) > 0) print line; skip = 1 } next }
        /^```/ { skip = 0 }
        !skip { print }' "$guide/README.md" >"$work/README.md"
    cp "$work/README.md" "$guide/README.md"
    exit
fi
for name in swish.c tiny.ini CMakeLists.txt; do
    diff -u "$guide/$name" "$name" || { echo "$name is not what the guide makes"; exit 1; }
done

# What the guide claims beside: one symbol, nothing to link, and every way to be found.
for plugin in layermeter-swish.so build/layermeter-swish.so build/layermeter-low_rank.so; do
    [ "$(nm -D --defined-only "$plugin" | awk '{ print $3 }')" = layermeter_plugin_v1 ]
done
[ -z "$(pkg-config --libs layermeter-plugin)" ]
[ "$(pkg-config --modversion layermeter-plugin)" = "$(layermeter version | cut -d' ' -f2)" ]
layermeter layers low_rank | grep -qF "$HOME/.local/lib/layermeter/plugins/layermeter-low_rank.so"
layermeter show ./tiny.ini --totals | grep -q '1,402'

# Counts of the three, by hand.
# counted NAME COLUMN...: of its layer, in a batch of 2
counted() {
    name=$1
    shift
    for column in "$@"; do
        layermeter show "./$name.ini" --batch 2 --format csv | awk -F, -v name="$name" -v column="$column" '
            NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
            $at["layer"] == name { print column "=" $at[column] }'
    done | tr '\n' ' '
}
cat >routed.ini <<'END'
[network]
name = routed
[x]
type = input
shape = 6x8
[routed]
type = routed
experts = 4
top_k = 2
hidden = 16
skew = 2
END
# a router of 4 x 8 and 4 experts of 16 x 8 twice; of 12 tokens, 24 rows. The fullest expert has 12 of them, three have 4.
[ "$(counted routed params flops_forward)" = "params=$((4 * 8 + 4 * 2 * 16 * 8)) flops_forward=$((2 * (12 * 4 * 8 + 24 * 2 * 16 * 8))) " ]
cat >selective_scan.ini <<'END'
[network]
name = scan
[x]
type = input
shape = 10x6
[d]
type = linear
inputs = x
features = 6
[b]
type = linear
inputs = x
features = 4
[c]
type = linear
inputs = x
features = 4
[selective_scan]
type = selective_scan
inputs = x, d, b, c
states = 4
END
# A of 6 x 4 and D of 6; of each of 2 x 10 x 6 elements 7 FLOP a state and 3
[ "$(counted selective_scan params other_flops_forward)" = "params=$((6 * 4 + 6)) other_flops_forward=$((2 * 10 * 6 * (7 * 4 + 3))) " ]
cat >deformable.ini <<'END'
[network]
name = deformable
[x]
type = input
shape = 3x8x8
[offset]
type = conv2d
inputs = x
filters = 18
kernel = 3
padding = 1
[mask]
type = conv2d
inputs = x
filters = 9
kernel = 3
padding = 1
[deformable]
type = deformable
inputs = x, offset, mask
filters = 5
padding = 1
END
# the products of a convolution; of 9 taps at 2 x 64 places 8 FLOP, and 8 of each of their 3 channels; and the bias
[ "$(counted deformable params flops_forward other_flops_forward)" = \
    "params=$((5 * 27 + 5)) flops_forward=$((2 * 2 * 64 * 5 * 27)) other_flops_forward=$((9 * 128 * (8 + 8 * 3) + 5 * 128)) " ]
# The sources are clean under the strictest warnings, in C17 as well.
for source in *.c; do
    cc -std=c17 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -shared -fPIC \
        $(pkg-config --cflags layermeter-plugin) "$source" -o strict.so
done

# A promise to do without ABI 1.1 is kept in the object.
cc -std=c11 -shared -fPIC -DLM_ABI_TARGET=0 $(pkg-config --cflags layermeter-plugin) swish.c -o old.so
layermeter check ./old.so | grep -q ' ok$'

# The package: other versions and components are refused, the folder can be chosen.
mkdir project
cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(test C)
find_package(layermeter ${WANTED} COMPONENTS plugin ${MORE})
message(STATUS "found ${layermeter_FOUND} abi ${layermeter_PLUGIN_ABI} in ${LAYERMETER_PLUGIN_DIR}")
END
configured() {
    rm -rf project/build
    cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$HOME/.local" "$@" 2>/dev/null | grep -- '-- found'
}
abi=$(pkg-config --variable=abi layermeter-plugin)
[ "$(configured -DWANTED=0.1)" = "-- found 1 abi $abi in $HOME/.local/lib/layermeter/plugins" ]
[ "$(configured -DWANTED=0.1 -DLAYERMETER_PLUGIN_DIR=elsewhere)" = "-- found 1 abi $abi in elsewhere" ]
configured -DWANTED=1 | grep -q 'found 0'
configured -DWANTED=0.1 -DMORE=fortran | grep -q 'found 0'
