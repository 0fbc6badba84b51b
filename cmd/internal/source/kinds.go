// Package source reads the cluster of a kubeconfig context and writes what it reads as a dump: JSON lists that package dump reads. It
// sends GET requests only.
package source

import "github.com/podberth/podberth/cmd/internal/command"

// kind is a kind of objects that a question may need.
type kind struct {
	Resource string // as in a Role: "pods"
	Group    string // of the API; "" is core
	Version  string
}

// String returns the kind as kubectl writes it: "pods", "replicasets.apps".
func (k kind) String() string {
	if k.Group == "" {
		return k.Resource
	}
	return k.Resource + "." + k.Group
}

// path returns where the API server lists the kind in all namespaces.
func (k kind) path() string {
	if k.Group == "" {
		return "/api/" + k.Version + "/" + k.Resource
	}
	return "/apis/" + k.Group + "/" + k.Version + "/" + k.Resource
}

// The kinds that package dump reads.
var (
	nodes       = kind{"nodes", "", "v1"}
	pods        = kind{"pods", "", "v1"}
	namespaces  = kind{"namespaces", "", "v1"}
	services    = kind{"services", "", "v1"}
	controllers = kind{"replicationcontrollers", "", "v1"}
	replicaSets = kind{"replicasets", "apps", "v1"}
	statefuls   = kind{"statefulsets", "apps", "v1"}
	deployments = kind{"deployments", "apps", "v1"}
	daemons     = kind{"daemonsets", "apps", "v1"}
	jobs        = kind{"jobs", "batch", "v1"}
	cronJobs    = kind{"cronjobs", "batch", "v1"}
	autoscalers = kind{"horizontalpodautoscalers", "autoscaling", "v2"}
	budgets     = kind{"poddisruptionbudgets", "policy", "v1"}
	priorities  = kind{"priorityclasses", "scheduling.k8s.io", "v1"}
	runtimes    = kind{"runtimeclasses", "node.k8s.io", "v1"}
	limitRanges = kind{"limitranges", "", "v1"}
	quotas      = kind{"resourcequotas", "", "v1"}

	volumes     = kind{"persistentvolumes", "", "v1"}
	claims      = kind{"persistentvolumeclaims", "", "v1"}
	classes     = kind{"storageclasses", "storage.k8s.io", "v1"}
	csiNodes    = kind{"csinodes", "storage.k8s.io", "v1"}
	csiDrivers  = kind{"csidrivers", "storage.k8s.io", "v1"}
	capacities  = kind{"csistoragecapacities", "storage.k8s.io", "v1"}
	attachments = kind{"volumeattachments", "storage.k8s.io", "v1"}

	deviceClasses = kind{"deviceclasses", "resource.k8s.io", "v1"}
	slices        = kind{"resourceslices", "resource.k8s.io", "v1"}
	deviceClaims  = kind{"resourceclaims", "resource.k8s.io", "v1"}
	taintRules    = kind{"devicetaintrules", "resource.k8s.io", "v1"} // since v1.37
	templates     = kind{"resourceclaimtemplates", "resource.k8s.io", "v1"}

	groups     = kind{"podgroups", "scheduling.k8s.io", "v1beta1"} // since v1.37, where their gates are on
	composites = kind{"compositepodgroups", "scheduling.k8s.io", "v1alpha3"}

	nodePools = kind{"nodepools", "karpenter.sh", "v1"} // where nodes have the label of Karpenter
)

// first returns the kinds that are read whatever the pods have.
func first(n command.Need) []kind {
	out := []kind{nodes, pods}
	if n.Placing || n.All {
		out = append(out, namespaces, services, controllers, replicaSets, statefuls, deviceClasses)
	}
	if n.Placing || n.Budgets || n.All {
		out = append(out, budgets)
	}
	if n.Admission || n.All {
		out = append(out, priorities, runtimes, limitRanges, quotas)
	}
	return out
}

// second returns the kinds that are read because of what the first kinds hold.
func second(n command.Need, s seen) []kind {
	var out []kind
	if s.count[budgets.Resource] > 0 && !n.Placing {
		out = append(out, controllers, replicaSets, statefuls)
	}
	if n.Workloads || n.All || s.count[budgets.Resource] > 0 {
		out = append(out, deployments, daemons, jobs)
	}
	if n.Workloads || n.All {
		out = append(out, cronJobs, autoscalers)
	}
	if n.Workloads && !n.Placing && s.count[budgets.Resource] == 0 {
		out = append(out, controllers, replicaSets, statefuls)
	}
	if n.All || n.Placing && s.volumes {
		out = append(out, volumes, claims, classes, csiNodes, csiDrivers, capacities, attachments)
	}
	if s.pooled && (n.Placing || n.All) {
		out = append(out, nodePools)
	}
	if n.All || s.groups {
		out = append(out, groups, composites)
	}
	switch {
	case n.All || n.Placing && (s.devices || s.count[deviceClasses.Resource] > 0):
		out = append(out, slices, taintRules, deviceClaims, templates)
	case n.Devices && s.devices:
		out = append(out, slices, taintRules, deviceClaims)
	}
	return out
}
