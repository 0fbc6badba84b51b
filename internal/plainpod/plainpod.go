// Package plainpod adds up what a plain pod holds on a node. A pod is plain when only the requests of its containers count: it has
// no init containers, no overhead, no amounts of the pod as a whole, and no amounts in its status. Most pods are plain.
//
//	if plainpod.Is(pod) && !podinfo.Resized(pod) {
//		cpuMilli, memoryBytes, ok := plainpod.Add(row, schema, pod)
//	}
//
// Add reads each list of requests once, does not allocate and does not sort. It gives up where integers are not exact, and where the
// schema lacks a name. Package overhead has the general way, which every pod may go.
package plainpod

import (
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/resources"
)

// Amounts with which a container without a cpu or memory request counts in scores.
const (
	MilliCPU    int64 = 100
	MemoryBytes int64 = 200 << 20
)

// Is reports whether the spec of a pod is that of a plain pod. A nil pod is not plain. The caller looks at the status.
func Is(pod *v1.Pod) bool {
	return pod != nil && len(pod.Spec.InitContainers) == 0 && pod.Spec.Resources == nil && len(pod.Spec.Overhead) == 0
}

// Add adds the requests of a plain pod to a row, which has the columns of the schema. It returns what the pod counts with in scores,
// where a container that names no cpu or memory counts with MilliCPU or MemoryBytes. A nil row is left out, and the schema is
// not read then. Add returns false for an amount that is not whole, for an overflow and for a name that the schema lacks; the
// row is of no use then.
func Add(row resources.Vector, schema *resources.Schema, pod *v1.Pod) (cpuMilli, memoryBytes int64, ok bool) {
	for i := range pod.Spec.Containers {
		list := pod.Spec.Containers[i].Resources.Requests
		cpu, memory, named := MilliCPU, MemoryBytes, 0
		if q, has := list[v1.ResourceCPU]; has {
			named++
			if cpu, ok = Whole(v1.ResourceCPU, &q); !ok || row != nil && !Plus(&row[resources.CPU], cpu) {
				return 0, 0, false
			}
		}
		if q, has := list[v1.ResourceMemory]; has {
			named++
			if memory, ok = Whole(v1.ResourceMemory, &q); !ok || row != nil && !Plus(&row[resources.Memory], memory) {
				return 0, 0, false
			}
		}
		if !Plus(&cpuMilli, cpu) || !Plus(&memoryBytes, memory) || row != nil && named < len(list) && !addOthers(row, schema, list) {
			return 0, 0, false
		}
	}
	return cpuMilli, memoryBytes, true
}

// Pair is the requests of a pod whose containers name cpu and memory alone.
type Pair struct {
	Amounts [2]int64 // by column: resources.CPU and resources.Memory
	Named   [2]bool  // whether a container names the resource
}

// PairOf adds up the requests of a plain pod. It returns false for an amount that is not whole, for an overflow and for any other name.
func PairOf(pod *v1.Pod) (p Pair, ok bool) {
	for i := range pod.Spec.Containers {
		list := pod.Spec.Containers[i].Resources.Requests
		named := 0
		for c, name := range [2]v1.ResourceName{resources.CPU: v1.ResourceCPU, resources.Memory: v1.ResourceMemory} {
			q, has := list[name]
			if !has {
				continue
			}
			named++
			p.Named[c] = true
			if v, ok := Whole(name, &q); !ok || !Plus(&p.Amounts[c], v) {
				return p, false
			}
		}
		if named < len(list) {
			return p, false
		}
	}
	return p, true
}

// addOthers adds the requests of a container to a row, without those of cpu and memory.
func addOthers(row resources.Vector, schema *resources.Schema, list v1.ResourceList) bool {
	for name, q := range list {
		c, known := schema.Column(name)
		switch {
		case !known:
			return false
		case c == resources.CPU || c == resources.Memory || c == resources.Pods: // pods is no resource that a pod asks for
			continue
		}
		if n, ok := Whole(name, &q); !ok || !Plus(&row[c], n) {
			return false
		}
	}
	return true
}

// Plus adds v to *sum and reports whether the result is exact.
func Plus(sum *int64, v int64) bool {
	n := resources.Add(*sum, v)
	if n-v != *sum { // the sum saturated
		return false
	}
	*sum = n
	return true
}

// Whole returns the quantity in the scheduler's units when it is a whole number of them.
func Whole(name v1.ResourceName, q *resource.Quantity) (int64, bool) {
	v, ok := q.AsInt64()
	if name != v1.ResourceCPU {
		if ok {
			return v, true
		}
		v = q.Value()
		return v, q.CmpInt64(v) == 0
	}
	if ok && v <= math.MaxInt64/1000 && v >= math.MinInt64/1000 {
		return v * 1000, true
	}
	v = q.MilliValue()
	return v, q.Cmp(*resource.NewMilliQuantity(v, resource.DecimalSI)) == 0
}
