package affinity

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// CheckPod returns the verdict of inter-pod affinity on each slot of a cluster for one incoming pod, with v1.36.3's
// defaults: 0 allows. A free slot is checked like a node without labels. It is the one-call form of CompilePods, Count and
// Check; the error is a *Rejection as that of CompilePods, and every slot is Unparsable then.
func CheckPod(pod *v1.Pod, cluster Cluster) ([]resources.Verdict, error) {
	e, err := CompilePods(pod, PodOptions{})
	s := e.Count(cluster)
	verdicts := make([]resources.Verdict, cluster.Len())
	for i := range verdicts {
		verdicts[i] = s.Check(i)
	}
	return verdicts, err
}
