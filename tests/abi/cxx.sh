#!/bin/sh
# cxx.sh COMPILER INCLUDE_FOLDER: a plugin in C++20 is built, keeps the contract and exports one symbol.
set -eu
[ -n "$1" ] && command -v "$1" >/dev/null || { echo "no C++ compiler"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" -std=c++20 -Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers -shared -fPIC \
    -fvisibility=hidden -I "$2" "$(dirname "$0")/plugin.cpp" -o "$work/cxx.so"
[ "$(nm -D --defined-only "$work/cxx.so" | awk '{ print $3 }')" = layermeter_plugin_v1 ]
"$LAYERMETER_BIN/layermeter" check "$work/cxx.so" | grep '^cxx .* ok$'
