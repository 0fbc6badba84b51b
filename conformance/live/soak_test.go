package live

import (
	"flag"
	"fmt"
	"math/rand/v2"
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

// With pods and nodes that come and go all the time, the heap and the goroutines of the scheduler stay as they are, and nothing is
// left in its queue when the pods are gone.
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
	third := len(samples) / 3
	require.NotZero(t, third)
	early, late := samples[third:2*third], samples[len(samples)-third:]
	require.Less(t, mean(late, func(s state) uint64 { return s.Heap }), 1.1*mean(early, func(s state) uint64 { return s.Heap })+1<<20, "the heap is flat")
	require.Less(t, mean(late, func(s state) uint64 { return uint64(s.Goroutines) }), 1.1*mean(early, func(s state) uint64 { return uint64(s.Goroutines) })+2, "goroutines end")
	for _, name := range s.pods {
		s.gone(s.api.CoreV1().Pods("default").Delete(s.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
	}
	s.until("the queue is empty", func() bool { return c.state().Pending == 0 })
}

func mean(samples []state, of func(state) uint64) (m float64) {
	for _, s := range samples {
		m += float64(of(s)) / float64(len(samples))
	}
	return m
}
