package reasons_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/examples/reasons"
)

func pod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
}

// tick returns what the controller says.
func tick(t *testing.T, c *reasons.Controller) string {
	text, err := c.Tick()
	require.NoError(t, err)
	return text
}

// A pod waits until it has a node, is finished or is deleted.
func TestWaits(t *testing.T) {
	bound, finished := pod("a"), pod("a")
	bound.Spec.NodeName = "n1"
	finished.Status.Phase = v1.PodFailed
	for name, end := range map[string]func(c *reasons.Controller){
		"bound":    func(c *reasons.Controller) { c.OnUpdate(pod("a"), bound) },
		"finished": func(c *reasons.Controller) { c.OnUpdate(pod("a"), finished) },
		"deleted":  func(c *reasons.Controller) { c.OnDelete(pod("a")) },
	} {
		t.Run(name, func(t *testing.T) {
			c, err := reasons.New()
			require.NoError(t, err)
			c.OnAdd(pod("a"), true)
			require.Contains(t, tick(t, c), "1 like shop/a")
			end(c)
			require.Empty(t, tick(t, c))
			c.OnDelete(pod("a"))
			require.Empty(t, tick(t, c))
		})
	}
}

// A pod that is deleted while its node is unknown does not come back with the node.
func TestGoneBeforeItsNode(t *testing.T) {
	c, err := reasons.New()
	require.NoError(t, err)
	early := pod("early")
	early.Spec.NodeName = "n1"
	c.OnAdd(early, true)
	c.OnDelete(early)
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	node.Status.Allocatable = v1.ResourceList{v1.ResourcePods: resource.MustParse("1")}
	c.OnAdd(node, true)
	c.OnAdd(pod("a"), false)
	require.Empty(t, tick(t, c), "n1 has room for one pod")
}

// What is no object of the API is an error of the next tick.
func TestNoObject(t *testing.T) {
	c, err := reasons.New()
	require.NoError(t, err)
	c.OnDelete("a tombstone")
	_, err = c.Tick()
	require.EqualError(t, err, "string is no object of the API")
}

// Events and ticks may come from several goroutines.
func TestTogether(t *testing.T) {
	c, err := reasons.New()
	require.NoError(t, err)
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		wg.Go(func() {
			c.OnAdd(pod(name), false)
			_, err := c.Tick()
			require.NoError(t, err)
		})
	}
	wg.Wait()
	require.Contains(t, tick(t, c), "3 like shop/")
}
