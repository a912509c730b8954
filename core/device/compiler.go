package device

// Compiler is the capability to run kernels: programs for the device. Its methods, and
// those of its results, are safe for concurrent use. Info().Compiler states whether the
// open device has the capability. Without it Compile returns CodeUnsupported.
type Compiler interface {
	// Compile translates text, in the form that the device's runtime accepts, and loads
	// the result. It returns CodeInvalidFormat, with the message of the translator, if
	// the form is wrong or the translation fails. It returns CodeUnsupported if the
	// text is for a newer runtime or another device. The translator may wait for the
	// work of the whole device.
	Compile(text []byte) (Module, error)
}

// Module is a loaded program. Its device cannot be closed while the module is open.
type Module interface {
	// Kernel finds a kernel by its name. It returns CodeNotFound if there is none.
	Kernel(name string) (Kernel, error)
	// Close unloads the program and destroys its kernels. The caller must have waited
	// for work that runs them. If Close fails, the module does not change.
	Close() error
}

// Kernel is one entry of a Module.
type Kernel interface {
	// Limits never changes.
	Limits() KernelLimits
	// Launch queues one run on stream, a stream of this device. It copies the arguments
	// before it returns. It returns CodeInvalidArgument for values outside Limits, and
	// CodeInvalidSize for arguments of wrong sizes; then nothing is queued. Addresses
	// in the arguments are not checked: a wrong address may make the device unusable
	// for the program.
	Launch(stream Stream, launch Launch) error
}

// KernelLimits has the limits for a Launch on the kernel's device.
type KernelLimits struct {
	// ArgumentBytes has the sizes of the arguments, in order.
	ArgumentBytes []int
	// Threads is the maximum number of threads of a block. Block is the maximum in each
	// dimension, and Grid the maximum number of blocks.
	Threads     uint32
	Block, Grid Extent
	// SharedBytes is the maximum shared memory that a launch may request, in addition
	// to the kernel's own.
	SharedBytes uint32
}

// Extent is a number of threads or blocks in three dimensions, each at least 1.
type Extent struct{ X, Y, Z uint32 }

// Launch is one run of a kernel.
type Launch struct {
	Grid, Block Extent
	SharedBytes uint32
	// Arguments has the bytes of each argument, as the kernel reads them.
	Arguments [][]byte
}
