package device

// SystemPressured is the capability of saying how hard the system itself is
// pressed for the memory that the device's memory is made of. Devices of which
// the driver is the only judge lack it.
type SystemPressured interface {
	// SystemPressure reads what the system says at this moment. It does not fail:
	// each part says by itself why it is not there.
	SystemPressure() SystemPressure
}

// SystemPressure is one reading of the system's own signs of memory pressure. A
// part that is not there has a reason: CodeUnsupported when the system does not
// have it, which names the file, CodeInvalidFormat when it cannot be understood.
type SystemPressure struct {
	// Machine is the stalls of all tasks, Group those of the process's control
	// group.
	Machine, Group StallReading
	// Events counts what the limits of the control group have led to.
	Events EventReading
	// High is the limit above which the kernel takes memory away from the control
	// group and slows it down.
	High LimitReading
}

// StallReading is Stalls or the reason why there are none.
type StallReading struct {
	Stalls Stalls
	Err    error
}

// Stalls is how long tasks waited for memory.
type Stalls struct {
	// Some is the time that at least one task waited, Full that in which all did.
	Some, Full Stall
}

// Stall is shares of the time and their sum.
type Stall struct {
	// Avg10, Avg60 and Avg300 are the shares over the last 10, 60 and 300 s, in
	// hundredths of a percent: 0 to 10000.
	Avg10, Avg60, Avg300 uint32
	// TotalMicroseconds is since the system's or the group's start.
	TotalMicroseconds uint64
}

// EventReading is Events or the reason why there are none.
type EventReading struct {
	Events Events
	Err    error
}

// Events counts, since the group was made: how often memory was taken although
// the group was below its protection (Low), it was slowed down above its high
// limit (High), its use was about to go over its limit (Max), nothing could be
// freed then (OOM), and how many tasks were killed for it (OOMKill).
type Events struct {
	Low, High, Max, OOM, OOMKill uint64
}

// LimitReading is a limit in bytes or the reason why there is none.
type LimitReading struct {
	// Bytes is math.MaxUint64 for no limit.
	Bytes uint64
	Err   error
}
