package volumes

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Ledger remembers the volume decisions of pods that are on their way to a node, until the API objects show the decisions:
//
//   - A volume that a claim takes is no candidate for any other claim.
//   - A claim that is being provisioned for a node waits for that node.
//   - A ReadWriteOncePod claim of an assumed pod is in use.
//   - With [Options.ReserveCapacity], a claim that is being provisioned takes its share of the published capacity.
//
// Objects returns the objects of the cluster with these assumptions. Compile the next pod from them. Forget undoes Assume
// exactly. A Ledger belongs to one goroutine. It never changes the objects that it is given.
type Ledger struct {
	base    Objects
	pods    map[types.UID]*assumption
	volumes map[string]*assumedObject // by volume
	claims  map[string]*assumedObject // by claim, of those being provisioned
	users   map[string][]types.UID

	promised map[string]int    // by claim, how often an assumption gives it a volume
	taken    map[string]uint64 // by class: grows when a volume is taken or given back
	making   map[string]uint64 // by class: grows when a claim begins or ends to be provisioned
}

type assumption struct {
	pod      *v1.Pod
	decision Decision
	node     *v1.Node
}

// assumedObject is an assumption about one object. Pods that share a claim share the entry.
type assumedObject struct {
	claim *v1.PersistentVolumeClaim // claim that takes a volume or that is being provisioned
	node  *v1.Node
	pods  []types.UID

	// The copy that was returned last, and the object of which it is a copy.
	volume, volumeShown *v1.PersistentVolume
	owner, ownerShown   *v1.PersistentVolumeClaim
}

// NewLedger returns a ledger over the objects, without assumptions.
func NewLedger(base Objects) *Ledger {
	return &Ledger{
		base: base, pods: map[types.UID]*assumption{}, volumes: map[string]*assumedObject{}, claims: map[string]*assumedObject{},
		users: map[string][]types.UID{}, promised: map[string]int{}, taken: map[string]uint64{}, making: map[string]uint64{},
	}
}

// Clone returns a ledger with the same assumptions over other objects, such as the objects of a copy of the cluster. Later
// changes of one ledger do not reach the other. O(assumptions).
func (l *Ledger) Clone(base Objects) *Ledger {
	c := NewLedger(base)
	maps.Copy(c.pods, l.pods)
	for name, h := range l.volumes {
		c.volumes[name] = &assumedObject{claim: h.claim, node: h.node, pods: slices.Clone(h.pods)}
	}
	for k, h := range l.claims {
		c.claims[k] = &assumedObject{claim: h.claim, node: h.node, pods: slices.Clone(h.pods)}
	}
	for k, uids := range l.users {
		c.users[k] = slices.Clone(uids)
	}
	maps.Copy(c.promised, l.promised)
	return c
}

// Objects returns the objects with every assumption in them. The returned tables follow the ledger.
func (l *Ledger) Objects() Objects {
	o := l.base
	o.ledger = l
	o.PersistentVolumes = volumeView{l}
	o.Claims = claimView{l}
	return o
}

// Assume enters the decision for a pod that goes to the node. Assume returns an error and changes nothing when the pod is
// assumed already. The same holds when, since the pod was compiled, the ledger has promised a volume or claim of the
// decision to another pod.
func (l *Ledger) Assume(pod *v1.Pod, node *v1.Node, d Decision) error {
	if _, ok := l.pods[pod.UID]; ok {
		return fmt.Errorf("pod %s/%s (UID %s) is assumed already", pod.Namespace, pod.Name, pod.UID)
	}
	for _, m := range d.Bind {
		if h := l.volumes[m.Volume.Name]; h != nil && claimKey(h.claim) != claimKey(m.Claim) {
			return fmt.Errorf("persistentvolume %q is promised to claim %s, not free for %s", m.Volume.Name, claimKey(h.claim), claimKey(m.Claim))
		}
	}
	for _, claim := range d.Provision {
		if h := l.claims[claimKey(claim)]; h != nil && h.node.Name != node.Name {
			return fmt.Errorf("claim %s is being provisioned for node %q, not %q", claimKey(claim), h.node.Name, node.Name)
		}
	}
	l.pods[pod.UID] = &assumption{pod, d, node}
	for _, m := range d.Bind {
		holdOf(l.volumes, m.Volume.Name, m.Claim, node).add(pod.UID)
		l.promise(m, 1)
	}
	for _, claim := range d.Provision {
		holdOf(l.claims, claimKey(claim), claim, node).add(pod.UID)
		l.making[class(claim)]++
	}
	for _, name := range claimNames(pod) {
		k := pod.Namespace + "/" + name
		l.users[k] = append(l.users[k], pod.UID)
	}
	return nil
}

// Forget removes the decision that Assume entered for the pod with the UID. It reports whether there was a decision.
func (l *Ledger) Forget(uid types.UID) bool {
	a, ok := l.pods[uid]
	if !ok {
		return false
	}
	delete(l.pods, uid)
	for _, m := range a.decision.Bind {
		drop(l.volumes, m.Volume.Name, uid)
		l.promise(m, -1)
	}
	for _, claim := range a.decision.Provision {
		drop(l.claims, claimKey(claim), uid)
		l.making[class(claim)]++
	}
	for _, name := range claimNames(a.pod) {
		k := a.pod.Namespace + "/" + name
		if l.users[k] = slices.DeleteFunc(l.users[k], func(u types.UID) bool { return u == uid }); len(l.users[k]) == 0 {
			delete(l.users, k)
		}
	}
	return true
}

// promise notes that a volume is taken n more times.
func (l *Ledger) promise(m Match, n int) {
	l.taken[volumeClass(m.Volume)]++
	if l.promised[claimKey(m.Claim)] += n; l.promised[claimKey(m.Claim)] == 0 {
		delete(l.promised, claimKey(m.Claim))
	}
}

// Decision returns the decision that Assume entered for the pod with the UID, and false when there is none.
func (l *Ledger) Decision(uid types.UID) (Decision, bool) {
	if a, ok := l.pods[uid]; ok {
		return a.decision, true
	}
	return Decision{}, false
}

// uses reports whether an assumed pod other than this one uses the claim of its namespace.
func (l *Ledger) uses(pod *v1.Pod, claim string) bool {
	return slices.ContainsFunc(l.users[pod.Namespace+"/"+claim], func(u types.UID) bool { return u != pod.UID })
}

// addProvisioning adds the requests that the ledger's claims of the same class take from a capacity object. It leaves out the
// claim itself.
func (l *Ledger) addProvisioning(sum *resource.Quantity, d *delayedClaim, c *capacity) {
	for k, h := range l.claims {
		if k != claimKey(d.claim) && class(h.claim) == d.class.Name && c.nodes.Matches(labels.Set(h.node.Labels)) {
			sum.Add(h.claim.Spec.Resources.Requests[v1.ResourceStorage])
		}
	}
}

func claimKey(claim *v1.PersistentVolumeClaim) string { return claim.Namespace + "/" + claim.Name }

// claimNames returns the claims that a pod mounts by name, each once.
func claimNames(pod *v1.Pod) []string {
	var out []string
	for i := range pod.Spec.Volumes {
		if c := pod.Spec.Volumes[i].PersistentVolumeClaim; c != nil && !slices.Contains(out, c.ClaimName) {
			out = append(out, c.ClaimName)
		}
	}
	return out
}

func holdOf(m map[string]*assumedObject, k string, claim *v1.PersistentVolumeClaim, node *v1.Node) *assumedObject {
	h := m[k]
	if h == nil {
		h = &assumedObject{claim: claim, node: node}
		m[k] = h
	}
	return h
}

func (h *assumedObject) add(uid types.UID) { h.pods = append(h.pods, uid) }

func drop(m map[string]*assumedObject, k string, uid types.UID) {
	h := m[k]
	if h == nil {
		return
	}
	if h.pods = slices.DeleteFunc(h.pods, func(u types.UID) bool { return u == uid }); len(h.pods) == 0 {
		delete(m, k)
	}
}

// volumeView has the volumes of the base with the claims that take them.
type volumeView struct{ l *Ledger }

func (v volumeView) Get(namespace, name string) (*v1.PersistentVolume, bool) {
	pv, ok := lookUp(v.l.base.PersistentVolumes, namespace, name)
	if !ok {
		return nil, false
	}
	return v.seen(pv), true
}

func (v volumeView) All() iter.Seq[*v1.PersistentVolume] {
	return func(yield func(*v1.PersistentVolume) bool) {
		for pv := range allOf(v.l.base.PersistentVolumes) {
			if !yield(v.seen(pv)) {
				return
			}
		}
	}
}

// OfClass yields the volumes of a class, and the volumes of other classes too when the base has no index.
func (v volumeView) OfClass(class string) iter.Seq[*v1.PersistentVolume] {
	return func(yield func(*v1.PersistentVolume) bool) {
		for pv := range ofClass(v.l.base.PersistentVolumes, class) {
			if !yield(v.seen(pv)) {
				return
			}
		}
	}
}

// CandidatesFor yields what the base yields, or the volumes of a class when the base has no index.
func (v volumeView) CandidatesFor(class, namespace, claim string) iter.Seq[*v1.PersistentVolume] {
	return func(yield func(*v1.PersistentVolume) bool) {
		for pv := range candidatesFor(v.l.base.PersistentVolumes, class, namespace, claim) {
			if !yield(v.seen(pv)) {
				return
			}
		}
	}
}

// MayName reports whether one of these volumes may have a claimRef.
func (v volumeView) MayName(class, namespace, claim string) bool {
	return v.l.promised[namespace+"/"+claim] > 0 || mayName(v.l.base.PersistentVolumes, class, namespace, claim)
}

func (v volumeView) seen(pv *v1.PersistentVolume) *v1.PersistentVolume {
	h := v.l.volumes[pv.Name]
	if h == nil || pv.Spec.ClaimRef != nil && !refersTo(pv.Spec.ClaimRef, h.claim) { // the API has decided otherwise
		return pv
	}
	if h.volume != pv {
		h.volume, h.volumeShown = pv, reserve(pv, h.claim)
	}
	return h.volumeShown
}

// claimView has the claims of the base with the nodes for which they are being provisioned.
type claimView struct{ l *Ledger }

func (v claimView) Get(namespace, name string) (*v1.PersistentVolumeClaim, bool) {
	c, ok := lookUp(v.l.base.Claims, namespace, name)
	if !ok {
		return nil, false
	}
	return v.seen(c), true
}

func (v claimView) All() iter.Seq[*v1.PersistentVolumeClaim] {
	return func(yield func(*v1.PersistentVolumeClaim) bool) {
		for c := range allOf(v.l.base.Claims) {
			if !yield(v.seen(c)) {
				return
			}
		}
	}
}

func (v claimView) seen(c *v1.PersistentVolumeClaim) *v1.PersistentVolumeClaim {
	h := v.l.claims[claimKey(c)]
	if h == nil || completed(c) {
		return c
	}
	if h.owner != c {
		h.owner, h.ownerShown = c, selectNode(c, h.node.Name)
	}
	return h.ownerShown
}
