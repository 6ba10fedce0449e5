#!/usr/bin/env python3
"""Mutations by hand: each changes one line of a source, and a test that is named must fail. Not in CI: run it where tests or sources of this
list changed.

  tests/mutations/run.py BUILD [NAME...]

BUILD is a configured build folder of this tree. A source is put back after its mutation, also when this ends early; one that differs from the
last commit is refused. Exit status 1: a mutation survived, or its text is not in the source any more."""
import os
import subprocess
import sys

from mutations import MUTATIONS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def fails(build, kind, name):
    if kind == "unit":
        return subprocess.run(["ctest", "--test-dir", build, "-R", f"^unit_{name}$"], capture_output=True, check=False).returncode != 0
    if kind == "script":
        return subprocess.run(["ctest", "--test-dir", build, "-R", f"^cli_{name}$"], capture_output=True, check=False).returncode != 0
    environ = dict(os.environ, LAYERMETER_BIN=f"{build}/bin", LAYERMETER_BUILD=build, FAKES=f"{build}/tests/cli/fakes", HAVE_ONNX="ON")
    return subprocess.run(["sh", f"{ROOT}/tests/cli/run.sh", name], env=environ, capture_output=True, check=False).returncode != 0


def rebuild(build, kind, name, plugin=None, calibrates=False):
    programs = ["bin/layermeter"] + (["bin/layermeter-calibrate", "bin/layermeter-calibrate-fake"] if calibrates else [])
    targets = [f"bin/test_{name}"] if kind == "unit" else programs
    targets += [f"lib/layermeter/plugins/layermeter-{plugin}.so"] if plugin else []
    return subprocess.run(["cmake", "--build", build, "--target", *targets], capture_output=True, check=False).returncode == 0


def survives(build, m):
    path = os.path.join(ROOT, m.file)
    plugin = os.path.basename(m.file).split(".")[0].split("_")[0] if m.file.startswith("plugins/") else None
    calibrates = m.file.startswith("calibrate/")
    with open(path) as source:
        was = source.read()
    if was.count(m.old) != 1:
        return "its text is not in the source once"
    if subprocess.run(["git", "-C", ROOT, "diff", "--quiet", "HEAD", "--", m.file], check=False).returncode:
        return "the source is not as committed"
    try:
        with open(path, "w") as source:
            source.write(was.replace(m.old, m.new))
        if not rebuild(build, m.kind, m.test, plugin, calibrates):
            return "it does not compile"
        return None if fails(build, m.kind, m.test) else f"survives {m.kind} {m.test}"
    finally:
        with open(path, "w") as source:
            source.write(was)
        if plugin or calibrates or m.kind == "unit": # or the next test runs what this one has changed
            rebuild(build, m.kind, m.test, plugin, calibrates)


def main():
    build, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]
    bad = 0
    for m in MUTATIONS:
        if wanted and m.name not in wanted:
            continue
        why = survives(build, m)
        print(f"{m.name}: {why or 'noticed'}", flush=True)
        bad += why is not None
    rebuild(build, "cli", "")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
