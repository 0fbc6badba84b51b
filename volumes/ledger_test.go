package volumes

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/resources"
)

// assume compiles the pod against the ledger, checks slot i and enters the decision.
func assume(l *Ledger, w *world, p *v1.Pod, i int, o Options) error {
	b := Compile(p, l.Objects(), o).Binding()
	if pre := b.PreFilter(); len(pre.Reasons) > 0 {
		return fmt.Errorf("%s", pre.Reasons[0])
	}
	s := b.On(w)
	d, ok := s.Bindings(i)
	if !ok {
		return fmt.Errorf("%s", s.Reasons(s.Check(i))[0])
	}
	return l.Assume(p, w.nodes[i], d)
}

func TestTwoPodsAfterOneVolume(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1"), node("n2")}, claims: claims(claim("a", "s", "1Gi"), claim("b", "s", "1Gi")),
		volumes: volumes(volume("pv", "s", "1Gi")), classes: classes(storageClass("s", noProvisioner, wait))}
	l := NewLedger(w.objects())
	first, second := pod("first", "a"), pod("second", "b")
	early := Compile(second, l.Objects(), Options{}).Binding().On(w)
	decision, ok := early.Bindings(1)
	require.True(t, ok)

	require.NoError(t, assume(l, w, first, 0, Options{}))
	require.EqualError(t, assume(l, w, second, 1, Options{}), "node(s) didn't find available persistent volumes to bind")
	require.EqualError(t, l.Assume(second, w.nodes[1], decision), `persistentvolume "pv" is promised to claim default/a, not free for default/b`, "a decision made too early")
	require.EqualError(t, l.Assume(first, w.nodes[0], Decision{}), "pod default/first (UID pod-first) is assumed already")
	got, ok := l.Decision(first.UID)
	require.True(t, ok)
	require.Equal(t, "pv", got.Bind[0].Volume.Name)
	_, ok = l.Decision(second.UID)
	require.False(t, ok)

	// A third pod may share the claim of the first pod. It keeps the volume when the first pod goes.
	require.NoError(t, assume(l, w, pod("third", "a"), 1, Options{}))
	require.True(t, l.Forget(first.UID))
	require.Error(t, assume(l, w, second, 1, Options{}))
	require.True(t, l.Forget("pod-third"))
	require.False(t, l.Forget("pod-third"))
	require.NoError(t, assume(l, w, second, 1, Options{}))
	require.Len(t, l.pods, 1)
	require.Nil(t, w.volumes[0].Spec.ClaimRef, "the objects are not written to")
}

func TestTwoPodsWithOneReadWriteOncePodClaim(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1")}, claims: claims(claim("c", "", "1Gi", boundTo("pv"), rwop)), volumes: volumes(volume("pv", "", "1Gi"))}
	l := NewLedger(w.objects())
	first, second := pod("first", "c"), pod("second", "c")
	check := func(p *v1.Pod) resources.Verdict {
		return Compile(p, l.Objects(), Options{}).Restrictions().On(NewUsage(w, w.objects())).Check(0)
	}
	require.Zero(t, check(second))
	require.NoError(t, assume(l, w, first, 0, Options{}))
	require.Equal(t, claimInUse, check(second))
	require.Zero(t, check(first), "a pod is not in its own way")
	require.Equal(t, []Holder{{Claim: "c"}}, Compile(second, l.Objects(), Options{}).Restrictions().On(NewUsage(w, w.objects())).Explain(0))
	w.put(0, first)
	require.Equal(t, claimInUse, check(second), "once, though cluster and ledger know it")
	l.Forget(first.UID)
	require.Equal(t, claimInUse, check(second), "the cluster still knows it")
}

func TestProvisioningFollowsTheFirstPod(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1"), node("n2")}, claims: claims(claim("c", "s", "1Gi")), classes: classes(storageClass("s", "d", wait))}
	l := NewLedger(w.objects())
	require.NoError(t, assume(l, w, pod("first", "c"), 1, Options{}))
	require.Error(t, assume(l, w, pod("second", "c"), 0, Options{}), "the volume will be at n2")
	require.NoError(t, assume(l, w, pod("second", "c"), 1, Options{}))
	require.EqualError(t, l.Assume(pod("third", "c"), w.nodes[0], Decision{Node: "n1", Provision: w.claims}), `claim default/c is being provisioned for node "n2", not "n1"`)
	l.Forget("pod-first")
	require.Error(t, assume(l, w, pod("third", "c"), 0, Options{}))
	l.Forget("pod-second")
	require.NoError(t, assume(l, w, pod("third", "c"), 0, Options{}))
}

func TestCapacityIsCountedOnce(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1", "zone", "a"), node("n2", "zone", "b")}, classes: classes(storageClass("s", "d", wait)), drivers: []*storagev1.CSIDriver{driver("d", true)},
		capacities: []*storagev1.CSIStorageCapacity{capacityOf("a", "s", "10Gi", map[string]string{"zone": "a"}), capacityOf("b", "s", "10Gi", map[string]string{"zone": "b"})}}
	for k := range 4 {
		w.claims = append(w.claims, claim(fmt.Sprint("c", k), "s", "6Gi"))
	}
	l := NewLedger(w.objects())
	o := Options{ReserveCapacity: true}
	require.NoError(t, assume(l, w, pod("p0", "c0"), 0, o))
	require.EqualError(t, assume(l, w, pod("p1", "c1"), 0, o), "node(s) did not have enough free storage")
	require.NoError(t, assume(l, w, pod("p1", "c1"), 1, o), "the other zone has its own")
	require.NoError(t, assume(l, w, pod("p2", "c0"), 0, o), "a shared claim is provisioned once")
	require.NoError(t, assume(l, w, pod("p3", "c3"), 0, Options{}), "by default every claim is tested alone")
	l.Forget("pod-p0")
	l.Forget("pod-p3")
	require.Error(t, assume(l, w, pod("p4", "c2"), 0, o), "p2 still holds the claim")
	l.Forget("pod-p2")
	require.NoError(t, assume(l, w, pod("p4", "c2"), 0, o))
}

func TestLedgerGivesWayToTheAPI(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1")}, claims: claims(claim("a", "s", "1Gi"), claim("b", "s", "1Gi")), volumes: volumes(volume("pv", "s", "1Gi")),
		classes: classes(storageClass("s", noProvisioner, wait))}
	l := NewLedger(w.objects())
	require.NoError(t, assume(l, w, pod("p", "a"), 0, Options{}))
	shown, _ := l.Objects().PersistentVolumes.Get("", "pv")
	require.Equal(t, "a", shown.Spec.ClaimRef.Name)
	again, _ := l.Objects().PersistentVolumes.Get("", "pv")
	require.Same(t, shown, again, "the copy is made once")

	lost := *w
	lost.volumes = volumes(reserve(w.volumes[0], w.claims[1]))
	l.base = lost.objects()
	shown, _ = l.Objects().PersistentVolumes.Get("", "pv")
	require.Equal(t, "b", shown.Spec.ClaimRef.Name, "the volume went to another claim")

	won := *w
	won.claims = claims(claim("a", "s", "1Gi", boundTo("pv")), w.claims[1])
	l.base = won.objects()
	c, _ := l.Objects().Claims.Get("default", "a")
	require.Same(t, won.claims[0], c)
	_, ok := l.Objects().Claims.Get("default", "none")
	require.False(t, ok)
	_, ok = l.Objects().PersistentVolumes.Get("", "none")
	require.False(t, ok)
}

// Decisions that are taken back at a later step leave the ledger as if they had never been made.
func TestLedgerSequences(t *testing.T) {
	for seed := range int64(100) {
		rng := rand.New(rand.NewSource(seed))
		w := randomWorld(rng)
		l := NewLedger(w.objects())
		live := map[int]int{} // pod -> slot
		pods := make([]*v1.Pod, 12)
		decisions := map[int]Decision{}
		for k := range pods {
			var names []string
			for range 1 + rng.Intn(2) {
				names = append(names, w.claims[rng.Intn(len(w.claims))].Name)
			}
			pods[k] = pod(fmt.Sprint("p", k), names...)
		}
		for range 60 {
			k, i := rng.Intn(len(pods)), rng.Intn(len(w.nodes))
			if _, ok := live[k]; ok {
				require.True(t, l.Forget(pods[k].UID))
				delete(live, k)
				continue
			}
			before := show(l)
			if assume(l, w, pods[k], i, Options{}) != nil {
				require.Empty(t, cmp.Diff(before, show(l)), "a refusal changes nothing")
				continue
			}
			decisions[k], _ = l.Decision(pods[k].UID)
			if rng.Intn(3) == 0 { // a later step fails
				require.True(t, l.Forget(pods[k].UID))
				require.Empty(t, cmp.Diff(before, show(l)), "taken back at once")
				continue
			}
			live[k] = i
		}
		fresh := NewLedger(w.objects())
		for k, i := range live {
			require.NoError(t, fresh.Assume(pods[k], w.nodes[i], decisions[k]))
		}
		require.Empty(t, cmp.Diff(show(fresh), show(l)), "only what is left counts")
		taken := map[string]string{}
		for k := range live {
			for _, m := range decisions[k].Bind {
				if other, ok := taken[m.Volume.Name]; ok {
					require.Equal(t, other, m.Claim.Name, "two claims never take one volume")
				}
				taken[m.Volume.Name] = m.Claim.Name
			}
		}
		for k := range live {
			l.Forget(pods[k].UID)
		}
		require.Empty(t, cmp.Diff(show(NewLedger(w.objects())), show(l)))
		require.Empty(t, l.users)
	}
}

// show returns the ledger's objects as text.
func show(l *Ledger) []string {
	var out []string
	for pv := range l.Objects().PersistentVolumes.All() {
		s := pv.Name
		if pv.Spec.ClaimRef != nil {
			s += " for " + pv.Spec.ClaimRef.Name
		}
		out = append(out, s)
	}
	for c := range l.Objects().Claims.All() {
		out = append(out, c.Name+" at "+c.Annotations[AnnSelectedNode])
	}
	for k, users := range l.users {
		slices.Sort(users)
		out = append(out, fmt.Sprint(k, " used by ", users))
	}
	slices.Sort(out)
	return out
}

// A decision that is taken back leaves the ledger as it was before.
func TestForgottenDecision(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1")}, claims: claims(claim("a", "s", "1Gi"), claim("b", "s", "1Gi")),
		volumes: volumes(volume("pv", "s", "1Gi"), volume("other", "s", "1Gi")), classes: classes(storageClass("s", noProvisioner, wait))}
	l := NewLedger(w.objects())
	require.NoError(t, assume(l, w, pod("stays", "b"), 0, Options{}))
	before := show(l)
	require.NoError(t, assume(l, w, pod("goes", "a"), 0, Options{}))
	require.NotEqual(t, before, show(l))
	require.True(t, l.Forget("pod-goes"))
	require.Equal(t, before, show(l))
}
