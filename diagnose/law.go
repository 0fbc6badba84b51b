package diagnose

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// This file says what advice never tolerates, removes or sets, as data. law_of_taints.go and law_of_labels.go read it. A change
// that the law forbids is in no relaxation; Diagnosis.Dropped has it with the reason.

// taintKind says whose a taint is.
type taintKind int

const (
	pool     taintKind = iota // of a person, or of a pool: every taint without a row
	agent                     // an agent sets and lifts it: advice neither tolerates nor removes it
	cordon                    // kubectl cordon: see the law of marks
	reserved                  // nodes of the cluster's own pods: only pods of kube-system tolerate it
	spot                      // nodes that may vanish: tolerated as the second remedy, and never by pods that cannot bear it
	provider                  // nodes that a provider makes for one pod or for pods of its own
)

// taintRow says what a taint means. The key "a/*" means all keys that begin with "a/", and "*/a" all that end with "/a". The name of the
// node takes the place of %s in says and cure.
type taintRow struct {
	keys []string
	kind taintKind
	of   string // of a pod whose nodes have it
	why  string // neither tolerate nor remove
	says string // what is wrong with the node
	cure string // what a person does instead, outside the API; "": nothing, other nodes are the way
}

var taintRows = []taintRow{
	{[]string{v1.TaintNodeNotReady}, agent, causeNotReady, "the node controller sets it again in seconds, and a pod would start without a kubelet",
		"%s is not ready", "bring %s back (its kubelet reports Ready)"},
	{[]string{v1.TaintNodeUnreachable}, agent, causeNotReady, "the node controller sets it again in seconds, and no kubelet would start the pod",
		"%s is unreachable", "bring %s back (its kubelet answers)"},
	{[]string{v1.TaintNodeNetworkUnavailable}, agent, causeNotReady, "the node controller sets it again in seconds, and the pod would have no network",
		"%s has no network", "start the network plugin of %s"},
	{[]string{v1.TaintNodeDiskPressure}, agent, causePressure, "the kubelet refuses every pod that is not critical, and the pod is made again for ever",
		"%s has DiskPressure", "free disk on %s (the kubelet then lifts the taint)"},
	{[]string{v1.TaintNodePIDPressure}, agent, causePressure, "the kubelet refuses every pod that is not critical, and the pod is made again for ever",
		"%s has PIDPressure", "end processes on %s (the kubelet then lifts the taint)"},
	{[]string{v1.TaintNodeMemoryPressure}, agent, causePressure, "the pod would start where the kubelet evicts pods for memory",
		"%s has MemoryPressure", "free memory on %s (the kubelet then lifts the taint)"},
	{[]string{v1.TaintNodeUnschedulable}, cordon, causeCordoned, "the node is to be emptied", "%s is cordoned", ""},
	{[]string{v1.TaintNodeOutOfService}, agent, causeNotReady, "it allows forced deletion: on a live node two writers would have one volume",
		"%s is out of service", "bring %s back, and then remove its taint out-of-service"},
	{[]string{"node.cloudprovider.kubernetes.io/uninitialized"}, agent, causeStarting, "the node has no address, zone or provider ID yet, and its cloud controller lifts the taint",
		"%s waits for the cloud controller", "start the cloud controller (it lifts the taint of %s)"},
	{[]string{"node.cloudprovider.kubernetes.io/shutdown"}, agent, causeNotReady, "the machine is shut down, and its cloud controller lifts the taint",
		"%s is shut down", "start the machine of %s"},
	{[]string{"ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler*"}, agent, causeLeaving, "the node goes away in minutes", "the cluster autoscaler deletes %s", ""},
	{[]string{"karpenter.sh/disrupted", "karpenter.sh/disruption"}, agent, causeLeaving, "the node goes away in minutes", "Karpenter deletes %s", ""},
	{[]string{"karpenter.sh/unregistered", "karpenter.sh/not-ready", "startup-taint.cluster-autoscaler.kubernetes.io/*", "ignore-taint.cluster-autoscaler.kubernetes.io/*",
		"status-taint.cluster-autoscaler.kubernetes.io/*", "readiness.k8s.io/*", "*/agent-not-ready", "node.cluster.x-k8s.io/uninitialized"}, agent, causeStarting,
		"an agent removes it when the node can run pods", "%s is still starting", "look at the agent's pod on %s (it lifts the taint when it is ready)"},
	{[]string{"cloud.google.com/impending-node-termination", "aws-node-termination-handler/*"}, agent, causeLeaving, "the machine stops", "%s is about to stop", ""},
	{[]string{"NodeWithImpairedVolumes"}, agent, causeNotReady, "the machine cannot attach volumes", "%s cannot attach volumes", "mend the machine of %s"},
	{[]string{"medik8s.io/*"}, agent, causeNotReady, "a remediation agent holds the node", "%s is in quarantine", "repair %s"},
	{[]string{"eks.amazonaws.com/compute-type", "virtual-kubelet.io/*"}, provider, causeReserved, "a provider makes such a node for pods of its own profile", "%s is reserved by the provider", ""},
	{[]string{"CriticalAddonsOnly", "node-role.kubernetes.io/etcd"}, reserved, causeReserved, "the nodes are for pods of the cluster itself", "%s is reserved for pods of the cluster itself", ""},
	{[]string{roleControlPlane, roleMaster}, reserved, causeReserved, "control plane nodes are for the control plane", "%s is of the control plane", ""},
	{[]string{"kubernetes.azure.com/scalesetpriority", "cloud.google.com/gke-spot", "cloud.google.com/gke-preemptible", "cloud.google.com/gke-provisioning"}, spot, causeReserved,
		"nodes of a spot pool may be taken away at any time", "%s is of a spot pool", ""},
}

// startupRow is of taints that no key tells: the startupTaints of a NodePool, which the annotation of a node lists.
var startupRow = taintRow{kind: agent, of: causeStarting, why: "an agent removes it when the node can run pods", says: "%s is still starting",
	cure: "look at the agent's pod on %s (it lifts the taint when it is ready)"}

const (
	roleControlPlane = "node-role.kubernetes.io/control-plane"
	roleMaster       = "node-role.kubernetes.io/master"
	// whyPool is why a taint of a person stays.
	whyPool = "the whole pool has the taint, which keeps it for the pods that are meant for it"
	// whyNotMeant is why a pod does not tolerate the taint of a pool.
	whyNotMeant = "the pod neither asks for what the pool alone has nor selects it"
	// whyMaintenance is why a pod does not tolerate the taint of a node that is to be emptied.
	whyMaintenance = "the node is to be emptied: the taint goes when its maintenance is over"
	// whyQuarantine is why a taint stays that says that the hardware is bad.
	whyQuarantine = "the taint says that the node is faulty"
)

// deviceTaints are keys that name a resource: such a taint keeps a pool of devices for the pods that ask for them.
var deviceTaints = []string{"nvidia.com/*", "amd.com/*", "gpu.intel.com/*", "habana.ai/*", "aws.amazon.com/neuron*", "google.com/tpu*", "*/gpu"}

// maintenanceTaints are keys with which a person marks a node that is to be emptied, also where all nodes of a pool have the mark. Stars are
// as in taintRow.
var maintenanceTaints = []string{"*maintenance*"}

// quarantines are annotations of a node in which an agent writes the taints that it has set, or that it has cordoned the node.
var quarantines = []string{"quarantineHealthEventAppliedTaints", "quarantineHealthEventIsCordoned"}

// factLabels are the labels that state a fact about a node. Whoever gives them a value without the fact makes volumes that cannot be
// attached, or pods of the wrong machine. Stars are as in taintRow.
var factLabels = []string{
	v1.LabelHostname, v1.LabelArchStable, v1.LabelOSStable, v1.LabelInstanceTypeStable, "topology.*", "failure-domain.beta.*", "beta.kubernetes.io/*",
	"node-role.*", "node-restriction.*", "*.node-restriction.kubernetes.io/*", "karpenter.sh/*", "karpenter.k8s.aws/*", "eks.amazonaws.com/*", "cloud.google.com/*",
	"kubernetes.azure.com/*", "nvidia.com/*", "feature.node.kubernetes.io/*",
}

// systemLabels say which system and architecture a node has. machineLabels say which machine a pod needs: advice drops no
// requirement of them.
var (
	systemLabels  = []string{v1.LabelArchStable, v1.LabelOSStable, "beta.kubernetes.io/arch", "beta.kubernetes.io/os"}
	machineLabels = append([]string{"node-role.*"}, systemLabels...)
)

const (
	whyMachine   = "the pod needs this kind of machine"
	whyFact      = "the label states a fact about the node"
	whyTaken     = "a label that goes takes the node out of its pool"
	whyNoPool    = "no node that has the label is otherwise like this one"
	whyPurpose   = "the pod would lose what it is there for"
	whyWritten   = "the DaemonSet controller writes the node of the pod"
	whyBack      = "its controller makes the pod again"
	whyHigher    = "a pod that leaves is more important than the pod"
	whyEqual     = "a pod that leaves for good is as important as the pod: the pool needs more room"
	whyNotFirst  = "it is no first remedy, and there is no other"
	whyGate      = "a controller removes the gate when the pod may start"
	whyMark      = "an agent has cordoned the node"
	whyLeaves    = "the node is being deleted"
	whyNotOpen   = "the node has more in its way than the mark"
	whySpread    = "a spread constraint is the cause, and the node may be in maintenance"
	whyTemplate  = "the template of its controller does not have the rule: something else has written it into the pod"
	whyRuntime   = "the RuntimeClass of the pod may have added the rule, and adds it again"
	whyOtherPool = "the pod is meant for its pool"
	whyHalf      = "less than half of what the pod asks for"
	whyNoMore    = "no more pods of the owner run then"
	whyAhead     = "pods that are tried before take the place"
	whyTwice     = "the pod prefers the same already, and the API server refuses a constraint twice"
	whySpot      = "a spot node may be taken away at any time, and the pod is the only one, has state, or is the cluster's own"
)

// gateOwners are the controllers of scheduling gates, by the prefix of the gate.
var gateOwners = map[string]string{"kueue.x-k8s.io/": "Kueue"}

// gateAsks say what a person does about a gate of a known controller, by the prefix of the gate. %s is the owner of the pod.
var gateAsks = map[string]string{"kueue.x-k8s.io/": "ask Kueue: the Workload of %s and its queue say when it is admitted"}

// matches reports whether a key is one of some keys with stars.
func matches(keys []string, key string) bool {
	for _, k := range keys {
		tail, suffix := strings.CutPrefix(k, "*")
		head, prefix := strings.CutSuffix(tail, "*")
		switch {
		case suffix && prefix && strings.Contains(key, head), suffix && !prefix && strings.HasSuffix(key, tail), !suffix && prefix && strings.HasPrefix(key, head), key == k:
			return true
		}
	}
	return false
}
