package hostile

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/release"
)

// words are the texts of types whose values have a meaning; an unknown one comes with each.
var words = map[reflect.Type][]string{
	reflect.TypeFor[v1.ResourceName]():                         {"cpu", "memory", "pods", "ephemeral-storage", "example.com/gpu", "hugepages-2Mi", "hugepages-", "attachable-volumes-x", "", "a b", "requests.cpu"},
	reflect.TypeFor[metav1.LabelSelectorOperator]():            {"In", "NotIn", "Exists", "DoesNotExist"},
	reflect.TypeFor[v1.NodeSelectorOperator]():                 {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"},
	reflect.TypeFor[v1.TolerationOperator]():                   {"", "Exists", "Equal", "Gt", "Lt"},
	reflect.TypeFor[v1.TaintEffect]():                          {"", "NoSchedule", "NoExecute", "PreferNoSchedule"},
	reflect.TypeFor[v1.UnsatisfiableConstraintAction]():        {"DoNotSchedule", "ScheduleAnyway", "DoNotSchedule"},
	reflect.TypeFor[v1.NodeInclusionPolicy]():                  {"Honor", "Ignore"},
	reflect.TypeFor[v1.PodPhase]():                             {"", "Pending", "Running", "Succeeded", "Failed"},
	reflect.TypeFor[v1.ConditionStatus]():                      {"True", "False", "Unknown"},
	reflect.TypeFor[v1.PodConditionType]():                     {"Ready", "PodScheduled", "DisruptionTarget"},
	reflect.TypeFor[v1.NodeConditionType]():                    {"Ready", "MemoryPressure", "DiskPressure"},
	reflect.TypeFor[v1.PreemptionPolicy]():                     {"Never", "PreemptLowerPriority"},
	reflect.TypeFor[v1.RestartPolicy]():                        {"", "Always", "OnFailure", "Never"},
	reflect.TypeFor[v1.Protocol]():                             {"", "TCP", "UDP", "SCTP"},
	reflect.TypeFor[v1.PersistentVolumeAccessMode]():           {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"},
	reflect.TypeFor[v1.PersistentVolumeClaimPhase]():           {"Bound", "Pending", "Lost", ""},
	reflect.TypeFor[v1.PersistentVolumePhase]():                {"Bound", "Available", "Released", ""},
	reflect.TypeFor[storagev1.VolumeBindingMode]():             {"Immediate", "WaitForFirstConsumer"},
	reflect.TypeFor[policyv1.UnhealthyPodEvictionPolicyType](): {"IfHealthyBudget", "AlwaysAllow"},
	reflect.TypeFor[resourcev1.DeviceAllocationMode]():         {"ExactCount", "All", ""},
	reflect.TypeFor[resourcev1.DeviceTaintEffect]():            {"NoSchedule", "NoExecute", "None"},
	reflect.TypeFor[types.UID]():                               {"u1", "u2", "u3", "u4", ""},
	reflect.TypeFor[release.Version]():                         {"", "v1.34", "v1.35", "v1.36", "v1.37"},
}

// odd are texts that no field expects.
var odd = []string{"", "x\ny", "a b", "$(touch x)", "\x00", "ü", "-", "/", "a/b/c", "UPPER", "0123456789012345678901234567890123456789012345678901234567890123456789", "\x1b[2J", "..", "\xff"}

// text returns a text for a field.
func (w *world) text(t reflect.Type, name string) string {
	if w.oneIn(16) {
		return pick(w, odd...)
	}
	if list, ok := words[t]; ok {
		return pick(w, list...)
	}
	switch name {
	case "Key", "TopologyKey", "TopologyKeys", "MatchLabelKeys", "MismatchLabelKeys":
		return pick(w, "zone", "app", v1.LabelHostname, v1.LabelTopologyZone, v1.LabelTopologyRegion, "metadata.name", "example.com/key")
	case "Value", "Values":
		return pick(w, "a", "b", "1", "-5", "n1", "web", "", "9223372036854775808")
	case "Namespace", "Namespaces":
		return pick(w, "default", "default", "shop")
	case "NodeName", "Node", "NominatedNodeName":
		return pick(w, "", "n0", "n1", "n2", "gone")
	case "Kind":
		return pick(w, "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Node", "Pod", "ReplicationController", "PersistentVolumeClaim", "")
	case "APIVersion", "APIGroup":
		return pick(w, "apps/v1", "v1", "batch/v1", "apps", "")
	case "Operator":
		return pick(w, "In", "Exists")
	case "Driver", "Provisioner":
		return pick(w, "driver.example.com", "kubernetes.io/no-provisioner", "csi.example.com")
	case "PriorityClassName", "StorageClassName", "DeviceClassName", "RuntimeClassName":
		return pick(w, "a0", "a1", "")
	case "SchedulerName":
		return pick(w, "", v1.DefaultSchedulerName, v1.DefaultSchedulerName, "other")
	case "Expression":
		return pick(w, "true", "device.driver == 'x'", "(")
	case "IP", "HostIP":
		return pick(w, "", "0.0.0.0", "10.0.0.1", "::")
	}
	return pick(w, "a0", "a1", "a2", "n0", "n1", "web", "x")
}
