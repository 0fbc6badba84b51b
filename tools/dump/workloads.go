package dump

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/eviction/disruption"
)

// Workloads lists the controllers whose replicas disruption budgets count. Objects and references written by hand lack UIDs:
// an object without one gets that of the first reference to it, a reference without one that of its object, which changes
// owner references of o.
func (o *Objects) Workloads() []disruption.Workload {
	var list []disruption.Workload
	add := func(apiVersion, kind string, object metav1.Object, replicas *int32) {
		w := disruption.Workload{APIVersion: apiVersion, Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), Replicas: replicas}
		if ref := metav1.GetControllerOf(object); ref != nil {
			w.Controller = ref
		}
		list = append(list, w)
	}
	for _, x := range o.ReplicationControllers {
		add("v1", "ReplicationController", x, orOne(x.Spec.Replicas))
	}
	for _, x := range o.ReplicaSets {
		add("apps/v1", "ReplicaSet", x, orOne(x.Spec.Replicas))
	}
	for _, x := range o.Deployments {
		add("apps/v1", "Deployment", x, orOne(x.Spec.Replicas))
	}
	for _, x := range o.StatefulSets {
		add("apps/v1", "StatefulSet", x, orOne(x.Spec.Replicas))
	}
	for _, x := range o.Jobs { // these two have no scale
		add("batch/v1", "Job", x, nil)
	}
	for _, x := range o.DaemonSets {
		add("apps/v1", "DaemonSet", x, nil)
	}
	identify(o, list)
	return list
}

func orOne(n *int32) *int32 {
	if n == nil {
		one := int32(1)
		return &one
	}
	return n
}

// identify fills in the UIDs that are missing.
func identify(o *Objects, list []disruption.Workload) {
	key := func(apiVersion, kind, namespace, name string) string {
		group, _, _ := strings.Cut(apiVersion, "/")
		return group + " " + kind + " " + namespace + "/" + name
	}
	uids := map[string]types.UID{}
	var references []struct {
		key string
		ref *metav1.OwnerReference
	}
	see := func(namespace string, refs []metav1.OwnerReference) {
		for i := range refs {
			k := key(refs[i].APIVersion, refs[i].Kind, namespace, refs[i].Name)
			references = append(references, struct {
				key string
				ref *metav1.OwnerReference
			}{k, &refs[i]})
			if uids[k] == "" {
				uids[k] = refs[i].UID
			}
		}
	}
	for _, p := range o.Pods {
		see(p.Namespace, p.OwnerReferences)
	}
	for i := range list {
		if c := list[i].Controller; c != nil {
			k := key(c.APIVersion, c.Kind, list[i].Namespace, c.Name)
			references = append(references, struct {
				key string
				ref *metav1.OwnerReference
			}{k, c})
			if uids[k] == "" {
				uids[k] = c.UID
			}
		}
	}
	for i := range list {
		w := &list[i]
		k := key(w.APIVersion, w.Kind, w.Namespace, w.Name)
		switch {
		case w.UID != "":
		case uids[k] != "":
			w.UID = uids[k]
		default:
			w.UID = types.UID(k)
		}
		uids[k] = w.UID
	}
	for _, r := range references {
		if r.ref.UID == "" {
			r.ref.UID = uids[r.key]
		}
	}
}
