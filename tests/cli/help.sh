# Help of every command: 100 columns at most, each heading once and in order, each option once, below one of them.
. "$(dirname -- "$0")/common.sh"
cd "$work" || exit 1

layermeter --help | sed -n 's/^  \([a-z]*\)  *[A-Z].*/\1/p' | grep -vx version >commands
[ "$(wc -l <commands)" -gt 20 ] || fail "the overview has no commands"
while read -r command; do
    [ "$command" != calibrate ] || [ -x "$LAYERMETER_BIN/layermeter-calibrate" ] || continue
    layermeter "$command" --help >help || fail "$command: no help"
    awk -v command="$command" '
        function wrong(what) { print command ": " what ": " $0; bad = 1 }
        BEGIN { order["What:"] = 1; order["Where:"] = 2; order["How:"] = 3; order["Output:"] = 4 }
        length > 100 { wrong("wider than 100 columns") }
        $0 in order { if (order[$0] <= at) wrong("heading out of order"); at = order[$0]; inside = 1; next }
        /^$/ { inside = 0 }
        inside && /^  --/ { if (seen[$1]++) wrong("twice"); n++ }
        /^  --/ && !inside { wrong("below no heading") }
        END { if (n < 2) wrong("no options"); exit bad }' help || fail "$command --help"
    layermeter help "$command" | cmp -s - help || fail "help $command is not $command --help"
done <commands

# Each key of a CSV is a column that 'help COMMAND columns' explains, and in JSON an object's key.
cp -R "$here/inputs/." . || exit 1
explained() {
    command=$1
    layermeter help "$command" columns >columns || fail "$command: no columns"
    layermeter "$@" --format csv >csv 2>err && layermeter "$@" --format json >json 2>err || fail "$*: $(cat err)"
    head -n 1 csv | tr ',' '\n' >keys
    [ "$(wc -l <keys)" -gt 10 ] || fail "$*: no header"
    while read -r key; do
        grep -q "^$key  *.*[a-z]" columns || fail "help $command columns lacks $key"
        grep -q "\"$key\":" json || fail "$*: $key is in CSV, and not in JSON"
    done <keys
}
explained scale tiny.ini --machine machine.ini --idle-power 30W --power-cap 100W --grid 400gCO2/kWh
explained predict tiny.ini --machine machine.ini --nodes 2 --idle-power 30W --power-cap 100W --sync ddp
explained plan tiny.ini --machine machine.ini --price 2USD/h --idle-power 30W --device T4
explained energy tiny.ini --machine machine.ini --idle-power 30W --power-cap 100W --voltage-knee 900MHz --device T4
explained memory tiny.ini --memory 24GB
echo "$(wc -l <commands) commands"
