package diagnose

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/diagnose"
)

// Pending pods of generated clusters whose running pods terminate, 200 in the short mode: Wake names the events that the plugins
// register which reject the pod in kube-scheduler; the first end wakes the pod exactly if the queueing hint of one of these
// plugins says Queue; and kube-scheduler places the pod after the last end, and not before.
func TestWakes(t *testing.T) {
	k := kube(t)
	var pods, events, queued, skipped, placed int
	for seed := *gen.Seed; pods < gen.Count(200, 100); seed++ {
		c := gen.Of(seed, gen.Shape{Nodes: 4, Running: 16, Pending: 4, Volumes: seed%4 == 3})
		for i, p := range c.Pods {
			if i%2 == 0 {
				gone := metav1.NewTime(gen.Now.Add(time.Duration(i) * time.Second))
				p.DeletionTimestamp = &gone
			}
		}
		for pod, s := range pending(t, c) {
			load(t, k, c, s)
			p := pod.DeepCopy()
			know(t, k, p)
			a, err := k.Attempt(p)
			must(t, err)
			o, err := diagnose.Wake(diagnose.Input{Snapshot: s}, pod, diagnose.WakeOptions{})
			must(t, err)
			fit := a.Fit()
			if fit == nil {
				if a.Err == nil && len(o.Events) > 0 {
					t.Fatalf("seed %d: pod %s: kube-scheduler places it, Wake names %v", seed, o.Pod, o.Events)
				}
				continue
			}
			pods++
			rejecters := fit.Diagnosis.UnschedulablePlugins
			var theirs, ours []string
			var hints []fwk.ClusterEventWithHint
			for name := range rejecters {
				registered, err := k.Hints(name)
				must(t, err)
				hints = append(hints, registered...)
				for _, r := range registered {
					theirs = append(theirs, name+" "+compare.Event(r.Event).String())
				}
			}
			for _, e := range o.Events {
				ours = append(ours, e.Plugin+" "+e.Event)
			}
			slices.Sort(theirs)
			slices.Sort(ours)
			if !slices.Equal(theirs, ours) {
				t.Fatalf("seed %d: pod %s: kube-scheduler's plugins wait for %v, Wake names %v", seed, o.Pod, theirs, ours)
			}
			events += len(ours)
			if len(o.Ends) == 0 {
				continue
			}
			if wakes := queues(t, hints, p, podNamed(c, o.Ends[0].Pod)); wakes != o.Ends[0].Wakes {
				t.Fatalf("seed %d: pod %s: the end of %s: hints of kube-scheduler say %v, Wake %v", seed, o.Pod, o.Ends[0].Pod, wakes, o.Ends[0].Wakes)
			} else if wakes {
				queued++
			} else {
				skipped++
			}
			for i, e := range o.Ends {
				must(t, s.Remove(podNamed(c, e.Pod)))
				if i < len(o.Ends)-2 {
					continue
				}
				load(t, k, c, s)
				know(t, k, p)
				r, err := k.Schedule(p)
				last := i == len(o.Ends)-1 && o.At != nil
				if (err == nil && r.SuggestedHost != "") != last {
					t.Fatalf("seed %d: pod %s: after the end of %s kube-scheduler answers %q, %v; Wake: %v", seed, o.Pod, e.Pod, r.SuggestedHost, err, o.At)
				}
				if last {
					placed++
				}
			}
		}
	}
	t.Logf("%d pods, %d events, first ends: %d wake and %d do not, %d pods are placed after an end", pods, events, queued, skipped, placed)
	if queued == 0 || skipped == 0 || placed == 0 {
		t.Error("a case is missing")
	}
}

// queues reports whether a queueing hint lets the end of a pod through.
func queues(t *testing.T, hints []fwk.ClusterEventWithHint, pod, gone *v1.Pod) bool {
	t.Helper()
	for _, h := range hints {
		if !framework.MatchClusterEvents(h.Event, framework.EventAssignedPodDelete) {
			continue
		}
		if h.QueueingHintFn == nil {
			return true
		}
		answer, err := h.QueueingHintFn(klog.Background(), pod, gone, nil)
		if err != nil || answer == fwk.Queue {
			return true
		}
	}
	return false
}

func podNamed(c *gen.Cluster, name string) *v1.Pod {
	for _, p := range c.Pods {
		if fmt.Sprintf("%s/%s", p.Namespace, p.Name) == name {
			return p
		}
	}
	return nil
}
