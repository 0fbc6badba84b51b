package volumes

import (
	"cmp"
	"iter"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
)

// A claim is bound when the annotation is there, with any value, and names a volume.
func TestCompleted(t *testing.T) {
	require.True(t, completed(claim("c", "", "", boundTo("v"))))
	require.False(t, completed(claim("c", "", "", boundTo(""))), "no volume")
	require.False(t, completed(claim("c", "", "", func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeName = "v" })), "no annotation")
}

// The claimRef of a volume names a claim by namespace, name and, if it has one, UID.
func TestRefersTo(t *testing.T) {
	c := claim("c", "", "")
	for _, x := range []struct {
		ref  v1.ObjectReference
		want bool
	}{
		{v1.ObjectReference{Namespace: "default", Name: "c"}, true},
		{v1.ObjectReference{Namespace: "default", Name: "c", UID: c.UID}, true},
		{v1.ObjectReference{Namespace: "default", Name: "c", UID: "other"}, false},
		{v1.ObjectReference{Namespace: "default", Name: "d", UID: c.UID}, false},
		{v1.ObjectReference{Namespace: "other", Name: "c", UID: c.UID}, false},
	} {
		require.Equal(t, x.want, refersTo(&x.ref, c), "%v", x.ref)
	}
}

// A claim belongs to a pod of its namespace with the UID of its controller.
func TestOwned(t *testing.T) {
	p, other := pod("p"), pod("q")
	c := claim("c", "", "", ownedBy(p))
	require.True(t, owned(p, c))
	require.False(t, owned(other, c))
	require.False(t, owned(p, claim("c", "", "")))
	p.Namespace = "other"
	require.False(t, owned(p, c))
}

// Claims that are being provisioned come first, in the order of the pod. Others follow by their requests.
func TestCompareDelayed(t *testing.T) {
	of := func(selected, request string) delayedClaim {
		return delayedClaim{selected: selected, request: resource.MustParse(request)}
	}
	list := []delayedClaim{of("n1", "9Gi"), of("", "1Gi"), of("", "2Gi")}
	for i, a := range list {
		for j, b := range list {
			require.Equal(t, cmp.Compare(i, j), compareDelayed(a, b), "%d and %d", i, j)
		}
	}
	require.Zero(t, compareDelayed(of("n1", "1Gi"), of("n2", "2Gi")))
}

// A node is in a topology when it has a value of every label of one term. A term without labels has no nodes.
func TestInTopology(t *testing.T) {
	const zone, rack = "zone", "rack"
	term := func(pairs ...string) topology {
		var out topology
		for k := 0; k+1 < len(pairs); k += 2 {
			out = append(out, v1.TopologySelectorLabelRequirement{Key: pairs[k], Values: []string{"x", pairs[k+1]}})
		}
		return out
	}
	n := node("n", zone, "a", rack, "r")
	type test struct {
		name  string
		terms []topology
		want  bool
	}
	testkit.Run(t, []test{
		{"nothing asked", nil, true},
		{"empty term", []topology{{}}, false},
		{"value", []topology{term(zone, "a")}, true},
		{"other value", []topology{term(zone, "b")}, false},
		{"label that the node lacks", []topology{term("none", "")}, false},
		{"both labels", []topology{term(zone, "a", rack, "r")}, true},
		{"the first label only", []topology{term(zone, "a", rack, "s")}, false},
		{"the second label only", []topology{term(zone, "b", rack, "r")}, false},
		{"the second term", []topology{term(zone, "b"), term(zone, "a")}, true},
		{"the first term", []topology{term(zone, "a"), term(zone, "b")}, true},
		{"no term", []topology{term(zone, "b"), term(rack, "s")}, false},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, (&delayedClaim{topologies: c.terms}).inTopology(n))
	})
}

// Of published capacities those of the class count that have nodes and room for the request.
func TestCapacities(t *testing.T) {
	unread := capacityOf("unread", "s", "9Gi", nil)
	unread.NodeTopology = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Bad"}}}
	nowhere, everywhere := capacityOf("nowhere", "s", "9Gi", nil), map[string]string{}
	small := capacityOf("small", "s", "9Gi", everywhere)
	small.MaximumVolumeSize = ptr(resource.MustParse("1Gi"))
	large := capacityOf("large", "s", "1Gi", everywhere)
	large.MaximumVolumeSize = ptr(resource.MustParse("9Gi"))
	w := &world{capacities: []*storagev1.CSIStorageCapacity{capacityOf("exact", "s", "2Gi", everywhere), capacityOf("short", "s", "2047Mi", everywhere), capacityOf("other", "t", "9Gi", everywhere),
		capacityOf("silent", "s", "", everywhere), nowhere, unread, small, large}}
	var names []string
	for _, c := range Compile(pod("p"), w.objects(), Options{}).capacities("s", resource.MustParse("2Gi")) {
		require.NotNil(t, c.nodes)
		names = append(names, c.object.Name)
	}
	require.Equal(t, []string{"exact", "large"}, names)
}

// With Options.ReserveCapacity the earlier claims of the class take room, and claims of other classes do not.
func TestRoom(t *testing.T) {
	of := func(class, request string) *delayedClaim {
		return &delayedClaim{class: storageClass(class, "d", wait), request: resource.MustParse(request)}
	}
	e := &bindingFilter{}
	capacity := func(amount string) *capacity { return &capacity{object: capacityOf("k", "s", amount, nil)} }
	earlier := []choice{{claim: of("s", "1Gi")}, {claim: of("t", "7Gi")}, {claim: of("s", "2Gi")}}
	require.True(t, e.room(capacity("4Gi"), of("s", "1Gi"), earlier))
	require.False(t, e.room(capacity("4Gi"), of("s", "1025Mi"), earlier))
	require.True(t, e.room(capacity("4Gi"), of("s", "4Gi"), nil))
	require.True(t, e.room(capacity(""), of("s", "99Gi"), earlier), "only the largest volume is published")
}

// What a claim that waits asks: nothing of volumes while it is being provisioned, nothing of capacity unless the driver
// publishes it and the claim has a size. The first selector that cannot be read fails.
func TestDelayedClaims(t *testing.T) {
	unread := func(key string) func(c *v1.PersistentVolumeClaim) {
		return func(c *v1.PersistentVolumeClaim) {
			c.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOperator(key)}}}
		}
	}
	selected := func(c *v1.PersistentVolumeClaim) { c.Annotations[AnnSelectedNode] = "n1" }
	silent := driver("silent", true)
	silent.Spec.StorageCapacity = nil
	w := &world{nodes: []*v1.Node{node("n1"), nil}, classes: classes(storageClass("s", "d", wait), storageClass("t", "silent", wait), storageClass("u", "unknown", wait)),
		drivers: []*storagev1.CSIDriver{driver("d", true), silent},
		claims: claims(claim("sized", "s", "1Gi"), claim("any", "s", ""), claim("t", "t", "1Gi"), claim("u", "u", "1Gi"), claim("bad1", "t", "1Gi", unread("Bad1")), claim("bad2", "t", "2Gi", unread("Bad2")),
			claim("chosen", "t", "1Gi", selected, unread("Bad1")))}
	for name, counted := range map[string]bool{"sized": true, "any": false, "t": false, "u": false} {
		require.Equal(t, counted, Compile(pod("p", name), w.objects(), Options{}).binding().delayed[0].counted, name)
	}
	bad := plugins(Compile(pod("p", "bad1", "bad2"), w.objects(), Options{}), w)[bindingAt]
	require.Equal(t, `Error: "Bad1" is not a valid label selector operator`, verdict(bad, 0))
	require.Equal(t, "ok", verdict(plugins(Compile(pod("p", "chosen"), w.objects(), Options{}), w)[bindingAt], 0))
}

// An explanation names the first bound claim that a node does not reach, and the first waiting claim without which the
// node would do.
func TestExplainFirst(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1", "zone", "a"), nil},
		claims:  claims(claim("near", "", "1Gi", boundTo("a")), claim("far", "", "1Gi", boundTo("b")), claim("farther", "", "1Gi", boundTo("c")), claim("lost", "", "1Gi", boundTo("none")), claim("w", "s", "1Gi"), claim("x", "s", "1Gi")),
		volumes: volumes(volume("a", "", "1Gi", on("zone", "a")), volume("b", "", "1Gi", on("zone", "b")), volume("c", "", "1Gi", on("zone", "c"))),
		classes: classes(storageClass("s", noProvisioner, wait))}
	explain := func(i int, names ...string) []ClaimProblem {
		return Compile(pod("p", names...), w.objects(), Options{}).Binding().On(w).Explain(i)
	}
	const away = "node(s) didn't match PersistentVolume's node affinity"
	require.Equal(t, []ClaimProblem{{Claim: "far", Volume: "b", Reason: away}}, explain(0, "near", "far", "farther"))
	require.Equal(t, []ClaimProblem{{Claim: "lost", Volume: "none", Reason: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"}}, explain(0, "lost", "far"))
	require.Equal(t, []ClaimProblem{{Claim: "w", Reason: "node(s) didn't find available persistent volumes to bind"}}, explain(0, "near", "w", "x"))
	require.Empty(t, explain(1, "far"), "a free slot")
	s := Compile(pod("p", "far"), w.objects(), Options{}).Binding().On(w)
	_, ok := s.Bindings(1)
	require.False(t, ok)
	require.Zero(t, s.Raw(1))
	require.NotZero(t, s.Check(1))
	require.Zero(t, s.Code(0))
}

// asked is a table that says in which way its volumes are asked for.
type asked struct {
	Table[*v1.PersistentVolume]
	ways *[]string
}

func (a asked) All() iter.Seq[*v1.PersistentVolume] {
	*a.ways = append(*a.ways, "All")
	return a.Table.All()
}

type askedByClass struct{ asked }

func (a askedByClass) OfClass(class string) iter.Seq[*v1.PersistentVolume] {
	*a.ways = append(*a.ways, "OfClass")
	return ofClass(a.Table, class)
}

type askedByClaim struct{ askedByClass }

func (a askedByClaim) CandidatesFor(class, namespace, claim string) iter.Seq[*v1.PersistentVolume] {
	*a.ways = append(*a.ways, "CandidatesFor")
	return candidatesFor(a.Table, class, namespace, claim)
}

// A table is asked in the narrowest way that it offers, also through a ledger, and every way ends when the asker stops.
func TestVolumesOfTables(t *testing.T) {
	for seed := range int64(200) {
		rng := rand.New(rand.NewSource(seed))
		var list []*v1.PersistentVolume
		for k := range rng.Intn(8) {
			pv := volume(string(rune('a'+k)), pick(rng, "s", "t"), "1Gi")
			if rng.Intn(2) == 0 {
				pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: pick(rng, "", "default"), Name: pick(rng, "", "c", "d")}
			}
			list = append(list, pv)
		}
		table := List(list...)
		class, namespace, name := pick(rng, "s", "t"), pick(rng, "", "default"), pick(rng, "", "c")
		var same, free, named []*v1.PersistentVolume
		for _, pv := range list {
			ref := pv.Spec.ClaimRef
			switch {
			case pv.Spec.StorageClassName != class:
				continue
			case ref == nil || ref.Namespace == "" && ref.Name == "":
				free = append(free, pv)
			case ref.Namespace == namespace && ref.Name == name:
				named = append(named, pv)
			}
			same = append(same, pv)
		}
		var ways []string
		plain := asked{table, &ways}
		for _, c := range []struct {
			table Table[*v1.PersistentVolume]
			way   string
			want  []*v1.PersistentVolume
		}{{plain, "All", list}, {askedByClass{plain}, "OfClass", same}, {askedByClaim{askedByClass{plain}}, "CandidatesFor", append(free, named...)}} {
			for _, through := range []Table[*v1.PersistentVolume]{c.table, NewLedger(Objects{PersistentVolumes: c.table}).Objects().PersistentVolumes} {
				ways = nil
				require.Equal(t, c.want, slices.Collect(candidatesFor(through, class, namespace, name)))
				require.Equal(t, []string{c.way}, ways)
				for stop := range len(c.want) {
					require.Equal(t, c.want[:stop+1], first(stop+1, candidatesFor(through, class, namespace, name)))
				}
				require.Equal(t, list, slices.Collect(through.All()))
				if len(list) > 1 {
					require.Equal(t, list[:1], first(1, through.All()))
				}
				if len(same) > 1 && c.way != "All" {
					require.Equal(t, same[:1], first(1, ofClass(through, class)))
				}
			}
		}
		if len(same) > 0 {
			require.Equal(t, same, slices.Collect(ofClass(table, class)))
		}
	}
}

func first[T any](n int, seq iter.Seq[T]) (out []T) {
	seq(func(x T) bool {
		out = append(out, x)
		return len(out) < n
	})
	return out
}

// An affinity that requires nothing reaches every node.
func TestAffinityWithoutRequirement(t *testing.T) {
	pv := volume("v", "", "1Gi")
	pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{}
	require.True(t, reaches(nodeAffinity(pv), node("n")))
}

// A pod with one inline disk among other volumes is restricted, wherever the disk stands.
func TestInlineDiskAmongOthers(t *testing.T) {
	local := v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}
	for _, p := range []*v1.Pod{inline(pod("p"), gcePD("d", false), local), inline(pod("p"), local, gcePD("d", false))} {
		require.Equal(t, filter.Success, Compile(p, Objects{}, Options{}).Restrictions().PreFilter().Code)
	}
}
