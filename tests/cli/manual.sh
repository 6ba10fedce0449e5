# Pages of the manual and completion, both made from the tables of options: pages are roff that readers take, and say each option;
# the shells offer what may stand next.
. "$(dirname -- "$0")/common.sh"
cd "$work" || exit 1
complete() { layermeter "$@" 2>err || fail "$*: $(cat err)"; }
offers() { # WORD of the last answer
    cut -f 1 out | grep -qxF -e "$1" || fail "'$1' is not offered: $(head -n 3 out)"
}
offers_not() {
    ! cut -f 1 out | grep -qxF -e "$1" || fail "'$1' is offered"
}

# ---- pages -------------------------------------------------------------------------------------------------------------

complete --complete >commands
cut -f 1 commands | grep -vx -e help -e version >names
[ "$(wc -l <names)" -gt 20 ] || fail "no commands"
[ -x "$LAYERMETER_BIN/layermeter-calibrate" ] || sed -i '/^calibrate$/d' names
layermeter --help=man >layermeter.1 || fail "no first page"
while read -r name; do
    layermeter "$name" --help=man >"layermeter-$name.1" 2>err || fail "$name: $(cat err)"
    cmp -s "layermeter-$name.1" "$LAYERMETER_BUILD/share/man/man1/layermeter-$name.1" || fail "$name: the build's page is another"
    grep -q "^.BR layermeter.-$name (1)" layermeter.1 || fail "layermeter(1) lacks $name"
    layermeter "$name" --help | sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p' | sort >said
    sed -n 's/^\\fB\\-\\-\([^ ]*\)\\fR.*/--\1/p' "layermeter-$name.1" | sed 's/\\fR,.*//; s/\\-/-/g' | sort >paged
    cmp -s said paged || fail "$name: options of the page: $(comm -3 said paged | tr '\n' ' ')"
done <names
for page in *.1; do
    if command -v man >/dev/null && command -v groff >/dev/null; then
        MANWIDTH=80 MANROFFSEQ='' LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null | grep . &&
            fail "$page: man warns"
    fi
    if command -v mandoc >/dev/null; then # a page has no date: it is as old as the program
        mandoc -Tlint -W warning "$page" | grep -v 'missing date' && fail "$page: mandoc warns"
    fi
done

# ---- words that may stand next -----------------------------------------------------------------------------------------

complete --complete pr >out
[ "$(cat out)" = "$(printf 'predict\tPredict the time of a training step or of inference')" ] || fail "pr: $(cat out)"
complete scale --complete resn >out
offers resnet50 && offers :files && offers_not vgg16
complete scale --complete resnet50 --dev >out
offers --device && offers --devices-per-node && offers_not --batch
complete scale --complete resnet50 --device T >out
offers Tesla-T4 && offers_not resnet50
layermeter predict resnet50 --device Tesla-T4 --model paleo >/dev/null 2>err || fail "Tesla-T4: $(cat err)"
complete predict --complete resnet50 --device=Tesla-T >out
offers --device=Tesla-T4
complete predict --complete resnet50 --device = Tesla-T >out # as bash parts it
offers Tesla-T4
complete transfer --complete m.ini --from Tesla-T4,Tesla-V >out
grep -q '^Tesla-T4,Tesla-V100' out || fail "a list: $(cat out)"
complete predict --complete resnet50 --format '' >out
[ "$(tr '\n' ' ' <out)" = "table csv json " ] || fail "formats: $(cat out)"
complete predict --complete resnet50 --model j >out
[ "$(cat out)" = justus ] || fail "models: $(cat out)"
complete predict --complete resnet50 --interconnect nv >out
offers nvlink4 && offers_not ib-h100
complete predict --complete resnet50 --machine '' >out
grep -q '/configs/machines/t4-f32.ini$' out && offers :files
complete fit --complete o.csv -o '' >out
offers :files
complete predict --complete resnet50 --batch '' >out # a number is the reader's own
[ ! -s out ] || fail "batch: $(cat out)"
complete devices --complete Tesla-T >out
offers Tesla-T4
if [ -x "$LAYERMETER_BIN/layermeter-calibrate" ]; then
    complete calibrate --complete stan >out
    offers standard && offers standard-gpu
    complete calibrate --complete standard --bud >out
    offers --budget
fi

# ---- the shells --------------------------------------------------------------------------------------------------------

shells=${LAYERMETER_SOURCE:?}/core/cli/shells
tried=
if bash --version >/dev/null 2>&1; then
    cat >try.bash <<'END'
. "$1/layermeter.bash"
try() { # the words, the last one typed
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _layermeter 2>/dev/null
    printf '%s\n' "${COMPREPLY[@]}"
}
try layermeter sca
try layermeter scale resnet5
try layermeter scale resnet50 --interconnect = nvlink4
try layermeter help wat
try layermeter fit some
END
    touch "some file.csv"
    bash try.bash "$shells" >out || fail "bash"
    [ "$(tr '\n' '|' <out)" = "scale|resnet50|nvlink4|watch|some file.csv|" ] || fail "bash: $(cat out)"
    tried="$tried bash"
fi
if command -v zsh >/dev/null; then
    cat >try.zsh <<'END'
_describe() { print -l -- "${found[@]}" }
_files() { print -- files }
try() {
    words=("$@") CURRENT=$#
    source "$shells/_layermeter"
}
try layermeter sca
try layermeter scale resnet5
try layermeter scale resnet50 --interconnect nvlink4
try layermeter fit some
END
    shells=$shells zsh -f try.zsh >out 2>err || fail "zsh: $(cat err)"
    [ "$(tr '\n' '|' <out)" = "scale:Predict throughput over nodes, and when more nodes hardly help|resnet50|files|nvlink4|files|" ] ||
        fail "zsh: $(cat out err)"
    tried="$tried zsh"
fi
if command -v fish >/dev/null; then
    cat >try.fish <<END
source $shells/layermeter.fish
complete -C 'layermeter sca'
complete -C 'layermeter scale resnet5'
complete -C 'layermeter scale resnet50 --interconnect nvlink4'
complete -C 'layermeter help wat'
END
    HOME=$work fish --no-config try.fish >out 2>err || fail "fish: $(cat err)"
    [ "$(cut -f 1 out | tr '\n' '|')" = "scale|resnet50|nvlink4|watch|" ] || fail "fish: $(cat out err)"
    tried="$tried fish"
fi
echo "$(ls -- *.1 | wc -l) pages, shells:$tried"
