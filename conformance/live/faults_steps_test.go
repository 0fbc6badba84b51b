package live

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// now deletes a pod without a kubelet.
func now() metav1.DeleteOptions { return metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)} }

// step does one thing to the cluster or to the schedulers.
func (s *schedule) step() {
	ctx := context.Background()
	if *withGroups && s.rng.IntN(3) == 0 {
		s.stepOfGroups()
		return
	}
	switch k := s.rng.IntN(24); {
	case k < 9: // pods
		for range 1 + s.rng.IntN(4) {
			s.create(fmt.Sprintf("p%d", s.pods))
			s.pods++
		}
	case k < 11 && s.pods > 0: // delete, and half of the time replace
		name := fmt.Sprintf("p%d", s.rng.IntN(s.pods))
		err := s.api.CoreV1().Pods(s.space).Delete(ctx, name, now())
		s.note("delete %s: %v", name, err)
		if s.rng.IntN(2) == 0 {
			s.create(name)
		}
	case k < 13: // a node goes, and comes back under its name
		s.replaceNode(s.nodes[s.rng.IntN(len(s.nodes))])
	case k < 15:
		s.note("cut watches")
		for _, r := range s.replicas {
			r.link.cut()
		}
	case k < 16:
		r := s.replicas[s.rng.IntN(len(s.replicas))]
		d := time.Duration(s.rng.IntN(3600)) * time.Second // a process's clock never goes back
		s.note("clock jumps by %v", d)
		r.clock.jump(d)
	case k < 17: // an end of a pod
		if s.pods > 0 {
			name := fmt.Sprintf("p%d", s.rng.IntN(s.pods))
			_, err := s.api.CoreV1().Pods(s.space).Patch(ctx, name, types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status")
			s.note("finish %s: %v", name, err)
		}
	case k < 19:
		s.replaceUnderAssumed()
	case k < 21 && s.extender != nil:
		if s.rng.IntN(3) > 0 {
			s.note("the extender hangs")
			s.extender.hang()
		} else {
			s.note("the extender answers")
			s.extender.answer()
		}
	case k < 22:
		s.crowd(50)
	default:
		wait := time.Duration(s.rng.IntN(120)) * time.Millisecond
		s.note("wait %v", wait)
		<-time.After(wait)
	}
}

func (s *schedule) create(name string) {
	p := newPod(name, []string{"250m", "500m", "1", "1500m"}[s.rng.IntN(4)])
	p.Namespace = s.space
	if s.rng.IntN(4) == 0 {
		p.Spec.PriorityClassName = "high"
	}
	_, err := s.api.CoreV1().Pods(s.space).Create(context.Background(), p, metav1.CreateOptions{})
	s.note("create %s: %v", name, err)
}

func (s *schedule) addNode(name string) {
	n := newNode(name, "2")
	_, err := s.api.CoreV1().Nodes().Create(context.Background(), n, metav1.CreateOptions{})
	s.note("create node %s: %v", name, err)
}

func (s *schedule) replaceNode(name string) {
	err := s.api.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{})
	s.note("delete node %s: %v", name, err)
	s.addNode(name)
}

// replaceUnderAssumed holds bindings back and makes the node again, under another UID, to which one of them goes.
func (s *schedule) replaceUnderAssumed() {
	nodes := s.held.close()
	defer s.held.open()
	for range 3 {
		s.create(fmt.Sprintf("p%d", s.pods))
		s.pods++
	}
	select {
	case name := <-nodes:
		s.note("a binding to %s waits", name)
		s.again++
		s.replaceNode(name)
	case <-time.After(300 * time.Millisecond): // nobody leads, or nothing fits
		s.note("no binding")
	}
}

// crowders is how many pods of a crowd are made at the same time.
const crowders = 32

// crowd lets n pods come and go at once, beside whatever happens.
func (s *schedule) crowd(n int) {
	s.note("a crowd of %d comes", n)
	ctx := context.Background()
	numbers := make(chan int)
	var makers sync.WaitGroup
	var failed atomic.Pointer[error]
	for range crowders {
		makers.Go(func() {
			for k := range numbers {
				p := newPod(fmt.Sprintf("crowd-%d", k), "10m")
				p.Namespace, p.Labels = s.space, map[string]string{"crowd": ""}
				if err := s.come(ctx, p); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	for k := range n {
		numbers <- k
	}
	close(numbers)
	makers.Wait()
	if err := failed.Load(); err != nil {
		s.fail("the crowd did not come: %v", *err)
	}
	s.note("the crowd goes")
	require.NoError(s.t, s.clear("crowd"))
	s.note("the crowd is gone")
}

// come makes a pod. A machine with too much to do lets a request run out of time, so it asks again, as often as clear does.
func (s *schedule) come(ctx context.Context, p *v1.Pod) (err error) {
	for range tooOften {
		if _, err = s.api.CoreV1().Pods(s.space).Create(ctx, p, metav1.CreateOptions{}); err == nil || apierrors.IsAlreadyExists(err) {
			return nil
		}
	}
	return err
}

// tooOften is more requests than any crowd needs.
const tooOften = 1000

// clear deletes the pods with a label, all for "", some hundreds at a time: a request for thousands may take longer than it may. A binding
// makes the version old that a collection was listed with, and a machine with too much to do lets a request run out of time, so it asks
// again, often enough for any crowd.
func (s *schedule) clear(label string) (err error) {
	ctx, pods := context.Background(), s.api.CoreV1().Pods(s.space)
	for range tooOften {
		err = pods.DeleteCollection(ctx, now(), metav1.ListOptions{LabelSelector: label, Limit: 200})
		if err != nil {
			continue
		}
		var left *v1.PodList
		if left, err = pods.List(ctx, metav1.ListOptions{LabelSelector: label, Limit: 1}); err == nil && len(left.Items) == 0 {
			return nil
		}
	}
	return fmt.Errorf("pods are left; the last error: %w", err)
}
