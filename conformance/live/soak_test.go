package live

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var (
	soak     = flag.Duration("soak", 0, "how long the soak runs; 0 leaves it out")
	soakRate = flag.Int("soak-rate", 8, "pods that the soak creates in a second")
)

// A soak has this many nodes, and about this many pods at a time. It says how the scheduler is this many times.
const soakNodes, soakPods, soakSamples = 50, 300, 30

// soakStay is how many goroutines a run may leave behind: the goroutines that send bindings and events do not end before the process.
const soakStay = 64

// soaking is a cluster whose pods and nodes come and go.
type soaking struct {
	*world
	rng  *rand.Rand
	pods []string // oldest first
	made int
}

// gone accepts that an object is gone already: preemption deletes pods too.
func (s *soaking) gone(err error) {
	s.t.Helper()
	if !apierrors.IsNotFound(err) {
		require.NoError(s.t, err)
	}
}

// step makes a pod, most of the time one that fits, and removes the oldest when there are enough. At times a node goes and comes back.
func (s *soaking) step() {
	now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
	name, cpu := fmt.Sprintf("p%d", s.made), []string{"100m", "500m", "1", "1500m"}[s.rng.IntN(4)]
	s.made++
	var change []func(*v1.Pod)
	switch s.rng.IntN(20) {
	case 0:
		cpu = "100" // never fits
	case 1, 2:
		change = append(change, high)
	default:
		change = append(change, func(p *v1.Pod) { decorate(p, s.rng) })
	}
	s.pod(name, cpu, change...)
	s.pods = append(s.pods, name)
	if len(s.pods) > soakPods {
		s.gone(s.api.CoreV1().Pods("default").Delete(s.ctx, s.pods[0], now))
		s.pods = s.pods[1:]
	}
	if s.rng.IntN(50) == 0 {
		node := fmt.Sprintf("n%d", s.rng.IntN(soakNodes))
		s.gone(s.api.CoreV1().Nodes().Delete(s.ctx, node, now))
		s.addNode(node)
	}
}

func (s *soaking) addNode(name string) {
	_, err := s.api.CoreV1().Nodes().Create(s.ctx, newNode(name, "4", func(n *v1.Node) { n.Labels[v1.LabelTopologyZone] = "z" + name[len(name)-1:] }), metav1.CreateOptions{})
	require.NoError(s.t, err)
}

// With pods and nodes that come and go all the time, the scheduler's heap does not grow: its low point in the last quarter is that of
// the quarter before. Between low points the heap rises, because client-go keeps events for 6 to 12 minutes. Goroutines end, and
// nothing is left in the queue when the pods are gone.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("-soak 30m runs it")
	}
	s := &soaking{world: newWorld(t), rng: rand.New(rand.NewPCG(*faultsSeed, 11))}
	s.priorityClass("high", 1000)
	for k := range soakNodes {
		s.addNode(fmt.Sprintf("n%d", k))
	}
	c := startChild(t, "podberth", reachOf(s.server.Config, 5000))
	defer c.stop()
	tick := time.NewTicker(time.Second / time.Duration(*soakRate))
	defer tick.Stop()
	var samples []state
	for began := time.Now(); time.Since(began) < *soak; {
		s.step()
		if time.Since(began) > *soak*time.Duration(len(samples)+1)/soakSamples {
			now := c.state()
			t.Logf("%v: %d pods made, heap %.1f MiB, RSS %d MiB, %d goroutines, %v in the queue, CPU %v", time.Since(began).Round(time.Second), s.made, float64(now.Heap)/(1<<20), now.RSS, now.Goroutines, now.Pending, now.CPU.Round(time.Millisecond))
			samples = append(samples, now)
		}
		<-tick.C
	}
	quarter := len(samples) / 4
	require.NotZero(t, quarter)
	early, late := samples[2*quarter:3*quarter], samples[3*quarter:]
	heap := func(s state) float64 { return float64(s.Heap) }
	require.LessOrEqual(t, lowest(late, heap), 1.05*lowest(early, heap), "the heap is flat")
	for _, name := range s.pods {
		s.gone(s.api.CoreV1().Pods("default").Delete(s.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
	}
	few := lowest(samples, func(s state) float64 { return float64(s.Goroutines) }) + soakStay
	s.until("the queue is empty and goroutines have ended", func() bool {
		now := c.state()
		return now.Pending == 0 && float64(now.Goroutines) <= few
	})
}

func lowest(samples []state, of func(state) float64) float64 {
	return of(slices.MinFunc(samples, func(a, b state) int { return cmp.Compare(of(a), of(b)) }))
}
