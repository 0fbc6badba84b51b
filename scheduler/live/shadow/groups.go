package shadow

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
)

// judgeMember decides about all waiting members of the pod's tree together, those that were bound before on their nodes, and judges the
// pod's part. It does not preempt.
func (s *Shadow) judgeMember(placer *placement.Placer, pod *v1.Pod, r *Report) {
	members, err := s.waiting(pod)
	if err != nil {
		r.Verdict, r.Message = Failed, err.Error()
		return
	}
	d := placer.DecideGroup(members, placement.GroupOptions{Options: placement.Options{Nominated: s.nominated()}, Gates: *s.groups})
	k := slices.Index(members, pod)
	m := d.Members[k]
	switch {
	case m.Dropped:
		r.Verdict, r.Message = Failed, "the pod is being deleted"
		return
	case m.Placed() && m.Node == r.Node:
		r.Verdict, r.Would = Same, m.Node
		return
	case m.Code == filter.Error:
		r.Verdict, r.Message = Failed, m.Text
		return
	case m.Placed():
		r.Would = m.Node
	}
	// The members before this one hold their nodes while the nodes are compared.
	for n := range d.Members[:k] {
		if !d.Members[n].Placed() {
			continue
		}
		if err := placer.Assume(members[n], d.Members[n].Decision); err != nil {
			r.Verdict, r.Message = Failed, err.Error()
			return
		}
		defer func() {
			if err := placer.Forget(members[n]); err != nil {
				s.failed(err)
			}
		}()
	}
	if s.differ(placer, pod, r, m.Decision); r.Verdict == Unschedulable {
		r.Message = m.Text
	}
}

// waiting returns the pods of the tree of a pod that have no node, the pod among them, in the order in which they are tried.
func (s *Shadow) waiting(pod *v1.Pod) ([]*v1.Pod, error) {
	root := func(p *v1.Pod) (string, error) {
		group, _ := podgroup.Of(p)
		name, composite, err := podgroup.RootOf(s.snapshot, p.Namespace, group, *s.groups)
		if composite {
			name += "/" // no group has such a name
		}
		return name, err
	}
	own, err := root(pod)
	if err != nil {
		return nil, err
	}
	members := []podgroup.Member{{Pod: pod, Timestamp: pod.CreationTimestamp.Time}}
	for _, p := range s.pending {
		if _, ok := podgroup.Of(p); !ok || p.UID == pod.UID || p.Namespace != pod.Namespace {
			continue
		}
		if name, err := root(p); err == nil && name == own {
			members = append(members, podgroup.Member{Pod: p, Timestamp: p.CreationTimestamp.Time})
		}
	}
	slices.SortFunc(members, podgroup.CompareMembers)
	out := make([]*v1.Pod, 0, len(members))
	for _, m := range members {
		out = append(out, m.Pod)
	}
	return out, nil
}
