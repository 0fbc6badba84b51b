package feed

import (
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

// reached is an informer that has reached a version.
type reached struct {
	cache.SharedIndexInformer
	version string
}

func (r *reached) LastSyncResourceVersion() string { return r.version }

// The view of a resource grows older until its watch brings something.
func TestAge(t *testing.T) { // B1.10
	informer, now := &reached{}, time.Now()
	x := &source{informer: informer}
	for _, step := range []struct {
		version string
		after   time.Duration
		want    time.Duration
	}{
		{"7", time.Minute, 0},
		{"7", time.Hour, time.Hour},
		{"8", time.Second, 0},
	} {
		informer.version, now = step.version, now.Add(step.after)
		age, listed := x.age(now)
		require.True(t, listed)
		require.Equal(t, step.want, age)
	}
}

// Every resource has its age in the metrics, once its first list is in.
func TestAges(t *testing.T) {
	f, err := New(fake.NewClientset(), Options{})
	require.NoError(t, err)
	for k, x := range f.sources {
		if k > 0 {
			x.informer = &reached{version: "7"}
		}
	}
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(f))
	families, err := r.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	require.Len(t, families[0].Metric, len(Kinds())-1)
}

// Two who collect the metrics at once learn the same age. The race detector finds a lock that is missing.
func TestAgeSideBySide(t *testing.T) {
	now := time.Now()
	x := &source{informer: &reached{version: "7"}}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			age, listed := x.age(now)
			assert.Equal(t, []any{time.Duration(0), true}, []any{age, listed})
		})
	}
	both.Wait()
}
