package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
)

// A reader who follows the log of devices has the claims of the snapshot, whatever is set, unset and rolled back, also on a
// fork, and the change log of nodes and pods does not grow.
func TestClaimLog(t *testing.T) {
	claim := func(k int) *resourcev1.ResourceClaim {
		return &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("c%d", k)}}
	}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		s, err := cluster.New(cluster.Objects{ResourceClaims: []*resourcev1.ResourceClaim{claim(0), claim(1)}})
		require.NoError(t, err)
		version := s.Version()
		readers := map[*cluster.Snapshot]*claimReader{s: readClaims(s)}
		var marks []cluster.Mark
		for range 60 {
			switch r.IntN(8) {
			case 0, 1, 2:
				require.NoError(t, s.Set(claim(r.IntN(6))))
			case 3, 4:
				_ = s.Remove(claim(r.IntN(6))) // an error says that there is none
			case 5:
				marks = append(marks, s.Mark())
			case 6:
				if n := len(marks); n > 0 {
					require.True(t, s.Rollback(marks[n-1]))
					marks = marks[:n-1]
				}
			case 7:
				if len(marks) == 0 {
					f := s.Fork()
					readers[f] = readClaims(f)
					require.NoError(t, f.Set(claim(9)))
				}
			}
			for s, reader := range readers {
				reader.follow(t, s)
			}
		}
		require.Equal(t, version, s.Version())
		require.NoError(t, s.Set(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}))
		require.Greater(t, s.Version(), version)
	}
}

type claimReader struct {
	at     uint64
	claims map[*resourcev1.ResourceClaim]bool
}

func readClaims(s *cluster.Snapshot) *claimReader {
	r := &claimReader{s.ClaimVersion(), map[*resourcev1.ResourceClaim]bool{}}
	for c := range cluster.List[*resourcev1.ResourceClaim](s).All() {
		r.claims[c] = true
	}
	return r
}

func (r *claimReader) follow(t *testing.T, s *cluster.Snapshot) {
	t.Helper()
	require.True(t, s.ClaimsSince(r.at, func(events []cluster.ClaimEvent) {
		for _, e := range events {
			if e.Old != nil {
				require.True(t, r.claims[e.Old], "an unknown claim left")
				delete(r.claims, e.Old)
			}
			if e.New != nil {
				r.claims[e.New] = true
			}
		}
	}))
	r.at = s.ClaimVersion()
	require.Equal(t, readClaims(s).claims, r.claims)
}

// Slices and classes make what was read of them worthless; templates are looked up when they are needed.
func TestDeviceObjectsLog(t *testing.T) {
	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	for k, obj := range []metav1.Object{&resourcev1.ResourceSlice{}, &resourcev1beta2.DeviceTaintRule{}, &resourcev1.DeviceClass{}} {
		obj.SetName("x")
		require.NoError(t, s.Set(obj))
		require.Equal(t, uint64(2*k+1), s.ClaimVersion())
		require.NoError(t, s.Remove(obj))
		require.Equal(t, uint64(2*k+2), s.ClaimVersion())
	}
	require.NoError(t, s.Set(&resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}}))
	require.Equal(t, uint64(6), s.ClaimVersion())
	require.True(t, s.ClaimsSince(0, func(events []cluster.ClaimEvent) {
		for _, e := range events {
			require.Equal(t, cluster.ClaimEvent{}, e)
		}
	}))
	require.False(t, s.ClaimsSince(7, func([]cluster.ClaimEvent) {}))
	require.Equal(t, uint64(2), s.Version(), "a class may provide an extended resource, which is read of the other log's objects")
}
