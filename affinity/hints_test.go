package affinity_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
)

func TestNodeHint(t *testing.T) {
	added := &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(exprs(req("profile", "Exists")))}
	inA := requiring(terms(exprs(req("zone", "In", "a"))))
	type test struct {
		name     string
		pod      *v1.Pod
		added    *v1.NodeAffinity
		old, new *v1.Node
		want     bool
		err      bool
	}
	testkit.Run(t, []test{
		{"added and matches", inA, nil, nil, node("n", "zone=a"), true, false},
		{"added and does not match", inA, nil, nil, node("n", "zone=b"), false, false},
		{"begins to match", inA, nil, node("n", ""), node("n", "zone=a"), true, false},
		{"matched before", inA, nil, node("n", "zone=a"), node("n", "zone=a,x=y"), false, false},
		{"ceases to match", inA, nil, node("n", "zone=a"), node("n", ""), false, false},
		{"profile does not match", inA, added, nil, node("n", "zone=a"), false, false},
		{"profile matches", inA, added, nil, node("n", "zone=a,profile=x"), true, false},
		{"profile begins to match only", inA, added, node("n", "zone=a"), node("n", "zone=a,profile=x"), false, false},
		{"deleted", inA, nil, node("n", "zone=a"), nil, false, false},
		{"parse error", requiring(terms(exprs(req("zone", "Bogus")))), nil, nil, node("n", ""), true, true},
		{"parse error but another term matches", requiring(terms(exprs(req("zone", "Bogus")), exprs(req("zone", "In", "a")))), nil, nil, node("n", "zone=a"), true, false},
	}, func(t *testing.T, tc test) {
		got, err := nodeOptions(t, tc.added).WouldHelp(tc.pod, tc.old, tc.new)
		require.Equal(t, tc.err, err != nil)
		require.Equal(t, tc.want, got)
	})
}

func TestPodHintNode(t *testing.T) {
	aff, anti := pod("d", "", "aff zone app=x"), pod("d", "", "anti zone app=x")
	type test struct {
		name     string
		pod      *v1.Pod
		old, new *v1.Node
		want     bool
	}
	testkit.Run(t, []test{
		{"affinity: added with the key", aff, nil, node("n", "zone=a"), true},
		{"affinity: added without", aff, nil, node("n", "x=a"), false},
		{"affinity: key appears", aff, node("n", ""), node("n", "zone=a"), true},
		{"affinity: value changes", aff, node("n", "zone=b"), node("n", "zone=a"), true},
		{"affinity: other label changes", aff, node("n", "zone=a"), node("n", "zone=a,x=y"), false},
		{"affinity: key goes", aff, node("n", "zone=a"), node("n", ""), false},
		{"anti: added", anti, nil, node("n", ""), true},
		{"anti: key goes", anti, node("n", "zone=a"), node("n", ""), true},
		{"anti: value changes", anti, node("n", "zone=a"), node("n", "zone=b"), true},
		{"anti: key appears", anti, node("n", ""), node("n", "zone=a"), false},
		{"no terms: added", pod("d", ""), nil, node("n", "zone=a"), false},
		{"deleted", anti, node("n", "zone=a"), nil, false},
	}, func(t *testing.T, tc test) {
		got, err := affinity.PodOptions{}.WouldHelp(tc.pod, object(tc.old), object(tc.new))
		require.NoError(t, err)
		require.Equal(t, tc.want, got)
	})
}

func TestPodHintPod(t *testing.T) {
	on := func(p *v1.Pod) *v1.Pod { p.Spec.NodeName = "n1"; return p }
	nominated := func(p *v1.Pod) *v1.Pod { p.Status.NominatedNodeName = "n1"; return p }
	aff := pod("d", "app=me", "aff zone app=x", "aff h tier=w")
	anti := pod("d", "app=me", "anti zone app=x", "anti h tier=w")
	self := aff.DeepCopy()
	self.Labels["rev"] = "2"
	w := tableWorld()
	type test struct {
		name     string
		pod      *v1.Pod
		old, new *v1.Pod
		want     bool
	}
	testkit.Run(t, []test{
		{"itself relabelled", aff, aff, self, true},
		{"added: matches all terms", aff, nil, on(pod("d", "app=x,tier=w")), true},
		{"added: nominated", aff, nil, nominated(pod("d", "app=x,tier=w")), true},
		{"added: not scheduled", aff, nil, pod("d", "app=x,tier=w"), false},
		{"added: matches one term", aff, nil, on(pod("d", "app=x")), false},
		{"added: other namespace", aff, nil, on(pod("o", "app=x,tier=w")), false},
		{"added: pod without terms", pod("d", ""), nil, on(pod("d", "app=x")), false},
		{"begins to match", aff, on(pod("d", "app=x")), on(pod("d", "app=x,tier=w")), true},
		{"matched before", aff, on(pod("d", "app=x,tier=w")), on(pod("d", "app=x,tier=w,z=1")), false},
		{"still matches one anti term", anti, on(pod("d", "app=x,tier=w")), on(pod("d", "app=x")), false},
		{"still matches anti", anti, on(pod("d", "app=x,tier=w")), on(pod("d", "app=x,tier=w,z=1")), false},
		{"ceases to match anti", anti, on(pod("d", "app=x")), on(pod("d", "")), true},
		{"deleted: matched all anti terms", anti, on(pod("d", "app=x,tier=w")), nil, true},
		{"deleted: matched one anti term", anti, on(pod("d", "app=x")), nil, true},
		{"deleted: affinity only", aff, on(pod("d", "app=x,tier=w")), nil, false},
		{"deleted: all its anti terms match the pod", aff, on(pod("d", "", "anti zone app=me")), nil, true},
		{"deleted: one of its anti terms matches the pod", aff, on(pod("d", "", "anti zone app=me", "anti zone app=zz")), nil, true},
		{"deleted: not scheduled", aff, pod("d", "", "anti zone app=me"), nil, false},
		{"nothing", aff, nil, nil, false},
	}, func(t *testing.T, tc test) {
		got, err := affinity.PodOptions{}.WouldHelp(tc.pod, object(tc.old), object(tc.new))
		require.NoError(t, err)
		require.Equal(t, tc.want, got)
	})
	t.Run("namespaceSelector", func(t *testing.T) {
		type test struct {
			name     string
			selector *metav1.LabelSelector
			want     bool
		}
		testkit.Run(t, []test{
			{"empty", &metav1.LabelSelector{}, true},
			{"asks for a label", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpExists}}}, false},
			{"asks for the absence of one", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"z"}}}}, true},
		}, func(t *testing.T, tc test) {
			term := v1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{}, NamespaceSelector: tc.selector}
			rejected, other := pod("d", ""), on(pod("o", ""))
			rejected.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}}
			got, err := affinity.PodOptions{}.WouldHelp(rejected, other, nil)
			require.NoError(t, err)
			require.Equal(t, tc.want, got, "namespaces have no labels in hints")
			other.Spec.Affinity = rejected.Spec.Affinity
			got, err = affinity.PodOptions{}.WouldHelp(pod("d", ""), other, nil)
			require.NoError(t, err)
			require.Equal(t, tc.want, got, "in the deleted pod's terms, too")
		})
	})
	t.Run("errors", func(t *testing.T) {
		hint := affinity.PodOptions{}.WouldHelp
		self, other, blocker := pod("d", "", "aff zone bogus"), on(pod("d", "")), on(pod("d", "", "anti zone bogus"))
		self.UID, other.UID, blocker.UID = "self", "other", "blocker"
		const text = `"Bogus" is not a valid label selector operator`
		type test struct {
			name     string
			pod      *v1.Pod
			old, new any
			want     bool
			text     string
		}
		testkit.Run(t, []test{
			{"affinity, a pod", self, nil, other, false, text},
			{"affinity, a node", self, nil, w.nodes[0], false, text},
			{"anti-affinity, a pod", pod("d", "", "anti zone bogus"), nil, other, false, text},
			{"anti-affinity, a node", pod("d", "", "anti zone bogus"), nil, w.nodes[0], false, text},
			{"the affinity decides first", pod("d", "", "aff zone app=x", "anti zone bogus"), nil, w.nodes[0], true, ""},
			{"a node leaves", pod("d", "", "anti zone bogus"), w.nodes[0], nil, false, ""},
			{"preferred terms do not matter", pod("d", "", "paff 1 zone bogus"), nil, other, false, ""},
			{"the pod itself", self, self, self, true, ""},
			{"a pod without a node", self, nil, pod("d", ""), false, ""},
			{"terms of the pod that leaves", pod("d", ""), blocker, nil, false, text},
			{"terms of a pod that comes", pod("d", ""), nil, blocker, false, ""},
		}, func(t *testing.T, tc test) {
			got, err := hint(tc.pod, tc.old, tc.new)
			require.Equal(t, tc.want, got)
			if tc.text == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tc.text)
			}
		})
		unreadable := pod("d", "")
		unreadable.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "a", Operator: v1.NodeSelectorOpIn}}}}}}}
		_, err := affinity.NodeOptions{}.WouldHelp(unreadable, nil, w.nodes[0])
		require.EqualError(t, err, "nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty")
		for _, event := range [][2]any{{pod("d", ""), w.nodes[0]}, {w.nodes[0], pod("d", "")}, {nil, "x"}, {1, nil}} {
			_, err := hint(pod("d", ""), event[0], event[1])
			require.Error(t, err, "%T and %T", event[0], event[1])
			_, err = affinity.NodeOptions{}.WouldHelp(pod("d", ""), event[0], event[1])
			require.Error(t, err, "%T and %T", event[0], event[1])
		}
	})
}

// The hints have the type that package queue takes, and the states are predicates.
var (
	_ queue.Hint       = affinity.NodeOptions{}.WouldHelp
	_ queue.Hint       = affinity.PodOptions{}.WouldHelp
	_ filter.Predicate = (*affinity.FullNode)(nil)
	_ filter.Predicate = (*affinity.Full)(nil)
	_ filter.Trial     = affinity.Trial(nil)
)

// object returns o, or nil without a type when o is a nil pointer.
func object[T any](o *T) any {
	if o == nil {
		return nil
	}
	return o
}

func nodeOptions(t *testing.T, added *v1.NodeAffinity) affinity.NodeOptions {
	a, err := affinity.CompileAdded(added)
	require.NoError(t, err)
	return a
}
