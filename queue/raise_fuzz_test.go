package queue

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
)

// FuzzRaise compares raise with the largest of whole numbers. The quantities have different notations.
func FuzzRaise(f *testing.F) {
	f.Add([]byte{1, 3, 1, 2, 1, 5, 0, 1, 1, 1})
	f.Add([]byte{1, 4, 0, 1, 4, 2, 1, 4, 1, 1, 4, 0})
	names := []v1.ResourceName{"cpu", "memory"}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		to, largest := v1.ResourceList{}, map[v1.ResourceName]int64{}
		for range 4 {
			r := v1.ResourceList{}
			for _, name := range names {
				if b.Below(4) == 0 {
					continue
				}
				n := int64(b.Below(6))
				r[name] = *resource.NewQuantity(n, [...]resource.Format{resource.DecimalSI, resource.BinarySI, resource.DecimalExponent}[b.Below(3)])
				if have, ok := largest[name]; !ok || n > have {
					largest[name] = n
				}
			}
			raise(to, r)
		}
		for _, name := range names {
			q, ok := to[name]
			want, wanted := largest[name]
			if ok != wanted || q.Value() != want {
				t.Fatalf("%s: %v %v, want %d %v", name, q.Value(), ok, want, wanted)
			}
		}
	})
}
