package rangealloc_test

import (
	"testing"

	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/rangealloc/conformance"
)

func makeSizeClass(c rangealloc.Config) (rangealloc.Strategy, error) {
	return rangealloc.New("size_class", c)
}

var sizeClassPromises = conformance.Options{ServesLargest: true}

func TestSizeClass(t *testing.T) {
	conformance.Run(t, makeSizeClass, sizeClassPromises)
}

// With slabs that are large against the range they are used up, kept and given
// back all the time.
func TestSizeClassWithLargeSlabs(t *testing.T) {
	conformance.Run(t, rangealloc.SizeClassWithSlabs(4), sizeClassPromises)
}

func FuzzSizeClass(f *testing.F) {
	conformance.Fuzz(f, rangealloc.SizeClassWithSlabs(4), sizeClassPromises)
}
