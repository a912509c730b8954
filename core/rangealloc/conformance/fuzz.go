package conformance

import "testing"

// Fuzz searches for operation scripts that a strategy does wrong. Give go test
// -fuzzminimizetime=20x: by default the fuzzer spends up to a minute on making
// each script that reaches new code shorter, and searches no further meanwhile.
func Fuzz(f *testing.F, make Make, o Options) {
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := runScript(make, o, data); err != nil {
			t.Fatal(err)
		}
	})
}
