package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/volumes"
)

// seen returns all state of the cluster and its reservations that later decisions read.
func seen(p *Plan, s *cluster.Snapshot) string {
	out := fmt.Sprintln(podsOn(s))
	for pv := range p.profile.Volumes.Objects().PersistentVolumes.All() {
		if pv.Spec.ClaimRef != nil {
			out += fmt.Sprintln(pv.Name, pv.Spec.ClaimRef.Name)
		}
	}
	for c := range p.profile.Volumes.Objects().Claims.All() {
		out += fmt.Sprintln(c.Name, c.Annotations[volumes.AnnSelectedNode])
	}
	r := rand.New(rand.NewPCG(3, 3))
	for k := range 12 {
		d := p.Decide(volumePod(r, fmt.Sprintf("probe-%d", k)), Options{})
		out += text(d) + "\n"
		for _, m := range d.Volumes.Bind {
			out += fmt.Sprintln(m.Claim.Name, m.Volume.Name)
		}
	}
	return out
}

// In random sequences of placements some placements fail at a later step. A failed placement leaves no trace: a pod is
// forgotten, a pod of a group has no place, copies are counted, or a mark is rolled back.
func TestFailuresLeaveNoReservations(t *testing.T) {
	testkit.Sequential(t)
	failed := 0
	for seed := range uint64(testkit.Rounds(30)) {
		failed += failAtRandom(t, rand.New(rand.NewPCG(seed, 5)), fmt.Sprint("seed ", seed), 25)
	}
	require.Greater(t, failed, testkit.Rounds(250))
}

func FuzzReservations(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 1000), uint8(20))
	f.Fuzz(func(t *testing.T, data []byte, steps uint8) {
		failAtRandom(t, rand.New(testkit.NewBytes(data)), "fuzz", int(steps%5))
	})
}

// failAtRandom returns the number of placements that were undone.
func failAtRandom(t *testing.T, r *rand.Rand, name string, steps int) (failed int) {
	p, s := volumeWorld(t, r)
	for step := range steps {
		pod := volumePod(r, fmt.Sprintf("p%d", step))
		what, before := r.IntN(7), seen(p.Plan, s)
		at := fmt.Sprintf("%s step %d kind %d", name, step, what)
		switch what {
		case 0: // it stays
			if d := p.Decide(pod, Options{}); d.Placed() {
				require.NoError(t, p.Assume(pod, d), at)
			}
			continue
		case 1: // Permit, PreBind or Bind says no
			d := p.Decide(pod, Options{})
			if !d.Placed() {
				continue
			}
			require.NoError(t, p.Assume(pod, d), at)
			d.Volumes.Objects()
			require.NoError(t, p.Forget(pod), at)
		case 2: // a later one of the group has no place
			group := []*v1.Pod{pod, volumePod(r, fmt.Sprintf("q%d", step)), testkit.Pod("huge").Request("cpu=100").Obj()}
			var none *NoPlaceError
			_, err := p.PlaceAll(group, Options{})
			require.ErrorAs(t, err, &none, at)
		case 3:
			_, err := p.HowMany(pod, func(placed int) bool { return placed < 3 })
			require.NoError(t, err, at)
		case 4: // a reservation beside the snapshot, as between Reserve and Unreserve of a scheduler
			d := p.Decide(pod, Options{})
			if !d.Placed() {
				continue
			}
			require.NoError(t, p.Volumes().Reserve(pod, d.Slot, d.Volumes), at)
			require.Equal(t, !d.Volumes.Empty(), p.Volumes().Unreserve(pod), at)
		case 5: // a try that is rolled back
			m := s.Mark()
			for k := range 3 {
				q := volumePod(r, fmt.Sprintf("r%d-%d", step, k))
				if d := p.Decide(q, Options{}); d.Placed() {
					require.NoError(t, p.Assume(q, d), at)
				}
			}
			require.True(t, s.Rollback(m), at)
		case 6: // the pod is taken out of the snapshot alone
			d := p.Decide(pod, Options{})
			if !d.Placed() {
				continue
			}
			require.NoError(t, p.Assume(pod, d), at)
			require.NoError(t, s.Remove(pod), at)
		}
		failed++
		require.Equal(t, before, seen(p.Plan, s), at)
		_, reserved := p.Volumes().Reserved(pod)
		require.False(t, reserved, at)
	}
	return failed
}

// The kept count of volumes in use equals a new count after any changes of the cluster.
func TestUsageFollowsTheCluster(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 6))
		p, s := volumeWorld(t, r)
		var there []*v1.Pod
		for step := range 40 {
			at := fmt.Sprintf("seed %d step %d", seed, step)
			pod := volumePod(r, fmt.Sprintf("p%d", step))
			switch k := r.IntN(8); {
			case k == 0 && len(there) > 0:
				n := r.IntN(len(there))
				require.NoError(t, s.Remove(there[n]), at)
				there = append(there[:n:n], there[n+1:]...)
			case k == 1:
				m := s.Mark()
				require.NoError(t, s.Assume(pod, r.IntN(5)), at)
				p.Decide(volumePod(r, "x"), Options{})
				s.Rollback(m)
			case k == 2:
				n := s.Node(r.IntN(5)).DeepCopy()
				n.Labels["x"] = fmt.Sprint(step)
				require.NoError(t, s.Set(n), at)
			case k == 3:
				c := waiting("c9", []string{"local", "fast"}[r.IntN(2)], "1Gi")
				require.NoError(t, s.Set(c), at)
			default:
				require.NoError(t, s.Assume(pod, r.IntN(5)), at)
				there = append(there, pod)
			}
			probe := volumePod(r, "probe")
			fresh, err := New(s, DefaultProfile())
			require.NoError(t, err)
			want, got := fresh.prepareAll(probe), p.prepareAll(probe)
			require.Equal(t, len(want.Predicates), len(got.Predicates), at)
			for i := range s.Len() {
				require.Equal(t, want.rejections(i), got.rejections(i), at)
			}
		}
	}
}
