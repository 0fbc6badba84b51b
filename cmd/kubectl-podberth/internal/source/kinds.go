// Package source reads the cluster of a kubeconfig context and writes what it reads as a dump: JSON lists that package dump of the
// examples reads. It sends GET requests only.
package source

// Kind is a kind of objects that a question may need.
type Kind struct {
	Resource string // as in a Role: "pods"
	Group    string // of the API; "" is core
	Version  string
}

// String returns the kind as kubectl writes it: "pods", "replicasets.apps".
func (k Kind) String() string {
	if k.Group == "" {
		return k.Resource
	}
	return k.Resource + "." + k.Group
}

// path returns where the API server lists the kind in all namespaces.
func (k Kind) path() string {
	if k.Group == "" {
		return "/api/" + k.Version + "/" + k.Resource
	}
	return "/apis/" + k.Group + "/" + k.Version + "/" + k.Resource
}

// The kinds that package dump reads.
var (
	Nodes       = Kind{"nodes", "", "v1"}
	Pods        = Kind{"pods", "", "v1"}
	namespaces  = Kind{"namespaces", "", "v1"}
	services    = Kind{"services", "", "v1"}
	controllers = Kind{"replicationcontrollers", "", "v1"}
	replicaSets = Kind{"replicasets", "apps", "v1"}
	statefuls   = Kind{"statefulsets", "apps", "v1"}
	deployments = Kind{"deployments", "apps", "v1"}
	daemons     = Kind{"daemonsets", "apps", "v1"}
	jobs        = Kind{"jobs", "batch", "v1"}
	budgets     = Kind{"poddisruptionbudgets", "policy", "v1"}
	priorities  = Kind{"priorityclasses", "scheduling.k8s.io", "v1"}
	runtimes    = Kind{"runtimeclasses", "node.k8s.io", "v1"}
	limitRanges = Kind{"limitranges", "", "v1"}

	volumes     = Kind{"persistentvolumes", "", "v1"}
	claims      = Kind{"persistentvolumeclaims", "", "v1"}
	classes     = Kind{"storageclasses", "storage.k8s.io", "v1"}
	csiNodes    = Kind{"csinodes", "storage.k8s.io", "v1"}
	csiDrivers  = Kind{"csidrivers", "storage.k8s.io", "v1"}
	capacities  = Kind{"csistoragecapacities", "storage.k8s.io", "v1"}
	attachments = Kind{"volumeattachments", "storage.k8s.io", "v1"}

	deviceClasses = Kind{"deviceclasses", "resource.k8s.io", "v1"}
	slices        = Kind{"resourceslices", "resource.k8s.io", "v1"}
	deviceClaims  = Kind{"resourceclaims", "resource.k8s.io", "v1"}
	templates     = Kind{"resourceclaimtemplates", "resource.k8s.io", "v1"}
)

// Need is what a question needs of a cluster. Pods and nodes are always read.
type Need struct {
	// Placing: the question looks for nodes for pods. Volumes and devices are read only when a pod has some.
	Placing bool
	// Budgets: the question asks PodDisruptionBudgets. Their controllers are read only when there are budgets.
	Budgets bool
	// Workloads: the question makes pods of controllers, or checks their templates.
	Workloads bool
	// Admission: the question admits pods as the API server does.
	Admission bool
	// All: everything, whatever the pods have.
	All bool
	// Node limits nodes and pods to one node; "" for all.
	Node string
	// Stats and Settings: what the kubelets measure, and how they are configured to evict. With Node a kubelet that gives no stats
	// is an error, without it a warning.
	Stats, Settings bool
}

// first returns the kinds that are read whatever the pods have.
func (n Need) first() []Kind {
	out := []Kind{Nodes, Pods}
	if n.Placing || n.All {
		out = append(out, namespaces, services, controllers, replicaSets, statefuls, deviceClasses)
	}
	if n.Placing || n.Budgets || n.All {
		out = append(out, budgets)
	}
	if n.Admission || n.All {
		out = append(out, priorities, runtimes, limitRanges)
	}
	return out
}

// second returns the kinds that are read because of what the first kinds hold.
func (n Need) second(s seen) []Kind {
	var out []Kind
	if s.count[budgets.Resource] > 0 && !n.Placing {
		out = append(out, controllers, replicaSets, statefuls)
	}
	if n.Workloads || n.All || s.count[budgets.Resource] > 0 {
		out = append(out, deployments, daemons, jobs)
	}
	if n.Workloads && !n.Placing && s.count[budgets.Resource] == 0 {
		out = append(out, controllers, replicaSets, statefuls)
	}
	if n.All || n.Placing && s.volumes {
		out = append(out, volumes, claims, classes, csiNodes, csiDrivers, capacities, attachments)
	}
	if n.All || n.Placing && (s.devices || s.count[deviceClasses.Resource] > 0) {
		out = append(out, slices, deviceClaims, templates)
	}
	return out
}
