package device

// Surveyor finds the devices of a backend without opening them. It may call a broken
// library of a vendor, so an untrusted one runs in a separate process.
type Surveyor interface {
	// Backend returns the name before the colon of a device id.
	Backend() string
	// Survey returns the devices, or the reason why there are none.
	Survey() Survey
}

// Survey is the result for one backend. It passes between processes as JSON.
type Survey struct {
	// Absence is the reason why the backend cannot be used here; "" means that it can.
	Absence Absence `json:"absence,omitempty"`
	// Message is the reason for people, with names and values.
	Message string `json:"message,omitempty"`
	// Native is the error number of the vendor's library or the system, or 0.
	Native int64 `json:"native,omitempty"`
	// Library is the name by which the vendor's library was found, or "".
	Library string `json:"library,omitempty"`
	// Version is the version of the driver's interface, such as "12.4", or "".
	Version string `json:"version,omitempty"`
	// Devices are in order of ordinal.
	Devices []Surveyed `json:"devices,omitempty"`
}

// Surveyed is a device as its own driver describes it.
type Surveyed struct {
	// Index is the position within the backend.
	Index int    `json:"index"`
	Name  string `json:"name"`
	// TotalBytes is the capacity; 0 means unknown.
	TotalBytes uint64 `json:"total_bytes"`
	// FreeBytes is valid only if FreeKnown is true.
	FreeBytes uint64 `json:"free_bytes"`
	FreeKnown bool   `json:"free_known"`
	// ComputeCapability is the vendor's term for the abilities of the device, or "".
	ComputeCapability string `json:"compute_capability,omitempty"`
	// UnifiedMemory states that the device uses host memory.
	UnifiedMemory bool `json:"unified_memory,omitempty"`
	// MaxAllocationBytes bounds one allocation; 0 means only the capacity bounds it.
	MaxAllocationBytes uint64 `json:"max_allocation_bytes,omitempty"`
	// AlignmentBytes is the alignment of addresses; 0 means unknown.
	AlignmentBytes uint64 `json:"alignment_bytes,omitempty"`
	// Processes has the processes with a context on the device; nil means unknown.
	Processes []ProcessUse `json:"processes"`
}

// ProcessUse is the use of a device by a process.
type ProcessUse struct {
	// PID is the process's number in the namespace of the driver's host.
	PID uint32 `json:"pid"`
	// UsedBytes is its memory on the device, including contexts; nil: the driver does
	// not report it.
	UsedBytes *uint64 `json:"used_bytes"`
}

// Absence is a reason for which a backend cannot be used.
type Absence string

// The reasons. Their texts are part of the public JSON.
const (
	AbsenceNone Absence = ""
	// AbsenceLibraryNotFound: the vendor's library was not found under any of its
	// names.
	AbsenceLibraryNotFound Absence = "library_not_found"
	// AbsenceLibraryUnusable: the library was found and cannot be loaded.
	AbsenceLibraryUnusable Absence = "library_unusable"
	AbsenceSymbolMissing   Absence = "symbol_missing"
	AbsenceTooOld          Absence = "too_old"
	AbsenceNoDevice        Absence = "no_device"
	// AbsenceDriverError: a call of the vendor's library failed with a number.
	AbsenceDriverError Absence = "driver_error"
	// AbsenceSystem: the backend does not exist on this operating system.
	AbsenceSystem   Absence = "unsupported_system"
	AbsenceCrashed  Absence = "crashed"
	AbsenceTimedOut Absence = "timed_out"
	// AbsenceHelper: the process that queries vendor libraries cannot be started.
	AbsenceHelper Absence = "helper_unavailable"
	// AbsenceSwitchedOff: a setting forbids the query.
	AbsenceSwitchedOff Absence = "switched_off"
	// AbsenceUnusable: the backend itself reports that it cannot work.
	AbsenceUnusable Absence = "unusable"
)

// Absent returns the survey of a backend that cannot be used.
func Absent(why Absence, native int64, message string) Survey {
	return Survey{Absence: why, Native: native, Message: message}
}

// Err returns the reason why the backend cannot be used, as CodeBackendUnavailable; nil
// if it can.
func (s *Survey) Err(backend string) error {
	if s.Absence == AbsenceNone {
		return nil
	}
	return Errorf(CodeBackendUnavailable, backend+".probe", "%s", s.Message).WithNative(s.Native)
}
