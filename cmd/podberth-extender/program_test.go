package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler/extender"
	"github.com/podberth/podberth/scheduler/httpextender"
	"github.com/podberth/podberth/scheduler/httpextender/rules"
	"github.com/podberth/podberth/tools/program"
)

var ctx = context.Background()

// shop is a cluster of three zones and five nodes, with web pods, a database and a pod that waits for node-5.
const shop = `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: node-1, labels: {topology.kubernetes.io/zone: a}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
- {apiVersion: v1, kind: Node, metadata: {name: node-2, labels: {topology.kubernetes.io/zone: a}}, spec: {unschedulable: true}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
- {apiVersion: v1, kind: Node, metadata: {name: node-3, labels: {topology.kubernetes.io/zone: b}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
- {apiVersion: v1, kind: Node, metadata: {name: node-4, labels: {topology.kubernetes.io/zone: b, disk: ssd}}, status: {allocatable: {cpu: "8", memory: 16Gi, pods: "10"}}}
- {apiVersion: v1, kind: Node, metadata: {name: node-5, labels: {topology.kubernetes.io/zone: c}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
- {apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop, uid: web-1, labels: {app: web}}, spec: {nodeName: node-1, priority: 5, containers: [{name: c, resources: {requests: {cpu: "3", memory: 1Gi}}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: web-2, namespace: shop, uid: web-2, labels: {app: web}}, spec: {nodeName: node-3, priority: 1, containers: [{name: c, resources: {requests: {cpu: "2", memory: 1Gi}}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: db-1, namespace: data, uid: db-1, labels: {app: db}}, spec: {nodeName: node-3, priority: 3, containers: [{name: c, resources: {requests: {cpu: "2", memory: 1Gi}}}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: gpu-1, namespace: shop, uid: gpu-1}, spec: {priority: 100, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}, status: {nominatedNodeName: node-5}}
`

func client(t *testing.T, url string, names bool) *httpextender.Client {
	t.Helper()
	c, err := httpextender.New(configv1.Extender{
		URLPrefix: url, FilterVerb: "filter", PrioritizeVerb: "prioritize", PreemptVerb: "preempt", Weight: 1, NodeCacheCapable: names,
	}, httpextender.Options{})
	require.NoError(t, err)
	return c
}

func nodesNamed(names ...string) []*v1.Node {
	var out []*v1.Node
	for _, name := range names {
		out = append(out, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return out
}

func podAsking(cpu string) *v1.Pod {
	priority := int32(10)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "new", UID: "new", Labels: map[string]string{"app": "web"}},
		Spec: v1.PodSpec{Priority: &priority, Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{"cpu": resource.MustParse(cpu)}}}}},
	}
}

// What is expensive to decode, or has two meanings, is refused before it is decoded.
func TestCheckedRequests(t *testing.T) {
	o, err := parseFlags([]string{"-f", "x"}, io.Discard)
	require.NoError(t, err)
	require.NotNil(t, o.limits.Check)
	h, err := extender.New(cluster.Objects{}, nil, o.limits)
	require.NoError(t, err)
	for body, want := range map[string]string{
		`{"pod":{"SPEC":{"containers":[{"resources":{"requests":{"cpu":"1e999999999"}}}]}}}`: "request: pod.SPEC.containers[0].resources.requests[cpu]: Invalid value: \"1e999999999\": must be a quantity with an exponent between -99 and 99\n",
		`{"Pod":{},"Pod":null}`: "request: Pod: Duplicate value: the key stands twice\n",
	} {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/filter", strings.NewReader(body)))
		require.Equal(t, http.StatusBadRequest, answer.Code)
		require.Equal(t, want, answer.Body.String())
	}
}

// The least and the largest values of flags.
func TestFlagBounds(t *testing.T) {
	for args, fine := range map[string]bool{
		"-scores=1": true, "-scores=0": false, "-scores=1000000": true, "-scores=1000001": false, "-max-body=1": true, "-max-body=0": false, "-at-once=1": true, "-at-once=0": false, "-max-nodes=1": true, "-max-nodes=0": false,
	} {
		_, err := parseFlags([]string{"-f", "x", args}, io.Discard)
		require.Equal(t, fine, err == nil, "%s: %v", args, err)
	}
}

// Slow connections end: the times for headers, requests, answers and idle connections, and the most bytes of headers.
func TestBoundedConnections(t *testing.T) {
	h := bounded(http.NotFoundHandler())
	require.Equal(t, []time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute}, []time.Duration{h.ReadHeaderTimeout, h.ReadTimeout, h.WriteTimeout, h.IdleTimeout})
	require.Equal(t, 65536, h.MaxHeaderBytes)
}

// Requests may bring any pod, so the namespaces that pods on nodes select by label are missing although no pod of the input waits.
func TestMissingNamespaces(t *testing.T) {
	const text = `
{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {allocatable: {cpu: "4", pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop, uid: web}, spec: {nodeName: node-1, containers: [{name: c}], affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {}, namespaceSelector: {matchLabels: {a: b}}}]}}}}
`
	o := options{files: []string{"-"}}
	in, err := read(o, strings.NewReader(text))
	require.NoError(t, err)
	require.Regexp(t, "the input has no .*Namespace", strings.Join(in.warnings.Texts(), "\n"))
}

func TestCommandLine(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.yaml")
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	good := filepath.Join(t.TempDir(), "good.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("apiVersion: v1\nkind: Pod\n"), 0o600))
	require.NoError(t, os.WriteFile(good, []byte(shop), 0o600))
	type test struct {
		name string
		args []string
		code int
		text string
	}
	testkit.Run(t, []test{
		{"no input", nil, program.BadInput, "podberth-extender: -f: Required value: at least one file, folder or -\n"},
		{"unknown flag", []string{"-x"}, program.BadInput, "flag provided but not defined: -x"},
		{"argument", []string{"-f", good, "x"}, program.BadInput, `podberth-extender: unexpected argument "x"; see podberth-extender -h`},
		{"scores", []string{"-f", good, "-scores", "0"}, program.BadInput, "podberth-extender: -scores: Invalid value: 0: not in valid range [1-1000000]\n"},
		{"missing file", []string{"-f", missing}, program.BadInput, "no such file or directory"},
		{"missing configuration", []string{"-f", good, "-config", missing}, program.BadInput, "podberth-extender: -config: open " + missing},
		{"bad configuration", []string{"-f", good, "-config", bad}, program.BadInput, "podberth-extender: " + bad + `: no kind "Pod" is registered for version "v1"`},
		{"bad address", []string{"-f", good, "-listen", "nowhere"}, program.BadInput, "podberth-extender: -listen: listen tcp: address nowhere: missing port in address\n"},
	}, func(t *testing.T, c test) {
		var errs bytes.Buffer
		stopped, stop := context.WithCancel(ctx)
		stop() // a program that serves in place of an error ends at once
		require.Equal(t, c.code, run(stopped, c.args, strings.NewReader(""), io.Discard, &errs, nil))
		require.Contains(t, errs.String(), c.text)
	})
}

// Help goes to standard output.
func TestHelp(t *testing.T) {
	var help, errs bytes.Buffer
	require.Equal(t, program.OK, run(ctx, []string{"-h"}, strings.NewReader(""), &help, &errs, nil))
	require.Empty(t, errs.String())
	testkit.Golden(t, "testdata/help.txt", help.String())
	require.Empty(t, testkit.JoinedWords(help.String()))
}

// The program listens, reads its input again on a signal, keeps the old input when the new input is wrong, and ends.
func TestServe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.yaml")
	require.NoError(t, os.WriteFile(file, []byte(shop), 0o600))
	running, stop := context.WithCancel(ctx)
	hangup := make(chan os.Signal)
	signal := func() { hangup <- syscall.SIGHUP }
	read, write := io.Pipe()
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(read); s.Scan(); {
			lines <- s.Text()
		}
	}()
	code := make(chan int)
	go func() {
		code <- run(running, []string{"-f", file, "-listen", "127.0.0.1:0"}, strings.NewReader(""), io.Discard, write, hangup)
	}()
	said := func(begin string) (rest string) {
		for {
			line, open := <-lines
			require.True(t, open, "the program has ended")
			if rest, found := strings.CutPrefix(line, begin); found {
				return rest
			}
		}
	}
	require.Contains(t, said("warning: the input has no "), "PodDisruptionBudget", "a request may bring a pod that preempts")
	url := said("listening on ")
	x := client(t, url, true)
	ask := func() rules.Filtered {
		a, err := x.Filter(ctx, podAsking("1"), nodesNamed("node-2", "node-4"))
		require.NoError(t, err)
		return a.Filtered
	}
	require.Equal(t, []string{"node-4"}, ask().Nodes)

	require.NoError(t, os.WriteFile(file, []byte("not a dump: ["), 0o600))
	signal()
	said("podberth-extender: not read again: ")
	require.Equal(t, []string{"node-4"}, ask().Nodes)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(shop, "spec: {unschedulable: true}, ", "", 1)), 0o600))
	signal()
	signal() // taken when the first has been worked on
	require.Equal(t, []string{"node-2", "node-4"}, ask().Nodes)
	stop()
	require.Equal(t, program.OK, <-code)
	require.NoError(t, write.Close())
	for line := range lines {
		require.NotContains(t, line, "not read again")
	}
}

// A server that stops by itself says why.
func TestServeSaysWhyItEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	err = serve(ctx, listener, http.NotFoundHandler(), func() {}, nil)
	require.ErrorIs(t, err, net.ErrClosed)
	require.ErrorContains(t, err, listener.Addr().String()+": ")
}

// A device class may select devices with CEL: the program brings the compiler.
func TestSelectors(t *testing.T) {
	const text = `
{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {allocatable: {cpu: "4", pods: "10"}}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: gpu.example.com, nodeName: node-1, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c, namespace: shop, uid: c}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}
`
	o, err := parseFlags([]string{"-f", "-"}, io.Discard)
	require.NoError(t, err)
	in, err := read(o, strings.NewReader(text))
	require.NoError(t, err)
	h, err := extender.New(in.objects, in.profiles, o.limits)
	require.NoError(t, err)
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/filter", strings.NewReader(`{"Pod":{"metadata":{"name":"p","namespace":"shop"},"spec":{"containers":[{"name":"c","resources":{"claims":[{"name":"x"}]}}],"resourceClaims":[{"name":"x","resourceClaimName":"c"}]}},"NodeNames":["node-1"]}`)))
	require.Equal(t, `{"Nodes":null,"NodeNames":["node-1"],"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}`+"\n", answer.Body.String())
}
