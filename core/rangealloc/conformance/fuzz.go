package conformance

import "testing"

// Fuzz searches for operation scripts that a strategy does wrong.
func Fuzz(f *testing.F, make Make, o Options) {
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := runScript(make, o, data); err != nil {
			t.Fatal(err)
		}
	})
}
