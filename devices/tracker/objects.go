package tracker

import (
	"iter"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/podgroup"
)

// Table has the objects of one kind. [cluster.Lookup] is a Table. The namespace of cluster-wide kinds is "".
type Table[T any] interface {
	Get(namespace, name string) (T, bool)
	In(namespace string) iter.Seq[T]
	All() iter.Seq[T]
}

// Objects are the objects of dynamic resource allocation. A nil table has no objects. The order of a table has no influence.
type Objects struct {
	Claims    Table[*resourcev1.ResourceClaim]
	Templates Table[*resourcev1.ResourceClaimTemplate]
	Slices    Table[*resourcev1.ResourceSlice]
	Classes   Table[*resourcev1.DeviceClass]
	Rules     Table[*resourcev1beta2.DeviceTaintRule]
	// Groups makes claims of groups count (rules PG8.1 to PG8.3), for questions to the Objects; a Tracker has Options.GroupClaims. nil:
	// every claim is the pod's own.
	Groups podgroup.Objects
}

var _ devices.Objects = Objects{}

// Of returns the objects of a snapshot, which always show its current state. The snapshot must not be nil.
func Of(s *cluster.Snapshot) Objects {
	return Objects{
		Claims: cluster.List[*resourcev1.ResourceClaim](s), Templates: cluster.List[*resourcev1.ResourceClaimTemplate](s),
		Slices: cluster.List[*resourcev1.ResourceSlice](s), Classes: cluster.List[*resourcev1.DeviceClass](s),
		Rules: cluster.List[*resourcev1beta2.DeviceTaintRule](s),
	}
}

// get returns an object of a table, nil when there is none.
func get[T any](t Table[*T], namespace, name string) *T {
	if t == nil {
		return nil
	}
	obj, _ := t.Get(namespace, name)
	return obj
}

// all yields the objects of a table.
func all[T any](t Table[*T]) iter.Seq[*T] {
	if t == nil {
		return func(func(*T) bool) {}
	}
	return t.All()
}

// ResourceClaim returns a claim, nil when the claim does not exist.
func (o Objects) ResourceClaim(namespace, name string) *resourcev1.ResourceClaim {
	return get(o.Claims, namespace, name)
}

// ResourceClaims yields the claims of a namespace.
func (o Objects) ResourceClaims(namespace string) iter.Seq[*resourcev1.ResourceClaim] {
	if o.Claims == nil {
		return func(func(*resourcev1.ResourceClaim) bool) {}
	}
	return o.Claims.In(namespace)
}

// DeviceClass returns a device class, nil when the class does not exist.
func (o Objects) DeviceClass(name string) *resourcev1.DeviceClass { return get(o.Classes, "", name) }

// ClaimGroup returns the group of a pod when groups have claims ([Objects.Groups]), else nil. The pod must not be nil.
func (o Objects) ClaimGroup(pod *v1.Pod) *podgroup.Group {
	if name, ok := podgroup.Of(pod); ok && o.Groups != nil {
		return o.Groups.Group(pod.Namespace, name)
	}
	return nil
}

// InFlight returns false: objects know no reservations. A [Tracker] knows them.
func (Objects) InFlight(types.UID) bool { return false }

// ExtendedResources maps the names of extended resources to the classes that provide them. O(classes).
func (o Objects) ExtendedResources() devices.ExtendedResources {
	return devices.NewExtendedResources(all(o.Classes))
}
