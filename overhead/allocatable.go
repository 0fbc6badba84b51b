package overhead

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/resources"
)

// Reservations are the amounts that a kubelet keeps back from pods, as in its configuration.
type Reservations struct {
	Kube   v1.ResourceList // kubeReserved
	System v1.ResourceList // systemReserved
	// EvictionHard maps signals to a quantity ("500Mi") or a percentage of the capacity ("10%"). memory.available keeps back
	// memory, and nodefs.available keeps back ephemeral-storage. Other signals keep back nothing. "0%" and "100%" disable a
	// threshold.
	EvictionHard map[string]string
}

// Allocatable returns what a node with that capacity offers to pods, for every resource of the capacity:
//
//	allocatable = capacity - kubeReserved - systemReserved - hard eviction threshold, at least 0
//
// and memory also minus all huge pages. Allocatable ignores a reservation of a resource that the capacity lacks. It computes
// a percentage in single precision, like the kubelet: 10% of 100Gi are 10737418400 bytes. Allocatable fails when a threshold
// is neither a quantity nor a percentage from 0 to 100. The error names the first such signal in alphabetical order. Rule:
// documentation, "Reserve Compute Resources for System Daemons" (Node Allocatable), and "Manage HugePages". A nil capacity
// has no resource.
func Allocatable(capacity v1.ResourceList, r Reservations) (v1.ResourceList, error) {
	reserved := clone(r.Kube)
	add(reserved, r.System)
	for _, t := range [...]struct {
		signal string
		name   v1.ResourceName
	}{{"memory.available", v1.ResourceMemory}, {"nodefs.available", v1.ResourceEphemeralStorage}} {
		if text, ok := r.EvictionHard[t.signal]; ok {
			q, err := threshold(t.signal, text, capacity[t.name])
			if err != nil {
				return nil, fmt.Errorf("evictionHard[%s]: %w", t.signal, err)
			}
			add(reserved, v1.ResourceList{t.name: q})
		}
	}
	out := make(v1.ResourceList, len(capacity))
	for name, q := range capacity {
		left := q.DeepCopy()
		left.Sub(reserved[name])
		out[name] = atLeastZero(left)
	}
	if memory, ok := out[v1.ResourceMemory]; ok {
		for name, q := range capacity {
			if strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) {
				memory.Sub(q)
			}
		}
		out[v1.ResourceMemory] = atLeastZero(memory)
	}
	return out, nil
}

// threshold returns the amount of a threshold.
func threshold(signal, text string, capacity resource.Quantity) (resource.Quantity, error) {
	if text == "100%" {
		return resource.Quantity{}, nil
	}
	if !strings.HasSuffix(text, "%") {
		q, err := resources.ParseQuantity(text)
		if err == nil && q.Sign() <= 0 {
			err = fmt.Errorf("eviction threshold %s must be positive: %s", signal, q.String())
		}
		return q, err
	}
	percent, err := strconv.ParseFloat(strings.TrimRight(text, "%"), 32)
	share := float32(percent) / 100
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return resource.Quantity{}, err
	case share > 1:
		return resource.Quantity{}, fmt.Errorf("eviction percentage threshold %s must be <= 100%%: %s", signal, text)
	case !(share >= 0): // not a number, too
		return resource.Quantity{}, fmt.Errorf("eviction percentage threshold %s must be >= 0%%: %s", signal, text)
	}
	return *resource.NewQuantity(int64(float64(capacity.Value())*float64(share)), resource.BinarySI), nil
}

func atLeastZero(q resource.Quantity) resource.Quantity {
	if q.Sign() < 0 {
		q.Set(0)
	}
	return q
}
