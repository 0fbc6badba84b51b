package extender

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	kubeconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/scheduler/httpextender"
)

// kube-scheduler's client follows redirects to other hosts. podberth's client does so when Options ask for it.
func TestRedirects(t *testing.T) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		other := httptest.NewServer(&recorder{answer: `{"NodeNames":["n1"]}`})
		server := httptest.NewServer(http.RedirectHandler(other.URL+"/filter", status))
		theirs, ours := both(t, configv1.Extender{URLPrefix: server.URL, FilterVerb: "filter", NodeCacheCapable: true})
		compareFilter(t, theirs, ours, fmt.Sprintf("redirect %d", status))
		nodes, objects := infos("n1")
		_, _, _, err := theirs.Filter(webPod(), nodes)
		require.NoError(t, err)
		safe, err := httpextender.New(configv1.Extender{URLPrefix: server.URL, FilterVerb: "filter", NodeCacheCapable: true}, httpextender.Options{})
		require.NoError(t, err)
		_, err = safe.Filter(context.Background(), webPod(), objects)
		require.ErrorContains(t, err, "redirect to another host")
		server.Close()
		other.Close()
	}
}

// kube-scheduler's client takes a negative httpTimeout for no timeout. podberth's client does so when Options ask for it.
func TestNegativeTimeout(t *testing.T) {
	server := httptest.NewServer(&recorder{answer: `{"NodeNames":["n1"]}`})
	t.Cleanup(server.Close)
	theirs, ours := both(t, configv1.Extender{URLPrefix: server.URL, FilterVerb: "filter", NodeCacheCapable: true, HTTPTimeout: metav1.Duration{Duration: -time.Second}})
	compareFilter(t, theirs, ours, "negative time-out")
}

// kube-scheduler chooses the node that has the most points with podberth, whatever scores an extender sends: also for hosts
// that are listed twice and for scores out of range. The only difference is a product beyond 64 bits: it wraps around in
// kube-scheduler and saturates in podberth.
func TestScores(t *testing.T) {
	node := func(name string) *v1.Node {
		room := v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("10")}
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: room, Capacity: room}}
	}
	nodes := []*v1.Node{node("n1"), node("n2"), node("n3")} // equal to all plugins
	for _, c := range []struct{ name, answer, theirs, ours string }{
		{"in range", `[{"Host":"n1","Score":1},{"Host":"n2","Score":3},{"Host":"n3","Score":2}]`, "n2", "n2"},
		{"twice", `[{"Host":"n1","Score":6},{"Host":"n2","Score":7},{"Host":"n1","Score":6}]`, "n1", "n1"},
		{"twice with a negative score", `[{"Host":"n1","Score":6},{"Host":"n2","Score":5},{"Host":"n1","Score":-4}]`, "n2", "n2"},
		{"out of range", `[{"Host":"n1","Score":10},{"Host":"n3","Score":1000000}]`, "n3", "n3"},
		{"negative", `[{"Host":"n1","Score":-1},{"Host":"n2","Score":-2}]`, "n3", "n3"},
		{"unknown host", `[{"Host":"n9","Score":1000},{"Host":"n2","Score":1}]`, "n2", "n2"},
		{"overflow", `[{"Host":"n1","Score":9223372036854775807},{"Host":"n2","Score":1}]`, "n2", "n1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(&recorder{answer: c.answer})
			t.Cleanup(server.Close)
			x := configv1.Extender{URLPrefix: server.URL, PrioritizeVerb: "prioritize", NodeCacheCapable: true, Weight: 3}
			s, err := newReal([]kubeconfig.Extender{{URLPrefix: server.URL, PrioritizeVerb: "prioritize", NodeCacheCapable: true, Weight: 3, HTTPTimeout: metav1.Duration{Duration: 5 * time.Second}}})
			require.NoError(t, err)
			require.NoError(t, s.Load(cluster.Objects{Nodes: nodes}))
			result, err := s.Schedule(webPodFor("n"))
			require.NoError(t, err)
			client, err := httpextender.New(x, httpextender.Options{})
			require.NoError(t, err)
			sums := httpextender.ScoreAll(context.Background(), []*httpextender.Client{client}, webPod(), nodes)
			best := nodes[slices.Index(sums, slices.Max(sums))].Name
			require.Equal(t, c.theirs, result.SuggestedHost)
			require.Equal(t, c.ours, best, "%v", sums)
		})
	}
}

func webPodFor(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "u"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}}
}
