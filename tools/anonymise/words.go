package anonymise

import (
	"fmt"
	"slices"
	"strings"
)

// wellKnown are conditions and reasons that Kubernetes gives. Programs read some of them, and none of the others.
var wellKnown = map[string]bool{}

func init() {
	for _, list := range []string{
		"Ready MemoryPressure DiskPressure PIDPressure NetworkUnavailable", // nodes
		"PodScheduled Initialized ContainersReady PodReadyToStartContainers DisruptionTarget PodResizePending PodResizeInProgress",
		"Available Progressing ReplicaFailure Complete Failed Suspended FailureTarget SuccessCriteriaMet", // workloads
		"DisruptionAllowed Resizing FileSystemResizePending ControllerResizeError NodeResizeError ModifyingVolume ModifyVolumeError",
		"PreemptionByScheduler DeletionByTaintManager EvictionByEvictionAPI DeletionByPodGC TerminationByKubelet", // reasons
		"SyncFailed InsufficientPods SufficientPods Unschedulable SchedulingGated SchedulerError Evicted NodeLost",
		"PodGroupInitiallyScheduled Scheduled",           // groups of pods
		"Container Pod PersistentVolumeClaim",            // types of a LimitRange
		"RollingUpdate Recreate OnDelete ClusterIP None", // types of strategies
	} {
		for word := range strings.FieldsSeq(list) {
			wellKnown[word] = true
		}
	}
}

// condition returns a type or a reason of a condition: as it is when Kubernetes gives it, else with a new name.
func (w *walker) condition(text string) string {
	if text == "" || wellKnown[text] {
		return text
	}
	return w.name(nameOf, text)
}

// finalizer returns a finalizer with a new name unless it is one of Kubernetes.
func (w *walker) finalizer(text string) string {
	domain, _, found := strings.Cut(text, "/")
	if text == "" || text == "orphan" || text == "foregroundDeletion" || text == "kubernetes" || found && known(domain, "kubernetes.io") {
		return text
	}
	return w.name(nameOf, text)
}

// customGroup is the group of every kind that Kubernetes does not define.
const customGroup = "custom.example"

// ofKubernetes reports whether Kubernetes defines a group.
func ofKubernetes(group string) bool {
	return group == "" || slices.Contains([]string{"apps", "batch", "policy", "autoscaling", "extensions", "podberth.io"}, group) || known(group, "k8s.io")
}

// reference hides the kind and the group of a reference to a custom resource.
func (w *walker) reference(t, out Tree) {
	for _, field := range []string{"apiVersion", "apiGroup"} {
		text, _ := t[field].(string)
		group, version, found := strings.Cut(text, "/")
		if field == "apiVersion" && !found {
			continue // a version alone is of the core group
		}
		if ofKubernetes(group) {
			continue
		}
		if out[field] = customGroup; found {
			out[field] = customGroup + "/" + version
		}
		if kind, ok := t["kind"].(string); ok {
			out["kind"] = w.name(nameOf, kind)
		}
	}
}

// address returns an address of a host port. Addresses that mean every address stay.
func (w *walker) address(text string) string {
	if text == "" || text == "0.0.0.0" || text == "::" || text == "127.0.0.1" || text == "::1" {
		return text
	}
	if w.addresses == nil {
		w.addresses = map[string]string{}
	}
	if w.addresses[text] == "" {
		n := len(w.addresses) + 1
		w.addresses[text] = fmt.Sprintf("100.64.%d.%d", n>>8&255, n&255)
	}
	return w.addresses[text]
}

// request returns the name of a request of a claim, or REQUEST/SUBREQUEST, with new names.
func (w *walker) request(text string) string {
	parts := strings.Split(text, "/")
	for k, p := range parts {
		parts[k] = w.name(volumeName, p)
	}
	return strings.Join(parts, "/")
}

// devices returns what is below a field of devices with new names of requests and without the parameters of drivers.
func (w *walker) devices(v any, field string) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, 0, len(v))
		for _, x := range v {
			if text, ok := x.(string); ok && field == "requests" {
				out = append(out, w.request(text))
				continue
			}
			out = append(out, w.devices(x, field))
		}
		return out
	case Tree:
		out := Tree{}
		for k, x := range v {
			text, isText := x.(string)
			switch {
			case k == "parameters" || k == "data" || k == "networkData" || k == "message" || k == "reason":
			case k == "pool" && isText:
				out[k] = w.pool(text)
			case isText && (k == "name" && (field == "requests" || field == "firstAvailable") || k == "request"):
				out[k] = w.request(text)
			case k == "tolerations" || k == "taints" || k == "nodeSelector":
				if x, ok := w.field(v, field, k, x); ok {
					out[k] = x
				}
			case k == "nodeName" && isText:
				out[k] = w.name(nodeName, text)
			default:
				out[k] = w.devices(x, k)
			}
		}
		return out
	}
	return v
}

// withoutTexts returns what is left of a value without its texts; nil for nothing.
func withoutTexts(v any) any {
	switch v := v.(type) {
	case string:
		return nil
	case []any:
		var out []any
		for _, x := range v {
			if x = withoutTexts(x); x != nil {
				out = append(out, x)
			}
		}
		if out == nil {
			return nil
		}
		return out
	case Tree:
		out := Tree{}
		for k, x := range v {
			if x = withoutTexts(x); x != nil {
				out[k] = x
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
	return v
}
