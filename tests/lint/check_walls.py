#!/usr/bin/env python3
"""Goal:   a wall between rooms is a compile error.
Method: take the compile command of one file of a room from compile_commands.json, put another source
        into it that includes a door it may or may not see, and compare the compiler's verdict.
Usage:  check_walls.py BUILD_DIR"""
import json, pathlib, shlex, subprocess, sys, tempfile

# room (a file in it), header, may it compile
CASES = [
    ("server/", "exec/exec.h", True),
    ("server/", "proto/grpc_frame.h", True),
    ("server/", "numa/arena.h", False),
    ("server/", "hash/row_layout.h", False),
    ("server/", "sched/sched.h", False),
    ("server/", "morsel.h", False),
    ("client/", "exec/exec.h", True),
    ("client/", "op/pipe.h", False),
    ("client/", "numa/topology.h", False),
    ("client/", "bridge.h", False),
    ("proto/", "exec/job_spec.h", True),
    ("proto/", "op/pipe.h", False),
    ("proto/", "numa/arena.h", False),
    ("numa/", "exec/exec.h", False),
    ("exec/sched/", "numa/topology.h", True),
    ("exec/sched/", "hash/row_layout.h", False),
    ("exec/sched/", "op/pipe.h", False),
    ("exec/hash/", "vec/batch.h", True),
    ("exec/hash/", "op/pipe.h", False),
    ("exec/hash/", "sched/sched.h", False),
    ("exec/io/", "op/pipe.h", False),
    ("exec/expr/", "op/pipe.h", False),
    ("exec/op/", "plan/bind.h", False),
    ("exec/op/", "sched/sched.h", True),
    ("exec/table/", "op/pipe.h", False),
    ("exec/", "proto/grpc_frame.h", False),
]


def main(build):
    root = pathlib.Path(__file__).resolve().parents[2]
    commands = json.loads((pathlib.Path(build) / "compile_commands.json").read_text())
    faults = 0
    for room, header, allowed in CASES:
        command = next((c for c in commands if c["file"].startswith(f"{root}/{room}") and c["file"].endswith(".c")
                        and "_main.c" not in c["file"]), None)
        if command is None:
            print(f"{room}: no file of this room is built")
            faults += 1
            continue
        words = shlex.split(command["command"])
        words = [w for w in words if not w.startswith("ccache") and w != command["file"]]
        out = words.index("-o")
        del words[out:out + 2]
        with tempfile.NamedTemporaryFile("w", suffix=".c") as probe:
            probe.write(f'#include "{header}"\nextern int probe;\n')
            probe.flush()
            words = [w for w in words if w != "-c"] + ["-fsyntax-only", probe.name]
            compiled = subprocess.run(words, cwd=command["directory"], capture_output=True, text=True).returncode == 0
        if compiled != allowed:
            print(f"{room} {'sees' if compiled else 'does not see'} {header}, but should{'' if allowed else ' not'}")
            faults += 1
    print(f"{len(CASES)} walls tried, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
