package diagnose

import (
	"regexp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
)

// owner is the object that a person edits so that a pod changes.
type owner struct {
	kind, name string // name has the namespace
	path       string // of the pod's template in the object, with a dot behind it; "" for the pod itself
	again      bool   // the API server refuses an edit of the template
	foreign    bool   // a controller whose fields are not known
}

// ofCronJob is the name that a CronJob gives a Job: its own, and the minutes from 1970 to the time of the run, which is a time from 2019 to 2036.
var ofCronJob = regexp.MustCompile(`^(.+)-(?:2[6-9]|3[0-4])[0-9]{6}$`)

// ownerOf returns the owner of a pod: the pod itself, or the controller's controller as far as it is known. The Deployment of a
// ReplicaSet that the cluster does not have is the one that the hash in the names says, and the CronJob of a Job the one that the time in its name says.
func ownerOf(s *cluster.Snapshot, pod *v1.Pod) owner {
	c := metav1.GetControllerOfNoCopy(pod)
	if c == nil {
		return owner{kind: "Pod", name: podinfo.Name(pod), again: true}
	}
	kind, name := c.Kind, c.Name
	if kind == "ReplicaSet" {
		if set, ok := cluster.List[*appsv1.ReplicaSet](s).Get(pod.Namespace, name); ok {
			if up := metav1.GetControllerOfNoCopy(set); up != nil {
				kind, name = up.Kind, up.Name
			}
		} else if base, ok := strings.CutSuffix(name, "-"+pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]); ok && pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] != "" {
			kind, name = "Deployment", base
		}
	}
	if m := ofCronJob.FindStringSubmatch(name); m != nil && kind == "Job" {
		kind, name = "CronJob", m[1]
	}
	o := owner{kind: kind, name: pod.Namespace + "/" + name}
	switch kind {
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController":
		o.path = "spec.template."
	case "Job":
		o.path, o.again = "spec.template.", true
	case "CronJob":
		o.path = "spec.jobTemplate.spec.template."
	default:
		o.foreign = true
	}
	return o
}

// String returns the kind and the name.
func (o owner) String() string {
	if o.foreign {
		return "the pods of " + o.kind + " " + o.name
	}
	return o.kind + " " + o.name
}

// own makes an edit of the pod one of its owner. Tolerations can be added to a pod, gates can go, and cpu and memory change in place
// unless that would change the QoS class of the pod.
func (d *diagnosis) own(c *Change) {
	in := c.Kind == Tolerate || c.Kind == DropGate ||
		c.Kind == LowerRequest && (c.Path == "requests.cpu" || c.Path == "requests.memory") && !guaranteed(d.pod)
	if c.Path == ofGates || c.Kind == Remake || in && (d.owner.again || d.owner.kind == "CronJob") {
		return
	}
	c.Object, c.Again = d.owner.String(), d.owner.again
	if strings.HasPrefix(c.Path, "spec.") {
		c.Path = d.owner.path + c.Path
	}
}

// guaranteed reports whether the QoS class of a pod is Guaranteed: the requests for cpu and memory of the pod, or where it has none those of
// every container, are the limits.
func guaranteed(pod *v1.Pod) bool {
	whole := func(r *v1.ResourceRequirements) bool {
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			limit, ok := r.Limits[name]
			if request, has := r.Requests[name]; !ok || has && request.Cmp(limit) != 0 {
				return false
			}
		}
		return true
	}
	if r := pod.Spec.Resources; r != nil && len(r.Requests)+len(r.Limits) > 0 {
		return whole(r)
	}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if !whole(&list[i].Resources) {
				return false
			}
		}
	}
	return true
}
