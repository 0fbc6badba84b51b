package source

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/podberth/podberth/cmd/internal/command"
	"github.com/podberth/podberth/internal/testkit"
)

// answers is an API server: it has a text for some paths, refuses some, and has empty lists elsewhere. What is refused and what is asked
// for are the last parts of paths.
type answers struct {
	texts   map[string]string
	refused string
	unknown string

	mu    sync.Mutex
	asked []string // paths and queries
	heads []http.Header
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	a.asked, a.heads = append(a.asked, r.URL.Path+"?"+r.URL.RawQuery), append(a.heads, r.Header)
	switch text, ok := a.texts[r.URL.Path+"?"+r.URL.RawQuery]; {
	case ok && text == "gone":
		http.Error(w, "{}", http.StatusGone)
	case ok:
		fmt.Fprint(w, text)
	case strings.Contains(a.refused, "/"+resource+"/"):
		http.Error(w, `{"message":"no"}`, http.StatusForbidden)
	case strings.Contains(a.unknown, "/"+resource+"/"):
		http.Error(w, "{}", http.StatusNotFound)
	case a.texts[resource] != "":
		fmt.Fprint(w, a.texts[resource])
	default:
		fmt.Fprint(w, `{"items":[]}`)
	}
}

// listed returns the resources that were asked for, in their order.
func (a *answers) listed() string {
	var out []string
	for _, path := range a.asked {
		path, _, _ = strings.Cut(path, "?")
		out = append(out, path[strings.LastIndex(path, "/")+1:])
	}
	return strings.Join(out, " ")
}

func (a *answers) client(t *testing.T) *client {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	c, err := newClient(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	return c
}

func (a *answers) read(t *testing.T, need command.Need, partial bool) (dump string, warnings []string, err error) {
	t.Helper()
	in, warnings, err := a.client(t).read(t.Context(), need, partial, io.Discard)
	if err != nil {
		require.Nil(t, in)
		return "", nil, err
	}
	data, err := io.ReadAll(in)
	require.NoError(t, err)
	return string(data), warnings, nil
}

func podsWith(field string) map[string]string {
	return map[string]string{"pods": `{"items":[{"metadata":{"name":"p"},` + field + `}]}`}
}

// A question lists what it needs, and more of it where the pods, the budgets or the classes of devices ask for it.
func TestWhatIsListed(t *testing.T) {
	const (
		placing  = "nodes pods namespaces services replicationcontrollers replicasets statefulsets deviceclasses poddisruptionbudgets"
		owners   = " replicationcontrollers replicasets statefulsets"
		makers   = " deployments daemonsets jobs"
		others   = " cronjobs horizontalpodautoscalers"
		policies = " priorityclasses runtimeclasses limitranges resourcequotas"
		storage  = " persistentvolumes persistentvolumeclaims storageclasses csinodes csidrivers csistoragecapacities volumeattachments"
		devices  = " resourceslices devicetaintrules resourceclaims"
		groups   = " podgroups compositepodgroups"
	)
	one := `{"items":[{}]}`
	budget := map[string]string{"poddisruptionbudgets": one}
	type test struct {
		name, why string
		need      command.Need
		texts     map[string]string
		want      string
	}
	testkit.Run(t, []test{
		{"nothing", "nodes and pods are always read", command.Need{}, nil, "nodes pods"},
		{"placing", "what decides about a place", command.Need{Placing: true}, nil, placing},
		{"budgets", "there are none", command.Need{Budgets: true}, nil, "nodes pods poddisruptionbudgets"},
		{"budgets and their controllers", "a budget counts replicas", command.Need{Budgets: true}, budget, "nodes pods poddisruptionbudgets" + owners + makers},
		{"placing with budgets", "the owners are read already", command.Need{Placing: true}, budget, placing + makers},
		{"workloads", "they make pods", command.Need{Workloads: true}, nil, "nodes pods" + makers + others + owners},
		{"workloads with budgets", "the owners are read once", command.Need{Workloads: true, Budgets: true}, budget, "nodes pods poddisruptionbudgets" + owners + makers + others},
		{"workloads to place", "the owners are read already", command.Need{Workloads: true, Placing: true}, nil, placing + makers + others},
		{"admission", "what the API server asks", command.Need{Admission: true}, nil, "nodes pods" + policies},
		{"a claim", "storage decides", command.Need{Placing: true}, podsWith(`"spec":{"volumes":[{"name":"v","persistentVolumeClaim":{}}]}`), placing + storage},
		{"a claim before pods without", "one pod is enough", command.Need{Placing: true}, map[string]string{"pods": `{"items":[{"spec":{"volumes":[{"name":"v","csi":{}}]}},{}]}`}, placing + storage},
		{"other volumes", "no storage decides", command.Need{Placing: true}, podsWith(`"spec":{"volumes":[{"name":"v","emptyDir":{}}]}`), placing},
		{"a claim, not to place", "nobody asks storage", command.Need{}, podsWith(`"spec":{"volumes":[{"name":"v","csi":{}}]}`), "nodes pods"},
		{"a group", "its members count", command.Need{}, podsWith(`"spec":{"schedulingGroup":{"podGroupName":"g"}}`), "nodes pods" + groups},
		{"devices to place", "a pod has claims", command.Need{Placing: true}, podsWith(`"spec":{"resourceClaims":[{}]}`), placing + devices + " resourceclaimtemplates"},
		{"extended resources", "the status names a claim", command.Need{Placing: true}, podsWith(`"status":{"extendedResourceClaimStatus":{}}`), placing + devices + " resourceclaimtemplates"},
		{"classes of devices", "a class may have an extended resource", command.Need{Placing: true}, map[string]string{"deviceclasses": one}, placing + devices + " resourceclaimtemplates"},
		{"devices", "pods have them", command.Need{Devices: true}, podsWith(`"spec":{"resourceClaims":[{}]}`), "nodes pods" + devices},
		{"no devices", "no pod has claims", command.Need{Devices: true}, nil, "nodes pods"},
		{"devices of a group", "a group is no claim", command.Need{Devices: true}, podsWith(`"spec":{"schedulingGroup":{}}`), "nodes pods" + groups},
		{"all", "everything", command.Need{All: true}, nil, placing + policies + makers + others + storage + groups + devices + " resourceclaimtemplates"},
	}, func(t *testing.T, c test) {
		a := &answers{texts: c.texts}
		_, warnings, err := a.read(t, c.need, false)
		require.NoError(t, err)
		require.Empty(t, warnings)
		require.Equal(t, c.want, a.listed(), c.why)
	})
}

// A kind that the server does not have is empty. One that the user may not list is an error that names the permission, or with --partial a
// warning; without pods and nodes there is no answer.
func TestMissingKinds(t *testing.T) {
	budgets := command.Need{Budgets: true, Admission: true}
	_, warnings, err := (&answers{unknown: "/poddisruptionbudgets/"}).read(t, budgets, false)
	require.NoError(t, err)
	require.Empty(t, warnings)
	_, _, err = (&answers{refused: "/poddisruptionbudgets/limitranges/"}).read(t, budgets, false)
	require.EqualError(t, err, "this user may not list poddisruptionbudgets.policy, limitranges in all namespaces: kubectl create clusterrole podberth --verb=list --resource=poddisruptionbudgets.policy,limitranges, and bind it to the user; --partial answers without them")
	_, warnings, err = (&answers{refused: "/poddisruptionbudgets/limitranges/"}).read(t, budgets, true)
	require.NoError(t, err)
	require.Equal(t, []string{"this user may not list poddisruptionbudgets.policy, limitranges; the answer is that of a cluster without them"}, warnings)
	for _, kind := range []string{"pods", "nodes"} {
		_, _, err = (&answers{refused: "/" + kind + "/"}).read(t, budgets, true)
		require.EqualError(t, err, "this user may not list "+kind+" in all namespaces: kubectl create clusterrole podberth --verb=list --resource="+kind+", and bind it to the user; or ask of a dump: -f PATH")
	}
	_, warnings, err = (&answers{refused: "/nodepools/", texts: map[string]string{"nodes": `{"items":[{"metadata":{"name":"n1","labels":{"karpenter.sh/nodepool":"a"}}}]}`}}).read(t, command.Need{Placing: true}, false)
	require.NoError(t, err)
	require.Equal(t, []string{"this user may not list nodepools.karpenter.sh: startupTaints are taken for taints of pools"}, warnings)
	_, _, err = (&answers{texts: map[string]string{"pods": "]"}}).read(t, budgets, false)
	require.ErrorContains(t, err, "listing pods: /api/v1/pods: invalid character")
}

// All pages of a list are read. When the server has forgotten the pages, the list begins again without them, and nothing is read twice.
func TestPages(t *testing.T) {
	first, second := `{"metadata":{"continue":"x"},"items":[{"metadata":{"name":"n1"}}]}`, `{"items":[{"metadata":{"name":"n2"}}]}`
	a := &answers{texts: map[string]string{"/api/v1/nodes?limit=500": first, "/api/v1/nodes?continue=x&limit=500": second}}
	dump, _, err := a.read(t, command.Need{}, false)
	require.NoError(t, err)
	require.Equal(t, first+"\n"+second+"\n"+`{"items":[]}`+"\n", dump)
	whole := `{"items":[{"metadata":{"name":"n1"}},{"metadata":{"name":"n2"}}]}`
	a = &answers{texts: map[string]string{"/api/v1/nodes?limit=500": first, "/api/v1/nodes?continue=x&limit=500": "gone", "/api/v1/nodes?": whole}}
	dump, _, err = a.read(t, command.Need{Stats: true}, false)
	require.NoError(t, err)
	require.Equal(t, whole+"\n"+`{"items":[]}`+"\n", dump)
	require.Equal(t, "nodes nodes nodes pods summary summary", a.listed(), "each kubelet is asked once")
	a = &answers{}
	_, _, err = a.read(t, command.Need{Node: "n1"}, false)
	require.NoError(t, err)
	require.Equal(t, []string{"/api/v1/nodes?fieldSelector=metadata.name%3Dn1&limit=500", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1&limit=500"}, a.asked)
}

// The kubelets give an object each. One that gives nothing is a warning, and an error when the question is about its node.
func TestKubelets(t *testing.T) {
	const proxy = "/api/v1/nodes/%s/proxy/%s?"
	at := func(node, path string) string { return fmt.Sprintf(proxy, node, path) }
	summary := func(node string) string { return `{"node":{"nodeName":"` + node + `"}}` }
	a := &answers{refused: "/configz/", texts: map[string]string{"nodes": `{"items":[{"metadata":{"name":"n1"}},{"metadata":{"name":"n2"}},{"metadata":{"name":"n3"}}]}`,
		at("n1", "stats/summary"): summary("n1"), at("n1", "configz"): `{"kubeletconfig":{}}`, at("n2", "stats/summary"): summary("n2"), at("n3", "stats/summary"): "gone"}}
	dump, warnings, err := a.read(t, command.Need{Stats: true, Settings: true}, false)
	require.NoError(t, err)
	require.Equal(t, []string{
		"1 of 3 kubelets give no stats, the first is that of n3: 410 Gone",
		"1 of 3 kubelets give no configuration, the first is that of n2: no; get on nodes/proxy is needed",
	}, warnings)
	lines := strings.Split(strings.TrimSpace(dump), "\n")
	require.Len(t, lines, 4, "two lists and two kubelets")
	require.Contains(t, lines[2], `"n1"`)
	require.Contains(t, lines[2], `"configuration"`)
	require.Contains(t, lines[3], `"n2"`)
	require.NotContains(t, lines[3], `"configuration"`)
	require.NotContains(t, a.listed(), "configz configz configz", "a kubelet without stats is not asked for more")
	_, _, err = a.read(t, command.Need{Stats: true, Node: "n3"}, false)
	require.EqualError(t, err, "the stats of node n3: 410 Gone")
	_, _, err = (&answers{}).read(t, command.Need{Stats: true, Node: "n4"}, false)
	require.EqualError(t, err, `NODE: Not found: "n4": the cluster has no node of that name; kubectl get nodes lists them`)
}

// The cluster is that of the kubeconfig, and the flags are kubectl's: who asks, in which namespace, and whether a part is enough.
func TestClusterOfAKubeconfig(t *testing.T) {
	a := &answers{refused: "/poddisruptionbudgets/", texts: map[string]string{
		"pods": `{"items":[{"metadata":{"namespace":"shop","name":"p"}}]}`, "nodes": `{"items":[{"metadata":{"name":"n1"}}]}`,
	}}
	server := httptest.NewServer(a)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "{clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: a, context: {cluster: c, namespace: shop}}, {name: b, context: {cluster: c}}], current-context: b}", server.URL), 0o600))
	with := func(args ...string) *Cluster {
		c, f := New(), pflag.NewFlagSet("t", pflag.ContinueOnError)
		c.Flags(f)
		require.NoError(t, f.Parse(append([]string{"--kubeconfig=" + file}, args...)))
		require.Nil(t, f.Lookup("namespace"), "commands have it themselves")
		for name, text := range usage {
			require.Equal(t, text, f.Lookup(name).Usage)
		}
		return c
	}
	namespace, err := with("--context=a").Namespace("")
	require.NoError(t, err)
	require.Equal(t, "shop", namespace)
	namespace, err = with("--context=a").Namespace("data")
	require.NoError(t, err)
	require.Equal(t, "data", namespace)

	c := with("--as=alice", "--as-group=x", "--as-group=y", "--request-timeout=7s", "--partial")
	dump, warnings, err := c.Read(t.Context(), command.Need{Budgets: true}, io.Discard)
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	data, err := io.ReadAll(dump)
	require.NoError(t, err)
	require.Contains(t, string(data), `"n1"`)
	require.Equal(t, "alice", a.heads[0].Get("Impersonate-User"))
	require.Equal(t, []string{"x", "y"}, a.heads[0].Values("Impersonate-Group"))
	require.Equal(t, "7s", c.made.http.Timeout.String())
	_, _, err = with().Read(t.Context(), command.Need{Budgets: true}, io.Discard)
	require.ErrorContains(t, err, "may not list")
	_, _, err = with().Read(t.Context(), command.Need{MaxSize: 10}, io.Discard)
	require.ErrorIs(t, err, errTooMuch)

	for _, x := range []struct {
		of              command.Kind
		namespace, want string
	}{{command.Nodes, "shop", "n1"}, {command.Pods, "", "shop/p"}, {command.Pods, "shop", "p"}} {
		got, err := c.Names(t.Context(), x.of, x.namespace)
		require.NoError(t, err)
		require.Equal(t, []string{x.want}, got)
	}
	require.Contains(t, a.asked[len(a.asked)-1], "/api/v1/namespaces/shop/pods?")
	require.Equal(t, asNames, a.heads[len(a.heads)-1].Get("Accept"))
	_, err = with("--kubeconfig=/nowhere", "--context=z").Names(t.Context(), command.Pods, "")
	require.ErrorContains(t, err, "-f PATH reads a dump in place of the cluster")
}
