package kernels

import "embed"

// Source is the text of the kernels.
//
//go:embed *.h
var Source embed.FS
