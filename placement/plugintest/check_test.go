package plugintest

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// rule is a predicate and a scorer by a function.
type rule struct {
	c  placement.Cluster
	of func(c placement.Cluster, i int) int64 // below 0: rejected
}

func (r rule) Name() string { return "Rule" }
func (r rule) Check(i int) resources.Verdict {
	if r.of(r.c, i) < 0 {
		return 1
	}
	return 0
}
func (r rule) Reasons(resources.Verdict) []string { return []string{"refused"} }
func (r rule) Code(resources.Verdict) filter.Code { return filter.Unschedulable }
func (r rule) Raw(i int) int64                    { return min(100, max(0, r.of(r.c, i))) }

// signedRule has a signature, and readingRule names what it reads.
type (
	signedRule struct {
		rule
		signature func(c placement.Cluster, i int) int64
	}
	readingRule struct {
		rule
		reads []string
	}
)

func (r signedRule) AppendSignature(dst []int32, i int) []int32 {
	return append(dst, int32(r.signature(r.c, i)))
}
func (r readingRule) Reads(dst []string) []string { return append(dst, r.reads...) }

// speedOf reads a label of a node and an annotation of a pod.
func speedOf(pod *v1.Pod) func(c placement.Cluster, i int) int64 {
	want := number(pod.Annotations["want"])
	return func(c placement.Cluster, i int) int64 { return number(c.Node(i).Labels["speed"]) - want }
}

func number(text string) (n int64) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0
		}
		n = min(1000, 10*n+int64(c-'0'))
	}
	return n
}

// plugin returns a right plugin, changed.
func plugin(change func(p *placement.Plugin)) *placement.Plugin {
	p := &placement.Plugin{
		Name: "Rule", Keep: placement.KeepByNode,
		AppendKey: func(dst []byte, pod *v1.Pod) []byte { return append(dst, pod.Annotations["want"]...) },
	}
	by(p, func(pod *v1.Pod, c placement.Cluster) any {
		of := speedOf(pod)
		return signedRule{rule{c, of}, of}
	})
	change(p)
	return p
}

// by sets filter and score.
func by(p *placement.Plugin, of func(pod *v1.Pod, c placement.Cluster) any) {
	p.Filter = func(pod *v1.Pod, c placement.Cluster) placement.PreFiltered {
		return placement.PreFiltered{Predicate: of(pod, c).(filter.Predicate)}
	}
	p.Score = func(pod *v1.Pod, c placement.Cluster) (placement.Scorer, error) {
		return of(pod, c).(placement.Scorer), nil
	}
}

func pods() []*v1.Pod {
	a, b := testkit.Pod("a").Request("cpu=1").Obj(), testkit.Pod("b").Request("cpu=1").Obj()
	a.Annotations, b.Annotations = map[string]string{"want": "5"}, map[string]string{"want": "20"}
	return []*v1.Pod{a, b}
}

func nodes() []*v1.Node {
	return []*v1.Node{
		testkit.Node("n1").Label("speed", "1").Capacity("cpu=8,pods=99").Obj(),
		testkit.Node("n2").Label("speed", "25").Capacity("cpu=8,pods=99").Obj(),
		testkit.Node("n3").Label("speed", "10").Capacity("cpu=8,pods=99").Obj(),
	}
}

// count returns the number of pods of a slot.
func count(c placement.Cluster, i int) (n int64) {
	for range c.Pods(i) {
		n++
	}
	return n
}

// The error names what the plugin forgets. A right plugin has no error.
func TestCheck(t *testing.T) {
	sum := func(of func(c placement.Cluster, i int) int64) func(c placement.Cluster, i int) int64 {
		return func(c placement.Cluster, _ int) (n int64) {
			for i := range c.Len() {
				n += of(c, i)
			}
			return n
		}
	}
	label := func(c placement.Cluster, i int) int64 { return number(c.Node(i).Labels["speed"]) }
	rules := func(group placement.Keep, of func(c placement.Cluster, i int) int64) *placement.Plugin {
		return plugin(func(p *placement.Plugin) {
			p.Keep = group
			by(p, func(_ *v1.Pod, c placement.Cluster) any { return signedRule{rule{c, of}, of} })
		})
	}
	type test struct {
		name, why string
		plugin    *placement.Plugin
		want      string // part of the error; "": none
	}
	testkit.Run(t, []test{
		{"right", "key and signature have everything", plugin(func(*placement.Plugin) {}), ""},
		{"right by reads", "the words name the label", plugin(func(p *placement.Plugin) {
			by(p, func(pod *v1.Pod, c placement.Cluster) any {
				return readingRule{rule{c, speedOf(pod)}, []string{"label:speed"}}
			})
		}), ""},
		{"never", "nothing is promised", plugin(func(p *placement.Plugin) { p.Keep, p.AppendKey = placement.KeepNothing, nil }), ""},
		{"right over rows", "the pods of the node itself may count", rules(placement.KeepByNodeAndPods, count), ""},
		{"right over other nodes", "a field says that labels of other nodes count", plugin(func(p *placement.Plugin) {
			*p = *rules(placement.KeepByNode, sum(label))
			p.ReadsOfOthers = []string{"label:speed"}
		}), ""},
		{"forgotten annotation", "AppendKey", plugin(func(p *placement.Plugin) { p.AppendKey = func(dst []byte, _ *v1.Pod) []byte { return dst } }),
			"plugin Rule: AppendKey forgets .Annotations[want]"},
		{"forgotten field of the spec", "AppendKey", plugin(func(p *placement.Plugin) {
			by(p, func(pod *v1.Pod, c placement.Cluster) any {
				of := func(placement.Cluster, int) int64 { return int64(len(pod.Spec.SchedulerName)) }
				return signedRule{rule{c, of}, of}
			})
		}), "AppendKey forgets .Spec.SchedulerName"},
		{"key over others", "a key must be appended", plugin(func(p *placement.Plugin) {
			p.AppendKey = func(_ []byte, pod *v1.Pod) []byte { return []byte(pod.Annotations["want"]) }
		}), "AppendKey must append to the bytes that it gets"},
		{"parts of another key", "together they are the key", plugin(func(p *placement.Plugin) {
			p.KeyParts = []placement.KeyPart{{Name: "name", Append: func(dst []byte, pod *v1.Pod) []byte { return append(dst, pod.Name...) }}}
		}), "KeyParts append"},
		{"forgotten in the shared key", "AppendSharedKey", plugin(func(p *placement.Plugin) {
			p.AppendSharedKey = func(dst []byte, _ *v1.Pod) ([]byte, bool) { return dst, true }
		}), "AppendSharedKey forgets .Annotations[want]"},
		{"key of two changes", "no change has the key of the pod itself, and two have the same", plugin(func(p *placement.Plugin) {
			p.AppendKey = func(dst []byte, pod *v1.Pod) []byte {
				if want := pod.Annotations["want"]; want == "5" || want == "20" { // those of pods
					return append(dst, want...)
				}
				return append(dst, "other"...)
			}
		}), "kept answers are wrong after the change .Annotations[want]"},
		{"no shared work", "AppendSharedKey may say so", plugin(func(p *placement.Plugin) {
			p.AppendSharedKey = func(dst []byte, _ *v1.Pod) ([]byte, bool) { return dst, false }
		}), ""},
		{"forgotten label", "AppendSignature", plugin(func(p *placement.Plugin) {
			by(p, func(pod *v1.Pod, c placement.Cluster) any {
				return signedRule{rule{c, speedOf(pod)}, func(placement.Cluster, int) int64 { return 0 }}
			})
		}), "AppendSignature of the predicate forgets .Labels[speed]"},
		{"answers of a forgotten label", "the answer about the changed node stands first", plugin(func(p *placement.Plugin) {
			by(p, func(pod *v1.Pod, c placement.Cluster) any {
				return signedRule{rule{c, speedOf(pod)}, func(placement.Cluster, int) int64 { return 0 }}
			})
		}), `of nodes: "" differs from "rejects (1) [refused]"`},
		{"forgotten word", "Reads of the predicate", plugin(func(p *placement.Plugin) {
			by(p, func(pod *v1.Pod, c placement.Cluster) any {
				return readingRule{rule{c, speedOf(pod)}, []string{"taints"}}
			})
		}), "Reads of the predicate forgets .Labels[speed]"},
		{"pods of the node", "Group", rules(placement.KeepByNode, count), "the answer about node n1 changes with the pods of node n1, which Group does not say"},
		{"pods of other nodes", "Group", rules(placement.KeepByNodeAndPods, sum(count)), "which Group does not say"},
		{"labels of other nodes", "Reads of the plugin", rules(placement.KeepByNode, sum(label)), "changes with .Labels[speed]"},
		{"wrong word for other nodes", "kept answers are found to be wrong", plugin(func(p *placement.Plugin) {
			*p = *rules(placement.KeepByNodeAndPods, sum(label))
			p.ReadsOfOthers = []string{"images"}
		}), "kept answers are wrong after the change .Labels[speed]"},
	}, func(t *testing.T, c test) {
		err := Check(c.plugin, pods(), nodes())
		if c.want == "" {
			require.NoError(t, err, c.why)
			return
		}
		require.ErrorContains(t, err, c.want, c.why)
	})
}

// Check refuses what it cannot check.
func TestCheckOfNothing(t *testing.T) {
	right := plugin(func(*placement.Plugin) {})
	require.ErrorIs(t, Check(right, nil, nodes()), ErrNothing)
	require.ErrorIs(t, Check(right, pods(), nil), ErrNothing)
	require.ErrorContains(t, Check(nil, pods(), nodes()), "a plugin")
	require.ErrorContains(t, Check(&placement.Plugin{Name: "Idle"}, pods(), nodes()), "does not serve")
	require.Error(t, Check(right, pods(), append(nodes(), nodes()[0])), "a name twice")
}

// A decision looks at all nodes, where one of a profile without sampling stops at 100 of them.
func TestCheckLooksAtAllNodes(t *testing.T) {
	var many []*v1.Node
	for k := range 150 {
		many = append(many, testkit.Node(fmt.Sprint("n", k)).Label("speed", "25").Capacity("cpu=8,pods=99").Obj())
	}
	c, err := newChecker(plugin(func(*placement.Plugin) {}), many, 0)
	require.NoError(t, err)
	d := c.kept.Decide(pods()[0], placement.Options{})
	require.Equal(t, 151, d.Feasible, "the nodes and the copy of one")
}

// Check changes nothing of the caller's.
func TestCheckIsPure(t *testing.T) {
	givenPods, givenNodes := pods(), nodes()
	require.NoError(t, Check(plugin(func(*placement.Plugin) {}), givenPods, givenNodes))
	require.Equal(t, pods(), givenPods)
	require.Equal(t, nodes(), givenNodes)
}

// Every change is taken back, and no two changes of a value are equal.
func TestAlter(t *testing.T) {
	pod := pods()[0]
	before, seen := pod.DeepCopy(), map[string]bool{}
	changes := 0
	a := alterer{words: []string{"", "x"}, try: func(path string) error {
		changes++
		require.False(t, seen[path], path)
		seen[path] = true
		return nil
	}}
	require.NoError(t, a.alter(reflect.ValueOf(pod).Elem(), "", 0))
	require.Equal(t, before, pod)
	require.Greater(t, changes, 400)
	for _, path := range []string{".ObjectMeta.Annotations[want], removed", ".ObjectMeta.Annotations[want] = \"x\"", ".ObjectMeta.Annotations[x], added", ".Spec.Priority, new", ".Spec.HostNetwork = true", ".Spec.Tolerations, one more"} {
		require.True(t, seen[path], path)
	}
	boom := fmt.Errorf("boom")
	a.try = func(string) error { return boom }
	require.ErrorIs(t, a.alter(reflect.ValueOf(pod).Elem(), "", 0), boom)
	require.Equal(t, before, pod)
}
