// Package affinity decides which nodes a pod may run on and which of them it prefers: by the labels of nodes (nodeSelector
// and node affinity) and by the pods that run near a node (inter-pod affinity and anti-affinity).
//
//	ne, err := affinity.CompileNode(pod, affinity.NodeOptions{})  // err: the pod is rejected as a whole
//	pe, err := affinity.CompilePods(pod, affinity.PodOptions{})
//	ns, ps := ne.On(snapshot), pe.Count(snapshot)
//	if ns.Check(i) == 0 && ps.Check(i) == 0 {                     // slot i is feasible
//		near, liked := ps.Raw(i), ns.Raw(i)                       // Normalize turns them into 0 to 100
//	}
//
// [MatchNode] answers for one node in one call.
//
// # The rules
//
// Node affinity: a node is allowed when it has every pair of nodeSelector, one of the pod's required terms matches, and one
// of the terms that the profile adds matches. Its raw score is the sum of the weights of the preferred terms that match.
//
// Inter-pod affinity: the domain of a node is its value of a term's topology key. A node is allowed when all of this holds:
//
//  1. For each required affinity term, the node's domain has a running pod that matches all these terms; or the pod is the
//     first of its group.
//  2. No pod in the node's domain matches a required anti-affinity term of the pod.
//  3. No required anti-affinity term of a running pod in the node's domain matches the pod.
//
// The raw score is a sum of weights: of the pod's terms that match running pods in the domain, and of running pods' terms
// that match the pod. Weights of anti-affinity count negative.
//
// # Units and cost
//
// Weights run from 1 to 100, normalized scores from 0 to 100. A nil list or map means the same as an empty one, except where
// the API distinguishes them.
//
// Apply lets a [State] follow pods that come and leave. A [Trial] is a cheap copy for what-if. Bad data does not panic: the
// compile functions report what cannot be parsed, and treat it as v1.37.2 does. What all packages promise is said in
// [github.com/podberth/podberth].
//
// Cost: On is O(classes of equal nodes). Count is O(nodes) for each topology key, plus the running pods that the terms can
// match. Without the indexes of the cluster (see [Cluster]) it reads all running pods. Check and Raw take some nanoseconds
// and allocate nothing.
//
// Taints are in package taints, topology spread is in package spread, spec.nodeName and resources are in package filter.
//
// The package follows Kubernetes v1.37.2 with default feature gates. [PodOptions.Release] chooses another release. Up to v1.36 a
// namespaceSelector made only of NotIn and DoesNotExist matches every namespace.
package affinity
