package lint

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/place"
)

var agreements = flag.Int("agreements", 250, "random manifests of TestAgreement")

// lint finds an error about a workload exactly where place -expand -admit, with this workload alone on the cluster, leaves a pod without
// a node or refuses one. Rules about later events are left out. A Job has an error when no pod of it gets a node.
func TestAgreement(t *testing.T) {
	both := map[bool]int{}
	for seed := range uint64(*agreements) {
		g := &drawing{rand.New(rand.NewPCG(seed, 58))}
		kind, text := g.manifest()
		cluster := g.cluster()
		_, out, errs := linting(cluster+"\n---\n"+text, "-f", "-", "-o", "json")
		var found lintReport
		require.NoError(t, json.Unmarshal([]byte(out), &found), "%d: %s\n%s", seed, errs, text)
		var rules []string
		for _, f := range found.Findings {
			if f.Severity == "error" && !strings.HasPrefix(f.Rule, "rollout-") && !strings.HasPrefix(f.Rule, "budget-") && strings.HasPrefix(f.Object, kind+" ") {
				rules = append(rules, f.Rule+": "+f.Explanation)
			}
		}
		stays, placed, answer := placing(t, cluster, text)
		if stays+placed == 0 { // the object is refused although it asks for no pods
			rules = slices.DeleteFunc(rules, func(r string) bool { return strings.HasPrefix(r, "api-refuses") })
		}
		want := stays > 0
		if kind == "Job" || kind == "CronJob" {
			want = stays > 0 && placed == 0
		}
		require.Equal(t, want, len(rules) > 0, "%d: %d stay, %d have nodes, lint says %q\n%s\n%s\n%s", seed, stays, placed, rules, cluster, text, answer)
		both[want]++
	}
	require.Greater(t, both[true], *agreements/5, "workloads with an error")
	require.Greater(t, both[false], *agreements/5, "workloads without")
}

// placing returns how many pods of the manifest stay, and how many get nodes. The pods of a StatefulSet are made together, as each
// comes when the one before runs.
func placing(t *testing.T, cluster, text string) (stays, placed int, out string) {
	text = strings.Replace(text, "podManagementPolicy: OrderedReady", "podManagementPolicy: Parallel", 1)
	_, out, errs := testkit.Program(place.Run, cluster+"\n---\n"+text, []string{"-f", "-", "-expand", "-admit", "-o", "json"})
	var a struct {
		Pods []struct{ Name, Outcome, Node, PreemptedBy string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &a), errs)
	for _, p := range a.Pods {
		if p.Outcome == "Scheduled" {
			placed++
		} else if p.Outcome != "Preempted" {
			stays++
		}
	}
	return stays, placed, out
}

// drawing draws clusters and manifests.
type drawing struct{ *rand.Rand }

func (g *drawing) one(list ...string) string { return list[g.IntN(len(list))] }

func (g *drawing) in(n int) bool { return g.IntN(n) == 0 }

// cluster draws two to five nodes, what runs on them, and what decides about new pods.
func (g *drawing) cluster() string {
	var docs []string
	add := func(format string, args ...any) { docs = append(docs, fmt.Sprintf(format, args...)) }
	for i := range 2 + g.IntN(4) {
		taints, zone := "", fmt.Sprintf(", topology.kubernetes.io/zone: %s", g.one("a", "b", "c"))
		if g.in(4) {
			taints = "taints: [{key: gpu, value: 'yes', effect: NoSchedule}]"
		}
		if g.in(8) {
			taints = "unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]"
		}
		if g.in(8) {
			zone = ""
		}
		add("{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {kubernetes.io/hostname: n%d, pool: %s%s}}, spec: {%s}, status: {allocatable: {cpu: '%d', memory: %dGi, pods: '%d'%s}}}",
			i, i, g.one("a", "b"), zone, taints, 2+g.IntN(6), 4+g.IntN(8), 4+g.IntN(9), g.one("", "", ", example.com/gpu: '2'"))
	}
	for i := range g.IntN(4) {
		add("{apiVersion: v1, kind: Pod, metadata: {name: r%d, namespace: default, labels: {app: %s}}, spec: {nodeName: n%d, priority: %s, containers: [{name: c, resources: {requests: {cpu: %s}}}]}, status: {phase: Running}}",
			i, g.one("w", "db"), g.IntN(2), g.one("0", "0", "-5"), g.one("500m", "1", "2"))
	}
	add("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 100%s}", g.one("", ", preemptionPolicy: Never"))
	add("{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, handler: kata, overhead: {podFixed: {cpu: %s}}}", g.one("250m", "1", "3"))
	add("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: std, annotations: {storageclass.kubernetes.io/is-default-class: '%s'}}, provisioner: x.example.com, volumeBindingMode: %s}",
		g.one("true", "false"), g.one("WaitForFirstConsumer", "WaitForFirstConsumer", "Immediate"))
	add("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: default}, spec: {accessModes: [%s], resources: {requests: {storage: 1Gi}}}}", g.one("ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany"))
	add("{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {selectors: [{cel: {expression: \"device.driver == 'gpu'\"}}]}}")
	add("{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: gpu, nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, devices: [{name: d0}, {name: d1}]}}")
	add("{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: gpus, namespace: default}, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}}")
	if g.in(5) {
		add("{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: default}, spec: {limits: [{type: Container, default: {cpu: %s}, defaultRequest: {cpu: %s}, max: {cpu: '3'}}]}}", g.one("1", "2"), g.one("500m", "1"))
	}
	if g.in(5) {
		add("{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: default}, spec: {hard: {%s}}}", g.one("pods: '3'", "requests.cpu: '4'", "limits.memory: 4Gi", "requests.memory: 8Gi"))
	}
	return strings.Join(docs, "\n---\n")
}

// manifest draws a workload.
func (g *drawing) manifest() (kind, text string) {
	kind = g.one("Deployment", "Deployment", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicaSet", "Pod")
	n := g.IntN(7)
	template := "metadata: {labels: {app: w}}, spec: {" + g.pod(kind) + "}"
	const selector = "selector: {matchLabels: {app: w}}"
	switch kind {
	case "Pod":
		return kind, "{apiVersion: v1, kind: Pod, metadata: {name: w, namespace: default, labels: {app: w}}, spec: {" + g.pod(kind) + "}}"
	case "Job":
		return kind, fmt.Sprintf("{apiVersion: batch/v1, kind: Job, metadata: {name: w, namespace: default}, spec: {parallelism: %d%s, template: {%s}}}", n, g.one("", ", completions: 4", ", completions: 4, completionMode: Indexed"), template)
	case "CronJob":
		return kind, fmt.Sprintf("{apiVersion: batch/v1, kind: CronJob, metadata: {name: w, namespace: default}, spec: {schedule: '* * * * *', jobTemplate: {spec: {parallelism: %d, template: {%s}}}}}", n, template)
	case "DaemonSet":
		return kind, fmt.Sprintf("{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: w, namespace: default}, spec: {%s, template: {%s}}}", selector, template)
	case "StatefulSet":
		claims := g.one("", "", ", volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: "+g.one("std", "gone")+", resources: {requests: {storage: 1Gi}}}}]",
			", volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]")
		return kind, fmt.Sprintf("{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: w, namespace: default}, spec: {replicas: %d, podManagementPolicy: %s, serviceName: w, %s, template: {%s}%s}}", n, g.one("OrderedReady", "Parallel"), selector, template, claims)
	}
	text = fmt.Sprintf("{apiVersion: apps/v1, kind: %s, metadata: {name: w, namespace: default}, spec: {replicas: %d, %s, template: {%s}}}", kind, n, selector, template)
	if kind == "Deployment" && g.in(4) {
		text += fmt.Sprintf("\n---\n{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: default}, spec: {minReplicas: %d, maxReplicas: 8, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: w}}}", 1+g.IntN(6))
	}
	return kind, text
}

// pod draws the specification of a pod. Some have a field that the API server refuses.
func (g *drawing) pod(kind string) string {
	resources := []string{fmt.Sprintf("requests: {cpu: %s%s}", g.one("250m", "500m", "1", "2", "4", "9"), g.one("", "", ", memory: 1Gi", ", memory: 5Gi"))}
	switch g.IntN(8) {
	case 0:
		resources = []string{"limits: {cpu: " + g.one("500m", "2", "8") + ", memory: 2Gi}"}
	case 1:
		resources = []string{"limits: {example.com/gpu: " + g.one("'1'", "'1'", "'3'", "500m") + "}"}
	case 2:
		resources = nil
	}
	spec := []string{}
	claims := ""
	if g.in(12) {
		claims = "claims: [{name: g}]"
		spec = append(spec, "resourceClaims: [{name: g, resourceClaimTemplateName: "+g.one("gpus", "gpus", "gone")+"}]")
		resources = append(resources, claims)
	}
	ports := ""
	if g.in(8) {
		ports = ", ports: [{containerPort: 80" + g.one(", hostPort: 80", "") + "}]"
		if g.in(2) {
			ports, spec = ", ports: [{containerPort: 80}]", append(spec, "hostNetwork: true")
		}
	}
	spec = append(spec, "containers: [{name: c, image: i, resources: {"+strings.Join(resources, ", ")+"}"+ports+"}]")
	if kind == "Job" || kind == "CronJob" {
		spec = append(spec, "restartPolicy: Never")
	}
	maybe := func(n int, text string) {
		if g.in(n) {
			spec = append(spec, text)
		}
	}
	maybe(5, "nodeSelector: {"+g.one("pool: a", "pool: b", "pool: c", "topology.kubernetes.io/zone: a", "'a b': c")+"}")
	maybe(5, "tolerations: [{key: gpu, operator: "+g.one("Exists", "Equal")+"}]")
	maybe(6, "runtimeClassName: "+g.one("kata", "kata", "gone"))
	maybe(6, "priorityClassName: "+g.one("high", "high", "gone"))
	maybe(6, "topologySpreadConstraints: [{maxSkew: "+g.one("1", "1", "2", "0")+", topologyKey: "+g.one("topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack")+", whenUnsatisfiable: "+g.one("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")+", labelSelector: {matchLabels: {app: "+g.one("w", "w", "db")+"}}"+g.one("", ", nodeTaintsPolicy: Honor")+"}]")
	term := "[{topologyKey: " + g.one("topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack") + ", labelSelector: {matchLabels: {app: " + g.one("w", "db", "none") + "}}}]"
	maybe(5, "affinity: {"+g.one("podAffinity", "podAntiAffinity")+": {requiredDuringSchedulingIgnoredDuringExecution: "+term+"}}")
	maybe(8, "volumes: [{name: v, persistentVolumeClaim: {claimName: "+g.one("data", "data", "gone")+"}}]")
	maybe(10, "volumes: [{name: e, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], "+g.one("", "storageClassName: std, ")+"resources: {requests: {storage: 1Gi}}}}}}]")
	seen := map[string]bool{}
	out := []string{}
	for _, s := range spec {
		if name, _, _ := strings.Cut(s, ":"); !seen[name] {
			seen[name] = true
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
}
