// Package dumps reads clusters in YAML for tests of packages that cannot import tools/dump.
package dumps

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/podberth/podberth/cluster"
)

// Read returns the objects of a file of YAML documents that schedulers read. A list is its items. Objects without a namespace are in
// "default". Deployments, DaemonSets and Jobs are left out: schedulers do not read them. Any other kind fails the test.
func Read(t testing.TB, file string) cluster.Objects {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return Parse(t, data)
}

// Parse returns the objects of YAML documents, as Read does.
func Parse(t testing.TB, data []byte) (o cluster.Objects) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		v1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, policyv1.AddToScheme, resourcev1.AddToScheme, schedulingv1.AddToScheme,
		storagev1.AddToScheme,
	} {
		require.NoError(t, add(scheme))
	}
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if err == io.EOF {
			return o
		}
		require.NoError(t, err)
		for _, raw := range items(t, document) {
			x, _, err := decoder.Decode(raw, nil, nil)
			require.NoError(t, err)
			add(t, &o, x)
		}
	}
}

// items returns the items of a list, or the document when it is no list.
func items(t testing.TB, document []byte) (all [][]byte) {
	t.Helper()
	var list struct {
		Kind  string
		Items []runtime.RawExtension
	}
	require.NoError(t, yaml.Unmarshal(document, &list))
	switch list.Kind {
	case "": // only comments
		return nil
	case "List":
		for _, item := range list.Items {
			all = append(all, item.Raw)
		}
		return all
	}
	return [][]byte{document}
}

func add(t testing.TB, o *cluster.Objects, x runtime.Object) {
	t.Helper()
	switch x := x.(type) {
	case *v1.Node:
		o.Nodes = append(o.Nodes, x)
	case *v1.Namespace:
		o.Namespaces = append(o.Namespaces, x)
	case *v1.Pod:
		put(&o.Pods, x)
	case *v1.Service:
		put(&o.Services, x)
	case *v1.ReplicationController:
		put(&o.ReplicationControllers, x)
	case *appsv1.ReplicaSet:
		put(&o.ReplicaSets, x)
	case *appsv1.StatefulSet:
		put(&o.StatefulSets, x)
	case *policyv1.PodDisruptionBudget:
		put(&o.PodDisruptionBudgets, x)
	case *schedulingv1.PriorityClass:
		o.PriorityClasses = append(o.PriorityClasses, x)
	case *v1.PersistentVolumeClaim:
		put(&o.Claims, x)
	case *v1.PersistentVolume:
		o.PersistentVolumes = append(o.PersistentVolumes, x)
	case *storagev1.StorageClass:
		o.StorageClasses = append(o.StorageClasses, x)
	case *storagev1.CSINode:
		o.CSINodes = append(o.CSINodes, x)
	case *storagev1.CSIDriver:
		o.CSIDrivers = append(o.CSIDrivers, x)
	case *storagev1.CSIStorageCapacity:
		put(&o.CSIStorageCapacities, x)
	case *storagev1.VolumeAttachment:
		o.VolumeAttachments = append(o.VolumeAttachments, x)
	case *resourcev1.ResourceClaim:
		put(&o.ResourceClaims, x)
	case *resourcev1.ResourceClaimTemplate:
		put(&o.ResourceClaimTemplates, x)
	case *resourcev1.ResourceSlice:
		o.ResourceSlices = append(o.ResourceSlices, x)
	case *resourcev1.DeviceClass:
		o.DeviceClasses = append(o.DeviceClasses, x)
	case *appsv1.Deployment, *appsv1.DaemonSet, *batchv1.Job:
	default:
		t.Fatalf("%T: no such kind here", x)
	}
}

// put appends an object, in the namespace "default" if it names none.
func put[T metav1.Object](list *[]T, x T) {
	if x.GetNamespace() == "" {
		x.SetNamespace(metav1.NamespaceDefault)
	}
	*list = append(*list, x)
}
