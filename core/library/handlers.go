package library

import (
	"cmp"
	"fmt"
	"slices"

	"ferrum_mem/core/device"
)

// EnvSignalHandlers says what is done with handlers of signals that lack SA_ONSTACK.
const EnvSignalHandlers = "FERRUM_SIGNAL_HANDLERS"

// The values of EnvSignalHandlers.
const (
	handlersMend  = "mend"
	handlersLeave = "leave"
)

// maxHandlers bounds what is kept of handlers: a program may set new ones for ever.
const maxHandlers = 256

// Handler is a handler of a signal that the program has installed without
// SA_ONSTACK. On a thread that is inside the library it runs on the stack of a
// goroutine, and overwrites what lies below it.
type Handler struct {
	Signal int `json:"signal"`
	// Name is "SIGPROF", or "" for a signal that has none.
	Name    string `json:"name"`
	Address uint64 `json:"address"`
	// Symbol and File say what lies there; "" where the linker does not know.
	Symbol string `json:"symbol"`
	File   string `json:"file"`
	// Mended says that the flag was added.
	Mended bool `json:"mended"`
	// Late says that it was installed after the library had started: until it was
	// found it was a danger.
	Late bool `json:"late"`
}

// handlersEnvironment says whether handlers are left as they are.
func handlersEnvironment(getenv func(string) string) (leave bool, err error) {
	switch value := getenv(EnvSignalHandlers); value {
	case "", handlersMend:
		return false, nil
	case handlersLeave:
		return true, nil
	default:
		return false, device.Errorf(device.CodeInvalidConfig, "library.init", "%s=%q: want %s or %s",
			EnvSignalHandlers, value, handlersMend, handlersLeave)
	}
}

func (h Handler) String() string {
	name := cmp.Or(h.Name, fmt.Sprintf("signal %d", h.Signal))
	what := fmt.Sprintf("%#x", h.Address)
	if h.Symbol != "" {
		what = h.Symbol
	}
	if h.File != "" {
		what += " of " + h.File
	}
	return name + ": " + what
}

// ReportHandler logs a handler and keeps it for the snapshot. It takes no lock that
// is held while the library starts.
func (l *Library) ReportHandler(h Handler) {
	h.Late = l.current.Load() != nil
	l.handlersMu.Lock()
	if len(l.handlers) < maxHandlers {
		l.handlers = append(l.handlers, h)
	}
	l.handlersMu.Unlock()
	const rule = "a handler on a thread that is inside the library needs the alternate stack, " +
		"and overwrites memory of the library without"
	switch {
	case !h.Mended:
		l.log.printf(LogWarning, "signal handler without SA_ONSTACK, left as it is: %v; %s", h, rule)
	case h.Late:
		l.log.printf(LogWarning, "signal handler was installed without SA_ONSTACK after ferrum_init; "+
			"the flag was added now: %v; %s", h, rule)
	default:
		l.log.printf(LogInfo, "signal handler without SA_ONSTACK; the flag was added: %v", h)
	}
}

// foundHandlers is what was reported, in the order of the signals.
func (l *Library) foundHandlers() []Handler {
	l.handlersMu.Lock()
	defer l.handlersMu.Unlock()
	found := append([]Handler{}, l.handlers...)
	slices.SortStableFunc(found, func(a, b Handler) int { return cmp.Compare(a.Signal, b.Signal) })
	return found
}
