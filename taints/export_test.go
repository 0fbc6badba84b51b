package taints

import v1 "k8s.io/api/core/v1"

// WouldHelp and CordonWouldHelp are the hints, for the tests.
func (o Options) WouldHelp(pod *v1.Pod, old, new any) (bool, error) {
	return o.wouldHelp(pod, old, new)
}

func (o Options) CordonWouldHelp(pod *v1.Pod, old, new any) (bool, error) {
	return o.cordonWouldHelp(pod, old, new)
}
