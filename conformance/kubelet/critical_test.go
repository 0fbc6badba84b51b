package kubelet_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/preemption"
	kubelettypes "k8s.io/kubernetes/pkg/kubelet/types"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/eviction/pressure"
)

// TestCritical lets the kubelet make room for a critical pod for which the node lacks resources. It compares the evicted pods,
// their order and reasons, and the error when no set of pods is enough.
func TestCritical(t *testing.T) {
	trial.Run(t, 6000, 320, critical, "one victim", "two victims", "three victims or more", "nobody is enough", "static", "priority", "BestEffort", "Burstable", "Guaranteed", "several resources", "pods are missing")
}

func critical(s *trial.Source) error {
	pod := standing(s, 0)
	switch s.N(3) {
	case 0:
		p := trial.Pick(s, int32(2000000000), 2000001000)
		pod.Spec.Priority = &p
	case 1:
		pod.Annotations = map[string]string{kubelettypes.ConfigSourceAnnotationKey: "file"}
		s.Count("static")
	default:
		pod.Annotations = map[string]string{kubelettypes.ConfigMirrorAnnotationKey: "x"}
	}
	s.Note("admits priority %v annotations %v", str(pod.Spec.Priority), pod.Annotations)
	var running []*v1.Pod
	for i := range s.N(10) {
		running = append(running, standing(s, i+1))
	}
	var reasons []lifecycle.PredicateFailureReason
	var missing []pressure.Missing
	names := []v1.ResourceName{v1.ResourceMemory, v1.ResourceCPU, "example.com/gpu", v1.ResourcePods, v1.ResourceEphemeralStorage}
	first := trial.Pick(s, 0, 0, 0, 1, 2, 3, 4)
	for i := range 1 + s.N(3) {
		name := names[(first+i)%len(names)]
		amount := int64(1 + s.N(3))
		switch name {
		case v1.ResourceMemory, v1.ResourceEphemeralStorage:
			amount = trial.Pick(s, int64(100<<20), 1, 50<<20, 250<<20, 1000<<20, 1000<<20, 1<<30)
		case v1.ResourceCPU:
			amount = trial.Pick(s, int64(100), 1, 500, 1500, 1000, 1000, 99)
		case v1.ResourcePods:
			s.Count("pods are missing")
		}
		if i == 1 {
			s.Count("several resources")
		}
		s.Note("missing %s %d", name, amount)
		missing = append(missing, pressure.Missing{Name: name, Amount: amount})
		reasons = append(reasons, &lifecycle.InsufficientResourceError{ResourceName: name, Requested: amount + 5, Used: 15, Capacity: 20})
	}
	var real []string
	handler := preemption.NewCriticalPodAdmissionHandler(func() []*v1.Pod { return running }, func(p *v1.Pod, evicted bool, grace *int64, status func(*v1.PodStatus)) error {
		var x v1.PodStatus
		status(&x)
		real = append(real, fmt.Sprint(p.Name, " ", x.Reason, " ", evicted))
		return nil
	}, record.NewFakeRecorder(100))
	rest, err := handleFailure(handler, pod, reasons)
	victims, mine := pressure.CriticalVictims(pod, running, missing)
	if err != nil {
		s.Count("nobody is enough")
		if mine == nil || mine.Error() != err.Error() {
			return fmt.Errorf("error:\nreal     %v\npodberth %v", err, mine)
		}
		return nil
	}
	if mine != nil || len(rest) > 0 {
		return fmt.Errorf("real leaves %v, podberth %w", rest, mine)
	}
	var want []string
	for _, v := range victims {
		want = append(want, fmt.Sprint(v.Name, " ", "Preempting", " ", true))
		s.Count(string(v.Status.QOSClass))
	}
	if !slices.Equal(real, want) {
		return fmt.Errorf("victims:\nreal     %v\npodberth %v", real, want)
	}
	s.Count([]string{"nobody", "one victim", "two victims", "three victims or more"}[min(3, len(want))])
	return nil
}

// standing is a pod of the node. Its status has the class of service, as the API server writes it.
func standing(s *trial.Source, i int) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint("u", i))}}
	list := func() v1.ResourceList {
		out := v1.ResourceList{}
		for _, r := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, "example.com/gpu"} {
			if s.N(2) == 0 {
				continue
			}
			if r == "example.com/gpu" {
				out[r] = resource.MustParse(trial.Pick(s, "1", "2"))
			} else {
				out[r] = resource.MustParse(map[v1.ResourceName]string{v1.ResourceCPU: trial.Pick(s, "100m", "1", "500m", "0", "300m", "900m", "700m"), v1.ResourceMemory: trial.Pick(s, "100Mi", "50Mi", "1Gi", "250Mi", "900Mi", "500Mi", "700Mi"), v1.ResourceEphemeralStorage: trial.Pick(s, "100Mi", "1Gi")}[r])
			}
		}
		return out
	}
	for c := range 1 + s.N(2) {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: fmt.Sprint("c", c), Resources: v1.ResourceRequirements{Requests: list()}})
	}
	p.Status.QOSClass = v1.PodQOSBurstable
	switch s.N(4) {
	case 1: // cpu and memory have limits
		p.Status.QOSClass = v1.PodQOSGuaranteed
		for c := range p.Spec.Containers {
			r := v1.ResourceList{v1.ResourceCPU: resource.MustParse(trial.Pick(s, "100m", "1", "500m", "900m")), v1.ResourceMemory: resource.MustParse(trial.Pick(s, "100Mi", "1Gi", "500Mi", "300Mi"))}
			p.Spec.Containers[c].Resources = v1.ResourceRequirements{Requests: r, Limits: r.DeepCopy()}
		}
	case 2:
		p.Status.QOSClass = v1.PodQOSBestEffort
		for c := range p.Spec.Containers {
			r := p.Spec.Containers[c].Resources.Requests
			delete(r, v1.ResourceCPU)
			delete(r, v1.ResourceMemory)
		}
	default:
		p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse(trial.Pick(s, "10m", "200m", "500m", "300m", "900m"))
	}
	if s.Once(6) {
		p.Spec.Overhead = v1.ResourceList{v1.ResourceMemory: resource.MustParse("10Mi")}
	}
	if s.N(3) > 0 {
		priority := trial.Pick(s, int32(0), 10, -10, 1999999999, 2000000000, 2000001000)
		p.Spec.Priority = &priority
		s.Count("priority")
	}
	if s.Once(12) {
		p.Annotations = map[string]string{kubelettypes.ConfigSourceAnnotationKey: trial.Pick(s, "file", "api")}
	}
	s.Note("%s %s priority %v annotations %v containers %v overhead %v", p.Name, p.Status.QOSClass, str(p.Spec.Priority), p.Annotations, resourcesOf(p.Spec.Containers), p.Spec.Overhead)
	return p
}
