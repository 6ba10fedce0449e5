#!/bin/sh
# calibrate --slurm: scripts that a shell takes, that ask for what the sweep has in it, and that run, twice, under a srun
# that is none.
. "$(dirname -- "$0")/common.sh"
need_calibrate
bash --version >/dev/null 2>&1 || { echo "skipped: no bash"; exit 77; }
cp -R "$here/inputs/." "$work" && cd "$work" || exit 1
mkdir fake && cat >fake/srun <<'END'
#!/bin/sh
while [ "${1#--}" != "$1" ]; do echo "$1" >>srun.log; shift; done
ASAN_OPTIONS=detect_leaks=0 exec "$@"
END
chmod +x fake/srun

sweep() { # lines of [networks] and [collectives]
    printf '[sweep]\nbackend = sim\nwarmup = 0\nmin_repeats = 1\nmax_repeats = 1\nthreads = 2\n[sim]\nmachine = machine.ini\n%s\n' "$1"
}
asks() { # FILE LINE...: the script has these lines
    script=$1; shift
    for line; do
        grep -qxF -e "$line" "$script" || fail "$script: no '$line': $(cat "$script")"
    done
}

# ---- what it asks for --------------------------------------------------------------------------
sweep '[networks]
networks = tiny.ini
ranks = 1, 6' >ranks.ini
layermeter-calibrate ranks.ini -o c/ --slurm ranks.sh 2>err || fail "$(cat err)"
[ "$(cat err)" = 'submit it with: sbatch ranks.sh' ] || fail "$(cat err)"
[ ! -e c ] || fail "a script measures"
asks ranks.sh '#SBATCH --nodes=6' '#SBATCH --ntasks-per-node=1' '#SBATCH --cpus-per-task=2' '#SBATCH --time=0:11:00'
grep -q gpus ranks.sh && fail "GPUs that nobody wants"
layermeter-calibrate ranks.ini -o c/ --slurm ranks.sh --tasks-per-node 4 --time 36h 2>err || fail "$(cat err)"
asks ranks.sh '#SBATCH --nodes=2' '#SBATCH --ntasks-per-node=4' '#SBATCH --time=36:00:00'
sweep '[collectives]
bytes = 4KiB
nodes = 1, 2, 4
devices = 1, 2, 8' >nodes.ini
layermeter-calibrate nodes.ini -o c/ --slurm nodes.sh 2>err || fail "$(cat err)"
asks nodes.sh '#SBATCH --nodes=4' '#SBATCH --ntasks-per-node=8'
layermeter-calibrate nodes.ini -o c/ --slurm nodes.sh --gpus-per-node 2 --nodes 3 2>err || fail "$(cat err)"
asks nodes.sh '#SBATCH --nodes=3' '#SBATCH --ntasks-per-node=2' '#SBATCH --gpus-per-node=2' 'cores=$((${SLURM_CPUS_ON_NODE:-8} / 2))'
grep -q cpus-per-task= nodes.sh && ! grep -q '#SBATCH --cpus-per-task' nodes.sh || fail "cores of GPUs' ranks: $(cat nodes.sh)"
PATH=$work/fake:$PATH SLURM_CPUS_ON_NODE=96 bash nodes.sh 2>/dev/null # one rank is too few: what srun is told counts
grep -qx -e '--cpus-per-task=48' srun.log || fail "a node's cores are not shared out: $(cat srun.log)"
rm srun.log

# ---- it runs -----------------------------------------------------------------------------------
sweep '[networks]
networks = tiny.ini, deep.ini
batch = 1..8' >run.ini
evil="it's"' $(touch OWNED) `touch OWNED`; touch OWNED
#SBATCH --account=other
touch OWNED
here.csv' # a name is a name
layermeter-calibrate run.ini -o "$evil" --quiet --force --slurm run.sh 2>err || fail "$(cat err)"
for script in ranks.sh nodes.sh run.sh; do
    bash -n "$script" || fail "$script: no shell takes it"
    if shellcheck --version >/dev/null 2>&1; then shellcheck -e SC2016 "$script" || fail "$script: shellcheck"; fi
done
PATH=$work/fake:$PATH bash run.sh || fail "the script does not run"
[ -z "$(find . -name OWNED)" ] || fail "a name is a command: $(cat run.sh)"
grep -qx -e '--cpu-bind=cores' srun.log || fail "srun is not told to bind: $(cat srun.log)"
[ "$(grep -c ',step,' "$evil")" -eq 16 ] || fail "not all is measured: $(cat "$evil")"
cp "$evil" kept.csv
PATH=$work/fake:$PATH bash run.sh || fail "the script does not run again"
cmp "$evil" kept.csv || fail "a job that was requeued measures again"
head -n 20 kept.csv >"$evil"
PATH=$work/fake:$PATH bash run.sh || fail "the script does not go on"
[ "$(grep -c ',step,' "$evil")" -eq 16 ] || fail "a job that was requeued does not finish"
