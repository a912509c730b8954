package conformance

import "testing"

// Run checks that a strategy keeps the contract of rangealloc.Strategy.
func Run(t *testing.T, make Make, o Options) {
	t.Helper()
	s := suite{make: make, options: o}
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"Properties", s.properties},
		{"BadConfigs", s.badConfigs},
		{"BadRequests", s.badRequests},
		{"BadFrees", s.badFrees},
		{"Exhaustion", s.exhaustion},
		{"Churn", s.churn},
		{"Claims", s.claims},
		{"Batches", s.batches},
		{"WholeRange", s.wholeRange},
		{"EdgeOfAddressSpace", s.edgeOfAddressSpace},
		{"Granules", s.granules},
		{"WalkStops", s.walkStops},
		{"NoGoAllocation", s.noGoAllocation},
		{"FreesGrowNothing", s.freesGrowNothing},
		{"Close", s.close},
		{"NoMemoryForTables", s.noMemoryForTables},
	} {
		t.Run(test.name, test.run)
	}
}
