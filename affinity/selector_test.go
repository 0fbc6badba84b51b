package affinity_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/internal/testkit"
)

// The nodes of the table: n1{zone=a,g=5} n2{zone=b,g=007} n3{g=x} n4{g=-3} n5{g=+9}.
func tableNodes() []*v1.Node {
	node := func(name string, kv ...string) *v1.Node {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		for i := 0; i < len(kv); i += 2 {
			n.Labels[kv[i]] = kv[i+1]
		}
		return n
	}
	return []*v1.Node{
		node("n1", "zone", "a", "g", "5"), node("n2", "zone", "b", "g", "007"),
		node("n3", "g", "x"), node("n4", "g", "-3"), node("n5", "g", "+9"),
	}
}

type reqs []v1.NodeSelectorRequirement

func req(key string, op v1.NodeSelectorOperator, values ...string) v1.NodeSelectorRequirement {
	return v1.NodeSelectorRequirement{Key: key, Operator: op, Values: values}
}

func terms(ts ...v1.NodeSelectorTerm) *v1.NodeSelector {
	return &v1.NodeSelector{NodeSelectorTerms: ts}
}

func exprs(r ...v1.NodeSelectorRequirement) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: r}
}

func fields(r ...v1.NodeSelectorRequirement) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchFields: r}
}

func requiring(sel *v1.NodeSelector) *v1.Pod {
	return &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: sel}}}}
}

func TestRequired(t *testing.T) {
	const big = "9223372036854775807"
	conflict := fields(req("metadata.name", "In", "n1"), req("metadata.name", "In", "n2"))
	type test struct {
		name, why string
		pod       *v1.Pod
		want      string
	}
	testkit.Run(t, []test{
		{"A-10 no terms", "a selector without terms matches nothing", requiring(terms()), ""},
		{"A-10 empty term", "an empty term matches nothing", requiring(terms(v1.NodeSelectorTerm{})), ""},
		{"A-11", "an empty term is skipped at any place of the list", requiring(terms(v1.NodeSelectorTerm{}, exprs(req("zone", "In", "a")))), "n1"},
		{"A-12", "terms are ORed", requiring(terms(exprs(req("zone", "In", "a")), exprs(req("zone", "In", "b")))), "n1 n2"},
		{"A-13", "requirements are ANDed", requiring(terms(exprs(req("zone", "In", "a", "b"), req("g", "Exists"), req("g", "NotIn", "5")))), "n2"},
		{"A-14", "NotIn matches a node without the key", requiring(terms(exprs(req("zone", "NotIn", "a")))), "n2 n3 n4 n5"},
		{"A-15 In nothing", "In needs values", requiring(terms(exprs(req("zone", "In")))), ""},
		{"A-15 NotIn nothing", "NotIn needs values", requiring(terms(exprs(req("zone", "NotIn")))), ""},
		{"A-15 Exists with value", "Exists takes none", requiring(terms(exprs(req("zone", "Exists", "a")))), ""},
		{"A-16", "a term in error does not spoil the others", requiring(terms(exprs(req("zone", "Bogus", "a")), exprs(req("zone", "In", "b")))), "n2"},
		{"A-17 Gt 4", "numbers are parsed leniently", requiring(terms(exprs(req("g", "Gt", "4")))), "n1 n2 n5"},
		{"A-17 Gt 5", "Gt is strict", requiring(terms(exprs(req("g", "Gt", "5")))), "n2 n5"},
		{"A-17 Lt 7", "Lt is strict, negative labels count", requiring(terms(exprs(req("g", "Lt", "7")))), "n1 n4"},
		{"A-17 Gt 04", "leading zeros in the operand", requiring(terms(exprs(req("g", "Gt", "04")))), "n1 n2 n5"},
		{"A-18 negative operand", "-10 is not a legal label value", requiring(terms(exprs(req("g", "Gt", "-10")))), ""},
		{"A-18 two operands", "Gt takes one", requiring(terms(exprs(req("g", "Gt", "1", "2")))), ""},
		{"A-18 not a number", "the operand must be an integer", requiring(terms(exprs(req("g", "Gt", "x")))), ""},
		{"A-18 overflow", "the operand must fit an int64", requiring(terms(exprs(req("g", "Lt", "9223372036854775808")))), ""},
		{"A1.4 largest operand", "the largest int64 is fine", requiring(terms(exprs(req("g", "Lt", big)))), "n1 n2 n4 n5"},
		{"A1.5 duplicate values", "harmless", requiring(terms(exprs(req("zone", "In", "a", "a")))), "n1"},
		{"A-19", "one bad value spoils the term", requiring(terms(exprs(req("zone", "In", "a", "bad value!")))), ""},
		{"A-20 In", "matchFields select by name", requiring(terms(fields(req("metadata.name", "In", "n1")))), "n1"},
		{"A-20 NotIn", "matchFields exclude by name", requiring(terms(fields(req("metadata.name", "NotIn", "n1")))), "n2 n3 n4 n5"},
		{"A-21", "two values never match", requiring(terms(fields(req("metadata.name", "In", "n1", "n2")))), ""},
		{"A-22", "names exclude each other", requiring(terms(conflict)), ""},
		{"A-23", "another term can still match", requiring(terms(conflict, fields(req("metadata.name", "In", "n3")))), "n3"},
		{"A-24", "another term can still match", requiring(terms(conflict, exprs(req("zone", "In", "a")))), "n1"},
		{"A-25", "fields and expressions are ANDed", requiring(terms(v1.NodeSelectorTerm{
			MatchFields:      reqs{req("metadata.name", "In", "n1")},
			MatchExpressions: reqs{req("zone", "In", "b")}})), ""},
		{"A3.5 other field In", "another field reads as empty", requiring(terms(fields(req("metadata.uid", "In", "x")))), ""},
		{"A3.5 other field NotIn", "another field reads as empty", requiring(terms(fields(req("metadata.uid", "NotIn", "x")))), "n1 n2 n3 n4 n5"},
		{"A3.5 other field empty", "another field reads as empty", requiring(terms(fields(req("metadata.uid", "In", "")))), "n1 n2 n3 n4 n5"},
		{"A3.5 field operator", "In and NotIn only", requiring(terms(fields(req("metadata.name", "Exists")))), ""},
		{"A3.1 nil", "no constraint", requiring(nil), "n1 n2 n3 n4 n5"},
		{"A2.1 empty selector", "nil and empty nodeSelector are the same", &v1.Pod{Spec: v1.PodSpec{NodeSelector: map[string]string{}}}, "n1 n2 n3 n4 n5"},
		{"A2.1 illegal pair", "an illegal pair simply never matches", &v1.Pod{Spec: v1.PodSpec{NodeSelector: map[string]string{"zone": "bad value!"}}}, ""},
		{"A-26", "nodeSelector and affinity must both hold", &v1.Pod{Spec: v1.PodSpec{
			NodeSelector: map[string]string{"zone": "b"},
			Affinity:     requiring(terms(exprs(req("zone", "In", "a", "b")))).Spec.Affinity}}, "n2"},
	}, func(t *testing.T, tc test) {
		var passing string
		for _, n := range tableNodes() {
			if affinity.MatchNode(tc.pod, n) {
				if passing != "" {
					passing += " "
				}
				passing += n.Name
			}
		}
		require.Equal(t, tc.want, passing)
	})
}

func TestNodeSelectorValue(t *testing.T) {
	node := func(kv map[string]string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: kv}}
	}
	pod := func(kv map[string]string) *v1.Pod { return &v1.Pod{Spec: v1.PodSpec{NodeSelector: kv}} }
	t.Run("A-1", func(t *testing.T) {
		p := pod(map[string]string{"disktype": "ssd"})
		require.True(t, affinity.MatchNode(p, node(map[string]string{"disktype": "ssd"})))
		require.False(t, affinity.MatchNode(p, node(map[string]string{"disktype": "hdd"})))
		require.False(t, affinity.MatchNode(p, node(nil)))
	})
	t.Run("A-2", func(t *testing.T) {
		p := pod(map[string]string{"empty": ""})
		require.True(t, affinity.MatchNode(p, node(map[string]string{"empty": ""})))
		require.False(t, affinity.MatchNode(p, node(nil)), "the node must have the key")
	})
	t.Run("A3.5 node without a name", func(t *testing.T) {
		p := requiring(terms(fields(req("metadata.name", "In", "n1"))))
		require.True(t, affinity.MatchNode(p, &v1.Node{}), "v1.36.3 does not test fields of a nameless node")
	})
}

func TestCompileSelectorErrors(t *testing.T) {
	_, err := affinity.CompileSelector(terms(exprs(req("zone", "In", "a")), exprs(req("zone", "Bogus", "a"))))
	require.ErrorContains(t, err, `nodeSelectorTerms[1].matchExpressions[0].operator: Unsupported value: "Bogus"`)
	s, err := affinity.CompileSelector(nil)
	require.NoError(t, err)
	require.True(t, s.Matches(&v1.Node{}))
	_, err = affinity.CompileSelector(terms(fields(req("metadata.name", "In", "a", "b"))))
	require.ErrorContains(t, err, `nodeSelectorTerms[0].matchFields[0].values`)
	_, err = affinity.CompileSelector(terms(fields(req("metadata.name", "Exists", "a"))))
	require.ErrorContains(t, err, `nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Exists"`, "a field has two operators, unlike a label")
}

func TestReads(t *testing.T) {
	s, err := affinity.CompileSelector(terms(exprs(req("zone", "In", "a"), req("g", "Exists"), req("zone", "Exists")), fields(req("metadata.name", "In", "n1"))))
	require.NoError(t, err)
	require.Equal(t, []string{"label:zone", "label:g", "name"}, s.Reads(nil))
	pod := requiring(terms(exprs(req("zone", "In", "a"))))
	pod.Spec.NodeSelector = map[string]string{"b": "1", "a": "1"}
	r, err := affinity.CompileRequired(pod)
	require.NoError(t, err)
	require.Equal(t, []string{"label:a", "label:b", "label:zone"}, r.Reads(nil))
}
