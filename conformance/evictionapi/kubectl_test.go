package evictionapi_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/drain"

	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/rollout"
)

// blockedPods is what preflight and rollout say in JSON about pods that stay.
type blockedPods struct {
	Blocked []struct {
		Kind, Why, Proof string
		Pods             []string
	}
	Budgets []string
	Summary struct{ Pods int }
}

// pinned returns why each pod stays that kubectl refuses.
func (b *blockedPods) pinned() map[string]string {
	out := map[string]string{}
	for _, d := range b.Blocked {
		for _, p := range d.Pods {
			if d.Kind == "pinned" {
				out[p] = d.Why + d.Proof // preflight writes the first, rollout the second
			}
		}
	}
	return out
}

// kubectlOverServer lets kubectl's drain choose the pods of all nodes. It returns the pods that would leave, and why kubectl refuses the others.
func kubectlOverServer(t *testing.T, s server, objects *dump.Objects, ignoreDaemonSets bool) (leave []string, refused map[string]string) {
	client, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: s.host}, s.client)
	require.NoError(t, err)
	kubectl := drain.Helper{Ctx: t.Context(), Client: client, IgnoreAllDaemonSets: ignoreDaemonSets, GracePeriodSeconds: -1}
	refused = map[string]string{}
	for _, n := range objects.Nodes {
		pods, errs := kubectl.GetPodsForDeletion(n.Name)
		for _, err := range errs {
			at := strings.LastIndex(err.Error(), ": ")
			require.Positive(t, at, err)
			for _, name := range strings.Split(err.Error()[at+2:], ", ") {
				refused[name] = err.Error()[:at]
			}
		}
		if pods != nil {
			for _, p := range pods.Pods() {
				leave = append(leave, p.Namespace+"/"+p.Name)
			}
		}
	}
	return leave, refused
}

// kubectlAgrees compares preflight, and rollout where the pods of DaemonSets are not ignored, with kubectl's drain over the same server.
func kubectlAgrees(t *testing.T, s server, file string, objects *dump.Objects, says *blockedPods) {
	leave, refused := kubectlOverServer(t, s, objects, true)
	want := map[string]string{
		"shop/bare":    "cannot delete Pods that declare no controller (use --force to override)",
		"shop/cache-0": "cannot delete Pods with local storage (use --delete-emptydir-data to override)",
	}
	require.Equal(t, want, refused)
	require.Equal(t, refused, says.pinned(), "preflight names the pods that kubectl refuses, with its words")
	require.Len(t, leave, says.Summary.Pods-len(refused), "pods of DaemonSets stay")

	_, refused = kubectlOverServer(t, s, objects, false)
	for _, name := range []string{"shop/agent-1", "shop/agent-2", "shop/agent-3"} {
		want[name] = "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
	}
	require.Equal(t, want, refused)
	var out, errs bytes.Buffer
	require.Zero(t, rollout.Run(t.Context(), []string{"-f", file, "-ignore-daemonsets=false", "-o", "json"}, nil, &out, &errs), errs.String())
	var plan blockedPods
	require.NoError(t, json.Unmarshal(out.Bytes(), &plan))
	require.Equal(t, refused, plan.pinned(), "rollout names the pods of DaemonSets too")
}
