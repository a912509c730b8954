package device

import (
	"strconv"
	"strings"
)

// ID names a device by backend and ordinal; its text form is "cpu:0".
type ID struct {
	Backend string
	Index   int
}

// String returns the text form, for example "cuda:1".
func (id ID) String() string {
	return id.Backend + ":" + strconv.Itoa(id.Index)
}

// maxIndex bounds the ordinal, so that no id can cause an overflow.
const maxIndex = 1 << 16

// ParseID parses the text form. A backend name alone means its device 0.
func ParseID(text string) (ID, error) {
	backend, number, found := strings.Cut(text, ":")
	if !isBackendName(backend) {
		return ID{}, Errorf(CodeInvalidArgument, "device.parse_id",
			"device id %q: want BACKEND:NUMBER, for example cpu:0", text)
	}
	if !found {
		return ID{Backend: backend}, nil
	}
	index, err := strconv.ParseUint(number, 10, 31)
	if err != nil || index > maxIndex || number != strconv.FormatUint(index, 10) {
		return ID{}, Errorf(CodeInvalidArgument, "device.parse_id",
			"device id %q: %q is not an ordinal from 0 to %d", text, number, maxIndex)
	}
	return ID{Backend: backend, Index: int(index)}, nil
}

func isBackendName(name string) bool {
	if name == "" || len(name) > 15 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
