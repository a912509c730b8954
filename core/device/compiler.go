package device

// Compiler is the capability of running kernels: programs for the device itself. Methods
// of it and of what it gives are safe for concurrent use. Info().Compiler says whether
// the open device has it, and without it Compile is CodeUnsupported.
type Compiler interface {
	// Compile translates text, which is in the form that the device's runtime takes, and
	// loads what comes of it. Text that is not in that form or does not translate is
	// CodeInvalidFormat, and the error has what the translator said; text that is for a
	// newer runtime or another device is CodeUnsupported. The translator may wait for
	// the work of the whole device.
	Compile(text []byte) (Module, error)
}

// Module is a loaded program. It keeps its device from being closed.
type Module interface {
	// Kernel finds a kernel by its name: CodeNotFound if there is none.
	Kernel(name string) (Kernel, error)
	// Close unloads the program and ends its kernels. Work that runs them must have been
	// waited for. When it fails, the module is as it was.
	Close() error
}

// Kernel is one entry of a Module.
type Kernel interface {
	// Limits does not change.
	Limits() KernelLimits
	// Launch queues one run on stream, a stream of this device. The arguments are copied
	// before it returns. What is not within Limits is CodeInvalidArgument, arguments that
	// are not of the kernel's sizes CodeInvalidSize, and nothing is queued. Addresses in
	// the arguments are not looked at: a wrong one may cost the program the device.
	Launch(stream Stream, launch Launch) error
}

// KernelLimits are what a Launch keeps to on the kernel's device.
type KernelLimits struct {
	// ArgumentBytes are the sizes of the arguments, in order.
	ArgumentBytes []int
	// Threads is how many a block may have, Block how many of them in each dimension,
	// and Grid how many blocks.
	Threads     uint32
	Block, Grid Extent
	// SharedBytes is how much shared memory a launch may ask for, beside what the kernel
	// has of itself.
	SharedBytes uint32
}

// Extent is a number of threads or blocks in three dimensions, each at least 1.
type Extent struct{ X, Y, Z uint32 }

// Launch is one run of a kernel.
type Launch struct {
	Grid, Block Extent
	SharedBytes uint32
	// Arguments are the bytes of each argument, as the kernel reads them.
	Arguments [][]byte
}
