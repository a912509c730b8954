package operator

import (
	"fmt"
	"strings"

	"ferrum_mem/core/internal/similar"
)

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
