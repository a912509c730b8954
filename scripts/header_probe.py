#!/usr/bin/env python3
"""Prints a C program that includes a header twice and uses every FERRUM_*_INIT macro of it.

Usage: header_probe.py HEADER. FERRUM_POOL_CONFIG_INIT sets up a ferrum_pool_config; a macro whose
type the header does not define fails the compilation, and so the check.
"""

import pathlib
import re
import sys

from genabi.text import whole_header

header = pathlib.Path(sys.argv[1])
macros = re.findall(r"^#define (FERRUM_\w+)_INIT\b", whole_header(header), re.M)
if not macros:
    sys.exit(f"{header}: no FERRUM_*_INIT macro was found")
print(f'#include "{header.name}"\n#include "{header.name}"\n')
print("int main(void);\nint main(void) {\n    uint32_t total = 0;")
for macro in macros:
    name = macro.removeprefix("FERRUM_").lower()
    print(f"    ferrum_{name} {name} = {macro}_INIT;")
    print(f"    total += {name}.struct_size;")
print("    return total == 0;\n}")
