package include

import "embed"

// Source is the text of the headers.
//
//go:embed ferrum_mem.h ferrum_mem/*.h
var Source embed.FS
