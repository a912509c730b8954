"""The command ferrum-mem of the wheel.

`python -m ferrum_mem` and the script `ferrum-mem` replace this process with the command. So
signals reach the command, and its exit status is that of the process. The verb `run` is in
Python: it reads texts with the package tokenizers, and computes through the library.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from ._installed import command

# The command's own exit status for errors of the system.
_EXIT_MACHINE = 3


def main() -> NoReturn:
    """Runs the command with the arguments of this process."""
    if sys.argv[1:2] == ["run"]:
        from ._run import run

        sys.exit(run(sys.argv[2:]))
    try:
        file = command()
        # The interpreter ignores SIGPIPE, and the command would inherit that.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execv(file, ["ferrum-mem", *sys.argv[1:]])
    except OSError as problem:
        print(f"ferrum-mem: {problem}", file=sys.stderr)
    sys.exit(_EXIT_MACHINE)


if __name__ == "__main__":
    main()
