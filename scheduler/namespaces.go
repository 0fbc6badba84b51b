package scheduler

import (
	"iter"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/podgroup"
)

// namespaces are the labels of namespaces, the objects of dynamic resource allocation and the groups of pods as they were reported last,
// for queueing hints, gates and Permit, which do not run in a scheduling cycle.
type namespaces struct {
	mu     sync.Mutex
	labels map[string]map[string]string
	live   *cluster.Snapshot // claims, classes, slices and groups alone
}

func newNamespaces(s *cluster.Snapshot) (*namespaces, error) {
	known, err := cluster.New(cluster.Objects{
		ResourceClaims: slices.Collect(cluster.List[*resourcev1.ResourceClaim](s).All()), DeviceClasses: slices.Collect(cluster.List[*resourcev1.DeviceClass](s).All()),
		ResourceSlices: slices.Collect(cluster.List[*resourcev1.ResourceSlice](s).All()),
		PodGroups:      slices.Collect(cluster.List[*podgroup.Group](s).All()), CompositePodGroups: slices.Collect(cluster.List[*podgroup.Composite](s).All()),
	})
	return &namespaces{labels: maps.Collect(s.Namespaces()), live: known}, err
}

// DeviceObjects returns the claims and classes as they are now.
func (n *namespaces) DeviceObjects() tracker.Objects {
	return tracker.Objects{Claims: locked[*resourcev1.ResourceClaim]{n}, Classes: locked[*resourcev1.DeviceClass]{n}}
}

// locked is a table of the objects of one kind.
type locked[T metav1.Object] struct{ n *namespaces }

// Get returns an object.
func (l locked[T]) Get(namespace, name string) (T, bool) {
	l.n.mu.Lock()
	defer l.n.mu.Unlock()
	return cluster.List[T](l.n.live).Get(namespace, name)
}

// In yields the objects of a namespace.
func (l locked[T]) In(namespace string) iter.Seq[T] {
	l.n.mu.Lock()
	defer l.n.mu.Unlock()
	return slices.Values(slices.Collect(cluster.List[T](l.n.live).In(namespace)))
}

// All yields all objects.
func (l locked[T]) All() iter.Seq[T] {
	l.n.mu.Lock()
	defer l.n.mu.Unlock()
	return slices.Values(slices.Collect(cluster.List[T](l.n.live).All()))
}

// ruleMatters reports whether a change of a DeviceTaintRule changes the taints of a device.
func (n *namespaces) ruleMatters(old, now *resourcev1beta2.DeviceTaintRule) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return devices.RuleMatters(cluster.List[*resourcev1.ResourceSlice](n.live).All(), old, now)
}

// setObject follows the object if it is a claim, a class, a slice or a group.
func (n *namespaces) setObject(obj metav1.Object, gone bool) error {
	switch obj.(type) {
	case *resourcev1.ResourceClaim, *resourcev1.DeviceClass, *resourcev1.ResourceSlice, *podgroup.Group, *podgroup.Composite:
	default:
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if gone {
		return n.live.Remove(obj)
	}
	return n.live.Set(obj)
}

// set follows the object if it is a namespace.
func (n *namespaces) set(obj metav1.Object, gone bool) {
	ns, ok := obj.(*v1.Namespace)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.labels = maps.Clone(n.labels)
	if gone {
		delete(n.labels, ns.Name)
	} else {
		n.labels[ns.Name] = ns.Labels
	}
}

// Namespaces yields the present namespaces.
func (n *namespaces) Namespaces() iter.Seq2[string, map[string]string] {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.All(n.labels)
}
