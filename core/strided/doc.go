// Package strided describes where the elements of a tensor lie: a shape, the strides of its
// dimensions, and the place of the first element, all counted in elements. Views change a
// layout and move no element.
//
// A Layout is a value of a fixed size. It owns nothing and knows neither memory nor data
// types. Places and strides may be negative as in NumPy, and a stride of 0 repeats an element.
// No function multiplies or adds without a check, so a Layout never has an element whose place
// does not fit 64 bits.
//
// Lock order: the package has no locks. All functions may be called from any number of
// threads.
//
// # Files in reading order
//
// layout.go, restride.go, views.go, runs.go.
package strided
