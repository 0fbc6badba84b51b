package kubectl

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubectl/pkg/describe"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"
	"sigs.k8s.io/yaml"
)

// A test waits so long for what must come, and looks so often.
const (
	patience = time.Minute
	pause    = 50 * time.Millisecond
)

var registerMetrics sync.Once

// schedule starts kube-scheduler with its default configuration until the end of the test.
func (w *world) schedule() {
	w.t.Helper()
	registerMetrics.Do(metrics.Register)
	c, err := latest.Default()
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: w.api.EventsV1()})
	require.NoError(w.t, broadcaster.StartRecordingToSinkWithContext(ctx))
	factory := scheduler.NewInformerFactory(w.api, 0, nil)
	s, err := scheduler.New(ctx, w.api, factory, nil, profile.NewRecorderFactory(broadcaster), scheduler.WithProfiles(c.Profiles...))
	require.NoError(w.t, err)
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx)
	require.NoError(w.t, s.WaitForHandlersSync(ctx))
	ended := make(chan struct{})
	go func() { s.Run(ctx); close(ended) }()
	w.t.Cleanup(func() {
		cancel()
		<-ended
		factory.Shutdown()
		broadcaster.Shutdown()
	})
}

// create creates the objects of a dump: first the nodes, then the pods.
func (w *world) create(file string) {
	w.t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(w.t, err)
	var list []*v1.Pod
	for _, part := range strings.Split(string(text), "\n---\n") {
		var kind metav1.TypeMeta
		require.NoError(w.t, yaml.Unmarshal([]byte(part), &kind))
		switch kind.Kind {
		case "Node":
			n := &v1.Node{}
			require.NoError(w.t, yaml.Unmarshal([]byte(part), n))
			_, err := w.api.CoreV1().Nodes().Create(w.t.Context(), n, metav1.CreateOptions{})
			require.NoError(w.t, err)
		case "Pod":
			p := &v1.Pod{}
			require.NoError(w.t, yaml.Unmarshal([]byte(part), p))
			p.Spec.Containers[0].Image = "i"
			list = append(list, p)
		default:
			w.t.Fatalf("%s: a %s", file, kind.Kind)
		}
	}
	w.pods(list)
}

// typical are ten pods that wait, and what would have to change.
var typical = map[string]string{
	"big-cpu":      "add a node like n1 or n3 or n5, but with cpu 6 or more",
	"big-memory":   "requests.memory from 14Gi to 8Gi",
	"wrong-label":  "drop spec.nodeSelector[disktype]",
	"gpu":          "tolerate nvidia.com/gpu:NoSchedule (operator Exists)",
	"gpu-too-many": "requests.nvidia.com/gpu from 4 to 2",
	"apart":        "spec.affinity.podAntiAffinity",
	"together":     "spec.affinity.podAffinity",
	"zone":         "make spec.affinity.nodeAffinity",
	"cordoned":     "Node n5: uncordon",
	"even":         "maxSkew from 1 to 2",
}

// kube-scheduler leaves ten pods pending. kubectl describe shows its message; the first five lines of why say what would have to
// change, which describe does not say. The messages of why and place are kube-scheduler's.
func TestPendingPods(t *testing.T) {
	w := start(t)
	w.namespace("shop")
	w.create("../../cmd/internal/command/testdata/pending.yaml")
	w.schedule()
	condition := func(name string) string {
		p, err := w.api.CoreV1().Pods("shop").Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		for _, c := range p.Status.Conditions {
			if c.Type == v1.PodScheduled && c.Reason == v1.PodReasonUnschedulable {
				return c.Message
			}
		}
		return ""
	}
	var place struct {
		Pods []struct{ Pod, Message string }
	}
	require.NoError(t, json.Unmarshal([]byte(w.answer(append([]string{"place", "-A", "-o", "json"}, w.access...)...)), &place))
	placed := map[string]string{}
	for _, p := range place.Pods {
		placed[p.Pod] = p.Message
	}
	for name, change := range typical {
		t.Run(name, func(t *testing.T) {
			var described, message string
			require.Eventually(t, func() bool {
				var err error
				described, err = (&describe.PodDescriber{Interface: w.api}).Describe("shop", name, describe.DescriberSettings{ShowEvents: true, ChunkSize: 500})
				message = condition(name)
				return err == nil && message != "" && strings.Contains(described, "FailedScheduling")
			}, patience, pause)
			flat := strings.Join(strings.Fields(described), " ")
			require.Contains(t, flat, message, "describe shows kube-scheduler's message")
			require.NotContains(t, described, change)

			w := &world{t: t, file: w.file, access: w.access}
			first := strings.Join(strings.Split(w.answer(append([]string{"why", "shop/" + name}, w.access...)...), "\n")[:5], "\n")
			require.Contains(t, first, "Do: ")
			require.Contains(t, first, change)
			var e struct{ Message string }
			require.NoError(t, json.Unmarshal([]byte(w.answer(append([]string{"why", "shop/" + name, "-o", "json"}, w.access...)...)), &e))
			require.True(t, strings.HasPrefix(message, e.Message), "%s\n%s", message, e.Message)
			require.Equal(t, message, placed["shop/"+name], "place has the whole message, with what preemption says")
			t.Logf("describe: %s\nwhy: %s", message, first)
		})
	}
}
