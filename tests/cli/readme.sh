# What the pages of the project say can be followed: links lead somewhere, and the README's commands are understood.
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
echo "$(wc -l <pages) pages, $(wc -l <commands) commands"
