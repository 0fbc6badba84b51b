package apiserver_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/diagnose"
)

// TestAdviceOfRefusedPodsIsAccepted makes the edits of all printed remedies of pods that a quota, a LimitRange or a missing class refuses. In a namespace
// with that quota or LimitRange the server refuses the first pod as it is, and takes all of the owner's new pods with the remedy.
func TestAdviceOfRefusedPodsIsAccepted(t *testing.T) {
	e := &editor{t: t, server: start(t), kinds: map[string]int{}}
	e.server.make(t, "/apis/scheduling.k8s.io/v1/priorityclasses", &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100})
	e.server.make(t, "/apis/node.k8s.io/v1/runtimeclasses", &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}, Handler: "runsc"})
	n, refusals, taken := gen.Count(300, 10), 0, 0
	for seed := *gen.Seed; seed < *gen.Seed+int64(n); seed++ {
		c := gen.Of(seed, gen.Shape{Nodes: 6, Running: 12, Pending: 3, Roomy: seed%2 == 0})
		kind := gen.Team(c, seed)
		for _, p := range append(slices.Clone(c.Pending), c.Pods...) {
			admissible(p)
			p.Status.NominatedNodeName = ""
		}
		refused := gen.Refuse(c, seed)
		if refused == nil {
			continue
		}
		s, err := cluster.New(c.Objects)
		require.NoError(t, err)
		_, remedies, err := diagnose.Refused(diagnose.Input{Snapshot: s, Pending: c.Pending, RuntimeClasses: refused.Cluster.RuntimeClasses,
			Accept: refused.Accept}, refused.Pods[0], refused.Text, refused.Pods[1:]...)
		require.NoError(t, err)
		refusals++
		for _, r := range remedies {
			e.story = fmt.Sprintf("seed %d: %s: %s", seed, refused.Text, r.Text)
			if r.Changes[0].Kind != diagnose.RaiseBudget { // new makes those
				e.change(s, refused.Pods[0], kind, r.Changes...)
			}
			if r.Changes[0].Kind != diagnose.Scale {
				taken += e.new(s, refused, r)
			}
		}
	}
	t.Logf("%d clusters, %d refusals, %d edits accepted, %d not kept, %d not edits; the server took %d pods; %v", n, refusals, e.accepted, e.unkept, e.outside, taken, e.kinds)
	require.Greater(t, e.accepted, n/6)
	require.Greater(t, taken, n/6)
}

// new makes the new pods of a remedy in a namespace that has the quota or the LimitRange, and returns how many the server takes.
func (e *editor) new(s *cluster.Snapshot, refused *gen.Refusal, r diagnose.Remedy) (taken int) {
	e.made++
	in := "n" + strconv.Itoa(e.made)
	e.server.make(e.t, "/api/v1/namespaces", &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: in}})
	core := "/api/v1/namespaces/" + in + "/"
	if q := refused.Quota; q != nil {
		used, hard := refused.Used(), q.Spec.Hard.DeepCopy()
		made := &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: v1.ResourceQuotaSpec{Hard: hard}}
		e.server.make(e.t, core+"resourcequotas", made)
		require.NoError(e.t, e.server.get(core+"resourcequotas/team", made))
		made.Status = v1.ResourceQuotaStatus{Hard: hard, Used: used}
		status, err := e.server.send(http.MethodPut, core+"resourcequotas/team/status", made, false)
		require.NoError(e.t, err)
		require.Empty(e.t, status.Message, e.story)
	}
	for _, l := range refused.Cluster.LimitRanges {
		l = l.DeepCopy()
		l.Namespace = in
		e.server.make(e.t, core+"limitranges", l)
	}
	as := func(p *v1.Pod) *v1.Pod {
		out := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: p.Name, Labels: p.Labels}, Spec: *p.Spec.DeepCopy()}
		out.Spec.Priority, out.Spec.PreemptionPolicy = nil, nil
		return out
	}
	says := func(p *v1.Pod, text string) {
		require.Eventually(e.t, func() bool { // the server has seen the quota or the LimitRange
			status, err := e.server.try(http.MethodPost, core+"pods", as(p))
			require.NoError(e.t, err)
			return status.Message == text
		}, time.Minute, time.Millisecond, "%s: the server does not say %q", e.story, text)
	}
	says(refused.Pods[0], refused.Text)
	changes := slices.DeleteFunc(slices.Clone(r.Changes), func(x diagnose.Change) bool { return x.Kind == diagnose.RaiseBudget })
	if len(changes) < len(r.Changes) {
		e.raise(core, r)
		says(refused.Pods[0], "")
	}
	for _, p := range refused.Pods {
		p, err := diagnose.Apply(s.Fork(), p, changes...)
		require.NoError(e.t, err)
		status, err := e.server.send(http.MethodPost, core+"pods", as(p), false)
		require.NoError(e.t, err)
		if status.Message != "" {
			e.t.Errorf("%s: %s", e.story, status.Message)
			return taken
		}
		taken++
	}
	return taken
}

// raise makes the edits of the quota.
func (e *editor) raise(core string, r diagnose.Remedy) {
	stored := &v1.ResourceQuota{}
	require.NoError(e.t, e.server.get(core+"resourcequotas/team", stored))
	for _, x := range r.Changes {
		e.kinds[string(x.Kind)]++
		stored.Spec.Hard[v1.ResourceName(strings.TrimSuffix(strings.TrimPrefix(x.Path, "spec.hard["), "]"))] = resource.MustParse(x.To)
	}
	status, err := e.server.send(http.MethodPut, core+"resourcequotas/team", stored, false)
	require.NoError(e.t, err)
	e.answer(status)
	require.NoError(e.t, e.server.get(core+"resourcequotas/team", stored))
	stored.Status.Hard = stored.Spec.Hard // as its controller does
	status, err = e.server.send(http.MethodPut, core+"resourcequotas/team/status", stored, false)
	require.NoError(e.t, err)
	require.Empty(e.t, status.Message, e.story)
}
