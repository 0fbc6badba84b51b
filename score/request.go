package score

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
)

// fitRequests sets what the pod counts with in the score of NodeResourcesFit (rules C2.1 and C2.2).
func fitRequests(pod *v1.Pod, cols []column) {
	cpu, memory := overhead.NonZeroIncoming(pod)
	others := false
	for k := range cols {
		switch c := &cols[k]; c.name {
		case v1.ResourceCPU:
			c.request = cpu
		case v1.ResourceMemory:
			c.request = memory
		default:
			others = true
		}
	}
	if !others {
		return
	}
	overhead.Each(pod, overhead.Options{IgnorePodLevel: true}, func(name v1.ResourceName, value int64) {
		for k := range cols {
			if c := &cols[k]; c.name == name && name != v1.ResourceCPU && name != v1.ResourceMemory {
				c.request = value
			}
		}
	})
}

// exactRequests sets what the pod really requests (rule C2.3).
func exactRequests(pod *v1.Pod, cols []column) {
	overhead.Each(pod, overhead.Options{}, func(name v1.ResourceName, value int64) {
		for k := range cols {
			if cols[k].name == name {
				cols[k].request = value
			}
		}
	})
}
