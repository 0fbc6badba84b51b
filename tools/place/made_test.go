package place

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// What controllers make is there for the decision: claims with the default class, claims of ephemeral volumes and of devices, the next
// run of a CronJob, the replicas of an autoscaler.
func TestWhatControllersMake(t *testing.T) {
	const (
		node      = "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}"
		class     = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: std, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}, provisioner: x.example.com, volumeBindingMode: WaitForFirstConsumer}"
		newer     = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: new, creationTimestamp: '2026-01-02T00:00:00Z', annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}, provisioner: x.example.com, volumeBindingMode: Immediate}"
		claim     = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"
		uses      = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}], volumes: [{name: d, persistentVolumeClaim: {claimName: c}}]}}"
		ephemeral = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: p}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c}], volumes: [{name: s, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]}}}}"
		device    = "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}}\n---\n{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: gpu, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1}, devices: [{name: d0}]}}"
		template  = "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: t}, spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}}"
		needs     = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {resourceClaims: [{name: g, resourceClaimTemplateName: t}], containers: [{name: c, resources: {claims: [{name: g}]}}]}}"
		cron      = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: p}, spec: {schedule: '* * * * *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c}]}}}}}}"
		web       = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: p}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, resources: {requests: {cpu: '1'}}}]}}}}"
		scaler    = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {minReplicas: 3, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: p}}}"
		first     = "{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: {minReplicas: 3, maxReplicas: 9, targetCPUUtilizationPercentage: 80, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: p}}}"
		quota     = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {requests.cpu: '2'}}}"
	)
	type test struct{ name, why, objects, flag, want string }
	testkit.Run(t, []test{
		{"default class", "the API server gives it to the claim", documents(class, claim, uses), "-admit", "1 scheduled, 0 unschedulable, 0 gated, 0 victims"},
		{"newest default", "waits for its provisioner", documents(class, newer, claim, uses), "-admit", "0 scheduled, 1 unschedulable, 0 gated, 0 victims"},
		{"no admission", "the claim is as it was written", documents(class, claim, uses), "-strict", "0 scheduled, 1 unschedulable, 0 gated, 0 victims"},
		{"ephemeral", "the controller makes the claim", documents(class, ephemeral), "-expand", "1 scheduled, 0 unschedulable, 0 gated, 0 victims"},
		{"devices", "the controller makes the claim", documents(device, template, needs), "-expand", "1 scheduled, 0 unschedulable, 0 gated, 0 victims"},
		{"devices without template", "nobody makes the claim", documents(device, needs), "-expand", "0 scheduled, 0 unschedulable, 1 gated, 0 victims"},
		{"CronJob", "its next run", cron, "-expand", "1 scheduled, 0 unschedulable, 0 gated, 0 victims"},
		{"autoscaler", "three replicas at least", documents(web, scaler), "-expand", "3 scheduled, 0 unschedulable, 0 gated, 0 victims"},
		{"autoscaler of v1", "its target of cpu is no unknown field", documents(web, first), "-expand", "3 scheduled, 0 unschedulable, 0 gated, 0 victims"},
		{"quota", "without -admit the API server is not asked", documents(web, scaler, quota), "-expand", "3 scheduled, 0 unschedulable, 0 gated, 0 victims"},
	}, func(t *testing.T, c test) {
		_, out, _ := simulate(t, documents(node, c.objects), "-f", "-", c.flag)
		require.Contains(t, out, c.want, c.why)
	})
	_, out, _ := simulate(t, documents(node, web, scaler, quota), "-f", "-", "-expand", "-admit")
	require.Contains(t, out, `Refused     <none>   pods "p-6bd6c464f7-3" is forbidden: exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=2, limited: requests.cpu=2`)
	_, out, errs := simulate(t, documents(node, web), "-f", "-", "-expand", "-admit=Nonsense")
	require.Empty(t, out)
	require.Contains(t, errs, "must be true, false or ExtendedResourceToleration")
}

// A template that the API server refuses is refused once for its owner, and pods of one controller once for each reason.
func TestRefusedOnce(t *testing.T) {
	const (
		node = "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}"
		bad  = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {nodeSelector: {'a b': c}, containers: [{name: c}]}}}}"
		none = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {priorityClassName: gone, containers: [{name: c}]}}}}"
	)
	_, out, errs := simulate(t, documents(node, bad), "-f", "-", "-expand", "-admit")
	require.Regexp(t, `3 pods like web-\S+ +0 +Refused +<none> +Deployment\.apps "web" is invalid: spec\.template\.spec\.nodeSelector: Invalid value: "a b"`, out)
	require.NotContains(t, errs, "invalid")
	_, out, _ = simulate(t, documents(node, none), "-f", "-", "-expand", "-admit")
	require.Regexp(t, `3 pods like web-\S+ +0 +Refused +<none> +pods "web-\S+-1" is forbidden: no PriorityClass with name gone was found`, out)
}
