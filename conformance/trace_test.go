package conformance

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
)

// traces is where the saved traces of real clusters are, outside of the repository.
const traces = "../../shared/traces"

// Two traces of real clusters, each pod decided by both from the same state: with all nodes looked at, and with sampling.
func TestTraces(t *testing.T) {
	script := filepath.Join(traces, "trace2yaml.py")
	if _, err := os.Stat(script); err != nil {
		t.Skip("no traces here")
	}
	nodes, pods := 150, 1000
	if *gen.Clusters > 0 {
		nodes, pods = 300, 2500
	}
	for _, name := range []string{"openb", "dlrm"} {
		c := trace(t, script, name, nodes, pods)
		for _, percentage := range []int32{100, 0} {
			p := defaultProfile(t)
			p.Real.PercentageOfNodesToScore, p.Podberth.Sampling.Percentage = &percentage, &percentage
			s, err := compare.New(context.Background(), p, seen)
			must(t, err)
			differences, err := s.Sequence(c)
			must(t, err)
			bad := unknown(differences)
			seen.Case(t.Name()+"/"+name, int64(percentage), bad)
			for _, d := range bad {
				t.Errorf("%s, percentage %d: %s", name, percentage, d)
			}
		}
	}
}

func trace(t *testing.T, script, name string, nodes, pods int) *gen.Cluster {
	t.Helper()
	out, err := exec.Command("python3", script, name, "--nodes", strconv.Itoa(nodes), "--pods", strconv.Itoa(pods), "--zones", "3").Output()
	must(t, err)
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
	if len(c.Nodes) == 0 || len(c.Pending) == 0 {
		t.Fatalf("%s: %d nodes, %d pods", name, len(c.Nodes), len(c.Pending))
	}
	return c
}
