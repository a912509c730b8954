package device

// Fact is a number that an Error states beside its text, so that programs do not have
// to parse the text.
type Fact int

// The facts, in bytes. Which of them an error has depends on its code:
//
//	CodeInvalidOffset                     offset, size, capacity
//	CodeAlreadyMapped, CodeNotMapped      offset and size of the first page, page size
//	CodeInvalidPageSize                   page size
//	CodeOutOfPhysicalMemory               requested, available
//	CodeOutOfVirtualMemory                requested, capacity; the largest free run where there is one
//	CodeOutOfMemory                       requested, and available with the largest free run, or
//	                                      the capacity that the request is above
const (
	FactOffsetBytes Fact = iota
	FactSizeBytes
	FactCapacityBytes
	FactPageBytes
	FactRequestedBytes
	FactAvailableBytes
	FactLargestFreeBytes
	// NumFacts is the number of facts.
	NumFacts
)

// Facts has the facts of an Error; the zero value has none.
type Facts struct {
	// Model is the model that the error is about, or "".
	Model  string
	stated [NumFacts]bool
	values [NumFacts]uint64
}

// Value returns the value of a fact; false: the error does not state it.
func (f *Facts) Value(of Fact) (uint64, bool) { return f.values[of], f.stated[of] }

// Stating adds a fact, and returns the error.
func (e *Error) Stating(fact Fact, value uint64) *Error {
	e.Facts.stated[fact], e.Facts.values[fact] = true, value
	return e
}

// OfModel sets the model that the error is about, and returns the error.
func (e *Error) OfModel(id string) *Error {
	e.Facts.Model = id
	return e
}
