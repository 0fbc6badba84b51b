package key

import v1 "k8s.io/api/core/v1"

// Constraints appends the topology spread constraints of a pod, and the controller from which default constraints derive their
// selector.
func Constraints(dst []byte, pod *v1.Pod) []byte {
	dst = Controller(dst, pod)
	list := pod.Spec.TopologySpreadConstraints
	dst = Len(dst, len(list))
	for i := range list {
		c := &list[i]
		dst = Text(Text(Int(dst, int64(c.MaxSkew)), c.TopologyKey), c.WhenUnsatisfiable)
		dst = Texts(Selector(dst, c.LabelSelector), c.MatchLabelKeys)
		dst = Optional(dst, c.MinDomains, func(dst []byte, n int32) []byte { return Int(dst, int64(n)) })
		dst = Optional(dst, c.NodeAffinityPolicy, Text)
		dst = Optional(dst, c.NodeTaintsPolicy, Text)
	}
	return dst
}
