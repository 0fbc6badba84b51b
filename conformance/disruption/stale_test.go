package disruption_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	scalefake "k8s.io/client-go/scale/fake"
	controller "k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/utils/clock"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/eviction/disruption"
)

// TestStaleTarget lets the disruption controller, in a bubble of fake time, look after pods that were to be disrupted: when it
// takes the condition back is compared with podberth every ten seconds.
func TestStaleTarget(t *testing.T) {
	trial.Run(t, 1000, 60, func(s *trial.Source) (err error) {
		synctest.Test(t, func(*testing.T) { err = targets(s) })
		return err
	}, "stays", "taken back", "by the kubelet", "terminating")
}

func targets(s *trial.Source) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer func() { cancel(); synctest.Wait() }()
	//nolint:staticcheck // no managed fields are needed
	client := fake.NewSimpleClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	c := controller.NewDisruptionControllerInternal(ctx, factory.Core().V1().Pods(), factory.Policy().V1().PodDisruptionBudgets(), factory.Core().V1().ReplicationControllers(),
		factory.Apps().V1().ReplicaSets(), factory.Apps().V1().Deployments(), factory.Apps().V1().StatefulSets(), client, meta.NewDefaultRESTMapper(nil), &scalefake.FakeScaleClient{}, client.Discovery(), clock.RealClock{}, 2*time.Minute)
	factory.Start(ctx.Done())
	go c.Run(ctx, 1)
	time.Sleep(2 * time.Second)
	pods := map[string]*v1.Pod{}
	for range 30 {
		if name := fmt.Sprint("p", s.N(5)); s.More() && s.N(3) == 0 && pods[name] == nil {
			p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(name)}}
			for range s.N(3) {
				p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: trial.Pick(s, v1.DisruptionTarget, v1.DisruptionTarget, v1.PodReady), Status: trial.Pick(s, v1.ConditionTrue, v1.ConditionTrue, v1.ConditionFalse),
					Reason: trial.Pick(s, "EvictionByEvictionAPI", v1.PodReasonTerminationByKubelet, v1.PodReasonPreemptionByScheduler, "DeletionByTaintManager"), Message: "m",
					LastTransitionTime: metav1.NewTime(time.Now().Add(-trial.Pick(s, 0, 30*time.Second, 119*time.Second, 2*time.Minute, time.Hour, -time.Minute)))})
			}
			if s.Once(5) {
				now := metav1.Now()
				p.DeletionTimestamp = &now
				s.Count("terminating")
			}
			p.Status.Phase = trial.Pick(s, v1.PodRunning, v1.PodPending, v1.PodFailed, v1.PodSucceeded, "")
			s.Note("%v: pod %s %s deleted %v conditions %v", time.Now(), name, p.Status.Phase, p.DeletionTimestamp != nil, p.Status.Conditions)
			pods[name] = p
			if err := client.Tracker().Create(podsResource, p.DeepCopy(), "n"); err != nil {
				return err
			}
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for name, p := range pods {
			if err := target(s, client, name, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// target compares whether the controller removed the condition of a pod.
func target(s *trial.Source, client *fake.Clientset, name string, p *v1.Pod) error {
	object, err := client.Tracker().Get(podsResource, "n", name)
	if err != nil {
		return err
	}
	real := object.(*v1.Pod)
	for i, was := range p.Status.Conditions {
		is := real.Status.Conditions[i]
		if was.Type != v1.DisruptionTarget {
			if is != was {
				return fmt.Errorf("%s: condition %v became %v", name, was, is)
			}
			continue
		}
		if was.Reason == v1.PodReasonTerminationByKubelet {
			s.Count("by the kubelet")
		}
		stale := disruption.StaleTarget(p, time.Now())
		if taken := is.Status != was.Status; taken != stale {
			return fmt.Errorf("at %v %s: condition %v became %v, stale for podberth: %v", time.Now(), name, was, is, stale)
		}
		s.Count(map[bool]string{true: "taken back", false: "stays"}[stale])
		return nil // the first one counts
	}
	return nil
}
