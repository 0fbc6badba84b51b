package disruption

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Workload describes a controller object: ReplicaSet, Deployment, StatefulSet or a custom kind.
type Workload struct {
	APIVersion, Kind string
	Namespace, Name  string
	UID              types.UID
	// Replicas is spec.replicas of the object or of its scale subresource. nil: the kind has no scale subresource (Job,
	// DaemonSet).
	Replicas *int32
	// Controller is the object's own controller reference, nil when it has none.
	Controller *metav1.OwnerReference
}

// workloads finds controllers by reference. It is immutable.
type workloads struct {
	byName map[workloadKey]*Workload
	kinds  map[[2]string]bool
}

type workloadKey struct{ group, kind, namespace, name string }

// NewScale returns a [Scale] over controller objects (rule D4.8). It finds an object by group, kind, namespace, name and UID;
// the API version does not matter. A ReplicaSet that a Deployment controls counts as the Deployment, so that two
// ReplicaSets of a rolling update count once. The Scale is safe for concurrent use. It returns an error when the object
// does not exist, when no object of its kind exists, and when the kind has no scale. DaemonSets and Jobs have none, whether
// they are in the list or not. O(objects).
func NewScale(list []Workload) Scale {
	w := &workloads{byName: map[workloadKey]*Workload{}, kinds: map[[2]string]bool{}}
	for i := range list {
		o := &list[i]
		group := groupOf(o.APIVersion)
		w.byName[workloadKey{group, o.Kind, o.Namespace, o.Name}] = o
		w.kinds[[2]string{group, o.Kind}] = true
	}
	return w.scale
}

func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	if group == "extensions" { // the same objects under their old name
		return "apps"
	}
	return group
}

func (w *workloads) find(namespace string, r metav1.OwnerReference) *Workload {
	o := w.byName[workloadKey{groupOf(r.APIVersion), r.Kind, namespace, r.Name}]
	if o == nil || o.UID != r.UID {
		return nil
	}
	return o
}

func (w *workloads) scale(pod *v1.Pod, owner metav1.OwnerReference) (types.UID, int32, error) {
	o := w.find(pod.Namespace, owner)
	if o != nil && o.Kind == "ReplicaSet" && groupOf(o.APIVersion) == "apps" && o.Controller != nil && o.Controller.Kind == "Deployment" && groupOf(o.Controller.APIVersion) == "apps" {
		o = w.find(pod.Namespace, *o.Controller)
	}
	switch {
	case o == nil && scaleless(owner):
		return "", 0, fmt.Errorf("%s %w", resourceOf(&Workload{APIVersion: owner.APIVersion, Kind: owner.Kind}), errNoScale)
	case o == nil && builtIn(owner), o == nil && w.kinds[[2]string{groupOf(owner.APIVersion), owner.Kind}]:
		return "", 0, fmt.Errorf("found no controllers for pod %q", pod.Name)
	case o == nil:
		return "", 0, fmt.Errorf("no matches for kind %q in version %q", owner.Kind, owner.APIVersion)
	case o.Replicas == nil:
		return "", 0, fmt.Errorf("%s %w", resourceOf(o), errNoScale)
	}
	return o.UID, *o.Replicas, nil
}

// errNoScale is the error of every pod of a kind without a scale. More objects in the input do not end it.
var errNoScale = errors.New("does not implement the scale subresource")

// scaleless reports whether a kind of Kubernetes has no scale.
func scaleless(r metav1.OwnerReference) bool {
	return r.Kind == "DaemonSet" && groupOf(r.APIVersion) == "apps" || r.Kind == "Job" && groupOf(r.APIVersion) == "batch"
}

// resourceOf returns the resource name of a kind: lower case, plural, with the group, such as "jobs.batch".
func resourceOf(o *Workload) string {
	name := strings.ToLower(o.Kind)
	switch {
	case strings.HasSuffix(name, "s"):
		name += "es"
	case strings.HasSuffix(name, "y"):
		name = strings.TrimSuffix(name, "y") + "ies"
	default:
		name += "s"
	}
	if group := groupOf(o.APIVersion); group != "" {
		name += "." + group
	}
	return name
}

func builtIn(r metav1.OwnerReference) bool {
	switch r.Kind {
	case "ReplicationController":
		return r.APIVersion == "v1"
	case "ReplicaSet", "Deployment", "StatefulSet":
		return groupOf(r.APIVersion) == "apps"
	}
	return false
}
