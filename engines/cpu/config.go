package cpu

// maxThreads bounds the threads of an engine.
const maxThreads = 1024

// Config configures an engine. The zero value is valid.
type Config struct {
	// Instructions names the instruction set: sse2, avx2, avx512, neon. "":
	// FERRUM_CPU_INSTRUCTIONS, or the best one of the machine.
	Instructions string
	// Threads is the number of threads that compute, the caller among them, 1 to 1024. 0: the
	// processors on which the process may run, or fewer if its control group allows fewer.
	Threads int
}
