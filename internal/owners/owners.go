// Package owners finds the services and controllers of a cluster.Snapshot in the form in which topology spread asks for them.
package owners

import (
	"iter"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
)

// Of is a spread.Owners over a snapshot.
type Of struct{ *cluster.Snapshot }

// Services yields the services of a namespace.
func (o Of) Services(namespace string) iter.Seq[*v1.Service] {
	return cluster.List[*v1.Service](o.Snapshot).In(namespace)
}

// ReplicationController returns the object of that name, nil when there is none.
func (o Of) ReplicationController(namespace, name string) *v1.ReplicationController {
	x, _ := cluster.List[*v1.ReplicationController](o.Snapshot).Get(namespace, name)
	return x
}

// ReplicaSet returns the object of that name, nil when there is none.
func (o Of) ReplicaSet(namespace, name string) *appsv1.ReplicaSet {
	x, _ := cluster.List[*appsv1.ReplicaSet](o.Snapshot).Get(namespace, name)
	return x
}

// StatefulSet returns the object of that name, nil when there is none.
func (o Of) StatefulSet(namespace, name string) *appsv1.StatefulSet {
	x, _ := cluster.List[*appsv1.StatefulSet](o.Snapshot).Get(namespace, name)
	return x
}
