package placement

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit/traces"
)

// readCluster reads the objects that placement uses from YAML documents, and returns the pending pods separately.
func readCluster(t *testing.T, text []byte) (o cluster.Objects, pending []*v1.Pod) {
	t.Helper()
	reader := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 1<<16)
	for {
		var raw json.RawMessage
		err := reader.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return o, pending
		}
		require.NoError(t, err)
		pending = addObject(t, &o, raw, pending)
	}
}

func addObject(t *testing.T, o *cluster.Objects, raw json.RawMessage, pending []*v1.Pod) []*v1.Pod {
	var meta struct {
		metav1.TypeMeta
		Items []json.RawMessage
	}
	if len(raw) == 0 {
		return pending
	}
	require.NoError(t, json.Unmarshal(raw, &meta))
	for _, item := range meta.Items {
		pending = addObject(t, o, item, pending)
	}
	switch meta.Kind {
	case "Node":
		o.Nodes = append(o.Nodes, object[v1.Node](t, raw))
	case "Namespace":
		o.Namespaces = append(o.Namespaces, object[v1.Namespace](t, raw))
	case "Service":
		o.Services = append(o.Services, object[v1.Service](t, raw))
	case "ReplicaSet":
		o.ReplicaSets = append(o.ReplicaSets, object[appsv1.ReplicaSet](t, raw))
	case "StatefulSet":
		o.StatefulSets = append(o.StatefulSets, object[appsv1.StatefulSet](t, raw))
	case "Pod":
		p := object[v1.Pod](t, raw)
		if p.Namespace == "" {
			p.Namespace = "default"
		}
		if p.Spec.NodeName == "" {
			return append(pending, p)
		}
		o.Pods = append(o.Pods, p)
	}
	return pending
}

func object[T any](t *testing.T, raw json.RawMessage) *T {
	x := new(T)
	require.NoError(t, json.Unmarshal(raw, x))
	return x
}

// sameDecisions places the pods one after the other. Three plans must decide the same: a plan that keeps work, a plan
// that keeps no work, and a plan over a View with three methods.
func sameDecisions(t *testing.T, o cluster.Objects, pods []*v1.Pod, stride int) (placed int) {
	s, err := cluster.New(o)
	require.NoError(t, err)
	profile := benchProfile()
	kept, err := NewPlacer(s, profile)
	require.NoError(t, err)
	slow, err := New(s, profile)
	require.NoError(t, err)
	slow.engine = nil
	shared := 0
	for k, pod := range pods {
		d := kept.Decide(pod, Options{})
		if k%stride == 0 || !d.Placed() && k%3 == 0 {
			require.Equal(t, slow.Decide(pod, Options{}), d, "%s/%s, pod %d", pod.Namespace, pod.Name, k)
			shared++
		}
		if d.Placed() {
			placed++
			require.NoError(t, kept.Assume(pod, d))
		}
	}
	require.Greater(t, shared, len(pods)/stride/2)
	return placed
}

func TestShippedClusterDecisions(t *testing.T) {
	text, err := os.ReadFile("../examples/testdata/cluster.yaml")
	require.NoError(t, err)
	o, pending := readCluster(t, text)
	require.NotEmpty(t, o.Nodes)
	require.NotEmpty(t, pending)
	require.NotZero(t, sameDecisions(t, o, pending, 1))

	var again []*v1.Pod // many replicas of each, until the cluster is full
	for round := range 20 {
		for _, p := range pending {
			c := p.DeepCopy()
			c.Name, c.UID = c.Name+string(rune('a'+round)), ""
			again = append(again, c)
		}
	}
	require.NotZero(t, sameDecisions(t, o, again, 1))
}

// Real clusters: every tenth decision and a third of the failures are compared.
func TestTraceDecisions(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	for name, args := range map[string][]string{
		"openb": {"openb", "--nodes", "1523", "--pods", "8152", "--zones", "3", "--spec", "gpuspec33"},
		"dlrm":  {"dlrm", "--nodes", "400", "--pods", "4000", "--zones", "3"},
	} {
		t.Run(name, func(t *testing.T) {
			o, pending := readCluster(t, traces.Text(t, args...))
			require.Greater(t, sameDecisions(t, o, pending, 10), len(pending)/4)
		})
	}
}
