package devices

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/podberth/podberth/devices"
)

// sync tells the scheduler's informers about all changes of claims, and compares the hints for them.
func (q *sequence) sync() {
	changes, err := q.api.sync()
	if err != nil {
		q.t.Fatal(err)
	}
	for _, pod := range q.waiting {
		for _, c := range changes {
			if c.new != nil { // the plugin is not registered for deletions
				q.claimHint(pod, c)
			}
		}
	}
}

func (q *sequence) claimHint(pod *v1.Pod, c change) {
	var old any
	if c.old != nil {
		old = c.old
	}
	here, err := devices.ClaimHint(q)(pod, old, c.new)
	q.hint("claim hint", fwk.ResourceClaim, pod, old, c.new, here, err)
}

// podHints compares the hints for updates of the waiting pod and of another pod.
func (q *sequence) podHints(pod *v1.Pod) {
	before := pod.DeepCopy()
	before.Status.ResourceClaimStatuses = nil
	other := pod.DeepCopy()
	other.UID = "another"
	for _, after := range []*v1.Pod{pod, other, before} {
		here, err := devices.PodHint(q)(pod, before, after)
		q.hint("pod hint", fwk.Pod, pod, before, after, here, err)
	}
}

// hint compares the answer of one hint. A registration without a function always queues.
func (q *sequence) hint(name string, resource fwk.EventResource, pod *v1.Pod, old, new any, here bool, err error) {
	for _, r := range q.hints {
		if r.Event.Resource != resource {
			continue
		}
		there, theirErr := r.QueueingHintFn(klog.Background(), pod, old, new)
		q.names[name+": "+there.String()] = true
		q.fail(fmt.Sprintf("%s of %s", name, pod.Name), fmt.Sprint(here, err), fmt.Sprint(there == fwk.Queue, theirErr))
		return
	}
	q.t.Fatalf("%s: DynamicResources is not registered for %s", name, resource)
}
