package overhead

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// The short way over integers gives the amounts of Requests, in the order of the names, also at the ends of int64.
func FuzzEach(f *testing.F) {
	for seed := range uint64(testkit.Rounds(200)) {
		f.Add(testkit.RandomBytes(seed, 60))
	}
	amounts := []string{"0", "1", "2", "3", "-1", "12", "500m", "9223372036854775", "9223372036854774", "-9223372036854775", "-9223372036854776"}
	f.Fuzz(func(t *testing.T, data []byte) {
		pod, o := (&decoder{testkit.NewBytes(data), amounts}).pod()
		for _, on := range []bool{false, true} {
			o.UseStatus = on
			list := Requests(pod, o)
			var want []v1.ResourceName
			for name := range list {
				if counted(name, nil) {
					want = append(want, name)
				}
			}
			slices.SortFunc(want, placeOf)
			for range 2 {
				var got []v1.ResourceName
				Each(pod, o, func(name v1.ResourceName, value int64) {
					if n := resources.Value(name, list[name]); n != value {
						t.Fatalf("%s: want %d, got %d", name, n, value)
					}
					got = append(got, name)
				})
				if !slices.Equal(want, got) {
					t.Fatalf("want %v, got %v", want, got)
				}
			}
			schema := new(resources.Schema)
			row := AppendRequests(nil, schema, pod, o)
			for c, n := range row {
				name := schema.Name(c)
				if want := resources.Value(name, list[name]); name != v1.ResourcePods && n != want {
					t.Fatalf("column of %s: want %d, got %d", name, want, n)
				}
			}
		}
	})
}

// placeOf compares two names by their place: cpu, memory, ephemeral-storage, and then the others by name.
func placeOf(a, b v1.ResourceName) int {
	first := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage}
	for _, name := range first {
		switch {
		case a == b:
			return 0
		case a == name:
			return -1
		case b == name:
			return 1
		}
	}
	if a < b {
		return -1
	}
	return 1
}
