package operator

import (
	"fmt"
	"strings"

	"ferrum_mem/core/internal/similar"
)

// FullName returns the name of an operator with its domain, such as "ferrum.linear". The domain ONNX is
// left out: "MatMul".
func FullName(domain, name string) string {
	if domain == ONNX {
		return name
	}
	return domain + "." + name
}

// SplitName returns the domain and the name of a full name.
func SplitName(full string) (domain, name string) {
	if at := strings.LastIndexByte(full, '.'); at >= 0 {
		return full[:at], full[at+1:]
	}
	return ONNX, full
}

// FullName returns the name of the operator with its domain.
func (s *Schema) FullName() string { return FullName(s.Domain, s.Name) }

// nearest returns the known name that is most similar to an unknown one.
func nearest(name string, known []string) string { return similar.Names(name, known, 1)[0] }

// shortened quotes a name of the caller, without its end if it is long.
func shortened(name string) string {
	const most = 64
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "..."
	}
	return fmt.Sprintf("%q", name)
}
