#!/usr/bin/env python3
"""Prints a program that includes a header twice and uses every FERRUM_*_INIT macro of the C
header.

Usage: header_probe.py HEADER. FERRUM_POOL_CONFIG_INIT must initialise a ferrum_pool_config. If
the header does not define the type of a macro, the program does not compile and the check fails.
For ferrum_mem.hpp the program also instantiates the calls of every class, which are templates.
"""

import pathlib
import re
import sys

from genabi.cpp_test import CLASSES
from genabi.text import whole_header

header = pathlib.Path(sys.argv[1])
macros = re.findall(r"^#define (FERRUM_\w+)_INIT\b", whole_header(header.with_suffix(".h")), re.M)
if not macros:
    sys.exit(f"{header}: no FERRUM_*_INIT macro was found")
print(f'#include "{header.name}"\n#include "{header.name}"\n')
if header.suffix == ".hpp":
    kinds = sorted({path.stem for path in header.parent.glob("ferrum_mem/calls/*.hpp")})
    for kind in kinds:
        if kind not in ("functions", "names"):
            name = CLASSES.get(kind, kind)
            print(f"template class ferrum::{kind}_calls<ferrum::{name}>;")
            if name != kind:
                print(f"template class ferrum::{name};")
print("int main(void);\nint main(void) {\n    uint32_t total = 0;")
for macro in macros:
    name = macro.removeprefix("FERRUM_").lower()
    print(f"    ferrum_{name} {name} = {macro}_INIT;")
    print(f"    total += {name}.struct_size;")
print("    return total == 0;\n}")
