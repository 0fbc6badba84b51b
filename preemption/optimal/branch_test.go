package optimal

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
)

// Pods with claims, with volumes that a filter asks about or with host ports are unlike others of their kind.
func TestPlain(t *testing.T) {
	volume := func(list ...v1.VolumeSource) v1.PodSpec {
		var s v1.PodSpec
		for _, source := range list {
			s.Volumes = append(s.Volumes, v1.Volume{VolumeSource: source})
		}
		return s
	}
	ports := func(list ...int32) (c v1.Container) {
		for _, p := range list {
			c.Ports = append(c.Ports, v1.ContainerPort{ContainerPort: 80, HostPort: p})
		}
		return c
	}
	empty := v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}
	claim := v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}
	for k, c := range []struct {
		spec v1.PodSpec
		want bool
	}{
		{v1.PodSpec{}, true},
		{v1.PodSpec{ResourceClaims: []v1.PodResourceClaim{{Name: "a"}}}, false},
		{volume(v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}), true},
		{volume(v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}), true},
		{volume(v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}), true},
		{volume(empty), true},
		{volume(v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{}}), true},
		{volume(v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{}}), true},
		{volume(v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}), false},
		{volume(claim), false},
		{volume(empty, claim), false},
		{volume(claim, empty), false},
		{volume(empty, empty), true},
		{v1.PodSpec{Containers: []v1.Container{ports(0, 0)}}, true},
		{v1.PodSpec{Containers: []v1.Container{ports(), ports(0, 1)}}, false},
		{v1.PodSpec{InitContainers: []v1.Container{ports(1)}}, false},
	} {
		require.Equal(t, c.want, plain(&v1.Pod{Spec: c.spec}), "%d", k)
	}
}

// Two states of the search have one key if and only if the same sets complete them at the same cost. A state that was reached at
// least as well before is known.
func TestStates(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	texts := map[string]string{} // the state of each key
	n := &node{
		s: &Search{byPriority: true}, classes: 2, lacks: []int64{3, 2},
		clauses: []clause{{{0, 1}}, {{1, 2}, {0, 2}}},
		groups:  []group{{matches: [][]int32{{}, {1}}}, {}, {quorums: []int32{0}}, {matches: [][]int32{{}}}},
	}
	counted := []bool{true, false, true, false}
	for k := range n.groups {
		require.Equal(t, counted[k], n.groups[k].counted())
	}
	n.forget()
	reached := map[string][]Values{}
	for range 20000 {
		k := r.IntN(5)
		n.free = []int64{int64(r.IntN(6)), int64(r.IntN(4))}
		n.stays, n.forced = []int{r.IntN(2), r.IntN(2)}, []int{r.IntN(3)}
		n.leave = []bool{r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0}
		var out []bool
		for m := range k {
			if counted[m] {
				out = append(out, n.leave[m])
			}
		}
		state := fmt.Sprint(k, max(0, 3-n.free[0]), max(0, 2-n.free[1]), n.stays, n.forced[0] > 0, out)
		key := string(n.key(nil, k))
		if old, ok := texts[key]; ok {
			require.Equal(t, old, state)
		}
		texts[key] = state
		v := Values{Victims: int64(r.IntN(4)), Cost: int64(r.IntN(4))}
		known := false
		if list := reached[state]; len(list) > 0 { // the last that was not known is kept
			known = n.s.dominates(&list[len(list)-1], &v)
		}
		require.Equal(t, known, n.known(k, &v))
		if !known {
			reached[state] = append(reached[state], v)
		}
	}
	states := map[string]bool{}
	for _, state := range texts {
		states[state] = true
	}
	require.Len(t, states, len(texts), "a state has one key")
	n.forget()
	require.Empty(t, n.seen)
}

// A map of 1,000 states is cleared, because that takes no memory. A larger map is made new, because clearing takes as long as the map was large.
func TestForget(t *testing.T) {
	for states, kept := range map[int]bool{1: true, 1000: true, 1001: false} {
		n := &node{seen: map[string]Values{}}
		for k := range states {
			n.seen[strconv.Itoa(k)] = Values{}
		}
		before := n.seen
		n.forget()
		require.Empty(t, n.seen)
		require.Equal(t, kept, len(before) == 0, "%d states", states)
	}
	n := &node{}
	n.forget()
	require.NotNil(t, n.seen, "a new node has no map yet")
}

// A clause has, for each class, how many of the groups stay that are the reason. The pinned group stays anyway and is no reason.
func TestNote(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	for range 5000 {
		n := &node{classes: 3, pinned: -1, seen: map[string]Values{"old": {}}}
		for range 1 + r.IntN(6) {
			n.groups, n.leave = append(n.groups, group{class: r.IntN(3)}), append(n.leave, r.IntN(3) == 0)
		}
		if r.IntN(2) == 0 {
			n.pinned = r.IntN(len(n.groups))
			n.leave[n.pinned] = false
		}
		var asked []int
		needless := make([]bool, len(n.groups))
		for k := range needless {
			needless[k] = r.IntN(2) == 0
		}
		n.note(func(k int) bool {
			asked = append(asked, k)
			return needless[k]
		})
		var all []int
		var want clause
		for class := range 3 {
			stay, others := 0, 0
			for k, g := range n.groups {
				if g.class == class && !n.leave[k] && (k == n.pinned || !needless[k]) {
					stay++
					if k != n.pinned {
						others++
					}
				}
			}
			if others > 0 {
				want = append(want, atLeast{class, stay})
			}
		}
		for k := range n.groups {
			if k != n.pinned && !n.leave[k] {
				all = append(all, k)
			}
		}
		require.Equal(t, all, asked)
		require.Equal(t, []clause{want}, n.clauses)
		require.Empty(t, n.seen, "the clauses are part of the keys")
	}
}

// Groups come back in order, groups that break a budget first. A group that cannot come back stays out.
func TestReprieve(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 11))
	for range 3000 {
		n := &node{pinned: -1}
		n.groups = make([]group, r.IntN(6))
		breaks, back := make([]bool, len(n.groups)), make([]bool, len(n.groups))
		out := n.everyone()
		for k := range n.groups {
			breaks[k], back[k], out[k] = r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(4) > 0
		}
		var want, got []int
		left := slices.Clone(out)
		for _, violating := range []bool{true, false} {
			for k := range left {
				if breaks[k] == violating && out[k] {
					want, left[k] = append(want, k), !back[k]
				}
			}
		}
		n.reprieve(breaks, out, func(k int) bool {
			require.False(t, out[k])
			got = append(got, k)
			return back[k]
		})
		require.Equal(t, want, got)
		require.Equal(t, left, out)
	}
	n := &node{pinned: 1, groups: make([]group, 3)}
	require.Equal(t, []bool{true, false, true}, n.everyone())
}

// Pods of a workload may leave as long as it keeps its quorum. What is taken is given back.
func TestQuorumsOfGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	for range 3000 {
		n := &node{pinned: -1}
		may := map[string]int{"a": r.IntN(3), "b": r.IntN(3)}
		quorum := func(pod *v1.Pod) (string, int) { return pod.Name, may[pod.Name] }
		var leave []bool
		gone := map[string]int{}
		for range r.IntN(5) {
			var g group
			leaves := r.IntN(2) == 0
			for range 1 + r.IntN(2) {
				name := []string{"a", "b", ""}[r.IntN(3)]
				pod := testkit.Pod(name).Obj()
				pod.Name = name
				g.pods = append(g.pods, preemption.Placed{Pod: pod})
				if leaves && name != "" {
					gone[name]++
				}
			}
			g.quorums = n.quorums.of(nil, g.pods, quorum)
			n.groups, leave = append(n.groups, g), append(leave, leaves)
		}
		before := slices.Clone(n.quorums.left)
		require.Equal(t, gone["a"] <= may["a"] && gone["b"] <= may["b"], n.keeps(leave))
		require.Equal(t, before, n.quorums.left)
		n.quorums.forget()
		require.Empty(t, n.quorums.left)
		require.Empty(t, n.quorums.ids)
	}
}
