package eviction_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/internal/testkit"
)

var now = testkit.Epoch

// podsOfB1 are the pods of node b1 in the three-zone cluster of all examples: web is far above its request, db is
// important and within its own, gpu tolerates whatever happens to its node.
func podsOfB1() (web, db, gpu *v1.Pod) {
	ready := func(p *v1.Pod) *v1.Pod {
		p.Status = v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}
		return p
	}
	web = testkit.Pod("web-0").Labels("app=web").Request("memory=1Gi").On("b1").Obj()
	web = admission.WithDefaultSeconds(web, admission.DefaultSeconds{}) // 300 seconds, as admission adds them
	db = testkit.Pod("db-0").Labels("app=db").Priority(1000).Request("memory=4Gi").On("b1").Obj()
	gpu = testkit.Pod("gpu-0").Labels("app=gpu").Request("memory=1Gi").On("b1").Obj()
	gpu.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	return ready(web), ready(db), ready(gpu)
}

// The same three pods, evicted by the kubelet, by a client of the Eviction API, and by a taint.
func Example() {
	web, db, gpu := podsOfB1()
	pods := []*v1.Pod{web, db, gpu}

	// The kubelet: memory is short, and web uses most above its request. No budget is asked.
	policy, err := pressure.Compile(pressure.Default(pressure.Config{}, "linux"), pressure.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, decision := policy.Observe(pressure.State{}, pressure.Observation{
		Signals: map[pressure.Signal]pressure.Measurement{"memory.available": {Available: 80 << 20, Capacity: 8 << 30, Time: now}},
		Layout:  "single", Pods: pods,
		Stats: map[types.UID]pressure.PodStats{web.UID: memory(3 << 30), db.UID: memory(3 << 30), gpu.UID: memory(1 << 30)},
	}, now)
	fmt.Println("pressure:", decision.Eviction.Pod.Name, "in", decision.Eviction.GraceSeconds, "s")

	// The Eviction API: the budgets decide, and db's wants every pod.
	budgets := []*policyv1.PodDisruptionBudget{demandsOne("db")}
	for i := range budgets {
		budgets[i].Status = disruption.Sync(budgets[i], pods, nil, now).Status
	}
	for _, p := range pods {
		d := disruption.Decide(p, budgets, disruption.Request{}, now)
		fmt.Printf("disruption: %s %d, %v %q\n", p.Name, d.Code, d.Outlook(), d.Cause)
	}

	// A NoExecute taint: db does not tolerate it, web does for a while, gpu for ever. No budget is asked.
	timers := taint.NewTimers(taint.Options{})
	for _, p := range pods {
		timers.SetPod(p, now)
	}
	for _, a := range timers.SetNode(testkit.Node("b1").Taint(v1.TaintNodeUnreachable+":NoExecute").Obj(), now) {
		fmt.Println("taint:", a.Pod.Name, a.Kind)
	}
	due, _ := timers.Next()
	for _, a := range timers.Advance(due) {
		fmt.Println("taint:", a.Pod.Name, a.Kind, "after", due.Sub(now))
	}
	// Output:
	// pressure: web-0 in 1 s
	// disruption: web-0 201, now ""
	// disruption: db-0 429, never "The disruption budget db needs 1 healthy pods and has 1 currently"
	// disruption: gpu-0 201, now ""
	// taint: db-0 Deleted
	// taint: web-0 Started
	// taint: web-0 Deleted after 5m0s
}

func memory(bytes uint64) pressure.PodStats { return pressure.PodStats{WorkingSetBytes: &bytes} }

// demandsOne is a budget that wants one pod of an app.
func demandsOne(app string) *policyv1.PodDisruptionBudget {
	one := intstr.FromInt32(1)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
	}
}
