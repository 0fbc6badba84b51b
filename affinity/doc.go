// Package affinity decides on which nodes a pod may and would rather run: by the nodes' labels (nodeSelector and node
// affinity) and by the pods that already run near a node (inter-pod affinity and anti-affinity).
//
//	ne, err := affinity.CompileNode(pod, affinity.NodeOptions{})  // err: the pod is rejected as a whole
//	pe, err := affinity.CompilePods(pod, affinity.PodOptions{})
//	ns, ps := ne.Count(cluster), pe.Count(cluster)
//	if ns.Check(i) == 0 && ps.Check(i) == 0 {                     // slot i is feasible
//		near, liked := ps.Raw(i), ns.Raw(i)                       // Normalize brings them to 0..100
//	}
//
// Node affinity: a node is allowed when it has every pair of nodeSelector, and one of the required terms matches, and one
// of the profile's added terms; its raw score is the sum of the weights of the preferred terms that match.
//
// Inter-pod affinity, with the domain of a node being its value of a term's topology key: a node is allowed when the
// domain of each required affinity term has a running pod that matches all of them (or the pod is the first of its
// group), when no domain of a required anti-affinity term has a pod that matches the term, and when no running pod's
// required anti-affinity term matches the pod in the node's domain. Its raw score is the sum of the weights, preferred
// anti-affinity negative, of the pod's terms that match running pods in the domain and of running pods' terms that match
// the pod.
//
// MatchNode and CheckPod are the one-call forms. Weights are 1 to 100, normalized scores 0 to 100. Evaluators are
// immutable; a State is safe for concurrent reads, and Apply, Add and Remove let it follow pods that come and go; a Trial
// is a cheap copy for what-if. Arguments are never modified, answers do not depend on the order of nodes, pods or map
// entries, and nothing panics on bad data: what cannot be parsed is reported by Compile and treated as v1.36.3 treats it.
// A nil list or map is an empty one, except where the API tells them apart; pods and nodes are not nil, unless a comment
// says so.
//
// Cost: Count is proportional to the nodes of the topology keys and the running pods that matter when the cluster offers
// its indexes (see Cluster), else to all running pods; Check and Raw take some nanoseconds and allocate nothing.
//
// The package follows Kubernetes v1.36.3 with its default feature gates, including that a namespaceSelector made only of
// NotIn and DoesNotExist matches every namespace (PodOptions.DocumentedNamespaceSelector corrects that). It does not look
// at taints (package taints), topology spread (package spread), spec.nodeName or resources (package filter).
package affinity
