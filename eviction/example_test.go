package eviction_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/eviction/taint"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// podsOfN3 returns the pods of node n3. web uses far more than its request and tolerates NoExecute taints for 300 seconds.
// db is important and stays within its request. gpu tolerates every taint without limit.
func podsOfN3() (web, db, gpu *v1.Pod) {
	pod := func(name, memory string, priority int32, tolerations ...v1.Toleration) *v1.Pod {
		return &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{"app": name}},
			Spec: v1.PodSpec{NodeName: "n3", Priority: &priority, Tolerations: tolerations, Containers: []v1.Container{{
				Name: "main", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceMemory: resource.MustParse(memory)}},
			}}},
			Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}},
		}
	}
	seconds := int64(300)
	web = pod("web", "1Gi", 0, v1.Toleration{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
	return web, pod("db", "4Gi", 1000), pod("gpu", "1Gi", 0, v1.Toleration{Operator: v1.TolerationOpExists})
}

// The same three pods are evicted by the kubelet, by a client of the Eviction API, and by a taint.
func Example() {
	web, db, gpu := podsOfN3()
	pods := []*v1.Pod{web, db, gpu}

	// The kubelet: memory is short, and web exceeds its request by the largest amount. The kubelet asks no budget.
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

	// The Eviction API: the budgets decide. The budget of db needs every pod.
	budgets := []*policyv1.PodDisruptionBudget{demandsOne("db")}
	for i := range budgets {
		budgets[i].Status = disruption.Sync(budgets[i], pods, nil, now).Status
	}
	for _, p := range pods {
		d := disruption.Decide(p, budgets, disruption.Request{}, now)
		fmt.Printf("disruption: %s %d, %v %q\n", p.Name, d.Code, d.Outlook(), d.Cause)
	}

	// A NoExecute taint: db does not tolerate it, web tolerates it for five minutes, gpu tolerates it without limit. Nobody
	// asks a budget.
	timers := taint.NewTimers(taint.Options{})
	for _, p := range pods {
		timers.SetPod(p, now)
	}
	unreachable := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n3"}, Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}}}}
	for _, a := range timers.SetNode(unreachable, now) {
		fmt.Println("taint:", a.Pod.Name, a.What)
	}
	due, _ := timers.Next()
	for _, a := range timers.Advance(due) {
		fmt.Println("taint:", a.Pod.Name, a.What, "after", due.Sub(now))
	}
	// Output:
	// pressure: web in 1 s
	// disruption: web 201, now ""
	// disruption: db 429, never "The disruption budget db needs 1 healthy pods and has 1 currently"
	// disruption: gpu 201, now ""
	// taint: db evicted
	// taint: web started
	// taint: web evicted after 5m0s
}

func memory(bytes uint64) pressure.PodStats { return pressure.PodStats{WorkingSetBytes: &bytes} }

// demandsOne returns a budget that wants one pod of an app.
func demandsOne(app string) *policyv1.PodDisruptionBudget {
	one := intstr.FromInt32(1)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
	}
}
