package devices

import (
	"math/bits"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// FuzzSmallest compares smallest with a walk over all sets of tests.
func FuzzSmallest(f *testing.F) {
	f.Add([]byte{3, 4, 1, 2, 4, 3})
	f.Add([]byte{5, 6, 1, 2, 4, 8, 16, 31, 0, 3})
	f.Add([]byte{6, 5, 1, 2, 4, 8, 16}) // more than four tests are needed: all of them are decisive
	f.Add([]byte{5, 4, 1, 2, 4, 8})     // four tests leave no device, a fifth is not needed
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		tests := b.Below(7)
		sets := setsOfTests(tests)
		failed := make([]uint64, b.Below(6))
		for k := range failed {
			failed[k] = uint64(b.Below(1 << tests))
		}
		for want := 1; want <= len(failed)+1; want++ {
			if got, plain := smallest(failed, tests, want), smallestPlain(failed, sets, want); got != plain && plain != none {
				t.Fatalf("%b of %d tests, want %d: %b, not %b", failed, tests, want, got, plain)
			}
		}
	})
}

// none says that too many devices pass all tests.
const none = 1 << 63

// setsOfTests returns all sets of tests which are not empty. Smaller sets come first, and of equally large sets those with the earlier tests.
func setsOfTests(tests int) (sets []uint64) {
	for set := uint64(1); set < 1<<tests; set++ {
		sets = append(sets, set)
	}
	slices.SortFunc(sets, func(a, b uint64) int {
		if d := bits.OnesCount64(a) - bits.OnesCount64(b); d != 0 {
			return d
		}
		if first := (a ^ b) & -(a ^ b); a&first != 0 {
			return -1
		}
		return 1
	})
	return sets
}

func smallestPlain(failed, sets []uint64, want int) uint64 {
	if len(failed) < want {
		return 0
	}
	for _, set := range sets {
		left := 0
		for _, mask := range failed {
			if mask&set == 0 {
				left++
			}
		}
		if left < want {
			if bits.OnesCount64(set) > 4 { // all tests then
				return sets[len(sets)-1]
			}
			return set
		}
	}
	return none
}

// FuzzCreatedClaim looks for the claim of a pod among claims in all orders: of the claims that belong to the pod it is the first by name.
func FuzzCreatedClaim(f *testing.F) {
	f.Add([]byte{4, 1, 0, 0, 2, 1, 0, 3, 0, 1})
	f.Add([]byte{3, 3, 0, 0, 1, 0, 0, 2, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "p", UID: "u"}}
		var list onlyClaims
		var want *resourcev1.ResourceClaim
		names := []byte("abcdef")
		for range b.Below(5) {
			c := extendedClaim(pod, onlyClaims{})
			at := b.Below(len(names))
			c.Name = string(names[at])
			names = slices.Delete(names, at, at+1)
			switch b.Below(6) {
			case 4:
				c.Annotations = nil
			case 5:
				c.OwnerReferences[0].UID = "v"
			default:
				if want == nil || c.Name < want.Name {
					want = c
				}
			}
			list = append(list, c)
		}
		if got := createdClaim(pod, list); got != want {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}
