package workload

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Objects are the workloads of a cluster and what exists already. Nil lists are empty lists.
type Objects struct {
	Deployments            []*appsv1.Deployment
	ReplicaSets            []*appsv1.ReplicaSet
	ReplicationControllers []*v1.ReplicationController
	StatefulSets           []*appsv1.StatefulSet
	Jobs                   []*batchv1.Job
	DaemonSets             []*appsv1.DaemonSet

	Nodes  []*v1.Node                  // a DaemonSet makes pods for them
	Pods   []*v1.Pod                   // that exist, terminating and finished ones too
	Claims []*v1.PersistentVolumeClaim // that exist
}

// Options change what Make does. The zero value has the default limit.
type Options struct {
	// Limit is the largest number of pods that Make makes; 0 means DefaultLimit. More pods are an error.
	Limit int
}

// DefaultLimit is the number of pods that Make makes at most unless Options.Limit says otherwise.
const DefaultLimit = 1000000

// Made is what the controllers make. The objects are new; the caller owns them.
type Made struct {
	// ReplicaSets of Deployments that have none with their template.
	ReplicaSets []*appsv1.ReplicaSet
	// Claims of StatefulSets. They are not bound.
	Claims []*v1.PersistentVolumeClaim
	// Pods are pending and have been through no admission.
	Pods []*v1.Pod
	// Finished pods of the input that a controller deletes because a pod of Pods takes their name.
	Finished []*v1.Pod
	// Waiting has the controllers that have pods to make and do not make them yet.
	Waiting []Waiting
}

// Waiting is a controller that makes no pod before something happens to an existing pod.
type Waiting struct {
	Kind, Namespace, Name string
	Pod                   string // the pod it waits for, in the same namespace
	Why                   string // what is the matter with that pod
}

// String returns one sentence.
func (w Waiting) String() string {
	return fmt.Sprintf("%s %s/%s makes no more pods: pod %s %s", w.Kind, w.Namespace, w.Name, w.Pod, w.Why)
}

// owner is a controller as its pods know it.
type owner struct {
	apiVersion, kind string
	metav1.Object
}

func called(kind string, o metav1.Object) string {
	return fmt.Sprintf("%s %s/%s", kind, o.GetNamespace(), o.GetName())
}

const (
	apps  = "apps/v1"
	batch = "batch/v1"
	core  = "v1"
)

// orOne returns the number of replicas, which is 1 when it is not given.
func orOne(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}
