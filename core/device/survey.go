package device

// Surveyor looks for the devices of a backend without opening any. What it calls
// may be a vendor's library that is broken: one that is not trusted is asked in a
// process of its own.
type Surveyor interface {
	// Backend is the name before the colon of a device id.
	Backend() string
	// Survey says what there is, or why nothing.
	Survey() Survey
}

// Survey is what was found of one backend. It travels between processes as JSON.
type Survey struct {
	// Absence says why the backend cannot be used here; "" means that it can.
	Absence Absence `json:"absence,omitempty"`
	// Message is that for people, with names and values.
	Message string `json:"message,omitempty"`
	// Native is the number that the vendor's library or the system gave, or 0.
	Native int64 `json:"native,omitempty"`
	// Library is the name by which the vendor's library was found, or "".
	Library string `json:"library,omitempty"`
	// Version is that of the driver's interface, such as "12.4", or "".
	Version string `json:"version,omitempty"`
	// Devices are in the order of their ordinals.
	Devices []Surveyed `json:"devices,omitempty"`
}

// Surveyed is a device as its own driver describes it.
type Surveyed struct {
	// Index is the position within the backend.
	Index int    `json:"index"`
	Name  string `json:"name"`
	// TotalBytes is the capacity; 0 means unknown.
	TotalBytes uint64 `json:"total_bytes"`
	// FreeBytes has a meaning only when FreeKnown.
	FreeBytes uint64 `json:"free_bytes"`
	FreeKnown bool   `json:"free_known"`
	// ComputeCapability is the vendor's word for what the device can, or "".
	ComputeCapability string `json:"compute_capability,omitempty"`
	// UnifiedMemory says that the device's memory is the host's.
	UnifiedMemory bool `json:"unified_memory,omitempty"`
	// MaxAllocationBytes bounds one allocation; 0 means nothing but the capacity.
	MaxAllocationBytes uint64 `json:"max_allocation_bytes,omitempty"`
	// AlignmentBytes is what addresses are multiples of; 0 means unknown.
	AlignmentBytes uint64 `json:"alignment_bytes,omitempty"`
	// Processes are those that have a context on the device; nil means unknown.
	Processes []ProcessUse `json:"processes"`
}

// ProcessUse is what a process has of a device.
type ProcessUse struct {
	// PID is the process's number as the driver's host counts.
	PID uint32 `json:"pid"`
	// UsedBytes is its memory on the device, contexts included; nil: the driver does not
	// tell.
	UsedBytes *uint64 `json:"used_bytes"`
}

// Absence is a reason for which a backend cannot be used.
type Absence string

// The reasons. Their texts are part of the public JSON.
const (
	AbsenceNone Absence = ""
	// AbsenceLibraryNotFound: none of the names under which the vendor's library
	// is known is there.
	AbsenceLibraryNotFound Absence = "library_not_found"
	// AbsenceLibraryUnusable: it is there and cannot be loaded.
	AbsenceLibraryUnusable Absence = "library_unusable"
	AbsenceSymbolMissing   Absence = "symbol_missing"
	AbsenceTooOld          Absence = "too_old"
	AbsenceNoDevice        Absence = "no_device"
	// AbsenceDriverError: a call of the vendor's library failed, with a number.
	AbsenceDriverError Absence = "driver_error"
	// AbsenceSystem: the backend does not exist on this operating system.
	AbsenceSystem   Absence = "unsupported_system"
	AbsenceCrashed  Absence = "crashed"
	AbsenceTimedOut Absence = "timed_out"
	// AbsenceHelper: the process that asks vendor libraries cannot be started.
	AbsenceHelper Absence = "helper_unavailable"
	// AbsenceSwitchedOff: a setting forbids to look.
	AbsenceSwitchedOff Absence = "switched_off"
	// AbsenceUnusable: the backend says of itself that it cannot work.
	AbsenceUnusable Absence = "unusable"
)

// Absent is the survey of a backend that cannot be used.
func Absent(why Absence, native int64, message string) Survey {
	return Survey{Absence: why, Native: native, Message: message}
}

// Err is why the backend cannot be used, as CodeBackendUnavailable; nil if it can.
func (s *Survey) Err(backend string) error {
	if s.Absence == AbsenceNone {
		return nil
	}
	return Errorf(CodeBackendUnavailable, backend+".probe", "%s", s.Message).WithNative(s.Native)
}
