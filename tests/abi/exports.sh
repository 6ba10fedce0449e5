#!/bin/sh
# exports.sh NM PLUGIN_FOLDER
# Every plugin exports exactly one symbol. (Sanitizers add markers of their own, __odr_asan*.)
set -eu
n=0
for plugin in "$2"/*.so; do
    symbols=$("$1" -D --defined-only "$plugin" | awk '$3 !~ /^__(odr_)?asan/ { print $3 }')
    if [ "$symbols" != layermeter_plugin_v1 ]; then
        printf '%s exports:\n%s\n' "$plugin" "$symbols"
        exit 1
    fi
    n=$((n + 1))
done
[ "$n" -gt 0 ] && [ -e "$plugin" ] || { echo "no plugins in $2"; exit 1; }
