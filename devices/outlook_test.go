package devices_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

var (
	adversaries = flag.Int("adversaries", 400, "claims of TestAdversary")
	unlooked    = flag.Bool("unlooked", false, "TestAdversary searches without looking ahead")
	limit       = flag.Duration("limit", 0, "TestAdversary ends each search by the clock after this time, in place of a number of steps")
)

// never is more patience than a search has steps.
const never = math.MaxInt

// looksAhead compares a search that looks ahead before its first step with a search that never does. It reports whether the slow
// search came to an end, and whether that took many steps.
func looksAhead(t *testing.T, r *rand.Rand, name string) (ended, long bool) {
	t.Helper()
	a := &adversary{Rand: r, devices: 4 + r.IntN(12), errors: r.IntN(4) == 0}
	o := (&rack{Rand: r}).options()
	o.Steps, o.ShareID = 20_000, nil
	slices := a.node()
	running := a.running(slices)
	claims := []*resourcev1.ResourceClaim{a.claim("web")}
	if a.chance(20) {
		claims = append(claims, a.claim("more"))
	}
	slow := a.search(slices, running, o, never, claims...)
	want, wants, wantErr := slow.Allocate(n1)
	if errors.Is(wantErr, devices.ErrSteps) {
		return false, true
	}
	got, ok, err := a.search(slices, running, o, 0, claims...).Allocate(n1)
	require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), name)
	require.Equal(t, wants, ok, name)
	require.Equal(t, want, got, name)
	return true, slow.Steps() > 500
}

// A search that looks ahead gives the answers of a search that does not: the same devices and the same errors.
func TestLooksAhead(t *testing.T) {
	ended, long := 0, 0
	for seed := range 1500 {
		e, l := looksAhead(t, rand.New(rand.NewPCG(uint64(seed), 5)), fmt.Sprint("seed ", seed))
		if e {
			ended++
		}
		if e && l {
			long++
		}
	}
	t.Logf("%d searches ended, %d of them after more than 500 steps", ended, long)
	require.Greater(t, ended, 1000)
	require.Greater(t, long, 100)
}

// FuzzLooksAhead is TestLooksAhead over inputs of the fuzzer.
func FuzzLooksAhead(f *testing.F) {
	f.Add([]byte("claims that are hard to decide"))
	f.Fuzz(func(t *testing.T, data []byte) { looksAhead(t, rand.New(testkit.NewBytes(data)), "fuzz") })
}

// No claim of 3 kB takes more than the default number of steps on 64 devices, and most of them get an answer. The flags measure more
// claims, a search that does not look ahead, and one that the clock ends: -args -adversaries 100000 -unlooked -limit 1s.
func TestAdversary(t *testing.T) {
	patience, o := 256, devices.Options{}
	if *unlooked {
		patience, o.Steps = never, 1_000_000
	}
	if *limit > 0 {
		o.Steps = -1
		o.Stop = func() func() bool {
			began := testkit.ProcessorTime(t)
			return func() bool { return testkit.ProcessorTime(t)-began >= *limit }
		}
	}
	var cut []int
	worst, most := time.Duration(0), 0
	for seed := range *adversaries {
		r := rand.New(rand.NewPCG(uint64(seed), 64))
		a := &adversary{Rand: r, devices: 64, errors: seed%10 == 0}
		slices := a.node()
		o.Release = release.Versions()[2+seed%2]
		search := a.search(slices, a.running(slices), o, patience, a.claim("web"))
		began := testkit.ProcessorTime(t)
		_, _, err := search.Allocate(n1)
		worst, most = max(worst, testkit.ProcessorTime(t)-began), max(most, search.Steps())
		if errors.Is(err, devices.ErrSteps) || errors.Is(err, devices.ErrStopped) {
			cut = append(cut, seed)
		}
	}
	t.Logf("%d of %d searches were cut, the longest took %d steps, the slowest %v of a processor; cut were %v", len(cut), *adversaries, most, worst, cut)
	if *limit > 0 {
		require.Less(t, worst, *limit+200*time.Millisecond)
	} else if !*unlooked {
		require.LessOrEqual(t, most, 100_000+100)
		require.Less(t, len(cut), *adversaries/20)
	}
}
