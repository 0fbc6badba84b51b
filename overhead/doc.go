// Package overhead computes the resources that a pod asks for: requests and limits with pod overhead.
//
//	pod = overhead.Default(pod)                                             // what the API server fills in
//	requests := overhead.Requests(pod, overhead.Options{})                  // exact quantities by name
//	row := overhead.AppendRequests(nil, schema, pod, overhead.Options{})    // the same in the scheduler's integers
//	for _, part := range overhead.Explain(pod, overhead.Options{}) {        // where each request comes from
//		fmt.Println(part)
//	}
//	offered, err := overhead.Allocatable(capacity, reservations)            // what a node offers to pods
//
// The request of a resource is
//
//	max(containers + sidecars, max over init containers i (i + sidecars declared before i)), replaced by spec.resources, + overhead
//
// Requests and [Limits] return exact quantities. Each, [AppendRequests] and [NonZero] return the integers that the scheduler
// counts with: thousandths of cpu, bytes of memory and storage, and whole units of other resources. The integers are those
// of the whole pod, rounded up once and limited to the int64 range. Options selects between an incoming pod (the zero value)
// and a pod on a node (UseStatus). Options can also leave out parts of the sum.
//
// Results share no memory with arguments. The functions are safe for concurrent use, except that [AppendRequests] may add
// columns to the schema. A nil pod is an empty pod. The functions compute with negative amounts as they are; the API server
// rejects negative amounts (package admission). What all packages promise is said in
// [github.com/podberth/podberth].
//
// The cost is O(containers x resources). The integer forms do not allocate if the amounts are whole, the pod names at most
// eight resources and the schema has their columns.
//
// Package overhead/runtimeclass sets the overhead of a pod. Package overhead/kubelet has quality of service, cgroups and OOM
// scores. Package overhead/quota has the charge in quotas. Packages filter and score decide whether and how well a pod fits.
//
// This package follows Kubernetes v1.37.2 with default feature gates. docs/fidelity/overhead.md lists the rules (O1 to O5,
// O11, O12) and the known differences: sums beyond int64 saturate where kube-scheduler wraps around.
package overhead
