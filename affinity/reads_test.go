package affinity

import (
	"slices"
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

// A list has each name once, in the order in which the names came, however long it is.
func FuzzReads(f *testing.F) {
	f.Add([]byte("some names, of which many come twice"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for b := testkit.NewBytes(data); b.More(); {
			var got reads
			var want []string
			for range b.Below(60) {
				name := string(rune('A' + b.Below(24)))
				if !slices.Contains(want, name) {
					want = append(want, name)
				}
				got.add(name)
			}
			if !slices.Equal(want, got.names) {
				t.Fatalf("want %q, got %q", want, got.names)
			}
		}
	})
}
