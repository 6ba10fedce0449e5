#!/bin/sh
# Golden tests: runs each cases/NAME.case and compares with NAME.expected.
#
#   run.sh [--regenerate] [NAME...]
#
# A case is text:
#   # why                    any number of lines
#   $ command                shell; all but the last prepare, the last one is tested
#   --- FILE                 a file of the case, up to the next such line
#   --- FILE printf          the same through printf '%b', for bytes that are no text
# It runs in a copy of inputs/, with the programs in PATH and FAKES naming the folder of the fake plugins.
# The expected file holds the exit status, both outputs, and every file that the command made or changed.
# Beyond the text, of every command that fails: it says one line on stderr and nothing on stdout, and
# leaves the folder as it was. A command of misuse may not even read its files: exit 2.
#
# LAYERMETER_BIN     folder of the programs
# LAYERMETER_BUILD   build folder; its path is printed as @BUILD@
# FAKES              folder of the fake plugins
# HAVE_ONNX          OFF: this build reads no ONNX, and cases of such files are passed over
# HAVE_SQLITE        the same of SQLite
. "$(dirname -- "$0")/common.sh"
: "${LAYERMETER_BUILD:?}" "${FAKES:?}"

# Writes the case's files into the current folder and its commands to $work/prepare and $work/command.
unpack() {
    : >"$work/prepare"
    : >"$work/command"
    awk -v prepare="$work/prepare" -v command="$work/command" -v list="$work/printf" '
        BEGIN { printf "" >list }
        /^--- / { file = $2; printf "" >file; if ($3 == "printf") print file >list; next }
        file != "" { print >file; next }
        /^\$ / { if (last != "") print last >prepare; last = substr($0, 3) }
        END { print last >command }' "$1" || return 1
    while read -r file; do
        # shellcheck disable=SC2059 # %b is the point
        printf '%b' "$(cat "$file")" >"$file.raw" && mv "$file.raw" "$file"
    done <"$work/printf"
}

# Every file: its inode and its last change tell whether it was touched.
snapshot() {
    find . -type f -printf '%p %i %C@\n' | sort
}

# What depends on the place, the version or last digits, out of a text. Cases may have put N for numbers.
portable() {
    sed -e "s|$LAYERMETER_BUILD|@BUILD@|g" -e "s|$(printf %s "$LAYERMETER_BUILD" | sed 's/[0-9][0-9]*/N/g')|@BUILD@|g" -e 's|@BUILD@/[^ ,]*/layermeter/plugins|@PLUGINS@|g' \
        -e 's|^\(from [a-z-]* \)[0-9.]* |\1@VERSION@ |' -e 's|^\([" ]*checksum[" =:]*\)[0-9a-f]\{16\}|\1@CHECKSUM@|' "$1"
}

# The last digits of a sum are the processor's own: OpenBLAS has other kernels for each. Compared are eleven, and
# what is left of a difference of equal numbers, below 1e-12, counts as none.
rounded() {
    awk 'BEGIN { long = "[0-9]+\\."; for (i = 0; i < 9; i++) long = long "[0-9]"; long = long "[0-9]*" } {
        gsub(/[0-9]\.[0-9]+e-(1[3-9]|[2-9][0-9])/, "0e-13")
        out = ""
        while (match($0, long)) {
            out = out substr($0, 1, RSTART - 1) sprintf("%.11g", substr($0, RSTART, RLENGTH))
            $0 = substr($0, RSTART + RLENGTH)
        }
        print out $0
    }' "$1"
}

run_case() {
    rm -rf "$work/here"
    cp -R "$here/inputs" "$work/here" && cd "$work/here" && unpack "$here/cases/$1.case" || return 1
    if ! sh -e "$work/prepare" >"$work/out" 2>&1; then
        echo "$1: cannot be prepared:"
        cat "$work/out"
        return 1
    fi
    snapshot >"$work/before"
    sh "$work/command" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    snapshot >"$work/after"
    {
        echo "exit $status"
        cmp -s "$work/before" "$work/after" ||
            comm -13 "$work/before" "$work/after" | awk '{ print "wrote " $1 }'
        echo "--- stdout"
        portable "$work/out"
        echo "--- stderr"
        portable "$work/err"
    } >"$work/actual"
    cd "$here" || return 1
    [ "$status" -eq 0 ] && return 0
    refused=0
    [ "$status" -le 2 ] || { echo "$1: exit $status"; refused=1; }
    [ "$(wc -l <"$work/err")" -eq 1 ] || { echo "$1: a refusal is one line on stderr"; refused=1; }
    [ -s "$work/out" ] && { echo "$1: a refusal with data on stdout"; refused=1; }
    cmp -s "$work/before" "$work/after" || { echo "$1: a refusal that leaves files behind"; refused=1; }
    [ "$refused" -eq 0 ] || cat "$work/actual"
    return "$refused"
}

calibrates=yes
[ -x "$LAYERMETER_BIN/layermeter-calibrate" ] || calibrates=no
regenerate=
if [ "${1:-}" = --regenerate ]; then
    regenerate=yes
    shift
fi
[ $# -gt 0 ] || set -- $(cd "$here/cases" && ls | sed -n 's/\.case$//p')
failed=0
for name; do
    expected=$here/cases/$name.expected
    if [ "$calibrates" = no ] &&
        grep -q '^\$.*layermeter[- ]calibrate' "$here/cases/$name.case"; then
        continue # not in this build
    fi
    if [ "${HAVE_ONNX:-ON}" = OFF ] && grep -q '^\$.*\.onnx' "$here/cases/$name.case"; then
        continue # nor this
    fi
    if [ "${HAVE_SQLITE:-ON}" = OFF ] && grep -q '^\$.*\.sqlite' "$here/cases/$name.case"; then
        continue
    fi
    if ! run_case "$name"; then
        failed=$((failed + 1))
    elif [ -n "$regenerate" ]; then
        cp "$work/actual" "$expected"
    elif ! cmp -s "$expected" "$work/actual" && ! { rounded "$expected" >"$work/expected" && rounded "$work/actual" >"$work/rounded" &&
        diff -u "$work/expected" "$work/rounded" >"$work/diff" 2>&1; }; then
        echo "$name: differs from its .expected:"
        cat "$work/diff"
        failed=$((failed + 1))
    fi
done
echo "$# cases, $failed failed"
[ "$failed" -eq 0 ]
