package kubectl

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/tools/anonymise"
)

var (
	nodes = flag.Int("nodes", 30, "nodes of the cluster")
	pods  = flag.Int("pods", 300, "pods of the cluster")
)

// commands are the commands about clusters. A word in <> is a name of the cluster: <node:n>, <pod:namespace/name>, <key:k>, <value:v>.
var commands = map[string]string{
	"why, waiting": "why <pod:batch/service-005-6d4b75cb6d-00000>",
	"why, running": "why <pod:shop/service-000-6d4b75cb6d-00003>",
	"place":        "place -A",
	"fit":          "fit <pod:data/service-001-6d4b75cb6d-00000>",
	"drain":        "drain <node:node-a000> <node:node-b001> --ignore-daemonsets --at 2026-03-02T08:00:00Z",
	"evict":        "evict <pod:data/service-001-6d4b75cb6d-00000> --at 2026-03-02T08:00:00Z",
	"taints":       "taints <node:node-a000>",
	"failures":     "failures --scenario <node:node-a000>,<node:node-b001>",
	"consolidate":  "consolidate --steps 5 --max-moves 10",
	"rollout":      "rollout --ignore-daemonsets --surge 1 --renew 4m <node:node-a000> <node:node-c002>",
	"upgrade":      "upgrade --from 1.35 --to 1.36",
	"lint":         "lint -A",
	"pressure":     "pressure <node:node-a000>",
}

// args returns the words of a command line, with every name through rename.
func args(line string, rename func(kind, name string) string) (out []string) {
	for _, word := range strings.Fields(line) {
		for strings.Contains(word, "<") {
			before, rest, _ := strings.Cut(word, "<")
			name, after, _ := strings.Cut(rest, ">")
			kind, name, _ := strings.Cut(name, ":")
			word = before + rename(kind, name) + after
		}
		out = append(out, word)
	}
	return out
}

// Every command gives the same answer about the cluster as about its snapshot, and about the anonymised snapshot with the new names.
func TestSameAnswers(t *testing.T) {
	w := start(t)
	w.populate(*nodes, *pods)
	dir := t.TempDir()
	dump, secret, book := filepath.Join(dir, "cluster.yaml.gz"), filepath.Join(dir, "secret.yaml.gz"), filepath.Join(dir, "names.json")
	code, _, errs := w.ask(append(w.access, "snapshot", "-o", dump)...)
	require.Zero(t, code, errs)
	require.Contains(t, errs, fmt.Sprintf("warning: %d of %d kubelets give no stats", *nodes, *nodes), "there is no kubelet")
	w.answer(append(w.access, "snapshot", "-o", secret, "--anonymise", "--names", book)...)
	var names anonymise.Names
	text, err := os.ReadFile(book)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &names))
	stats, err := os.ReadFile("../../tools/pressure/testdata/memory.json")
	require.NoError(t, err)
	summary := filepath.Join(dir, "summary.json")
	require.NoError(t, os.WriteFile(summary, []byte(strings.ReplaceAll(string(stats), "general-a1", "node-a000")), 0o600))
	kubelet := filepath.Join(dir, "kubelet.yaml")
	require.NoError(t, os.WriteFile(kubelet, []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"), 0o600))

	same := func(_, name string) string { return name }
	for name, line := range commands {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, file: w.file, access: w.access}
			more := []string{"-o", "json"}
			if name == "pressure" { // there is no kubelet
				more = append(more, "--summary", summary, "--kubelet", kubelet)
			}
			given := append(args(line, same), more...)
			code, live, errs := w.ask(append(given, w.access...)...)
			if name != "lint" { // a finding of severity error ends it with 1
				require.Zero(t, code, errs)
			}
			of, recorded, _ := w.ask(append(given, "-f", dump)...)
			require.Equal(t, code, of)
			require.Equal(t, recorded, live, "the cluster and its snapshot")
			require.Greater(t, len(live), 100)
			if name == "pressure" {
				return // the stats have the old names
			}
			of, hidden, errs := w.ask(append(append(args(line, newNames(&names)), more...), "-f", secret)...)
			require.Equal(t, code, of, errs)
			require.NotContains(t, hidden, "service-0")
			require.Equal(t, recorded, names.Back(hidden), "the snapshot and the anonymised one")
		})
	}
}

// newNames returns the function that gives names of the cluster their new names.
func newNames(n *anonymise.Names) func(kind, name string) string {
	turned := func(m map[string]string, name string) string {
		for to, old := range m {
			if old == name {
				return to
			}
		}
		return "(no new name for " + name + ")"
	}
	return func(kind, name string) string {
		switch kind {
		case "node":
			return turned(n.Node, name)
		case "pod":
			namespace, pod, _ := strings.Cut(name, "/")
			return turned(n.Namespace, namespace) + "/" + turned(n.Object, pod)
		}
		return name
	}
}

// A user without permissions learns which are missing. With what the message says the command answers.
func TestPermissions(t *testing.T) {
	w := start(t, "--authorization-mode=RBAC")
	w.populate(3, 60)
	as := append([]string{"place", "-A", "--as", "alice", "-o", "name"}, w.access...)
	code, out, errs := w.ask(as...)
	require.Equal(t, 2, code)
	require.Empty(t, out)
	require.Regexp(t, `^kubectl podberth: this user may not list nodes, pods, namespaces, services, replicationcontrollers, replicasets.apps, statefulsets.apps, deviceclasses.resource.k8s.io, poddisruptionbudgets.policy in all namespaces: kubectl create clusterrole podberth --verb=list --resource=[a-z.,0-9]+, and bind it to the user; or ask of a dump: -f PATH\n$`, errs)
	allow := func(name string, rules ...rbacv1.PolicyRule) {
		_, err := w.api.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = w.api.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "alice"}}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	_, list, _ := strings.Cut(errs, "--resource=")
	list, _, _ = strings.Cut(list, ", ")
	var rules []rbacv1.PolicyRule
	for _, r := range strings.Split(list+",deployments.apps,daemonsets.apps,jobs.batch", ",") {
		resource, group, _ := strings.Cut(r, ".")
		rules = append(rules, rbacv1.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{group}, Resources: []string{resource}})
	}
	allow("podberth", rules...)
	require.Eventually(t, func() bool { // the server's cache of roles follows
		code, out, errs = w.ask(as...)
		return code == 0
	}, patience, pause, "%s", &errs)
	require.Contains(t, out, "pod/")
}
