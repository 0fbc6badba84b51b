package conformance

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/internal/testkit/traces"
)

// slice is a trace, or the first pods of a trace, on some nodes.
type slice struct {
	name, pods  string // of the trace, and of its list of pods
	nodes, upTo int
	percentage  int32 // of nodes to score; 0: the adaptive share
}

func (s slice) String() string {
	return fmt.Sprintf("%s, pods %s, %d nodes, percentage %d", s.name, s.pods, s.nodes, s.percentage)
}

// The short mode runs parts of the traces, the long mode whole traces. The DLRM trace has no nodes: 800 nodes are full
// before all pods are placed, 7,000 nodes are not.
func traceSlices() (list []slice) {
	for _, percentage := range []int32{100, 0} {
		if !long() {
			list = append(list, slice{"openb", "default", 150, 1000, percentage}, slice{"dlrm", "default", 150, 1000, percentage})
			continue
		}
		list = append(list, slice{"openb", "default", 1523, 8152, percentage}, slice{"openb", "gpuspec33", 1523, 8152, percentage},
			slice{"dlrm", "default", 800, 23871, percentage}, slice{"dlrm", "default", 7000, 23871, percentage})
	}
	return list
}

// Both sides decide each pod of two traces of real clusters from the same state, first with all nodes and then with
// sampling.
func TestTraces(t *testing.T) {
	for _, x := range traceSlices() {
		t.Run(x.String(), func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			c := trace(t, x)
			p := defaultProfile(t)
			p.Real.PercentageOfNodesToScore, p.Podberth.Sampling.Percentage = &x.percentage, &x.percentage
			tally := compare.NewTally()
			s, err := compare.New(context.Background(), p, tally)
			must(t, err)
			differences, err := s.Sequence(c)
			must(t, err)
			bad := unknown(differences)
			seen.Trace(fmt.Sprintf("%s: %d pods, %d scheduled, %d unschedulable, %v", x, len(c.Pending),
				tally.Count("outcome", "Scheduled"), tally.Count("outcome", "Unschedulable"), time.Since(begin).Round(time.Second)), bad)
			for _, d := range bad {
				t.Errorf("%s: %s", x, d)
			}
		})
	}
}

func trace(t *testing.T, x slice) *gen.Cluster {
	t.Helper()
	out := traces.Text(t, x.name, "--nodes", strconv.Itoa(x.nodes), "--pods", strconv.Itoa(x.upTo), "--zones", "3", "--spec", x.pods)
	c := &gen.Cluster{}
	for doc := range bytes.SplitSeq(out, []byte("\n---\n")) {
		var kind struct{ Kind string }
		must(t, yaml.Unmarshal(doc, &kind))
		switch kind.Kind {
		case "Node":
			n := &v1.Node{}
			must(t, yaml.Unmarshal(doc, n))
			c.Nodes = append(c.Nodes, n)
		case "Pod":
			p := &v1.Pod{}
			must(t, yaml.Unmarshal(doc, p))
			corev1.SetObjectDefaults_Pod(p)
			p.UID = types.UID(p.Name)
			if p.Namespace == "" {
				p.Namespace = "default"
			}
			if p.Spec.Priority == nil {
				p.Spec.Priority = new(int32)
			}
			c.Pending = append(c.Pending, p)
		}
	}
	slices.SortStableFunc(c.Pending, func(a, b *v1.Pod) int { return int(*b.Spec.Priority) - int(*a.Spec.Priority) })
	if len(c.Nodes) != x.nodes || len(c.Pending) != x.upTo {
		t.Fatalf("%s: %d nodes, %d pods", x, len(c.Nodes), len(c.Pending))
	}
	return c
}
