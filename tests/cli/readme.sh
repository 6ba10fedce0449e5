# What the pages of the project say can be followed: links lead somewhere, the README's commands are understood, and
# those without a file of the reader's own end well.
#
# LAYERMETER_SOURCE   the source tree
. "$(dirname -- "$0")/common.sh"
source=${LAYERMETER_SOURCE:?}
cd "$work" || exit 1

# Headings as anchors: small letters, dashes for spaces, no other marks.
anchors() {
    sed '/^```/,/^```/d' "$1" | sed -n 's/^##* //p' | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9_-]//g'
}

find "$source" -name '*.md' -not -path '*/build*/*' -not -path '*/.git/*' >pages
while read -r page; do
    sed '/^```/,/^```/d' "$page" | grep -o ']([^) ]*)' | sed 's/^](//; s/)$//' | grep -v '^http' >links
    while read -r link; do
        file=${link%%#*}
        [ -n "$file" ] && file=$(dirname "$page")/$file || file=$page
        [ -e "$file" ] || fail "$page: $link: no such file"
        case $link in
        *.md\#* | \#*) anchors "$file" | grep -qx "${link#*#}" || fail "$page: $link: no such heading" ;;
        esac
    done <links
done <pages

# Misuse is told before a file is read: status 2. What measures, or never ends, is left to other tests.
sed -n '/^```sh/,/^```/s/^\(layermeter .*\)/\1/p' "$source/README.md" | sed 's/  *#.*//' |
    grep -v -e '^layermeter watch' -e '^layermeter calibrate [^-]* -o' >commands
[ "$(wc -l <commands)" -gt 40 ] || fail "the README has no commands"
while read -r line; do
    sh -c "$line" </dev/null >out 2>err
    [ $? -ne 2 ] || fail "$line: $(cat err)"
done <commands

# A calibration of a made-up machine stands for the reader's. Commands that name a file which is not there are passed over,
# and simulated times are none to suggest more of.
[ -x "$LAYERMETER_BIN/layermeter-calibrate" ] || { echo "$(wc -l <pages) pages, $(wc -l <commands) commands"; exit 0; }
cp "$here/roundtrip/truth.ini" . || exit 1
{ simulated truth.ini; cat; } >sweep.ini <<'END'
[networks]
networks = alexnet, vgg16, squeezenet1_1, resnet18, mobilenet_v2
batch    = 1..64*8
image    = 64, 128
ranks    = 1, 2, 4
phases   = training, inference

[collectives]
bytes = 4KiB..64MiB*16
ranks = 2, 4, 8
END
layermeter calibrate sweep.ini -o cluster/ --quiet 2>err || fail "$(cat err)"
grep -v -e '^layermeter suggest' -e '^layermeter calibrate' commands >all
: >ran
while read -r line; do
    lacks=
    for word in $line; do
        case $word in
        -*) ;;
        *.ini | *.csv | *.txt | *.json)
            case " $line " in *" -o $word "*) continue ;; esac
            [ -e "$word" ] || lacks=$word
            ;;
        esac
    done
    [ -z "$lacks" ] || continue
    echo "$line" >>ran
    sh -c "$line" </dev/null >out 2>err || fail "$line: $(cat err)"
done <all
[ "$(wc -l <ran)" -ge 32 ] || fail "only $(wc -l <ran) of the README's commands run as they stand"
echo "$(wc -l <pages) pages, $(wc -l <commands) commands, $(wc -l <ran) of these run"
