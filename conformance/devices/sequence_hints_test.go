package devices

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/podberth/podberth/conformance/registration"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/internal/hints"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
)

// sync tells the scheduler's informers about all changes of claims, and compares the hints for them.
func (q *sequence) sync() {
	changes, err := q.api.sync()
	if err != nil {
		q.t.Fatal(err)
	}
	for _, pod := range q.waiting {
		for _, c := range changes {
			q.claimHint(pod, c)
		}
	}
}

func (q *sequence) claimHint(pod *v1.Pod, c change) {
	if c.new == nil && trial.Linked == release.V1_36 {
		return // its queue does not ask about a deletion, for which the hint panics: TestDeletedClaim
	}
	var old, new any
	if c.old != nil {
		old = c.old
	}
	if c.new != nil {
		new = c.new
	}
	q.hint("claim hint", fwk.ResourceClaim, hints.Claim(q, trial.Linked), pod, old, new)
}

// podHints compares the hints for updates of the waiting pod and of another pod.
func (q *sequence) podHints(pod *v1.Pod) {
	before := pod.DeepCopy()
	before.Status.ResourceClaimStatuses = nil
	other := pod.DeepCopy()
	other.UID = "another"
	for _, after := range []*v1.Pod{pod, other, before} {
		q.hint("pod hint", fwk.Pod, hints.Pod(q), pod, before, after)
	}
}

// hint compares the answer of one hint. A registration without a function always queues.
func (q *sequence) hint(name string, resource fwk.EventResource, ours queue.Hint, pod *v1.Pod, old, new any) {
	for _, r := range q.hints {
		if r.Event.Resource != resource && (resource != fwk.Pod || r.Event.Resource != "TargetPod") {
			continue
		}
		here, err := registration.Hint(trial.Linked, "DynamicResources", string(r.Event.Resource), ours)(pod, old, new)
		there, theirErr := r.QueueingHintFn(klog.Background(), pod, old, new)
		q.names[name+": "+there.String()] = true
		q.fail(fmt.Sprintf("%s of %s", name, pod.Name), fmt.Sprint(here, err), fmt.Sprint(there == fwk.Queue, theirErr))
		return
	}
	q.t.Fatalf("%s: DynamicResources is not registered for %s", name, resource)
}
