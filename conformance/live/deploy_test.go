package live

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/podberth/podberth/conformance/apiserver"
	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/live/daemon"
	"github.com/podberth/podberth/scheduler/live/lead"
)

const (
	manifests = "../../scheduler/live/deploy"
	account   = "system:serviceaccount:kube-system:podberth-scheduler"
)

// apply creates what kustomize makes of the manifests, and returns it.
func (w *world) apply() []*unstructured.Unstructured {
	w.t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), manifests)
	require.NoError(w.t, err)
	groups, err := restmapper.GetAPIGroupResources(w.api.Discovery())
	require.NoError(w.t, err)
	mapper, api := restmapper.NewDiscoveryRESTMapper(groups), dynamic.NewForConfigOrDie(w.server.Config)
	w.until("kube-system", func() bool {
		_, err := w.api.CoreV1().Namespaces().Get(w.ctx, "kube-system", metav1.GetOptions{})
		return err == nil
	})
	var out []*unstructured.Unstructured
	for _, r := range built.Resources() {
		content, err := r.Map()
		require.NoError(w.t, err)
		u := &unstructured.Unstructured{Object: content}
		gvk := u.GroupVersionKind()
		m, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		require.NoError(w.t, err)
		to := dynamic.ResourceInterface(api.Resource(m.Resource))
		if m.Scope.Name() == meta.RESTScopeNameNamespace {
			to = api.Resource(m.Resource).Namespace(u.GetNamespace())
		}
		_, err = to.Create(w.ctx, u, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		require.NoError(w.t, err, "%s %s", gvk.Kind, u.GetName())
		out = append(out, u)
	}
	return out
}

// Without -every one permission of seven is taken away, because the API server needs a moment for each.
var every = flag.Bool("every", false, "take every permission away in turn, and run every scenario")

const takeAwayStep = 7

// The manifests are what the API server takes. As their account, the daemon does all that it does without one refusal. Each
// permission that is taken away gives its line at the start.
func TestDeploy(t *testing.T) {
	w := &world{t: t, ctx: t.Context(), server: apiserver.Start(t, "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"), link: &link{}, document: plainConfig}
	w.connect(account, "system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated")
	applied := w.apply()
	var text string
	for _, u := range applied {
		if u.GetKind() == "ConfigMap" {
			text, _, _ = unstructured.NestedString(u.Object, "data", "config.yaml")
		}
	}
	c, err := config.Load([]byte(text))
	require.NoError(t, err)
	lease := &lead.Lease{Namespace: "kube-system", Name: c.Document.LeaderElection.ResourceName, Identity: "a", Component: "podberth"}
	settings := daemon.Config{REST: w.link.config(), Configuration: c, Lease: lease, Permissions: true}
	w.until("the rules", func() bool { return w.allowed(settings) == nil })

	var mu sync.Mutex
	var refused []string
	w.link.faults(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		answer, err := send()
		if err == nil && answer.StatusCode == http.StatusForbidden {
			mu.Lock()
			defer mu.Unlock()
			refused = append(refused, r.Method+" "+r.URL.Path)
		}
		return answer, err
	})
	_, stop := w.podberth(func(x *daemon.Config) { *x = settings })
	w.everything()
	require.NoError(t, stop())
	require.Empty(t, refused)
	held, err := w.api.CoordinationV1().Leases("kube-system").Get(w.ctx, lease.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, ptr.Deref(held.Spec.HolderIdentity, ""), "the lease is released")

	for _, kind := range []string{"ClusterRole", "Role"} {
		w.takeAway(kind, applied, settings)
	}
}

// allowed returns what a daemon says at its start.
func (w *world) allowed(settings daemon.Config) error {
	_, err := daemon.New(w.ctx, settings)
	w.last = err
	return err
}

// takeAway takes each permission of the role away in turn.
func (w *world) takeAway(kind string, applied []*unstructured.Unstructured, settings daemon.Config) {
	w.t.Helper()
	k := slices.IndexFunc(applied, func(u *unstructured.Unstructured) bool { return u.GetKind() == kind })
	var role rbacv1.ClusterRole // the fields of a Role too
	require.NoError(w.t, runtime.DefaultUnstructuredConverter.FromUnstructured(applied[k].Object, &role))
	set := func(rules []rbacv1.PolicyRule) {
		w.t.Helper()
		patch, err := json.Marshal(map[string]any{"rules": rules})
		require.NoError(w.t, err)
		if kind == "Role" {
			_, err = w.api.RbacV1().Roles(role.Namespace).Patch(w.ctx, role.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		} else {
			_, err = w.api.RbacV1().ClusterRoles().Patch(w.ctx, role.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		}
		require.NoError(w.t, err)
	}
	turn := 0
	for k, rule := range role.Rules {
		for _, name := range rule.Resources {
			for _, verb := range rule.Verbs {
				if kind == "Role" && name == "events" && verb == "patch" {
					continue // an event that cannot be counted is lost; nothing else depends on it
				}
				if turn++; !*every && turn%takeAwayStep != 0 {
					continue
				}
				set(append(without(rule, name, verb), slices.Delete(slices.Clone(role.Rules), k, k+1)...))
				want := "the account may not " + verb + " " + named(rule.APIGroups[0], name)
				if len(rule.ResourceNames) > 0 {
					want += " " + rule.ResourceNames[0]
				}
				if kind == "Role" {
					want += " in namespace " + role.Namespace
				}
				w.until(want, func() bool { err := w.allowed(settings); return err != nil && err.Error() == want })
			}
		}
	}
	set(role.Rules)
	w.until("all permissions", func() bool { return w.allowed(settings) == nil })
}

// without returns rules that allow what the rule allows, but not the verb on the resource.
func without(rule rbacv1.PolicyRule, name, verb string) []rbacv1.PolicyRule {
	others, same := *rule.DeepCopy(), *rule.DeepCopy()
	others.Resources = slices.DeleteFunc(others.Resources, func(x string) bool { return x == name })
	same.Resources, same.Verbs = []string{name}, slices.DeleteFunc(same.Verbs, func(x string) bool { return x == verb })
	return slices.DeleteFunc([]rbacv1.PolicyRule{others, same}, func(r rbacv1.PolicyRule) bool { return len(r.Resources)*len(r.Verbs) == 0 })
}

// named returns a resource as the daemon calls it: pods/binding, resourceclaims.resource.k8s.io/status.
func named(group, name string) string {
	resource, sub, _ := strings.Cut(name, "/")
	if group != "" {
		resource += "." + group
	}
	if sub != "" {
		resource += "/" + sub
	}
	return resource
}

func ours(p *v1.Pod) { p.Spec.SchedulerName = "podberth" }

// everything lets the daemon do all that it does: bind, say why not, preempt, bind a volume, give devices.
func (w *world) everything() {
	w.t.Helper()
	w.priorityClass("high", 1000)
	w.node("n1", "2")
	w.pod("p1", "1", ours)
	w.bound("p1", "n1")
	w.pod("big", "3", ours)
	w.until("the condition", func() bool { return condition(w.get("big"), v1.PodScheduled).Reason == v1.PodReasonUnschedulable })
	w.pod("hi", "2", ours, func(p *v1.Pod) { p.Spec.PriorityClassName = "high" })
	w.bound("hi", "n1")
	w.until("the events", func() bool {
		return len(w.events("Scheduled", "hi")) == 1 && len(w.events("Preempted", "p1")) == 1 && len(w.events("FailedScheduling", "big")) > 0
	})
	w.node("n2", "1")
	w.volume("pv1")
	w.claim("c1")
	w.pod("stored", "500m", ours, func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "c1"}}}}
	})
	w.completeClaim("c1", "pv1")
	w.bound("stored", "n2")
	w.devices("n2")
	w.pod("gpu", "100m", ours, func(p *v1.Pod) {
		p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "d", ResourceClaimName: ptr.To("d1")}}
	})
	w.bound("gpu", "n2")
	claim, err := w.api.ResourceV1().ResourceClaims("default").Get(w.ctx, "d1", metav1.GetOptions{})
	require.NoError(w.t, err)
	require.Len(w.t, claim.Status.ReservedFor, 1)
}

// volume makes a volume of class slow that is available.
func (w *world) volume(name string) {
	w.t.Helper()
	w.storageClass("slow", "kubernetes.io/no-provisioner")
	pv, err := w.api.CoreV1().PersistentVolumes().Create(w.ctx, &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PersistentVolumeSpec{
		Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: "slow",
		PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/x"}},
	}}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	pv.Status.Phase = v1.VolumeAvailable
	pv, err = w.api.CoreV1().PersistentVolumes().UpdateStatus(w.ctx, pv, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	w.objectSeen(volumeKind, pv)
}

// storageClass makes a class whose volumes wait for the pod.
func (w *world) storageClass(name, provisioner string) {
	w.t.Helper()
	c, err := w.api.StorageV1().StorageClasses().Create(w.ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
	}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	w.objectSeen(storageClassKind, c)
}

func (w *world) claim(name string, change ...func(*v1.PersistentVolumeClaim)) {
	w.t.Helper()
	c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PersistentVolumeClaimSpec{
		AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: ptr.To("slow"),
		Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	for _, f := range change {
		f(c)
	}
	c, err := w.api.CoreV1().PersistentVolumeClaims("default").Create(w.ctx, c, metav1.CreateOptions{})
	require.NoError(w.t, err)
	w.objectSeen(volumeClaimKind, c)
}

// completeClaim does what the volume controller does once the scheduler has written the claim into the volume.
func (w *world) completeClaim(name, pv string) {
	w.t.Helper()
	w.claimed(name, pv)
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":%q}}`, pv)
	_, err := w.api.CoreV1().PersistentVolumeClaims("default").Patch(w.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(w.t, err)
}

// devices makes a class, a device on a node, and the claim d1 for it.
func (w *world) devices(node string) {
	w.t.Helper()
	w.deviceClass("gpu", resourcev1.DeviceClassSpec{})
	w.slice(resourcev1.ResourceSliceSpec{Driver: "gpu.example.com", Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}, NodeName: &node, Devices: []resourcev1.Device{{Name: "gpu-0"}}})
	w.gpuClaim("d1")
}
