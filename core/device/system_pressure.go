package device

// SystemPressured is the capability to report the memory pressure of the system that
// provides the device's memory. Devices whose memory only the vendor driver manages do
// not have it.
type SystemPressured interface {
	// SystemPressure reads the present signs of pressure. It does not fail: each
	// missing part has its own reason.
	SystemPressure() SystemPressure
}

// SystemPressure is one reading of the system's signs of memory pressure. A missing
// part has a reason: CodeUnsupported, with the name of the file, if the system does not
// have it, and CodeInvalidFormat if it cannot be parsed.
type SystemPressure struct {
	// Machine has the stalls of all tasks, Group those of the process's control group.
	Machine, Group StallReading
	// Events counts the events at the limits of the control group.
	Events EventReading
	// High is the limit above which the kernel reclaims memory from the control group
	// and slows it down.
	High LimitReading
}

// StallReading is Stalls or the reason why there are none.
type StallReading struct {
	Stalls Stalls
	Err    error
}

// Stalls has the times in which tasks waited for memory.
type Stalls struct {
	// Some is the time in which at least one task waited, Full the time in which all
	// tasks waited.
	Some, Full Stall
}

// Stall has shares of the time and their sum.
type Stall struct {
	// Avg10, Avg60 and Avg300 are the shares over the last 10, 60 and 300 s, in
	// hundredths of a percent: 0 to 10000.
	Avg10, Avg60, Avg300 uint32
	// TotalMicroseconds counts from the start of the system or the creation of the
	// group.
	TotalMicroseconds uint64
}

// EventReading is Events or the reason why there are none.
type EventReading struct {
	Events Events
	Err    error
}

// Events counts since the creation of the group. Low: memory was reclaimed although the
// group was below its protection. High: the group was slowed down above its high limit.
// Max: its use was about to exceed its limit. OOM: nothing could be freed then.
// OOMKill: tasks were killed for that reason.
type Events struct {
	Low, High, Max, OOM, OOMKill uint64
}

// LimitReading is a limit in bytes or the reason why there is none.
type LimitReading struct {
	// Bytes is math.MaxUint64 for no limit.
	Bytes uint64
	Err   error
}
