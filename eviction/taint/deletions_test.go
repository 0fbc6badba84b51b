package taint

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pods that another controller deletes leave at their times, once, and are waited for like pods with timers.
func TestDeletions(t *testing.T) {
	nodes := []*v1.Node{ready("n1", "a", "True"), ready("n2", "b", "True")}
	pods := []*v1.Pod{podOn("n1", "now", nil), podOn("n1", "later", nil), podOn("n2", "tainted", nil), podOn("n1", "pending", nil), podOn("n1", "silent", nil)}
	d := func(pod string, seconds int, cause string) Deletion {
		return Deletion{types.NamespacedName{Namespace: "d", Name: pod}, time.Time{}.Add(time.Duration(seconds) * time.Second), cause}
	}
	in := Input{
		Nodes: nodes, Pods: pods, Until: time.Minute,
		Events: []Event{{At: after(10), Node: "n2", Taint: "x:NoExecute"}, {At: after(20), Node: "n1", Heartbeats: HeartbeatsStop}},
		Deletions: []Deletion{
			d("silent", 30, "E"), d("pending", 90, "C"), d("tainted", 20, "D"), d("later", 7, "second"), d("later", 5, "first"), d("now", -3, "A"), d("unknown", 1, "B"),
		},
	}
	got := played(t, in)
	require.Equal(t, []string{
		"0 started n1 later 5 first", "0 started n2 tainted 20 D", "0 started n1 silent 30 E", "0 started n1 pending 90 C",
		"0 evicted n1 now A", "5 evicted n1 later first", "10 evicted n2 tainted x:NoExecute: not tolerated",
		"30 evicted n1 silent E; stays Terminating while the kubelet is silent",
	}, lines(got, podEntries))
	require.Equal(t, []Pending{{"d/pending", "n1", after(90)}}, got.Pending)
	for i, j := 0, len(in.Deletions)-1; i < j; i, j = i+1, j-1 {
		in.Deletions[i], in.Deletions[j] = in.Deletions[j], in.Deletions[i]
	}
	require.Equal(t, got, played(t, in), "in another order")
}
