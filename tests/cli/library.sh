#!/bin/sh
# What layermeter.h answers is what the commands print, to 11 digits: steps, curves, parts and memory, of every kind of model.
#
# ANSWERS   the program library.c
. "$(dirname -- "$0")/common.sh"
: "${ANSWERS:?}"
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1
for file in kernels.ini net.ini; do
    sed -n "/^--- $file/,/^--- /{/^---/d;p}" "$here/cases/predict_by_kernels.case" >$file
done

# same KEY-COLUMN: every line of `theirs` stands in the table of `ours`; there is one at least.
same() {
    awk -v key="$1" '
        function plain(text) { return text == "" ? "" : sprintf("%.11g", text) }
        NR == FNR {
            gsub(/"[^"]*"/, "text")
            n = split($0, cell, ",")
            if (FNR == 1)
                for (i = 1; i <= n; i++) at[cell[i]] = i
            else
                for (c in at) table[cell[at[key]], c] = cell[at[c]]
            next
        }
        {
            lines++
            if (!(($1, $2) in table) && $3 != "") { print "no " $0; bad = 1 }
            else if (plain(table[$1, $2]) != plain($3)) { print $0 ", the command: " table[$1, $2]; bad = 1 }
        }
        END { exit bad || !lines }' ours theirs
}

# agree ANSWER KEY-COLUMN 'COMMAND' NETWORK MACHINE MODEL BATCH NODES [DEVICE]
agree() {
    answer=$1 key=$2 command=$3
    shift 3
    # shellcheck disable=SC2086 # the command is words
    layermeter $command --format csv >ours 2>err || fail "$command: $(cat err)"
    "$ANSWERS" "$answer" "$@" >theirs 2>err || fail "$answer $*: $(cat err)"
    same "$key" || fail "layermeter $command"
}

for model in layermeter counts convmeter; do
    of="tiny.ini --machine machine.ini --model $model"
    agree predict nodes "predict $of --batch 8 --nodes 4" tiny.ini machine.ini $model 8 4
done
agree scale nodes 'scale tiny.ini --machine machine.ini --batch 8 --nodes 1..8*2 --dataset 100000' \
    tiny.ini machine.ini layermeter 8 8
agree explain layer 'predict tiny.ini --machine machine.ini --batch 8 --nodes 4 --explain --by layer' \
    tiny.ini machine.ini layermeter 8 4
agree predict nodes 'predict tiny.ini --machine parts.ini --model prenet --batch 1' tiny.ini parts.ini prenet 1 1
agree explain layer 'predict tiny.ini --machine parts.ini --model prenet --batch 1 --explain' tiny.ini parts.ini prenet 1 1
# of whole steps alone forward and backward are not known: no columns there, NAN here
agree explain layer 'predict tiny.ini --machine hand_prenet.ini --model prenet --batch 1 --explain' \
    tiny.ini hand_prenet.ini prenet 1 1
agree predict nodes 'predict net.ini --machine kernels.ini --batch 2' net.ini kernels.ini layermeter 2 1
agree predict nodes 'predict resnet18 --model paleo --device A30 --batch 8' resnet18 - paleo 8 1 A30
agree memory batch 'memory tiny.ini --batch 8' tiny.ini - - 8 1
echo "the library answers as the commands do"
