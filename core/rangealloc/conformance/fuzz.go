package conformance

import "testing"

// Fuzz searches for operation scripts in which a strategy is wrong. Use go test
// -fuzzminimizetime=20x: by default the fuzzer spends up to a minute on shortening each
// script that reaches new code, and does not search meanwhile.
func Fuzz(f *testing.F, make Make, o Options) {
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := runScript(make, o, data); err != nil {
			t.Fatal(err)
		}
	})
}
