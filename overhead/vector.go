package overhead

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/plainpod"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// Each calls yield for every resource of [Requests] that kube-scheduler counts, zero amounts included: cpu in thousandths,
// memory and ephemeral-storage in bytes, then extended resources, huge pages and the like ([resources.IsScalar]) by name.
// Amounts are those of the whole pod, rounded up once and limited to the int64 range. "pods" and names that the scheduler
// does not know are left out. Each does not allocate when amounts are whole thousandths of cpu and whole units of other
// resources, and the pod has at most eight names. A nil pod has no amounts. yield must not be nil.
func Each(pod *v1.Pod, o Options, yield func(name v1.ResourceName, value int64)) {
	eachRequest(pod, o, nil, yield)
}

func eachRequest(pod *v1.Pod, o Options, schema *resources.Schema, yield func(name v1.ResourceName, value int64)) {
	if plain(pod, o) {
		if p, ok := plainpod.PairOf(pod); ok {
			if p.Named[resources.CPU] {
				yield(v1.ResourceCPU, p.Amounts[resources.CPU])
			}
			if p.Named[resources.Memory] {
				yield(v1.ResourceMemory, p.Amounts[resources.Memory])
			}
			return
		}
	}
	generalRequests(pod, o, schema, yield)
}

// generalRequests is eachRequest for every pod, plain or not.
func generalRequests(pod *v1.Pod, o Options, schema *resources.Schema, yield func(name v1.ResourceName, value int64)) {
	s := sums{schema: schema}
	if s.pod(pod, o) {
		s.sort()
		for i := range s.n {
			if a := &s.at[i]; a.in(hasTotal) {
				yield(a.name, a.total)
			}
		}
		return
	}
	list := Requests(pod, o)
	for _, name := range sortedNames(list) {
		if counted(name, schema) {
			yield(name, resources.Value(name, list[name]))
		}
	}
}

// AppendRequests appends to dst a row of schema.Len() columns with the amounts of [Each], interning names that the schema
// lacks. Pass buf[:0] to use the memory of a row again. Column [resources.Pods] stays 0: a caller that counts pods adds 1.
// Rows of names that the schema has already do not allocate. A nil pod asks for nothing. The schema must not be nil.
func AppendRequests(dst resources.Vector, schema *resources.Schema, pod *v1.Pod, o Options) resources.Vector {
	start := len(dst)
	for range schema.Len() {
		dst = append(dst, 0)
	}
	if plain(pod, o) {
		if _, _, ok := plainpod.Add(dst[start:], schema, pod); ok {
			return dst
		}
		clear(dst[start:])
	}
	eachRequest(pod, o, schema, func(name v1.ResourceName, value int64) {
		c := schema.Intern(name)
		dst = dst.Grow(start + schema.Len())
		dst[start+c] = value
	})
	return dst
}

// NonZero returns what a pod on a node counts with in NodeResourcesFit's scores, by the rule of a release: the cpu and memory of [Requests] with
// UseStatus, where containers that name none count 100m and 200Mi. When the pod sets spec.resources.requests, NonZero fills
// in only a resource that Requests does not name at all. Even a pod overhead of 10m names cpu. A nil pod counts 0.
func NonZero(pod *v1.Pod, v release.Version) (cpuMilli, memoryBytes int64) {
	o := Options{UseStatus: true, Release: v}
	cpu, memory := true, true
	if pod != nil && podLevelRequests(pod) {
		Each(pod, o, func(name v1.ResourceName, _ int64) {
			cpu = cpu && name != v1.ResourceCPU
			memory = memory && name != v1.ResourceMemory
		})
	}
	return nonZero(pod, o, cpu, memory)
}

// NonZeroIncoming returns what an incoming pod counts with in NodeResourcesFit's scores: the cpu and memory of [Requests],
// where containers that name none count 100m and 200Mi. Pod-level resources are ignored, as in v1.37. Each with
// IgnorePodLevel returns the other resources that count in scores. A nil pod counts 0.
func NonZeroIncoming(pod *v1.Pod) (cpuMilli, memoryBytes int64) {
	return nonZero(pod, Options{IgnorePodLevel: true}, true, true)
}

// plain reports whether the pod is plain and the options leave it plain.
func plain(pod *v1.Pod, o Options) bool {
	return plainpod.Is(pod) && len(o.Missing) == 0 && !(o.UseStatus && podinfo.Resized(pod))
}

func nonZero(pod *v1.Pod, o Options, cpu, memory bool) (cpuMilli, memoryBytes int64) {
	if plain(pod, o) {
		if cpuMilli, memoryBytes, ok := plainpod.Add(nil, nil, pod); ok {
			return cpuMilli, memoryBytes
		}
	}
	return generalNonZero(pod, o, cpu, memory)
}

// generalNonZero is nonZero for every pod, plain or not.
func generalNonZero(pod *v1.Pod, o Options, cpu, memory bool) (cpuMilli, memoryBytes int64) {
	s := sums{basic: true}
	if cpu {
		s.miss(v1.ResourceCPU, plainpod.MilliCPU)
	}
	if memory {
		s.miss(v1.ResourceMemory, plainpod.MemoryBytes)
	}
	if s.pod(pod, o) {
		for i := range s.n {
			switch a := &s.at[i]; a.name {
			case v1.ResourceCPU:
				cpuMilli = a.total
			case v1.ResourceMemory:
				memoryBytes = a.total
			}
		}
		return cpuMilli, memoryBytes
	}
	o.Missing = v1.ResourceList{}
	if cpu {
		o.Missing[v1.ResourceCPU] = *resource.NewMilliQuantity(plainpod.MilliCPU, resource.DecimalSI)
	}
	if memory {
		o.Missing[v1.ResourceMemory] = *resource.NewQuantity(plainpod.MemoryBytes, resource.BinarySI)
	}
	list := Requests(pod, o)
	return resources.Value(v1.ResourceCPU, list[v1.ResourceCPU]), resources.Value(v1.ResourceMemory, list[v1.ResourceMemory])
}

// counted reports whether the scheduler counts the name in requests. A schema that has the name saves the examination.
func counted(name v1.ResourceName, schema *resources.Schema) bool {
	switch name {
	case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return true
	case v1.ResourcePods:
		return false
	}
	if schema != nil {
		if _, ok := schema.Column(name); ok {
			return true
		}
	}
	return resources.IsScalar(name)
}

// compareNames orders cpu, memory and ephemeral-storage first, then the others by name.
func compareNames(a, b v1.ResourceName) int {
	if ra, rb := rank(a), rank(b); ra != rb {
		return ra - rb
	}
	return cmp.Compare(a, b)
}

// foremost are the names that come before the others.
var foremost = [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage}

// rank returns the place of a name among the foremost, and their number for every other name.
func rank(name v1.ResourceName) int {
	for i, first := range foremost {
		if name == first {
			return i
		}
	}
	return len(foremost)
}

func sortedNames(list v1.ResourceList) []v1.ResourceName {
	names := make([]v1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.SortFunc(names, compareNames)
	return names
}
