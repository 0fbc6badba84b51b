package placement

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// texts is a predicate and a scorer whose answers depend on a name, a text and the node. Its signature has one integer more on some
// nodes than on others.
type texts struct {
	name, text string
	c          Cluster
}

func (x texts) hash(i int) uint32 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s|%s|%s", x.name, x.text, x.c.Node(i).Name)
	return h.Sum32()
}

func (x texts) Name() string { return x.name }
func (x texts) Check(i int) resources.Verdict {
	if x.hash(i)%4 == 0 {
		return 1
	}
	return 0
}
func (x texts) Reasons(resources.Verdict) []string { return []string{x.name + " refuses " + x.text} }
func (x texts) Code(resources.Verdict) filter.Code { return filter.Unschedulable }
func (x texts) Raw(i int) int64                    { return int64(x.hash(i) % 101) }

type signedTexts struct{ texts }

func (x signedTexts) AppendSignature(dst []int32, i int) []int32 {
	h := x.hash(i)
	if h%3 == 0 { // alone tells all
		return append(dst, 1, int32(h))
	}
	return append(dst, int32(h%404))
}

// textPlugin reads one annotation, which is its key as it is.
func textPlugin(name string, group Keep) *Plugin {
	of := func(pod *v1.Pod, c Cluster) texts { return texts{name: name, text: pod.Annotations[name], c: c} }
	return &Plugin{
		Name: name, Keep: group, CanStopHolding: true,
		AppendKey: func(dst []byte, pod *v1.Pod) []byte { return append(dst, pod.Annotations[name]...) },
		Filter: func(pod *v1.Pod, c Cluster) PreFiltered {
			if group == KeepByNode {
				return PreFiltered{Predicate: signedTexts{of(pod, c)}}
			}
			return PreFiltered{Predicate: of(pod, c)}
		},
		Score: func(pod *v1.Pod, c Cluster) (Scorer, error) {
			if group == KeepByNode {
				return signedTexts{of(pod, c)}, nil
			}
			return of(pod, c), nil
		},
	}
}

func textNodes(n int) *cluster.Snapshot {
	var o cluster.Objects
	for i := range n {
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprint("n", i)).Capacity("cpu=8,pods=99").Obj())
	}
	s, err := cluster.New(o)
	if err != nil {
		panic(err)
	}
	return s
}

// annotatedPod returns a pod with these annotations: names and values in turn.
func annotatedPod(name string, pairs ...string) *v1.Pod {
	pod := testkit.Pod(name).Obj()
	pod.Annotations = map[string]string{}
	for k := 0; k < len(pairs); k += 2 {
		pod.Annotations[pairs[k]] = pairs[k+1]
	}
	return pod
}

// wantsNode is a plugin that allows the node whose name follows from the annotation of the plugin's name.
func wantsNode(name string, group Keep, want func(text string) string) *Plugin {
	return &Plugin{
		Name: name, Keep: group, CanStopHolding: true,
		AppendKey: func(dst []byte, pod *v1.Pod) []byte { return append(dst, pod.Annotations[name]...) },
		Filter: func(pod *v1.Pod, c Cluster) PreFiltered {
			return PreFiltered{Predicate: oneNode{name, want(pod.Annotations[name]), c}}
		},
	}
}

type oneNode struct {
	name, want string
	c          Cluster
}

func (x oneNode) Name() string { return x.name }
func (x oneNode) Check(i int) resources.Verdict {
	if x.want == "" || x.c.Node(i).Name == x.want {
		return 0
	}
	return 1
}
func (x oneNode) Reasons(resources.Verdict) []string { return []string{x.name} }
func (x oneNode) Code(resources.Verdict) filter.Code { return filter.Unschedulable }
func (x oneNode) AppendSignature(dst []int32, i int) []int32 {
	return append(dst, int32(x.Check(i)))
}

// apartKeys are pods whose keys of the plugins x and y are equal when they stand one behind the other: "112".
func apartKeys() (a, b *v1.Pod) {
	return annotatedPod("a", "x", "1", "y", "12"), annotatedPod("b", "x", "11", "y", "2")
}

// Two plugins may append any bytes: a pod gets its own node although its keys, one behind the other, are those of another pod.
func TestKeysAreFramed(t *testing.T) {
	nodeOf := map[string]string{"1": "n1", "11": "n2"}
	sameOf := map[string]string{"12": "n1", "2": "n2"}
	for name, groups := range map[string][2]Keep{
		"statics": {KeepByNode, KeepByNode}, "statics and rows": {KeepByNode, KeepByNodeAndPods}, "rows and statics": {KeepByNodeAndPods, KeepByNode},
	} {
		profile := Profile{Filters: []*Plugin{
			wantsNode("x", groups[0], func(text string) string { return nodeOf[text] }),
			wantsNode("y", groups[1], func(text string) string { return sameOf[text] }),
		}}
		p, err := New(textNodes(4), profile)
		require.NoError(t, err)
		a, b := apartKeys()
		for range 3 {
			for pod, want := range map[*v1.Pod]string{a: "n1", b: "n2"} {
				d := p.Decide(pod, Options{})
				require.Equal(t, want, d.Node, name)
				require.Empty(t, p.Rejections(pod, d.Slot), name)
			}
		}
		require.Nil(t, p.Warnings())
		require.NotEqual(t, profile.PodKey(a), profile.PodKey(b), name)
	}
}

// lister is a predicate that allows one node and has these signatures.
type lister struct {
	oneNode
	lists [][]int32
}

func (x lister) AppendSignature(dst []int32, i int) []int32 { return append(dst, x.lists[i]...) }

// Signatures of two plugins may have any length, another on each node: nodes whose signatures are equal one behind the other differ.
func TestSignaturesAreFramed(t *testing.T) {
	plugin := func(name, want string, lists ...[]int32) *Plugin {
		return &Plugin{
			Name: name, Keep: KeepByNode, AppendKey: func(dst []byte, _ *v1.Pod) []byte { return dst },
			Filter: func(_ *v1.Pod, c Cluster) PreFiltered {
				return PreFiltered{Predicate: lister{oneNode{name, want, c}, lists}}
			},
		}
	}
	p, err := New(textNodes(2), Profile{Filters: []*Plugin{plugin("A", "n1", []int32{1}, []int32{1, 2}), plugin("B", "n1", []int32{2, 3}, []int32{3})}})
	require.NoError(t, err)
	for range 3 {
		require.Equal(t, "n1", p.Decide(annotatedPod("p"), Options{}).Node)
	}
}

// The signature of a pod has the key of every plugin, whatever the names of plugins and keys are.
func TestSignatureOfOddNames(t *testing.T) {
	one := textPlugin("y", KeepByNode)
	two := textPlugin("x", KeepByNode)
	two.KeyName = "plugin y"
	profile := Profile{Filters: []*Plugin{one, two}}
	require.NotEqual(t, profile.PodKey(annotatedPod("a", "x", "1")), profile.PodKey(annotatedPod("a", "x", "2")))
}

// Violations shares counts between pods whose keys are equal, each by itself.
func TestViolationsOfFramedKeys(t *testing.T) {
	s := textNodes(4)
	a, b := apartKeys()
	require.NoError(t, s.Assume(a, 1))
	require.NoError(t, s.Assume(b, 1))
	p, err := New(s, Profile{Filters: []*Plugin{
		wantsNode("x", KeepByNode, func(text string) string { return map[string]string{"1": "n1", "11": "n2"}[text] }),
		wantsNode("y", KeepByNode, func(text string) string { return "" }),
	}})
	require.NoError(t, err)
	found := p.Violations()
	require.Len(t, found, 1, "only pod b wants another node")
	require.Equal(t, "default/b", found[0].Pod)
}

// Plugins of KeepIfSkipped with one KeyName may skip different pods.
func TestSkipsOfOneKeyName(t *testing.T) {
	plugin := func(name, skipped string) *Plugin {
		return &Plugin{
			Name: name, Keep: KeepIfSkipped, KeyName: "kind",
			AppendKey: func(dst []byte, pod *v1.Pod) []byte { return append(dst, pod.Annotations["kind"]...) },
			Skips:     func(pod *v1.Pod) bool { return pod.Annotations["kind"] == "" || pod.Annotations["kind"] == skipped },
			Filter: func(pod *v1.Pod, _ Cluster) PreFiltered {
				if kind := pod.Annotations["kind"]; kind == "" || kind == skipped {
					return PreFiltered{Code: filter.Skip}
				}
				return PreFiltered{Code: filter.Unschedulable, Reasons: []string{name}}
			},
		}
	}
	p, err := New(textNodes(2), Profile{Filters: []*Plugin{plugin("A", "a"), plugin("B", "b")}})
	require.NoError(t, err)
	for range 3 {
		require.True(t, p.Decide(annotatedPod("plain"), Options{}).Placed())
		for kind, refuses := range map[string]string{"a": "B", "b": "A"} {
			d := p.Decide(annotatedPod("p", "kind", kind), Options{})
			require.False(t, d.Placed(), "a pod of kind %s", kind)
			require.Equal(t, "0/2 nodes are available: "+refuses+".", d.Failure.Text())
		}
	}
}

// Every pod gets the answer of a plan that keeps nothing, whatever bytes the plugins append. The texts are short and of few letters, so
// that many pods have keys that are equal one behind the other, and the letters look like lengths. Each input decides about many pods.
func FuzzKeyFrames(f *testing.F) {
	for k := range uint64(4) {
		f.Add(testkit.RandomBytes(k, 10))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		decideTexts(t, b.Uint64(), uint8(b.Below(256)), 500)
	})
}

// decideTexts decides about pods of one profile with and without kept work. kinds chooses the plugins.
func decideTexts(t *testing.T, seed uint64, kinds uint8, pods int) {
	r := rand.New(rand.NewPCG(seed, uint64(kinds)))
	var profile Profile
	profile.Sampling = AllNodes()
	count := 2 + int(kinds%3)
	for k := range count {
		group := KeepByNode
		if k == count-1 && kinds&64 != 0 {
			group = KeepByNodeAndPods
		}
		x := textPlugin(string(rune('a'+k)), group)
		if kinds&32 == 0 || k > 0 {
			profile.Filters = append(profile.Filters, x)
		}
		if kinds&128 != 0 || k == 0 {
			profile.Scores = append(profile.Scores, Weighted{x, int64(1 + k)})
		}
	}
	s := textNodes(3 + int(seed%5))
	kept, err := New(s, profile)
	require.NoError(t, err)
	fresh, err := New(s, profile)
	require.NoError(t, err)
	fresh.engine = nil
	letters := []string{"", "1", "2", "\x01", "\x00", "\x01\x01"}
	keys := map[string]string{}
	pod := annotatedPod("p")
	for n := range pods {
		pod = pod.DeepCopy() // the plan may keep the pod before
		pod.Name = fmt.Sprint("p", n)
		own := ""
		for k := range count {
			text := letters[r.IntN(len(letters))] + letters[r.IntN(len(letters))]
			pod.Annotations[string(rune('a'+k))] = text
			own += fmt.Sprintf("%q ", text)
		}
		want, got := fresh.Decide(pod, Options{}), kept.Decide(pod, Options{})
		if want.Node != got.Node || want.Total != got.Total || want.Feasible != got.Feasible {
			t.Fatalf("pod %d with %s: kept work gives %s (%d, %d feasible), want %s (%d, %d feasible)", n, own, got.Node, got.Total, got.Feasible, want.Node, want.Total, want.Feasible)
		}
		if want.Failure != nil && want.Failure.Text() != got.Failure.Text() {
			t.Fatalf("pod %d with %s: kept work says %q, want %q", n, own, got.Failure.Text(), want.Failure.Text())
		}
		signature := profile.PodKey(pod)
		if other, known := keys[signature]; known && other != own {
			t.Fatalf("pods with %s and with %s have one signature", own, other)
		}
		keys[signature] = own
		if n%97 == 96 && got.Placed() {
			require.NoError(t, s.Assume(pod, got.Slot))
		}
	}
}

// A plugin of a caller without AppendKey is asked about every pod: nobody knows which pods are equal for it.
func TestViolationsWithoutKeys(t *testing.T) {
	s := textNodes(4)
	for k, wanted := range []string{"1", "2", "1", ""} { // pods 1 and 3 are on another node than they want
		p := annotatedPod("x", "x", wanted)
		p.Name, p.UID, p.Spec.NodeName = fmt.Sprint("p", k), "", "n1"
		require.NoError(t, s.Assume(p, s.Slot("n1")))
	}
	plugin := wantsNode("x", KeepByNode, func(text string) string { return map[string]string{"1": "n1", "2": "n2"}[text] })
	plugin.Keep, plugin.AppendKey = KeepNothing, nil
	p, err := New(s, Profile{Filters: []*Plugin{plugin}})
	require.NoError(t, err)
	found := p.Violations()
	require.Len(t, found, 1)
	require.Equal(t, "default/p1", found[0].Pod)
}
