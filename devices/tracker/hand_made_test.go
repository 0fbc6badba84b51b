package tracker_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
)

// special returns a claim for extended resources that the API server does not have. Each owner is "namespace name uid" and whether
// it is the controller.
func special(namespace string, owners ...metav1.OwnerReference) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "<extended-resources>", GenerateName: "x-extended-resources-", OwnerReferences: owners}}
	c.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
	return c
}

func controller(is *bool, name, uid string) metav1.OwnerReference {
	return metav1.OwnerReference{Kind: "Pod", Name: name, UID: types.UID(uid), Controller: is}
}

func plain(namespace, name, uid string) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}}
}

// Two reservations are for one claim when the claims have one UID, without UIDs one namespace and name, and special claims one
// namespace and one controller by name and UID.
func TestOneClaim(t *testing.T) {
	yes, no := new(true), new(false)
	type claim = resourcev1.ResourceClaim
	type test struct {
		name string
		a, b *claim
		same bool
	}
	testkit.Run(t, []test{
		{"one controller", special("a", controller(yes, "p", "1")), special("a", controller(yes, "p", "1")), true},
		{"other UID", special("a", controller(yes, "p", "1")), special("a", controller(yes, "p", "2")), false},
		{"other name", special("a", controller(yes, "p", "1")), special("a", controller(yes, "q", "1")), false},
		{"other namespace", special("a", controller(yes, "p", "1")), special("b", controller(yes, "p", "1")), false},
		{"namespace and name apart", special("a", controller(yes, "ap", "1")), special("aa", controller(yes, "p", "1")), false},
		{"name and UID apart", special("a", controller(yes, "p", "11")), special("a", controller(yes, "p1", "1")), false},
		{"the controller counts", special("a", controller(no, "x", "1"), controller(nil, "y", "1"), controller(yes, "p", "1")),
			special("a", controller(nil, "y", "1"), controller(no, "x", "1"), controller(yes, "p", "1")), true},
		{"not the other owners", special("a", controller(no, "x", "1"), controller(yes, "p", "1")), special("a", controller(no, "x", "1"), controller(yes, "q", "1")), false},
		{"without a controller by name", special("a", controller(no, "x", "1")), special("a", controller(nil, "y", "1")), true},
		{"special and plain", special("a", controller(yes, "p", "1")), plain("a", "p", ""), false},
		{"names without UIDs", plain("a", "c", ""), plain("b", "c", ""), false},
		{"namespace and name of a claim apart", plain("a", "ac", ""), plain("aa", "c", ""), false},
		{"one plain claim", plain("a", "c", ""), plain("a", "c", ""), true},
		{"a UID is no name", plain("a", "c", ""), plain("a", "d", "c"), false},
		{"a UID that looks like namespace and name", plain("a", "c", ""), plain("b", "d", "a/c"), false},
		{"a controller's UID is none of a claim", special("a", controller(yes, "p", "1")), plain("a", "d", "a/p/1"), false},
		{"owners of a plain claim", func() *claim {
			c := plain("a", "c", "")
			c.OwnerReferences = []metav1.OwnerReference{controller(yes, "p", "1")}
			return c
		}(), func() *claim {
			c := plain("a", "d", "")
			c.OwnerReferences = []metav1.OwnerReference{controller(yes, "p", "1")}
			return c
		}(), false},
	}, func(t *testing.T, c test) {
		w := newWorld(t, 1)
		for _, x := range []*claim{c.a, c.b} {
			if x.GenerateName == "" {
				require.NoError(t, w.Set(x))
			}
		}
		reserve := func(pod string, x *claim) error {
			return w.Reserve(claiming(pod), devices.Allocation{Claims: []*claim{x}, Results: []resourcev1.AllocationResult{{}}})
		}
		require.NoError(t, reserve("first", c.a))
		err := reserve("second", c.b)
		if c.same {
			require.ErrorIs(t, err, tracker.ErrReserved)
		} else {
			require.NoError(t, err)
		}
	})
}

// A claim that the API server does not have yet must not exist when it is reserved. A claim that it has is no new claim, though it
// has a generated name or is for extended resources.
func TestReserveNewClaims(t *testing.T) {
	generated := func(uid string) *resourcev1.ResourceClaim {
		c := plain("default", "made", uid)
		c.GenerateName = "ma"
		return c
	}
	known := special("default")
	known.Name, known.UID = "made", "1"
	w := newWorld(t, 1)
	reserve := func(c *resourcev1.ResourceClaim) error {
		d := devices.Allocation{Claims: []*resourcev1.ResourceClaim{c}, Results: []resourcev1.AllocationResult{{}}}
		err := w.Reserve(claiming("p"), d)
		require.Equal(t, err == nil, w.Unreserve(claiming("p")))
		return err
	}
	gone := "claim default/made got deleted in the meantime: devices are reserved already"
	require.NoError(t, reserve(generated("made")))
	require.EqualError(t, reserve(generated("1")), gone)
	require.EqualError(t, reserve(known), gone)
	require.EqualError(t, reserve(plain("default", "made", "made")), gone)
	require.NoError(t, w.Set(generated("1")))
	require.EqualError(t, reserve(generated("made")), "claim default/made exists already: devices are reserved already")
	require.NoError(t, reserve(generated("1")))
	require.NoError(t, reserve(known))
	unnamed := special("default")
	unnamed.Name = "made"
	require.EqualError(t, reserve(unnamed), "claim default/made exists already: devices are reserved already")
}

// Bound finds the claim of each entry: by its name, or by the status of the pod. Equal names in two namespaces are two claims.
func TestBoundEntries(t *testing.T) {
	w := newWorld(t, 3, "k", "l")
	w.setAll(claiming("o", "k", "l"), w.allocation(claiming("o", "k", "l")))
	p := claiming("p")
	p.Spec.ResourceClaims = []v1.PodResourceClaim{
		{Name: "none", ResourceClaimTemplateName: new("t")}, {Name: "waits", ResourceClaimTemplateName: new("t")}, {Name: "has", ResourceClaimTemplateName: new("t")},
	}
	p.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "other", ResourceClaimName: new("k")}, {Name: "none"}, {Name: "has", ResourceClaimName: new("l")}}
	claims, err := w.Tracker.Bound(p, devices.Allocation{}, noon)
	require.NoError(t, err)
	require.Len(t, claims, 1)
	require.Equal(t, "l", claims[0].Name)

	_, err = w.Tracker.Bound(claiming("p", "nothing"), devices.Allocation{}, noon)
	require.ErrorContains(t, err, "pod default/p, claim nothing: ")

	theirs := gpuClaim("m")
	mine := theirs.DeepCopy()
	theirs.Namespace, theirs.UID = "other", "theirs"
	require.NoError(t, w.Set(mine))
	require.NoError(t, w.Set(theirs))
	claims, err = w.Tracker.Bound(claiming("p"), devices.Allocation{Claims: []*resourcev1.ResourceClaim{mine, theirs}, Results: make([]resourcev1.AllocationResult, 2)}, noon)
	require.NoError(t, err)
	require.Equal(t, []types.UID{mine.UID, "theirs"}, []types.UID{claims[0].UID, claims[1].UID})
}

// Made makes each missing claim of the templates and no other, and Compile keeps the claims that the status has.
func TestMadeEntries(t *testing.T) {
	w := newWorld(t, 3, "k")
	for _, name := range []string{"one", "two"} {
		template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		template.Spec.Spec = gpuClaim("x").Spec
		require.NoError(t, w.Set(template))
	}
	p := claiming("p")
	p.Spec.ResourceClaims = []v1.PodResourceClaim{
		{Name: "neither"}, {Name: "both", ResourceClaimName: new("k"), ResourceClaimTemplateName: new("one")}, {Name: "first", ResourceClaimTemplateName: new("one")},
		{Name: "gone", ResourceClaimTemplateName: new("three")}, {Name: "has", ResourceClaimTemplateName: new("one")}, {Name: "second", ResourceClaimTemplateName: new("two")},
	}
	p.Status.ResourceClaimStatuses = append(make([]v1.PodResourceClaimStatus, 0, 9), v1.PodResourceClaimStatus{Name: "has", ResourceClaimName: new("k")})
	made := w.Made(p)
	require.Len(t, made, 2)
	require.Equal(t, "p-first-made", made["first"].Name)
	require.Equal(t, "p-second-made", made["second"].Name)
	p.Spec.ResourceClaims = []v1.PodResourceClaim{p.Spec.ResourceClaims[2], p.Spec.ResourceClaims[4], p.Spec.ResourceClaims[5]}
	own := w.ResourceClaim("default", "k").DeepCopy()
	own.OwnerReferences = []metav1.OwnerReference{controller(new(true), "p", "p")}
	require.NoError(t, w.Set(own))
	f := w.FullFilter(tracker.Options{Templates: true})
	compiled := f.Compile(p)
	require.Equal(t, filter.Success, compiled.Code(), compiled.Reason())
	var names []string
	for _, c := range compiled.Claims() {
		names = append(names, c.Name)
	}
	require.Equal(t, []string{"p-first-made", "k", "p-second-made"}, names)
	require.Empty(t, p.Status.ResourceClaimStatuses[:2][1].Name, "the list of the pod is left alone, also behind its end")
}

// A filter with VictimsFree lets preemption see devices of victims; without it v1.36's answers stand. Both keep answers.
func TestVictimsFree(t *testing.T) {
	w := newWorld(t, 1, "k", "l")
	o := claiming("o", "k")
	w.setAll(o, w.allocation(o))
	for _, victims := range []bool{false, true} {
		f := w.FullFilter(tracker.Options{VictimsFree: victims})
		s := f.On(f.Compile(claiming("p", "l")))
		epoch := f.Epoch()
		p, kept := f.Predicate(s), f.Kept(s)
		require.NotNil(t, kept)
		require.Equal(t, p.Check(0), kept.Check(0))
		want := filter.UnschedulableAndUnresolvable
		if victims {
			want = filter.Unschedulable
		}
		require.Equal(t, want, filter.Predicates{p}.Code(filter.Rejection{Verdict: p.Check(0)}))
		require.Equal(t, epoch, f.Epoch())
		require.NoError(t, w.Set(gpus("n"+map[bool]string{false: "8", true: "9"}[victims])))
		f.On(f.Compile(claiming("p", "l")))
		require.Greater(t, f.Epoch(), epoch, "the slices have changed")
	}
}
