package library

import (
	"cmp"
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
)

// EnvSignalHandlers selects what happens to signal handlers without SA_ONSTACK.
const EnvSignalHandlers = "FERRUM_SIGNAL_HANDLERS"

// The values of EnvSignalHandlers.
const (
	handlersRepair = "repair"
	handlersLeave  = "leave"
)

// maxHandlers bounds the recorded handlers, because a program may set new ones
// repeatedly.
const maxHandlers = 256

// Handler is a signal handler that the program has installed without SA_ONSTACK. On a
// thread inside the library it runs on the stack of a goroutine, and overwrites the
// memory below.
type Handler struct {
	Signal int `json:"signal"`
	// Name is for example "SIGPROF", or "" for a signal without a name.
	Name    string `json:"name"`
	Address uint64 `json:"address"`
	// Symbol and File name the function and its library; "" if the linker does not know
	// them.
	Symbol string `json:"symbol"`
	File   string `json:"file"`
	// Repaired states that the flag was added.
	Repaired bool `json:"repaired"`
	// Late states that it was installed after the start of the library. Until it was
	// found it could corrupt memory.
	Late bool `json:"late"`
}

// handlersEnvironment reports whether handlers are left unchanged.
func handlersEnvironment(getenv func(string) string) (leave bool, err error) {
	switch value := getenv(EnvSignalHandlers); value {
	case "", handlersRepair:
		return false, nil
	case handlersLeave:
		return true, nil
	default:
		return false, device.Errorf(device.CodeInvalidConfig, "library.init", "%s=%q: want %s or %s",
			EnvSignalHandlers, value, handlersRepair, handlersLeave)
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

// ReportHandler logs a handler and records it for the snapshot. It takes no lock that
// is held during the start of the library.
func (l *Library) ReportHandler(h Handler) {
	h.Late = l.current.Load() != nil
	l.handlersMu.Lock()
	if len(l.handlers) < maxHandlers {
		l.handlers = append(l.handlers, h)
	}
	l.handlersMu.Unlock()
	const rule = "a handler that runs on a thread inside the library needs the alternate stack, " +
		"without it the handler overwrites memory of the library"
	switch {
	case !h.Repaired:
		l.log.printf(LogWarning, "signal handler without SA_ONSTACK, left as it is: %v; %s", h, rule)
	case h.Late:
		l.log.printf(LogWarning, "signal handler was installed without SA_ONSTACK after ferrum_init; "+
			"the flag was added now: %v; %s", h, rule)
	default:
		l.log.printf(LogInfo, "signal handler without SA_ONSTACK; the flag was added: %v", h)
	}
}

// foundHandlers returns the reported handlers in the order of the signals.
func (l *Library) foundHandlers() []Handler {
	l.handlersMu.Lock()
	defer l.handlersMu.Unlock()
	found := append([]Handler{}, l.handlers...)
	sorting.StableBy(found, func(a, b Handler) int { return cmp.Compare(a.Signal, b.Signal) })
	return found
}
