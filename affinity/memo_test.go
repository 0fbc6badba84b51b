package affinity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// TestAppendKeyTerms holds that the key names the terms of running pods that match the pod, also where a running pod has more
// terms than a word has bits.
func TestAppendKeyTerms(t *testing.T) {
	const terms = 130
	running := testkit.Pod("running").On("n1")
	for k := range terms {
		running = running.RequireApart(v1.LabelHostname, fmt.Sprintf("tier=%d", k))
	}
	snapshot, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Obj()}, Pods: []*v1.Pod{running.Obj()}})
	require.NoError(t, err)
	keys := map[string]bool{}
	for k := range terms + 1 { // no term matches the last pod
		e, err := affinity.CompileFull(testkit.Pod("web").Labels(fmt.Sprintf("tier=%d", k)).Obj(), affinity.PodOptions{})
		require.NoError(t, err)
		key, matched := e.AppendKey(nil, nil, snapshot, nil)
		require.False(t, keys[string(key)], "the pod that term %d matches has the key of another pod", k)
		keys[string(key)] = true
		require.Equal(t, k < terms, len(matched) == 1)
	}
}

// TestAppendKey: pods with equal keys have equal counts, no key begins with another one, and the matched term sets are those with a
// term that matches the pod. A memo changes nothing.
func TestAppendKey(t *testing.T) {
	equal := 0
	var memo engine.Memo
	for seed := range int64(testkit.Rounds(1000)) {
		src := newSource(bytes(seed))
		w, p, options := src.world(), src.pod(), src.options()
		q, other := p.DeepCopy(), src.pod()
		switch src.Below(6) {
		case 0:
			q.Namespace = other.Namespace
		case 1:
			q.Spec.Affinity = other.Spec.Affinity
		default:
			q.Labels = other.Labels
		}
		x := index(w)
		keyOf := func(p *v1.Pod) (string, *affinity.Full) {
			e, _ := affinity.CompileFull(p, options)
			plain, none := e.AppendKey([]byte("x"), []int32{-1}, w, &memo)
			require.Equal(t, []int32{-1}, none, "seed %d: no term sets", seed)
			key, matched := e.AppendKey([]byte("x"), []int32{-1}, x, &memo)
			again, _ := e.AppendKey([]byte("x"), nil, x, nil)
			require.Equal(t, string(again), string(key), "seed %d: memo", seed)
			require.True(t, strings.HasPrefix(string(key), string(plain)), "seed %d: the terms of running pods come last", seed)
			want := []int32{-1}
			for id := range x.terms {
				if rep := x.terms[id].rep; len(x.terms[id].nodes) > 0 && affinity.CompileTerms(rep).Which(p, w.namespaces[p.Namespace]) != 0 {
					want = append(want, int32(id))
				}
			}
			require.Equal(t, want, matched, "seed %d: matched", seed)
			return string(key), e.Counted(x)
		}
		pKey, pState := keyOf(p)
		qKey, qState := keyOf(q)
		if pKey != qKey {
			require.False(t, strings.HasPrefix(pKey, qKey) || strings.HasPrefix(qKey, pKey), "seed %d: prefix", seed)
			continue
		}
		equal++
		for i := range w.nodes {
			require.Equal(t, pState.Check(i), qState.Check(i), "seed %d", seed)
			require.Equal(t, pState.Raw(i), qState.Raw(i), "seed %d", seed)
		}
		require.Equal(t, pState.Skip(), qState.Skip(), "seed %d", seed)
		require.Equal(t, pState.SkipScore(), qState.SkipScore(), "seed %d", seed)
	}
	require.Greater(t, equal, testkit.Rounds(1000)/10)
}

// TestNodeKeys: pods with different node affinity have different keys, and no key begins with another one.
func TestNodeKeys(t *testing.T) {
	prefer := func(list []v1.PreferredSchedulingTerm) *v1.NodeAffinity {
		return &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: list}
	}
	in := exprs(req("zone", "In", "a"))
	keys := map[string]int{}
	for k, a := range []*v1.NodeAffinity{nil, {}, {RequiredDuringSchedulingIgnoredDuringExecution: terms()}, {RequiredDuringSchedulingIgnoredDuringExecution: terms(in)},
		prefer([]v1.PreferredSchedulingTerm{}), prefer([]v1.PreferredSchedulingTerm{{Weight: 1, Preference: in}}), prefer([]v1.PreferredSchedulingTerm{{Weight: 2, Preference: in}}),
		prefer([]v1.PreferredSchedulingTerm{{Weight: 1}}), prefer([]v1.PreferredSchedulingTerm{{Weight: 1}, {Weight: 1, Preference: in}})} {
		for n, selector := range []map[string]string{nil, {"a": "b"}, {"a": "b", "c": ""}} {
			p := pod("d", "")
			p.Spec.NodeSelector, p.Spec.Affinity = selector, &v1.Affinity{NodeAffinity: a}
			key := string(podkey.NodeAffinity(nil, p))
			for other, at := range keys {
				require.False(t, strings.HasPrefix(key, other) || strings.HasPrefix(other, key), "%d and %d", at, 10*k+n)
			}
			keys[key] = 10*k + n
			require.Equal(t, "x"+key, string(podkey.NodeAffinity([]byte("x"), p)))
		}
	}
	with, without := pod("d", ""), pod("d", "")
	with.Spec.Affinity = &v1.Affinity{}
	require.Equal(t, podkey.NodeAffinity(nil, without), podkey.NodeAffinity(nil, with), "no node affinity")
}

// TestSelfInNamespaces: a pod matches its own terms through a namespaceSelector only when the cluster has its namespace, from v1.37 on.
func TestSelfInNamespaces(t *testing.T) {
	for _, c := range []struct {
		known         bool
		release       release.Version
		labels, nssel string
		want          bool
	}{
		{true, release.V1_37, "", "!env", true}, {false, release.V1_37, "", "!env", false}, {false, release.V1_36, "", "!env", true},
		{true, release.V1_37, "env=a", "env", true}, {false, release.V1_37, "", "env", false}, {true, release.V1_37, "env=a", "!env", false},
	} {
		w := newWorld(node("n1", "zone=a"))
		if c.known {
			w.namespace("d", c.labels)
		}
		w.namespace("o", "")
		e, err := affinity.CompileFull(pod("d", "app=x", "aff zone app=x ns=q nssel="+c.nssel), affinity.PodOptions{Release: c.release})
		require.NoError(t, err)
		require.Equal(t, c.want, e.Counted(w).SelfAll(), "%v", c)
		require.Equal(t, c.want, e.SelfAll(w.namespaces["d"], c.known), "%v", c)
		with, _ := e.AppendKey(nil, nil, w, nil)
		other, err := affinity.CompileFull(pod("d", "app=y", "aff zone app=x ns=q nssel="+c.nssel), affinity.PodOptions{Release: c.release})
		require.NoError(t, err)
		without, _ := other.AppendKey(nil, nil, w, nil)
		require.Equal(t, c.want, string(with) != string(without), "%v", c)
	}
}

// TestManyLabels: a term of a running pod matches whatever its label is.
func TestManyLabels(t *testing.T) {
	for k := range 300 {
		label := fmt.Sprint("app=a", k)
		w := newWorld(node("n1", "zone=a")).namespace("d", "").run("n1", pod("d", "", "anti zone "+label))
		require.Equal(t, "n1:existing", verdicts(w, count(w, pod("d", label), affinity.PodOptions{}).Check))
	}
}
