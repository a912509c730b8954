package trace

import (
	"strconv"
	"strings"

	"ferrum_mem/core/device"
)

func (t *Trace) tooMany() error {
	return invalid(t.Name, 0, "the file has more than %d records", MaxRequests)
}

// number reads a count of at most limit from a field of the input.
func (t *Trace) number(line int, column, text string, limit uint64) (uint64, error) {
	value, err := strconv.ParseUint(text, 10, 64)
	if err == nil && value <= limit {
		return value, nil
	}
	if negative, intErr := strconv.ParseInt(text, 10, 64); intErr == nil && negative < 0 {
		return 0, invalid(t.Name, line, "%s is %s: it must not be negative", column, text)
	}
	if err == nil || isRange(err) {
		return 0, invalid(t.Name, line, "%s is %s: the largest that is read is %d", column, quoted(text), limit)
	}
	return 0, invalid(t.Name, line, "%s is %s: it must be a whole number", column, quoted(text))
}

func isRange(err error) bool {
	number, ok := err.(*strconv.NumError)
	return ok && number.Err == strconv.ErrRange
}

// quoted returns a value of the input for a message, cut to a readable length.
func quoted(text string) string {
	const most = 60
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(text[:most], "?")) + "…"
	}
	return strconv.Quote(text)
}

func readFailed(name string, err error) error {
	return device.Errorf(device.CodeIO, "trace.read", "%s: %w", name, err)
}
