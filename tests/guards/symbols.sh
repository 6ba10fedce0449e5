#!/bin/sh
# symbols.sh NM SHARED_LIBRARY [STATIC_LIBRARY]
# Both libraries export lm_* alone, and the same. (Sanitizers add markers of their own.)
set -eu
nm=$1
exported() {
    "$nm" "$@" | awk 'NF == 3 && $3 !~ /^__(odr_)?asan/ { print $3 }' | sort -u
}
shared=$(exported -D --defined-only "$2")
printf '%s\n' "$shared" | grep -qx lm_error_set || { echo "$2 lacks lm_error_set"; exit 1; }
if printf '%s\n' "$shared" | grep -v '^lm_'; then
    echo "$2 exports these"
    exit 1
fi
[ -n "${3:-}" ] || { echo "no static library was built"; exit 0; }
[ "$(exported -g --defined-only "$3")" = "$shared" ] || {
    echo "$3 exports others:"
    exported -g --defined-only "$3"
    exit 1
}
