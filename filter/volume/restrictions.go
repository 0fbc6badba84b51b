package volume

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/resources"
)

// Restrictions is a pod's side of VolumeRestrictions: disks that may not be attached twice, and ReadWriteOncePod claims.
// It is immutable.
type Restrictions struct {
	pod  *Pod
	rwop []string // names of the pod's ReadWriteOncePod claims, without duplicates
	pre  filter.PreFilterResult
}

const restrictions = "VolumeRestrictions"

// Restrictions makes the plugin's evaluator.
func (p *Pod) Restrictions() *Restrictions {
	e := &Restrictions{pod: p, pre: result(restrictions, filter.Success)}
	for _, c := range p.claims {
		if c.ephemeral {
			continue
		}
		if c.claim == nil {
			e.pre = result(restrictions, filter.UnschedulableAndUnresolvable, claimNotFound(c.name))
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

// PreFilter returns the plugin's answer about the pod as a whole as far as the pod tells: UnschedulableAndUnresolvable for a
// missing claim, Skip when no node can reject it, else Success. RestrictionsState.Skips has the rest of the answer.
func (e *Restrictions) PreFilter() filter.PreFilterResult { return e.pre }

// RestrictionsEffect is what one running pod does to a RestrictionsState.
type RestrictionsEffect struct {
	disk int32   // 1: an inline disk conflicts
	rwop []int32 // positions of the ReadWriteOncePod claims that it uses
}

// Effect returns what one running pod does to the states of this evaluator. It allocates only for a pod that uses one of
// the ReadWriteOncePod claims.
func (e *Restrictions) Effect(pod *v1.Pod) RestrictionsEffect {
	var x RestrictionsEffect
	if e.pod.inline && diskConflict(e.pod.pod, pod) {
		x.disk = 1
	}
	if len(e.rwop) == 0 || pod.Namespace != e.pod.pod.Namespace {
		return x
	}
	for i := range pod.Spec.Volumes {
		if c := pod.Spec.Volumes[i].PersistentVolumeClaim; c != nil {
			if at := slices.Index(e.rwop, c.ClaimName); at >= 0 && !slices.Contains(x.rwop, int32(at)) {
				x.rwop = append(x.rwop, int32(at))
			}
		}
	}
	return x
}

// Count finds the pods that hold one of the disks or claims. O(1) for a pod with neither, else O(pods): with more than one
// pod to decide, make a Usage once and call On. Pods that the ledger assumes count as users of their claims too; when the
// ledger changes, Count again.
func (e *Restrictions) Count(c Cluster) *RestrictionsState {
	s := &RestrictionsState{restrictions: e, cluster: c, users: make([]int32, len(e.rwop))}
	if e.pre.Code != filter.Success {
		return s
	}
	for i := range c.Len() {
		for p := range c.Pods(i) {
			s.Apply(e.Effect(p), i, 1)
		}
	}
	s.countLedger()
	return s
}

// On is Count with what a Usage of the cluster knows: O(claims of the pod), and for a pod with inline disks O(pods with
// such). The State does not follow the Usage.
func (e *Restrictions) On(u *Usage, c Cluster) *RestrictionsState {
	s := &RestrictionsState{restrictions: e, cluster: c, users: make([]int32, len(e.rwop))}
	if e.pre.Code != filter.Success {
		return s
	}
	if e.pod.inline {
		for i, pods := range u.holders {
			for _, p := range pods {
				if diskConflict(e.pod.pod, p) {
					s.Apply(RestrictionsEffect{disk: 1}, i, 1)
				}
			}
		}
	}
	for k, name := range e.rwop {
		if s.users[k] = u.claims[[2]string{e.pod.pod.Namespace, name}]; s.users[k] > 0 {
			s.conflicts++
		}
	}
	s.countLedger()
	return s
}

// countLedger counts the claims that only pods of the ledger use.
func (s *RestrictionsState) countLedger() {
	e := s.restrictions
	l := e.pod.objects.ledger
	if l == nil {
		return
	}
	for k, name := range e.rwop {
		if s.users[k] == 0 && l.uses(e.pod.pod, name) {
			s.users[k] = 1
			s.conflicts++
		}
	}
}

// RestrictionsState is VolumeRestrictions for one pod and one cluster.
type RestrictionsState struct {
	restrictions *Restrictions
	cluster      Cluster
	disks        []int32 // per slot, the pods with a conflicting disk
	users        []int32 // per ReadWriteOncePod claim, the pods that use it anywhere
	conflicts    int     // claims in use
}

const (
	diskTaken  resources.Verdict = 1
	claimInUse resources.Verdict = 2
)

// Name returns "VolumeRestrictions".
func (s *RestrictionsState) Name() string { return restrictions }

// Skips reports whether v1.36 leaves the plugin out for this pod: it has no disk written into it, and none of its
// ReadWriteOncePod claims is in use. Check allows every slot then; pods that a trial adds must not count either.
func (s *RestrictionsState) Skips() bool { return !s.restrictions.pod.inline && s.conflicts == 0 }

// Check rejects slot i with verdict 1 when a pod there has a conflicting disk, and every slot with verdict 2 while a
// ReadWriteOncePod claim of the pod is in use anywhere. No allocation.
func (s *RestrictionsState) Check(i int) resources.Verdict {
	if i < len(s.disks) && s.disks[i] > 0 {
		return diskTaken
	}
	if s.conflicts > 0 {
		return claimInUse
	}
	return 0
}

// Reasons returns the text of a verdict.
func (s *RestrictionsState) Reasons(v resources.Verdict) []string {
	switch v {
	case diskTaken:
		return []string{"node(s) had no available disk"}
	case claimInUse:
		return []string{"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"}
	}
	return nil
}

// InUse returns the pod's ReadWriteOncePod claims that another pod uses, in the order of the pod's volumes.
func (s *RestrictionsState) InUse() []string {
	var out []string
	for k, n := range s.users {
		if n > 0 {
			out = append(out, s.restrictions.rwop[k])
		}
	}
	return out
}

// Holder is a pod in the way of a volume.
type Holder struct {
	// Claim is the ReadWriteOncePod claim that the other pod uses, "" for a disk.
	Claim string
	// Pod is the other pod, nil when only the ledger knows of one.
	Pod *v1.Pod
	// Slot is where it runs, -1 without a pod.
	Slot int
}

// Explain returns the pods behind a rejection of slot i: those of the slot with a conflicting disk, then for each claim in
// use its users anywhere. O(pods of the cluster).
func (s *RestrictionsState) Explain(i int) []Holder {
	var out []Holder
	e := s.restrictions
	if i < len(s.disks) && s.disks[i] > 0 {
		for p := range s.cluster.Pods(i) {
			if diskConflict(e.pod.pod, p) {
				out = append(out, Holder{"", p, i})
			}
		}
	}
	for _, name := range s.InUse() {
		at := len(out)
		for k := range s.cluster.Len() {
			for p := range s.cluster.Pods(k) {
				if p.Namespace == e.pod.pod.Namespace && slices.Contains(claimNames(p), name) {
					out = append(out, Holder{name, p, k})
				}
			}
		}
		if len(out) == at {
			out = append(out, Holder{Claim: name, Slot: -1})
		}
	}
	return out
}

// Apply counts n pods (-n: gone) with that effect on slot i. The result equals a fresh Count.
func (s *RestrictionsState) Apply(x RestrictionsEffect, i, n int) {
	if x.disk != 0 {
		for i >= len(s.disks) {
			s.disks = append(s.disks, 0)
		}
		s.disks[i] += x.disk * int32(n)
	}
	for _, k := range x.rwop {
		before := s.users[k] > 0
		s.users[k] += int32(n)
		if after := s.users[k] > 0; after != before {
			if after {
				s.conflicts++
			} else {
				s.conflicts--
			}
		}
	}
}

// Add counts one more pod on slot i.
func (s *RestrictionsState) Add(pod *v1.Pod, i int) { s.Apply(s.restrictions.Effect(pod), i, 1) }

// Remove counts one pod less on slot i.
func (s *RestrictionsState) Remove(pod *v1.Pod, i int) { s.Apply(s.restrictions.Effect(pod), i, -1) }

// AppendSignature appends whether a disk conflicts on slot i: it changes only by events there. ReadWriteOncePod claims are
// alike for all slots.
func (s *RestrictionsState) AppendSignature(dst []int32, i int) []int32 {
	if i < len(s.disks) && s.disks[i] > 0 {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// Dynamic reports whether events on one slot can change the verdict on others: the pod has a ReadWriteOncePod claim.
func (s *RestrictionsState) Dynamic() bool { return len(s.users) > 0 }

// RestrictionsTrial is the what-if copy of a RestrictionsState: see filter.Trial. As v1.36 it counts, for each volume of an
// added or removed pod, one claim whose name is that of a ReadWriteOncePod claim of the pod, whatever the namespace; see
// Options.CompareNamespaces.
type RestrictionsTrial struct {
	s         *RestrictionsState
	conflicts int
	disks     []diskChange
}

type diskChange struct {
	slot  int
	delta int32
}

// Trial returns a copy to try changes on. It is cheap and independent of other trials.
func (s *RestrictionsState) Trial() *RestrictionsTrial { return &RestrictionsTrial{s: s} }

// Add pretends that p comes to slot i.
func (t *RestrictionsTrial) Add(p *v1.Pod, i int) { t.change(p, i, 1) }

// Remove pretends that p leaves slot i.
func (t *RestrictionsTrial) Remove(p *v1.Pod, i int) { t.change(p, i, -1) }

// Reset forgets all changes.
func (t *RestrictionsTrial) Reset() { t.conflicts, t.disks = 0, t.disks[:0] }

func (t *RestrictionsTrial) change(p *v1.Pod, i, n int) {
	e := t.s.restrictions
	if e.pod.inline && diskConflict(e.pod.pod, p) {
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

// Check is RestrictionsState.Check with the changes made. No allocation.
func (t *RestrictionsTrial) Check(i int) resources.Verdict {
	taken := int32(0)
	if i < len(t.s.disks) {
		taken = t.s.disks[i]
	}
	for _, d := range t.disks {
		if d.slot == i {
			taken += d.delta
		}
	}
	switch {
	case taken > 0:
		return diskTaken
	case t.s.conflicts+t.conflicts > 0:
		return claimInUse
	}
	return 0
}

// exclusive reports whether a volume is of an inline kind that VolumeRestrictions knows.
func exclusive(v *v1.Volume) bool {
	return v.GCEPersistentDisk != nil || v.AWSElasticBlockStore != nil || v.ISCSI != nil || v.RBD != nil
}

// diskConflict reports whether a volume written into one pod may not be attached beside one of the other's.
func diskConflict(pod, other *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if !exclusive(v) {
			continue
		}
		for k := range other.Spec.Volumes {
			if sameDisk(v, &other.Spec.Volumes[k]) {
				return true
			}
		}
	}
	return false
}

// sameDisk reports whether two volumes conflict: the same GCE disk, ISCSI name or RBD image (a monitor in common), unless
// both only read; the same EBS volume always. Rule: the API's comments of these volume sources.
func sameDisk(a, b *v1.Volume) bool {
	switch {
	case a.GCEPersistentDisk != nil && b.GCEPersistentDisk != nil:
		x, y := a.GCEPersistentDisk, b.GCEPersistentDisk
		return x.PDName == y.PDName && !(x.ReadOnly && y.ReadOnly)
	case a.AWSElasticBlockStore != nil && b.AWSElasticBlockStore != nil:
		return a.AWSElasticBlockStore.VolumeID == b.AWSElasticBlockStore.VolumeID
	case a.ISCSI != nil && b.ISCSI != nil:
		return a.ISCSI.IQN == b.ISCSI.IQN && !(a.ISCSI.ReadOnly && b.ISCSI.ReadOnly)
	case a.RBD != nil && b.RBD != nil:
		x, y := a.RBD, b.RBD
		shared := slices.ContainsFunc(x.CephMonitors, func(m string) bool { return slices.Contains(y.CephMonitors, m) })
		return shared && x.RBDPool == y.RBDPool && x.RBDImage == y.RBDImage && !(x.ReadOnly && y.ReadOnly)
	}
	return false
}
