package volumes

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/resources"
)

// restrictionsFilter is a pod's side of VolumeRestrictions.
type restrictionsFilter struct {
	pod  *Pod
	rwop []string // names of the pod's ReadWriteOncePod claims, without duplicates
	pre  filter.PreFilterResult
}

const restrictionsPlugin = "VolumeRestrictions"

// Restrictions compiles the filter VolumeRestrictions: some disks may not be attached to a node twice, and a ReadWriteOncePod
// claim may have one pod.
//
// PreFilter answers UnschedulableAndUnresolvable for a missing claim, Skip when no node can reject the pod, and else
// Success. Part of v1.37's answer depends on running pods: [RestrictionsState.Skip] has that part.
//
// On is O(claims of the pod), and for a pod with inline disks O(pods with the same disks). Pods that the ledger assumes count
// as users of their claims too. The State does not follow later changes of the usage or of the ledger.
func (p *Pod) Restrictions() Evaluator[*Usage, RestrictionsState] { return p.restrictions() }

func (p *Pod) restrictions() *restrictionsFilter {
	e := &restrictionsFilter{pod: p, pre: result(restrictionsPlugin, filter.Success)}
	for _, c := range p.claims {
		if c.ephemeral {
			continue
		}
		if c.claim == nil {
			e.pre = result(restrictionsPlugin, filter.UnschedulableAndUnresolvable, claimNotFound(c.name))
			return e
		}
		if hasMode(c.claim.Spec.AccessModes, v1.ReadWriteOncePod) && !slices.Contains(e.rwop, c.name) {
			e.rwop = append(e.rwop, c.name)
		}
	}
	if len(e.rwop) == 0 && !p.inline {
		e.pre.Code = filter.Skip
	}
	return e
}

func (e *restrictionsFilter) PreFilter() filter.PreFilterResult { return e.pre }

func (e *restrictionsFilter) On(u *Usage) RestrictionsState {
	s := &restrictionsState{restrictions: e, cluster: u.cluster, used: make([]bool, len(e.rwop))}
	if e.pre.Code != filter.Success {
		return s
	}
	if e.pod.inline {
		s.countDisks(u)
	}
	for k, name := range e.rwop {
		if _, s.used[k] = u.claims[[2]string{e.pod.pod.Namespace, name}]; s.used[k] {
			s.conflicts++
		}
	}
	s.countLedger()
	return s
}

// countLedger counts the claims that only pods of the ledger use.
func (s *restrictionsState) countLedger() {
	e := s.restrictions
	l := e.pod.objects.ledger
	if l == nil {
		return
	}
	for k, name := range e.rwop {
		if !s.used[k] && l.uses(e.pod.pod, name) {
			s.used[k] = true
			s.conflicts++
		}
	}
}

// RestrictionsState is VolumeRestrictions for one pod and one cluster.
//
// Check rejects a slot with verdict 1 when a pod there has a conflicting disk. It rejects every slot with verdict 2 while a
// ReadWriteOncePod claim of the pod is in use anywhere. A free slot is rejected with verdict 1 and [resources.Unresolvable].
// Check does not allocate.
//
// Explain returns the pods of the slot that have a conflicting disk, and then for each claim in use the pods that use it on
// any node. Explain takes O(pods of the cluster).
type RestrictionsState interface {
	filter.TrialState[Holder]
	// Skip reports whether v1.37 leaves the plugin out for this pod: the pod has no disk written into its spec, and none of
	// its ReadWriteOncePod claims is in use. Check then allows every node, and a trial must not be used.
	Skip() bool
}

type restrictionsState struct {
	restrictions *restrictionsFilter
	cluster      filter.Cluster
	disks        map[int]int32 // by slot, pods with a conflicting disk
	used         []bool        // by ReadWriteOncePod claim: whether a pod uses the claim, on any node
	conflicts    int           // claims in use
}

const (
	diskTaken  resources.Verdict = 1
	claimInUse resources.Verdict = 2
)

func (s *restrictionsState) Name() string { return restrictionsPlugin }

func (s *restrictionsState) Skip() bool { return !s.restrictions.pod.inline && s.conflicts == 0 }

func (s *restrictionsState) Check(i int) resources.Verdict { return s.check(i, 0, s.conflicts) }

// check decides slot i with a changed number of conflicting disks and a given number of claims in use.
func (s *restrictionsState) check(i int, disks int32, claims int) resources.Verdict {
	disks += s.disks[i]
	switch {
	case s.cluster.Node(i) == nil:
		return diskTaken | resources.Unresolvable
	case disks > 0:
		return diskTaken
	case claims > 0:
		return claimInUse
	}
	return 0
}

func (s *restrictionsState) Reasons(v resources.Verdict) []string {
	switch v &^ resources.Unresolvable {
	case diskTaken:
		return []string{"node(s) had no available disk"}
	case claimInUse:
		return []string{"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"}
	}
	return nil
}

// inUse returns the pod's ReadWriteOncePod claims that another pod uses, in the order of the pod's volumes.
func (s *restrictionsState) inUse() []string {
	var out []string
	for k, used := range s.used {
		if used {
			out = append(out, s.restrictions.rwop[k])
		}
	}
	return out
}

// Holder is a pod that keeps a volume from the pod.
type Holder struct {
	// Claim is the ReadWriteOncePod claim that the other pod uses, "" for a disk.
	Claim string
	// Pod is the other pod, nil when only the ledger knows the pod.
	Pod *v1.Pod
}

func (s *restrictionsState) Explain(i int) []Holder {
	var out []Holder
	e := s.restrictions
	if s.cluster.Node(i) != nil {
		for p := range s.cluster.Pods(i) {
			if diskConflict(e.pod.pod, p) {
				out = append(out, Holder{"", p})
			}
		}
	}
	for _, name := range s.inUse() {
		at := len(out)
		for k := range s.cluster.Len() {
			if s.cluster.Node(k) == nil {
				continue
			}
			for p := range s.cluster.Pods(k) {
				if p.Namespace == e.pod.pod.Namespace && slices.Contains(claimNames(p), name) {
					out = append(out, Holder{name, p})
				}
			}
		}
		if len(out) == at {
			out = append(out, Holder{Claim: name})
		}
	}
	return out
}

// restrictionsTrial is the Trial of a RestrictionsState. Like v1.37 it counts, for each volume of an
// added or removed pod, one claim whose name is that of a ReadWriteOncePod claim of the pod, whatever the namespace; see
// Options.CompareNamespaces.
type restrictionsTrial struct {
	s         *restrictionsState
	conflicts int
	disks     []diskChange
}

type diskChange struct {
	slot  int
	delta int32
}

func (s *restrictionsState) NewTrial() filter.Trial { return &restrictionsTrial{s: s} }

func (t *restrictionsTrial) Add(p *v1.Pod, i int) { t.change(p, i, 1) }

func (t *restrictionsTrial) Remove(p *v1.Pod, i int) { t.change(p, i, -1) }

func (t *restrictionsTrial) Reset() { t.conflicts, t.disks = 0, t.disks[:0] }

func (t *restrictionsTrial) change(p *v1.Pod, i, n int) {
	e := t.s.restrictions
	if diskConflict(e.pod.pod, p) {
		t.disks = append(t.disks, diskChange{i, int32(n)})
	}
	if e.pod.options.CompareNamespaces && p.Namespace != e.pod.pod.Namespace {
		return
	}
	for k := range p.Spec.Volumes {
		if c := p.Spec.Volumes[k].PersistentVolumeClaim; c != nil && slices.Contains(e.rwop, c.ClaimName) {
			t.conflicts += n
		}
	}
}

func (t *restrictionsTrial) Check(i int) resources.Verdict {
	disks := int32(0)
	for _, d := range t.disks {
		if d.slot == i {
			disks += d.delta
		}
	}
	return t.s.check(i, disks, t.s.conflicts+t.conflicts)
}
