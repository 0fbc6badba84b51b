package spread

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/view"
)

// snapshotOf puts a world into a cluster.Snapshot. It makes free slots by removing nodes.
func snapshotOf(t testing.TB, w world) *cluster.Snapshot {
	var o cluster.Objects
	for i, n := range w.nodes {
		if n == nil {
			n = nodeOf(fmt.Sprint("gone", i), host+"=gone,"+zoneKey+"=gone,rack=gone")
		}
		o.Nodes = append(o.Nodes, n)
		for j, p := range w.pods[i] {
			q := p.DeepCopy()
			q.Spec.NodeName = n.Name
			q.Name, q.UID = fmt.Sprint(p.Name, "-", i, "-", j), types.UID(fmt.Sprint(i, "-", j))
			o.Pods = append(o.Pods, q)
		}
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	for i, n := range w.nodes {
		if n == nil {
			require.NoError(t, s.Remove(s.Node(s.Slot(fmt.Sprint("gone", i)))))
		}
	}
	return s
}

// TestSnapshot: a cluster.Snapshot with its indexes gives the answers of the plain cluster.
func TestSnapshot(t *testing.T) {
	if _, ok := any(&cluster.Snapshot{}).(interface {
		Cluster
		view.PodSets
		Domains(key string) (ids []int32, domains, have int)
		Classes(reads []string) (ids, reps []int32, ok bool)
	}); !ok {
		t.Fatal("cluster.Snapshot lacks an optional interface")
	}
	for seed := range int64(testkit.Rounds(500)) {
		w := decode(randomBytes(seed))
		s := snapshotOf(t, w)
		h, p := mustHard(t, w.pod, w.options), mustSoft(t, w.pod, w.options)
		a, b := h.count(w.fake), h.count(s)
		for _, i := range w.all() {
			if a.Check(i) != b.Check(i) {
				t.Fatalf("seed %d: slot %d: plain %x, snapshot %x", seed, i, a.Check(i), b.Check(i))
			}
		}
		rawA, scoreA := pass(p.count(w.fake), w.all())
		rawB, scoreB := pass(p.count(s), w.all())
		if !slices.Equal(rawA, rawB) || !slices.Equal(scoreA, scoreB) {
			t.Fatalf("seed %d: plain %v %v, snapshot %v %v", seed, rawA, scoreA, rawB, scoreB)
		}
	}
}

// TestPurity: no call modifies its arguments.
func TestPurity(t *testing.T) {
	for seed := range int64(testkit.Rounds(300)) {
		w := decode(randomBytes(seed))
		var pods []*v1.Pod
		for i := range w.nodes {
			pods = append(pods, w.pods[i]...)
		}
		var nodes []*v1.Node
		for _, i := range w.all() {
			nodes = append(nodes, w.nodes[i])
		}
		nodes = append(nodes, w.options.PlannedNodes...)
		calls := func() {
			h, p := mustHard(t, w.pod, w.options), mustSoft(t, w.pod, w.options)
			s, q := h.count(w.fake), p.count(w.fake)
			pass(q, w.all())
			s.Report()
			s.Place(3, PlaceOptions{})
			s.ScaleDownOrder(replicasOf(w.fake), 2)
			CheckGroup(append([]*v1.Pod{w.pod}, pods...), w.fake)
			ValidateDefaults(w.options.Defaults, nil)
			trial := s.NewTrial()
			for _, i := range w.all() {
				s.Explain(i)
				q.explain(i)
				trial.Add(w.pod, i)
				s.Add(w.pod, i)
				_, err := Hint(w.options)(w.pod, nil, w.nodes[i])
				require.NoError(t, err)
			}
			for _, other := range pods {
				_, err := Hint(w.options)(w.pod, other, nil)
				require.NoError(t, err)
			}
		}
		testkit.Unchanged(t, func() { testkit.Unchanged(t, calls, append(pods, w.pod)...) }, nodes...)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestOneCall: Check and Scores give the answers of the compiled forms.
func TestOneCall(t *testing.T) {
	for seed := range int64(testkit.Rounds(300)) {
		w := decode(randomBytes(seed))
		s := mustHard(t, w.pod, w.options).count(w.fake)
		for _, i := range w.all() {
			got, err := Check(w.pod, w.fake, i, w.options)
			require.NoError(t, err)
			require.Equal(t, s.Check(i), got)
		}
		_, want := pass(mustSoft(t, w.pod, w.options).count(w.fake), w.all())
		if mustSoft(t, w.pod, w.options).Skip() {
			want = make([]int64, len(w.all()))
		}
		got, err := Scores(w.pod, w.fake, w.all(), w.options)
		require.NoError(t, err)
		require.True(t, slices.Equal(want, got), "seed %d: %v, want %v", seed, got, want)
	}
}

// TestSharedState: pods have equal keys exactly when they are equal in everything that an evaluator reads.
func TestSharedState(t *testing.T) {
	key := func(p *v1.Pod, o Options) string { return string(mustHard(t, p, o).AppendKey(nil)) }
	zone := by("zone", 1, hard)
	base := key(constrained("foo=bar", zone), Options{})
	assert.Equal(t, base, key(constrained("foo=bar,x=y", zone), Options{}), "another label that no selector looks at")
	assert.NotEqual(t, base, key(constrained("x=y", zone), Options{}), "self-match")
	assert.NotEqual(t, base, key(constrained("foo=bar", by("zone", 2, hard)), Options{}))
	assert.NotEqual(t, base, key(constrained("foo=bar", by("rack", 1, hard)), Options{}))
	assert.NotEqual(t, base, key(constrained("foo=bar", by("zone", 1, hard, minDomains(2))), Options{}))
	assert.NotEqual(t, base, key(constrained("foo=bar", by("zone", 1, hard, honourTaints)), Options{}))
	assert.NotEqual(t, base, key(constrained("foo=bar", zone, zone), Options{}))
	other := constrained("foo=bar", zone)
	other.Namespace = "other"
	assert.NotEqual(t, base, key(other, Options{}))
	rev := by("zone", 1, hard, matchKeys("rev"))
	assert.NotEqual(t, key(constrained("foo=bar,rev=1", rev), Options{}), key(constrained("foo=bar,rev=2", rev), Options{}))
	h := mustHard(t, constrained("foo=bar", zone), Options{})
	assert.Equal(t, h.self, h.selectors.matches(map[string]string{"foo": "bar", "x": "y"}))
	assert.Zero(t, h.selectors.matches(map[string]string{"x": "y"}))
	assert.Equal(t, []string{"label:zone"}, h.Reads(nil))
	assert.Equal(t, []string{"label:zone", "label:disk", "taints"},
		mustHard(t, selecting(constrained("foo=bar", by("zone", 1, hard, honourTaints)), "disk=ssd"), Options{}).Reads(nil))
}

// TestSignatureOfUniqueKeys: for a key with another value on every node the signature has the count, so that nodes with
// equal numbers of pods are one group.
func TestSignatureOfUniqueKeys(t *testing.T) {
	f := &fake{}
	for i := range 9 {
		f.addNode(nodeOf(fmt.Sprint("n", i), fmt.Sprintf("%s=h%d,rack=r%d,%s=z%d", host, i, i, zoneKey, i%3)))
	}
	f.run("n1 n4*2", "foo=bar")
	pod := constrained("foo=bar", by("rack", 1, hard), by("rack", 1, soft), by(host, 1, soft), by(zoneKey, 1, soft))
	for kind, c := range views(f) {
		hs, ss := mustHard(t, pod, Options{}).count(c), mustSoft(t, pod, Options{}).count(c)
		assert.Equal(t, []int32{1}, hs.Counts().AppendSignature(nil, 1), kind)
		assert.Equal(t, []int32{2, 2, 1}, ss.Counts().AppendSignature(nil, 4), kind)
		assert.Equal(t, ss.Counts().AppendSignature(nil, 0), ss.Counts().AppendSignature(nil, 3), kind)
	}
}

// TestMinimum changes counts at random, also below 0 and beyond the histogram, and compares with a scan.
func TestMinimum(t *testing.T) {
	for seed := range int64(testkit.Rounds(200)) {
		b := testkit.NewBytes(randomBytes(seed))
		var m minimum
		counts := make([]int32, 1+b.Below(5))
		for d := range counts {
			counts[d] = int32(b.Below(3))
			m.enter(counts[d])
		}
		for range 100 {
			d := b.Below(len(counts))
			to := []int32{counts[d] + 1, counts[d] - 1, 0, -3, histogramLimit - 1, histogramLimit, 3 * histogramLimit, 7}[b.Below(8)]
			m.move(counts[d], to)
			counts[d] = to
			if got, want := m.of(counts, nil), slices.Min(counts); got != want {
				t.Fatalf("seed %d: %d, want %d of %v", seed, got, want, counts)
			}
			inside := int32(0)
			for _, n := range counts {
				if n >= 0 && n < histogramLimit {
					inside++
				}
			}
			require.Equal(t, inside, m.inside, "all other counts are found by a scan")
		}
	}
}

// TestCounted: the counts in a signature are the numbers of keys with another value on every node, and for the score the
// numbers of the hostname.
func TestCounted(t *testing.T) {
	f := abxy().run("a*2 y", "foo=bar")
	h := mustHard(t, constrained("foo=bar", by(zoneKey, 1, hard), by(host, 1, hard)), Options{}).count(f)
	assert.Equal(t, []bool{true, false, true}, append([]bool{true}, singles(h.Counts())...))
	p := mustSoft(t, constrained("foo=bar", by(zoneKey, 1, soft), by(host, 1, soft)), Options{}).count(f)
	assert.Equal(t, []bool{false, true}, singles(p.Counts()))
	for i, pods := range []int32{2, 0, 0, 1} {
		assert.Equal(t, pods, h.Counts().AppendSignature(nil, i)[1])
		assert.Equal(t, pods, p.Counts().AppendSignature(nil, i)[1])
	}
	shared := clusterOf("a{kubernetes.io/hostname=s} b{kubernetes.io/hostname=s}").run("a*2", "foo=bar")
	assert.Equal(t, []bool{false}, singles(mustHard(t, constrained("foo=bar", by(host, 1, hard)), Options{}).count(shared).Counts()), "a domain of two nodes")
	assert.Equal(t, []bool{true}, singles(mustSoft(t, constrained("foo=bar", by(host, 1, soft)), Options{}).count(shared).Counts()), "the score of the hostname counts by node in any case")
}
