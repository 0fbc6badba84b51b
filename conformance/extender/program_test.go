package extender

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	kubeconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
)

// build makes the program cmd/podberth-extender, whose module this one does not require, in the workspace.
func build(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "extender")
	c := exec.Command("go", "build", "-o", file, "./cmd/podberth-extender")
	c.Dir, c.Env = "../..", append(os.Environ(), "GOWORK=")
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	return file
}

// start runs the program over a cluster and returns its URL.
func start(t *testing.T, program string, c *gen.Cluster) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	require.NoError(t, os.WriteFile(file, c.YAML(), 0o600))
	p := exec.Command(program, "-f", file, "-listen", "127.0.0.1:0", "-scores", "1000000")
	said, err := p.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		require.NoError(t, p.Process.Signal(syscall.SIGTERM))
		require.NoError(t, p.Wait())
	})
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			return url
		}
	}
	t.Fatalf("the program ended without listening: %v", lines.Err())
	return ""
}

// kube-scheduler's HTTP extender client drives the program over generated clusters. The program runs the filters of
// kube-scheduler: it allows the same nodes, gives the same reasons, ranks the nodes in the same order, and accepts
// kube-scheduler's victims.
func TestProgram(t *testing.T) {
	program := build(t)
	s, err := newReal(nil)
	require.NoError(t, err)
	seen := map[string]int{}
	for seed := *gen.Seed; seed < *gen.Seed+int64(gen.Count(30, 1)); seed++ {
		for _, shape := range []gen.Shape{{Volumes: seed%3 == 0}, {Crowded: true}} {
			c := gen.Of(seed, shape)
			t.Run(fmt.Sprintf("seed %d crowded %v", seed, shape.Crowded), func(t *testing.T) {
				url := start(t, program, c)
				require.NoError(t, s.Load(compare.Copy(c)))
				for _, capable := range []bool{true, false} {
					x, err := scheduler.NewHTTPExtender(&kubeconfig.Extender{
						URLPrefix: url, FilterVerb: "filter", PrioritizeVerb: "prioritize", PreemptVerb: "preempt", Weight: 1, NodeCacheCapable: capable,
					})
					require.NoError(t, err)
					for _, pod := range c.Pending {
						drive(t, s, x, pod, seen)
					}
				}
			})
		}
	}
	for _, what := range []string{"feasible", "Unschedulable", "UnschedulableAndUnresolvable", "ranked", "victims", "error"} {
		t.Logf("%s: %d", what, seen[what])
		if what != "error" {
			require.Positive(t, seen[what], "%s was never seen", what)
		}
	}
}

func newReal(extenders []kubeconfig.Extender) (*real.Scheduler, error) {
	return real.Default(context.Background(), scheduler.WithExtenders(extenders...))
}

// drive asks both sides about one pod.
func drive(t *testing.T, s *real.Scheduler, x fwk.Extender, pod *v1.Pod, seen map[string]int) {
	t.Helper()
	a, err := s.Attempt(pod)
	require.NoError(t, err)
	nodes, err := s.NodeInfos()
	require.NoError(t, err)
	stay, failed, unresolvable, err := x.Filter(pod, nodes)
	fit := a.Fit()
	switch {
	case errors.Is(a.Err, scheduler.ErrNoNodesAvailable):
		require.Empty(t, stay)
		return
	case a.Err != nil && fit == nil:
		seen["error"]++
		require.Error(t, err, "kube-scheduler: %v", a.Err)
		return
	}
	require.NoError(t, err)
	if fit == nil {
		seen["feasible"]++
		require.Len(t, stay, a.Result.FeasibleNodes)
		require.True(t, slices.ContainsFunc(stay, func(n fwk.NodeInfo) bool { return n.Node().Name == a.Result.SuggestedHost }))
		rank(t, s, x, pod, withPods(nodes, stay), seen)
		return
	}
	require.Empty(t, stay)
	for _, n := range nodes {
		name := n.Node().Name
		status := fit.Diagnosis.NodeToStatus.Get(name)
		seen[status.Code().String()]++
		text := inOrder(strings.Join(status.Reasons(), ", "))
		if status.Code() == fwk.UnschedulableAndUnresolvable {
			require.Equal(t, text, inOrder(unresolvable[name]), "%s on %s", pod.Name, name)
			require.NotContains(t, failed, name)
		} else {
			require.Equal(t, text, inOrder(failed[name]), "%s on %s", pod.Name, name)
			require.NotContains(t, unresolvable, name)
		}
	}
	agree(t, s, x, pod, a, seen)
}

// inOrder sorts the reasons of a text: kube-scheduler walks a map of the extended resources.
func inOrder(text string) string {
	reasons := strings.Split(text, ", ")
	slices.Sort(reasons)
	return strings.Join(reasons, ", ")
}

// withPods returns the nodes of a list with the pods of the snapshot. The client returns nodes without pods when it gets objects.
func withPods(nodes, list []fwk.NodeInfo) []fwk.NodeInfo {
	var out []fwk.NodeInfo
	for _, n := range nodes {
		if slices.ContainsFunc(list, func(x fwk.NodeInfo) bool { return x.Node().Name == n.Node().Name }) {
			out = append(out, n)
		}
	}
	return out
}

// rank compares the order of the scores with that of kube-scheduler's totals.
func rank(t *testing.T, s *real.Scheduler, x fwk.Extender, pod *v1.Pod, feasible []fwk.NodeInfo, seen map[string]int) {
	t.Helper()
	if len(feasible) < 2 {
		return
	}
	totals, ok, err := s.Totals(pod, feasible)
	require.NoError(t, err)
	require.True(t, ok)
	list, _, err := x.Prioritize(pod, feasible)
	require.NoError(t, err)
	require.Len(t, *list, len(totals))
	scores := map[string]int64{}
	for _, h := range *list {
		scores[h.Host] = h.Score
	}
	for _, a := range totals {
		for _, b := range totals {
			seen["ranked"]++
			switch {
			case a.TotalScore == b.TotalScore:
				require.Equal(t, scores[a.Name], scores[b.Name])
			case a.TotalScore > b.TotalScore:
				require.Greater(t, scores[a.Name], scores[b.Name])
			}
		}
	}
}

// agree shows the program the victims that kube-scheduler found.
func agree(t *testing.T, s *real.Scheduler, x fwk.Extender, pod *v1.Pod, a *real.Attempt, seen map[string]int) {
	t.Helper()
	p, err := a.Preempt()
	require.NoError(t, err)
	if len(p.Candidates) == 0 {
		return
	}
	lister := s.Framework.SnapshotSharedLister().NodeInfos()
	in := map[string]*extenderv1.Victims{}
	for _, c := range p.Candidates {
		node, err := lister.Get(c.Node)
		require.NoError(t, err)
		v := &extenderv1.Victims{NumPDBViolations: c.Violations}
		for _, name := range c.Pods {
			for _, q := range node.GetPods() {
				if q.GetPod().Namespace+"/"+q.GetPod().Name == name {
					v.Pods = append(v.Pods, q.GetPod())
				}
			}
		}
		in[c.Node] = v
		seen["victims"]++
	}
	out, err := x.ProcessPreemption(pod, in, lister)
	require.NoError(t, err)
	require.Equal(t, in, out, "pod %s", pod.Name)
}

// A scheduler that has the program as an extender decides like a scheduler without extenders.
func TestSchedulerWithProgram(t *testing.T) {
	program := build(t)
	plain, err := newReal(nil)
	require.NoError(t, err)
	for seed := *gen.Seed; seed < *gen.Seed+int64(gen.Count(10, 1)); seed++ {
		c := gen.New(seed)
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			url := start(t, program, c)
			extended, err := newReal([]kubeconfig.Extender{{URLPrefix: url, FilterVerb: "filter", PreemptVerb: "preempt", NodeCacheCapable: true}})
			require.NoError(t, err)
			require.NoError(t, plain.Load(compare.Copy(c)))
			require.NoError(t, extended.Load(compare.Copy(c)))
			for _, pod := range c.Pending {
				want, wantErr := plain.Schedule(pod)
				got, gotErr := extended.Schedule(pod)
				require.Equal(t, textOf(wantErr), textOf(gotErr))
				require.Equal(t, want.FeasibleNodes, got.FeasibleNodes)
				var fit *framework.FitError
				if errors.As(gotErr, &fit) {
					require.NotContains(t, fit.Diagnosis.UnschedulablePlugins, "Extender")
				}
			}
		})
	}
}
