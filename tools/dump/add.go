package dump

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// countable are the kinds of which Add adds several.
var countable = []string{"Node", "Pod", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "Job", "DaemonSet"}

// Add adds the objects of more. It adds count of each node, pod and workload object, numbered from 1 unless count is 1.
// Workloads make their pods and claims, which Add returns. Errors: an object of a name that o has, an Eviction, and a count
// above 1 of another kind.
func (o *Objects) Add(more *Objects, count int) (made []*v1.Pod, err error) {
	added := &Objects{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[kind]
		have := map[string]bool{}
		for _, object := range k.list(o) {
			have[nameInMessage(kind, object)] = true
		}
		for _, object := range k.list(more) {
			switch {
			case kind == "Eviction":
				return nil, fmt.Errorf("%s: kind: Unsupported value: an Eviction cannot be added", nameInMessage(kind, object))
			case count > 1 && !slices.Contains(countable, kind):
				return nil, fmt.Errorf("%s: kind: Unsupported value: there cannot be %d of it; -count is for nodes, pods and workloads", nameInMessage(kind, object), count)
			}
			for n := range count {
				c := object
				if count > 1 {
					c = numbered(object, n+1)
				}
				if have[nameInMessage(kind, c)] {
					return nil, fmt.Errorf("metadata.name: Duplicate value: %q: the input has a %s of that name", key(c), kind)
				}
				have[nameInMessage(kind, c)] = true
				k.add(o, c)
				k.add(added, c)
			}
		}
	}
	o.Warnings.Append(more.Warnings)
	expanded, err := o.expand(added.workloads(), nil)
	if err != nil {
		return nil, err
	}
	return expanded.Pods, nil
}

// numbered returns a copy of an object with a number in its name.
func numbered(object metav1.Object, n int) metav1.Object {
	c := object.(runtime.Object).DeepCopyObject().(metav1.Object)
	c.SetName(fmt.Sprintf("%s-%d", object.GetName(), n))
	c.SetUID("")
	if labels := c.GetLabels(); labels[v1.LabelHostname] == object.GetName() {
		labels[v1.LabelHostname] = c.GetName()
	}
	return c
}

// key is namespace/name, or the name alone of an object without a namespace.
func key(o metav1.Object) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}
