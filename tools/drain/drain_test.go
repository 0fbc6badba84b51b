package drain

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/internal/schema"
	"github.com/podberth/podberth/tools/program"
)

const shipped = "testdata/cluster.yaml"

// all are the flags with which kubectl drain minds least.
var all = []string{"-force", "-ignore-daemonsets", "-delete-emptydir-data"}

func drain(stdin string, args ...string) (code int, stdout, stderr string) {
	return testkit.Program(Run, stdin, args)
}

// The output on the shipped cluster is asserted whole, as table and JSON.
func TestShippedCluster(t *testing.T) {
	type test struct {
		name string
		args []string
	}
	testkit.Run(t, []test{
		{"refused", []string{"node-a1"}},
		{"waves", append([]string{"node-a1", "gpu-a1"}, all...)},
		{"selected", append([]string{"node-a1", "-pod-selector", "app in (web, db)"}, all...)},
		{"deleted", append([]string{"node-a1", "-disable-eviction"}, all...)},
		{"evict-web", []string{"-evict", "shop/web-7c9-a"}},
		{"evict-db", []string{"-evict", "data/db-0"}},
		{"evict-payments", []string{"-evict", "shop/payments-7c9-a"}},
		{"evict-report", []string{"-evict", "batch/report-x2v"}},
		{"evict-nobody", []string{"-evict", "shop/nobody"}},
	}, func(t *testing.T, c test) {
		for form, ending := range map[string]string{"table": ".table", "json": ".json", "yaml": ".out.yaml"} {
			t.Run(form, func(t *testing.T) {
				args := append([]string{"-f", shipped, "-o", form}, c.args...)
				code, out, _ := drain("", args...)
				require.Equal(t, map[bool]int{true: program.No}[c.name == "refused"], code, "a drain that cannot begin is a no")
				testkit.Golden(t, filepath.Join("testdata", c.name+ending), out)
				_, again, _ := drain("", args...)
				require.Equal(t, out, again, "same input, same bytes")
			})
		}
	})
}

func planned(t *testing.T, stdin string, args ...string) (p plan) {
	t.Helper()
	code, out, errs := drain(stdin, append(args, "-o", "json")...)
	require.Zero(t, code, errs)
	require.NoError(t, json.Unmarshal([]byte(out), &p))
	return p
}

// Every wave of the printed plan is asked of the Eviction API's decision again, pod by pod, with the statuses that the
// disruption controller computes before it; no budget goes below zero.
func TestWavesAreAllowed(t *testing.T) {
	for _, nodes := range [][]string{{"node-a1"}, {"node-a1", "gpu-a1"}, {"node-b1", "node-c1"}, {"node-a1", "node-a2", "node-b1", "node-b2", "node-c1", "gpu-a1"}} {
		t.Run(strings.Join(nodes, " "), func(t *testing.T) {
			p := planned(t, "", append(append([]string{"-f", shipped}, all...), nodes...)...)
			now := time.Now()
			in, err := load(options{Common: program.Common{Files: []string{shipped}}, at: now}, nil)
			require.NoError(t, err)
			pods := map[string]*v1.Pod{}
			for _, x := range in.objects.Pods {
				pods[podinfo.Name(x)] = x
			}
			left := map[string]bool{}
			for _, w := range p.Waves {
				present := make([]*v1.Pod, 0, len(pods))
				for _, x := range pods {
					present = append(present, x)
				}
				booked := disruption.NewEvictions(in.budgets)
				booked.Sync(present, in.scale, now)
				for _, e := range w.Evictions {
					d := booked.Evict(pods[e.Pod], disruption.Request{}, now)
					require.True(t, d.Allowed(), "%s: %s", e.Pod, d.Cause)
					require.Contains(t, nodes, e.Node)
					require.NotContains(t, nodes, e.Replacement)
				}
				for _, b := range booked.Budgets() {
					require.GreaterOrEqual(t, b.Status.DisruptionsAllowed, int32(0))
				}
				for _, e := range w.Evictions {
					require.False(t, left[e.Pod], "leaves once")
					left[e.Pod] = true
					old := pods[e.Pod]
					delete(pods, e.Pod)
					if e.Replacement != "" {
						next := old.DeepCopy()
						next.Name, next.Spec.NodeName = old.Name+"-next", e.Replacement
						next.Status = v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}
						pods[podinfo.Name(next)] = next
					}
				}
			}
			for _, b := range p.Blocked {
				require.False(t, left[b.Pod])
				left[b.Pod] = true
			}
			for _, s := range p.Skipped {
				require.False(t, left[s.Pod])
				left[s.Pod] = true
			}
			for _, x := range in.objects.Pods {
				require.Equal(t, strings.Contains(" "+strings.Join(nodes, " ")+" ", " "+x.Spec.NodeName+" "), left[podinfo.Name(x)], "each pod of the nodes is accounted for: %s", podinfo.Name(x))
			}
		})
	}
}

func TestExitCodes(t *testing.T) {
	code, out, _ := drain("", append([]string{"-f", shipped, "-fail-blocked", "node-a1"}, all...)...)
	require.Equal(t, program.No, code)
	require.NotEmpty(t, out, "the plan is printed all the same")
	code, _, _ = drain("", append([]string{"-f", shipped, "-fail-blocked", "node-a2"}, all...)...)
	require.Zero(t, code, "nobody is there")
	code, _, _ = drain("", "-f", shipped, "-fail-blocked", "-evict", "data/db-0")
	require.Equal(t, program.No, code)
	code, _, _ = drain("", "-f", shipped, "-fail-blocked", "-evict", "shop/web-7c9-a")
	require.Zero(t, code)
	code, help, errs := drain("", "-h")
	require.Zero(t, code)
	require.Empty(t, errs)
	require.Contains(t, help, "Usage:\n  drain -f PATH")
	require.NotRegexp(t, `(?m)^  -\S+ (value|int|uint|string|float|duration)$|default -`, help, "flags have their own words and no internal defaults")
}

func TestWarnings(t *testing.T) {
	code, _, errs := drain("", append([]string{"-f", shipped, "node-a1"}, all...)...)
	require.Zero(t, code)
	require.Equal(t, `warning: node-a1: deleting Pods that declare no controller: shop/debug-shell
warning: node-a1: ignoring DaemonSet-managed Pods: kube-system/node-agent-a1
`, errs)
}

const (
	twoNodes = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: n2}\nstatus: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}\n---\n"
	readyPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, controller: true}]}\nspec: {nodeName: n1, containers: [{name: c}]}\nstatus: {phase: Running, conditions: [{type: Ready, status: 'True'}]}\n---\n"
	anyPDB   = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web, generation: 1}\nspec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}\n"
	replicas = "---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web}\nspec: {replicas: 2, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c}]}}}\n"
)

func podNamed(n string) string { return strings.Replace(readyPod, "NAME", n, 1) }

// A budget without a status gets a computed status. A budget with a status keeps its numbers when the dump lacks the
// controllers.
func TestBudgetStatus(t *testing.T) {
	pods := twoNodes + podNamed("a") + podNamed("b")
	p := planned(t, pods+anyPDB+replicas, "-f", "-", "n1")
	require.Len(t, p.Waves, 2, "one of two at a time")
	require.Equal(t, []string{"default/web"}, p.Waves[0].Evictions[0].Budgets)
	require.Equal(t, "n2", p.Waves[0].Evictions[0].Replacement)

	status := "status: {observedGeneration: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, disruptionsAllowed: 1}\n"
	code, out, errs := drain(pods+anyPDB+status, "-f", "-", "-o", "json", "n1")
	require.Zero(t, code)
	require.Contains(t, errs, `PodDisruptionBudget default/web: how many pods it expects is taken from its status: found no controllers for pod "a"`)
	require.NoError(t, json.Unmarshal([]byte(out), &p))
	require.Len(t, p.Waves, 2)

	code, out, errs = drain(pods+strings.Replace(anyPDB, ", generation: 1", "", 1), "-f", "-", "n1")
	require.Zero(t, code)
	require.Contains(t, errs, "how many pods it expects is not known")
	require.Contains(t, out, "does not allow evicting pods currently because it failed sync: found no controllers for pod")

	stale := strings.Replace(status, "observedGeneration: 1", "observedGeneration: 0", 1)
	_, out, _ = drain(pods+anyPDB+stale+replicas, "-f", "-", "-evict", "default/a")
	require.Contains(t, out, "Retry:    after 10s", "the answer goes by the status as it stands")
	require.Contains(t, out, "is still being processed by the server")
}

// The waves and -evict take the numbers of a budget from the pods of the input. Where the status in the input differs, a
// warning says so and why.
func TestOneSourceForBudgets(t *testing.T) {
	unready := strings.Replace(podNamed("b"), "'True'", "'False'", 1)
	status := "status: {observedGeneration: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, disruptionsAllowed: 1}\n"
	input := twoNodes + podNamed("a") + unready + anyPDB + status + replicas
	const said = "its status says 2 of 2 pods healthy, 1 needed, 1 may leave, and the pods of the input give 1 of 2 pods healthy, 1 needed, 0 may leave; " +
		"the pods count, because the disruption controller counts them again"
	code, out, errs := drain(input, "-f", "-", "-evict", "default/a")
	require.Zero(t, code)
	require.Contains(t, out, "The disruption budget web needs 1 healthy pods and has 1 currently")
	require.Equal(t, "warning: PodDisruptionBudget default/web: "+said+"\n", errs)
	code, out, errs = drain(input, "-f", "-", "-o", "json", "n1")
	require.Zero(t, code)
	require.Equal(t, "warning: PodDisruptionBudget default/web: "+said+"\n", errs)
	var p plan
	require.NoError(t, json.Unmarshal([]byte(out), &p))
	require.Equal(t, []budget{{"default/web", "default", "web", 2, 1, 1, 0, []string{said}}}, p.Budgets)
	require.Equal(t, "default/a", p.Waves[1].Evictions[0].Pod, "the pod that is not ready leaves first, and its replacement is ready")

	same := strings.NewReplacer("currentHealthy: 2", "currentHealthy: 1", "disruptionsAllowed: 1", "disruptionsAllowed: 0").Replace(status)
	_, _, errs = drain(twoNodes+podNamed("a")+unready+anyPDB+same+replicas, "-f", "-", "n1")
	require.Empty(t, errs)

	_, out, errs = drain(twoNodes+podNamed("a")+unready+anyPDB+status, "-f", "-", "-evict", "default/a")
	require.Contains(t, out, "The disruption budget web needs 1 healthy pods and has 1 currently", "healthy pods are counted without controllers, too")
	require.Contains(t, errs, "how many pods it expects is taken from its status")
	require.Contains(t, errs, said)
}

func TestBudgetWithoutPodsIsNamed(t *testing.T) {
	_, out, errs := drain(twoNodes+podNamed("a")+strings.Replace(anyPDB, "app: web", "app: wbe", 1)+replicas, "-f", "-", "-o", "json", "n1")
	require.Equal(t, "warning: PodDisruptionBudget default/web: matches no pod of the input\n", errs)
	require.Contains(t, out, `"matches no pod of the input"`)
}

// A drain that cannot begin ends with exit code 1 and kubectl's lines on standard error.
func TestDrainThatCannotBegin(t *testing.T) {
	code, out, errs := drain("", "-f", shipped, "-ignore-daemonsets=false", "node-a1")
	require.Equal(t, program.No, code)
	require.NotContains(t, out, "error")
	require.Equal(t, `error: node-a1: cannot delete Pods with local storage (use --delete-emptydir-data to override): shop/search-7c9-a
error: node-a1: cannot delete Pods that declare no controller (use --force to override): shop/debug-shell
error: node-a1: cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): kube-system/node-agent-a1
`, errs)
	code, _, _ = drain("", append([]string{"-f", shipped, "node-a1"}, all...)...)
	require.Zero(t, code, "the drain begins; -fail-blocked asks for blocked pods")
}

// Nodes are given as NAME, as node/NAME, or by their labels.
func TestNodesOfACommandLine(t *testing.T) {
	want := planned(t, "", append([]string{"-f", shipped, "gpu-a1", "node-a1", "node-a2"}, all...)...)
	require.Equal(t, want, planned(t, "", append([]string{"-f", shipped, "-l", "topology.kubernetes.io/zone=a"}, all...)...))
	require.Equal(t, want, planned(t, "", append([]string{"-f", shipped, "node/gpu-a1", "nodes/node-a1", "node-a2"}, all...)...))
	require.Equal(t, []string{"gpu-a1", "node-a1", "node-a2"}, want.Nodes)
	testkit.Run(t, []struct {
		name, want string
		args       []string
	}{
		{"unknown labels", `-l: Not found: "zone=x": no node of the input has these labels`, []string{"-l", "zone=x"}},
		{"labels and a name", `unexpected argument "node-a1": -l chooses the nodes`, []string{"-l", "zone=x", "node/node-a1"}},
		{"labels and a pod", "-l: Forbidden: -evict is about one pod, not about nodes", []string{"-l", "zone=x", "-evict", "a"}},
		{"no selector", `invalid value "a in" for flag -l`, []string{"-l", "a in"}},
		{"a wrong name", `NODE: Not found: "node-a9": no such node in the input; near: node-a1, node-a2`, []string{"node-a9"}},
	}, func(t *testing.T, c struct {
		name, want string
		args       []string
	}) {
		code, out, errs := drain("", append([]string{"-f", shipped}, c.args...)...)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
	})
}

// Waiting can help while more pods of the budget can be healthy than it needs.
func TestWaitingHelpsOnlyWhenItCan(t *testing.T) {
	full := strings.Replace(twoNodes, "cpu: '4', memory: 8Gi, pods: '10'}}\n---\n", "cpu: '4', memory: 8Gi, pods: '0'}}\n---\n", -1)
	unready := strings.Replace(podNamed("b"), "'True'", "'False'", 1)
	elsewhere := strings.Replace(unready, "nodeName: n1", "nodeName: n2", 1)
	again := strings.Replace(elsewhere, "phase: Running", "phase: Failed", 1)
	ended := strings.Replace(again, "controller: true", "controller: false", 1)
	pending := strings.Replace(strings.Replace(unready, "nodeName: n1, ", "", 1), "phase: Running", "phase: Pending", 1)
	min := strings.Replace(anyPDB, "maxUnavailable", "minAvailable", 1)
	type test struct {
		name, input string
		helps       bool
		remedy      string
	}
	testkit.Run(t, []test{
		{"a pod that is not ready", twoNodes + podNamed("a") + elsewhere + anyPDB + replicas, true, "wait until more pods are ready"},
		{"a pod that the controller will make", twoNodes + podNamed("a") + anyPDB + replicas, true, "wait until more pods are ready"},
		{"an ended pod that the controller makes again", twoNodes + podNamed("a") + again + min, true, "wait until more pods are ready"},
		{"a pod that has ended", twoNodes + podNamed("a") + ended + min, false, "add pods: the budget needs 1 healthy pods, and 1 can be healthy"},
		{"a pending pod that finds a node", twoNodes + podNamed("a") + pending + min, true, "wait until more pods are ready"},
		{"a pending pod that finds no node", full + podNamed("a") + pending + min, false, "make room or add a node: no node takes 1 more pod of the budget"},
	}, func(t *testing.T, c test) {
		p := planned(t, c.input, "-f", "-", "n1")
		require.Len(t, p.Blocked, 1)
		require.Equal(t, c.helps, p.Blocked[0].WaitingHelps)
		require.Equal(t, c.remedy, p.Blocked[0].Remedy)
		_, out, _ := drain(c.input, "-f", "-", "-evict", "default/a", "-o", "json")
		var a answered
		require.NoError(t, json.Unmarshal([]byte(out), &a))
		require.Equal(t, map[bool]string{true: "not now", false: "never"}[c.helps], a.Outlook)
		require.Equal(t, c.remedy, a.Remedies[0])
	})
	p := planned(t, "", append([]string{"-f", shipped, "gpu-a1"}, all...)...)
	require.Equal(t, "ml/serving-7c9-b", p.Blocked[0].Pod)
	require.False(t, p.Blocked[0].WaitingHelps, "the replacement of the pod before it finds no node")
}

// -n prints the pods of a namespace, and is the namespace of pods named without one. -no-headers leaves out summary and headers.
func TestNamespaceAndHeaders(t *testing.T) {
	p := planned(t, "", append([]string{"-f", shipped, "node-a1", "-n", "data"}, all...)...)
	require.Equal(t, "data/db-0", p.Blocked[0].Pod)
	require.Len(t, p.Blocked, 1)
	require.Len(t, p.Budgets, 1)
	require.Empty(t, p.Waves[0].Evictions)
	_, out, _ := drain("", append([]string{"-f", shipped, "node-a1", "-no-headers"}, all...)...)
	require.True(t, strings.HasPrefix(out, "Blocked\ndata/db-0 on node-a1"), out)
	require.Contains(t, out, "Wave 1\nnode-a1   batch/report-done")
	require.NotContains(t, out, "NODE ")
	_, out, _ = drain("", "-f", shipped, "-evict", "db-0", "-n", "data")
	require.Contains(t, out, "Pod:      data/db-0")
	code, _, errs := drain("", "-f", shipped, "node-a1", "-no-headers", "-o", "json")
	require.Equal(t, program.BadInput, code)
	require.Equal(t, "drain: -no-headers: Invalid value: true: goes with tables\n", errs)
}

// The outputs have the form of the schemas, and the schemas that of the types.
func TestSchema(t *testing.T) {
	var outs []string
	for _, args := range [][]string{append([]string{"node-a1", "gpu-a1"}, all...), append([]string{"node-a1", "gpu-a1", "-steps", "1"}, all...), {"-evict", "shop/nobody"}} {
		_, out, _ := drain("", append([]string{"-f", shipped, "-o", "json"}, args...)...)
		outs = append(outs, out)
	}
	const group = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, pods: 10}}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: NAME}, spec: {schedulingPolicy: {gang: {minCount: 1}}, disruptionMode: {all: {}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: NAME, labels: {app: NAME}}, spec: {nodeName: n1, schedulingGroup: {podGroupName: NAME}, containers: [{name: c}]}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: mate-of-NAME}, spec: {nodeName: n1, schedulingGroup: {podGroupName: NAME}, containers: [{name: c}]}, status: {phase: Running}}
---
`
	const budget = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: held}, spec: {minAvailable: 1, selector: {matchLabels: {app: held}}}}\n"
	_, out, _ := drain(strings.ReplaceAll(group, "NAME", "free")+strings.ReplaceAll(group, "NAME", "held")+budget, "-f", "-", "-o", "json", "n1", "-force")
	_, evicted, _ := drain(strings.ReplaceAll(group, "NAME", "held")+budget, "-f", "-", "-o", "json", "-evict", "default/held")
	outs = append(outs, out, evicted)
	schema.Check(t, testkit.Golden, map[string]any{"DrainPlan": plan{}, "EvictionAnswer": answered{}}, outs, map[string]string{"Cause": "package place prints every field of it"})
}

// The selector {} selects no pod in policy/v1beta1 and every pod in policy/v1.
func TestOldBudgets(t *testing.T) {
	everybody := strings.Replace(anyPDB, "{matchLabels: {app: web}}", "{}", 1)
	_, out, _ := drain(twoNodes+podNamed("a")+everybody+replicas, "-f", "-", "-evict", "default/a")
	require.Contains(t, out, "Budget:   default/web\n")
	_, out, _ = drain(twoNodes+podNamed("a")+strings.Replace(everybody, "policy/v1", "policy/v1beta1", 1)+replicas, "-f", "-", "-evict", "default/a")
	require.Contains(t, out, "Budget:   -\n")
}

// An Eviction object of the input is the request.
func TestEvictionObject(t *testing.T) {
	request := "---\napiVersion: policy/v1\nkind: Eviction\nmetadata: {name: a}\ndeleteOptions: {gracePeriodSeconds: 5, preconditions: {uid: other}}\n"
	_, out, _ := drain(twoNodes+podNamed("a")+podNamed("b")+anyPDB+replicas+request, "-f", "-", "-evict", "default/a")
	require.Contains(t, out, "409 Conflict")
	_, out, _ = drain(twoNodes+podNamed("a")+podNamed("b")+anyPDB+replicas+strings.Replace(request, ", preconditions: {uid: other}", "", 1), "-f", "-", "-evict", "default/a", "-o", "json")
	require.Contains(t, out, `"gracePeriodSeconds": 5`)
}

// -expand makes the pods that are missing; they are pending and cost the budget.
func TestExpand(t *testing.T) {
	_, out, _ := drain(twoNodes+podNamed("a")+anyPDB+replicas, "-f", "-", "-expand", "-evict", "default/a")
	require.Contains(t, out, "needs 1 healthy pods and has 1 currently")
	_, out, _ = drain(twoNodes+podNamed("a")+anyPDB+replicas, "-f", "-", "-expand", "-evict", "default/web-1")
	require.Contains(t, out, "the pod is Pending")
}

// Bad input: one line on standard error, nothing on standard output, exit 2.
func TestBadInput(t *testing.T) {
	type test struct {
		name, input, want string
		args              []string
	}
	testkit.Run(t, []test{
		{"unknown node", twoNodes, `NODE: Not found: "n9": no such node in the input`, []string{"n9"}},
		{"a node twice", twoNodes, `NODE: Duplicate value: "n1"`, []string{"n1", "n1"}},
		{"no node", twoNodes, "NODE: Required value: at least one node", nil},
		{"both numbers", twoNodes + strings.Replace(anyPDB, "maxUnavailable: 1", "maxUnavailable: 1, minAvailable: 1", 1), "PodDisruptionBudget default/web: spec: Invalid value", []string{"n1"}},
		{"more than all", twoNodes + strings.Replace(anyPDB, "maxUnavailable: 1", "maxUnavailable: 101%", 1), `PodDisruptionBudget default/web: spec.maxUnavailable: Invalid value: "101%"`, []string{"n1"}},
		{"a negative budget", twoNodes + strings.Replace(anyPDB, "maxUnavailable: 1", "maxUnavailable: -1", 1), `PodDisruptionBudget default/web: spec.maxUnavailable: Invalid value: -1`, []string{"n1"}},
		{"an unknown field type", twoNodes + strings.Replace(anyPDB, "matchLabels: {app: web}", "matchLabels: web", 1), `spec.selector.matchLabels: Invalid value: "web": must be an object`, []string{"n1"}},
		{"a pod elsewhere, strict", twoNodes + strings.Replace(podNamed("a"), "n1", "n7", 1), `pod default/a: spec.nodeName: Invalid value: "n7": no such node in the input`, []string{"-strict", "n1"}},
		{"a misspelt field, strict", twoNodes + strings.Replace(podNamed("a"), "containers: [", "nodeSelectorr: {a: b}, containers: [", 1), `unknown field "spec.nodeSelectorr"`, []string{"-strict", "n1"}},
		{"unknown output", twoNodes, `-o: Unsupported value: "xml"`, []string{"-o", "xml", "n1"}},
		{"evicting and draining", twoNodes, `unexpected argument "n1": -evict is about one pod`, []string{"-evict", "default/a", "n1"}},
		{"no name", twoNodes, `-evict: Invalid value: "a/": must be NAMESPACE/NAME`, []string{"-evict", "a/"}},
		{"a bad selector", twoNodes, `-pod-selector: Invalid value: "app in": `, []string{"-pod-selector", "app in", "n1"}},
		{"a negative wait", twoNodes, "-skip-wait-for-delete-timeout: Invalid value: -1", []string{"-skip-wait-for-delete-timeout", "-1", "n1"}},
		{"a time that is none", twoNodes, `-at: Invalid value: "noon"`, []string{"-at", "noon", "n1"}},
	}, func(t *testing.T, c test) {
		code, out, errs := drain(c.input, append([]string{"-f", "-"}, c.args...)...)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
		require.Equal(t, 1, strings.Count(errs, "\n"), "one line: %q", errs)
	})
	code, _, errs := drain("")
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, "-f: Required value")
}

// The replacement of a pod gets devices on another node, through a claim from the template of the old claim. The last user of a
// shared claim takes the claim along.
func TestDevicesMove(t *testing.T) {
	const objects = `
{apiVersion: v1, kind: Node, metadata: {name: a, labels: {kubernetes.io/hostname: a}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b, labels: {kubernetes.io/hostname: b}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: a}, spec: {driver: gpu.example.com, nodeName: a, pool: {name: a, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0}, {name: gpu-1}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: b}, spec: {driver: gpu.example.com, nodeName: b, pool: {name: b, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0}BDEVICES]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {namespace: ml, name: one}, spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}}}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {namespace: ml, name: train-gpu-x1, uid: c1, ownerReferences: [{apiVersion: v1, kind: Pod, name: train, uid: p1, controller: true}]}, spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}},
  status: {allocation: {devices: {results: [{request: gpu, driver: gpu.example.com, pool: a, device: gpu-0}]}, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [a]}]}]}}, reservedFor: [{resource: pods, name: train, uid: p1}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {namespace: ml, name: shared, uid: c2}, spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}},
  status: {allocation: {devices: {results: [{request: gpu, driver: gpu.example.com, pool: a, device: gpu-1}]}, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [a]}]}]}}, reservedFor: [{resource: pods, name: serve, uid: p2}]}}
---
{apiVersion: v1, kind: Pod, metadata: {namespace: ml, name: train, uid: p1, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: train, uid: r1, controller: true}]}, spec: {nodeName: a, priority: 0, containers: [{name: c, image: c}], resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]}, status: {phase: Running, resourceClaimStatuses: [{name: gpu, resourceClaimName: train-gpu-x1}]}}
---
{apiVersion: v1, kind: Pod, metadata: {namespace: ml, name: serve, uid: p2, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: serve, uid: r2, controller: true}]}, spec: {nodeName: a, priority: 0, containers: [{name: c, image: c}], resourceClaims: [{name: gpu, resourceClaimName: shared}]}, status: {phase: Running}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: ml, name: train, uid: r1}, spec: {replicas: 1, selector: {}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: ml, name: serve, uid: r2}, spec: {replicas: 1, selector: {}}}
`
	replaced := func(more string) map[string]string {
		out := map[string]string{}
		for _, w := range planned(t, strings.Replace(objects, "BDEVICES", more, 1), "-f", "-", "a").Waves {
			for _, e := range w.Evictions {
				out[e.Pod] = e.Replacement
			}
		}
		return out
	}
	require.Equal(t, map[string]string{"ml/train": "b", "ml/serve": "b"}, replaced(", {name: gpu-1}"))
	one := replaced("")
	require.Len(t, one, 2)
	require.True(t, (one["ml/train"] == "b") != (one["ml/serve"] == "b"), "one device is left: %v", one)
}
