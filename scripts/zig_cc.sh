#!/bin/sh
# Usage: zig_cc.sh ZIG ARGUMENT...
# The C compiler of the wheel: runs `ZIG cc` with the same arguments. Zig writes the levels of
# x86-64 as x86_64_v3, other compilers as x86-64-v3.
zig=$1
shift
for argument; do
    shift
    case $argument in
    -march=x86-64*) argument=-march=$(echo "${argument#-march=}" | tr - _) ;;
    esac
    set -- "$@" "$argument"
done
exec "$zig" cc "$@"
