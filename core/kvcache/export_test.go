package kvcache

// What the tests of Planes use, which run on devices and so are in a package of their own.
var (
	Small       = small
	Check       = check
	TableOf     = table
	AllocateOne = allocate
	NewCache    = newCache
	RequireCode = requireCode
	ErrInjected = errInjected
)
