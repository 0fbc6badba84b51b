package failures

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/planning/workload"
)

// made returns the items for which a unit makes pods now. A unit makes as many pods as it lost: what it lacked before the
// failure is no consequence.
func (x *player) made(u *unit) []*item {
	var open []*item
	for _, it := range x.of[u] {
		if it.pod == nil && it.refusal == nil && it.fate != Tied && it.old.DeletionTimestamp == nil {
			open = append(open, it)
		}
	}
	delete(x.waits, u)
	if len(open) == 0 {
		return nil
	}
	if !u.known {
		for _, it := range open {
			x.begin(it, copyOf(it.old))
		}
		return ready(open)
	}
	missing := must.Get(u.missing(x.snapshot, x.present(u), len(open)))
	for _, w := range missing.Waiting {
		x.waits[u] = w.String()
	}
	var out []*item
	if u.stateful != nil {
		for _, it := range open {
			if k := slices.IndexFunc(missing.Pods, func(p *v1.Pod) bool { return p.Name == it.old.Name }); k >= 0 {
				x.claims(missing, missing.Pods[k])
				x.begin(it, missing.Pods[k])
				out = append(out, it)
			}
		}
	} else {
		for k, it := range open[:min(len(open), len(missing.Pods))] {
			x.begin(it, missing.Pods[k])
			out = append(out, it)
		}
	}
	return ready(out)
}

// ready returns the items that the queue takes.
func ready(items []*item) []*item {
	return slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return it.fate != Pending || it.gate != "" || it.refusal != nil })
}

// present returns the pods of a unit that exist now: the pods that are left and the pods that were made.
func (x *player) present(u *unit) []*v1.Pod {
	list := slices.Clone(x.leftOf(u))
	for _, it := range x.of[u] {
		if it.pod != nil {
			list = append(list, it.pod)
		}
	}
	return list
}

// claims adds the claims that a StatefulSet makes for a pod.
func (x *player) claims(made *workload.Made, pod *v1.Pod) {
	for _, c := range made.Claims {
		for i := range pod.Spec.Volumes {
			if s := pod.Spec.Volumes[i].PersistentVolumeClaim; s != nil && s.ClaimName == c.Name {
				must.Do(x.snapshot.Set(c))
			}
		}
	}
}

// copyOf returns the pod that a controller makes in the place of another pod, when the controller is not known.
func copyOf(old *v1.Pod) *v1.Pod {
	c := *old
	c.Spec.NodeName, c.Spec.EphemeralContainers = "", nil
	c.Status = v1.PodStatus{Phase: v1.PodPending}
	return &c
}

// admit returns the pod as the API server stores it. The pods of a ReplicaSet or ReplicationController are equal but for their
// names, and one of them is admitted for all.
func (x *player) admit(pod *v1.Pod) (*v1.Pod, error) {
	ref := pod.OwnerReferences[0]
	key := unitKey{ref.Kind, pod.Namespace, ref.Name}
	alike := ref.Kind == "ReplicaSet" || ref.Kind == "ReplicationController"
	if known := x.admitted[key]; alike && known != nil {
		c := *known
		return &c, nil
	}
	admitted, _, err := admission.Admit(pod, x.in.Admission, admission.Options{SkipChanges: true})
	if err == nil && alike {
		c := *admitted
		x.admitted[key] = &c
	}
	return admitted, err
}

// begin gives an item its new pod: admitted, under the name of the pod that it replaces, with new claims of its ephemeral
// volumes and devices.
func (x *player) begin(it *item, pod *v1.Pod) {
	if it.unit.known {
		admitted, err := x.admit(pod)
		if err == nil {
			err = x.quotas.Charge(admitted)
		}
		if err != nil {
			it.refusal, it.fate = err, Pending
			return
		}
		pod = admitted
	} else if err := x.quotas.Charge(pod); err != nil {
		it.refusal, it.fate = err, Pending
		return
	}
	pod.Name = it.old.Name
	pod.UID = types.UID(fmt.Sprintf("%s/%s/again-%d", pod.Namespace, pod.Name, x.arrivals))
	it.pod = pod
	if !x.schedules(pod) {
		it.fate = Foreign
		return
	}
	it.fate = Pending
	it.gate, _ = filter.Gated(pod)
	for _, claim := range podinfo.EphemeralClaims(pod) {
		must.Do(x.snapshot.Set(claim))
	}
	decider.MakeClaims(x.snapshot, pod, "again")
}
