package apiserver_test

import (
	"math/rand"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/trial"
)

// updated is a stored object with the edits that a person may try.
type updated struct {
	path  string
	old   metav1.Object
	edits []edit
}

type edit struct {
	name string
	do   func(o metav1.Object)
}

// TestRefusedUpdatesOfOwners updates stored workloads, volumes and claims in up to three fields. Field, kind and words of each error are those
// of the server; the values in the texts of objects are not compared, for the server prints its own forms of them.
func TestRefusedUpdatesOfOwners(t *testing.T) {
	s := start(t)
	s.make(t, storage, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "grows"}, Provisioner: "example.com/a", AllowVolumeExpansion: new(true)})
	stored := slices.Concat(storeWorkloads(t, s), storeJobs(t, s), storeVolumes(t, s), storeDeviceClaims(t, s))
	n, refused, differ := gen.Count(300, 60), 0, 0
	tried := map[string]int{}
	for i := range n {
		data := make([]byte, 100)
		rand.New(rand.NewSource(*gen.Seed + int64(i))).Read(data)
		source := trial.NewSource(data)
		u := stored[source.N(len(stored))]
		o := copyOf(u.old)
		story := ""
		for range 1 + source.N(3) {
			e := u.edits[source.N(len(u.edits))]
			e.do(o)
			story += e.name + "; "
		}
		status, err := s.try(http.MethodPut, u.path, o)
		require.NoError(t, err)
		if status.Message != "" {
			refused++
			tried[u.path]++
		}
		if text := differs(status, admission.ValidateUpdate(o, u.old, admission.Options{})); text != "" {
			if differ++; differ <= 20 {
				t.Errorf("seed %d: %s: %s%s", *gen.Seed+int64(i), u.path, story, text)
			}
		}
	}
	t.Logf("%d updates, %d refused, of %d objects; %d differ", n, refused, len(tried), differ)
	require.Greater(t, refused, n/4)
	require.Len(t, tried, len(stored), "every object has refused updates")
}

func copyOf(o metav1.Object) metav1.Object {
	return o.(runtime.Object).DeepCopyObject().(metav1.Object)
}

// made ends the texts of what package planning/workload finds wrong when it makes pods, which ValidateUpdate does not look at.
var made = []string{"`selector` does not match template `labels`", "when completion mode is Indexed"}

// differs returns which errors the server or podberth alone has: field, kind and words.
func differs(status metav1.Status, ours field.ErrorList) (out string) {
	if status.Message != "" && (status.Details == nil || len(status.Details.Causes) == 0) {
		return "\n  server: " + status.Message
	}
	theirs := []metav1.StatusCause{}
	if status.Details != nil {
		theirs = status.Details.Causes
	}
	same := func(c metav1.StatusCause, e *field.Error) bool {
		text := cut(c.Message)
		return c.Field == e.Field && strings.HasPrefix(text, e.Type.String()) && strings.HasSuffix(text, cut(e.Detail))
	}
	for _, c := range theirs {
		if slices.ContainsFunc(made, func(text string) bool { return strings.HasSuffix(c.Message, text) }) {
			continue
		}
		if !slices.ContainsFunc(ours, func(e *field.Error) bool { return same(c, e) }) {
			out += "\n  server only:   " + cut(c.Field+": "+c.Message)
		}
	}
	for _, e := range ours {
		if !slices.ContainsFunc(theirs, func(c metav1.StatusCause) bool { return same(c, e) }) {
			out += "\n  podberth only: " + e.Error()
		}
	}
	return out
}

// keep creates an object, and returns it as the server stores it. status is what its controllers write; nil: nothing.
func keep[T any, P interface {
	*T
	metav1.Object
}](t *testing.T, s server, path string, o P, status func(P), edits map[string]func(P)) updated {
	t.Helper()
	s.make(t, path, o)
	at, stored := path+"/"+o.GetName(), P(new(T))
	require.NoError(t, s.get(at, stored))
	if status != nil {
		status(stored)
		answer, err := s.send(http.MethodPut, at+"/status", stored, false)
		require.NoError(t, err)
		require.Empty(t, answer.Message)
		stored = P(new(T))
		require.NoError(t, s.get(at, stored))
	}
	u := updated{path: at, old: stored}
	for name, do := range edits {
		u.edits = append(u.edits, edit{name, func(o metav1.Object) { do(o.(P)) }})
	}
	slices.SortFunc(u.edits, func(a, b edit) int { return strings.Compare(a.name, b.name) })
	return u
}

func ownTemplate() v1.PodTemplateSpec {
	return v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b", "c": "d"}}, Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "c", Image: "i", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("1")}},
	}}}}
}

func ownSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
}

func storeWorkloads(t *testing.T, s server) []updated {
	const apps = "/apis/apps/v1/namespaces/" + namespace
	other := &metav1.LabelSelector{MatchLabels: map[string]string{"c": "d"}}
	nobody := &metav1.LabelSelector{MatchLabels: map[string]string{"x": "y"}}
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: namespace} }
	two := int32(2)
	size := func(text string) v1.PersistentVolumeClaim {
		return v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{"storage": resource.MustParse(text)}},
		}}
	}
	request := func(p *v1.PodTemplateSpec) { p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("2") }
	return []updated{
		keep(t, s, apps+"/deployments", &appsv1.Deployment{ObjectMeta: named("d"), Spec: appsv1.DeploymentSpec{Selector: ownSelector(), Template: ownTemplate()}}, nil, map[string]func(*appsv1.Deployment){
			"selector": func(o *appsv1.Deployment) { o.Spec.Selector = other }, "selector of nobody": func(o *appsv1.Deployment) { o.Spec.Selector = nobody },
			"replicas": func(o *appsv1.Deployment) { o.Spec.Replicas = &two }, "template": func(o *appsv1.Deployment) { request(&o.Spec.Template) },
			"strategy": func(o *appsv1.Deployment) {
				o.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
			},
		}),
		keep(t, s, apps+"/replicasets", &appsv1.ReplicaSet{ObjectMeta: named("r"), Spec: appsv1.ReplicaSetSpec{Selector: ownSelector(), Template: ownTemplate()}}, nil, map[string]func(*appsv1.ReplicaSet){
			"selector": func(o *appsv1.ReplicaSet) { o.Spec.Selector = other }, "replicas": func(o *appsv1.ReplicaSet) { o.Spec.Replicas = &two }, "template": func(o *appsv1.ReplicaSet) { request(&o.Spec.Template) },
		}),
		keep(t, s, apps+"/daemonsets", &appsv1.DaemonSet{ObjectMeta: named("e"), Spec: appsv1.DaemonSetSpec{Selector: ownSelector(), Template: ownTemplate()}}, nil, map[string]func(*appsv1.DaemonSet){
			"selector": func(o *appsv1.DaemonSet) { o.Spec.Selector = other }, "template": func(o *appsv1.DaemonSet) { request(&o.Spec.Template) }, "minReadySeconds": func(o *appsv1.DaemonSet) { o.Spec.MinReadySeconds = 5 },
		}),
		keep(t, s, apps+"/statefulsets", &appsv1.StatefulSet{ObjectMeta: named("s"), Spec: appsv1.StatefulSetSpec{Selector: ownSelector(), Template: ownTemplate(), ServiceName: "s", VolumeClaimTemplates: []v1.PersistentVolumeClaim{size("1Gi")}}}, nil, map[string]func(*appsv1.StatefulSet){
			"selector": func(o *appsv1.StatefulSet) { o.Spec.Selector = other }, "replicas": func(o *appsv1.StatefulSet) { o.Spec.Replicas = &two }, "template": func(o *appsv1.StatefulSet) { request(&o.Spec.Template) },
			"serviceName": func(o *appsv1.StatefulSet) { o.Spec.ServiceName = "x" }, "podManagementPolicy": func(o *appsv1.StatefulSet) { o.Spec.PodManagementPolicy = appsv1.ParallelPodManagement },
			"no podManagementPolicy": func(o *appsv1.StatefulSet) { o.Spec.PodManagementPolicy = "" },
			"size":                   func(o *appsv1.StatefulSet) { o.Spec.VolumeClaimTemplates = []v1.PersistentVolumeClaim{size("2Gi")} }, "same size": func(o *appsv1.StatefulSet) { o.Spec.VolumeClaimTemplates = []v1.PersistentVolumeClaim{size("1Gi")} },
			"no claims": func(o *appsv1.StatefulSet) { o.Spec.VolumeClaimTemplates = nil }, "minReadySeconds": func(o *appsv1.StatefulSet) { o.Spec.MinReadySeconds = 5 },
			"ordinals": func(o *appsv1.StatefulSet) { o.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 3} }, "revisionHistoryLimit": func(o *appsv1.StatefulSet) { o.Spec.RevisionHistoryLimit = &two },
		}),
	}
}

func storeJobs(t *testing.T, s server) (out []updated) {
	const jobs = "/apis/batch/v1/namespaces/" + namespace + "/jobs"
	for name, change := range map[string]func(j *batchv1.JobSpec){
		"plain": func(*batchv1.JobSpec) {}, "counted": func(j *batchv1.JobSpec) { j.Completions, j.Parallelism = new(int32(2)), new(int32(2)) },
		"queue":     func(j *batchv1.JobSpec) { j.Parallelism = new(int32(2)) },
		"suspended": func(j *batchv1.JobSpec) { j.Suspend = new(true) },
		"indexed": func(j *batchv1.JobSpec) {
			j.CompletionMode, j.Completions, j.Parallelism = new(batchv1.IndexedCompletion), new(int32(2)), new(int32(2))
		},
	} {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: batchv1.JobSpec{Template: ownTemplate()}}
		j.Spec.Template.Spec.RestartPolicy = v1.RestartPolicyNever
		change(&j.Spec)
		pod := func(do func(p *v1.PodSpec)) func(*batchv1.Job) {
			return func(o *batchv1.Job) { do(&o.Spec.Template.Spec) }
		}
		term := []v1.PodAffinityTerm{{TopologyKey: "zone", LabelSelector: ownSelector()}}
		hosts := &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "a", Operator: v1.NodeSelectorOpExists}}}}}
		out = append(out, keep(t, s, jobs, j, nil, map[string]func(*batchv1.Job){
			"parallelism": func(o *batchv1.Job) { o.Spec.Parallelism = new(int32(3)) }, "completions": func(o *batchv1.Job) { o.Spec.Completions = new(int32(3)) },
			"both": func(o *batchv1.Job) { o.Spec.Completions, o.Spec.Parallelism = new(int32(4)), new(int32(4)) }, "no completions": func(o *batchv1.Job) { o.Spec.Completions = nil },
			"selector": func(o *batchv1.Job) { o.Spec.Selector = ownSelector() }, // no selector: kubectl apply leaves the one that the server made
			"Indexed":  func(o *batchv1.Job) { o.Spec.CompletionMode = new(batchv1.IndexedCompletion) }, "no mode": func(o *batchv1.Job) { o.Spec.CompletionMode = nil },
			"suspend": func(o *batchv1.Job) { o.Spec.Suspend = new(true) }, "resume": func(o *batchv1.Job) { o.Spec.Suspend = new(false) },
			"labels":        func(o *batchv1.Job) { o.Spec.Template.Labels["more"] = "x" },
			"node selector": pod(func(p *v1.PodSpec) { p.NodeSelector = map[string]string{"x": "y"} }), "tolerations": pod(func(p *v1.PodSpec) { p.Tolerations = []v1.Toleration{{Key: "a", Operator: v1.TolerationOpExists}} }),
			"gates":         pod(func(p *v1.PodSpec) { p.SchedulingGates = []v1.PodSchedulingGate{{Name: "a.example.com/b"}} }),
			"requests":      pod(func(p *v1.PodSpec) { p.Containers[0].Resources.Requests["cpu"] = resource.MustParse("2") }),
			"same requests": pod(func(p *v1.PodSpec) { p.Containers[0].Resources.Requests["cpu"] = resource.MustParse("1000m") }),
			"port":          pod(func(p *v1.PodSpec) { p.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80}} }),
			"node affinity": pod(func(p *v1.PodSpec) {
				p.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: hosts}}
			}),
			"pod affinity": pod(func(p *v1.PodSpec) {
				p.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term}}
			}),
			"no affinity": pod(func(p *v1.PodSpec) { p.Affinity = &v1.Affinity{} }),
			"spread": pod(func(p *v1.PodSpec) {
				p.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: ownSelector()}}
			}),
			"scheduler": pod(func(p *v1.PodSpec) { p.SchedulerName = "other" }), "no scheduler": pod(func(p *v1.PodSpec) { p.SchedulerName = "" }),
			"class": pod(func(p *v1.PodSpec) { p.PriorityClassName = "system-node-critical" }),
		}))
	}
	slices.SortFunc(out, func(a, b updated) int { return strings.Compare(a.path, b.path) })
	return out
}

func storeVolumes(t *testing.T, s server) []updated {
	const claims, volumes = "/api/v1/namespaces/" + namespace + "/persistentvolumeclaims", "/api/v1/persistentvolumes"
	claim := func(name, class string) *v1.PersistentVolumeClaim {
		c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{"storage": resource.MustParse("5Gi")}},
		}}
		if class != "" {
			c.Spec.StorageClassName = &class
		}
		return c
	}
	sized := func(text string) func(*v1.PersistentVolumeClaim) {
		return func(o *v1.PersistentVolumeClaim) { o.Spec.Resources.Requests["storage"] = resource.MustParse(text) }
	}
	edits := map[string]func(*v1.PersistentVolumeClaim){
		"class": func(o *v1.PersistentVolumeClaim) { o.Spec.StorageClassName = new("grows") }, "other class": func(o *v1.PersistentVolumeClaim) { o.Spec.StorageClassName = new("other") },
		"no class": func(o *v1.PersistentVolumeClaim) { o.Spec.StorageClassName = nil }, "volume": func(o *v1.PersistentVolumeClaim) { o.Spec.VolumeName = "v" },
		"larger": sized("9Gi"), "smaller": sized("4Gi"), "much smaller": sized("1Gi"), "same size": sized("5120Mi"),
		"mode": func(o *v1.PersistentVolumeClaim) {
			o.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteMany}
		},
		"block": func(o *v1.PersistentVolumeClaim) { o.Spec.VolumeMode = new(v1.PersistentVolumeBlock) }, "no volumeMode": func(o *v1.PersistentVolumeClaim) { o.Spec.VolumeMode = nil },
		"selector": func(o *v1.PersistentVolumeClaim) { o.Spec.Selector = ownSelector() }, "labels": func(o *v1.PersistentVolumeClaim) { o.Labels = map[string]string{"x": "y"} },
	}
	bind := func(o *v1.PersistentVolumeClaim) {
		o.Status.Phase, o.Status.Capacity = v1.ClaimBound, v1.ResourceList{"storage": resource.MustParse("3Gi")}
	}
	zoned := func(key, value string) *v1.VolumeNodeAffinity {
		return &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}}}}
	}
	volume := func(name string, at *v1.VolumeNodeAffinity) *v1.PersistentVolume {
		return &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PersistentVolumeSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, Capacity: v1.ResourceList{"storage": resource.MustParse("5Gi")}, NodeAffinity: at,
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "example.com", VolumeHandle: name}},
		}}
	}
	ofVolume := map[string]func(*v1.PersistentVolume){
		"handle": func(o *v1.PersistentVolume) { o.Spec.CSI.VolumeHandle = "x" }, "block": func(o *v1.PersistentVolume) { o.Spec.VolumeMode = new(v1.PersistentVolumeBlock) },
		"no volumeMode": func(o *v1.PersistentVolume) { o.Spec.VolumeMode = nil }, "zone": func(o *v1.PersistentVolume) { o.Spec.NodeAffinity = zoned(v1.LabelTopologyZone, "a") },
		"other zone": func(o *v1.PersistentVolume) { o.Spec.NodeAffinity = zoned(v1.LabelTopologyZone, "b") }, "old zone": func(o *v1.PersistentVolume) { o.Spec.NodeAffinity = zoned(v1.LabelFailureDomainBetaZone, "a") },
		"anywhere": func(o *v1.PersistentVolume) { o.Spec.NodeAffinity = nil }, "capacity": func(o *v1.PersistentVolume) { o.Spec.Capacity["storage"] = resource.MustParse("6Gi") },
		"class": func(o *v1.PersistentVolume) { o.Spec.StorageClassName = "grows" }, "reclaim": func(o *v1.PersistentVolume) { o.Spec.PersistentVolumeReclaimPolicy = v1.PersistentVolumeReclaimDelete },
	}
	secret := volume("secret", nil)
	secret.Spec.CSI.ControllerExpandSecretRef = &v1.SecretReference{Name: "a", Namespace: "b"}
	ofVolume["secret"] = func(o *v1.PersistentVolume) {
		o.Spec.CSI.ControllerExpandSecretRef = &v1.SecretReference{Name: "c", Namespace: "d"}
	}
	ofVolume["no secret"] = func(o *v1.PersistentVolume) { o.Spec.CSI.ControllerExpandSecretRef = nil }
	return []updated{
		keep(t, s, claims, claim("bare", ""), nil, edits), keep(t, s, claims, claim("classed", "grows"), nil, edits), keep(t, s, claims, claim("bound", "grows"), bind, edits),
		keep(t, s, volumes, volume("free", nil), nil, ofVolume), keep(t, s, volumes, volume("zonal", zoned(v1.LabelTopologyZone, "a")), nil, ofVolume),
		keep(t, s, volumes, secret, nil, ofVolume), keep(t, s, volumes, volume("beta", zoned(v1.LabelFailureDomainBetaZone, "a")), nil, ofVolume),
	}
}

func storeDeviceClaims(t *testing.T, s server) []updated {
	const group = "/apis/resource.k8s.io/v1/namespaces/" + namespace
	spec := func(class string) resourcev1.ResourceClaimSpec {
		return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class}}}}}
	}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: namespace} }
	return []updated{
		keep(t, s, group+"/resourceclaims", &resourcev1.ResourceClaim{ObjectMeta: meta("c"), Spec: spec("gpu")}, nil, map[string]func(*resourcev1.ResourceClaim){
			"class": func(o *resourcev1.ResourceClaim) { o.Spec.Devices.Requests[0].Exactly.DeviceClassName = "tpu" }, "count": func(o *resourcev1.ResourceClaim) { o.Spec.Devices.Requests[0].Exactly.Count = 2 },
			"labels": func(o *resourcev1.ResourceClaim) { o.Labels = map[string]string{"x": "y"} },
		}),
		keep(t, s, group+"/resourceclaimtemplates", &resourcev1.ResourceClaimTemplate{ObjectMeta: meta("t"), Spec: resourcev1.ResourceClaimTemplateSpec{Spec: spec("gpu")}}, nil, map[string]func(*resourcev1.ResourceClaimTemplate){
			"class": func(o *resourcev1.ResourceClaimTemplate) {
				o.Spec.Spec.Devices.Requests[0].Exactly.DeviceClassName = "tpu"
			},
			"count":  func(o *resourcev1.ResourceClaimTemplate) { o.Spec.Spec.Devices.Requests[0].Exactly.Count = 2 },
			"labels": func(o *resourcev1.ResourceClaimTemplate) { o.Labels = map[string]string{"x": "y"} },
		}),
	}
}
