#!/bin/sh
# Plugins that hurt: each is named by `check`, and by a command that loads it, in one line; neither crashes, hangs or ends
# early, and nothing of them keeps running. Plugins that came with the program cost no trial.
. "$(dirname -- "$0")/common.sh"
: "${FAKES:?}"
cd "$work" || exit 1

# FAULT: what is told, by both alike. `check` tells what callbacks do in its table, behind the type.
cat >faults <<'END'
load_crash: crashes (SIGSEGV) while it is loaded
load_hang: does not return within [0-9.]* s while it is loaded
load_exit: ends the process with status 0 while it is loaded
load_exit_at_once: ends the process with status 0 while it is loaded
load_heap: \(crashes (SIG[A-Z]*)\|ends the process with status [0-9]*\|writes to memory that is not its own\) while it is loaded
load_environment: changes the environment while it is loaded
load_rounding: changes how numbers are rounded while it is loaded
load_signals: changes what signals do while it is loaded
load_timer: sets a timer while it is loaded
load_folder: changes the working directory while it is loaded
load_thread: starts threads while it is loaded
load_prints: writes to stdout or stderr
close_abort: crashes (SIGABRT) while it is closed
undefined: not loadable: undefined symbol: nobody_defines_this
symbol: no symbol layermeter_plugin_v1: not a plugin, or of another ABI
abi: built for plugin ABI 1.99, this host offers 1.[0-9]*
many_types: says it holds 1000000000 layer types, more than 4096
wild_type: crashes (SIGSEGV) while it is loaded
two_types: type 'faulty' is in it twice
many_parameters: type 'faulty': says it has 1000000 parameters, more than 256
wild_name: crashes (SIGSEGV) while it is loaded
two_parameters: type 'faulty': two parameters 'number'
infer_crash: infer: crashes (SIGSEGV)
infer_beyond: infer: writes behind its 1 output
cost_hang: cost: does not return within [0-9.]* s
cost_beyond: cost: writes behind its lm_cost
cost_lies: lower(forward): the kernels have [0-9]* FLOP, cost() says [0-9]*
cost_output: cost: writes to its outputs
cost_layer: cost: writes to the layer it is asked about
lower_exit: lower(forward): ends the process with status 0
cut: \(crashes (SIGBUS) while it is loaded\|not loadable: .*\)
END
head -c 5000 "$FAKES/faulty_sound.so" >faulty_cut.so
while IFS= read -r line; do
    fault=${line%%: *}
    file=$FAKES/faulty_$fault.so
    [ "$fault" != cut ] || file=$work/faulty_cut.so
    {
        timeout -s KILL 20 layermeter check "$file" --cases 20 --time 3s >"$fault.check" 2>&1
        echo $? >"$fault.check.code"
    } &
    {
        timeout -s KILL 20 layermeter layers --plugin "$file" >"$fault.load" 2>"$fault.why"
        echo $? >"$fault.load.code"
    } &
done <faults
wait
while IFS= read -r line; do
    fault=${line%%: *}
    told=${line#*: }
    [ "$(cat "$fault.check.code")" = 1 ] || fail "check $fault: exit status $(cat "$fault.check.code"): $(cat "$fault.check")"
    grep -q "$told" "$fault.check" || fail "check $fault: $(cat "$fault.check")"
    [ "$(cat "$fault.load.code")" = 1 ] || fail "load $fault: exit status $(cat "$fault.load.code"): $(cat "$fault.load")"
    [ ! -s "$fault.load" ] || fail "load $fault: also said: $(cat "$fault.load")"
    [ "$(wc -l <"$fault.why")" -eq 1 ] || fail "load $fault: not one line: $(cat "$fault.why")"
    grep -q "^layermeter: .*/faulty_$fault\.so: .*$told\$" "$fault.why" || fail "load $fault: $(cat "$fault.why")"
done <faults

# A sound one, by either way, beside one that hurts: the latter is named.
layermeter check "$FAKES/faulty_sound.so" >/dev/null || fail "the sound one breaks the contract"
mkdir path && cp "$FAKES/faulty_sound.so" path/a.so && cp "$FAKES/faulty_load_exit.so" path/layermeter-linear.so
layermeter layers faulty --plugin path/a.so | grep -q 'the input, unchanged' || fail "the sound one is not loaded"
refused "path/layermeter-linear.so: ends the process with status 0 while it is loaded" \
    env LAYERMETER_PLUGIN_PATH=path layermeter layers faulty

# An installed tree: plugins of others in its folder are tried, its own are trusted.
own=$(layermeter layers linear | sed -n 's|.* \(/.*\)/layermeter-linear.so.*|\1|p')
prefix=$(dirname "$LAYERMETER_BIN")
there=$work/tree/${own#"$prefix"/}
mkdir -p "$work/tree/bin" "$there"
cp "$LAYERMETER_BIN/layermeter" "$work/tree/bin" && cp "$own"/*.so "$there"
cp "$FAKES/faulty_load_exit.so" "$there/mine.so"
refused "$there/mine.so: ends the process with status 0 while it is loaded" "$work/tree/bin/layermeter" layers
mv "$there/mine.so" "$there/layermeter-linear.so"
[ -z "$("$work/tree/bin/layermeter" layers 2>&1)" ] || fail "its own plugin was tried"
