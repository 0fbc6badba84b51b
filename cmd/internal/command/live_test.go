package command_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/anonymise"
	"github.com/podberth/podberth/tools/dump"
)

// server answers as an API server does, with the objects of a dump: lists in pages, and 403 or 404 where the test asks for it.
type server struct {
	t         *testing.T
	lists     map[string][]anonymise.Tree // by path
	forbidden []string                    // resources
	refuses   int                         // with this code; 0: 403
	adds      string                      // to each message
	kubelet   map[string]string           // what the kubelets answer, by the end of the path; with NODE/ in front it is one kubelet's
	lock      sync.Mutex
	asked     []string // resources, each once
	writes    int
}

var resources = map[string]string{
	"Node": "/api/v1/nodes", "Pod": "/api/v1/pods", "Namespace": "/api/v1/namespaces", "Service": "/api/v1/services", "ReplicationController": "/api/v1/replicationcontrollers",
	"ReplicaSet": "/apis/apps/v1/replicasets", "StatefulSet": "/apis/apps/v1/statefulsets", "Deployment": "/apis/apps/v1/deployments", "DaemonSet": "/apis/apps/v1/daemonsets",
	"Job": "/apis/batch/v1/jobs", "PodDisruptionBudget": "/apis/policy/v1/poddisruptionbudgets", "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
	"RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses", "LimitRange": "/api/v1/limitranges", "ResourceQuota": "/api/v1/resourcequotas",
	"CronJob": "/apis/batch/v1/cronjobs", "HorizontalPodAutoscaler": "/apis/autoscaling/v2/horizontalpodautoscalers", "PersistentVolume": "/api/v1/persistentvolumes",
	"PersistentVolumeClaim": "/api/v1/persistentvolumeclaims", "StorageClass": "/apis/storage.k8s.io/v1/storageclasses", "CSINode": "/apis/storage.k8s.io/v1/csinodes",
	"CSIDriver": "/apis/storage.k8s.io/v1/csidrivers", "CSIStorageCapacity": "/apis/storage.k8s.io/v1/csistoragecapacities", "VolumeAttachment": "/apis/storage.k8s.io/v1/volumeattachments",
	"DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses", "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices", "ResourceClaim": "/apis/resource.k8s.io/v1/resourceclaims",
	"ResourceClaimTemplate": "/apis/resource.k8s.io/v1/resourceclaimtemplates", "NodePool": "/apis/karpenter.sh/v1/nodepools",
}

// serve starts a server with the shipped cluster. It returns the flags with which a command finds it.
func serve(t *testing.T) (*server, []string) {
	objects, err := dump.Read([]string{shipped}, nil, dump.Options{})
	require.NoError(t, err)
	list, err := anonymise.Trees(objects)
	require.NoError(t, err)
	s := &server{t: t, lists: map[string][]anonymise.Tree{}}
	for _, path := range resources {
		s.lists[path] = []anonymise.Tree{}
	}
	for _, x := range list {
		kind := x["kind"].(string)
		delete(x, "kind") // as in lists
		delete(x, "apiVersion")
		s.lists[resources[kind]] = append(s.lists[resources[kind]], x)
	}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	config := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u","namespace":"data"}},{"name":"models","context":{"cluster":"c","user":"u","namespace":"ml"}}],"users":[{"name":"u","user":{}}]}`, h.URL), 0o600))
	return s, []string{"--kubeconfig", config}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if r.Method != http.MethodGet {
		s.writes++
	}
	path := r.URL.Path
	resource := path[strings.LastIndex(path, "/")+1:]
	if !slices.Contains(s.asked, resource) {
		s.asked = append(s.asked, resource)
	}
	status := func(code int, text string) {
		message, err := json.Marshal(text + s.adds)
		require.NoError(s.t, err)
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":%s,"code":%d}`, message, code)
	}
	if node, rest, ok := strings.Cut(path, "/proxy/"); ok {
		answer, served := s.kubelet[rest]
		if own, ok := s.kubelet[strings.TrimPrefix(node, "/api/v1/nodes/")+"/"+rest]; ok {
			answer, served = own, true
		}
		switch {
		case !served:
			status(http.StatusForbidden, strings.TrimPrefix(node, "/api/v1/")+" is forbidden")
		default:
			fmt.Fprint(w, answer)
		}
		return
	}
	list, served := s.lists[path]
	if namespace, rest, ok := strings.Cut(strings.TrimPrefix(path, "/api/v1/namespaces/"), "/"); ok && strings.HasPrefix(path, "/api/v1/namespaces/") {
		served = true
		for _, x := range s.lists["/api/v1/"+rest] {
			if x["metadata"].(anonymise.Tree)["namespace"] == namespace {
				list = append(list, x)
			}
		}
	}
	if field, value, ok := strings.Cut(r.URL.Query().Get("fieldSelector"), "="); ok {
		list = slices.DeleteFunc(slices.Clone(list), func(x anonymise.Tree) bool {
			part, name, _ := strings.Cut(field, ".")
			of, _ := x[part].(anonymise.Tree)
			return of[name] != value
		})
	}
	switch {
	case slices.Contains(s.forbidden, resource):
		status(cmp.Or(s.refuses, http.StatusForbidden), resource+" is forbidden")
		return
	case !served:
		status(http.StatusNotFound, "the server could not find the requested resource")
		return
	}
	const most = 7 // fewer than anybody asks for
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	end := min(len(list), from+most)
	next := ""
	if end < len(list) {
		next = strconv.Itoa(end)
	}
	kind := "List"
	for k, p := range resources {
		if p == path {
			kind = k + "List"
		}
	}
	group, version, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/"), "/")
	apiVersion := "v1"
	if strings.HasPrefix(path, "/apis/") {
		apiVersion = group + "/" + strings.Split(version, "/")[0]
	}
	if err := json.NewEncoder(w).Encode(map[string]any{"kind": kind, "apiVersion": apiVersion, "metadata": map[string]any{"continue": next, "remainingItemCount": len(list) - end}, "items": list[from:end]}); err != nil {
		s.t.Error(err)
	}
}

// ask runs a command line against the server.
func ask(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = kubectl().Run(context.Background(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// A live cluster gives the same answers as its dump, from pages, with GET requests only.
func TestLive(t *testing.T) {
	for name, args := range commands {
		if name == "pressure" || name == "lint" { // the first needs a kubelet, the second is about manifests
			continue
		}
		t.Run(name, func(t *testing.T) {
			s, flags := serve(t)
			for _, form := range []string{"json", "table"} {
				if form == "json" && slices.Contains(args, "--map") {
					continue
				}
				if testing.Short() && form == "table" && !slices.Contains(args, "--map") {
					continue // the race detector is run with short, and both forms are of the same answer
				}
				_, want, _ := ask(append(args, "-o", form)...)
				var live []string
				for k, a := range args {
					if a != "-f" && (k == 0 || args[k-1] != "-f") {
						live = append(live, a)
					}
				}
				code, got, errs := ask(append(append(live, "-A", "-o", form), flags...)...)
				require.Equal(t, map[bool]int{true: 1}[name == "preflight"], code, errs) // which finds something in the way
				require.Equal(t, want, got)
			}
			require.Zero(t, s.writes)
			require.NotContains(t, s.asked, "secrets")
			require.NotContains(t, s.asked, "configmaps")
		})
	}
}

// A question lists what it needs. A missing permission is named with what to do, and --partial does without.
func TestPermissions(t *testing.T) {
	s, flags := serve(t)
	s.forbidden = []string{"poddisruptionbudgets", "statefulsets"}
	code, out, errs := ask(append([]string{"place"}, flags...)...)
	require.Equal(t, 2, code)
	require.Empty(t, out)
	require.Equal(t, "kubectl podberth: this user may not list statefulsets.apps, poddisruptionbudgets.policy in all namespaces: "+
		"kubectl create clusterrole podberth --verb=list --resource=statefulsets.apps,poddisruptionbudgets.policy, and bind it to the user; --partial answers without them\n", errs)
	code, out, errs = ask(append([]string{"place", "--partial"}, flags...)...)
	require.Zero(t, code, errs)
	require.Contains(t, out, "postgres-3")
	require.NotContains(t, out, "web-", "the namespace of the context is data")
	require.Contains(t, errs, "warning: this user may not list statefulsets.apps, poddisruptionbudgets.policy; the answer is that of a cluster without them\n")
	s.forbidden = []string{"nodes"}
	code, _, errs = ask(append([]string{"place", "--partial"}, flags...)...)
	require.Equal(t, 2, code)
	require.Contains(t, errs, "may not list nodes")

	s, flags = serve(t)
	code, _, errs = ask(append([]string{"taints", "general-a1"}, flags...)...)
	require.Zero(t, code, errs)
	require.ElementsMatch(t, []string{"nodes", "pods", "resourceslices", "devicetaintrules", "resourceclaims"}, s.asked, "a forecast needs nodes and pods, and the devices that pods have")
}

// --context and -n choose as they do in kubectl.
func TestContext(t *testing.T) {
	_, flags := serve(t)
	for want, more := range map[string][]string{"pod/data/postgres-3\n": nil, "pod/ml/chat-1\n": {"--context", "models"}, "pod/batch/report-z58cg\n": {"--context", "models", "-n", "batch"}} {
		code, out, errs := ask(append(append([]string{"place", "-o", "name"}, more...), flags...)...)
		require.Zero(t, code, errs)
		require.Contains(t, out, want)
		namespace, _, _ := strings.Cut(strings.TrimPrefix(want, "pod/"), "/")
		for line := range strings.Lines(out) {
			require.True(t, strings.HasPrefix(line, "pod/"+namespace+"/"), line)
		}
	}
	code, out, errs := ask(append([]string{"place", "--context", "none"}, flags...)...)
	require.Equal(t, 2, code)
	require.Empty(t, out)
	require.Equal(t, "kubectl podberth: invalid configuration: context was not found for specified context: none; kubectl config get-contexts lists the contexts, and -f PATH reads a dump in place of the cluster\n", errs)
}

// kubelets lets the kubelet of general-a1 measure and be configured, and lets those of three other nodes measure.
func (s *server) kubelets() {
	read := func(name string) string {
		data, err := os.ReadFile(tools + "pressure/testdata/" + name)
		require.NoError(s.t, err)
		return string(data)
	}
	s.kubelet = map[string]string{
		"general-a1/stats/summary": read("memory.json"),
		"general-a1/configz":       `{"kubeletconfig": {"evictionHard": {"memory.available": "1Gi"}, "staticPodURLHeader": {"Authorization": ["secret"]}}}`,
		"general-a2/stats/summary": read("disk-single.json"),
		"general-b1/stats/summary": "not JSON",
	}
}

// pressure asks the kubelet of the node through the API server for its stats and its configuration. Without the configuration the
// defaults are taken, with a warning; without the stats the error names the permission.
func TestLivePressure(t *testing.T) {
	const summary = tools + "pressure/testdata/memory.json"
	file := filepath.Join(t.TempDir(), "kubelet.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nevictionHard: {memory.available: 1Gi}\n"), 0o600))
	s, flags := serve(t)
	s.kubelets()
	_, want, _ := ask("pressure", "general-a1", "-f", shipped, "--summary", summary, "--kubelet", file, "-o", "json")
	require.Contains(t, want, "1Gi")
	code, got, errs := ask(append([]string{"pressure", "node/general-a1", "-o", "json"}, flags...)...)
	require.Zero(t, code, errs)
	require.Equal(t, want, got)
	require.Equal(t, "warning: Kubelet general-a1: 10 pod(s) of the summary are not on general-a1 in the input and take no part, the first is kube-system/kube-proxy-general-a1\n", errs)
	require.NotContains(t, s.asked, "services", "a node's pressure needs no more than the node, its pods and its kubelet")
	s.asked = nil
	code, got, errs = ask(append([]string{"pressure", "general-a1", "-o", "json", "--summary", summary, "--kubelet", file}, flags...)...)
	require.Zero(t, code, errs)
	require.Equal(t, want, got)
	require.ElementsMatch(t, []string{"nodes", "pods"}, s.asked, "files take the place of the kubelet")

	delete(s.kubelet, "general-a1/configz")
	code, _, errs = ask(append([]string{"pressure", "general-a1"}, flags...)...)
	require.Zero(t, code, errs)
	require.Contains(t, errs, "warning: 1 of 1 kubelets give no configuration, the first is that of general-a1: nodes/general-a1 is forbidden; get on nodes/proxy is needed\n")
	require.Contains(t, errs, "warning: Kubelet general-a1 has no configuration: the kubelet's defaults are taken; --kubelet FILE gives a configuration\n")
	for want, node := range map[string]string{
		"the stats of node memory-a1: nodes/memory-a1 is forbidden; get on nodes/proxy is needed":            "memory-a1",
		"the stats of node general-b1: stats/summary: invalid character 'o' in literal null (expecting 'u')": "general-b1",
	} {
		code, got, errs = ask(append([]string{"pressure", node}, flags...)...)
		require.Equal(t, 2, code)
		require.Empty(t, got)
		require.Equal(t, "kubectl podberth: "+want+"\n", errs)
	}
	s.lists["/api/v1/nodes"] = nil
	code, _, errs = ask(append([]string{"pressure", "gone"}, flags...)...)
	require.Equal(t, 2, code)
	require.Equal(t, "kubectl podberth: NODE: Not found: \"gone\": the cluster has no node of that name; kubectl get nodes lists them\n", errs)
	require.Zero(t, s.writes)
}

// A snapshot has what pressure reads of every kubelet that may be asked: the answer is that about the cluster, with new names too.
// What pressure does not read of a kubelet is left out.
func TestSnapshotOfKubelets(t *testing.T) {
	s, flags := serve(t)
	s.kubelets()
	dir := t.TempDir()
	plain, hidden, names := filepath.Join(dir, "c.yaml"), filepath.Join(dir, "a.yaml.gz"), filepath.Join(dir, "names.json")
	code, _, errs := ask(append([]string{"snapshot", "-o", plain}, flags...)...)
	require.Zero(t, code, errs)
	require.Equal(t, "warning: 10 of 12 kubelets give no stats, the first is that of general-b1: stats/summary: invalid character 'o' in literal null (expecting 'u')\n"+
		"warning: 1 of 12 kubelets give no configuration, the first is that of general-a2: nodes/general-a2 is forbidden; get on nodes/proxy is needed\n", errs)
	code, _, errs = ask(append([]string{"snapshot", "-o", hidden, "--anonymise", "--names", names}, flags...)...)
	require.Zero(t, code, errs)
	text, err := os.ReadFile(plain)
	require.NoError(t, err)
	_, kubelets, _ := strings.Cut(string(text), "kind: Kubelet\n")
	require.NotContains(t, kubelets, "secret")
	require.NotContains(t, kubelets, "usageNanoCores")
	var old anonymise.Names
	text, err = os.ReadFile(names)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &old))
	node := ""
	for renamed, name := range old.Node {
		if name == "general-a1" {
			node = renamed
		}
	}
	_, want, _ := ask(append([]string{"pressure", "general-a1", "-o", "json"}, flags...)...)
	require.Contains(t, want, "1Gi")
	code, got, errs := ask("pressure", "general-a1", "-f", plain, "-o", "json")
	require.Zero(t, code, errs)
	require.Equal(t, want, got)
	code, got, errs = ask("pressure", node, "-f", hidden, "-o", "json")
	require.Zero(t, code, errs)
	require.NotContains(t, got+errs, "general")
	require.Equal(t, want, old.Back(got))
	code, got, errs = ask("pressure", "memory-a1", "-f", plain)
	require.Equal(t, 2, code)
	require.Empty(t, got)
	require.Equal(t, "kubectl podberth pressure: --summary: Required value: the input has no stats of node memory-a1; kubectl get --raw /api/v1/nodes/memory-a1/proxy/stats/summary prints them\n", errs)
	code, _, errs = ask("pressure", "-f", plain)
	require.Equal(t, 2, code)
	require.Equal(t, "kubectl podberth pressure: NODE: Required value: the input has the stats of 2 nodes, the first is general-a1\n", errs)

	s.asked = nil
	code, _, errs = ask(append([]string{"snapshot", "-o", plain, "--stats=false"}, flags...)...)
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	require.NotContains(t, s.asked, "summary")
	require.NotContains(t, s.asked, "configz")
}

// An API server without a group, such as resource.k8s.io before v1.34, is a cluster without its objects.
func TestOlderServer(t *testing.T) {
	s, flags := serve(t)
	for _, kind := range []string{"DeviceClass", "ResourceSlice", "ResourceClaim", "ResourceClaimTemplate"} {
		delete(s.lists, resources[kind])
	}
	code, _, errs := ask(append([]string{"why", "postgres-3"}, flags...)...)
	require.Zero(t, code, errs)
}

// Names are completed from the cluster: of the context's namespace, and of all with -A.
func TestLiveCompletion(t *testing.T) {
	_, flags := serve(t)
	_, out, _ := ask(append(append([]string{"__complete"}, flags...), "why", "postg")...)
	require.True(t, strings.HasPrefix(out, "postgres-"), out)
}

// A snapshot of the cluster, as it is and without its names, gives the same answers as the cluster.
func TestSnapshot(t *testing.T) {
	_, flags := serve(t)
	_, want, _ := ask(append([]string{"place", "-A", "-o", "json"}, flags...)...)
	dir := t.TempDir()
	for _, name := range []string{"c.yaml", "c.json", "c.yaml.gz", "c.json.gz"} {
		path := filepath.Join(dir, name)
		code, out, errs := ask(append([]string{"snapshot", "-o", path}, flags...)...)
		require.Zero(t, code, errs)
		require.Empty(t, out)
		_, got, _ := ask("place", "-f", path, "-o", "json")
		require.Equal(t, want, got, name)
	}
	path, names := filepath.Join(dir, "a.yaml.gz"), filepath.Join(dir, "names.json")
	code, _, errs := ask(append([]string{"snapshot", "-o", path, "--anonymise", "--names", names}, flags...)...)
	require.Zero(t, code, errs)
	_, got, _ := ask("place", "-f", path, "-o", "json")
	require.NotContains(t, got, "postgres")
	data, err := os.ReadFile(names)
	require.NoError(t, err)
	var old anonymise.Names
	require.NoError(t, json.Unmarshal(data, &old))
	require.Equal(t, want, old.Back(got))

	code, _, errs = ask("snapshot", "-f", shipped, "--names", names)
	require.Equal(t, 2, code)
	require.Equal(t, "kubectl podberth: --names: Invalid value: goes with --anonymise\n", errs)
	code, _, errs = ask("snapshot", "-f", shipped, "-o", "no/such/folder/c.yaml")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "no/such/folder")
}
