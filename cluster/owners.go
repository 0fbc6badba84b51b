package cluster

import (
	"iter"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
)

// Owners is a spread.Owners over a snapshot.
type Owners struct{ Snapshot *Snapshot }

// Services yields the services of a namespace.
func (o Owners) Services(namespace string) iter.Seq[*v1.Service] {
	return List[*v1.Service](o.Snapshot).In(namespace)
}

// ReplicationController returns the object of that name, nil when there is none.
func (o Owners) ReplicationController(namespace, name string) *v1.ReplicationController {
	x, _ := List[*v1.ReplicationController](o.Snapshot).Get(namespace, name)
	return x
}

// ReplicaSet returns the object of that name, nil when there is none.
func (o Owners) ReplicaSet(namespace, name string) *appsv1.ReplicaSet {
	x, _ := List[*appsv1.ReplicaSet](o.Snapshot).Get(namespace, name)
	return x
}

// StatefulSet returns the object of that name, nil when there is none.
func (o Owners) StatefulSet(namespace, name string) *appsv1.StatefulSet {
	x, _ := List[*appsv1.StatefulSet](o.Snapshot).Get(namespace, name)
	return x
}
