package ort

// function is a function of the table that OrtApiBase::GetApi returns, by its place in struct OrtApi. The
// order of that struct never changes: a version only adds functions at its end.
type function int

// The functions that the package calls, some of them in kernel.c. All are part of the table since version 16.
const (
	createStatus              function = 0
	errorCode                 function = 1
	errorMessage              function = 2
	createEnvironment         function = 3
	createSession             function = 8
	runSession                function = 9
	createOptions             function = 10
	disableArena              function = 19
	setOptimization           function = 23
	setIntraThreads           function = 24
	setInterThreads           function = 25
	createDomain              function = 26
	addToDomain               function = 27
	addDomain                 function = 28
	inputCount                function = 30
	outputCount               function = 31
	inputType                 function = 33
	outputType                function = 34
	inputName                 function = 36
	outputName                function = 37
	createTensor              function = 49
	tensorData                function = 51
	castToTensor              function = 55
	elementType               function = 60
	dimensionCount            function = 61
	dimensions                function = 62
	symbolicDimensions        function = 63
	tensorTypeAndShape        function = 65
	createNamedMemoryInfo     function = 68
	createMemoryInfo          function = 69
	freeText                  function = 76
	defaultAllocator          function = 78
	kernelInput               function = 90
	kernelOutput              function = 91
	releaseStatus             function = 93
	releaseSession            function = 95
	releaseValue              function = 96
	releaseTypeInfo           function = 98
	releaseTensorTypeAndShape function = 99
	releaseOptions            function = 100
	releaseDomain             function = 101
	availableProviders        function = 125
	releaseProviders          function = 126
	addConfigEntry            function = 130
	runWithBinding            function = 133
	createBinding             function = 134
	releaseBinding            function = 135
	bindInput                 function = 136
	bindOutput                function = 137
	bindOutputToDevice        function = 138
	boundOutputs              function = 140
	addInitializer            function = 150
	registerAllocator         function = 176
	unregisterAllocator       function = 177
	appendCUDA                function = 204
	createCUDAOptions         function = 205
	updateCUDAOptions         function = 206
	releaseCUDAOptions        function = 208
	setCUDAOption             function = 263
	// sharedAllocator exists from table 23 on.
	sharedAllocator function = 376
)

// listed is a function with its name in the documentation of ONNX Runtime.
type listed struct {
	at   function
	name string
}

func functions() []listed {
	return []listed{
		{createStatus, "CreateStatus"}, {errorCode, "GetErrorCode"}, {errorMessage, "GetErrorMessage"}, {createEnvironment, "CreateEnv"},
		{createSession, "CreateSessionFromArray"}, {runSession, "Run"}, {createOptions, "CreateSessionOptions"},
		{disableArena, "DisableCpuMemArena"}, {setOptimization, "SetSessionGraphOptimizationLevel"},
		{setIntraThreads, "SetIntraOpNumThreads"}, {setInterThreads, "SetInterOpNumThreads"},
		{createDomain, "CreateCustomOpDomain"}, {addToDomain, "CustomOpDomain_Add"}, {addDomain, "AddCustomOpDomain"},
		{inputCount, "SessionGetInputCount"}, {outputCount, "SessionGetOutputCount"},
		{inputType, "SessionGetInputTypeInfo"}, {outputType, "SessionGetOutputTypeInfo"},
		{inputName, "SessionGetInputName"}, {outputName, "SessionGetOutputName"},
		{createTensor, "CreateTensorWithDataAsOrtValue"}, {tensorData, "GetTensorMutableData"},
		{castToTensor, "CastTypeInfoToTensorInfo"}, {elementType, "GetTensorElementType"},
		{dimensionCount, "GetDimensionsCount"}, {dimensions, "GetDimensions"}, {symbolicDimensions, "GetSymbolicDimensions"},
		{tensorTypeAndShape, "GetTensorTypeAndShape"}, {createMemoryInfo, "CreateCpuMemoryInfo"},
		{freeText, "AllocatorFree"}, {defaultAllocator, "GetAllocatorWithDefaultOptions"},
		{kernelInput, "KernelContext_GetInput"}, {kernelOutput, "KernelContext_GetOutput"},
		{releaseStatus, "ReleaseStatus"}, {releaseSession, "ReleaseSession"}, {releaseValue, "ReleaseValue"},
		{releaseTypeInfo, "ReleaseTypeInfo"}, {releaseTensorTypeAndShape, "ReleaseTensorTypeAndShapeInfo"},
		{releaseOptions, "ReleaseSessionOptions"}, {releaseDomain, "ReleaseCustomOpDomain"}, {addConfigEntry, "AddSessionConfigEntry"},
		{addInitializer, "AddInitializer"}, {registerAllocator, "RegisterAllocator"}, {unregisterAllocator, "UnregisterAllocator"},
		{createNamedMemoryInfo, "CreateMemoryInfo"}, {availableProviders, "GetAvailableProviders"},
		{releaseProviders, "ReleaseAvailableProviders"}, {runWithBinding, "RunWithBinding"},
		{createBinding, "CreateIoBinding"}, {releaseBinding, "ReleaseIoBinding"}, {bindInput, "BindInput"},
		{bindOutput, "BindOutput"}, {bindOutputToDevice, "BindOutputToDevice"}, {boundOutputs, "GetBoundOutputValues"},
		{appendCUDA, "SessionOptionsAppendExecutionProvider_CUDA_V2"}, {createCUDAOptions, "CreateCUDAProviderOptions"},
		{updateCUDAOptions, "UpdateCUDAProviderOptions"}, {releaseCUDAOptions, "ReleaseCUDAProviderOptions"},
		{setCUDAOption, "UpdateCUDAProviderOptionsWithValue"},
	}
}

// sharedAllocatorSince is the first table with sharedAllocator. From its version on, RegisterAllocator replaces
// the allocator that is registered; in older ones it fails.
const sharedAllocatorSince = 23

// String returns the name of the function.
func (f function) String() string {
	for _, each := range append(functions(), listed{sharedAllocator, "GetSharedAllocator"}) {
		if each.at == f {
			return each.name
		}
	}
	return "a function"
}
