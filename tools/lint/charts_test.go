package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Manifests as charts render them: 60 workloads of web applications, 60 of databases, 60 of batch and GPU work. The number of findings of
// each rule is kept, with the first finding as an example, for manifests alone and on a cluster that has room.
func TestCharts(t *testing.T) {
	var text strings.Builder
	check := func(name string, workload func(i int) string) {
		var docs []string
		for i := range 60 {
			docs = append(docs, workload(i))
		}
		for _, nodes := range []string{"", chartCluster()} {
			_, out, errs := linting(nodes+strings.Join(docs, "---\n"), "-f", "-", "-o", "json")
			var a lintReport
			require.NoError(t, json.Unmarshal([]byte(out), &a), errs)
			count, first := map[string]int{}, map[string]string{}
			for _, f := range a.Findings {
				k := string(f.Severity) + " " + f.Rule
				if count[k]++; count[k] == 1 {
					first[k] = f.Object + ": " + f.Explanation
				}
			}
			fmt.Fprintf(&text, "%s, %s: %d errors, %d warnings, %d notes\n", name, map[bool]string{true: "alone", false: "on a cluster"}[nodes == ""], a.Summary.Errors, a.Summary.Warnings, a.Summary.Infos)
			for _, k := range slices.Sorted(maps.Keys(count)) {
				fmt.Fprintf(&text, "  %d %s, such as %s\n", count[k], k, first[k])
			}
		}
	}
	check("web", webChart)
	check("data", dataChart)
	check("batch", batchChart)
	testkit.Golden(t, "testdata/charts.txt", text.String())
}

// chartCluster has twelve nodes in three zones, three of them with GPUs behind a taint, and storage in zones.
func chartCluster() string {
	var b strings.Builder
	for i := range 12 {
		gpu, taint := "", ""
		if i >= 9 {
			gpu, taint = ", nvidia.com/gpu: '8'", ", spec: {taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]}"
		}
		fmt.Fprintf(&b, "{apiVersion: v1, kind: Node, metadata: {name: n%d, labels: {kubernetes.io/hostname: n%d, kubernetes.io/os: linux, topology.kubernetes.io/zone: z%d}}%s, status: {allocatable: {cpu: '64', memory: 256Gi, pods: '250'%s}}}\n---\n", i, i, i%3, taint, gpu)
	}
	b.WriteString("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}, provisioner: ebs.csi.aws.com, volumeBindingMode: WaitForFirstConsumer}\n---\n")
	return b.String()
}

// chart writes a workload with the labels of charts, and what else it renders.
func chart(kind, name, spec, pod string) string {
	labels := fmt.Sprintf("app.kubernetes.io/name: %s, app.kubernetes.io/instance: release", name)
	return fmt.Sprintf("{apiVersion: apps/v1, kind: %s, metadata: {name: release-%s, namespace: apps, labels: {%s, app.kubernetes.io/managed-by: Helm}}, spec: {%s, selector: {matchLabels: {%s}}, template: {metadata: {labels: {%s}}, spec: {%s}}}}\n",
		kind, name, labels, spec, labels, labels, pod)
}

func selected(name string) string {
	return fmt.Sprintf("{matchLabels: {app.kubernetes.io/name: %s, app.kubernetes.io/instance: release}}", name)
}

// container is the container of a chart; every fourth chart leaves resources to its user.
func container(i int) string {
	if i%4 == 3 {
		return "containers: [{name: app, image: registry.example.com/app:1, resources: {}}]"
	}
	return fmt.Sprintf("containers: [{name: app, image: registry.example.com/app:1, ports: [{name: http, containerPort: 8080}], resources: {limits: {memory: 256Mi}, requests: {cpu: %dm, memory: 256Mi}}}]", 50+50*(i%4))
}

func apart(name, key string) string {
	return fmt.Sprintf("affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {topologyKey: %s, labelSelector: %s}}]}}, ", key, selected(name))
}

// webChart is a Deployment, with an autoscaler, a budget, a soft constraint or a preference, as values turn them on.
func webChart(i int) string {
	name, pod, out := fmt.Sprintf("web%d", i), container(i), ""
	if i%3 == 0 {
		pod = fmt.Sprintf("topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: %s}], ", selected(name)) + pod
	}
	if i%3 == 1 {
		pod = apart(name, "kubernetes.io/hostname") + pod
	}
	if i%5 == 2 {
		out += fmt.Sprintf("---\n{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: release-%s, namespace: apps}, spec: {minReplicas: 2, maxReplicas: 10, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: release-%s}}}\n", name, name)
	}
	if i%4 == 0 {
		out += fmt.Sprintf("---\n{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: release-%s, namespace: apps}, spec: {minAvailable: 1, selector: %s}}\n", name, selected(name))
	}
	return chart("Deployment", name, fmt.Sprintf("replicas: %d", 1+i%3), pod) + out
}

// dataChart is a StatefulSet with a volume for each replica, and for every fifth a Deployment of one replica with one volume.
func dataChart(i int) string {
	name, pod := fmt.Sprintf("db%d", i), container(i)
	if i%5 == 4 {
		return chart("Deployment", name, "replicas: 1"+map[bool]string{true: ", strategy: {type: Recreate}"}[i%2 == 0], pod+fmt.Sprintf(", volumes: [{name: data, persistentVolumeClaim: {claimName: release-%s}}]", name)) +
			fmt.Sprintf("---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: release-%s, namespace: apps}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 8Gi}}}}\n", name)
	}
	if i%3 == 0 {
		pod = fmt.Sprintf("affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: %s}]}}, ", selected(name)) + pod
	} else {
		pod = apart(name, "kubernetes.io/hostname") + pod
	}
	return chart("StatefulSet", name, fmt.Sprintf("replicas: %d, serviceName: release-%s, podManagementPolicy: %s, volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 8Gi}}}}]", 1+2*(i%2), name, []string{"OrderedReady", "Parallel"}[i%2]), pod) +
		fmt.Sprintf("---\n{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: release-%s, namespace: apps}, spec: {maxUnavailable: 1, selector: %s}}\n", name, selected(name))
}

// batchChart is a CronJob, a Job, a server on a GPU, or an agent on every node.
func batchChart(i int) string {
	name := fmt.Sprintf("batch%d", i)
	gpu := "tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}], containers: [{name: app, image: registry.example.com/model:1, resources: {limits: {nvidia.com/gpu: 1, memory: 16Gi}, requests: {cpu: '4', memory: 16Gi}}}]"
	meta := fmt.Sprintf("metadata: {name: release-%s, namespace: apps}", name)
	switch i % 6 {
	case 0, 1:
		return fmt.Sprintf("{apiVersion: batch/v1, kind: CronJob, %s, spec: {schedule: '0 3 * * *', concurrencyPolicy: Forbid, jobTemplate: {spec: {backoffLimit: 1, template: {spec: {restartPolicy: OnFailure, %s}}}}}}\n", meta, container(i))
	case 2:
		return fmt.Sprintf("{apiVersion: batch/v1, kind: Job, %s, spec: {parallelism: %d, completions: 8, template: {spec: {restartPolicy: Never, %s}}}}\n", meta, 1+i%4, container(i))
	case 3:
		return fmt.Sprintf("{apiVersion: batch/v1, kind: Job, %s, spec: {template: {spec: {restartPolicy: Never, %s}}}}\n", meta, gpu)
	case 4:
		return chart("Deployment", name, "replicas: 1", gpu)
	}
	return chart("DaemonSet", name, "updateStrategy: {type: RollingUpdate}", "priorityClassName: system-node-critical, tolerations: [{operator: Exists}], "+container(i))
}
