package workload

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/taints"
)

// Objects are the workloads of a cluster and what exists already. Nil lists are empty lists.
type Objects struct {
	Deployments            []*appsv1.Deployment
	ReplicaSets            []*appsv1.ReplicaSet
	ReplicationControllers []*v1.ReplicationController
	StatefulSets           []*appsv1.StatefulSet
	Jobs                   []*batchv1.Job
	CronJobs               []*batchv1.CronJob // each makes the Job of its next run
	DaemonSets             []*appsv1.DaemonSet
	// Autoscalers hold the replicas of their targets between minReplicas and maxReplicas.
	Autoscalers []*autoscalingv2.HorizontalPodAutoscaler

	Nodes  []*v1.Node                  // a DaemonSet makes pods for them
	Pods   []*v1.Pod                   // that exist, terminating and finished ones too
	Claims []*v1.PersistentVolumeClaim // that exist

	// ClaimTemplates make the ResourceClaims of pods. A template that is not there makes none.
	ClaimTemplates []*resourcev1.ResourceClaimTemplate
	ResourceClaims []*resourcev1.ResourceClaim // that exist
}

// Options change what [Make] does. The zero value has the default limit.
type Options struct {
	// Limit is the largest number of pods that Make makes; 0 means 1,000,000. More pods are an error.
	Limit int
	// Enough returns how many pods Make makes at most for a ReplicaSet, a ReplicationController, and a Job without indexes, whose pods differ
	// in name only; one at least. It gets the first of them, which it must not change. The others are in Made.Counted, and count towards
	// Limit of that object. Nil means all.
	Enough func(first *v1.Pod) int
	// Tolerations says how the pods of a DaemonSet tolerate the taints of nodes: as TaintToleration has it.
	Tolerations taints.Options
}

// defaultLimit is the number of pods that [Make] makes at most unless [Options.Limit] says otherwise.
const defaultLimit = 1000000

// Made is what the controllers make. The objects are new; the caller owns them.
type Made struct {
	// ReplicaSets of Deployments that have none with their template.
	ReplicaSets []*appsv1.ReplicaSet
	// Jobs of the next runs of CronJobs.
	Jobs []*batchv1.Job
	// Claims of StatefulSets, and of generic ephemeral volumes of pods without a node. They are not bound, and have been through no
	// admission.
	Claims []*v1.PersistentVolumeClaim
	// ResourceClaims that Objects.ClaimTemplates make for pods without a node.
	ResourceClaims []*resourcev1.ResourceClaim
	// Claiming has copies of pods of the input for which claims were made: with the names of ResourceClaims in the status, and with a
	// UID where the pod had none.
	Claiming []*v1.Pod
	// Pods are pending and have been through no admission.
	Pods []*v1.Pod
	// Counted are the pods that Options.Enough left out.
	Counted []Counted
	// Finished pods of the input that a controller deletes because a pod of Pods takes their name.
	Finished []*v1.Pod
	// Waiting has the controllers that have pods to make and do not make them yet.
	Waiting []Waiting
}

// Counted says how many pods of a controller [Make] leaves out because they differ from Pod in name only.
type Counted struct {
	Pod  *v1.Pod // the last one of Made.Pods
	More int     // how many are left out
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
