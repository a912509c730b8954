#!/usr/bin/env bash
# Installs what `make build` made. Called by `make install`, which gives PREFIX,
# LIBDIR, INCLUDEDIR, BINDIR, DATADIR, DESTDIR, VERSION and MAJOR. What is
# installed names no absolute path, so that the tree can be moved as a whole.
set -euo pipefail
cd "$(dirname "$0")/.."

for folder in "$PREFIX" "$LIBDIR" "$INCLUDEDIR" "$BINDIR" "$DATADIR"; do
    case $folder in
    /*) ;;
    *) echo "install: '$folder' is not an absolute path" >&2; exit 2 ;;
    esac
done

libdir=$DESTDIR$LIBDIR
pkgconfig=$libdir/pkgconfig
cmake=$libdir/cmake/ferrum_mem
doc=$DESTDIR$DATADIR/doc/ferrum_mem

# render TEMPLATE OUTPUT FOLDER  FOLDER is where the file will lie, without
# DESTDIR; the template's paths are relative to it.
render() {
    local folder=$3
    sed -e "s|@VERSION@|$VERSION|g" -e "s|@MAJOR@|$MAJOR|g" \
        -e "s|@PREFIX@|$(realpath -m --relative-to="$folder" "$PREFIX")|g" \
        -e "s|@LIBDIR@|$(realpath -m --relative-to="$folder" "$LIBDIR")|g" \
        -e "s|@INCLUDEDIR@|$(realpath -m --relative-to="$folder" "$INCLUDEDIR")|g" \
        "$1" >"$2"
    chmod 644 "$2"
}

install -d "$libdir" "$pkgconfig" "$cmake" "$doc" "$DESTDIR$INCLUDEDIR/ferrum_mem/calls" "$DESTDIR$BINDIR"
install -m 644 include/*.* "$DESTDIR$INCLUDEDIR"
install -m 644 include/ferrum_mem/*.* "$DESTDIR$INCLUDEDIR/ferrum_mem"
install -m 644 include/ferrum_mem/calls/* "$DESTDIR$INCLUDEDIR/ferrum_mem/calls"
install -m 755 "build/lib/libferrum_mem.so.$VERSION" "$libdir"
ln -sf "libferrum_mem.so.$VERSION" "$libdir/libferrum_mem.so.$MAJOR"
ln -sf "libferrum_mem.so.$MAJOR" "$libdir/libferrum_mem.so"
install -d "$libdir/ferrum_mem"
install -m 755 build/lib/ferrum-mem-probe "$libdir/ferrum_mem"
install -m 755 build/bin/ferrum-mem "$DESTDIR$BINDIR"
render cmake/ferrum_mem.pc.in "$pkgconfig/ferrum_mem.pc" "$LIBDIR/pkgconfig"
# `make build` leaves it out where there is no C++ compiler, and says so.
allocator=build/lib/libferrum_mem_allocator.so
if [ -f "$allocator" ]; then
    install -m 755 "$allocator" "$libdir"
    install -m 644 bindings/frameworks/ferrum_mem_allocator.h "$DESTDIR$INCLUDEDIR"
    render cmake/ferrum_mem_allocator.pc.in "$pkgconfig/ferrum_mem_allocator.pc" "$LIBDIR/pkgconfig"
fi
for name in config config-version targets; do
    render "cmake/ferrum_mem-$name.cmake.in" "$cmake/ferrum_mem-$name.cmake" "$LIBDIR/cmake/ferrum_mem"
done
for text in LICENSE NOTICE CHANGELOG.md README.md build/share/THIRD_PARTY_LICENSES.txt; do
    [ -f "$text" ] || { echo "install: $text is missing" >&2; exit 1; }
    install -m 644 "$text" "$doc"
done
echo "installed ferrum_mem $VERSION under $DESTDIR$PREFIX"
