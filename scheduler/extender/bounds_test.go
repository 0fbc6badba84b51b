package extender

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/podberth/podberth/cluster"
)

// A score is the weighted mean of the profile's scores, rounded to the nearest number.
func TestScoresAreRounded(t *testing.T) {
	s, _ := start(t, nil)
	names := []string{"node-1", "node-4", "node-9", "node-5"}
	pod := podAsking("1")
	w := s.world()
	var slots []int
	for _, n := range []string{"node-1", "node-4", "node-5"} {
		slots = append(slots, w.snapshot.Slot(n))
	}
	plan, err := w.plan(pod)
	require.NoError(t, err)
	columns, _, err := plan.Prepare(pod).Scores(slots)
	require.NoError(t, err)
	mean := func(k int) float64 {
		sum, weights := 0.0, 0.0
		for _, c := range columns {
			sum, weights = sum+float64(c.Scores[k]*c.Weight), weights+float64(c.Weight)
		}
		return sum / weights / 100
	}
	for highest := int64(1); highest < 60; highest++ {
		got, err := w.prioritize(&extenderv1.ExtenderArgs{Pod: pod, NodeNames: &names}, highest)
		require.NoError(t, err)
		require.Zero(t, got[2].Score)
		for k, at := range []int{0, 1, 3} {
			require.EqualValues(t, math.Floor(mean(k)*float64(highest)+0.5+1e-9), got[at].Score, "%s up to %d", got[at].Host, highest)
		}
	}
}

// Answers are JSON and say so. A node without a list of victims is left out, and the error of an unknown profile names the profile.
func TestAnswers(t *testing.T) {
	_, h := start(t, nil)
	response, err := http.Post(h.URL+"/preempt", "application/json", strings.NewReader(`{"Pod":{},"NodeNameToMetaVictims":{"node-3":null}}`))
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, `{"NodeNameToMetaVictims":{}}`+"\n", string(body))
	require.Equal(t, "application/json", response.Header.Get("Content-Type"))
	get, err := http.Get(h.URL + "/preempt")
	require.NoError(t, err)
	defer get.Body.Close()
	require.Equal(t, http.MethodPost, get.Header.Get("Allow"))
	s, _ := start(t, nil)
	failed := httptest.NewRecorder()
	answer(failed, httptest.NewRequest(http.MethodPost, "/filter", strings.NewReader(small)), s, (*world).learn, func(*world, *extenderv1.ExtenderArgs) (int, error) { return 0, io.ErrUnexpectedEOF })
	require.Equal(t, []any{http.StatusInternalServerError, "unexpected EOF\n"}, []any{failed.Code, failed.Body.String()})
	w := &world{}
	pod := podAsking("1")
	pod.Spec.SchedulerName = "other"
	_, err = w.plan(pod)
	require.EqualError(t, err, `Pod.spec.schedulerName: Invalid value: "other": no such profile in the configuration`)
	twice := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	_, err = newWorld(cluster.Objects{Nodes: []*v1.Node{twice, twice}}, nil, nil)
	require.Error(t, err)
}

// A request may have as many nodes as the limit says.
func TestNodesOfOneRequest(t *testing.T) {
	s, _ := start(t, nil)
	w := s.world()
	for _, n := range []int{2, 3} {
		var names []string
		list := &v1.NodeList{}
		for k := range n {
			names = append(names, fmt.Sprint("node-", k))
			list.Items = append(list.Items, v1.Node{ObjectMeta: metav1.ObjectMeta{Name: names[k]}})
		}
		w.shared.limit = 2
		for _, a := range []*extenderv1.ExtenderArgs{{Pod: podAsking("1"), NodeNames: &names}, {Pod: podAsking("1"), Nodes: list}} {
			err := w.learn(a)
			if n <= 2 {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, "3 nodes in a request; the limit is 2 (MaxNodes)")
			}
		}
	}
}

// A profile without scores gives every node 0.
func TestNoScores(t *testing.T) {
	_, h := startWith(t, profilesOf(t, "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: default-scheduler, plugins: {score: {disabled: [{name: '*'}]}}}]\n"), nil)
	pod := podAsking("1")
	pod.Spec.SchedulerName = v1.DefaultSchedulerName
	got, err := client(t, h.URL, true).Prioritize(ctx, pod, nodesNamed("node-1", "node-4"))
	require.NoError(t, err)
	require.Equal(t, []string{"node-1", "node-4"}, got.Hosts)
	require.Equal(t, []int64{0, 0}, got.Scores)
}

// Two requests end at once, and both are counted. The race detector finds a lock that is missing.
func TestForgetSideBySide(t *testing.T) {
	w, err := newWorld(cluster.Objects{}, nil, nil)
	require.NoError(t, err)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { assert.NoError(t, w.forget(nil)) })
	}
	both.Wait()
	require.EqualValues(t, 2, w.shared.requests)
}

// The objects of a request stay as they are, also those of a caller who answers without a connection.
func TestRequestsStay(t *testing.T) {
	w, err := newWorld(input(t, shop), nil, nil)
	require.NoError(t, err)
	pod := podAsking("1")
	pod.Status.NominatedNodeName = "node-1"
	names := []string{"node-1", "nowhere", "node-4"}
	filter := &extenderv1.ExtenderArgs{Pod: pod.DeepCopy(), NodeNames: new(slices.Clone(names))}
	_, err = learnAndAnswer(w, filter, (*world).learn, (*world).filter)
	require.NoError(t, err)
	require.Equal(t, names, *filter.NodeNames)
}
