package affinity

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// CheckPod returns the verdict of inter-pod affinity on each slot of a cluster for one incoming pod, with the defaults of
// v1.36.3. 0 allows; a free slot is rejected. CheckPod is CompilePods, Count and Check in one call. With the error of
// CompilePods every slot is rejected.
func CheckPod(pod *v1.Pod, cluster Cluster) ([]resources.Verdict, error) {
	e, err := CompilePods(pod, PodOptions{})
	s := e.Count(cluster)
	verdicts := make([]resources.Verdict, cluster.Len())
	for i := range verdicts {
		verdicts[i] = s.Check(i)
	}
	return verdicts, err
}
