package lint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// manifests are objects: nodes, and applications of ten objects each in 50 namespaces, as a repository of charts has them. Of ten applications six are Deployments with an autoscaler, two StatefulSets with claims, one a DaemonSet, one a Job.
func manifests(nodes, apps int) string {
	var b strings.Builder
	add := func(format string, args ...any) {
		fmt.Fprintf(&b, format+"\n", args...)
	}
	for i := range nodes {
		add(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n%d","labels":{"kubernetes.io/hostname":"n%d","topology.kubernetes.io/zone":"z%d","pool":"p%d"}},"spec":{},"status":{"allocatable":{"cpu":"64","memory":"256Gi","pods":"250"},"conditions":[{"type":"Ready","status":"True"}]}}`, i, i, i%3, i%4)
	}
	for i := range apps {
		at := fmt.Sprintf(`"name":"app%d","namespace":"team%d"`, i, i%50)
		labels := fmt.Sprintf(`{"app.kubernetes.io/name":"app%d","app.kubernetes.io/instance":"r%d"}`, i, i)
		spec := fmt.Sprintf(`"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"ScheduleAnyway","labelSelector":{"matchLabels":%s}}],"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"podAffinityTerm":{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":%s}}}]}},"containers":[{"name":"c","image":"registry.example.com/app%d:1","resources":{"requests":{"cpu":"%dm","memory":"%dMi"},"limits":{"memory":"%dMi"}}}]`,
			labels, labels, i, 100+50*(i%7), 128+64*(i%5), 256+64*(i%5))
		meta := fmt.Sprintf(`"metadata":{"labels":%s}`, labels)
		kind, count := "Deployment", 2+i%4
		switch i % 10 {
		case 6, 7:
			kind = "StatefulSet"
			add(`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{%s},"spec":{"replicas":%d,"serviceName":"s","selector":{"matchLabels":%s},"template":{%s,"spec":{%s}},"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"zonal","resources":{"requests":{"storage":"10Gi"}}}}]}}`, at, count, labels, meta, spec)
		case 8:
			if i%100 == 8 { // a cluster has a few of them
				kind = "DaemonSet"
				add(`{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{%s},"spec":{"selector":{"matchLabels":%s},"template":{%s,"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"50m","memory":"64Mi"}}}]}}}}`, at, labels, meta)
				break
			}
			fallthrough
		case 9:
			kind = "Job"
			add(`{"apiVersion":"batch/v1","kind":"Job","metadata":{%s},"spec":{"parallelism":%d,"template":{%s,"spec":{"restartPolicy":"Never",%s}}}}`, at, count, meta, spec)
		default:
			add(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{%s},"spec":{"replicas":%d,"selector":{"matchLabels":%s},"template":{%s,"spec":{%s}}}}`, at, count, labels, meta, spec)
		}
		if kind == "Deployment" {
			add(`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{%s},"spec":{"minReplicas":%d,"maxReplicas":20,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"app%d"}}}`, at, count, i)
		} else {
			add(`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{%s}}`, at)
		}
		if kind == "Deployment" || kind == "StatefulSet" {
			add(`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{%s},"spec":{"maxUnavailable":1,"selector":{"matchLabels":%s}}}`, at, labels)
		} else {
			add(`{"apiVersion":"v1","kind":"Secret","metadata":{%s}}`, at)
		}
		add(`{"apiVersion":"v1","kind":"Service","metadata":{%s},"spec":{"selector":%s,"ports":[{"port":80}]}}`, at, labels)
		add(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{%s},"data":{"a":"b"}}`, at)
		for _, kind := range []string{"rbac.authorization.k8s.io/v1 Role", "rbac.authorization.k8s.io/v1 RoleBinding", "networking.k8s.io/v1 Ingress", "networking.k8s.io/v1 NetworkPolicy", "monitoring.coreos.com/v1 ServiceMonitor"} {
			version, kind, _ := strings.Cut(kind, " ")
			add(`{"apiVersion":"%s","kind":"%s","metadata":{%s}}`, version, kind, at)
		}
	}
	add(`{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"zonal"},"provisioner":"disk.example.com","volumeBindingMode":"WaitForFirstConsumer"}`)
	return b.String()
}

// 10,000 objects of which 950 are workloads with 3,300 pods, on 499 nodes: at most 3 s.
func BenchmarkLint10000(b *testing.B) {
	text := manifests(499, 950)
	require.Equal(b, 10000, strings.Count(text, "\n"))
	for b.Loop() {
		_, out, errs := linting(text, "-f", "-")
		require.Contains(b, out, "errors", errs)
	}
}

// busy are nodes, and applications of 100 running pods each with a budget.
func busy(nodes, apps int) string {
	var b strings.Builder
	for i := range nodes {
		fmt.Fprintf(&b, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n%d"},"status":{"allocatable":{"cpu":"32","memory":"128Gi","pods":"110"},"conditions":[{"type":"Ready","status":"True"}]}}`+"\n", i)
	}
	for i := range apps {
		labels := fmt.Sprintf(`{"app":"a%d"}`, i)
		const spec = `"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"500m","memory":"512Mi"}}}]`
		scale := fmt.Sprintf(`"spec":{"replicas":100,"selector":{"matchLabels":%s},"template":{"metadata":{"labels":%s},"spec":{%s}}},"status":{"replicas":100}`, labels, labels, spec)
		owner := `"ownerReferences":[{"apiVersion":"apps/v1","kind":"%s","name":"a%d","uid":"%s%d","controller":true}]`
		fmt.Fprintf(&b, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a%d","namespace":"default","uid":"d%d"},%s}`+"\n", i, i, scale)
		fmt.Fprintf(&b, `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"a%d","namespace":"default","uid":"r%d",`+owner+`},%s}`+"\n", i, i, "Deployment", i, "d", i, scale)
		fmt.Fprintf(&b, `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b%d","namespace":"default"},"spec":{"maxUnavailable":1,"selector":{"matchLabels":%s}}}`+"\n", i, labels)
		for k := range 100 {
			fmt.Fprintf(&b, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a%d-%d","namespace":"default","uid":"p%d-%d","labels":%s,`+owner+`},"spec":{"nodeName":"n%d",%s},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`+"\n",
				i, k, i, k, labels, "ReplicaSet", i, "r", i, (100*i+k)%nodes, spec)
		}
	}
	return b.String()
}

// 500 nodes with 15,000 pods and 150 budgets: 0.7 s of a processor, of which reading the input takes 0.6.
func BenchmarkLint150Budgets(b *testing.B) {
	text := busy(500, 150)
	for b.Loop() {
		_, out, errs := linting(text, "-f", "-")
		require.Contains(b, out, "0 errors, 0 warnings, 0 notes", errs)
	}
}
