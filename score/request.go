package score

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
)

// fitRequest returns what the pod counts with in the score of NodeResourcesFit, by resource (rules C2.1 and C2.2).
func fitRequest(pod *v1.Pod) func(v1.ResourceName) int64 {
	cpu, memory := overhead.NonZeroIncoming(pod)
	other := request(pod, overhead.Options{IgnorePodLevel: true})
	return func(name v1.ResourceName) int64 {
		switch name {
		case v1.ResourceCPU:
			return cpu
		case v1.ResourceMemory:
			return memory
		}
		return other(name)
	}
}

// exactRequest returns what the pod really requests, by resource (rule C2.3).
func exactRequest(pod *v1.Pod) func(v1.ResourceName) int64 { return request(pod, overhead.Options{}) }

func request(pod *v1.Pod, o overhead.Options) func(v1.ResourceName) int64 {
	type amount struct {
		name  v1.ResourceName
		value int64
	}
	var list []amount
	overhead.Each(pod, o, func(name v1.ResourceName, value int64) { list = append(list, amount{name, value}) })
	return func(name v1.ResourceName) int64 {
		for _, a := range list {
			if a.name == name {
				return a.value
			}
		}
		return 0
	}
}
