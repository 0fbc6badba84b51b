package history

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/score"
)

// NodePreferAvoidPods is a score plugin of the releases up to v1.21: a node whose annotation
// scheduler.alpha.kubernetes.io/preferAvoidPods names the controller of the pod scores 0, all other nodes 100. Its default
// weight was 10000. Only pods of a ReplicationController or a ReplicaSet can be avoided. An annotation that is not valid
// JSON ([v1.AvoidPods]) avoids nothing. A plan keeps no answers of this plugin for equal pods. Rule: documentation of v1.18,
// "Scheduling Policies" (NodePreferAvoidPodsPriority).
func NodePreferAvoidPods() *placement.Plugin {
	return &placement.Plugin{Name: "NodePreferAvoidPods", Score: scoreAvoided}
}

// scoreAvoided reads the annotation of every node. O(slots).
func scoreAvoided(pod *v1.Pod, c placement.Cluster) (placement.Scorer, error) {
	avoided := make([]bool, c.Len())
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner != nil && (owner.Kind == "ReplicationController" || owner.Kind == "ReplicaSet") {
		for i := range avoided {
			if n := c.Node(i); n != nil {
				avoided[i] = avoids(n.Annotations[v1.PreferAvoidPodsAnnotationKey], owner)
			}
		}
	}
	return scorer(func(i int) int64 {
		if avoided[i] {
			return 0
		}
		return score.MaxScore
	}), nil
}

// avoids reports whether the annotation names the controller.
func avoids(annotation string, owner *metav1.OwnerReference) bool {
	var list v1.AvoidPods
	if json.Unmarshal([]byte(annotation), &list) != nil {
		return false
	}
	for i := range list.PreferAvoidPods {
		c := list.PreferAvoidPods[i].PodSignature.PodController
		if c != nil && c.Kind == owner.Kind && c.UID == owner.UID {
			return true
		}
	}
	return false
}
