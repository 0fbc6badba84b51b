package live

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// wire records what a scheduler writes. hook may answer in the API server's place.
type wire struct {
	mu     sync.Mutex
	writes map[string]bool
	begun  int // requests that write, events too
	open   int // of these, without an answer yet
	hook   func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)
}

func (x *wire) trip(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	x.mu.Lock()
	hook := x.hook
	if r.Method != http.MethodGet {
		x.begun++
		x.open++
		defer func() { x.mu.Lock(); x.open--; x.mu.Unlock() }()
	}
	x.mu.Unlock()
	answer, err := (*http.Response)(nil), error(nil)
	if hook != nil {
		answer, err = hook(r, send)
	} else {
		answer, err = send()
	}
	if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/events") {
		return answer, err
	}
	code := "lost"
	if err == nil {
		code = fmt.Sprint(answer.StatusCode)
	}
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "namespaces/default/")
	x.mu.Lock()
	x.writes[r.Method+" "+path+" "+code] = true
	x.mu.Unlock()
	return answer, err
}

// once returns a hook for the first n requests of a method and path; the rest are sent.
func (x *wire) once(n int, method, path string, do func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)) {
	var mu sync.Mutex
	x.mu.Lock()
	defer x.mu.Unlock()
	x.hook = func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		mu.Lock()
		hit := n > 0 && r.Method == method && strings.HasSuffix(r.URL.Path, path)
		if hit {
			n--
		}
		mu.Unlock()
		if hit {
			return do(r, send)
		}
		return send()
	}
}

var uid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// generated are the names that the API server makes.
var generated = regexp.MustCompile(`-extended-resources-[a-z0-9]{5}\b`)

// tries is how often both sides try a binding that fails in a way that may pass (rule L9.2).
const tries = 4

// outcome is what a scenario has left: pods, the events about them, and the writes.
func (w *world) outcome(x *wire) []string {
	w.t.Helper()
	var out []string
	pods, err := w.api.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	for k := range pods.Items {
		p := &pods.Items[k]
		line := fmt.Sprintf("pod %s node=%s nominated=%s labels=%v", p.Name, p.Spec.NodeName, p.Status.NominatedNodeName, p.Labels)
		if x := p.Status.ExtendedResourceClaimStatus; x != nil {
			line += fmt.Sprintf(" extended=%s %v", x.ResourceClaimName, x.RequestMappings)
		}
		for _, c := range p.Status.Conditions {
			line += fmt.Sprintf(" %s=%s/%s/%s/%d", c.Type, c.Status, c.Reason, c.Message, c.ObservedGeneration)
		}
		out = append(out, line)
	}
	events, err := w.api.EventsV1().Events("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, e := range events.Items {
		if _, ours := w.made.Load(e.Regarding.UID); !ours {
			continue // a late event of the scenario before
		}
		out = append(out, fmt.Sprintf("event %s %s %s %s %s: %s", e.Regarding.Name, e.Type, e.Reason, e.Action, e.ReportingController, e.Note))
	}
	x.mu.Lock()
	for write := range x.writes {
		out = append(out, "write "+write)
	}
	x.mu.Unlock()
	out = append(append(out, w.stored()...), w.groupLines()...)
	for k := range out {
		out[k] = generated.ReplaceAllString(uid.ReplaceAllString(out[k], "UID"), "-extended-resources-NAME")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// wipe removes what a scenario has left. Pods without a node go first: room that becomes free would let the scheduler bind a pod that is
// about to go, and say so in the next scenario. It returns when the schedulers that run know that all is gone.
func (w *world) wipe() {
	w.t.Helper()
	now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}
	pods, err := w.api.CoreV1().Pods("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	for k := range pods.Items {
		_, err := w.api.CoreV1().Pods("default").Patch(w.ctx, pods.Items[k].Name, types.MergePatchType, []byte(free), metav1.PatchOptions{})
		require.NoError(w.t, err)
	}
	require.NoError(w.t, w.api.CoreV1().Pods("default").DeleteCollection(w.ctx, now, metav1.ListOptions{FieldSelector: "spec.nodeName="}))
	require.NoError(w.t, w.api.CoreV1().Pods("default").DeleteCollection(w.ctx, now, metav1.ListOptions{}))
	w.wipeGroups()
	nodes, err := w.api.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	require.NoError(w.t, w.api.CoreV1().Nodes().DeleteCollection(w.ctx, now, metav1.ListOptions{}))
	require.NoError(w.t, w.api.EventsV1().Events("default").DeleteCollection(w.ctx, now, metav1.ListOptions{}))
	require.NoError(w.t, w.api.PolicyV1().PodDisruptionBudgets("default").DeleteCollection(w.ctx, now, metav1.ListOptions{}))
	w.wipeStorage(now)
	for k := range pods.Items {
		w.seen("the end of "+pods.Items[k].Name, func(v *view) bool { return v.forgot(&pods.Items[k]) })
	}
	for _, n := range nodes.Items {
		w.seen("the end of "+n.Name, func(v *view) bool { return v.node(n.Name) == nil })
	}
}
