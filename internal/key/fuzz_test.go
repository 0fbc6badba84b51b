package key

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
)

// Pairs writes the entries of a map in the order of their keys, Resources those of a list by the length of the name and then by
// name.
func FuzzMaps(f *testing.F) {
	f.Add([]byte("maps of some entries"))
	f.Fuzz(func(t *testing.T, data []byte) {
		amounts := []resource.Quantity{resource.MustParse("0"), resource.MustParse("2"), resource.MustParse("-1"), resource.MustParse("500m"), resource.MustParse("1Gi"), resource.MustParse("13n")}
		for b := testkit.NewBytes(data); b.More(); {
			pairs, list := map[string]string{}, v1.ResourceList{}
			for range b.Below(4) {
				pairs[testkit.Pick(b, "", "a", "b", "aa", "c")] = testkit.Pick(b, "", "x", "y")
			}
			for range b.Below(4) {
				list[testkit.Pick(b, v1.ResourceCPU, v1.ResourceMemory, "", "a", "b/c")] = testkit.Pick(b, amounts...)
			}

			want := Len(Flag(nil, true), len(pairs))
			for _, k := range slices.Sorted(maps.Keys(pairs)) {
				want = Text(Text(want, k), pairs[k])
			}
			if got := Pairs(nil, pairs); !bytes.Equal(want, got) {
				t.Fatalf("%v: want %q, got %q", pairs, want, got)
			}
			code := map[v1.ResourceName]byte{v1.ResourceCPU: cpu, v1.ResourceMemory: memory}
			names := slices.SortedFunc(maps.Keys(list), func(x, y v1.ResourceName) int {
				usual := func(name v1.ResourceName) int { return int(code[name]+2) % 3 } // cpu, memory, others
				return cmp.Or(usual(x)-usual(y), len(x)-len(y), strings.Compare(string(x), string(y)))
			})
			want = Len(nil, len(list))
			for _, name := range names {
				if want = append(want, code[name]); code[name] == other {
					want = Text(want, name)
				}
				want = Quantity(want, list[name])
			}
			if got := Resources(nil, list); !bytes.Equal(want, got) {
				t.Fatalf("%v: want %q, got %q", list, want, got)
			}
		}
	})
}
